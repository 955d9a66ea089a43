//! Which plugins serve new jobs, and which components are at hand for jobs that are pinned to them.

use std::collections::{BTreeMap, HashMap};

use coxswain_model::{
    api::wire,
    job::ValidJob,
    pin::{Digest, Pin, PinnedPlugin},
    plan::Descriptor,
    status::trouble::Trouble,
};
use coxswain_sandbox::Plugin;

/// A plugin that new jobs get.
#[derive(Clone)]
pub struct Active {
    /// The component.
    pub plugin: Plugin,
    /// Its bytes, for the copy.
    pub bytes: Vec<u8>,
    /// The administrator's settings.
    pub settings: BTreeMap<String, String>,
}

/// The set of plugins at one moment.
#[derive(Default)]
pub struct Registry {
    active: BTreeMap<String, Active>,
    floor: BTreeMap<String, Active>,
    loaded: HashMap<Digest, Plugin>,
}

impl Registry {
    /// A component of the image's directory: active at once, unless a ConfigMap's is.
    pub fn add_floor(&mut self, name: &str, plugin: Plugin, bytes: Vec<u8>) {
        self.keep(plugin.clone());
        let active = Active { plugin, bytes, settings: BTreeMap::new() };
        self.floor.insert(name.to_owned(), active.clone());
        self.active.entry(name.to_owned()).or_insert(active);
    }

    /// From now on new jobs get this one. The switch is this one insertion.
    pub fn activate(&mut self, name: &str, active: Active) {
        self.keep(active.plugin.clone());
        self.active.insert(name.to_owned(), active);
    }

    /// The ConfigMap is gone: back to the image's component, or to none.
    pub fn withdraw(&mut self, name: &str) -> Option<&Active> {
        let floor = self.floor.get(name).cloned();
        match floor {
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

    /// What new jobs get under this name.
    pub fn active(&self, name: &str) -> Option<&Active> {
        self.active.get(name)
    }

    /// All that new jobs can get, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Active)> {
        self.active.iter().map(|(name, active)| (name.as_str(), active))
    }

    /// The chain for a job that has none yet.
    pub fn choose(
        &self,
        job: &ValidJob,
        cluster_tuners: &[String],
        cluster_domain: Option<&str>,
    ) -> Result<Pin, Trouble> {
        let launcher = self.launcher(job)?;
        let mut tuners = Vec::new();
        for name in &job.wishes.tuners {
            self.named(name, Plugin::is_tuner, wire::ANNOTATION_TUNERS)?;
        }
        for name in cluster_tuners.iter().chain(&job.wishes.tuners) {
            let active =
                self.active.get(name).filter(|active| active.plugin.is_tuner() && tunes(active, job));
            tuners.extend(active.map(|active| pinned(name, active, job)));
        }
        Ok(Pin { launcher, tuners, cluster_domain: cluster_domain.map(Into::into) })
    }

    fn launcher(&self, job: &ValidJob) -> Result<PinnedPlugin, Trouble> {
        if let Some(name) = &job.wishes.plugin {
            let active = self.named(name, Plugin::is_launcher, wire::ANNOTATION_PLUGIN)?;
            return Ok(pinned(name, active, job));
        }
        let serves = |active: &Active| {
            active.plugin.is_launcher() && active.plugin.descriptor().serves.contains(&job.implementation)
        };
        // Where several serve it, those that the image knows go first: a plugin that is added later must not take
        // over jobs that do not name it.
        let mut by_rank: Vec<_> = self.active.iter().filter(|(_, active)| serves(active)).collect();
        by_rank.sort_by_key(|(name, _)| !self.floor.contains_key(*name));
        match by_rank.first() {
            Some((name, active)) => Ok(pinned(name, active, job)),
            None => Err(Trouble::UnsupportedImplementation {
                wanted: job.implementation.clone(),
                served: self.served().map(str::to_owned).collect(),
            }),
        }
    }

    /// A plugin that an annotation names.
    fn named(&self, name: &str, is: fn(&Plugin) -> bool, annotation: &str) -> Result<&Active, Trouble> {
        let fitting = |active: &&Active| is(&active.plugin);
        self.active.get(name).filter(fitting).ok_or_else(|| Trouble::UnknownPlugin {
            annotation: annotation.to_owned(),
            wanted: name.to_owned(),
            known: self.active.iter().filter(|(_, a)| is(&a.plugin)).map(|(name, _)| name.clone()).collect(),
        })
    }

    /// Every implementation that some active launcher serves.
    pub fn served(&self) -> impl Iterator<Item = &str> {
        let launchers = self.active.values().filter(|active| active.plugin.is_launcher());
        launchers.flat_map(|active| active.plugin.descriptor().serves.iter().map(String::as_str))
    }
}

/// A tuner that names implementations tunes those alone.
fn tunes(active: &Active, job: &ValidJob) -> bool {
    let serves = &active.plugin.descriptor().serves;
    serves.is_empty() || serves.contains(&job.implementation)
}

fn pinned(name: &str, active: &Active, job: &ValidJob) -> PinnedPlugin {
    let jobs = job.wishes.settings.get(name);
    let settings = merged(active.plugin.descriptor(), &active.settings, jobs);
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
