//! What may wait while a job comes up.

use coxswain_model::{
    diff,
    gate::{self, Gate},
    phase::{self, Phase},
    progress,
    step::{Kind, Step},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, pod_name},
    sample::{self, raw, valid},
};

/// Three workers of which one runs, and a launcher pod behind its gate.
fn coming_up() -> Cluster {
    let mut cluster = Cluster::new(raw(3));
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.settle();
    cluster.worker(0, &json!({"phase": "Running", "ready": true}));
    cluster
}

/// The same with all running and the gate open.
fn running() -> Cluster {
    let mut cluster = coming_up();
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    cluster.settle();
    cluster
}

/// Whether the hosts script may wait, and the steps.
fn hosts(cluster: &Cluster) -> (bool, Vec<Step>) {
    let (job, seen) = (valid(&cluster.raw), cluster.seen());
    let phase = phase::of(&job, &seen);
    let gate = gate::decide(&job, &seen, cluster.now);
    let desired = sample::desired(&job, &seen, &cluster.gang);
    let steps = diff::steps(&job, &seen, phase, &gate, Some(&desired));
    (progress::hosts_may_wait(&job, &seen, phase, &gate, &steps), steps)
}

/// Whether the status that the next pass would write may wait.
fn status_waits(cluster: &mut Cluster) -> bool {
    let job = valid(&cluster.raw);
    let tale = cluster.pass().tale;
    assert!(tale.status.is_some());
    progress::status_may_wait(&job, &cluster.seen(), Phase::Active, &tale)
}

fn patches_config(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Patch { object, .. } if object.kind == Kind::ConfigMap))
}

#[test]
fn the_hosts_script_waits_while_the_launcher_does() {
    let cluster = coming_up();
    let (waits, steps) = hosts(&cluster);
    assert!(waits && steps.len() == 1 && progress::is_hosts(&valid(&cluster.raw), &steps[0]));
}

#[test]
fn the_hosts_script_goes_before_the_gate_that_opens() {
    let mut cluster = coming_up();
    cluster.ready();
    assert!(matches!(cluster.gate(), Gate::Open { .. }));
    let (waits, steps) = hosts(&cluster);
    assert!(
        !waits && patches_config(&steps) && steps.iter().any(|step| matches!(step, Step::OpenGate { .. }))
    );
}

#[test]
fn a_launcher_that_runs_gets_the_hosts_script_at_once() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-worker-2"), &json!({"status": {"phase": "Pending"}}));
    let (waits, steps) = hosts(&cluster);
    assert!(!waits && patches_config(&steps));
}

#[test]
fn a_status_with_nothing_but_new_counters_waits_until_the_job_runs() {
    let mut cluster = coming_up();
    assert!(status_waits(&mut cluster));
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    assert!(!status_waits(&mut cluster), "it says that the job runs");
    cluster.patch(&pod_name("pi-worker-2"), &json!({"status": {"phase": "Pending"}}));
    assert!(!status_waits(&mut cluster), "a job that runs has lost a worker");
}

#[test]
fn the_counters_of_a_launcher_that_has_ended_wait_for_the_job_controller() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Succeeded"}}));
    assert!(status_waits(&mut cluster));
}

#[test]
fn a_job_that_ends_needs_one_status() {
    let mut cluster = running();
    cluster.end("Complete", "", "");
    let written = (0..5).filter(|_| cluster.pass().tale.status.is_some()).count();
    assert_eq!((written, cluster.counters("Worker")), (1, Some((0, 0, 0))));
}
