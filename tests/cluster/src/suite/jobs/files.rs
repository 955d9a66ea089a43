//! Files that every pod of a job gets from its plugins.

use crate::{
    Job, Space,
    objects::{Kind, text},
};
use anyhow::Result;
use kube::ResourceExt;
use serde_json::{Value, json};

/// RDMA over Ethernet, of which the version is a variable in a file for NCCL.
fn job(version: Option<&str>) -> Job {
    let env =
        version.map_or(json!([]), |version| json!([{"name": "NCCL_IB_ROCE_VERSION_NUM", "value": version}]));
    Job::open_ended("pi")
        .annotate("coxswain.dev/tuners", "nccl-rdma")
        .annotate("nccl-rdma.coxswain.dev/profile", "roce")
        .run_policy("suspend", true)
        .worker_container("env", env)
}

async fn says(space: &Space, line: &str) -> Result<Option<String>> {
    space
        .until(Kind::ConfigMap, "pi-files", &format!("it says {line}"), |files| {
            Ok(text(files, "/data/nccl-conf").contains(line).then(|| files.uid()))
        })
        .await
}

/// They are immutable, so that a change of the job makes the ConfigMap anew.
#[tokio::test]
async fn files_that_a_change_of_the_job_changes_are_made_anew_for_the_pods_to_come() -> Result<()> {
    let space = Space::new("files").await?;
    space.create(&job(None)).await?;
    let before = says(&space, "NCCL_IB_ROCE_VERSION_NUM=2\n").await?;

    let worker = "/spec/mpiReplicaSpecs/Worker";
    let changed = job(Some("1")).manifest().pointer(worker).cloned().unwrap_or(Value::Null);
    space.patch(Kind::MpiJob, "pi", json!({"spec": {"mpiReplicaSpecs": {"Worker": changed}}})).await?;
    let after = says(&space, "NCCL_IB_ROCE_VERSION_NUM=1\n").await?;
    assert_ne!(before, after, "an immutable ConfigMap was changed");

    space.patch(Kind::MpiJob, "pi", json!({"spec": {"runPolicy": {"suspend": false}}})).await?;
    let launcher = space.launcher_runs("pi").await?;
    for pod in [&launcher, "pi-worker-0"] {
        let read = space.exec(pod, &["cat", "/etc/nccl.conf"]).await?;
        assert!(read.contains("NCCL_IB_ROCE_VERSION_NUM=1\n"), "{pod}: {read}");
    }
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.remove().await
}
