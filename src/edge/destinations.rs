//! Where destinations are kept: files of a mounted Secret, and one URL in a variable.
//!
//! Invariants: a file is read anew for each message, so that a rotated URL is used without a restart; a URL is shown
//! nowhere, and neither is a file's name that is no destination's, as it may be a URL in the wrong place.
//! Left out: what is a good URL (announce/destination.rs).

use std::io;
use std::path::{Path, PathBuf};

use crate::announce::destination::{DestinationName, UrlProblem, WebhookUrl};
use crate::announce::sink_kind::SinkKind;

/// A webhook URL is a few hundred bytes.
const LONGEST_FILE: u64 = 16 * 1024;

/// Where messages can go.
#[derive(Clone, Debug)]
pub struct Destinations {
    /// What they speak.
    pub kind: SinkKind,
    /// A folder with a file for each destination.
    pub folder: Option<PathBuf>,
    /// The destination `default`, where no file is.
    pub default_url: Option<WebhookUrl>,
}

/// Why there is no URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDestination {
    /// There is no file of that name.
    #[error("is not there")]
    Missing,
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// What is in it cannot be used.
    #[error("{0}")]
    Url(UrlProblem),
}

/// A destination that was found in the folder, or what is wrong with it.
#[derive(Debug)]
pub struct Listed {
    /// Its name; `None` where the file's name cannot be one.
    pub name: Option<DestinationName>,
    /// Its URL.
    pub url: Result<WebhookUrl, NoDestination>,
}

impl Destinations {
    /// The URL of a destination, as it is now.
    pub fn find(&self, name: &DestinationName) -> Result<WebhookUrl, NoDestination> {
        let of_variable = self.default_url.as_ref().filter(|_| *name == DestinationName::default_one());
        match (of_variable, &self.folder) {
            (Some(url), _) => Ok(url.clone()),
            (None, Some(folder)) => read(self.kind, &folder.join(name.as_str())),
            (None, None) => Err(NoDestination::Missing),
        }
    }

    /// All destinations, as they are now, by name.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let default = || DestinationName::default_one();
        let mut listed: Vec<_> =
            self.default_url.iter().map(|url| Listed { name: Some(default()), url: Ok(url.clone()) }).collect();
        let Some(folder) = &self.folder else { return Ok(listed) };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            // Kubernetes keeps what it mounts in entries that begin with two dots.
            if !name.as_encoded_bytes().starts_with(b".") {
                names.push(name);
            }
        }
        names.sort();
        for file in names {
            let name = file.to_str().and_then(DestinationName::parse);
            let url = match &name {
                Some(_) => read(self.kind, &folder.join(&file)),
                None => Err(NoDestination::Missing),
            };
            listed.push(Listed { name, url });
        }
        Ok(listed)
    }
}

fn read(kind: SinkKind, path: &Path) -> Result<WebhookUrl, NoDestination> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => NoDestination::Missing,
        kind => NoDestination::Unreadable(kind),
    };
    if std::fs::metadata(path).map_err(unreadable)?.len() > LONGEST_FILE {
        return Err(NoDestination::Url(UrlProblem::NoUrl));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    WebhookUrl::parse(kind, &text).map_err(NoDestination::Url)
}
