//! The folder of one run: logs, keys and data of the parts.
//!
//! Invariant: it is removed at its end, or, when its process died first, at the start of a later one.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

const PREFIX: &str = "confroll-stack-";

/// A temporary folder that carries its process in its name.
#[derive(Debug)]
pub struct RunFolder {
    folder: TempDir,
}

impl RunFolder {
    /// Makes one, after removing those of dead processes.
    pub fn new() -> Result<Self> {
        let parent = std::env::temp_dir();
        remove_leftovers(&parent);
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .tempdir_in(&parent)
            .with_context(|| format!("No folder for this run can be made in {}", parent.display()))?;
        Ok(Self { folder })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.path().join(name);
        std::fs::write(&path, content).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    }
}

/// What cannot be removed belongs to somebody else or is in the hands of another remover: left.
fn remove_leftovers(parent: &Path) {
    let Ok(entries) = parent.read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !is_alive(pid)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // A process of another user lives too, although it may not be signalled.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
