//! Jobs that are held back and let go, as Kueue does.

use std::time::Duration;

use crate::{
    Job, Space,
    objects::{Kind, condition, field},
    space::LIMIT,
};
use anyhow::Result;
use serde_json::json;

async fn suspend(space: &Space, suspended: bool) -> Result<()> {
    space.patch(Kind::MpiJob, "pi", json!({ "spec": { "runPolicy": { "suspend": suspended } } })).await
}

#[tokio::test]
async fn a_job_that_is_suspended_from_the_start_makes_no_pod_until_it_is_resumed() -> Result<()> {
    let space = Space::new("suspend").await?;
    space.create(&Job::pi("pi").run_policy("suspend", true)).await?;

    space.condition("pi", "Suspended", "True").await?;
    let any = |pods: &crate::Objects| pods.keys().next().cloned();
    space.pods_never("pi", Duration::from_secs(3), any).await?;
    suspend(&space, false).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    let job = space.read(Kind::MpiJob, "pi").await?;
    assert_eq!(condition(&job, "Suspended").map(|found| field(found, "status")), Some("False"));
    space.remove().await
}

#[tokio::test]
async fn a_job_that_is_suspended_while_it_runs_goes_on_after_it_is_resumed() -> Result<()> {
    let space = Space::new("suspend").await?;
    // Runs for ten seconds, so that it cannot have ended before it is suspended.
    let program = json!(["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000", "10"]);
    let command = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command";
    // The policy is that of the end of a job: suspension frees the devices under every policy.
    space.create(&Job::pi("pi").set(command, program).run_policy("cleanPodPolicy", "None")).await?;
    space.condition("pi", "Running", "True").await?;

    suspend(&space, true).await?;
    space.condition("pi", "Suspended", "True").await?;
    space.condition("pi", "Running", "False").await?;
    space.pods_until("pi", LIMIT, "no pod is left", |pods| pods.is_empty().then_some(())).await?;
    // At once: DNS still gives out the addresses of the workers that are gone.
    suspend(&space, false).await?;

    space.succeeds("pi").await?;
    space.launcher_started_once("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}
