//! Where a request wants to go, read from its target. Invariant: the reverse of `Service::webhook_path`; a path
//! that names no service has no address, and a wrong secret keeps the channel, so that its refusal is recorded
//! there.

use crate::service::{CANARY, Service};

/// A channel of a service.
pub(crate) type Place = (Service, String);

/// A webhook as a request addresses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    pub(crate) secret: Secret,
}

/// How the secret of a webhook URL compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secret {
    Right,
    /// Google Chat's `key` is not there, as after an unquoted `&`.
    NoKey,
    WrongKey,
    Wrong,
}

/// Path and query of a request target.
pub(crate) fn split(target: &str) -> (String, Vec<(String, String)>) {
    // Only a whole URL can be parsed; the host is nobody's.
    match reqwest::Url::parse(&format!("http://double{target}")) {
        Ok(url) => (url.path().to_owned(), url.query_pairs().into_owned().collect()),
        Err(_) => (target.to_owned(), Vec::new()),
    }
}

impl Address {
    /// The address of a path and query; none when they are no service's.
    pub(crate) fn of(path: &str, query: &[(String, String)]) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let (service, channel, secret) = match parts[..] {
            ["services", "T000", channel, secret] => (Service::Slack, channel.strip_prefix('B')?, right(secret)),
            ["v1", "spaces", channel, "messages"] => (Service::GoogleChat, channel, chat_secret(query)),
            [
                "powerautomate",
                "automations",
                "direct",
                "workflows",
                channel,
                "triggers",
                "manual",
                "paths",
                "invoke",
            ] => (Service::Teams, channel, right(parameter(query, "sig").unwrap_or_default())),
            ["hook", channel, secret] => (Service::Webhook, channel, right(secret)),
            _ => return None,
        };
        Some(Self { place: (service, channel.to_owned()), secret })
    }
}

fn right(secret: &str) -> Secret {
    if secret == CANARY { Secret::Right } else { Secret::Wrong }
}

fn chat_secret(query: &[(String, String)]) -> Secret {
    match (parameter(query, "key"), parameter(query, "token")) {
        (None, _) => Secret::NoKey,
        (Some(key), _) if key != format!("{CANARY}key") => Secret::WrongKey,
        (_, Some(token)) if token == format!("{CANARY}token") => Secret::Right,
        _ => Secret::Wrong,
    }
}

/// The first value of a query parameter.
pub(crate) fn parameter<'a>(query: &'a [(String, String)], name: &str) -> Option<&'a str> {
    query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(target: &str) -> Option<Address> {
        let (path, query) = split(target);
        Address::of(&path, &query)
    }

    #[test]
    fn every_webhook_path_leads_back_to_its_channel() {
        for service in Service::ALL {
            let place = (service, "team-a".to_owned());
            assert_eq!(address(&service.webhook_path("team-a")), Some(Address { place, secret: Secret::Right }));
        }
    }

    #[test]
    fn a_wrong_secret_is_told_from_a_wrong_path() {
        for (target, secret) in [
            ("/services/T000/Bteam-a/guess", Some(Secret::Wrong)),
            ("/services/T999/Bteam-a/hunter2canary", None),
            ("/v1/spaces/team-a/messages?token=hunter2canarytoken", Some(Secret::NoKey)),
            ("/v1/spaces/team-a/messages?key=x&token=hunter2canarytoken", Some(Secret::WrongKey)),
            ("/v1/spaces/team-a/messages?key=hunter2canarykey", Some(Secret::Wrong)),
            ("/hook/team-a/guess", Some(Secret::Wrong)),
            ("/triggers/T000/1/hunter2canary", None),
        ] {
            assert_eq!(address(target).map(|address| address.secret), secret, "{target}");
        }
    }
}
