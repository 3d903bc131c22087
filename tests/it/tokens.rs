//! The token with which reload events are let in where a Broker asks for one: Knative keeps it in a file and renews it there.

use confroll_stack::RunFolder;
use serde_json::json;

use crate::stage::Stage;
use crate::support::{ChangeEvent, told};

/// What the sink was shown with each event.
fn shown(stage: &Stage) -> Vec<Option<String>> {
    let header = |headers: &http::HeaderMap| Some(headers.get("authorization")?.to_str().unwrap().to_owned());
    stage.sink.events().iter().map(|received| header(&received.headers)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_is_shown_the_token_that_the_file_holds_at_that_moment_and_no_log_has_it() {
    let folder = RunFolder::new().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "hunter2-first\n").unwrap();
    let env = [("CONFROLL_SINK_TOKEN_FILE", file.to_str().unwrap()), ("CONFROLL_LOG_LEVEL", "trace")];
    let mut stage = Stage::set(&env).await;
    stage.create("Deployment", "api", &[]).await;
    stage.change().await;
    std::fs::write(&file, "hunter2-second").unwrap();
    stage.change().await;
    let expected = ["Bearer hunter2-first", "Bearer hunter2-second"].map(|token| Some(token.to_owned()));
    assert_eq!(shown(&stage), expected);
    assert!(!stage.function.log().contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_token_a_reload_event_waits_for_it_and_the_log_says_for_which() {
    let folder = RunFolder::new().unwrap();
    let file = folder.path().join("token");
    let mut stage = Stage::set(&[("CONFROLL_SINK_TOKEN_FILE", file.to_str().unwrap())]).await;
    stage.create("Deployment", "api", &[]).await;
    for (content, complaint) in
        [(None, "cannot be read from"), (Some(" "), "holds no token"), (Some("\u{7f}"), "holds no token")]
    {
        content.inspect(|content| std::fs::write(&file, content).unwrap());
        stage.value += 1;
        stage.plane.source(&stage.namespace, "ConfigMap", "app", &stage.value.to_string()).await;
        let mut event = ChangeEvent::update("ConfigMap", "app");
        event.data["namespace"] = json!(stage.namespace);
        let answer = event.request(&crate::sink::http(), stage.function.url()).send().await.unwrap();
        assert_eq!(answer.status(), 503, "{content:?}");
        let log = stage.function.log();
        assert!(log.contains(complaint) && log.contains(file.to_str().unwrap()), "{log}");
    }
    assert!(told(&stage.sink).is_empty());
    std::fs::write(&file, "hunter2").unwrap();
    stage.change().await;
    assert!(!stage.told_of("api").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_asks_for_a_token_none_is_shown() {
    let mut stage = Stage::set(&[]).await;
    stage.create("Deployment", "api", &[]).await;
    stage.change().await;
    assert_eq!(shown(&stage), [None]);
}
