use std::collections::HashMap;

use super::*;

const NO_NOISE: u32 = u32::MAX;

struct Bench {
    core: Core,
    now: Instant,
}

fn job(name: &str) -> JobKey {
    JobKey::new("team-a", name)
}

impl Bench {
    fn new() -> Self {
        Self { core: Core::new(Settings::default()), now: Instant::now() }
    }

    fn wake(&mut self, name: &str, cause: Cause) {
        self.core.wake(&job(name), cause, 0, self.now);
    }

    fn advance(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
    }

    /// Names that are given out now, in order.
    fn take(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        while let Next::Job { job, .. } = self.core.next(self.now) {
            names.push(job.name.to_string());
        }
        names
    }

    fn ended(&mut self, name: &str, how: Ended) {
        self.core.ended(&job(name), how, self.now, NO_NOISE);
    }

    /// Milliseconds until something is due; nothing if nothing ever is.
    fn idle_for(&mut self) -> Option<u128> {
        match self.core.next(self.now) {
            Next::At(time) => Some(time.duration_since(self.now).as_millis()),
            Next::Idle => None,
            Next::Job { job, .. } => panic!("{job} is due"),
        }
    }
}

const WELL: Ended = Ended::Well { wake: None };

#[test]
fn changes_of_a_large_job_are_gathered_for_longer_but_at_most_a_second() {
    for (pods, gathered) in [(0, 75), (8, 76), (1_000, 225), (5_000, 825), (100_000, 1_000)] {
        let mut queue = Bench::new();
        queue.core.wake(&job("a"), Cause::Child, pods, queue.now);
        assert_eq!(queue.idle_for(), Some(gathered), "{pods} pods");

        queue.core.wake(&job("a"), Cause::Job, pods, queue.now);
        assert_eq!(queue.take(), ["a"], "what its user changes is looked at at once");
    }
}

#[test]
fn a_new_job_is_given_out_at_once_and_only_once() {
    let mut queue = Bench::new();

    queue.wake("a", Cause::Job);
    queue.wake("a", Cause::Job);

    assert_eq!(queue.take(), ["a"]);
}

#[test]
fn a_storm_of_pods_costs_one_reconcile_a_window() {
    let mut queue = Bench::new();
    let mut reconciles = 0;

    for _ in 0..1000 {
        queue.wake("a", Cause::Child);
        queue.advance(1);
        for name in queue.take() {
            reconciles += 1;
            queue.ended(&name, WELL);
        }
    }

    assert_eq!(reconciles, 13, "75 ms each in one second");
}

#[test]
fn no_job_is_given_out_twice_at_once_and_what_happens_meanwhile_is_not_lost() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    assert_eq!(queue.take(), ["a"]);

    queue.wake("a", Cause::Job);
    queue.advance(1000);
    assert_eq!(queue.take(), Vec::<String>::new());

    queue.ended("a", WELL);
    assert_eq!(queue.take(), ["a"]);
}

#[test]
fn new_jobs_go_before_jobs_whose_pods_ticked() {
    let mut queue = Bench::new();
    queue.wake("old-1", Cause::Child);
    queue.wake("old-2", Cause::Child);
    queue.advance(100);
    queue.wake("new", Cause::Job);

    assert_eq!(queue.take(), ["new", "old-1", "old-2"]);
}

#[test]
fn a_job_that_becomes_urgent_moves_ahead() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Child);
    queue.wake("b", Cause::Child);
    queue.advance(100);
    assert_eq!(queue.core.depth(queue.now), 2);

    queue.wake("b", Cause::Job);

    assert_eq!(queue.take(), ["b", "a"]);
}

#[test]
fn failures_wait_longer_each_time_and_a_success_forgives_them() {
    let mut queue = Bench::new();
    let mut waits = Vec::new();
    queue.wake("a", Cause::Job);

    for _ in 0..9 {
        assert_eq!(queue.take(), ["a"]);
        queue.ended("a", Ended::Failed);
        let wait = u64::try_from(queue.idle_for().unwrap()).unwrap();
        waits.push(wait);
        queue.advance(wait);
    }
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);

    assert_eq!(queue.take(), ["a"]);
    queue.ended("a", WELL);
    queue.wake("a", Cause::Job);
    assert_eq!(queue.take(), ["a"]);
    queue.ended("a", Ended::Failed);
    assert_eq!(queue.idle_for(), Some(500));
}

#[test]
fn conflicts_are_retried_at_once_and_refusals_late() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    queue.take();
    queue.ended("a", Ended::Conflict);
    assert_eq!(queue.idle_for(), Some(50));

    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    queue.take();
    queue.ended("a", Ended::Refused);
    assert_eq!(queue.idle_for(), Some(60_000));
}

#[test]
fn what_changes_is_looked_at_within_a_second_also_after_a_failure() {
    for failed in [Ended::Refused, Ended::Failed, Ended::Conflict] {
        let mut queue = Bench::new();
        queue.wake("a", Cause::Job);
        for _ in 0..5 {
            queue.advance(600_000);
            queue.take();
            queue.ended("a", failed);
        }

        queue.advance(200);
        queue.wake("a", Cause::Child);
        assert!(queue.idle_for().unwrap() <= 800, "{failed:?}");

        queue.wake("a", Cause::Job);
        assert_eq!(queue.take(), ["a"], "{failed:?}");
    }
}

#[test]
fn pods_that_ticked_during_a_failing_reconcile_are_gathered_until_the_retry() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    queue.take();

    queue.wake("a", Cause::Child);
    queue.advance(200);
    queue.ended("a", Ended::Failed);

    assert_eq!(queue.idle_for(), Some(500));
}

#[test]
fn every_job_is_looked_at_again_after_the_resync() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    queue.take();

    queue.core.ended(&job("a"), WELL, queue.now, 0);
    assert_eq!(queue.idle_for(), Some(540_000));

    queue.advance(540_000);
    assert_eq!(queue.take(), ["a"]);
    queue.ended("a", WELL);
    assert_eq!(queue.idle_for(), Some(660_000));
}

#[test]
fn a_reconcile_that_asks_to_be_woken_is_woken_then() {
    let mut queue = Bench::new();
    queue.wake("a", Cause::Job);
    queue.take();

    queue.ended("a", Ended::Well { wake: Some(Duration::from_secs(7)) });

    assert_eq!(queue.idle_for(), Some(7000));
}

#[test]
fn a_job_that_is_gone_is_forgotten_unless_it_came_back_meanwhile() {
    let mut queue = Bench::new();
    for name in ["a", "b"] {
        queue.wake(name, Cause::Job);
        queue.take();
    }

    queue.wake("b", Cause::Job);
    queue.ended("a", Ended::Gone);
    queue.ended("b", Ended::Gone);

    assert_eq!(queue.take(), ["b"]);
    assert_eq!(queue.core.entries.len(), 1);
}

#[test]
fn a_time_that_has_come_does_not_starve_behind_new_jobs() {
    let mut queue = Bench::new();
    queue.wake("gate", Cause::Job);
    queue.take();
    queue.ended("gate", Ended::Well { wake: Some(Duration::from_secs(5)) });
    let start = queue.now;
    let mut made = HashMap::new();
    let mut went = None;

    // Twenty new jobs a second, ten reconciles.
    for tick in 0..1200 {
        queue.advance(50);
        let name = format!("new-{tick}");
        queue.wake(&name, Cause::Job);
        made.insert(name, queue.now);
        if tick % 2 == 0 {
            continue;
        }
        let Next::Job { job, .. } = queue.core.next(queue.now) else { panic!("a job is due") };
        let overtakes = made.get(&*job.name).is_some_and(|made| *made > start + Duration::from_secs(7));
        assert!(went.is_some() || !overtakes, "{} went before what was due 2 s earlier", job.name);
        if &*job.name == "gate" {
            went = Some(queue.now);
        }
        queue.core.ended(&job, Ended::Gone, queue.now, NO_NOISE);
    }

    assert!(went.is_some());
}

#[test]
fn namespaces_take_turns() {
    let mut queue = Bench::new();
    for number in 0..40 {
        queue.wake(&format!("many-{number:02}"), Cause::Job);
    }
    queue.advance(10);
    for name in ["one", "two"] {
        queue.core.wake(&JobKey::new("team-b", name), Cause::Job, 0, queue.now);
    }

    let order = queue.take();

    let last = order.iter().rposition(|name| !name.starts_with("many")).unwrap();
    assert!(last < 4, "{order:?}");
}

#[test]
fn a_namespace_whose_reconciles_hang_leaves_slots_to_the_others() {
    let mut queue = Bench::new();
    for number in 0..100 {
        queue.wake(&format!("bad-{number:02}"), Cause::Job);
    }
    let hanging = queue.take();
    assert_eq!(hanging.len(), 48, "three quarters for one namespace");

    for other in ["b", "c"] {
        queue.core.wake(&JobKey::new(other, other), Cause::Job, 0, queue.now);
        assert_eq!(queue.take(), [other]);
    }

    queue.advance(10_000);
    for name in &hanging {
        queue.ended(name, Ended::Failed);
    }
    assert_eq!(queue.take().len(), 47, "three quarters of what the others leave, as nothing hangs now");
}

#[test]
fn passes_over_large_jobs_take_more_slots_and_give_them_all_back() {
    let mut queue = Bench::new();
    let at_once = |queue: &mut Bench, names: &str| {
        let mut taken = Vec::new();
        for n in 0..64 {
            queue.wake(&format!("{names}-{n}"), Cause::Job);
        }
        while let Next::Job { job, .. } = queue.core.next(queue.now) {
            queue.core.takes(&job, if names == "large" { 16 } else { 1 });
            taken.push(job);
        }
        for job in &taken {
            queue.core.ended(job, Ended::Gone, queue.now, NO_NOISE);
        }
        taken.len()
    };

    assert_eq!(at_once(&mut queue, "large"), 3);
    assert_eq!(at_once(&mut queue, "small"), 48, "all slots came back");
    assert_eq!(at_once(&mut queue, "large"), 3);
}

#[test]
fn no_more_reconciles_than_slots_go_at_once_however_many_namespaces_there_are() {
    let mut queue = Bench::new();
    for number in 0..100 {
        queue.core.wake(&JobKey::new(&format!("team-{number}"), "a"), Cause::Job, 0, queue.now);
    }
    assert_eq!(queue.take().len(), 64);
}

#[test]
fn a_job_in_line_that_becomes_more_urgent_is_given_out_once() {
    let mut queue = Bench::new();
    for number in 0..48 {
        queue.wake(&format!("running-{number}"), Cause::Job);
    }
    let running = queue.take();
    queue.wake("waits", Cause::Other);
    assert_eq!(queue.take(), [""; 0], "there is no room");

    queue.wake("waits", Cause::Job);
    assert_eq!(queue.take(), [""; 0]);
    for name in &running {
        queue.ended(name, WELL);
    }

    assert_eq!(queue.take(), ["waits"]);
}

#[test]
fn what_is_urgent_in_one_namespace_goes_before_the_resync_of_another() {
    let mut queue = Bench::new();
    queue.wake("old", Cause::Job);
    queue.take();
    queue.ended("old", WELL);
    // As late as it may be, so that it is due.
    queue.advance(11 * 60 * 1000);
    let other = JobKey::new("team-b", "ticked");
    queue.core.wake(&other, Cause::Other, 0, queue.now);
    queue.advance(10);
    assert_eq!(queue.take(), ["ticked", "old"]);
}

#[test]
fn a_namespace_with_a_long_reconcile_has_a_quarter() {
    let mut queue = Bench::new();
    queue.wake("long", Cause::Job);
    assert_eq!(queue.take(), ["long"]);
    queue.advance(3_000);

    for number in 0..100 {
        queue.wake(&format!("more-{number:02}"), Cause::Job);
    }

    assert_eq!(queue.take().len(), 15);
}

#[test]
fn a_namespace_alone_has_all_of_a_few_slots() {
    for at_once in [1, 2, 3] {
        let settings = Settings { at_once, ..Settings::default() };
        let mut queue = Bench { core: Core::new(settings), now: Instant::now() };
        for number in 0..10 {
            queue.wake(&format!("job-{number}"), Cause::Job);
        }
        assert_eq!(queue.take().len(), at_once);
    }
}
