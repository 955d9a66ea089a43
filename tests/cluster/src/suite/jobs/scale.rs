//! The number of workers of a running job changes.

use crate::{
    Job, Objects, Space,
    objects::{Kind, running, text},
    space::{LIMIT, workers},
};
use anyhow::Result;
use kube::ResourceExt;
use serde_json::json;

async fn scale(space: &Space, count: usize) -> Result<()> {
    let patch = json!({ "spec": { "mpiReplicaSpecs": { "Worker": { "replicas": count } } } });
    space.patch(Kind::MpiJob, "pi", patch).await?;
    let expected: Vec<String> = (0..count).map(|index| format!("pi-worker-{index}")).collect();
    let names = |pods: &Objects| workers(pods).into_iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    space
        .pods_until("pi", LIMIT, &format!("the workers are {expected:?} and run"), |pods| {
            (names(pods) == expected && workers(pods).into_iter().all(running)).then_some(())
        })
        .await?;

    let host = |index: usize| format!("pi-worker-{index}.pi.{}.svc", space.name());
    let hosts: Vec<String> = (0..count).map(host).collect();
    let hostfile = format!("{} slots=1\n", hosts.join(" slots=1\n"));
    let script = format!("#!/bin/sh\necho {}\n", hosts.join("\necho "));
    space
        .until(Kind::ConfigMap, "pi-config", "hostfile and discover_hosts.sh follow the workers", |config| {
            let follows = text(config, "/data/hostfile") == hostfile
                && text(config, "/data/discover_hosts.sh") == script;
            Ok(follows.then_some(()))
        })
        .await
}

#[tokio::test]
async fn workers_hostfile_and_host_discovery_follow_a_change_of_replicas() -> Result<()> {
    let space = Space::new("scale").await?;
    space.create(&Job::open_ended("pi").workers(1)).await?;
    let launcher = space.launcher_runs("pi").await?;

    scale(&space, 3).await?;
    scale(&space, 2).await?;

    assert!(running(&space.read(Kind::Pod, &launcher).await?), "the launcher did not go on");
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.launcher_started_once("pi").await?;
    space.remove().await
}
