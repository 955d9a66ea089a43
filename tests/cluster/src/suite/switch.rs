//! From the MPI Operator 0.8.2, as it was released, to Coxswain and back, while jobs run.

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, Instant},
};

use crate::{
    Job, Object, Space,
    objects::{Kind, running, text},
    operator::{NAME, NAMESPACE},
    space::LIMIT,
    tool::run,
};
use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt;
use serde_json::{Value, json};

const NODE_LABEL: &str = "coxswain.test/switched";

/// Ends Coxswain, as `docs/upgrade.md` says. Beside the MPI Operator's roles, which replace its own, it would begin jobs
/// that it cannot finish.
async fn coxswain_ends() -> Result<()> {
    let deployment = format!("deployment/{NAME}");
    run("kubectl", &["-n", NAMESPACE, "scale", &deployment, "--replicas=0"]).await?;
    let pods = ["wait", "--for=delete", "pod", "-l", &format!("app={NAME}"), "--timeout=180s"];
    run("kubectl", &[&["-n", NAMESPACE][..], &pods].concat()).await.map(drop)
}

/// Applies what the MPI Operator publishes, as its guide says; server-side, as its CRD is too large otherwise.
async fn to_the_mpi_operator() -> Result<()> {
    let manifests =
        env::var("COXSWAIN_MPI_OPERATOR").context("COXSWAIN_MPI_OPERATOR must name its manifests")?;
    run("kubectl", &["apply", "--server-side", "--force-conflicts", "-f", &manifests]).await?;
    rolled_out().await
}

async fn to_coxswain() -> Result<()> {
    run(&env::var("COXSWAIN_DEPLOY").context("COXSWAIN_DEPLOY must name the script")?, &[]).await?;
    rolled_out().await
}

async fn rolled_out() -> Result<()> {
    let deployment = format!("deployment/{NAME}");
    run("kubectl", &["-n", NAMESPACE, "rollout", "status", &deployment, "--timeout=180s"]).await.map(drop)
}

/// uid and restarts of every pod of a job: what would change if anything of it were started anew.
async fn pods(space: &Space, job: &str) -> Result<BTreeMap<String, (String, Value)>> {
    let pods = space.all(Kind::Pod).await?.into_iter();
    let identity = |pod: &Object| {
        let restarts = pod.data.pointer("/status/containerStatuses/0/restartCount").cloned();
        (pod.uid().unwrap_or_default(), restarts.unwrap_or(json!(0)))
    };
    let of_job = pods.filter(|(name, _)| name.starts_with(&format!("{job}-")));
    Ok(of_job.map(|(name, pod)| (name, identity(&pod))).collect())
}

/// Ranks that meet again and again for so many seconds.
fn computing(name: &str, seconds: u32) -> Job {
    let seconds = seconds.to_string();
    let program = json!(["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000", seconds]);
    // Before the switch nothing holds the launcher back until its workers have names.
    Job::pi(name).set("/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command", program)
}

/// Its workers fit no node yet.
fn pending(name: &str) -> Job {
    let selector = json!({ NODE_LABEL: "yes" });
    Job::pi(name)
        .set("/spec/launcherCreationPolicy", "WaitForWorkersReady")
        .set("/spec/mpiReplicaSpecs/Worker/template/spec/nodeSelector", selector)
}

/// Waits until both ranks have found each other. Under the MPI Operator that may take the launcher some starts.
async fn computes(space: &Space, job: &str) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let output = space.output(job).await.unwrap_or_default();
        if output.contains("rank 0 of 2") && output.contains("rank 1 of 2") {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{job}: no ranks within {} s:\n{output}", LIMIT.as_secs());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn resume(space: &Space, job: &str) -> Result<()> {
    space.patch(Kind::MpiJob, job, json!({ "spec": { "runPolicy": { "suspend": false } } })).await
}

async fn workers_pend(space: &Space, job: &str) -> Result<()> {
    let names = [0, 1].map(|index| format!("{job}-worker-{index}"));
    space
        .pods_until(job, LIMIT, "both workers are there and wait for a node", |pods| {
            let pends =
                |name: &String| pods.get(name).is_some_and(|pod| text(pod, "/status/phase") == "Pending");
            names.iter().all(pends).then_some(())
        })
        .await
}

#[tokio::test]
async fn jobs_of_the_mpi_operator_go_on_under_coxswain_and_those_of_coxswain_after_a_drain() -> Result<()> {
    let space = Space::new("switch").await?;
    coxswain_ends().await?;
    to_the_mpi_operator().await?;
    let before = there(&space).await?;
    to_coxswain().await?;
    afterwards(&space, &before).await?;
    and_back(&space).await?;
    to_coxswain().await?;
    run("kubectl", &["label", "nodes", "--all", &format!("{NODE_LABEL}-")]).await?;
    space.remove().await
}

/// What stood before the switch: pods by job, and the version of the job that had ended.
struct Before {
    pods: BTreeMap<&'static str, BTreeMap<String, (String, Value)>>,
    ended: Option<String>,
}

async fn there(space: &Space) -> Result<Before> {
    space.create(&Job::pi("ended")).await?;
    space.create(&Job::open_ended("running")).await?;
    space.create(&Job::pi("suspended").run_policy("suspend", true)).await?;
    space.create(&pending("pending")).await?;
    space.succeeds("ended").await?;
    space.create(&computing("computing", 60)).await?;
    space.condition("running", "Running", "True").await?;
    computes(space, "computing").await?;
    space.condition("suspended", "Suspended", "True").await?;
    workers_pend(space, "pending").await?;
    let mut seen = BTreeMap::new();
    for job in ["running", "computing", "pending"] {
        seen.insert(job, pods(space, job).await?);
    }
    Ok(Before { pods: seen, ended: space.read(Kind::MpiJob, "ended").await?.resource_version() })
}

async fn afterwards(space: &Space, before: &Before) -> Result<()> {
    // A job of the new operator first: it leads, and has looked at all others.
    space.create(&Job::pi("new")).await?;
    space.succeeds("new").await?;
    space.launcher_started_once("new").await?;
    for (job, pods_before) in &before.pods {
        let now = pods(space, job).await?;
        let same = now.iter().all(|(name, pod)| pods_before.get(name) == Some(pod));
        ensure!(same, "{job}: something was started anew: {pods_before:?}, then {now:?}");
        // What computes may have come to its end, and its workers are gone then.
        let all = now.len() == pods_before.len() || *job == "computing";
        ensure!(all, "{job}: something was removed: {pods_before:?}, then {now:?}");
    }
    let ended = space.read(Kind::MpiJob, "ended").await?.resource_version();
    ensure!(ended == before.ended, "a job that had ended was written to");

    space.succeeds("computing").await?;
    let launcher = |pods: &BTreeMap<String, (String, Value)>| {
        pods.iter().find(|(name, _)| name.contains("-launcher-")).map(|(_, pod)| pod.clone())
    };
    let computed = launcher(&pods(space, "computing").await?);
    ensure!(computed == before.pods.get("computing").and_then(launcher), "its launcher was started anew");
    space.ran_on_workers("computing", 2).await?;

    loses_a_worker(space, "running").await?;
    space.finish("running").await?;
    space.succeeds("running").await?;

    run("kubectl", &["label", "nodes", "--all", "--overwrite", &format!("{NODE_LABEL}=yes")]).await?;
    space.succeeds("pending").await?;
    space.launcher_started_once("pending").await?;
    space.ran_on_workers("pending", 2).await?;

    resume(space, "suspended").await?;
    space.succeeds("suspended").await?;
    space.launcher_started_once("suspended").await?;
    space.ran_on_workers("suspended", 2).await
}

/// A worker of a job that another operator started comes back.
async fn loses_a_worker(space: &Space, job: &str) -> Result<()> {
    let name = format!("{job}-worker-1");
    let old = space.read(Kind::Pod, &name).await?.uid();
    space.delete(Kind::Pod, &name).await?;
    space
        .pods_until(job, LIMIT, "the worker that was deleted runs again", |pods| {
            pods.get(&name).is_some_and(|pod| pod.uid() != old && running(pod)).then_some(())
        })
        .await
}

async fn and_back(space: &Space) -> Result<()> {
    space.create(&computing("long", 60)).await?;
    space.create(&Job::open_ended("gated").never_ready()).await?;
    space.create(&Job::pi("asleep").run_policy("suspend", true)).await?;
    computes(space, "long").await?;
    space.condition("asleep", "Suspended", "True").await?;
    space.workers_run("gated", 2).await?;
    let long = pods(space, "long").await?;

    coxswain_ends().await?;
    let coxswain = env::var("COXSWAIN_BINARY").context("COXSWAIN_BINARY must name it")?;
    let said = run(&coxswain, &["drain"]).await?;
    println!("{said}");
    let gated = format!("pod {}/gated-launcher-", space.name());
    ensure!(said.contains(&gated), "the launcher that waited is released:\n{said}");
    let asleep = format!("job {}/asleep-launcher will not wait", space.name());
    ensure!(said.contains(&asleep), "the suspended launcher will not wait:\n{said}");
    to_the_mpi_operator().await?;

    space.launcher_runs("gated").await?;
    space.finish("gated").await?;
    space.succeeds("gated").await?;
    resume(space, "asleep").await?;
    space.succeeds("asleep").await?;
    space.succeeds("long").await?;
    let now = pods(space, "long").await?;
    let unchanged = now.iter().all(|(name, pod)| long.get(name) == Some(pod));
    ensure!(unchanged, "long: something was started anew: {long:?}, then {now:?}");
    space.ran_on_workers("long", 2).await
}
