//! A program that runs.
//!
//! Invariant: it ends with its value, and with the process that started it, however that ends: by return, panic,
//! Ctrl-C or a kill that nobody can catch. For that, its process group holds a watcher that reads from a pipe
//! whose other end only the owner has; when that end closes, the watcher kills the group. (A parent-death signal
//! would fire at the end of the *thread* that started it.)

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::time::timeout;

use crate::environment::inherited;

/// Starts the watcher, then becomes the program: same process, and nothing on its input.
const WATCHED: &str = r#"exec 3<&0; (read -r _ <&3; kill -KILL -$$) & exec "$@" 3<&- </dev/null"#;
const POLL: Duration = Duration::from_millis(10);
/// A server may take a question and never answer it.
const ANSWER: Duration = Duration::from_secs(5);

/// A child process with a log.
#[derive(Debug)]
pub struct Part {
    name: String,
    pid: Pid,
    child: Mutex<Child>,
    killed: AtomicBool,
    log: PathBuf,
    recipe: Recipe,
    _alive: ChildStdin,
}

/// How it was started.
#[derive(Clone, Debug)]
struct Recipe {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
}

impl Part {
    /// Starts a program with `PATH`, `HOME` and the given environment only; its log goes to `<name>.log` in the folder.
    pub fn start<A: AsRef<OsStr>, V: AsRef<OsStr>>(
        name: &str,
        folder: &Path,
        program: &Path,
        args: impl IntoIterator<Item = A>,
        env: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Result<Self> {
        let recipe = Recipe {
            program: program.to_owned(),
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            env: env.into_iter().map(|(name, value)| (name, value.as_ref().to_owned())).collect(),
        };
        let log = folder.join(name).with_extension("log");
        File::create(&log).with_context(|| format!("{} cannot be made", log.display()))?;
        Self::run(name, folder, log, recipe)
    }

    /// Ends it at once, and starts the same again; its log goes on.
    pub fn start_again(&mut self) -> Result<()> {
        self.kill();
        let folder = self.log.parent().context("A log is in a folder")?.to_owned();
        *self = Self::run(&self.name, &folder, self.log.clone(), self.recipe.clone())?;
        Ok(())
    }

    fn run(name: &str, folder: &Path, log: PathBuf, recipe: Recipe) -> Result<Self> {
        let output = File::options().append(true).open(&log).with_context(|| format!("{} is gone", log.display()))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WATCHED, "sh"]).arg(&recipe.program).args(&recipe.args).current_dir(folder);
        command.env_clear().envs(inherited()).envs(recipe.env.iter().cloned()).process_group(0);
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        let mut child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
        let alive = child.stdin.take().with_context(|| format!("{name} has no input"))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.with_context(|| format!("{name} has no process id"))?;
        Ok(Self {
            name: name.to_owned(),
            pid,
            child: Mutex::new(child),
            killed: AtomicBool::new(false),
            log,
            recipe,
            _alive: alive,
        })
    }

    /// The process id of the program itself.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Where its output goes.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The most memory that it has had at one time.
    pub fn rss_peak_bytes(&self) -> Result<u64> {
        self.memory("VmHWM:")
    }

    /// The memory that it has now.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, what: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).context("It does not run")?;
        let kibibytes = status.lines().find_map(|line| line.strip_prefix(what)?.trim().strip_suffix(" kB"));
        let kibibytes: u64 = kibibytes.context("The kernel does not tell its memory")?.parse()?;
        Ok(kibibytes * 1024)
    }

    /// Its output up to now.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read(&self.log).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// How it ended, if it has.
    pub fn exited(&self) -> Result<Option<ExitStatus>> {
        self.child().try_wait().with_context(|| format!("{} cannot be asked whether it runs", self.name))
    }

    /// Ends it at once, as a lost machine would.
    pub fn kill(&self) {
        // Once only: afterwards the id may be another's. Until then the watcher keeps it taken.
        if self.killed.swap(true, Ordering::Relaxed) {
            return;
        }
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = self.child().wait();
    }

    /// Asks it to end, as Kubernetes does, and waits for it.
    pub async fn stop(&self, limit: Duration) -> Result<ExitStatus> {
        if self.exited()?.is_none() {
            kill_process(self.pid, Signal::TERM).with_context(|| format!("{} cannot be asked to end", self.name))?;
        }
        let since = Instant::now();
        while since.elapsed() < limit {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            tokio::time::sleep(POLL).await;
        }
        bail!("{} still runs {limit:?} after it was asked to end.\n{}", self.name, self.last_lines())
    }

    /// Asks until there is an answer; an end of the program, or of the time, is an error that shows the log.
    pub async fn until<T>(&self, what: &str, limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> Result<T> {
        let since = Instant::now();
        loop {
            // Asked after the end, too: the answer may be in the log.
            let exited = self.exited()?;
            if let Ok(Some(answer)) = timeout(ANSWER, ask()).await {
                return Ok(answer);
            }
            if let Some(status) = exited {
                bail!("{} ended ({status}) before {what}.\n{}", self.name, self.last_lines());
            }
            if since.elapsed() > limit {
                bail!("{}: {what} did not come within {limit:?}.\n{}", self.name, self.last_lines());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn last_lines(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.kill();
    }
}
