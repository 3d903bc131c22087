//! A page about a workload, such as a dashboard: an address with places for names.
//!
//! Invariant: whatever the names are, the address is an absolute one of http or https.

use url::Url;
use url::form_urlencoded::byte_serialize;

use super::workload::WorkloadId;

/// What can stand in an address.
const PLACES: [&str; 4] = ["{cluster}", "{namespace}", "{kind}", "{name}"];

/// An address with places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTemplate(String);

impl LinkTemplate {
    /// Reads an address; `None` where it is none, or has a place that nothing can be put into.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let filled = PLACES.iter().fold(text.to_owned(), |text, place| text.replace(place, "x"));
        let url = Url::parse(&filled).ok()?;
        let is_page = matches!(url.scheme(), "http" | "https") && url.has_host() && !filled.contains(['{', '}']);
        is_page.then(|| Self(text.to_owned()))
    }

    /// The address of a workload's page.
    #[must_use]
    pub fn of(&self, cluster: &str, workload: &WorkloadId) -> String {
        let names = [cluster, workload.namespace.as_str(), workload.kind.kind, &workload.name];
        PLACES.iter().zip(names).fold(self.0.clone(), |text, (place, name)| {
            text.replace(place, &byte_serialize(name.as_bytes()).collect::<String>())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_only_where_it_can_lead_somewhere() {
        for text in ["https://grafana.example/d/1?ns={namespace}&name={name}", "http://{cluster}.example/{kind}"] {
            assert!(LinkTemplate::parse(text).is_some(), "{text}");
        }
        for text in ["", "/d/{name}", "javascript:{name}", "https://a.example/{pod}", "https://a.example/{"] {
            assert!(LinkTemplate::parse(text).is_none(), "{text}");
        }
    }
}
