//! HTTP/1.1 as far as a stand-in needs it, by hand: a server that must cut an answer in half or close before it
//! reads cannot be built on one that promises never to. Invariant: nothing is read that was not asked for, so
//! the caller decides when a connection breaks. No HTTP/2, no trailers, no `Expect`.

use anyhow::{Context, bail, ensure};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// More than any message of the tests, and a bound for a client that went wrong.
const LARGEST_BODY: usize = 4 << 20;
const LARGEST_HEAD: usize = 64 << 10;

/// What a request says before its body.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
}

impl Head {
    /// The header's value in lower case, as all that are read here are words.
    fn header(&self, name: HeaderName) -> String {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
    }

    pub(crate) fn wants_close(&self) -> bool {
        self.header(http::header::CONNECTION).contains("close")
    }
}

/// An answer before it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The bytes up to the body, which claims to have this length.
    fn head(&self, length: usize) -> String {
        let reason = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        let mut lines = vec![format!("HTTP/1.1 {} {}", self.status, reason.unwrap_or_default())];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.status != 204 {
            lines.push(format!("content-length: {length}"));
        }
        lines.join("\r\n") + "\r\n\r\n"
    }
}

/// A connection with what was read of it and not yet used.
pub(crate) struct Connection<S> {
    stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// The stream, and what was read of it already.
    pub(crate) fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.buffer)
    }

    /// Reads on; the number of bytes is 0 at the end.
    async fn fill(&mut self) -> anyhow::Result<usize> {
        Ok(self.stream.read_buf(&mut self.buffer).await?)
    }

    /// Takes everything up to the mark, which is left out; none when the connection ends before any byte.
    async fn until(&mut self, mark: &[u8], limit: usize) -> anyhow::Result<Option<Vec<u8>>> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                let mut taken: Vec<u8> = self.buffer.drain(..at + mark.len()).collect();
                taken.truncate(at);
                return Ok(Some(taken));
            }
            ensure!(self.buffer.len() <= limit, "more than {limit} bytes without an end");
            if self.fill().await? == 0 {
                ensure!(self.buffer.is_empty(), "the connection ended in the middle of a request");
                return Ok(None);
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> anyhow::Result<Vec<u8>> {
        ensure!(length <= LARGEST_BODY, "a body of {length} bytes");
        while self.buffer.len() < length {
            ensure!(self.fill().await? > 0, "the connection ended in the middle of a body");
        }
        Ok(self.buffer.drain(..length).collect())
    }

    /// The next request's head; none when the client is done.
    pub(crate) async fn read_head(&mut self) -> anyhow::Result<Option<Head>> {
        let Some(bytes) = self.until(b"\r\n\r\n", LARGEST_HEAD).await? else { return Ok(None) };
        let text = String::from_utf8(bytes).context("a head that is not text")?;
        let mut lines = text.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1")) = (first.next(), first.next(), first.next()) else {
            bail!("not a request line of HTTP/1.1");
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(':').context("a header without a colon")?;
            headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value.trim())?);
        }
        Ok(Some(Head { method: method.to_owned(), target: target.to_owned(), headers }))
    }

    /// The body that belongs to this head.
    pub(crate) async fn read_body(&mut self, head: &Head) -> anyhow::Result<Vec<u8>> {
        if head.header(http::header::TRANSFER_ENCODING).contains("chunked") {
            return self.read_chunks().await;
        }
        let length = head.header(http::header::CONTENT_LENGTH);
        if length.is_empty() { Ok(Vec::new()) } else { self.exactly(length.parse().context("content-length")?).await }
    }

    async fn read_chunks(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n", LARGEST_HEAD).await?.context("no chunk")?;
            let line = String::from_utf8(line)?;
            let length = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16)?;
            body.extend(self.exactly(length).await?);
            ensure!(body.len() <= LARGEST_BODY, "a body of more than {LARGEST_BODY} bytes");
            self.until(b"\r\n", 2).await?.context("no end of a chunk")?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    pub(crate) async fn write(&mut self, answer: &Answer) -> anyhow::Result<()> {
        self.send(&(answer.head(answer.body.len()) + &answer.body)).await
    }

    /// Writes an answer that promises more than comes.
    pub(crate) async fn write_half(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let half = answer.body.chars().take(answer.body.chars().count() / 2).collect::<String>();
        // A 204 has no body that could be cut.
        let status = if answer.status == 204 { 200 } else { answer.status };
        let cut = Answer { status, ..answer.clone() };
        self.send(&(cut.head(answer.body.len() + 16) + &half)).await
    }

    async fn send(&mut self, text: &str) -> anyhow::Result<()> {
        self.stream.write_all(text.as_bytes()).await?;
        Ok(self.stream.flush().await?)
    }

    /// Waits until the client has closed its side.
    pub(crate) async fn until_closed(&mut self) -> anyhow::Result<()> {
        while self.fill().await? > 0 {
            self.buffer.clear();
        }
        Ok(())
    }
}
