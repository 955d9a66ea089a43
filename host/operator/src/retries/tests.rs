use coxswain_model::{
    observed::{Uid, Version},
    step::Wave,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

const NO_NOISE: u32 = u32::MAX;

fn object(kind: Kind, name: &str) -> ObjectName {
    ObjectName { kind, name: name.into() }
}

fn create(kind: Kind, name: &str) -> Step {
    Step::Create { object: object(kind, name), manifest: json!({}), wave: Wave::Dependencies }
}

fn gate() -> Step {
    Step::OpenGate { pod: "pi-launcher-x".into(), version: Version(1), position: 0 }
}

fn delete(name: &str) -> Step {
    Step::Delete { object: object(Kind::Pod, name), uid: Uid::from("p"), version: None }
}

fn failure(kind: Kind, name: &str, reason: FailureReason) -> StepFailure {
    StepFailure { object: object(kind, name), reason, message: "no".into() }
}

struct Bench {
    retries: Retries,
    job: JobKey,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self { retries: Retries::default(), job: JobKey::new("team-a", "pi"), now: Instant::now() }
    }

    /// A reconcile that wants `steps` and whose writes of `fail` fail. Returns what it tried and when to try again.
    fn reconcile(
        &self,
        mut steps: Vec<Step>,
        fail: &[StepFailure],
        created: usize,
    ) -> (Vec<Step>, Option<u64>) {
        let (tried, _) = self.retries.hold_back(&self.job, &mut steps, self.now);
        let wrote = |failure: &&StepFailure| {
            let named = |step: &Step| Write::of(step) == tried.write_of(&failure.object);
            steps.iter().any(named)
        };
        let failures = fail.iter().filter(wrote).cloned().collect();
        let done = Done { created, deleted: 0, failures };
        let next = self.retries.settle(&self.job, &tried, &done, self.now, NO_NOISE);
        (steps, next.map(|next| u64::try_from(next.as_millis()).unwrap()))
    }

    fn wait(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }
}

#[test]
fn only_what_failed_waits() {
    let mut bench = Bench::new();
    let refused = failure(Kind::Service, "pi", FailureReason::Forbidden);
    let steps =
        || vec![create(Kind::Service, "pi"), create(Kind::ConfigMap, "pi-config"), delete("pi-worker-3")];

    assert_eq!(bench.reconcile(steps(), &[refused], 0), (steps(), Some(60_000)));

    bench.wait(1_000);
    let (tried, next) = bench.reconcile(steps(), &[], 1);
    assert_eq!(tried, steps()[1..]);
    assert_eq!(next, Some(59_000));

    bench.wait(59_000);
    assert_eq!(bench.reconcile(steps(), &[], 1), (steps(), None));
    assert!(bench.retries.lock().is_empty());
}

#[test]
fn what_needs_something_that_waits_waits_with_it() {
    let mut bench = Bench::new();
    let refused = failure(Kind::ConfigMap, "pi-config", FailureReason::Unavailable);
    let steps = || vec![create(Kind::ConfigMap, "pi-config"), gate(), delete("pi-worker-3")];
    bench.reconcile(steps(), &[refused], 0);

    bench.wait(100);

    assert_eq!(bench.reconcile(steps(), &[], 0).0, [delete("pi-worker-3")]);
}

#[test]
fn what_waits_still_counts_as_failed() {
    let bench = Bench::new();
    let refused = failure(Kind::Service, "pi", FailureReason::Invalid);
    bench.reconcile(vec![create(Kind::Service, "pi")], std::slice::from_ref(&refused), 0);

    let (_, held) = bench.retries.hold_back(&bench.job, &mut vec![create(Kind::Service, "pi")], bench.now);

    assert_eq!(held.failures, [refused]);
}

#[test]
fn each_failure_waits_longer_and_progress_begins_anew() {
    let mut bench = Bench::new();
    let lost = [failure(Kind::Service, "pi", FailureReason::Unavailable)];
    let mut waits = Vec::new();
    for created in [0, 0, 0, 5, 0, 0, 0] {
        let next = bench.reconcile(vec![create(Kind::Service, "pi")], &lost, created).1.unwrap();
        waits.push(next);
        bench.wait(next);
    }

    assert_eq!(waits, [500, 1_000, 2_000, 500, 1_000, 2_000, 4_000]);
}

#[test]
fn what_is_not_wanted_any_more_is_forgotten() {
    let mut bench = Bench::new();
    let lost = [failure(Kind::Service, "pi", FailureReason::Unavailable)];
    bench.reconcile(vec![create(Kind::Service, "pi")], &lost, 0);

    bench.wait(500);

    assert_eq!(bench.reconcile(Vec::new(), &[], 0), (Vec::new(), None));
}

#[test]
fn a_change_of_the_job_ends_all_waiting() {
    let bench = Bench::new();
    let refused = [failure(Kind::Service, "pi", FailureReason::Invalid)];
    bench.reconcile(vec![create(Kind::Service, "pi")], &refused, 0);

    bench.retries.forget(&bench.job);

    assert_eq!(bench.reconcile(vec![create(Kind::Service, "pi")], &[], 1).0.len(), 1);
}

#[test]
fn an_object_of_someone_elses_does_not_wait_here() {
    let bench = Bench::new();
    let taken = [failure(Kind::Service, "pi", FailureReason::Foreign)];

    assert_eq!(bench.reconcile(vec![create(Kind::Service, "pi")], &taken, 0).1, None);
    assert!(bench.retries.lock().is_empty());
}
