//! TLS, proxies and the page.

use super::*;

const SLACK: Service = Service::Slack;

fn trusting(double: &ChatDouble) -> reqwest::ClientBuilder {
    let ca = reqwest::Certificate::from_pem(double.ca_pem().unwrap().as_bytes()).unwrap();
    builder().tls_certs_only([ca])
}

#[tokio::test]
async fn its_certificate_is_good_for_who_trusts_its_authority_alone() {
    let double = ChatDouble::start_tls().await.unwrap();
    let url = double.webhook_url(SLACK, "a");
    let trusting = trusting(&double).build().unwrap();
    assert!(post_to(&url, SLACK, &good(SLACK)).await.unwrap_err().is_connect());
    for url in [url.replace("localhost", "127.0.0.1"), url] {
        assert_eq!(post_with(&trusting, &url, SLACK, &good(SLACK)).await.unwrap(), (200, "ok".to_owned()));
    }
    assert_eq!(double.requests().len(), 2);
}

#[tokio::test]
async fn a_proxy_tunnels_where_it_may_or_refuses() {
    let double = ChatDouble::start_tls_as("chat.example").await.unwrap();
    let open = ConnectProxy::start(false).await.unwrap();
    let closed = ConnectProxy::start(true).await.unwrap();
    let steered = ConnectProxy::start_to(([127, 0, 0, 1], double.port()).into()).await.unwrap();
    let here = format!("localhost:{}", double.port());
    for (proxy, host, reached) in
        [(&open, here.as_str(), true), (&closed, &here, false), (&steered, "chat.example:443", true)]
    {
        let all = reqwest::Proxy::all(proxy.proxy_url()).unwrap();
        let client = trusting(&double).proxy(all).build().unwrap();
        let url = format!("https://{host}{}", SLACK.webhook_path("a"));
        assert_eq!(post_with(&client, &url, SLACK, &good(SLACK)).await.is_ok(), reached, "{host}");
        assert_eq!(proxy.tunnels(), if reached { vec![host.to_owned()] } else { vec![] });
    }
    assert!(ConnectProxy::start_to(([192, 0, 2, 1], 443).into()).await.is_err());
}

#[tokio::test]
async fn a_proxy_forwards_no_plain_request_and_leaves_loopback_for_nobody() {
    let proxy = ConnectProxy::start(false).await.unwrap();
    let client = builder().proxy(reqwest::Proxy::all(proxy.proxy_url()).unwrap()).build().unwrap();
    assert_eq!(client.get("http://localhost:1/").send().await.unwrap().status(), 405);
    assert!(client.get("https://192.0.2.1/").send().await.is_err());
    assert_eq!(proxy.tunnels(), [] as [String; 0]);
}

#[tokio::test]
async fn a_silent_server_lets_a_handshake_run_out_of_time() {
    let silent = SilentTls::start().await.unwrap();
    let quick = builder().connect_timeout(Duration::from_millis(100)).build().unwrap();
    let error = post_with(&quick, &silent.webhook_url(SLACK, "a"), SLACK, &good(SLACK)).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[tokio::test]
async fn the_page_shows_all_channels_or_one() {
    let double = ChatDouble::start().await.unwrap();
    for channel in ["team-a", "team-b"] {
        post(&double, SLACK, channel, &json!({"text": format!("hello {channel}")})).await.unwrap();
    }
    for (query, both) in [("", true), ("?channel=team-b", false)] {
        let page = client().get(double.page_url() + query).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("hello team-b"), "{page}");
        assert_eq!(page.contains("hello team-a"), both);
    }
    assert_eq!(double.requests().len(), 2);
}

#[tokio::test]
async fn it_ends_when_dropped() {
    let double = ChatDouble::start().await.unwrap();
    let url = double.webhook_url(SLACK, "a");
    let client = client();
    post_with(&client, &url, SLACK, &good(SLACK)).await.unwrap();
    drop(double);
    tokio::task::yield_now().await;
    assert!(post_with(&client, &url, SLACK, &good(SLACK)).await.is_err());
}
