//! The one place that reads the surroundings of the process: where the user's tools and caches are.
//!
//! Invariant: everything else gets these as values, so that a test can give others.

use std::{ffi::OsString, path::PathBuf};

use anyhow::{Context, Result};

/// Where tools are looked for and where built parts are kept.
#[derive(Debug, Clone)]
pub struct Places {
    /// The folder that keeps built parts and locks between runs.
    pub cache: PathBuf,
    /// Folders with programs, as in the variable `PATH`.
    pub path: OsString,
}

impl Places {
    /// The user's own: `CONFROLL_STACK_CACHE`, or else a folder in the user's cache; and `PATH`.
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads them")]
    pub fn of_this_user() -> Result<Self> {
        let cache = match std::env::var_os("CONFROLL_STACK_CACHE") {
            Some(folder) => PathBuf::from(folder),
            None => dirs::cache_dir()
                .context("There is no cache folder for this user: set HOME, or CONFROLL_STACK_CACHE to a folder.")?
                .join("confroll")
                .join("stack"),
        };
        Ok(Self { cache, path: std::env::var_os("PATH").unwrap_or_default() })
    }

    /// The first program of this name in `path`.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path).map(|folder| folder.join(name)).find(|file| file.is_file())
    }
}

/// What every child gets of the user's environment; the rest is cleared.
#[expect(clippy::disallowed_methods, reason = "this is the place that reads them")]
pub(crate) fn inherited() -> Vec<(&'static str, OsString)> {
    ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect()
}
