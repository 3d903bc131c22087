//! Which programs there are, and where they lie once built.
//!
//! A group is one Go module of ours in `go/`, since the versions of all groups together would clash. What is
//! built goes into a folder named for the group and a digest of all that decides its content, so that a fresh
//! checkout finds it again and a changed version does not.
//!
//! Invariant: a file under its final name is whole. Left out: removing folders of older versions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    digest::digest,
    environment::Places,
    go::{Go, GoVersion},
    lock::Lock,
    progress::Progress,
};

/// One Go module of ours and what is taken from it.
struct Group {
    name: &'static str,
    /// The module whose version counts, and whose folder holds the manifests.
    module: &'static str,
    /// The Go package that is told its version, where the programs would report none.
    stamped: Option<&'static str>,
    /// Each program's name and Go package.
    programs: &'static [(&'static str, &'static str)],
    manifests: &'static [&'static str],
}

/// The one table: a new program is a row here and an import in its group's `tools.go`.
const GROUPS: &[Group] = &[
    Group {
        name: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        stamped: None,
        programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
        manifests: &[],
    },
    Group {
        name: "kubernetes",
        module: "k8s.io/kubernetes",
        stamped: Some("k8s.io/component-base/version"),
        programs: &[
            ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        ],
        manifests: &[],
    },
    Group {
        name: "eventing",
        module: "knative.dev/eventing",
        stamped: None,
        programs: &[
            ("apiserver_receive_adapter", "knative.dev/eventing/cmd/apiserver_receive_adapter"),
            ("broker_ingress", "knative.dev/eventing/cmd/broker/ingress"),
            ("broker_filter", "knative.dev/eventing/cmd/broker/filter"),
            ("channel_dispatcher", "knative.dev/eventing/cmd/in_memory/channel_dispatcher"),
            ("mtping", "knative.dev/eventing/cmd/mtping"),
        ],
        manifests: &[
            "config/core/resources/apiserversource.yaml",
            "config/core/resources/broker.yaml",
            "config/core/resources/channel.yaml",
            "config/core/resources/eventpolicy.yaml",
            "config/core/resources/eventtype.yaml",
            "config/core/resources/pingsource.yaml",
            "config/core/resources/sinkbindings.yaml",
            "config/core/resources/subscription.yaml",
            "config/core/resources/trigger.yaml",
            "config/channels/in-memory-channel/resources/in-memory-channel.yaml",
            "config/core/configmaps/features.yaml",
            "config/core/configmaps/logging.yaml",
            "config/core/configmaps/observability.yaml",
        ],
    },
    Group {
        name: "serving",
        module: "knative.dev/serving",
        stamped: None,
        programs: &[],
        manifests: &["config/core/300-resources/service.yaml"],
    },
    Group {
        name: "argo",
        module: "github.com/argoproj/argo-rollouts",
        stamped: None,
        programs: &[],
        manifests: &["manifests/crds/rollout-crd.yaml"],
    },
    Group {
        name: "kustomize",
        module: "sigs.k8s.io/kustomize/kustomize/v5",
        stamped: None,
        programs: &[("kustomize", "sigs.k8s.io/kustomize/kustomize/v5")],
        manifests: &[],
    },
    Group {
        name: "helm",
        module: "helm.sh/helm/v4",
        stamped: None,
        programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
        manifests: &[],
    },
];

/// All parts, built.
#[derive(Debug, Clone)]
pub struct Parts {
    cache: PathBuf,
    built: Vec<(&'static Group, PathBuf)>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Parts {
    /// Builds what is missing in the user's cache; the first time takes minutes, and says so as it goes.
    pub fn build() -> Result<Self> {
        Self::build_in(&Places::of_this_user()?)
    }

    /// The same with other places than the user's own.
    pub fn build_in(places: &Places) -> Result<Self> {
        let modules: Vec<_> = GROUPS.iter().map(|group| Module::read(group, &places.cache)).collect::<Result<_>>()?;
        if !modules.iter().all(Module::is_complete) {
            fs::create_dir_all(&places.cache)
                .with_context(|| format!("The cache folder {} cannot be made", places.cache.display()))?;
            let waiting = "Another process builds the real Kubernetes and Knative parts: waiting for it.";
            let _lock = Lock::take(&places.cache.join("build.lock"), waiting)?;
            build_missing(&modules, places)?;
        }
        let built = modules.into_iter().map(|module| (module.group, module.target)).collect();
        Ok(Self { cache: places.cache.clone(), built })
    }

    /// The program of this name.
    pub fn program(&self, name: &str) -> Result<PathBuf> {
        let owns = |group: &Group| group.programs.iter().any(|(program, _)| *program == name);
        let owner = self.built.iter().find(|(group, _)| owns(group));
        let (_, folder) = owner.with_context(|| format!("No row of the table in parts.rs builds {name:?}"))?;
        Ok(folder.join(name))
    }

    /// The text of a manifest that came with a group's module, by its file name.
    pub fn manifest(&self, group: &str, file: &str) -> Result<String> {
        let owner = self.built.iter().find(|(row, _)| row.name == group);
        let (_, folder) = owner.with_context(|| format!("The table in parts.rs has no group {group:?}"))?;
        let path = folder.join(file);
        fs::read_to_string(&path).with_context(|| format!("The manifest {} cannot be read", path.display()))
    }

    /// A file for a lock between all processes of this user.
    pub(crate) fn lock_file(&self, name: &str) -> PathBuf {
        self.cache.join(name).with_extension("lock")
    }
}

/// A group with what its `go.mod` says and where its content goes.
struct Module {
    group: &'static Group,
    source: PathBuf,
    target: PathBuf,
    go: GoVersion,
    linker_flags: String,
}

impl Module {
    fn read(group: &'static Group, cache: &Path) -> Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(group.name);
        let read = |file: &str| {
            let path = source.join(file);
            fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
        };
        let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
        let linker_flags = linker_flags(group, &go_mod)?;
        let target = cache.join(format!("{}-{:.12}", group.name, digest(&[&go_mod, &go_sum, &linker_flags])));
        let go = GoVersion::needed_by(&go_mod)
            .with_context(|| format!("{}/go.mod does not say which Go it needs", source.display()))?;
        Ok(Self { group, source, target, go, linker_flags })
    }

    fn missing_programs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.group.programs.iter().copied().filter(|(name, _)| !self.target.join(name).is_file())
    }

    fn missing_manifests(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let in_target = |path: &'static str| (path, self.target.join(path.rsplit('/').next().unwrap_or(path)));
        self.group.manifests.iter().copied().map(in_target).filter(|(_, file)| !file.is_file())
    }

    fn is_complete(&self) -> bool {
        self.missing_programs().next().is_none() && self.missing_manifests().next().is_none()
    }

    fn build(&self, go: &Go, name: &str, package: &str) -> Result<()> {
        let partial = self.target.join(format!(".{name}.partial"));
        let output = partial.to_string_lossy();
        let flags = ["build", "-trimpath", "-ldflags", &self.linker_flags, "-o", &output, package];
        go.run(&self.source, &flags).with_context(|| format!("{name} cannot be built from {package}"))?;
        fs::rename(&partial, self.target.join(name)).with_context(|| format!("{name} cannot be put in its place"))
    }

    fn copy_manifests(&self, go: &Go) -> Result<()> {
        if self.missing_manifests().next().is_none() {
            return Ok(());
        }
        // A group without programs has not been fetched by a build.
        go.run(&self.source, &["mod", "download", self.group.module])?;
        let folder = go.run(&self.source, &["list", "-m", "-f", "{{.Dir}}", self.group.module])?;
        for (path, target) in self.missing_manifests() {
            let partial = target.with_extension("partial");
            fs::copy(Path::new(&folder).join(path), &partial)
                .and_then(|_| fs::rename(&partial, &target))
                .with_context(|| format!("{path} of {} cannot be copied", self.group.module))?;
        }
        Ok(())
    }
}

/// Strips what only a debugger reads; stamps the version where the group wants one.
fn linker_flags(group: &Group, go_mod: &str) -> Result<String> {
    let Some(package) = group.stamped else { return Ok("-s -w".to_owned()) };
    let version = go_mod.lines().find_map(|line| line.trim().strip_prefix("require ")?.strip_prefix(group.module));
    let version = version.with_context(|| format!("go.mod does not require {}", group.module))?.trim();
    let Some((major, minor)) = version.strip_prefix('v').and_then(|numbers| {
        let mut numbers = numbers.split('.');
        Some((numbers.next()?, numbers.next()?))
    }) else {
        bail!("go.mod requires {} in a version without numbers: {version}", group.module);
    };
    let stamps = [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)];
    Ok(stamps.iter().fold("-s -w".to_owned(), |flags, (name, value)| format!("{flags} -X {package}.{name}={value}")))
}

fn build_missing(modules: &[Module], places: &Places) -> Result<()> {
    let incomplete: Vec<_> = modules.iter().filter(|module| !module.is_complete()).collect();
    let Some(needed) = incomplete.iter().map(|module| module.go).max() else { return Ok(()) };
    let go = Go::find(places, needed)?;
    let count = incomplete.iter().map(|module| module.missing_programs().count()).sum();
    let progress = Progress::start(count);
    for module in incomplete {
        fs::create_dir_all(&module.target).with_context(|| format!("{} cannot be made", module.target.display()))?;
        for (name, package) in module.missing_programs().collect::<Vec<_>>() {
            progress.step(name, || module.build(&go, name, package))?;
        }
        module.copy_manifests(&go)?;
    }
    progress.end();
    Ok(())
}
