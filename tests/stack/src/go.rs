//! The user's Go: found, checked against what the modules need, and run.
//!
//! Invariant: Go never fetches another Go nor changes a `go.mod`; what is too old is told in one sentence.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::environment::Places;

/// A version of Go, such as 1.26.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GoVersion(u32, u32, u32);

impl GoVersion {
    /// Reads `1.26`, `go1.26.8`, `go1.27rc1` and `devel go1.27-abcdef`.
    fn parse(text: &str) -> Option<Self> {
        let start = text.find(|c: char| c.is_ascii_digit())?;
        let number = text[start..].split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
        let mut fields = number.split('.').map(|field| field.parse().unwrap_or(0));
        Some(Self(fields.next()?, fields.next().unwrap_or(0), fields.next().unwrap_or(0)))
    }

    /// The version that the text of a `go.mod` asks for.
    pub(crate) fn needed_by(go_mod: &str) -> Option<Self> {
        go_mod.lines().find_map(|line| Self::parse(line.strip_prefix("go ")?))
    }
}

impl fmt::Display for GoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A Go that is new enough.
pub(crate) struct Go {
    program: PathBuf,
    places: Places,
}

impl Go {
    pub(crate) fn find(places: &Places, needed: GoVersion) -> Result<Self> {
        let install = format!("install Go {needed} or newer (https://go.dev/dl)");
        let Some(program) = places.program("go") else {
            bail!("Go is missing, and the real Kubernetes and Knative parts are built with it: {install}.");
        };
        let go = Self { program, places: places.clone() };
        let answer = go.run(&std::env::temp_dir(), &["env", "GOVERSION"]).context("Go does not run")?;
        let found = GoVersion::parse(&answer).with_context(|| format!("Go tells no version but {answer:?}"))?;
        if found < needed {
            bail!("Go {found} is too old to build the real Kubernetes and Knative parts: {install}.");
        }
        Ok(go)
    }

    /// Runs Go in a folder and returns what it printed; its complaint is the error.
    pub(crate) fn run(&self, folder: &Path, args: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(args)
            .current_dir(folder)
            .env("PATH", &self.places.path)
            .envs([("GOTOOLCHAIN", "local"), ("GOFLAGS", "-mod=readonly"), ("GOWORK", "off"), ("CGO_ENABLED", "0")])
            .output()
            .with_context(|| format!("{} cannot be started", self.program.display()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        let telling: Vec<_> = complaint.lines().filter(|line| !line.starts_with("go: downloading")).collect();
        bail!("{}", telling.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_spelling_compare_by_number() {
        let order = ["go1.9", "1.26", "go1.26.8", "devel go1.27-abcdef", "go1.100rc1"];
        let read: Vec<_> = order.iter().map(|text| GoVersion::parse(text).unwrap()).collect();
        assert!(read.is_sorted() && read.windows(2).all(|pair| pair[0] != pair[1]), "{read:?}");
    }

    #[test]
    fn the_need_is_read_from_go_mod() {
        assert_eq!(GoVersion::needed_by("module x\n\ngo 1.26.0\n"), Some(GoVersion(1, 26, 0)));
    }
}
