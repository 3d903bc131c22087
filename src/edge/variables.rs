//! Variables of the environment, as every command reads them.
//!
//! Invariants: the environment is read here and nowhere else; a value that cannot be read stops the start with one
//! sentence that names the variable; a misspelt `CONFROLL_` variable does too, since a setting without effect is worse
//! than none; no sentence shows a value, as any of them may have been a secret put into the wrong variable.
//! Left out: which settings there are (config.rs, sink_settings.rs) and how they are written (setting_text.rs).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr as _;

use serde::de::DeserializeOwned;

use super::setting_text::{log_format, log_level};

const PREFIX: &str = "CONFROLL_";

/// Why the settings cannot be used: one sentence that names the variable and says what to write.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A variable's value cannot be read.
    #[error("{variable} {problem}")]
    Unreadable {
        /// The variable as it stands in the environment.
        variable: String,
        /// What is wrong and what to write.
        problem: String,
    },
    /// A variable with our prefix is none of ours.
    #[error("there is no setting {variable}; `confroll {command} --help` lists them all")]
    Unknown {
        /// The variable as it stands in the environment.
        variable: String,
        /// The command whose settings were read.
        command: &'static str,
    },
}

/// Where the process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a container of a Knative Service, which sets `K_SERVICE`.
    Knative,
    /// Anywhere else.
    Elsewhere,
}

/// Where this process runs.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn place() -> Place {
    if std::env::var_os("K_SERVICE").is_some() { Place::Knative } else { Place::Elsewhere }
}

/// The log: a level for our own lines. Libraries stay at `warn`, and those that could quote an object are silent.
#[derive(Clone, Debug)]
pub struct Log {
    /// The least severe level that is shown.
    pub level: tracing::Level,
    /// Text or JSON.
    pub format: LogFormat,
}

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// All variables of a process.
#[derive(Clone)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Those of this process.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of a variable without blanks around it; an empty one is as good as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        written(self.0.get(name).map(String::as_str))
    }

    /// The value of a variable as it stands there, for those that somebody else has defined so.
    #[must_use]
    pub fn exactly(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The variables with our prefix as the fields of `T`; one that has no field is an error.
    pub(super) fn ours<T: DeserializeOwned>(&self, command: &'static str) -> Result<T, SettingsError> {
        let ours = self.0.iter().filter(|(name, _)| name.starts_with(PREFIX) && !is_service_link(name));
        envy::prefixed(PREFIX)
            .from_iter(ours.map(|(name, value)| (name.clone(), value.clone())))
            .map_err(|error| self.unknown(&error, command))
    }

    /// `ADDRESS` and `PORT`.
    pub(super) fn listen(&self) -> Result<SocketAddr, SettingsError> {
        let address = read("ADDRESS", self.get("ADDRESS"), "0.0.0.0", |text| {
            IpAddr::from_str(text).map_err(|_| "is no IP address; write it like 0.0.0.0 or ::".to_owned())
        })?;
        let port = read("PORT", self.get("PORT"), "8080", |text| {
            text.parse().map_err(|_| "is no port; write a number from 0 to 65535".to_owned())
        })?;
        Ok(SocketAddr::new(address, port))
    }

    fn unknown(&self, error: &envy::Error, command: &'static str) -> SettingsError {
        // The error names the field, and then those that there are: find the variable as its author wrote it.
        let text = error.to_string();
        let text = text.split(", expected").next().unwrap_or_default();
        let variable = self.0.keys().find(|name| {
            name.strip_prefix(PREFIX).is_some_and(|rest| text.contains(&format!("`{}`", rest.to_lowercase())))
        });
        SettingsError::Unknown { variable: variable.cloned().unwrap_or_else(|| format!("{PREFIX}…")), command }
    }
}

/// Those that are no text are left out, as no setting of ours can be one.
impl FromIterator<(OsString, OsString)> for Variables {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self(variables.into_iter().filter_map(text).collect())
    }
}

/// `CONFROLL_LOG_LEVEL` and `CONFROLL_LOG_FORMAT`.
pub(super) fn log(level: Option<&str>, format: Option<&str>) -> Result<Log, SettingsError> {
    Ok(Log {
        level: read("CONFROLL_LOG_LEVEL", level, "info", log_level)?,
        format: read("CONFROLL_LOG_FORMAT", format, "text", log_format)?,
    })
}

/// Reads one variable, or its default where it is unset.
pub(super) fn read<T>(
    variable: &str,
    value: Option<&str>,
    default: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, SettingsError> {
    parse(written(value).unwrap_or(default)).map_err(|problem| unreadable(variable, problem))
}

/// A value without blanks around it; an empty one is as good as unset.
pub(super) fn written(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|text| !text.is_empty())
}

pub(super) fn unreadable(variable: &str, problem: impl Into<String>) -> SettingsError {
    SettingsError::Unreadable { variable: variable.to_owned(), problem: problem.into() }
}

/// Kubernetes sets such variables for every Service of the namespace: one called `confroll` must not stop the start.
fn is_service_link(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name);
    rest == "PORT"
        || rest.starts_with("PORT_")
        || rest.contains("_PORT_")
        || rest.ends_with("_PORT")
        || rest.starts_with("SERVICE_")
        || rest.contains("_SERVICE_")
}
