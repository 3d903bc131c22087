//! The settings of how annotations are called, for those who renamed them.
//!
//! Invariant: a key that no annotation can have is refused. Left out: what an annotation means (reload/opt_in.rs).

use super::serve_variables::Ours;
use super::variables::{SettingsError, unreadable, written};
use crate::reload::annotation_keys::AnnotationKeys;
use crate::reload::qualified_name::is_annotation_key;

/// Reads how annotations are called.
pub(super) fn annotation_keys(ours: &Ours) -> Result<AnnotationKeys, SettingsError> {
    let mut keys = AnnotationKeys::default();
    let class = &mut keys.secret_provider_class;
    let rows = [
        ("CONFROLL_RELOAD_ANNOTATION", &ours.reload_annotation, &mut keys.reload),
        ("CONFROLL_AUTO_ANNOTATION", &ours.auto_annotation, &mut keys.auto),
        ("CONFROLL_AUTO_SEARCH_ANNOTATION", &ours.auto_search_annotation, &mut keys.search),
        ("CONFROLL_SEARCH_MATCH_ANNOTATION", &ours.search_match_annotation, &mut keys.matched),
        ("CONFROLL_IGNORE_ANNOTATION", &ours.ignore_annotation, &mut keys.ignore),
        ("CONFROLL_ROLLOUT_STRATEGY_ANNOTATION", &ours.rollout_strategy_annotation, &mut keys.rollout_strategy),
        ("CONFROLL_PAUSE_DEPLOYMENT_ANNOTATION", &ours.pause_deployment_annotation, &mut keys.pause_period),
        ("CONFROLL_PAUSE_DEPLOYMENT_TIME_ANNOTATION", &ours.pause_deployment_time_annotation, &mut keys.paused_at),
        ("CONFROLL_RELOAD_DELAY_ANNOTATION", &ours.reload_delay_annotation, &mut keys.reload_delay),
        ("CONFROLL_CONFIGMAP_AUTO_ANNOTATION", &ours.configmap_auto_annotation, &mut keys.config_map.auto),
        ("CONFROLL_CONFIGMAP_ANNOTATION", &ours.configmap_annotation, &mut keys.config_map.named),
        ("CONFROLL_CONFIGMAP_EXCLUDE_ANNOTATION", &ours.configmap_exclude_annotation, &mut keys.config_map.exclude),
        ("CONFROLL_SECRET_AUTO_ANNOTATION", &ours.secret_auto_annotation, &mut keys.secret.auto),
        ("CONFROLL_SECRET_ANNOTATION", &ours.secret_annotation, &mut keys.secret.named),
        ("CONFROLL_SECRET_EXCLUDE_ANNOTATION", &ours.secret_exclude_annotation, &mut keys.secret.exclude),
        ("CONFROLL_SECRETPROVIDERCLASS_AUTO_ANNOTATION", &ours.secretproviderclass_auto_annotation, &mut class.auto),
        ("CONFROLL_SECRETPROVIDERCLASS_ANNOTATION", &ours.secretproviderclass_annotation, &mut class.named),
        (
            "CONFROLL_SECRETPROVIDERCLASS_EXCLUDE_ANNOTATION",
            &ours.secretproviderclass_exclude_annotation,
            &mut class.exclude,
        ),
    ];
    for (variable, text, key) in rows {
        let Some(text) = written(text.as_deref()) else { continue };
        if !is_annotation_key(text) {
            let problem = "is no key that an annotation can have; write it like reloader.stakater.com/auto";
            return Err(unreadable(variable, problem));
        }
        text.clone_into(key);
    }
    Ok(keys)
}
