//! Connections: read a request, let the state take it, end the exchange as it says. Invariant: no connection
//! outlives the task that accepts. What a request means is `state`'s affair.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::address::{self, Address, parameter};
use crate::answer;
use crate::fault::Fault;
use crate::http1::{Connection, Head};
use crate::page;
use crate::state::{Arrival, Ending, Shared};

/// Accepts until it is aborted.
pub(crate) async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        // A client that gave up is its own affair: what it sent whole is recorded.
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        connections.spawn(async move {
            match tls {
                Some(tls) => converse(tls.accept(stream).await?, &shared).await,
                None => converse(stream, &shared).await,
            }
        });
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, shared: &Shared) -> anyhow::Result<()> {
    let mut connection = Connection::new(stream);
    while let Some(head) = connection.read_head().await? {
        let last = head.wants_close();
        let Some(ending) = exchange(&mut connection, head, shared).await? else { return Ok(()) };
        match ending {
            Ending::Answer(answer) => connection.write(&answer).await?,
            Ending::Later(after, answer) => {
                tokio::time::sleep(after).await;
                connection.write(&answer).await?;
            }
            Ending::Half(answer) => return connection.write_half(&answer).await,
            Ending::Close => return Ok(()),
            Ending::Hang => return connection.until_closed().await,
        }
        if last {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads the rest of a request and has it taken; no ending when its body is not to be read.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    head: Head,
    shared: &Shared,
) -> anyhow::Result<Option<Ending>> {
    let (path, query) = address::split(&head.target);
    if head.method == "GET" && path == "/" {
        return Ok(Some(Ending::Answer(answer::html(page_of(shared, parameter(&query, "channel"))))));
    }
    let address = Address::of(&path, &query);
    let fault = shared.next_fault(address.as_ref());
    let unread = matches!(fault, Some(Fault::CloseBeforeReading));
    let body = if unread { Vec::new() } else { connection.read_body(&head).await? };
    let arrival = Arrival { head, query, address, body, at: now() };
    if unread {
        shared.take_unread(arrival);
        return Ok(None);
    }
    Ok(Some(shared.take(arrival, fault)))
}

/// The page of all channels, or of one.
fn page_of(shared: &Shared, channel: Option<&str>) -> String {
    let mut messages = shared.lock().shown.clone();
    messages.retain(|message| channel.is_none_or(|channel| message.channel == channel));
    page::html(&messages)
}

#[expect(clippy::disallowed_methods, reason = "the stand-in's one clock")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
