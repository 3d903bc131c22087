//! The way to the outside: proxies, certificate authorities, and what happens where there is none.

use confroll::announce::sink_kind::SinkKind;
use confroll_chat_double::{ChatDouble, ConnectProxy, Service, SilentTls};
use confroll_stack::RunFolder;

use crate::sink::{Answered, Sink, reload};

async fn tell(url: String, settings: &[(&str, &str)]) -> Answered {
    let all: Vec<_> = [("CONFROLL_BATCH_WINDOW", "0")].into_iter().chain(settings.iter().copied()).collect();
    let sink = Sink::with(SinkKind::Slack, &[("team", url)], &all).await;
    sink.tell("team", &reload()).await
}

struct Tls {
    double: ChatDouble,
    folder: RunFolder,
}

impl Tls {
    async fn start() -> Self {
        let (double, folder) = (ChatDouble::start_tls().await.unwrap(), RunFolder::new().unwrap());
        std::fs::write(folder.path().join("ca.pem"), double.ca_pem().unwrap()).unwrap();
        Self { double, folder }
    }

    fn ca(&self) -> String {
        self.folder.path().join("ca.pem").to_str().unwrap().to_owned()
    }

    fn url(&self) -> String {
        self.double.webhook_url(Service::Slack, "team")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_checked_and_an_own_authority_can_be_named() {
    let tls = Tls::start().await;
    let refused = tell(tls.url(), &[]).await;
    assert_eq!((refused.status, refused.body.as_str()), (503, "upstream-unavailable: team, tls-failed"));
    assert_eq!(tls.double.requests().len(), 0);
    assert_eq!(tell(tls.url(), &[("CONFROLL_EXTRA_CA_FILE", &tls.ca())]).await.status, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_used_and_its_refusal_is_told_apart() {
    let tls = Tls::start().await;
    let ca = tls.ca();
    let open = ConnectProxy::start(false).await.unwrap();
    let told = tell(tls.url(), &[("CONFROLL_EXTRA_CA_FILE", &ca), ("CONFROLL_PROXY", &open.proxy_url())]).await;
    assert_eq!((told.status, open.tunnels().len()), (202, 1), "{told:?}");
    let closed = ConnectProxy::start(true).await.unwrap();
    let told = tell(tls.url(), &[("CONFROLL_EXTRA_CA_FILE", &ca), ("CONFROLL_PROXY", &closed.proxy_url())]).await;
    assert_eq!((told.status, told.body.as_str()), (503, "upstream-unavailable: team, proxy-refused"));
    let nobody = tell(tls.url(), &[("CONFROLL_PROXY", "http://127.0.0.1:1")]).await;
    assert_eq!(nobody.status, 503, "{nobody:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_says_nothing_is_tried_again_later() {
    let silent = SilentTls::start().await.unwrap();
    let rows = [
        (format!("{}/services/T/B/x", silent.url()), "timeout"),
        ("http://127.0.0.1:1/services/T/B/x".to_owned(), "cannot-connect"),
        ("https://no-such-host.invalid/services/T/B/x".to_owned(), "name-not-found"),
    ];
    for (url, word) in rows {
        let told = tell(url, &[]).await;
        // A resolver that says nothing is a timeout.
        let words = [word, if word == "name-not-found" { "timeout" } else { word }];
        let said = words.map(|word| format!("upstream-unavailable: team, {word}"));
        assert!(told.status == 503 && said.contains(&told.body), "{told:?}");
    }
}
