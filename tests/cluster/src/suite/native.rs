//! Gangs of Kubernetes' own scheduler, on a bed that has them: a real scheduler, a real kubelet, and a node with a few
//! places of a device.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::gang::operator_with;
use crate::{
    Job, Objects, Space,
    objects::{Kind, text},
    space::{LIMIT, workers},
    tool::run,
};

const DEVICE: &str = "example.com/gpu";

/// There are one operator and one node, and each test here sets both.
static CLUSTER: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A cluster without jobs, an operator that places gangs so, and a node on which so many pods with a device can run at once.
async fn prepared(gang: Option<&str>, count: u32) -> Result<()> {
    // What a test that failed has left behind would take the places of the next.
    run("kubectl", &["delete", "mpijobs", "--all", "--all-namespaces", "--cascade=foreground"]).await?;
    operator_with(gang).await?;
    places(count).await
}

async fn places(count: u32) -> Result<()> {
    let node = run("kubectl", &["get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"]).await?;
    let patch = json!({"status": {"capacity": {DEVICE: count.to_string()}}});
    run(
        "kubectl",
        &["patch", "node", &node, "--subresource=status", "--type=merge", "-p", &patch.to_string()],
    )
    .await?;
    let allocatable = format!("jsonpath={{.status.allocatable.{}}}={count}", DEVICE.replace('.', "\\."));
    run("kubectl", &["wait", "node", &node, &format!("--for={allocatable}"), "--timeout=60s"]).await.map(drop)
}

/// A job whose workers take a place each.
fn with_devices(name: &str, workers: u32) -> Job {
    let resources = json!({"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {DEVICE: "1"}});
    Job::pi(name).workers(workers).worker_container("resources", resources)
}

/// The same, which runs until it is told to end.
fn open_ended(name: &str, workers: u32) -> Job {
    with_devices(name, workers).launcher_runs("until test -e /tmp/done; do sleep 0.2; done")
}

fn bound(pods: &Objects) -> usize {
    workers(pods).into_iter().filter(|pod| !text(pod, "/spec/nodeName").is_empty()).count()
}

/// Workers that have a place, by job.
fn bound_by_job(pods: &Objects) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for pod in workers(pods) {
        let ended = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        if !ended && pod.metadata.deletion_timestamp.is_none() && !text(pod, "/spec/nodeName").is_empty() {
            let job = pod.labels().get("training.kubeflow.org/job-name").cloned().unwrap_or_default();
            *count.entry(job).or_default() += 1;
        }
    }
    count
}

async fn group_of(space: &Space, job: &str) -> Result<Value> {
    let selector = format!("training.kubeflow.org/job-name={job}");
    let kind = "podgroups.scheduling.k8s.io";
    let words = ["-n", space.name(), "get", kind, "-l", &selector, "-o", "json"];
    let groups: Value = serde_json::from_str(&run("kubectl", &words).await?)?;
    groups.pointer("/items/0").cloned().with_context(|| format!("{job} has no PodGroup: {groups}"))
}

/// The reason and the message of a job's condition.
async fn workers_ready(space: &Space, job: &str, reason: &str) -> Result<String> {
    space
        .until(Kind::MpiJob, job, &format!("WorkersReady says {reason}"), |object| {
            let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
            let first = conditions.and_then(|conditions| conditions.first());
            let said = first.filter(|said| said["type"] == "WorkersReady" && said["reason"] == reason);
            Ok(said.map(|said| said["message"].as_str().unwrap_or_default().to_owned()))
        })
        .await
}

#[tokio::test]
async fn of_five_workers_on_four_places_none_starts_and_with_the_fifth_place_all_do() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    prepared(Some("native"), 4).await?;
    let space = Space::new("native-five").await?;

    space.create(&with_devices("five", 5)).await?;
    let message = workers_ready(&space, "five", "Unschedulable").await?;
    ensure!(
        message.contains("0 of 5 ready") && message.contains("minCount (5) cannot be satisfied"),
        "{message}"
    );
    space.hears("five", "Unschedulable").await?;
    space
        .pods_never("five", Duration::from_secs(5), |pods| {
            (bound(pods) > 0).then(|| "half a gang".to_owned())
        })
        .await?;

    places(5).await?;
    space.workers_run("five", 5).await?;
    workers_ready(&space, "five", "AllReady").await?;
    space.succeeds("five").await?;
    space.launcher_started_once("five").await?;
    let kind = "podgroups.scheduling.k8s.io";
    let all =
        ["-n", space.name(), "wait", "--for=delete", "--timeout=30s", kind, "-l", "coxswain.dev/job=five"];
    run("kubectl", &all).await.context("the group goes with the workers")?;
    space.remove().await
}

#[tokio::test]
async fn of_two_jobs_of_three_on_four_places_one_runs_and_then_the_other() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    // Without gangs: made interleaved, two of each, and neither has all.
    prepared(None, 4).await?;
    let space = Space::new("native-none").await?;
    for name in ["left", "right"] {
        space.create(&open_ended(name, 2)).await?;
    }
    for name in ["left", "right"] {
        space.workers_run(name, 2).await?;
        space
            .patch(Kind::MpiJob, name, json!({"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}}))
            .await?;
    }
    space
        .pods_never("left", Duration::from_secs(5), |pods| {
            (bound(pods) > 2).then(|| "all of a job without a gang".to_owned())
        })
        .await?;
    space.remove().await?;

    prepared(Some("native"), 4).await?;
    let space = Space::new("native-two").await?;
    let halves = {
        let pods = space.api(Kind::Pod);
        tokio::spawn(async move {
            let all = kube::runtime::watcher::Config::default();
            crate::watch::never(&pods, all, LIMIT * 2, |pods| {
                let bound = bound_by_job(pods);
                // The whole gang is bound at once, but one pod after the other.
                let started = bound.values().filter(|count| **count > 0).count();
                (started > 1).then(|| format!("both have started: {bound:?}"))
            })
            .await
        })
    };
    for name in ["left", "right"] {
        space.create(&with_devices(name, 3)).await?;
    }
    for name in ["left", "right"] {
        space.succeeds_within(name, LIMIT * 2).await?;
    }
    ensure!(!halves.is_finished(), "{:?}", halves.await);
    halves.abort();
    space.remove().await
}

#[tokio::test]
async fn a_lost_worker_comes_back_alone_and_a_suspended_job_starts_anew_as_a_whole() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    prepared(Some("native"), 4).await?;
    let space = Space::new("native-life").await?;

    space.create(&open_ended("life", 3)).await?;
    space.workers_run("life", 3).await?;
    workers_ready(&space, "life", "AllReady").await?;
    let first = group_of(&space, "life").await?;
    let name = |group: &Value| group["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let uid = |pods: &Objects| pods.get("life-worker-1").and_then(ResourceExt::uid);
    let lost = uid(&space.all(Kind::Pod).await?);
    space.delete(Kind::Pod, "life-worker-1").await?;
    space
        .pods_until("life", LIMIT, "the lost worker is back", |pods| {
            let back =
                workers(pods).into_iter().filter(|pod| text(pod, "/status/phase") == "Running").count();
            (back == 3 && uid(pods).is_some() && uid(pods) != lost).then_some(())
        })
        .await?;
    ensure!(name(&group_of(&space, "life").await?) == name(&first), "the group is still that of this start");

    let mut before = name(&first);
    for _ in 0..2 {
        space.patch(Kind::MpiJob, "life", json!({"spec": {"runPolicy": {"suspend": true}}})).await?;
        space.condition("life", "Suspended", "True").await?;
        space.pods_until("life", LIMIT, "no pod is left", |pods| pods.is_empty().then_some(())).await?;
        space.patch(Kind::MpiJob, "life", json!({"spec": {"runPolicy": {"suspend": false}}})).await?;
        space.workers_run("life", 3).await?;
        let after = name(&group_of(&space, "life").await?);
        ensure!(after != before, "{after} is used twice");
        before = after;
    }
    space.finish("life").await?;
    space.succeeds("life").await?;
    space.remove().await
}

#[tokio::test]
async fn a_launcher_of_the_gang_and_an_elastic_job_start_as_they_say() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    prepared(Some("native"), 3).await?;
    let space = Space::new("native-kinds").await?;

    let member = with_devices("member", 3).annotate("coxswain.dev/start-gate", "none");
    space.create(&member.annotate("coxswain.dev/ssh-probe", "2222")).await?;
    space.succeeds("member").await?;

    // Two of four suffice, and three find a place.
    let elastic = open_ended("elastic", 4).annotate("coxswain.dev/start-min-workers", "2");
    space.create(&elastic).await?;
    space.launcher_runs("elastic").await?;
    let group = group_of(&space, "elastic").await?;
    ensure!(group["spec"]["schedulingPolicy"]["gang"]["minCount"] == 2, "{group}");
    space.workers_run("elastic", 3).await?;
    space.finish("elastic").await?;
    space.succeeds("elastic").await?;
    space.remove().await
}

#[tokio::test]
async fn a_gang_of_higher_priority_takes_the_places_of_a_whole_one() -> Result<()> {
    let _alone = CLUSTER.lock().await;
    prepared(Some("native"), 4).await?;
    for (name, value) in [("gang-low", "10"), ("gang-high", "1000")] {
        let exists = run("kubectl", &["get", "priorityclass", name]).await.is_ok();
        if !exists {
            run("kubectl", &["create", "priorityclass", name, &format!("--value={value}")]).await?;
        }
    }
    let space = Space::new("native-priority").await?;
    let of = |job: Job, class: &str| job.run_policy("schedulingPolicy", json!({"priorityClass": class}));

    space.create(&of(open_ended("low", 3), "gang-low")).await?;
    space.workers_run("low", 3).await?;
    workers_ready(&space, "low", "AllReady").await?;
    space.create(&of(open_ended("high", 2), "gang-high")).await?;
    space.workers_run("high", 2).await?;
    space
        .pods_until("low", LIMIT, "no worker has kept its place", |pods| (bound(pods) == 0).then_some(()))
        .await?;
    space.finish("high").await?;
    space.succeeds("high").await?;
    space.remove().await
}
