//! Reads the past of one source, one version at a time and each at most once.
//!
//! Invariant: workloads that ask for the same step share one read. Left out: what a version means (reload/past.rs).

use std::sync::Arc;

use tokio::sync::Mutex;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use crate::reload::change::Occasion;
use crate::reload::comparison::Since;
use crate::reload::content::ChangedKeys;
use crate::reload::decision::Counted;
use crate::reload::digest::Digest;
use crate::reload::opt_in::SourceMarks;
use crate::reload::past::{EarlierVersion, Judgement, MOST_VERSIONS, PastEnd, judge, judge_end, judge_use};
use crate::reload::references::Keys;
use crate::reload::rules::{OnAbsence, Rules};
use crate::reload::source_object::{Presence, SourceObject};
use crate::reload::version::Version;
use crate::reload::workload::Workload;

/// How often a gap between two lives of a source is leapt over, four times further each time: 4^12 versions in all.
const MOST_LEAPS: u32 = 12;

/// The past of a source, as far as it was read.
pub struct History {
    now: Arc<SourceObject>,
    read: Mutex<Read>,
}

struct Read {
    earlier: Vec<Arc<EarlierVersion>>,
    /// The version at which the next one to be read was replaced.
    replaced_at: Version,
    end: Option<PastEnd>,
}

/// One step back.
enum Step {
    Version(Arc<EarlierVersion>),
    End(PastEnd),
}

impl History {
    /// The past of `now`, none of it read yet.
    #[must_use]
    pub fn of(now: Arc<SourceObject>) -> Self {
        let read = Read { earlier: Vec::new(), replaced_at: now.version, end: None };
        Self { now, read: Mutex::new(read) }
    }

    /// Whether a workload runs on other content than the present, by the past. Never says `LookFurther`.
    pub async fn judge(
        &self,
        workload: &Workload,
        counted: &Counted,
        (since, occasion): (Since, Occasion),
        cluster: &Cluster,
        rules: &Rules,
    ) -> Result<Judgement, ClusterError> {
        let mut oldest: Option<Arc<EarlierVersion>> = None;
        for index in 0.. {
            let earlier = match self.step(index, cluster).await? {
                Step::Version(earlier) => earlier,
                Step::End(PastEnd::Created) if since == Since::Birth => {
                    return self.judge_creation(workload, counted, cluster, rules).await;
                }
                Step::End(end) => {
                    return Ok(judge_end(
                        end.on(occasion, since),
                        oldest.as_deref(),
                        &self.now,
                        counted.digest,
                        &counted.keys,
                        workload,
                        rules,
                    ));
                }
            };
            match judge(&earlier, counted.digest, &counted.keys, since, workload, rules) {
                Judgement::LookFurther => oldest = Some(earlier),
                Judgement::WasItUsedAt(version) => return self.judge_use(workload, version, cluster, rules).await,
                judged => return Ok(judged),
            }
        }
        Ok(Judgement::Changed)
    }

    /// A source that seems new may have had an earlier life that the leaps missed. One moment is known at which the
    /// workload was there: when it was last written.
    async fn judge_creation(
        &self,
        workload: &Workload,
        counted: &Counted,
        cluster: &Cluster,
        rules: &Rules,
    ) -> Result<Judgement, ClusterError> {
        let then = match cluster.source_at(&self.now.source, workload.version).await {
            Ok(then) => then.filter(|then| then.version < self.now.version),
            Err(ClusterError::Expired | ClusterError::PastRefused) => None,
            Err(error) => return Err(error),
        };
        let earlier = then.map(|object| EarlierVersion { object, replaced_at: self.now.version });
        let judged =
            judge_end(PastEnd::Created, earlier.as_ref(), &self.now, counted.digest, &counted.keys, workload, rules);
        let is_new = earlier.is_none() && self.now.presence == Presence::There;
        let absence = rules.absence.of(self.now.source.kind);
        match judged {
            Judgement::Unchanged(_) if is_new && absence.on_create == OnAbsence::Reload => {
                let created = self.read.lock().await.replaced_at;
                Ok(match self.judge_use(workload, created, cluster, rules).await? {
                    Judgement::Changed => Judgement::Created,
                    judged => judged,
                })
            }
            judged => Ok(judged),
        }
    }

    async fn judge_use(
        &self,
        workload: &Workload,
        version: Version,
        cluster: &Cluster,
        rules: &Rules,
    ) -> Result<Judgement, ClusterError> {
        match cluster.workload_at(&workload.id, version).await {
            // An object of the same name that was deleted since is another workload.
            Ok(then) => {
                Ok(judge_use(then.filter(|then| then.uid == workload.uid).as_ref(), workload, &self.now, rules))
            }
            // Read a moment ago, gone now: rather once too often.
            Err(ClusterError::Expired | ClusterError::PastRefused) => Ok(Judgement::Changed),
            Err(error) => Err(error),
        }
    }

    /// The names of the keys that changed last, as far as the past tells; none where it does not.
    pub async fn changed_keys(&self, keys: &Keys, digest: Digest, cluster: &Cluster, rules: &Rules) -> ChangedKeys {
        for index in 0..MOST_VERSIONS {
            let Ok(Step::Version(earlier)) = self.step(index, cluster).await else { break };
            if earlier.object.digest(keys, &rules.digest_key) != digest {
                return self.now.content.changed_keys(&earlier.object.content, keys);
            }
        }
        ChangedKeys::default()
    }

    async fn step(&self, index: usize, cluster: &Cluster) -> Result<Step, ClusterError> {
        let mut read = self.read.lock().await;
        if let Some(earlier) = read.earlier.get(index) {
            return Ok(Step::Version(earlier.clone()));
        }
        if read.end.is_none() && read.earlier.len() == MOST_VERSIONS {
            read.end = Some(PastEnd::TooManyVersions);
        }
        if let Some(end) = read.end {
            return Ok(Step::End(end));
        }
        match self.before(read.replaced_at, cluster).await {
            Ok(Some(earlier)) => {
                let earlier = Arc::new(earlier);
                read.replaced_at = earlier.object.version;
                read.earlier.push(earlier.clone());
                return Ok(Step::Version(earlier));
            }
            Ok(None) => read.end = Some(PastEnd::Created),
            Err(ClusterError::Expired) => read.end = Some(PastEnd::Compacted),
            Err(ClusterError::PastRefused) => read.end = Some(PastEnd::Refused),
            Err(error) => return Err(error),
        }
        Ok(Step::End(read.end.unwrap_or(PastEnd::Created)))
    }

    /// The source as it was just before a version; where it was not there, as it was before it was deleted. When that
    /// was nobody knows, so it is looked for in leaps.
    async fn before(&self, version: Version, cluster: &Cluster) -> Result<Option<EarlierVersion>, ClusterError> {
        let Some(at) = version.before() else { return Ok(None) };
        if let Some(object) = cluster.source_at(&self.now.source, at).await? {
            return Ok(Some(EarlierVersion { object, replaced_at: version }));
        }
        let mut gone = at;
        for leap in 1..=MOST_LEAPS {
            let Some(at) = version.back(4_u64.pow(leap)) else { break };
            match cluster.source_at(&self.now.source, at).await {
                Ok(None) => gone = at,
                Ok(Some(found)) => return self.last_of_life(found, at, gone, cluster).await.map(Some),
                // The window ends before an earlier life was found: as far as one can see, there was none.
                Err(ClusterError::Expired) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The source as it was just before it was deleted: it was `found` at the version `there`, and not at `gone`. A leap
    /// may land on a version that was long replaced by then, on which nobody ran any more.
    async fn last_of_life(
        &self,
        mut found: SourceObject,
        mut there: Version,
        mut gone: Version,
        cluster: &Cluster,
    ) -> Result<EarlierVersion, ClusterError> {
        while let Some(middle) = there.middle(gone) {
            match cluster.source_at(&self.now.source, middle).await {
                Ok(Some(later)) => (found, there) = (later, middle),
                Ok(None) => gone = middle,
                // Forgotten meanwhile: what was found is the best that is known.
                Err(ClusterError::Expired) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(EarlierVersion { object: found, replaced_at: gone })
    }

    /// What the source said of itself last, as far as the past tells.
    pub async fn last_marks(&self, cluster: &Cluster) -> Result<Option<SourceMarks>, ClusterError> {
        match self.step(0, cluster).await? {
            Step::Version(last) => Ok(Some(last.object.marks)),
            Step::End(_) => Ok(None),
        }
    }
}
