//! (job, granted plan) → every object that should exist while the job runs.

pub mod config_map;
mod gang;
pub mod launcher;
mod membership;
pub mod native_gang;
mod overlay;
mod owned;
mod pod;
pub mod pod_group;
pub mod secret;
pub mod service;
pub mod worker;

use std::sync::Arc;

use serde_json::Value;

use self::membership::Membership;
use self::native_gang::NativeGang;
pub use self::{gang::Gang, worker::WorkerTemplate};
use crate::{job::ValidJob, object::Kind, observed::ObservedState, pin::Pin, policy::Granted};

/// Everything that should exist while the job runs, as manifests ready to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// Headless Service.
    pub service: Value,
    /// ConfigMap with hostfile and script, its content digest and the pin as annotations.
    pub config: Value,
    /// ConfigMap with the files for every pod, if a plugin rendered any.
    pub files: Option<Value>,
    /// Secret without `data`.
    pub secret: Value,
    /// Gang scheduling's group.
    pub pod_group: Option<(Kind, Value)>,
    /// Makes the workers of each group.
    pub workers: Vec<Arc<WorkerTemplate>>,
    /// Launcher Job as created while the job is not suspended.
    pub launcher: Value,
}

/// What is kept up of a job that the MPI Operator started: lost workers come back and elastic ones are added, in the
/// form that it gave them, and the host list follows. All else keeps what it has.
#[derive(Clone, Debug, PartialEq)]
pub struct AdoptedJob {
    /// ConfigMap with hostfile and script; none where no plugin can render it.
    pub config: Option<Value>,
    /// Makes the workers of each group.
    pub workers: Vec<Arc<WorkerTemplate>>,
}

/// What should exist of a job, as far as that can be said.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Wanted {
    /// It cannot: no plugin, no pin, plan refused.
    #[default]
    Nothing,
    /// It was started by the MPI Operator.
    Adopted(AdoptedJob),
    /// All of it.
    Everything(Box<Desired>),
}

impl From<Desired> for Wanted {
    fn from(desired: Desired) -> Self {
        Self::Everything(Box::new(desired))
    }
}

/// Renders everything. `priorities` are the values of the cluster's priority classes, used under gang scheduling
/// alone; `observed` says which native gang the pods belong to that exist, and nothing else here follows it.
pub fn objects(
    job: &ValidJob,
    granted: &Granted,
    pin: &Pin,
    gang: &Gang,
    priorities: &pod_group::Priorities,
    observed: &ObservedState,
) -> Desired {
    let native = NativeGang::of(job, gang, observed);
    let membership = Membership { gang, native: native.as_ref() };
    Desired {
        service: service::manifest(job),
        config: config_map::config(job, granted, pin),
        files: config_map::files(job, granted),
        secret: secret::manifest(job),
        pod_group: pod_group::manifest(job, membership, priorities),
        workers: worker::templates(job, granted, membership),
        launcher: launcher::manifest(job, granted, pin, membership),
    }
}

/// What is kept up of a job without a pin; `granted` is what the plugin that serves now would render for it.
pub fn adopted_job(job: &ValidJob, granted: Option<&Granted>, gang: &Gang) -> AdoptedJob {
    AdoptedJob {
        config: granted.map(|granted| config_map::unpinned(job, granted)),
        workers: worker::templates(job, &Granted::default(), Membership { gang, native: None }),
    }
}

/// The content digest that a rendered ConfigMap or `PodGroup` carries.
pub fn content(manifest: &Value) -> Option<&str> {
    manifest.get("metadata")?.get("annotations")?.get(crate::api::annotations::ANNOTATION_CONTENT)?.as_str()
}

#[cfg(test)]
mod tests;
