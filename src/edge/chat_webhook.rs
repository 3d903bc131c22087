//! Posts messages to webhooks: over a proxy or not, within its time, and never anywhere but to the URL itself.
//!
//! Invariants: the URL is a secret: no error of the HTTP library is shown or kept, as both its texts hold it, only the
//! word for what happened; no redirect is followed; an answer is read to a limit, and none of it leaves this file but
//! the known word in it, as a service may quote the message.
//! Left out: what an answer means (announce/answer.rs), and when to post (hold.rs).

use std::error::Error as _;
use std::time::Duration;

use http::header::RETRY_AFTER;
use reqwest::{Client, NoProxy, Proxy, Response, redirect, retry};
use tokio::time::{Instant, sleep, timeout_at};

use super::reporter::now;
use super::sink_settings::Network;
use crate::announce::answer::{Answer, NoAnswer, Verdict, verdict, verdict_of_status};
use crate::announce::delivery::{Once, Step, Tried, step};
use crate::announce::destination::WebhookUrl;
use crate::announce::payload::{Message, Post};
use crate::announce::sink_kind::SinkKind;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How long a message may take, with all its attempts and waits: less than a Trigger waits, the hold included.
const MESSAGE: Duration = Duration::from_secs(9);
/// How much of an answer is read: Google Chat sends the message back.
const LONGEST_ANSWER: usize = 256 * 1024;

/// A client for the webhooks of one kind.
#[derive(Clone)]
pub struct ChatWebhook {
    client: Client,
    kind: SinkKind,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What the last answer means.
    pub verdict: Verdict,
    /// The status of the last answer; `None` where there was none.
    pub status: Option<u16>,
    /// Whether it was the plain form that was sent last.
    pub form: Form,
}

/// How a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With its layout.
    Full,
    /// As text alone, as the layout was refused.
    Plain,
}

/// The client cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no HTTPS client can be made: the system's certificate authorities cannot be read (install ca-certificates), or the proxy's URL cannot be used"
)]
pub struct NoClient;

impl ChatWebhook {
    /// A client that takes this way to the outside.
    pub fn new(kind: SinkKind, network: &Network) -> Result<Self, NoClient> {
        let mut builder = Client::builder()
            .user_agent(concat!("confroll/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .connect_timeout(CONNECT)
            .timeout(ATTEMPT);
        if let Some(proxy) = &network.proxy {
            let proxy = Proxy::all(proxy.0.clone()).map_err(|_| NoClient)?;
            builder = builder.no_proxy().proxy(proxy.no_proxy(NoProxy::from_env()));
        }
        if !network.extra_ca.is_empty() {
            builder = builder.tls_certs_merge(network.extra_ca.iter().cloned());
        }
        Ok(Self { client: builder.build().map_err(|_| NoClient)?, kind })
    }

    /// Posts a message, in its plain form or once more where that may help and time allows.
    pub async fn deliver(&self, url: &WebhookUrl, message: &Message) -> Delivery {
        let deadline = Instant::now() + MESSAGE;
        let mut tried =
            Tried { plain: if message.plain.is_none() { Once::Spent } else { Once::Open }, ..Tried::default() };
        let (mut post, mut form) = (&message.full, Form::Full);
        loop {
            let late = (NoAnswer::Timeout.verdict(), None);
            let (verdict, status) = timeout_at(deadline, self.attempt(url, post)).await.unwrap_or(late);
            match (step(verdict, tried), &message.plain) {
                (Step::Plain, Some(plain)) => {
                    tried.plain = Once::Spent;
                    (post, form) = (plain, Form::Plain);
                }
                (Step::Wait(wait), _) if Instant::now() + wait < deadline => {
                    tried.waited = Once::Spent;
                    sleep(wait).await;
                }
                _ => return Delivery { verdict, status, form },
            }
        }
    }

    async fn attempt(&self, url: &WebhookUrl, post: &Post) -> (Verdict, Option<u16>) {
        let request = self.client.post(url.to_request_url(&post.query)).body(post.body.clone());
        let request = post.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return (no_answer(&error).verdict(), None),
        };
        let status = response.status().as_u16();
        if let Some(verdict) = verdict_of_status(self.kind, status) {
            return (verdict, Some(status));
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| retry_after(value.to_str().ok()?));
        match body(response).await {
            Ok(body) => (verdict(self.kind, Answer { status, body: &body, retry_after }), Some(status)),
            Err(error) => (no_answer(&error).verdict(), Some(status)),
        }
    }
}

/// `Retry-After` is seconds or a date.
fn retry_after(text: &str) -> Option<Duration> {
    let of_date = || {
        let at = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
        Duration::try_from(at.duration_since(now())).ok()
    };
    text.trim().parse().ok().map(Duration::from_secs).or_else(of_date)
}

async fn body(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() >= LONGEST_ANSWER {
            body.truncate(LONGEST_ANSWER);
            break;
        }
    }
    Ok(body)
}

/// The word for an error, which itself is dropped here: its text holds the URL.
fn no_answer(error: &reqwest::Error) -> NoAnswer {
    if error.is_timeout() {
        return NoAnswer::Timeout;
    }
    if error.is_dns() {
        return NoAnswer::Name;
    }
    let mut source = error.source();
    while let Some(cause) = source {
        if is_tls(cause) {
            return NoAnswer::Tls;
        }
        if cause.to_string().starts_with("tunnel error") {
            return NoAnswer::Proxy;
        }
        source = cause.source();
    }
    if error.is_connect() { NoAnswer::Connect } else { NoAnswer::Closed }
}

fn is_tls(cause: &(dyn std::error::Error + 'static)) -> bool {
    // An io::Error does not give the error that it wraps as its source, and may wrap another of its kind.
    let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    cause.is::<rustls::Error>() || wrapped.is_some_and(|wrapped| is_tls(wrapped))
}
