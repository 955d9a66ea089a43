//! Which plugins serve new jobs, and which components are at hand for jobs that are pinned to them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use coxswain_model::{
    api::annotations,
    job::ValidJob,
    pin::{Digest, Pin, PinnedPlugin},
    plan::Descriptor,
    status::RenderError,
};
use coxswain_sandbox::Plugin;

use crate::{access::Access, source::Candidate, store::Served};

/// A plugin that new jobs get.
#[derive(Clone)]
pub struct Active {
    /// The component.
    pub plugin: Plugin,
    /// Its bytes, for the copy, and the administrator's settings.
    pub candidate: Arc<Candidate>,
}

impl Active {
    /// What is kept of it across restarts.
    pub fn served(&self) -> Served {
        let Candidate { digest, settings, .. } = &*self.candidate;
        Served { digest: digest.clone(), settings: settings.clone() }
    }
}

/// The set of plugins at one moment.
#[derive(Default)]
pub struct Registry {
    active: BTreeMap<String, Active>,
    bundled: BTreeMap<String, Active>,
    loaded: HashMap<Digest, Plugin>,
    access: BTreeMap<String, Access>,
}

impl Registry {
    /// A component of the image's directory: active at once, unless a ConfigMap's is.
    pub fn add_bundled(&mut self, name: &str, active: Active) {
        self.keep(active.plugin.clone());
        self.bundled.insert(name.to_owned(), active.clone());
        self.active.entry(name.to_owned()).or_insert(active);
    }

    /// From now on new jobs get this one. The switch is this one insertion.
    pub fn activate(&mut self, name: &str, active: Active) {
        self.keep(active.plugin.clone());
        self.active.insert(name.to_owned(), active);
    }

    /// Who may use a plugin, from now on.
    pub fn restrict(&mut self, name: &str, access: Access) {
        self.access.insert(name.to_owned(), access);
    }

    /// Whether jobs of a namespace may use a plugin.
    pub fn allows(&self, name: &str, namespace: &str) -> bool {
        self.access.get(name).is_none_or(|access| access.allows(namespace))
    }

    /// The ConfigMap is gone: back to the image's component, which is for all, or to none.
    pub fn withdraw(&mut self, name: &str) -> Option<&Active> {
        let bundled = self.bundled.get(name).cloned();
        if bundled.is_some() {
            self.access.remove(name);
        }
        match bundled {
            Some(active) => drop(self.active.insert(name.to_owned(), active)),
            None => drop(self.active.remove(name)),
        }
        self.active.get(name)
    }

    /// A component that some job is pinned to.
    pub fn keep(&mut self, plugin: Plugin) {
        self.loaded.insert(plugin.digest().clone(), plugin);
    }

    /// The component of this digest, if it is in memory.
    pub fn component(&self, digest: &Digest) -> Option<Plugin> {
        self.loaded.get(digest).cloned()
    }

    /// Lets all components go but those that serve and those that are `needed`. Returns who went.
    pub fn retain(&mut self, needed: &BTreeSet<Digest>) -> Vec<Plugin> {
        let Self { active, bundled, loaded, .. } = self;
        let serves = |digest: &Digest| {
            active.values().chain(bundled.values()).any(|active| active.plugin.digest() == digest)
        };
        loaded
            .extract_if(|digest, _| !needed.contains(digest) && !serves(digest))
            .map(|(_, plugin)| plugin)
            .collect()
    }

    /// Digests of the image's components and of those that serve.
    pub fn serving(&self) -> impl Iterator<Item = &Digest> {
        self.active.values().chain(self.bundled.values()).map(|active| active.plugin.digest())
    }

    /// What new jobs get under this name.
    pub fn active(&self, name: &str) -> Option<&Active> {
        self.active.get(name)
    }

    /// All that new jobs can get.
    pub fn all(&self) -> impl Iterator<Item = &Active> {
        self.active.values()
    }

    /// The chain for a job that has none yet.
    pub fn choose(
        &self,
        job: &ValidJob,
        cluster_tuners: &[String],
        cluster_domain: Option<&str>,
    ) -> Result<Pin, RenderError> {
        let launcher = self.launcher(job)?;
        let mut tuners = Vec::new();
        for name in &job.options().tuners {
            self.named(name, job, Plugin::is_tuner, annotations::ANNOTATION_TUNERS)?;
        }
        let mut named: BTreeSet<&str> = BTreeSet::new();
        // One that the cluster and the job name runs once, in its place in the cluster's order.
        for name in cluster_tuners.iter().chain(&job.options().tuners).filter(|name| named.insert(name)) {
            // The cluster's tuners pass over jobs that they are not for.
            let may = |active: &&Active| {
                active.plugin.is_tuner() && tunes(active, job) && self.allows(name, job.names().namespace())
            };
            let active = self.active.get(name).filter(may);
            tuners.extend(active.map(|active| pinned(name, active, job)));
        }
        Ok(Pin { launcher, tuners, cluster_domain: cluster_domain.map(Into::into), claims: BTreeMap::new() })
    }

    fn launcher(&self, job: &ValidJob) -> Result<PinnedPlugin, RenderError> {
        if let Some(name) = &job.options().plugin {
            let active = self.named(name, job, Plugin::is_launcher, annotations::ANNOTATION_PLUGIN)?;
            return Ok(pinned(name, active, job));
        }
        let namespace = job.names().namespace();
        let serves = |active: &Active| {
            active.plugin.is_launcher()
                && active.plugin.descriptor().serves.iter().any(|served| served == job.implementation())
        };
        // Where several serve it, those that the image knows go first: a plugin that is added later must not take
        // over jobs that do not name it.
        let mut by_rank: Vec<_> = self.active.iter().filter(|(_, active)| serves(active)).collect();
        by_rank.sort_by_key(|(name, _)| !self.bundled.contains_key(*name));
        match (by_rank.iter().find(|(name, _)| self.allows(name, namespace)), by_rank.first()) {
            (Some((name, active)), _) => Ok(pinned(name, active, job)),
            (None, Some((name, _))) => Err(not_allowed(name, namespace)),
            (None, None) => Err(RenderError::UnsupportedImplementation {
                wanted: job.implementation().to_owned(),
                served: self.served().map(str::to_owned).collect(),
            }),
        }
    }

    /// A plugin that an annotation names.
    fn named(
        &self,
        name: &str,
        job: &ValidJob,
        is: fn(&Plugin) -> bool,
        annotation: &str,
    ) -> Result<&Active, RenderError> {
        let fitting = |active: &&Active| is(&active.plugin);
        let active = self.active.get(name).filter(fitting).ok_or_else(|| RenderError::UnknownPlugin {
            annotation: annotation.to_owned(),
            wanted: name.to_owned(),
            known: self.active.iter().filter(|(_, a)| is(&a.plugin)).map(|(name, _)| name.clone()).collect(),
        })?;
        let namespace = job.names().namespace();
        if self.allows(name, namespace) { Ok(active) } else { Err(not_allowed(name, namespace)) }
    }

    /// Every implementation that some active launcher serves.
    pub fn served(&self) -> impl Iterator<Item = &str> {
        let launchers = self.active.values().filter(|active| active.plugin.is_launcher());
        launchers.flat_map(|active| active.plugin.descriptor().serves.iter().map(String::as_str))
    }
}

/// A plugin that the administrator keeps to other namespaces.
pub fn not_allowed(plugin: &str, namespace: &str) -> RenderError {
    RenderError::PluginNotAllowed { plugin: plugin.to_owned(), namespace: namespace.to_owned() }
}

/// A tuner that names implementations tunes those alone.
fn tunes(active: &Active, job: &ValidJob) -> bool {
    let serves = &active.plugin.descriptor().serves;
    serves.is_empty() || serves.iter().any(|served| served == job.implementation())
}

fn pinned(name: &str, active: &Active, job: &ValidJob) -> PinnedPlugin {
    let jobs = job.options().settings.get(name);
    let settings = merged(active.plugin.descriptor(), &active.candidate.settings, jobs);
    PinnedPlugin { name: name.to_owned(), digest: active.plugin.digest().clone(), settings }
}

/// Settings merged: what the plugin declares, then the administrator's, then the job's.
pub fn merged(
    plugin: &Descriptor,
    given: &BTreeMap<String, String>,
    jobs: Option<&BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let declared = plugin.settings.iter();
    let mut settings: BTreeMap<String, String> =
        declared.filter_map(|kind| Some((kind.key.clone(), kind.default.clone()?))).collect();
    settings.extend(given.clone());
    settings.extend(jobs.cloned().unwrap_or_default());
    settings
}
