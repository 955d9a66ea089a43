//! Deadlines, retries, time to live, and who manages a job.

use std::time::Duration;

use crate::{
    Job, Space,
    objects::{Kind, condition, field, text},
    space::{LIMIT, workers},
};
use anyhow::{Result, ensure};

/// Waits until the job has failed; returns the reason.
async fn fails(space: &Space, job: &str) -> Result<String> {
    space
        .until(Kind::MpiJob, job, "Failed", |object| {
            let failed = condition(object, "Failed").filter(|found| field(found, "status") == "True");
            Ok(failed.map(|found| field(found, "reason").to_owned()))
        })
        .await
}

async fn ended_and_cleaned(space: &Space, job: &str) -> Result<()> {
    let object = space.read(Kind::MpiJob, job).await?;
    ensure!(!text(&object, "/status/completionTime").is_empty(), "{job} has no completionTime");
    space.pods_until(job, LIMIT, "no worker is left", |pods| workers(pods).is_empty().then_some(())).await
}

#[tokio::test]
async fn a_job_over_its_deadline_fails_and_is_cleaned_up() -> Result<()> {
    let space = Space::new("deadline").await?;
    space.create(&Job::open_ended("pi").run_policy("activeDeadlineSeconds", 5)).await?;

    assert_eq!(fails(&space, "pi").await?, "DeadlineExceeded");
    ended_and_cleaned(&space, "pi").await?;
    space.remove().await
}

#[tokio::test]
async fn a_launcher_that_fails_too_often_fails_the_job_with_the_jobs_reason() -> Result<()> {
    let space = Space::new("backoff").await?;
    let never = "/spec/mpiReplicaSpecs/Launcher/restartPolicy";
    let job = Job::pi("pi").launcher_runs("exit 3").run_policy("backoffLimit", 1).set(never, "Never");
    space.create(&job).await?;

    let reason = fails(&space, "pi").await?;
    assert!(reason.starts_with("BackoffLimitExceeded"), "{reason}");
    ended_and_cleaned(&space, "pi").await?;
    space.remove().await
}

#[tokio::test]
async fn a_launcher_that_has_lived_its_time_after_the_end_is_not_made_again() -> Result<()> {
    let space = Space::new("ttl").await?;
    space.create(&Job::pi("pi").run_policy("ttlSecondsAfterFinished", 1)).await?;

    space.succeeds("pi").await?;
    space.pods_until("pi", LIMIT, "no pod is left", |pods| pods.is_empty().then_some(())).await?;
    let any = |pods: &crate::Objects| pods.keys().next().cloned();
    space.pods_never("pi", Duration::from_secs(3), any).await?;
    assert!(!space.all(Kind::Job).await?.contains_key("pi-launcher"));
    space.succeeds("pi").await?;
    space.remove().await
}

#[tokio::test]
async fn a_job_of_another_manager_gets_nothing_not_even_a_status() -> Result<()> {
    let space = Space::new("managed").await?;
    space.create(&Job::pi("theirs").run_policy("managedBy", "kueue.x-k8s.io/multikueue")).await?;
    space.create(&Job::pi("ours").run_policy("managedBy", "kubeflow.org/mpi-operator")).await?;

    space.succeeds("ours").await?;
    let theirs = space.read(Kind::MpiJob, "theirs").await?;
    assert!(theirs.data.get("status").is_none(), "{}", theirs.data);
    for kind in [Kind::Service, Kind::ConfigMap, Kind::Secret, Kind::Pod, Kind::Job] {
        let made: Vec<String> =
            space.all(kind).await?.into_keys().filter(|name| name.starts_with("theirs")).collect();
        assert_eq!(made, Vec::<String>::new());
    }
    space.remove().await
}
