//! Each fault as a client sees it, and what is recorded of it.

use super::*;

const SLACK: Service = Service::Slack;

/// Meets one fault; gives back what the client saw, and status and showing as recorded.
async fn meet(fault: Fault) -> (reqwest::Result<(u16, String)>, u16, bool) {
    let double = ChatDouble::start().await.unwrap();
    double.script(SLACK, "a", vec![fault.clone()]);
    let seen = post(&double, SLACK, "a", &good(SLACK)).await;
    let recorded = double.requests().pop().unwrap();
    assert_eq!(double.messages(SLACK, "a").len(), usize::from(recorded.shown), "{fault:?}");
    assert_eq!(recorded.body.is_empty(), matches!(fault, Fault::CloseBeforeReading), "{fault:?}");
    assert_eq!(post(&double, SLACK, "a", &good(SLACK)).await.unwrap().0, 200, "after {fault:?}");
    (seen, recorded.status, recorded.shown)
}

#[tokio::test]
async fn an_answer_is_given_as_scripted() {
    for shown in [false, true] {
        let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
        let fault = Fault::Answer { status: 503, headers, body: "rollup_error".to_owned(), shown };
        let (seen, status, was_shown) = meet(fault).await;
        assert_eq!((seen.unwrap(), status, was_shown), ((503, "rollup_error".to_owned()), 503, shown));
    }
}

#[tokio::test]
async fn a_closed_connection_is_an_error_and_is_recorded() {
    for (fault, shown) in [
        (Fault::CloseBeforeReading, false),
        (Fault::CloseAfterReading { shown: false }, false),
        (Fault::CloseAfterReading { shown: true }, true),
    ] {
        let (seen, status, was_shown) = meet(fault).await;
        assert!(seen.is_err());
        assert_eq!((status, was_shown), (0, shown));
    }
}

#[tokio::test]
async fn half_an_answer_has_a_status_and_breaks_in_its_body() {
    for service in Service::ALL {
        let double = ChatDouble::start().await.unwrap();
        double.script(service, "a", vec![Fault::HalfAnswer]);
        let request = client().post(double.webhook_url(service, "a")).header("content-type", content_type(service));
        let answer = request.body(good(service).to_string()).send().await.unwrap();
        assert!(answer.status().is_success() && answer.text().await.is_err(), "{service}");
        assert_eq!(double.messages(service, "a").len(), 1, "{service}");
    }
}

#[tokio::test]
async fn a_page_and_a_redirect_show_nothing() {
    let (seen, status, shown) = meet(Fault::HtmlOk).await;
    assert!(seen.unwrap().1.starts_with("<!doctype html>"));
    assert_eq!((status, shown), (200, false));
    let (seen, status, shown) = meet(Fault::Redirect { to: "https://example.test/".to_owned() }).await;
    assert_eq!((seen.unwrap().0, status, shown), (302, 302, false));
}

#[tokio::test]
async fn a_slow_answer_comes_later_and_a_hang_never() {
    let double = ChatDouble::start().await.unwrap();
    let quick = builder().timeout(Duration::from_millis(300)).build().unwrap();
    let url = double.webhook_url(SLACK, "a");
    double.script(SLACK, "a", vec![Fault::SlowAnswer { after: Duration::from_millis(100) }, Fault::Hang]);
    double.script(SLACK, "a", vec![Fault::SlowAnswer { after: Duration::from_mins(1) }]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = post_with(&quick, &url, SLACK, &good(SLACK)).await;
        seen.push(answer.map_err(|error| error.is_timeout()).map(|(status, _)| status));
    }
    assert_eq!(seen, [Ok(200), Err(true), Err(true)]);
    let shown: Vec<_> = double.requests().iter().map(|request| (request.status, request.shown)).collect();
    assert_eq!(shown, [(200, true), (0, false), (200, true)]);
}

#[tokio::test]
async fn a_sloppy_payload_is_found_under_a_fault_too() {
    let double = ChatDouble::start().await.unwrap();
    double.script(SLACK, "a", vec![Fault::CloseAfterReading { shown: false }]);
    assert!(post(&double, SLACK, "a", &json!({"text": "<!channel>"})).await.is_err());
    assert_eq!(last_broken(&double), ["live_control"]);
}

#[tokio::test]
async fn waiting_ends_with_the_request_or_tells_what_there_was() {
    let double = ChatDouble::start().await.unwrap();
    let arrives = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        post(&double, SLACK, "a", &good(SLACK)).await.unwrap();
    };
    let (waited, ()) = tokio::join!(double.wait_for(|_| !double.messages(SLACK, "a").is_empty(), SOON), arrives);
    waited.unwrap();
    let error = double.wait_for(|_| false, Duration::from_millis(10)).await.unwrap_err().to_string();
    assert!(error.contains("slack:a 200 shown=true []") && !error.contains(CANARY), "{error}");
}
