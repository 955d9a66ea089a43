//! Native gangs on a cluster that lacks a gate: `COXSWAIN_WITHOUT` says which, and the operator does, too. (Where the API server alone
//! is without it, the scheduler waits for a kind that is not served, and places no pod of anybody's.)

use std::{env, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::gang::{gang_argument, operator_with};
use crate::{
    Job, Space,
    objects::Kind,
    operator::{NAME, NAMESPACE},
    space::LIMIT,
    tool::run,
};

#[tokio::test]
async fn the_operator_says_where_the_gate_is_off() -> Result<()> {
    let without = env::var("COXSWAIN_WITHOUT").context("COXSWAIN_WITHOUT must name a gate, or all")?;
    match &*without {
        "all" => api_server().await,
        "kube-scheduler" => scheduler().await,
        "topology" => topology().await,
        other => {
            anyhow::bail!("COXSWAIN_WITHOUT={other} is none of all, kube-scheduler, topology")
        }
    }
}

/// No component has the gate, as by default, and the kind is not served: the operator does not become ready, and its log and `/readyz` say why.
async fn api_server() -> Result<()> {
    gang_argument(Some("native")).await?;
    let deployment = format!("deployment/{NAME}");
    let begin = std::time::Instant::now();
    loop {
        let log = run("kubectl", &["-n", NAMESPACE, "logs", &deployment, "--all-pods", "--tail=200"]).await;
        if log.is_ok_and(|log| {
            log.contains("GenericWorkload") && log.contains("scheduling.k8s.io/v1beta1=true")
        }) {
            break;
        }
        ensure!(begin.elapsed() < LIMIT, "no log names the gate");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let available = "jsonpath={.status.availableReplicas}";
    let available = run("kubectl", &["-n", NAMESPACE, "get", &deployment, "-o", available]).await?;
    ensure!(available == "1", "the pod of before goes on leading, and {available:?} pods are available");
    operator_with(None).await
}

/// The group is stored and nobody looks at it: the pods start one by one.
async fn scheduler() -> Result<()> {
    operator_with(Some("native")).await?;
    let space = Space::new("native-without").await?;
    space.create(&Job::pi("pi").launcher_runs("until test -e /tmp/done; do sleep 0.2; done")).await?;
    let event = space.hears("pi", "GangNotEnforced").await?;
    ensure!(
        event.message.contains("scheduler") && event.message.contains("GenericWorkload"),
        "{}",
        event.message
    );
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.remove().await
}

/// The constraint is dropped without a word.
async fn topology() -> Result<()> {
    operator_with(Some("native")).await?;
    let space = Space::new("native-without").await?;
    space.create(&Job::pi("pi").annotate("coxswain.dev/topology", "kubernetes.io/hostname")).await?;
    let event = space.hears("pi", "TopologyNotEnforced").await?;
    ensure!(event.message.contains("TopologyAwareWorkloadScheduling"), "{}", event.message);
    space
        .patch(Kind::MpiJob, "pi", json!({"metadata": {"annotations": {"coxswain.dev/topology": null}}}))
        .await?;
    space.succeeds("pi").await?;
    space.remove().await
}
