//! Workers that are lost.

use crate::{
    Job, Space,
    objects::{Kind, condition, field, running, text},
    space::{LIMIT, workers},
};
use anyhow::Result;
use kube::ResourceExt;
use serde_json::json;

/// A job that runs and of which a worker was deleted by hand and runs again under its name.
async fn with_a_new_worker(space: &Space, job: Job) -> Result<()> {
    space.create(&job).await?;
    space.condition("pi", "Running", "True").await?;
    let old = space.read(Kind::Pod, "pi-worker-1").await?.uid();
    space.delete(Kind::Pod, "pi-worker-1").await?;
    space
        .pods_until("pi", LIMIT, "worker 1 runs again", |pods| {
            pods.get("pi-worker-1").is_some_and(|pod| pod.uid() != old && running(pod)).then_some(())
        })
        .await
}

#[tokio::test]
async fn a_worker_that_is_deleted_comes_back_under_its_name() -> Result<()> {
    let space = Space::new("loss").await?;
    let job = Job::open_ended("pi").annotate("coxswain.dev/lost-worker", "ignore");
    with_a_new_worker(&space, job).await?;
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.remove().await
}

/// Its launcher exits 0 soon afterwards: nobody knows what became of the worker's part of the result.
#[tokio::test]
async fn a_job_whose_worker_was_deleted_just_before_its_end_has_failed() -> Result<()> {
    let space = Space::new("lost").await?;
    with_a_new_worker(&space, Job::open_ended("pi")).await?;
    space.finish("pi").await?;
    let reason = space
        .until(Kind::MpiJob, "pi", "Failed", |object| {
            let failed = condition(object, "Failed").filter(|found| field(found, "status") == "True");
            Ok(failed.map(|found| field(found, "reason").to_owned()))
        })
        .await?;
    assert_eq!(reason, "WorkerLost");
    space.remove().await
}

/// By the kubelet, because it writes more than its volume may hold. The MPI Operator leaves such a job half dead: its
/// other workers run on for ever.
#[tokio::test]
async fn an_evicted_worker_ends_the_job_and_the_others_are_removed() -> Result<()> {
    let space = Space::new("eviction").await?;
    let volume = json!([{ "name": "scratch", "emptyDir": { "sizeLimit": "1Mi" } }]);
    let job = Job::open_ended("pi")
        .workers_run("case $HOSTNAME in *-1) head -c 8000000 /dev/zero >/scratch/file;; esac; sleep 600")
        .set("/spec/mpiReplicaSpecs/Worker/template/spec/volumes", volume)
        .worker_container("volumeMounts", json!([{ "name": "scratch", "mountPath": "/scratch" }]));
    space.create(&job).await?;

    let reason = space
        .until(Kind::MpiJob, "pi", "Failed and completed", |object| {
            let failed = condition(object, "Failed").filter(|found| field(found, "status") == "True");
            let ended = !text(object, "/status/completionTime").is_empty();
            Ok(failed.filter(|_| ended).map(|found| field(found, "reason").to_owned()))
        })
        .await?;
    assert_eq!(reason, "MPIJobEvicted");
    space
        .pods_until("pi", LIMIT, "only the evicted worker is left", |pods| {
            let left: Vec<String> = workers(pods).into_iter().map(ResourceExt::name_any).collect();
            (left == ["pi-worker-1"]).then_some(())
        })
        .await?;
    space.remove().await
}
