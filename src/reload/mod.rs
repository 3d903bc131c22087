//! Decides what should roll out, and why. Pure: no IO, no clock, no environment.
//!
//! ```text
//! Change ─ which source to look at                                   change.rs, source.rs
//!   Scope ─ is it anybody's business, by name or labels               scope.rs, label_selector.rs
//!   SourceObject ─ what is there now, its Content and Digest         source_object.rs, content.rs, version.rs
//!     Mounted ─ or what pods have of a SecretProviderClass          pod_status.rs
//!   Workload ─ OptIn, References, Record                             workload.rs, opt_in.rs, references.rs, record.rs
//!     AnnotationKeys, EventTag, WorkloadPage ─ parts of those        annotation_keys.rs, tag.rs, workload_page.rs
//!     ExtraSources ─ those that it names of any namespace            extra_sources.rs
//!     fit() ─ what a Record leaves out where it has no room          record_room.rs
//!     counts() ─ does this source matter to this workload, and why   decision.rs
//!     compare() ─ Same, Changed, or only the past can tell           comparison.rs
//!     judge() ─ what an earlier version of the source tells          past.rs
//!   RolloutWay ─ how: by a template, a restart, a Job                 rollout_way.rs
//!   Rollout ─ the patch, with the new Record; or a Job               rollout.rs, env_vars.rs, job.rs
//!   without_values() ─ a refusal that quotes no Secret              redaction.rs
//!     objection() ─ why a rollout is not made again and again        refusal.rs
//!   ReloadReport ─ what became of it, as a CloudEvent or an Event    report.rs, link.rs, kube_event.rs
//!
//! Timing ─ pauses and delays that are asked for, what is due       timing.rs, due.rs, go_duration.rs
//! SeenSources ─ what a sweep has to look at                          sweep.rs
//! ```
//!
//! Invariant: every answer is a value with its reason. Left out: everything that waits, fails or is retried.

pub mod annotation_keys;
pub mod change;
pub mod comparison;
pub mod content;
pub mod decision;
pub mod digest;
pub mod due;
pub mod env_vars;
pub mod extra_sources;
mod go_class;
pub mod go_duration;
mod go_property;
pub mod go_regex;
pub mod job;
pub mod kube_event;
pub mod label_selector;
pub mod link;
mod mounts;
mod name_list;
pub mod name_pattern;
pub mod opt_in;
pub mod past;
pub mod pod_status;
pub mod pod_template;
pub mod qualified_name;
pub mod record;
pub mod record_room;
pub mod redaction;
pub mod references;
pub mod refusal;
pub mod report;
pub mod rollout;
pub mod rollout_way;
pub mod rules;
pub mod scope;
pub mod source;
pub mod source_object;
pub mod sweep;
pub mod tag;
pub mod telling;
#[cfg(test)]
pub(crate) mod testing;
pub mod timing;
pub mod version;
pub mod workload;
pub mod workload_kind;
pub mod workload_page;
