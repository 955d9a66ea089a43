//! Steps for a job with a gang of Kubernetes' own scheduler.

use pretty_assertions::assert_eq;

use super::*;
use crate::{
    desired::Gang,
    gate,
    job::ValidJob,
    phase,
    testing::{complete, desired_under, native_group, noon, raw, suspend, valid},
};

fn job(workers: u32, annotations: &[(&str, &str)], suspended: bool) -> ValidJob {
    let mut raw = raw(workers);
    raw.metadata.generation = 2;
    suspend(&mut raw, suspended);
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    raw.metadata.annotations.extend(annotations.iter().map(owned));
    valid(&raw)
}

/// What a reconcile does, in words.
fn all(job: &ValidJob, observed: &ObservedState) -> Vec<String> {
    let wanted = desired_under(&Gang::Native, job, observed).into();
    let gate = gate::decide(job, observed, noon());
    let steps = steps(job, observed, phase::of(job, observed), &gate, &wanted);
    let one = |step: &Step| match step {
        Step::Create { object, .. } | Step::CreateSecret { object, .. } => format!("create {object}"),
        Step::CreateWorkers { indexes, .. } => format!("create workers {indexes:?}"),
        Step::Patch { object, patch, .. } => format!("patch {object} {patch}"),
        Step::Resume { object, .. } => format!("resume {object}"),
        Step::OpenGate { pod, .. } => format!("open {pod}"),
        Step::Delete { object, .. } => format!("delete {object}"),
    };
    steps.iter().map(one).collect()
}

#[test]
fn the_group_comes_before_its_members() {
    let steps = all(&job(2, &[], false), &ObservedState::default());

    let at = |what: &str| steps.iter().position(|step| step.starts_with(what)).unwrap();
    assert!(at("create PodGroup pi-job1-2") < at("create workers"), "{steps:?}");
}

#[test]
fn only_the_count_follows_and_a_group_on_its_way_out_takes_in_members() {
    let job = job(3, &[], false);
    let mut observed = complete(&job);
    observed.pods.retain(|pod| pod.gate.is_none());
    observed.pod_group = Some(native_group(&job, "pi-job1-1", 2, false));
    assert_eq!(
        all(&job, &observed),
        [r#"patch PodGroup pi-job1-1 {"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}}"#]
    );

    observed.pod_group = Some(native_group(&job, "pi-job1-1", 3, true));
    observed.pods.remove(0);
    let about_pods: Vec<String> =
        all(&job, &observed).into_iter().filter(|step| !step.contains("ConfigMap")).collect();
    assert_eq!(about_pods, ["create workers [0]"]);
}

#[test]
fn a_suspended_job_has_no_group_and_a_resumed_one_gets_a_new_one() {
    let stopped = job(2, &[], true);
    let mut observed = complete(&stopped);
    observed.pod_group = Some(native_group(&stopped, "pi-job1-1", 2, false));
    let steps = all(&stopped, &observed);
    assert!(steps.contains(&"delete PodGroup pi-job1-1".to_owned()), "{steps:?}");

    let resumed = job(2, &[], false);
    observed.launcher.as_mut().unwrap().suspended = true;
    observed.pod_group = Some(native_group(&resumed, "pi-job1-1", 2, true));
    observed.pods.iter_mut().for_each(|pod| pod.deleting = true);
    let steps = all(&resumed, &observed);
    assert!(steps.contains(&"create PodGroup pi-job1-2".to_owned()), "{steps:?}");
    assert!(steps.contains(&"resume Job pi-launcher".to_owned()), "{steps:?}");
}

#[test]
fn a_launcher_that_is_a_member_is_made_anew_as_its_template_names_the_group() {
    let job = job(2, &[("coxswain.dev/start-gate", "none")], false);
    let mut observed = complete(&job);
    observed.launcher.as_mut().unwrap().suspended = true;
    observed.pods.clear();

    let steps = all(&job, &observed);

    assert!(steps.contains(&"delete Job pi-launcher".to_owned()), "{steps:?}");
    assert!(!steps.iter().any(|step| step.starts_with("resume")), "{steps:?}");
}

#[test]
fn what_was_preempted_as_a_whole_starts_anew_in_a_group_of_its_own() {
    let job = job(2, &[], false);
    let mut observed = complete(&job);
    observed.pods.retain(|pod| pod.gate.is_none());
    observed.pod_group = Some(native_group(&job, "pi-job1-2", 2, false));
    observed.pods.iter_mut().for_each(|pod| pod.deleting = true);
    observed.pods.remove(0);

    let steps = all(&job, &observed);

    for step in ["create PodGroup pi-job1-2r1", "create workers [0]", "delete PodGroup pi-job1-2"] {
        assert!(steps.contains(&step.to_owned()), "{step}: {steps:?}");
    }
}
