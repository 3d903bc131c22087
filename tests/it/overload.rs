//! Too much at once, and the end of the process: what waits is finished or given back, never dropped.

use confroll::edge::config::{Settings, Sink};
use confroll::edge::sink_token::SinkToken;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::fake_cluster::FakeCluster;
use crate::support::{ChangeEvent, Function, config_map, workload_using};

/// A function with one place for events, whose sink answers when the test says so.
async fn with_one_place() -> (Function, TcpListener) {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    cluster.put("configmaps/app", config_map("2"));
    let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", sink.local_addr().unwrap()).parse().unwrap();
    let mut settings = Settings::for_testing();
    settings.pace.events = 1;
    settings.sink = Some(Sink { url, extensions: [].into(), ca_certs: None, token: SinkToken::default() });
    (Function::with(&cluster, settings).await, sink)
}

/// An event that is at work until the sink, whose side of the connection comes back, answers.
async fn at_work(function: &Function, sink: &TcpListener) -> (tokio::task::JoinHandle<u16>, TcpStream) {
    let request = ChangeEvent::update("ConfigMap", "app").request(&function.http, &function.url);
    let told = tokio::spawn(async move { request.send().await.unwrap().status().as_u16() });
    let (connection, _) = sink.accept().await.unwrap();
    (told, connection)
}

async fn take(mut connection: TcpStream) {
    let mut request = [0; 4096];
    assert!(connection.read(&mut request).await.unwrap() > 0);
    connection.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
}

#[tokio::test]
async fn an_event_without_a_place_is_given_back_at_once_and_says_when_to_come_again() {
    let (function, sink) = with_one_place().await;
    let (first, connection) = at_work(&function, &sink).await;
    let second = ChangeEvent::update("ConfigMap", "app").request(&function.http, &function.url).send().await.unwrap();
    assert_eq!((second.status().as_u16(), second.headers()["retry-after"].to_str().unwrap()), (503, "1"));
    let health = function.http.get(format!("{}health/readiness", function.url)).send().await.unwrap();
    assert_eq!(health.status(), 200, "the platform is answered all the same");
    take(connection).await;
    assert_eq!(first.await.unwrap(), 202);
    assert_eq!(function.told(&ChangeEvent::update("ConfigMap", "app")).await, 202, "the place is free again");
}

#[tokio::test]
async fn what_is_at_work_is_finished_before_the_process_ends() {
    let (function, sink) = with_one_place().await;
    let (told, connection) = at_work(&function, &sink).await;
    let (http, url) = (function.http.clone(), function.url.clone());
    let stopping = tokio::spawn(function.stop());
    // It has begun to stop when nobody new is let in.
    while http.get(format!("{url}health/liveness")).send().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stopping.is_finished());
    take(connection).await;
    assert_eq!(told.await.unwrap(), 202);
    stopping.await.unwrap();
}
