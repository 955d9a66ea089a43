//! What is left when a job ends, and when it is deleted.

use std::time::Duration;

use crate::{
    Job, Object, Objects, Space,
    objects::{Kind, running, text},
    space::{LIMIT, workers},
};
use anyhow::Result;
use kube::ResourceExt;

/// Worker 1 ends by itself before the job does, worker 0 runs on.
fn job(policy: &str) -> Job {
    Job::open_ended("pi")
        .workers_run("case $HOSTNAME in *-1) exit 0;; esac; sleep 600")
        .run_policy("cleanPodPolicy", policy)
}

async fn run(space: &Space, policy: &str) -> Result<()> {
    space.create(&job(policy)).await?;
    space
        .pods_until("pi", LIMIT, "worker 0 runs, worker 1 has ended", |pods| {
            let of = |name: &str, good: fn(&Object) -> bool| pods.get(name).is_some_and(good);
            let ended = |pod: &Object| text(pod, "/status/phase") == "Succeeded";
            (of("pi-worker-0", running) && of("pi-worker-1", ended)).then_some(())
        })
        .await?;
    space.finish("pi").await?;
    space.succeeds("pi").await
}

fn names(pods: &Objects) -> Vec<String> {
    workers(pods).into_iter().map(ResourceExt::name_any).collect()
}

/// Waits until the workers that are left are these, and looks for a while whether they stay.
async fn left(space: &Space, expected: &[&str]) -> Result<()> {
    let what = format!("the workers left are {expected:?}");
    space.pods_until("pi", LIMIT, &what, |pods| (names(pods) == expected).then_some(())).await?;
    let other =
        |pods: &_| (names(pods) != expected).then(|| format!("{:?} are left, not {expected:?}", names(pods)));
    space.pods_never("pi", Duration::from_secs(3), other).await
}

#[tokio::test]
async fn clean_pod_policy_none_leaves_all_workers() -> Result<()> {
    let space = Space::new("cleanup").await?;
    run(&space, "None").await?;
    left(&space, &["pi-worker-0", "pi-worker-1"]).await?;
    assert!(running(&space.read(Kind::Pod, "pi-worker-0").await?));
    space.remove().await
}

#[tokio::test]
async fn clean_pod_policy_running_leaves_workers_that_have_ended() -> Result<()> {
    let space = Space::new("cleanup").await?;
    run(&space, "Running").await?;
    left(&space, &["pi-worker-1"]).await?;
    space.remove().await
}

#[tokio::test]
async fn clean_pod_policy_all_leaves_no_worker() -> Result<()> {
    let space = Space::new("cleanup").await?;
    run(&space, "All").await?;
    left(&space, &[]).await?;
    space.remove().await
}

/// Everything in the namespace that a job may have made.
async fn objects(space: &Space) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for kind in [Kind::Pod, Kind::Job, Kind::Service, Kind::ConfigMap, Kind::Secret] {
        let made = |name: &String| name != "kube-root-ca.crt";
        names.extend(space.all(kind).await?.into_keys().filter(made).map(|name| format!("{kind:?}/{name}")));
    }
    Ok(names)
}

#[tokio::test]
async fn deleting_a_running_job_removes_everything_that_belongs_to_it() -> Result<()> {
    let space = Space::new("cleanup").await?;
    space.create(&Job::open_ended("pi")).await?;
    space.launcher_runs("pi").await?;
    assert!(objects(&space).await?.len() >= 7, "{:?}", objects(&space).await?);

    space.delete(Kind::MpiJob, "pi").await?;

    space.pods_until("pi", LIMIT, "no pod is left", |pods| pods.is_empty().then_some(())).await?;
    let mut found = objects(&space).await?;
    for _ in 0..100 {
        if found.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        found = objects(&space).await?;
    }
    assert_eq!(found, Vec::<String>::new());
    // Nothing comes back either.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(objects(&space).await?, Vec::<String>::new());
    space.remove().await
}

/// The objects of the first one are still there when the second one comes; it must not take them for its own.
#[tokio::test]
async fn a_job_that_is_deleted_and_made_again_at_once_runs() -> Result<()> {
    let space = Space::new("cleanup").await?;
    space.create(&Job::open_ended("pi")).await?;
    space.launcher_runs("pi").await?;

    space.delete(Kind::MpiJob, "pi").await?;
    space.create(&Job::pi("pi")).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}
