use pretty_assertions::assert_eq;

use super::*;
use crate::{
    api::MpiJob,
    diff, gate,
    observed::{LauncherEnd, PodPhase},
    phase,
    status::{self, Outcome},
    testing::{complete, desired, noon, raw, valid},
};

/// The workers of which one runs, a launcher behind its gate, and what the last reconcile made of it.
fn coming_up(workers: u32) -> (MpiJob, ObservedState) {
    let mut raw = raw(workers);
    let job = valid(&raw);
    let mut observed = complete(&job);
    for pod in observed.pods.iter_mut().filter(|pod| pod.gate.is_none()) {
        (pod.phase, pod.ready) = (PodPhase::Pending, false);
    }
    tell(&mut raw, &observed);
    (observed.pods[0].phase, observed.pods[0].ready) = (PodPhase::Running, true);
    (raw, observed)
}

/// The same with all running and the gate open.
fn running() -> (MpiJob, ObservedState) {
    let mut raw = raw(3);
    let mut observed = complete(&valid(&raw));
    (observed.pods[3].phase, observed.pods[3].gate) = (PodPhase::Running, None);
    tell(&mut raw, &observed);
    (raw, observed)
}

fn update(raw: &MpiJob, observed: &ObservedState) -> StatusUpdate {
    let job = valid(raw);
    let gate = gate::decide(&job, observed, noon());
    status::next(&job, observed, &Outcome { gate, ..Outcome::default() }, noon())
}

/// Writes the status.
fn tell(raw: &mut MpiJob, observed: &ObservedState) {
    raw.status = update(raw, observed).status;
}

/// How long the hosts script waits, and the steps.
fn hosts(raw: &MpiJob, observed: &ObservedState) -> (Option<Duration>, Vec<Step>) {
    let job = valid(raw);
    let phase = phase::of(&job, observed);
    let gate = gate::decide(&job, observed, noon());
    let steps = diff::steps(&job, observed, phase, &gate, &desired(&job, observed).into());
    (hosts_wait(&job, observed, phase, &gate, &steps), steps)
}

/// How long the status waits that would be written.
fn waits(raw: &MpiJob, observed: &ObservedState) -> Option<Duration> {
    let (job, update) = (valid(raw), update(raw, observed));
    assert!(update.status.is_some());
    status_wait(&job, observed, phase::of(&job, observed), &update)
}

fn patches_config(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Patch { object, .. } if object.kind == Kind::ConfigMap))
}

#[test]
fn the_hosts_script_waits_while_the_launcher_does() {
    let (raw, mut observed) = coming_up(3);
    observed.config.as_mut().unwrap().content = Some("old".into());
    let (waits, steps) = hosts(&raw, &observed);
    assert!(waits.is_some() && steps.len() == 1 && is_hosts(&valid(&raw), &steps[0]));
}

/// The pin stands in the same object.
#[test]
fn a_pin_that_is_not_yet_written_waits_for_nothing() {
    let (raw, mut observed) = coming_up(3);
    let config = observed.config.as_mut().unwrap();
    (config.content, config.pin) = (None, None);
    let (waits, steps) = hosts(&raw, &observed);
    assert!(waits.is_none() && patches_config(&steps));
}

#[test]
fn the_hosts_script_goes_before_the_gate_that_opens() {
    let raw = raw(3);
    let mut observed = complete(&valid(&raw));
    observed.config.as_mut().unwrap().content = Some("old".into());
    let (waits, steps) = hosts(&raw, &observed);
    assert!(waits.is_none() && patches_config(&steps));
    assert!(steps.iter().any(|step| matches!(step, Step::OpenGate { .. })));
}

#[test]
fn a_launcher_that_runs_gets_the_hosts_script_at_once() {
    let (raw, mut observed) = running();
    observed.pods[2].phase = PodPhase::Pending;
    let (waits, steps) = hosts(&raw, &observed);
    assert!(waits.is_none() && patches_config(&steps));
}

#[test]
fn a_status_with_nothing_but_new_counters_waits_until_the_job_runs() {
    let (raw, observed) = coming_up(3);
    assert!(waits(&raw, &observed).is_some());
    let (mut raw, mut observed) = running();
    let status = raw.status.take();
    assert_eq!(waits(&raw, &observed), None, "it says that the job runs");
    raw.status = status;
    observed.pods[2].phase = PodPhase::Pending;
    assert_eq!(waits(&raw, &observed), None, "a job that runs has lost a worker");
}

#[test]
fn the_counters_of_a_launcher_that_has_ended_wait_for_the_job_controller() {
    let (raw, mut observed) = running();
    observed.pods[3].phase = PodPhase::Succeeded;
    assert_eq!(waits(&raw, &observed), Some(Duration::from_secs(2)));
}

#[test]
fn the_counters_of_a_launcher_job_that_has_ended_wait_until_it_is_known_how() {
    let (raw, mut observed) = running();
    observed.pods[3].phase = PodPhase::Succeeded;
    let end =
        LauncherEnd { complete: true, reason: String::new(), message: String::new(), time: Some(noon()) };
    observed.launcher.as_mut().unwrap().end = Some(end);
    assert_eq!(phase::of(&valid(&raw), &observed), Phase::Ended);
    assert!(update(&raw, &observed).wake.is_some());

    assert_eq!(waits(&raw, &observed), Some(Duration::from_secs(5)));
}

#[test]
fn how_long_it_waits_grows_with_the_job_and_is_under_half_a_second_for_small_ones() {
    let wait = |workers| {
        let (raw, mut observed) = coming_up(workers);
        observed.config.as_mut().unwrap().content = Some("old".into());
        let hosts = hosts(&raw, &observed).0.unwrap();
        assert_eq!(waits(&raw, &observed), Some(hosts));
        hosts
    };
    // The queue gathers for 75 ms before.
    let half_a_second = Duration::from_millis(500 - 75);
    assert!([2, 8, 100].map(wait).iter().all(|wait| *wait < half_a_second));
    assert!(wait(200) < wait(400) && wait(400) < Duration::from_secs(2));
}
