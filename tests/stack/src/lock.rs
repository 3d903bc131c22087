//! Locks between processes, as files in the cache folder.
//!
//! Invariant: a lock ends with its value and with its process, however that ends; who waits for long says so.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::say;

const NOTICED: Duration = Duration::from_secs(2);

/// Held while the value lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock by blocking the thread.
    pub(crate) fn take(path: &Path, when_waiting: &str) -> Result<Self> {
        if let Some(lock) = Self::try_take(path)? {
            return Ok(lock);
        }
        say(when_waiting);
        let file = open(path)?;
        file.lock().with_context(|| format!("{} cannot be locked", path.display()))?;
        Ok(Self { _file: file })
    }

    /// Waits for the lock without blocking the thread; a wait too short to be noticed is not told.
    pub(crate) async fn taken(path: &Path, when_waiting: &str) -> Result<Self> {
        let (since, mut said) = (Instant::now(), false);
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            if since.elapsed() > NOTICED && !std::mem::replace(&mut said, true) {
                say(when_waiting);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn try_take(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("{} cannot be locked", path.display()))
            }
        }
    }
}

fn open(path: &Path) -> Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("{} cannot be opened", path.display()))
}
