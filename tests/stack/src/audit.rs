//! What was asked of the API server, by whom, and what it answered.
//!
//! Invariant: all requests that were answered before a call here are seen by it: each call first sends a request
//! of its own and reads the log up to that. Watches count when they end.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::access::{Access, User};

/// Every request, without its body.
pub(crate) const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}"#;
const MARK: &str = "/version?confroll-stack-mark=";
const LIMIT: Duration = Duration::from_secs(10);

/// A place in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditMark(u64);

/// One request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRequest {
    /// get, list, watch, create, update, patch, delete or deletecollection.
    pub verb: String,
    /// The plural of a kind, or empty for what is no object.
    pub resource: String,
    /// Such as `status`, or empty.
    pub subresource: String,
    /// Empty for cluster-wide requests.
    pub namespace: String,
    /// Empty where the request names no object.
    pub name: String,
    /// Who asked.
    pub user: String,
    /// With which program.
    pub user_agent: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// Path and query.
    pub uri: String,
}

/// Reads the record of a control plane.
#[derive(Debug, Clone)]
pub struct Audit {
    log: PathBuf,
    access: Access,
}

impl Audit {
    pub(crate) fn new(log: PathBuf, access: Access) -> Self {
        Self { log, access }
    }

    /// The place after everything answered until now.
    pub async fn mark(&self) -> Result<AuditMark> {
        let before = self.end_of_last_line()?;
        Ok(self.read_since(before).await?.1)
    }

    /// What one user was answered since the mark.
    pub async fn requests_since(&self, mark: AuditMark, user: User) -> Result<Vec<AuditRequest>> {
        let (lines, _) = self.read_since(mark).await?;
        let answered = |line: &Line| line.stage == "ResponseComplete" && line.user.username == user.name();
        let requests = lines.into_iter().filter(answered).map(AuditRequest::from);
        Ok(requests.filter(|request| !request.uri.starts_with(MARK)).collect())
    }

    /// Which resources in which namespaces a program watches since the mark; for what waits until it does.
    pub(crate) fn watches_since(&self, mark: AuditMark, user_agent: &str) -> Result<Vec<(String, String)>> {
        let begins = |line: &Line| line.verb == "watch" && line.stage == "ResponseStarted" && line.status.code == 200;
        let started = self.lines_since(mark)?.into_iter();
        let started = started.filter(|(line, _)| begins(line) && line.user_agent.starts_with(user_agent));
        Ok(started.map(|(line, _)| (line.object.resource, line.object.namespace)).collect())
    }

    async fn read_since(&self, mark: AuditMark) -> Result<(Vec<Line>, AuditMark)> {
        static MARKS: AtomicU64 = AtomicU64::new(1);
        let uri = format!("{MARK}{}-{}", std::process::id(), MARKS.fetch_add(1, Ordering::Relaxed));
        let client = self.access.client(User::Admin).await?;
        client.request_text(http::Request::get(&uri).body(Vec::new())?).await.context("The audit log is not marked")?;
        let since = Instant::now();
        while since.elapsed() < LIMIT {
            let mut lines = self.lines_since(mark)?;
            if let Some(index) = lines.iter().position(|(line, _)| line.uri == uri) {
                lines.truncate(index + 1);
                let end = lines.last().map_or(mark, |(_, end)| *end);
                return Ok((lines.into_iter().map(|(line, _)| line).collect(), end));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("The API server answered {uri}, but its audit log does not show that within {LIMIT:?}.")
    }

    /// The log may end in half a line, which is still being written.
    pub(crate) fn end_of_last_line(&self) -> Result<AuditMark> {
        let length = self.log.metadata().context("The audit log cannot be read")?.len();
        let start = length.saturating_sub(1 << 20);
        let end = self.text_since(start)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1);
        Ok(AuditMark(start + end as u64))
    }

    fn text_since(&self, place: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut file = File::open(&self.log).context("The audit log cannot be read")?;
        file.seek(SeekFrom::Start(place))?;
        file.read_to_end(&mut text)?;
        Ok(text)
    }

    /// Whole lines, each with the place after it.
    fn lines_since(&self, mark: AuditMark) -> Result<Vec<(Line, AuditMark)>> {
        let text = self.text_since(mark.0)?;
        let mut place = mark.0;
        let mut lines = Vec::new();
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            place += line.len() as u64;
            lines.push((serde_json::from_slice(line).context("A line of the audit log")?, AuditMark(place)));
        }
        Ok(lines)
    }
}

/// A line of the log, as far as it is used here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    uri: String,
    user: UserLine,
    #[serde(default)]
    user_agent: String,
    #[serde(default, rename = "objectRef")]
    object: ObjectLine,
    #[serde(default, rename = "responseStatus")]
    status: StatusLine,
}

#[derive(Deserialize)]
struct UserLine {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectLine {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StatusLine {
    code: u16,
}

impl From<Line> for AuditRequest {
    fn from(line: Line) -> Self {
        let ObjectLine { resource, subresource, namespace, name } = line.object;
        let (verb, user, user_agent) = (line.verb, line.user.username, line.user_agent);
        Self { verb, resource, subresource, namespace, name, user, user_agent, code: line.status.code, uri: line.uri }
    }
}
