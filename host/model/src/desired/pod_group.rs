//! Gang scheduling: the group, and what makes a pod its member.

mod needs;

use std::{cmp::Reverse, collections::BTreeMap};

use serde_json::{Value, json};

use self::needs::Resources;
use super::{gang::Gang, membership::Membership, overlay, owned, pod::Pod};
use crate::{
    api::{annotations, labels, scheduling},
    digest::Digest,
    job::{Group, LauncherCreation, ValidJob},
    json::at,
    object::Kind,
};

/// Values of the cluster's priority classes by name; a class that is not in it counts 0.
pub type Priorities = BTreeMap<String, i32>;

/// Pods that must be placed together: what the job says, otherwise all of them. A launcher that is created after
/// its workers cannot be waited for, so it does not count there (the MPI Operator 0.8.2 counts it and such a job
/// never starts). A negative number counts as 0.
pub fn min_member(job: &ValidJob) -> u32 {
    let late = job.launcher_creation() == LauncherCreation::WaitForWorkersReady && job.workers() > 0;
    let all = job.workers().saturating_add(u32::from(!late));
    job.scheduling_policy().min_available.map_or(all, |n| u32::try_from(n).unwrap_or(0))
}

/// Makes a pod a member of the job's group.
pub(super) fn join(pod: &mut Pod, job: &ValidJob, gang: &Gang) {
    let group = job.names().job();
    let scheduler = match gang {
        Gang::Off | Gang::Native | Gang::NativeByJob => return,
        Gang::Volcano => {
            owned::annotate(&mut pod.metadata, scheduling::VOLCANO_GROUP_ANNOTATION, group);
            scheduling::VOLCANO_SCHEDULER
        }
        Gang::SchedulerPlugins(name) => {
            owned::label(&mut pod.metadata, scheduling::SCHEDULER_PLUGINS_GROUP_LABEL, group);
            name
        }
    };
    overlay::set(&mut pod.spec, "schedulerName", scheduler);
}

/// The group, under gang scheduling. It carries the digest of its spec, because schedulers fill in fields of theirs.
pub(super) fn manifest(
    job: &ValidJob,
    Membership { gang, native }: Membership,
    priorities: &Priorities,
) -> Option<(Kind, Value)> {
    if let Some(native) = native {
        return Some((Kind::NativePodGroup, native.manifest(job)));
    }
    let mut spec = overlay::fields(json!({"minMember": min_member(job)}));
    if let Some(resources) = min_resources(job, priorities) {
        overlay::set(&mut spec, "minResources", resources);
    }
    let (kind, version) = match gang {
        Gang::Off | Gang::Native | Gang::NativeByJob => return None,
        Gang::Volcano => {
            for (key, name) in [("queue", queue(job)), ("priorityClassName", priority_class(job))] {
                if !name.is_empty() {
                    overlay::set(&mut spec, key, name);
                }
            }
            if let Some(tier) = job.options().topology_tier() {
                overlay::set(
                    &mut spec,
                    "networkTopology",
                    json!({"mode": "hard", "highestTierAllowed": tier}),
                );
            }
            (Kind::VolcanoPodGroup, "scheduling.volcano.sh/v1beta1")
        }
        Gang::SchedulerPlugins(_) => {
            let timeout = job.scheduling_policy().schedule_timeout_seconds.unwrap_or(0);
            overlay::set(&mut spec, "scheduleTimeoutSeconds", timeout);
            (Kind::SchedulerPluginsPodGroup, "scheduling.x-k8s.io/v1alpha1")
        }
    };
    let spec = Value::from(spec);
    let mut metadata = owned::bare(job, job.names().job());
    owned::label(&mut metadata, labels::LABEL_JOB, job.names().job());
    let digest = Digest::of(spec.to_string().as_bytes()).to_string();
    owned::annotate(&mut metadata, annotations::ANNOTATION_CONTENT, &digest);
    Some((kind, json!({"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": spec})))
}

fn queue(job: &ValidJob) -> &str {
    let policy = job.scheduling_policy().queue.as_str();
    let annotation = job.annotations().get(scheduling::VOLCANO_QUEUE_ANNOTATION).map_or("", String::as_str);
    if policy.is_empty() { annotation } else { policy }
}

/// The policy's, else the driver's, else that of the first other group that has one.
fn priority_class(job: &ValidJob) -> &str {
    let policy = job.scheduling_policy().priority_class.as_str();
    std::iter::once(policy)
        .chain(job.groups().all().map(class_of))
        .find(|class| !class.is_empty())
        .unwrap_or_default()
}

fn class_of(group: &Group) -> &str {
    at(group.pod_spec(), "/priorityClassName").as_str().unwrap_or_default()
}

/// What the group's members need together: what the job says, otherwise the requests of the `minMember` pods that
/// are placed first, those of the higher priority and among equals the driver. (The MPI Operator 0.8.2 counts
/// too much where workers rank higher.)
fn min_resources(job: &ValidJob, priorities: &Priorities) -> Option<Value> {
    if let Some(resources) = &job.scheduling_policy().min_resources {
        return Some(json!(resources));
    }
    let mut left = min_member(job);
    if left == 0 {
        return None;
    }
    let mut groups: Vec<&Group> = job.groups().all().collect();
    groups.sort_by_key(|group| Reverse(priorities.get(class_of(group)).copied().unwrap_or(0)));
    let mut total = Resources::new();
    for group in groups {
        let count = group.replicas().min(left);
        left -= count;
        let needs = needs::of(group.pod_spec());
        needs::add(&mut total, &needs.into_iter().map(|(name, need)| (name, need.times(count))).collect());
    }
    let texts: BTreeMap<String, String> =
        total.into_iter().map(|(name, sum)| (name, sum.to_string())).collect();
    Some(json!(texts))
}

#[cfg(test)]
mod tests;
