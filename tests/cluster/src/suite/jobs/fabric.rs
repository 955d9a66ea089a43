//! The tuner for RDMA networks, on networks that a test has: what it brings reaches ranks, and what stands behind a claim
//! is in the pin.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    Job, Space,
    objects::{Kind, text},
};

/// Alibaba's profile has Open MPI talk TCP over eth0, which every pod has.
fn tuned(name: &str) -> Job {
    Job::pi(name)
        .annotate("coxswain.dev/tuners", "nccl-rdma")
        .annotate("nccl-rdma.coxswain.dev/profile", "alibaba-erdma")
        .annotate("nccl-rdma.coxswain.dev/set", "FI_PROVIDER=tcp")
        .annotate("nccl-rdma.coxswain.dev/shared-memory", "32Mi")
}

#[tokio::test]
async fn files_variables_and_capabilities_reach_ranks_that_ssh_starts() -> Result<()> {
    let space = Space::new("fabric").await?;
    let look = "cat /etc/nccl.conf; echo provider $FI_PROVIDER; grep /dev/shm /proc/mounts; grep CapBnd /proc/self/status";
    let job = tuned("tuned")
        .annotate("coxswain.dev/allow-capabilities", "shared-memory,lock-memory")
        .launcher_runs(&format!("mpirun -n 2 bash -c '{look}' && mpirun -n 2 /home/mpiuser/pi 1000000"));
    space.create(&job).await?;

    space.succeeds("tuned").await?;
    space.ran_on_workers("tuned", 2).await?;
    let output = space.output("tuned").await?;
    for line in ["NCCL_IB_HCA=erdma", "NCCL_SOCKET_IFNAME=eth0", "provider tcp", "size=32768k"] {
        assert_eq!(output.matches(line).count(), 2, "{line} in\n{output}");
    }
    let bounds = output.lines().filter_map(|line| line.strip_prefix("CapBnd:"));
    let locks = bounds.map(|bound| Ok(u64::from_str_radix(bound.trim(), 16)? & IPC_LOCK != 0));
    assert_eq!(locks.collect::<Result<Vec<bool>>>()?, [true, true], "{output}");
    space.remove().await
}

/// Bit of `CAP_IPC_LOCK`.
const IPC_LOCK: u64 = 1 << 14;

#[tokio::test]
async fn what_is_not_granted_is_told_and_the_job_runs_without() -> Result<()> {
    let space = Space::new("withheld").await?;
    space.create(&tuned("withheld")).await?;

    space.succeeds("withheld").await?;
    let said = space.said("withheld").await?;
    let withheld = said.iter().filter(|said| said.message.contains("which is not granted")).count();
    assert_eq!(withheld, 2, "{said:#?}");
    space.remove().await
}

fn template(interface: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": { "name": "nic" },
        "spec": { "spec": { "devices": {
            "requests": [{ "name": "nic", "exactly": { "deviceClassName": "dranet" } }],
            "config": [{ "opaque": { "driver": "dra.net", "parameters": { "interface": { "name": interface } } } }],
        } } },
    })
}

/// Suspended, so that no pod asks for a device that no node here has.
fn claiming(name: &str, template: &str) -> Job {
    let claims = json!([{ "name": "nic", "resourceClaimTemplateName": template }]);
    Job::pi(name)
        .annotate("coxswain.dev/tuners", "nccl-rdma")
        .run_policy("suspend", true)
        .set("/spec/mpiReplicaSpecs/Worker/template/spec/resourceClaims", claims)
}

#[tokio::test]
async fn the_interface_behind_a_claim_is_pinned_with_the_job() -> Result<()> {
    let space = Space::new("claims").await?;
    let templates = space.api(Kind::ResourceClaimTemplate);
    templates
        .create(&kube::api::PostParams::default(), &serde_json::from_value(template("dranet0"))?)
        .await?;
    space.create(&claiming("pi", "nic")).await?;
    let says = |what: &'static str| {
        space.until(Kind::ConfigMap, "pi-files", what, move |files| {
            Ok(text(files, "/data/nccl-conf").contains(what).then_some(()))
        })
    };
    says("NCCL_SOCKET_IFNAME=dranet0\n").await?;

    space.delete(Kind::ResourceClaimTemplate, "nic").await?;
    templates.create(&kube::api::PostParams::default(), &serde_json::from_value(template("net7"))?).await?;
    let env = json!([{ "name": "NCCL_IB_HCA", "value": "mlx5_3" }]);
    let changed = claiming("pi", "nic").worker_container("env", env);
    let worker = changed.manifest().pointer("/spec/mpiReplicaSpecs/Worker").cloned().unwrap_or(Value::Null);
    space.patch(Kind::MpiJob, "pi", json!({ "spec": { "mpiReplicaSpecs": { "Worker": worker } } })).await?;
    says("NCCL_SOCKET_IFNAME=dranet0\nNCCL_IB_DISABLE=0\nNCCL_IB_HCA=mlx5_3\n").await?;
    space.remove().await
}

#[tokio::test]
async fn a_claim_that_is_not_there_yet_is_told_and_holds_nothing_up() -> Result<()> {
    let space = Space::new("no-claims").await?;
    let shared = json!([{ "name": "nic", "resourceClaimName": "absent" }]);
    let claims = "/spec/mpiReplicaSpecs/Worker/template/spec/resourceClaims";
    space.create(&claiming("template", "absent")).await?;
    space.create(&claiming("shared", "").set(claims, shared)).await?;

    for (job, object) in [("template", "resourceclaimtemplates"), ("shared", "resourceclaims")] {
        let said = space.hears(job, "PluginNote").await?;
        assert!(said.message.contains(&format!("{object}/absent was not there")), "{}", said.message);
    }
    space.remove().await
}
