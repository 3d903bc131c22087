//! Confroll itself, as a process of its own: the program that users run.
//!
//! Invariant: it listens when it is returned. Its environment holds what is given here and nothing else.

use std::{
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{part::Part, run_folder::RunFolder};

const START: Duration = Duration::from_secs(30);
const LISTENING: &str = "listening on 127.0.0.1:";

/// What `confroll serve` is told.
#[derive(Debug, Clone, Default)]
pub struct FunctionOptions {
    /// Who it is to the API server.
    pub kubeconfig: PathBuf,
    /// Where it sends what it did.
    pub sink: Option<String>,
    /// Further variables; they win over ours.
    pub env: Vec<(&'static str, String)>,
}

/// The rights that it has where it is installed, and no others: the rules of the ClusterRole that is shipped.
#[must_use]
pub fn rights() -> Value {
    let role = include_str!("../../../knative/cluster-role.yaml");
    let role: Value = serde_saphyr::from_str(role).unwrap_or_default();
    role["rules"].clone()
}

/// The same for `confroll watch`, which watches sources too.
#[must_use]
pub fn rights_to_watch() -> Value {
    let mut rights = rights();
    let of_sources = rights.as_array_mut().into_iter().flatten();
    let of_sources =
        of_sources.filter(|rule| rule["resources"].as_array().is_some_and(|all| all.contains(&json!("secrets"))));
    for rule in of_sources {
        rule["verbs"].as_array_mut().into_iter().for_each(|verbs| verbs.push(json!("watch")));
    }
    rights
}

/// A running `confroll serve`, `confroll watch` or `confroll sink`; it ends with its value.
#[derive(Debug)]
pub struct Function {
    part: Part,
    url: String,
    _folder: RunFolder,
}

impl Function {
    /// Starts the program and waits until it listens.
    pub async fn start(program: &Path, options: FunctionOptions) -> Result<Self> {
        Self::run(program, "serve", options).await
    }

    /// The same with `confroll watch`.
    pub async fn start_watch(program: &Path, options: FunctionOptions) -> Result<Self> {
        Self::run(program, "watch", options).await
    }

    async fn run(program: &Path, command: &str, options: FunctionOptions) -> Result<Self> {
        let mut env = vec![
            ("PORT", "0".to_owned()),
            ("ADDRESS", "127.0.0.1".to_owned()),
            ("KUBECONFIG", options.kubeconfig.to_string_lossy().into_owned()),
        ];
        env.extend(options.sink.map(|sink| ("K_SINK", sink)));
        env.extend(options.env);
        Self::listening(program, &[command], env).await
    }

    /// Starts `confroll sink KIND` with these variables and waits until it listens.
    pub async fn start_sink(program: &Path, kind: &str, env: Vec<(&'static str, String)>) -> Result<Self> {
        let mut all = vec![("PORT", "0".to_owned()), ("ADDRESS", "127.0.0.1".to_owned())];
        all.extend(env);
        Self::listening(program, &["sink", kind], all).await
    }

    async fn listening(program: &Path, arguments: &[&str], env: Vec<(&'static str, String)>) -> Result<Self> {
        let folder = RunFolder::new()?;
        let part = Part::start("confroll", folder.path(), program, arguments, env)?;
        let number = part.until("a line that tells its port", START, async || port_in(&part.log())).await?;
        Ok(Self { part, url: format!("http://127.0.0.1:{number}"), _folder: folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All that it logged up to now.
    #[must_use]
    pub fn log(&self) -> String {
        self.part.log()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.part.pid()
    }

    /// Ends it at once, as a lost node would.
    pub fn kill(&self) {
        self.part.kill();
    }

    /// Asks it to end, as Kubernetes does, and waits for it.
    pub async fn stop(&self) -> Result<ExitStatus> {
        self.part.stop(Duration::from_secs(30)).await
    }

    /// The memory that it has now.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.part.rss_bytes()
    }

    /// The most memory that it has had at one time.
    pub fn rss_peak_bytes(&self) -> Result<u64> {
        self.part.rss_peak_bytes()
    }
}

/// Only in a whole line: the number may still be on its way.
fn port_in(log: &str) -> Option<u16> {
    let (whole, _) = log.rsplit_once('\n')?;
    let (_, after) = whole.split_once(LISTENING)?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn the_port_is_read_from_text_and_json_but_not_from_half_a_line() {
        assert_eq!(port_in("INFO listening on 127.0.0.1:4711\n"), Some(4711));
        assert_eq!(port_in("{\"message\":\"listening on 127.0.0.1:4711\"}\n"), Some(4711));
        assert_eq!(port_in("INFO listening on 127.0.0.1:47"), None);
    }
}
