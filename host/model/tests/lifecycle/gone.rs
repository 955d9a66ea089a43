//! Launcher Jobs that are gone before the status says how the job ended.

use std::time::Duration;

use coxswain_model::{
    phase::{self, Phase},
    status::Count,
    step::{ObjectName, Step},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher},
    sample::{clean, raw, suspend, valid},
};

const POD: &str = "pi-launcher-a";

fn created() -> Cluster {
    let mut job = raw(2);
    clean(&mut job, "All");
    let mut cluster = Cluster::new(job);
    cluster.settle();
    cluster
}

fn running() -> Cluster {
    let mut cluster = created();
    run(&mut cluster);
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");
    cluster
}

fn run(cluster: &mut Cluster) {
    cluster.launch(POD);
    cluster.ready();
    // DNS has forgotten the workers of before.
    cluster.advance(Duration::from_mins(1));
    cluster.settle();
    cluster.run_launcher(POD);
    cluster.settle();
}

/// It is over, with nothing left that runs, and its launcher ran once.
fn assert_over(cluster: &mut Cluster, condition: &str, count: Count) {
    cluster.settle();
    cluster.advance(Duration::from_hours(1));
    cluster.reap();
    cluster.settle();
    assert_eq!(cluster.conditions().last().unwrap(), condition);
    assert_eq!(cluster.created[&launcher()], 1);
    assert!(!cluster.objects.contains_key(&launcher()));
    assert_eq!(cluster.workers(), [0_u32; 0]);
    assert_eq!(cluster.counts, [Count::Created, count]);
    assert!(cluster.raw.status.as_ref().unwrap().completion_time.is_some());
}

/// `ttlSecondsAfterFinished: 0`, and a queue that is long.
#[test]
fn a_launcher_whose_end_and_removal_are_seen_at_once_does_not_run_again() {
    for (end, condition, counters, count) in [
        ("Complete", "Succeeded=True MPIJobSucceeded", (0, 1, 0), Count::Succeeded),
        ("Failed", "Failed=True DeadlineExceeded", (0, 0, 0), Count::Failed),
    ] {
        for mut cluster in [created(), running()] {
            let at = cluster.now;
            cluster.end(end, "DeadlineExceeded", "");
            cluster.advance(Duration::from_secs(5));
            cluster.lose_launcher(true);

            assert_over(&mut cluster, condition, count);
            assert_eq!(cluster.counters("Launcher"), Some(counters));
            let time = cluster.raw.status.as_ref().unwrap().completion_time;
            assert_eq!(time == Some(at), end == "Complete", "the Job's own, where it has one");
        }
    }
}

/// The operator was away for longer than the Job's TTL.
#[test]
fn a_launcher_that_is_gone_and_whose_end_nobody_saw_does_not_run_again() {
    for mut cluster in [created(), running()] {
        cluster.end("Complete", "", "");
        cluster.lose_launcher(false);

        assert_over(&mut cluster, "Failed=True LauncherOutcomeUnknown", Count::Failed);
        assert_eq!((cluster.counters("Launcher"), cluster.counters("Worker")), (None, Some((0, 0, 0))));
        let told: Vec<_> = cluster.events.iter().filter(|event| event.warning).collect();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].reason, "LauncherOutcomeUnknown");
        assert!(told[0].message.starts_with("Job pi-launcher is gone, and how it ended was not seen"));
    }
}

#[test]
fn a_job_that_was_suspended_meanwhile_does_not_run_again_either() {
    let mut cluster = running();
    cluster.lose_launcher(false);
    suspend(&mut cluster.raw, true);

    assert_over(&mut cluster, "Failed=True LauncherOutcomeUnknown", Count::Failed);
}

/// As every job of Kueue.
#[test]
fn a_job_that_was_resumed_does_not_run_again_either() {
    let mut job = raw(2);
    clean(&mut job, "All");
    suspend(&mut job, true);
    let mut cluster = Cluster::new(job);
    cluster.settle();
    suspend(&mut cluster.raw, false);
    cluster.settle();
    cluster.lose_launcher(false);

    assert_over(&mut cluster, "Failed=True LauncherOutcomeUnknown", Count::Failed);
}

#[test]
fn nothing_is_made_before_it_is_certain_that_a_launcher_is_gone() {
    let mut cluster = running();
    cluster.objects.remove(&launcher());

    let steps = cluster.pass().steps;

    let makes = |step: &Step| matches!(step, Step::Create { object: ObjectName { .. }, .. });
    assert!(!steps.iter().any(makes), "{steps:?}");
    assert_eq!(phase::of(&valid(&cluster.raw), &cluster.seen()), Phase::Active);
}

#[test]
fn a_launcher_job_that_is_deleted_while_it_runs_is_made_anew_as_in_the_mpi_operator() {
    let mut cluster = running();
    cluster.lose_launcher(true);
    cluster.settle();

    assert_eq!(cluster.created[&launcher()], 2);
    run(&mut cluster);
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");
}

/// Somebody deleted it while no operator was there.
#[test]
fn a_launcher_job_that_was_suspended_has_not_run_and_is_made_anew() {
    let mut cluster = running();
    suspend(&mut cluster.raw, true);
    cluster.settle();
    cluster.stop_launcher();
    cluster.reap();
    cluster.settle();
    cluster.lose_launcher(false);
    suspend(&mut cluster.raw, false);
    cluster.settle();

    assert_eq!(cluster.created[&launcher()], 2);
    run(&mut cluster);
    assert_eq!(cluster.conditions().last().unwrap(), "Running=True MPIJobRunning");
}

/// That of another operator, which is replaced when its job is resumed, and takes a while to go.
#[test]
fn a_suspended_launcher_job_that_makes_way_does_not_count_as_one_that_may_have_run() {
    let mut cluster = created();
    suspend(&mut cluster.raw, true);
    cluster.settle();
    suspend(&mut cluster.raw, false);
    cluster.patch(&launcher(), &json!({"metadata": {"deletionTimestamp": cluster.now}}));
    cluster.settle();
    assert_eq!(cluster.counters("Launcher"), None);
    cluster.lose_launcher(false);
    cluster.settle();

    assert_eq!(cluster.created[&launcher()], 2);
}

/// Its index remembers the end of the first one.
#[test]
fn a_job_made_again_under_its_name_runs() {
    let mut cluster = running();
    cluster.end("Complete", "", "");
    cluster.lose_launcher(true);
    cluster.recreate("job-2");
    cluster.collect("job-1");
    cluster.settle();

    assert_eq!(cluster.created[&launcher()], 2);
    run(&mut cluster);
}

#[test]
fn a_stale_view_from_before_the_second_launcher_makes_no_third_one() {
    let mut cluster = created();
    cluster.lose_launcher(true);
    cluster.pass();
    assert_eq!(cluster.created[&launcher()], 2);
    cluster.end("Complete", "", "");
    cluster.lose_launcher(false);

    cluster.lag(0);
    cluster.settle();

    assert_eq!(cluster.created[&launcher()], 2);
}
