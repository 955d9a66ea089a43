//! Users' mistakes: each is told what to change, and nobody else is held up.

use crate::{
    Job, Space,
    objects::{Kind, condition, field},
};
use anyhow::Result;
use kube::api::PostParams;
use serde_json::json;

/// Waits until the job is refused; every word must be in the condition and in a Warning of that reason. Nothing is
/// made for it, and a right job beside it runs.
async fn refused(space: &Space, job: &Job, reason: &str, words: &[&str]) -> Result<()> {
    space.create(job).await?;
    let message = space.condition(job.name(), "Accepted", "False").await?;
    let said = space.hears(job.name(), reason).await?;
    assert_eq!(said.kind, "Warning");
    for word in words {
        assert!(message.contains(word), "the condition does not say {word:?}: {message}");
        assert!(said.message.contains(word), "the event does not say {word:?}: {}", said.message);
    }

    space.create(&Job::pi("right")).await?;
    space.succeeds("right").await?;
    space.ran_on_workers("right", 2).await?;
    for kind in [Kind::Pod, Kind::Job, Kind::Secret] {
        let made: Vec<String> =
            space.all(kind).await?.into_keys().filter(|name| name.starts_with(job.name())).collect();
        assert_eq!(made, Vec::<String>::new(), "of a job that is refused");
    }
    Ok(())
}

/// Corrects the job and waits until it has run.
async fn corrected(space: &Space, name: &str, patch: serde_json::Value) -> Result<()> {
    space.patch(Kind::MpiJob, name, patch).await?;
    space.succeeds(name).await?;
    space.ran_on_workers(name, 2).await?;
    let job = space.read(Kind::MpiJob, name).await?;
    assert_ne!(condition(&job, "Accepted").map(|found| field(found, "status")), Some("False"));
    Ok(())
}

#[tokio::test]
async fn a_job_that_breaks_a_rule_names_the_field_and_runs_once_it_is_corrected() -> Result<()> {
    let space = Space::new("refused").await?;
    let job = Job::pi("wrong").run_policy("cleanPodPolicy", "Sometimes");

    refused(&space, &job, "ValidationError", &["spec.runPolicy.cleanPodPolicy", "Sometimes", "Running"])
        .await?;

    corrected(&space, "wrong", json!({ "spec": { "runPolicy": { "cleanPodPolicy": "Running" } } })).await?;
    space.remove().await
}

#[tokio::test]
async fn an_implementation_that_no_plugin_serves_is_told_which_there_are() -> Result<()> {
    let space = Space::new("refused").await?;
    let job = Job::pi("wrong").set("/spec/mpiImplementation", "LAM");

    refused(&space, &job, "UnsupportedImplementation", &["LAM", "OpenMPI"]).await?;

    corrected(&space, "wrong", json!({ "spec": { "mpiImplementation": "OpenMPI" } })).await?;
    space.remove().await
}

#[tokio::test]
async fn a_setting_that_a_plugin_refuses_is_named_by_the_jobs_annotation() -> Result<()> {
    const SETTING: &str = "openmpi.coxswain.dev/tree-spawn";
    let space = Space::new("refused").await?;
    let job = Job::pi("wrong").annotate(SETTING, "perhaps");

    refused(&space, &job, "PlanRefused", &[&format!("metadata.annotations[{SETTING}]"), "perhaps"]).await?;

    corrected(&space, "wrong", json!({ "metadata": { "annotations": { SETTING: "false" } } })).await?;
    space.remove().await
}

/// It has none of the labels by which the operator watches, so that it finds out by being refused.
#[tokio::test]
async fn a_workers_name_that_somebody_elses_pod_has_is_told_and_the_job_runs_once_it_is_free() -> Result<()> {
    let space = Space::new("taken").await?;
    let manifest = Job::pi("pi").manifest().clone();
    let spec = &manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"];
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pi-worker-1"}, "spec": spec});
    space.api(Kind::Pod).create(&PostParams::default(), &serde_json::from_value(pod)?).await?;

    space.create(&Job::pi("pi")).await?;
    let message = space.condition("pi", "Accepted", "False").await?;
    assert!(message.contains("pi-worker-1") && message.contains("not managed by MPIJob"), "{message}");

    space.delete(Kind::Pod, "pi-worker-1").await?;
    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}

/// The mistake is in the pod template, which only the API server can judge.
#[tokio::test]
async fn a_template_that_the_api_server_refuses_is_told_in_its_words_and_not_tried_for_ever() -> Result<()> {
    let space = Space::new("refused").await?;
    let job = Job::pi("wrong").worker_container("ports", json!([{ "containerPort": 70000 }]));
    space.create(&job).await?;

    let message = space.condition("wrong", "Accepted", "False").await?;
    assert!(
        message.contains("containerPort") && message.contains("must be between 1 and 65535"),
        "{message}"
    );
    let workers: Vec<String> =
        space.all(Kind::Pod).await?.into_keys().filter(|name| name.contains("-worker-")).collect();
    assert_eq!(workers, Vec::<String>::new());

    let path = json!([{ "containerPort": 2222 }]);
    let mut corrected_job = job.manifest().clone();
    let ports = "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/ports";
    if let Some(ports) = corrected_job.pointer_mut(ports) {
        *ports = path;
    }
    corrected(&space, "wrong", json!({ "spec": corrected_job["spec"] })).await?;
    space.remove().await
}
