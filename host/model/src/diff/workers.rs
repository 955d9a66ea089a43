//! Worker pods: created, scaled down, cleaned up.

use std::{collections::HashSet, sync::Arc};

use super::ownership::{Held, held};
use crate::{
    desired::WorkerTemplate,
    job::{CleanPodPolicy, ValidJob},
    object::ObjectName,
    observed::{ObservedPod, ObservedState, PodPhase},
    step::Step,
};

/// One step a group that creates every worker whose name is free. A pod that failed or terminates still holds its name.
pub fn create(
    job: &ValidJob,
    observed: &ObservedState,
    templates: &[Arc<WorkerTemplate>],
) -> impl Iterator<Item = Step> {
    let create = move |template: &Arc<WorkerTemplate>| {
        let group = job.groups().of(template.role())?;
        let taken: HashSet<u32> = observed.group(group).map(|pod| pod.index).collect();
        let indexes: Vec<u32> = (0..group.replicas()).filter(|index| !taken.contains(index)).collect();
        (!indexes.is_empty()).then(|| Step::CreateWorkers { template: template.clone(), indexes })
    };
    templates.iter().filter_map(create)
}

/// Deletes our workers beyond their group's size, highest index first.
pub fn scale_down(job: &ValidJob, observed: &ObservedState) -> Vec<Step> {
    let surplus = |pod: &&ObservedPod| !job.wants(pod.id());
    deletions(job, observed, surplus, false)
}

/// What a job that has ended leaves behind goes as `cleanPodPolicy` says: our workers, and the `PodGroup` with them.
pub fn clean_up(job: &ValidJob, observed: &ObservedState) -> Vec<Step> {
    match job.clean_pod_policy() {
        CleanPodPolicy::None => Vec::new(),
        CleanPodPolicy::Running | CleanPodPolicy::All => stop(job, observed),
    }
}

/// Takes away what holds devices of a job that is suspended, under every `cleanPodPolicy`: a queue gives them to
/// somebody else from then on. Only under `Running` workers that have ended stay. The `PodGroup` always goes.
pub fn stop(job: &ValidJob, observed: &ObservedState) -> Vec<Step> {
    let runs = |pod: &&ObservedPod| matches!(pod.phase, PodPhase::Running | PodPhase::Pending);
    let mut steps = match job.clean_pod_policy() {
        // A pod that has ended since it was observed is to be kept.
        CleanPodPolicy::Running => deletions(job, observed, runs, true),
        CleanPodPolicy::None | CleanPodPolicy::All => deletions(job, observed, |_| true, false),
    };
    if let Held::Ours(group) = held(job, observed.pod_group.as_ref(), |group| &group.object) {
        steps.push(Step::Delete {
            object: ObjectName { kind: group.kind, name: group.name.to_string() },
            uid: group.object.uid.clone(),
            version: None,
        });
    }
    steps
}

fn deletions(
    job: &ValidJob,
    observed: &ObservedState,
    doomed: impl Fn(&&ObservedPod) -> bool,
    as_observed: bool,
) -> Vec<Step> {
    let mut pods: Vec<&ObservedPod> =
        observed.workers_of(job).filter(|pod| !pod.deleting).filter(doomed).collect();
    pods.sort_by_key(|pod| std::cmp::Reverse(pod.id()));
    let delete = |pod: &ObservedPod| Step::Delete {
        object: job.pod_name(pod.id()).into(),
        uid: pod.uid.clone(),
        version: as_observed.then_some(pod.version),
    };
    pods.into_iter().map(delete).collect()
}
