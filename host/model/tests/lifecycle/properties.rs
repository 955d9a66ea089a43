//! What holds for every history: a job in the hands of users, kubelets, the Job controller and the garbage
//! collector, in any order, always comes to rest in the state that its spec asks for.
//!
//! Each pass of [`Cluster`] checks by itself that steps are sorted, that nothing is created twice or beyond the
//! job's size, that deletes carry the uid of what is there, and that the status patch leads to the status.

use std::time::Duration;

use coxswain_model::{
    api::{MpiJob, annotations},
    desired::{Gang, content},
    diff::{self, Wanted},
    gate::Gate,
    job::{CleanPodPolicy, LauncherCreation, ValidJob},
    observed::{ObservedPod, ObservedState},
    phase::{self, Phase},
    status::Count,
    step::{Kind, ObjectName, Step},
};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name},
    observe,
    sample::{annotate, clean, desired, raw, scale, suspend, valid},
};

const LARGEST: u32 = 5;

/// Something that happens to a job or its objects.
#[derive(Clone, Debug)]
enum Happening {
    Pass,
    /// The operator is killed after so many writes.
    Crash(usize),
    /// The operator acts on what it saw so many passes ago.
    Lag(usize),
    Scale(u32),
    Suspend(bool),
    Clean(&'static str),
    WorkerReady(u32),
    WorkerRuns(u32),
    WorkerEnds(u32, &'static str),
    WorkerDeleted(u32),
    WorkerVanishes(u32),
    Reap,
    Launch(u8),
    LauncherRuns,
    LauncherEnds(&'static str),
    /// Its Job is deleted, and the operator sees that or not.
    LauncherGoes(bool),
    ConfigLosesAnnotations,
    ConfigVanishes,
    Wait(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::*;
    let index = 0..LARGEST;
    prop_oneof![
        6 => Just(Pass),
        2 => (0_usize..8).prop_map(Crash),
        2 => (0_usize..6).prop_map(Lag),
        1 => (1..=LARGEST).prop_map(Scale),
        1 => any::<bool>().prop_map(Suspend),
        1 => prop_oneof![Just("None"), Just("Running"), Just("All")].prop_map(Clean),
        4 => index.clone().prop_map(WorkerReady),
        2 => index.clone().prop_map(WorkerRuns),
        1 => (index.clone(), prop_oneof![Just("Evicted"), Just("Error"), Just("")])
            .prop_map(|(index, reason)| WorkerEnds(index, reason)),
        1 => index.clone().prop_map(WorkerDeleted),
        1 => index.prop_map(WorkerVanishes),
        2 => Just(Reap),
        2 => any::<u8>().prop_map(Launch),
        1 => Just(LauncherRuns),
        1 => prop_oneof![Just("Complete"), Just("Failed")].prop_map(LauncherEnds),
        1 => any::<bool>().prop_map(LauncherGoes),
        1 => Just(ConfigLosesAnnotations),
        1 => Just(ConfigVanishes),
        1 => (1_u64..900).prop_map(Wait),
    ]
}

fn happen(cluster: &mut Cluster, happening: &Happening) {
    let worker = |index: &u32| pod_name(&format!("pi-worker-{index}"));
    let config = ObjectName { kind: Kind::ConfigMap, name: "pi-config".to_owned() };
    let mut report = |index: &u32, status| {
        if cluster.objects.contains_key(&worker(index)) {
            cluster.worker(*index, &status);
        }
    };
    match happening {
        Happening::Pass => drop(cluster.pass()),
        Happening::Crash(writes) => cluster.crash(*writes),
        Happening::Lag(passes) => cluster.lag(*passes),
        Happening::Scale(workers) => scale(&mut cluster.raw, *workers),
        Happening::Suspend(suspended) => suspend(&mut cluster.raw, *suspended),
        Happening::Clean(policy) => clean(&mut cluster.raw, policy),
        Happening::WorkerReady(index) => report(index, json!({"phase": "Running", "ready": true})),
        Happening::WorkerRuns(index) => report(index, json!({"phase": "Running", "ready": false})),
        Happening::WorkerEnds(index, reason) => {
            report(index, json!({"phase": "Failed", "ready": false, "reason": reason}));
        }
        Happening::WorkerDeleted(index) => {
            if cluster.objects.contains_key(&worker(index)) {
                let patch = json!({"metadata": {"deletionTimestamp": cluster.now}});
                cluster.patch(&worker(index), &patch);
            }
        }
        Happening::WorkerVanishes(index) => drop(cluster.objects.remove(&worker(index))),
        Happening::Reap => cluster.reap(),
        Happening::Launch(number) => launch(cluster, *number),
        Happening::LauncherRuns => {
            let pods = cluster.seen().pods;
            let free = pods.iter().find(|pod| !pod.name.is_empty() && pod.gate.is_none());
            if let Some(pod) = free {
                cluster.run_launcher(&pod.name);
            }
        }
        Happening::LauncherEnds(kind) if is_unended(cluster) => cluster.end(kind, "", ""),
        Happening::LauncherEnds(_) => {}
        Happening::LauncherGoes(is_seen) => {
            if can_go(cluster) {
                cluster.lose_launcher(*is_seen);
            }
        }
        Happening::ConfigLosesAnnotations => {
            if cluster.objects.contains_key(&config) && cluster.objects.contains_key(&launcher()) {
                cluster.patch(&config, &json!({"metadata": {"annotations": null}}));
            }
        }
        Happening::ConfigVanishes => {
            // Before the launcher Job exists the pin would be lost with it.
            if cluster.objects.contains_key(&launcher()) {
                cluster.objects.remove(&config);
            }
        }
        Happening::Wait(seconds) => cluster.advance(Duration::from_secs(*seconds)),
    }
}

/// The Job controller keeps one pod of a Job that runs, and none of one that is suspended.
fn launch(cluster: &mut Cluster, number: u8) {
    let Some(job) = cluster.objects.get(&launcher()).cloned() else { return };
    if job["spec"]["suspend"] == true {
        cluster.stop_launcher();
    } else if is_unended(cluster) && !cluster.seen().launcher_pods().any(|pod| !pod.is_terminal()) {
        cluster.launch(&format!("pi-launcher-{number}"));
    }
}

/// There is a launcher Job, and the job's pin would not be lost with it.
fn can_go(cluster: &Cluster) -> bool {
    let seen = cluster.seen();
    cluster.objects.contains_key(&launcher()) && seen.config.is_some_and(|config| config.pin.is_some())
}

fn is_unended(cluster: &Cluster) -> bool {
    cluster.objects.get(&launcher()).is_some_and(|job| observe::launcher(job).end.is_none())
}

fn job() -> impl Strategy<Value = MpiJob> {
    let policy = prop_oneof![Just("None"), Just("Running"), Just("All")];
    (1..=LARGEST, any::<bool>(), any::<bool>(), any::<bool>(), policy, proptest::option::of(1..=LARGEST))
        .prop_map(|(workers, late, ranks, suspended, policy, least)| {
            let mut job = raw(workers);
            job.spec.launcher_creation_policy = late.then(|| "WaitForWorkersReady".to_owned());
            job.spec.run_launcher_as_worker = Some(ranks);
            suspend(&mut job, suspended);
            clean(&mut job, policy);
            if let Some(least) = least {
                annotate(&mut job, annotations::ANNOTATION_START_MIN_WORKERS, &least.to_string());
            }
            job
        })
}

/// The state that the spec asks for, once nothing happens any more and terminating pods are gone.
fn assert_reached(cluster: &Cluster) {
    let (job, seen) = (valid(&cluster.raw), cluster.seen());
    let workers: Vec<u32> = cluster.workers();
    let status = cluster.raw.status.clone().unwrap_or_default();
    match phase::of(&job, &seen) {
        Phase::Active => {
            assert_eq!(workers, (0..job.workers()).collect::<Vec<_>>());
            assert!(seen.service.is_some() && seen.config.is_some() && seen.secret.is_some());
            let open = desired(&job, &seen, &cluster.gang);
            let digest = content(&open.config);
            assert_eq!(seen.config.unwrap().content.as_deref(), digest);
            let waits = job.launcher_creation() != LauncherCreation::AtStartup;
            assert!(waits || !seen.launcher.unwrap().suspended);
        }
        Phase::Suspended => {
            assert!(seen.launcher.as_ref().is_none_or(|launcher| launcher.suspended));
            assert_stopped(&job, &seen, &workers);
        }
        Phase::Finished => {
            assert!(status.completion_time.is_some());
            assert!(seen.launcher.as_ref().is_none_or(|l| l.suspended || l.end.is_some()), "a zombie");
            assert_cleaned(&job, &seen, &workers);
        }
        Phase::Ended | Phase::Evicted { .. } | Phase::Lost => panic!("the end is not told"),
    }
}

fn assert_cleaned(job: &ValidJob, seen: &ObservedState, workers: &[u32]) {
    if job.clean_pod_policy() != CleanPodPolicy::None {
        assert_stopped(job, seen, workers);
    }
}

/// Nothing holds devices any more.
fn assert_stopped(job: &ValidJob, seen: &ObservedState, workers: &[u32]) {
    assert!(seen.pod_group.is_none());
    match job.clean_pod_policy() {
        CleanPodPolicy::Running => assert!(seen.workers().all(ObservedPod::is_terminal)),
        CleanPodPolicy::None | CleanPodPolicy::All => assert!(workers.is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn every_history_comes_to_rest_where_the_spec_points(
        job in job(),
        gang in any::<bool>(),
        history in vec(happening(), 0..40),
    ) {
        let mut cluster = Cluster::new(job);
        cluster.gang = if gang { Gang::Volcano } else { Gang::Off };
        for one in &history {
            happen(&mut cluster, one);
        }
        cluster.settle();
        cluster.reap();
        cluster.settle();
        assert_reached(&cluster);
    }

    #[test]
    fn no_history_ends_twice_or_takes_its_end_back(job in job(), history in vec(happening(), 0..40)) {
        let mut cluster = Cluster::new(job);
        let mut ends = None;
        for one in &history {
            happen(&mut cluster, one);
            cluster.settle();
            let status = cluster.raw.status.clone().unwrap_or_default();
            prop_assert!(ends.is_none() || ends == status.completion_time);
            ends = ends.or(status.completion_time);
        }
        let count = |wanted: &[Count]| cluster.counts.iter().filter(|count| wanted.contains(count)).count();
        prop_assert!(count(&[Count::Created]) <= 1);
        prop_assert_eq!(count(&[Count::Succeeded, Count::Failed]), usize::from(ends.is_some()));
    }

    /// As long as the operator sees it go, or has written a status since it was made or resumed.
    #[test]
    fn no_history_runs_a_launcher_again_that_has_ended(
        job in job(),
        histories in [vec(happening(), 0..20), vec(happening(), 0..4), vec(happening(), 0..20)],
        is_seen in any::<bool>(),
    ) {
        let mut cluster = Cluster::new(job);
        let [before, between, after] = &histories;
        for one in before {
            happen(&mut cluster, one);
        }
        happen(&mut cluster, &Happening::LauncherEnds("Complete"));
        for one in between {
            happen(&mut cluster, one);
        }
        let is_known = is_seen || phase::had_launcher(&cluster.raw.status.clone().unwrap_or_default());
        if !can_go(&cluster) || is_unended(&cluster) || !is_known {
            return Ok(());
        }
        let made = cluster.created[&launcher()];
        cluster.lose_launcher(is_seen);
        for one in after {
            happen(&mut cluster, one);
        }
        cluster.settle();

        prop_assert_eq!(cluster.created[&launcher()], made);
        prop_assert_eq!(phase::of(&valid(&cluster.raw), &cluster.seen()), Phase::Finished);
    }

    #[test]
    fn steps_are_a_function_of_their_arguments(job in job(), history in vec(happening(), 0..20)) {
        let mut cluster = Cluster::new(job);
        for one in &history {
            happen(&mut cluster, one);
        }
        let (job, seen) = (valid(&cluster.raw), cluster.seen());
        let (phase, wanted) = (phase::of(&job, &seen), desired(&job, &seen, &cluster.gang).into());
        let steps = || diff::steps(&job, &seen, phase, &cluster.gate(), &wanted);
        prop_assert_eq!(steps(), steps());
        let mut shuffled = seen.clone();
        shuffled.pods.reverse();
        prop_assert_eq!(steps(), diff::steps(&job, &shuffled, phase, &cluster.gate(), &wanted));
        let blind = diff::steps(&job, &seen, phase, &Gate::NotUsed, &Wanted::Nothing);
        let makes = |step: &Step| {
            matches!(step, Step::Create { .. } | Step::CreateSecret { .. } | Step::CreateWorkers { .. })
        };
        prop_assert!(!blind.iter().any(makes));
    }
}
