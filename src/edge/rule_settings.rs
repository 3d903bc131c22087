//! The settings of how is decided: what counts, and what is done about it.
//!
//! Left out: what is looked at (scope_settings.rs), how annotations are called (annotation_settings.rs), and how the texts
//! are written (setting_text.rs).

use super::annotation_settings::annotation_keys;
use super::key_secret::KeySecret;
use super::scope_settings::{kinds, scope};
use super::serve_variables::Ours;
use super::setting_text::{cross_namespace, on_absence, revision_names, strategy, unmarked};
use super::variables::{SettingsError, read, unreadable};
use crate::reload::digest::DigestKey;
use crate::reload::extra_sources::CrossNamespace;
use crate::reload::rules::{Absence, Rules};

/// Reads the rules of every decision.
pub(super) fn rules(ours: &Ours, key: &KeySetting) -> Result<Rules, SettingsError> {
    let on_create = read("CONFROLL_RELOAD_ON_CREATE", ours.reload_on_create.as_deref(), "false", on_absence)?;
    let on_delete = read("CONFROLL_RELOAD_ON_DELETE", ours.reload_on_delete.as_deref(), "false", on_absence)?;
    Ok(Rules {
        annotations: annotation_keys(ours)?,
        unmarked: read("CONFROLL_AUTO_RELOAD_ALL", ours.auto_reload_all.as_deref(), "false", unmarked)?,
        kinds: kinds(ours)?,
        strategy: read("CONFROLL_RELOAD_STRATEGY", ours.reload_strategy.as_deref(), "annotations", strategy)?,
        revision_names: read("CONFROLL_REVISION_NAMES", ours.revision_names.as_deref(), "kept", revision_names)?,
        absence: Absence { on_create, on_delete },
        cross_namespace: across(ours, key)?,
        digest_key: match key {
            KeySetting::Given(key) => DigestKey::new(key),
            KeySetting::InSecret(_) | KeySetting::Fixed => DigestKey::new(DigestKey::FIXED),
        },
        scope: scope(ours)?,
    })
}

/// Not with a key that everybody knows: whoever may annotate a workload of one namespace would get digests of the Secrets
/// of all others, from which a short one could be guessed.
fn across(ours: &Ours, key: &KeySetting) -> Result<CrossNamespace, SettingsError> {
    const ACROSS: &str = "CONFROLL_CROSS_NAMESPACE";
    match (read(ACROSS, ours.cross_namespace.as_deref(), "false", cross_namespace)?, key) {
        (CrossNamespace::Allowed, KeySetting::Fixed) => {
            Err(unreadable(ACROSS, "is true, though CONFROLL_DIGEST_KEY is not set; set that to a random secret, too"))
        }
        (read, _) => Ok(read),
    }
}

/// Reads the key of all digests.
pub(super) fn digest_key(ours: &Ours) -> Result<KeySetting, SettingsError> {
    const FILE: &str = "CONFROLL_DIGEST_KEY_FILE";
    const SECRET: &str = "CONFROLL_DIGEST_KEY_SECRET";
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    match (set(&ours.digest_key), set(&ours.digest_key_file), set(&ours.digest_key_secret)) {
        (None, None, None) => Ok(KeySetting::Fixed),
        (Some(key), None, None) => Ok(KeySetting::Given(key.into_bytes())),
        (None, Some(path), None) => {
            let key = std::fs::read(path)
                .map_err(|error| unreadable(FILE, format!("names a file that cannot be read: {}", error.kind())))?;
            if key.is_empty() { Err(unreadable(FILE, "names an empty file")) } else { Ok(KeySetting::Given(key)) }
        }
        (None, None, Some(name)) => {
            KeySecret::parse(name.trim()).map(KeySetting::InSecret).map_err(|problem| unreadable(SECRET, problem))
        }
        (Some(_), Some(_), _) => Err(unreadable(FILE, "is set beside CONFROLL_DIGEST_KEY; set one of them")),
        (Some(_), _, Some(_)) => Err(unreadable(SECRET, "is set beside CONFROLL_DIGEST_KEY; set one of them")),
        (_, Some(_), Some(_)) => Err(unreadable(SECRET, "is set beside CONFROLL_DIGEST_KEY_FILE; set one of them")),
    }
}

/// What is set of the key of all digests.
pub(super) enum KeySetting {
    /// The key itself.
    Given(Vec<u8>),
    /// Where it is, once the API server was asked.
    InSecret(KeySecret),
    /// Nothing: everybody knows the key.
    Fixed,
}
