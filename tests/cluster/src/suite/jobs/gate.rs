//! The launcher starts after its workers, and never later than it should.

use std::time::Duration;

use crate::{
    Job, Space,
    objects::{Kind, gates, has, list, text},
    space::{LIMIT, launchers, workers},
};
use anyhow::{Context as _, Result};
use kube::ResourceExt;
use serde_json::json;

const OURS: &str = "coxswain.dev/workers";
const THEIRS: &str = "example.com/theirs";

/// Holds the workers, with Ready as their file says, and the launcher's script.
fn held(name: &str, launcher: &str) -> Job {
    Job::pi(name).never_ready().launcher_runs(launcher).run_policy("backoffLimit", 0)
}

/// Waits until the launcher's pod has exactly these gates.
async fn gated(space: &Space, job: &str, expected: &[&str]) -> Result<()> {
    space
        .pods_until(job, LIMIT, &format!("the launcher has the gates {expected:?}"), |pods| {
            launchers(pods).into_iter().any(|pod| gates(pod) == expected).then_some(())
        })
        .await
}

#[tokio::test]
async fn the_launcher_waits_until_all_workers_are_ready() -> Result<()> {
    let space = Space::new("gate").await?;
    let job = Job::pi("pi")
        .ready_while("/tmp/ready")
        .workers_run("/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config");
    space.create(&job).await?;

    space.workers_run("pi", 2).await?;
    gated(&space, "pi", &[OURS]).await?;
    space.exec("pi-worker-0", &["touch", "/tmp/ready"]).await?;
    let open = |pods: &_| {
        launchers(pods).iter().any(|pod| gates(pod).is_empty()).then(|| "the gate opened at one".into())
    };
    space.pods_never("pi", Duration::from_secs(4), open).await?;
    space.exec("pi-worker-1", &["touch", "/tmp/ready"]).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    space.remove().await
}

#[tokio::test]
async fn a_worker_that_fails_opens_the_gate() -> Result<()> {
    let space = Space::new("gate").await?;
    let failing = "touch /tmp/first; until test -e /tmp/fail; do sleep 0.2; done; exit 1";
    space.create(&held("pi", "echo started").workers_run(failing)).await?;

    space.workers_run("pi", 2).await?;
    gated(&space, "pi", &[OURS]).await?;
    space.exec("pi-worker-0", &["touch", "/tmp/fail"]).await?;

    space.succeeds("pi").await?;
    space.hears("pi", "StartGateOpened").await?;
    space.remove().await
}

/// The first attempt waits until it is told to fail; the second one, which sees by ssh that the worker is not Ready any
/// more, ends well.
#[tokio::test]
async fn a_launcher_that_ran_before_is_not_held_back() -> Result<()> {
    let space = Space::new("gate").await?;
    let script = "until ssh pi-worker-0.pi true; do sleep 1; done; ssh pi-worker-0.pi test -e /tmp/ready || exit 0; \
                  touch /tmp/first; until test -e /tmp/fail; do sleep 0.2; done; exit 1";
    let job = Job::pi("pi")
        .set("/spec/mpiReplicaSpecs/Launcher/restartPolicy", "Never")
        .run_policy("backoffLimit", 1)
        .ready_while("/tmp/ready")
        .workers_run("touch /tmp/ready; /usr/sbin/sshd -De -f /home/mpiuser/.sshd_config")
        .launcher_runs(script);
    space.create(&job).await?;
    let first = space.launcher_runs("pi").await?;

    space
        .exec(&first, &["timeout", "60", "sh", "-c", "until test -e /tmp/first; do sleep 0.1; done"])
        .await?;
    space.exec("pi-worker-0", &["rm", "/tmp/ready"]).await?;
    space
        .pods_until("pi", LIMIT, "worker 0 is not Ready", |pods| {
            workers(pods).iter().any(|pod| has(pod, "Ready", "False")).then_some(())
        })
        .await?;
    space.exec(&first, &["touch", "/tmp/fail"]).await?;
    space.succeeds("pi").await?;

    let pods = space.all(Kind::Pod).await?;
    let retry =
        launchers(&pods).into_iter().find(|pod| pod.name_any() != first).context("no second launcher")?;
    assert!(has(&pods["pi-worker-0"], "Ready", "False"), "the worker became Ready again");
    let waited = started(retry)? - retry.creation_timestamp().context("creationTimestamp")?.0;
    // Held back it waits for ten minutes; on a busy machine a pod takes seconds to start.
    assert!(waited.get_seconds() < 60, "the retry was held back for {waited}");
    space.remove().await
}

fn started(pod: &crate::Object) -> Result<k8s_openapi::jiff::Timestamp> {
    let state = list(pod, "/status/containerStatuses").first().context("no container status")?;
    let at =
        state.pointer("/state/terminated/startedAt").and_then(|at| at.as_str()).context("not terminated")?;
    Ok(at.parse()?)
}

/// DNS was asked for the same names a moment before, and gives out for 30 s what it answered then.
#[tokio::test]
async fn the_launcher_of_a_job_made_again_at_once_is_told_of_its_own_workers() -> Result<()> {
    let space = Space::new("again").await?;
    let job = |then: &str| {
        let ask = "while read -r host _; do getent hosts $host; done </etc/mpi/hostfile";
        Job::pi("pi")
            .run_policy("backoffLimit", 0)
            .run_policy("cleanPodPolicy", "None")
            .launcher_runs(&format!("{ask}; mpirun -n 2 /home/mpiuser/pi 1000000 && {then}"))
    };
    space.create(&job("touch /tmp/ran && sleep 600")).await?;
    let first = space.launcher_runs("pi").await?;
    space.exec(&first, &["timeout", "60", "sh", "-c", "until test -e /tmp/ran; do sleep 0.1; done"]).await?;
    space.delete(Kind::MpiJob, "pi").await?;

    space.create(&job("true")).await?;
    space.succeeds("pi").await?;

    space.launcher_started_once("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    let pods = space.all(Kind::Pod).await?;
    let addresses: Vec<&str> = workers(&pods).into_iter().map(|pod| text(pod, "/status/podIP")).collect();
    let output = space.output("pi").await?;
    let told = output.lines().filter(|line| line.contains("pi-worker-") && !line.contains(" on "));
    let told: Vec<&str> = told.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(told, addresses, "{output}");
    space.remove().await
}

#[tokio::test]
async fn another_gate_of_the_launcher_is_left_to_its_owner() -> Result<()> {
    let space = Space::new("gate").await?;
    let theirs = json!([{ "name": THEIRS }]);
    let job = Job::pi("pi")
        .ready_while("/tmp/ready")
        .set("/spec/mpiReplicaSpecs/Launcher/template/spec/schedulingGates", theirs);
    let job = job.workers_run("/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config");
    space.create(&job).await?;

    gated(&space, "pi", &[OURS, THEIRS]).await?;
    space.workers_run("pi", 2).await?;
    for worker in ["pi-worker-0", "pi-worker-1"] {
        space.exec(worker, &["touch", "/tmp/ready"]).await?;
    }
    gated(&space, "pi", &[THEIRS]).await?;
    let other =
        |pods: &_| launchers(pods).iter().any(|pod| gates(pod) != [THEIRS]).then(|| "it was removed".into());
    space.pods_never("pi", Duration::from_secs(3), other).await?;

    let pods = space.all(Kind::Pod).await?;
    let launcher = launchers(&pods).first().context("no launcher")?.name_any();
    space.patch(Kind::Pod, &launcher, json!({ "spec": { "schedulingGates": [] } })).await?;
    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}

#[tokio::test]
async fn start_gate_none_turns_it_off() -> Result<()> {
    let space = Space::new("gate").await?;
    space.create(&held("pi", "echo started").annotate("coxswain.dev/start-gate", "none")).await?;

    space.succeeds("pi").await?;

    let launcher = space.read(Kind::Job, "pi-launcher").await?;
    assert!(list(&launcher, "/spec/template/spec/schedulingGates").is_empty(), "it has a gate");
    space.remove().await
}

#[tokio::test]
async fn the_time_out_opens_the_gate_and_names_the_missing_hosts() -> Result<()> {
    let space = Space::new("gate").await?;
    space.create(&held("pi", "echo started").annotate("coxswain.dev/start-gate-timeout", "10s")).await?;

    space.succeeds("pi").await?;

    let said = space.hears("pi", "StartGateTimedOut").await?;
    assert_eq!(said.kind, "Warning");
    for host in ["pi-worker-0", "pi-worker-1"] {
        assert!(said.message.contains(host), "{host} is not named: {}", said.message);
    }
    space.remove().await
}

#[tokio::test]
async fn an_elastic_job_starts_at_its_minimum() -> Result<()> {
    let space = Space::new("gate").await?;
    let job = held("pi", "echo started")
        .ready_while("/tmp/ready")
        .workers_run("case $HOSTNAME in *-1) touch /tmp/ready;; esac; sleep 600")
        .workers(3)
        .annotate("coxswain.dev/start-min-workers", "1");
    space.create(&job).await?;

    space.succeeds("pi").await?;
    space.remove().await
}

#[tokio::test]
async fn the_ssh_probe_makes_workers_ready_when_sshd_listens() -> Result<()> {
    let space = Space::new("gate").await?;
    let slow = "sleep 8; /usr/sbin/sshd -De -f /home/mpiuser/.sshd_config";
    let job = Job::pi("pi")
        .run_policy("backoffLimit", 0)
        .annotate("coxswain.dev/ssh-probe", "2222")
        .workers_run(slow);
    space.create(&job).await?;

    space.workers_run("pi", 2).await?;
    gated(&space, "pi", &[OURS]).await?;
    space.succeeds("pi").await?;

    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    space.remove().await
}
