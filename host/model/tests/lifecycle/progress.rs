//! What may wait while a job comes up.

use std::time::Duration;

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

/// How long the hosts script waits, and the steps.
fn hosts(cluster: &Cluster) -> (Option<Duration>, Vec<Step>) {
    let (job, seen) = (valid(&cluster.raw), cluster.seen());
    let phase = phase::of(&job, &seen);
    let gate = gate::decide(&job, &seen, cluster.now);
    let wanted = sample::desired(&job, &seen, &cluster.gang).into();
    let steps = diff::steps(&job, &seen, phase, &gate, &wanted);
    (progress::hosts_wait(&job, &seen, phase, &gate, &steps), steps)
}

/// How long the status waits that the next pass would write.
fn status_wait(cluster: &mut Cluster) -> Option<Duration> {
    let job = valid(&cluster.raw);
    let update = cluster.pass().update;
    assert!(update.status.is_some());
    progress::status_wait(&job, &cluster.seen(), Phase::Active, &update)
}

fn patches_config(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Patch { object, .. } if object.kind == Kind::ConfigMap))
}

#[test]
fn the_hosts_script_waits_while_the_launcher_does() {
    let cluster = coming_up();
    let (waits, steps) = hosts(&cluster);
    assert!(waits.is_some() && steps.len() == 1 && progress::is_hosts(&valid(&cluster.raw), &steps[0]));
}

#[test]
fn the_hosts_script_goes_before_the_gate_that_opens() {
    let mut cluster = coming_up();
    cluster.ready();
    assert!(matches!(cluster.gate(), Gate::Open { .. }));
    let (waits, steps) = hosts(&cluster);
    assert!(waits.is_none() && patches_config(&steps));
    assert!(steps.iter().any(|step| matches!(step, Step::OpenGate { .. })));
}

#[test]
fn a_launcher_that_runs_gets_the_hosts_script_at_once() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-worker-2"), &json!({"status": {"phase": "Pending"}}));
    let (waits, steps) = hosts(&cluster);
    assert!(waits.is_none() && patches_config(&steps));
}

#[test]
fn a_status_with_nothing_but_new_counters_waits_until_the_job_runs() {
    let mut cluster = coming_up();
    assert!(status_wait(&mut cluster).is_some());
    cluster.ready();
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    assert_eq!(status_wait(&mut cluster), None, "it says that the job runs");
    cluster.patch(&pod_name("pi-worker-2"), &json!({"status": {"phase": "Pending"}}));
    assert_eq!(status_wait(&mut cluster), None, "a job that runs has lost a worker");
}

#[test]
fn the_counters_of_a_launcher_that_has_ended_wait_for_the_job_controller() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Succeeded"}}));
    assert_eq!(status_wait(&mut cluster), Some(Duration::from_secs(2)));
}

#[test]
fn the_counters_of_a_launcher_job_that_has_ended_wait_until_it_is_known_how() {
    let mut cluster = running();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Succeeded"}}));
    cluster.end_just_now("Complete", "", "");
    let (job, update) = (valid(&cluster.raw), cluster.pass().update);
    assert!(update.status.is_some() && update.wake.is_some());

    let wait = progress::status_wait(&job, &cluster.seen(), Phase::Ended, &update);

    assert_eq!(wait, Some(Duration::from_secs(5)));
}

#[test]
fn how_long_it_waits_grows_with_the_job_and_is_under_half_a_second_for_small_ones() {
    let wait = |workers| {
        let mut cluster = Cluster::new(raw(workers));
        cluster.settle();
        cluster.launch("pi-launcher-a");
        cluster.settle();
        cluster.worker(0, &json!({"phase": "Running", "ready": true}));
        let hosts = hosts(&cluster).0.unwrap();
        assert_eq!(status_wait(&mut cluster), Some(hosts));
        hosts
    };
    // The queue gathers for 75 ms before.
    let half_a_second = Duration::from_millis(500 - 75);
    assert!([2, 8, 100].map(wait).iter().all(|wait| *wait < half_a_second));
    assert!(wait(200) < wait(400) && wait(400) < Duration::from_secs(2));
}

#[test]
fn a_job_that_ends_needs_one_status() {
    let mut cluster = running();
    cluster.end("Complete", "", "");
    let written = (0..5).filter(|_| cluster.pass().update.status.is_some()).count();
    assert_eq!((written, cluster.counters("Worker")), (1, Some((0, 0, 0))));
}
