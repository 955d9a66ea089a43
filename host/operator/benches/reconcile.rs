//! What the parts of one reconcile cost, in time and allocations: `cargo bench -p coxswain-operator --bench reconcile`.
//!
//! Parsing, rendering through the sandbox, making the objects, comparing and telling, for jobs of 8, 1,000 and 10,000
//! workers. Needs the components (`make plugins`). Allocations are exact and the same on every machine.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a program for people that may fail"
)]

use std::{collections::BTreeMap, sync::LazyLock};

use coxswain_cluster::{job_row::JobRow, kind::Watched as _, kinds::DecodedPod};
use coxswain_model::{
    api::MpiJob,
    desired::{self, Desired, Gang},
    diff, gate,
    job::{ValidJob, Verdict},
    kind,
    observed::{ObservedPod, ObservedState, PodPhase, Uid, Version},
    phase,
    pin::Pin,
    policy::{ClusterPolicy, Granted},
    status::{self, Outcome},
};
use coxswain_plugins::{Plugins, Rules};
use coxswain_test_support::{components, job::Job};
use divan::{AllocProfiler, Bencher, black_box};
use jiff::Timestamp;
use serde_json::json;
use tokio::runtime::Runtime;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

/// A small job, a large one, and one at the end of what a hostfile can hold.
const WORKERS: [u32; 3] = [8, 1_000, 10_000];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

static PLUGINS: LazyLock<Plugins> = LazyLock::new(|| {
    let rules = Rules { policy: ClusterPolicy::default(), ..Rules::default() };
    let plugins = Plugins::new(rules).unwrap();
    RUNTIME.block_on(plugins.load_bundled(&components::folder())).unwrap();
    plugins
});

fn main() {
    divan::main();
}

fn raw(workers: u32) -> MpiJob {
    let env: Vec<_> =
        (0..60).map(|n| json!({"name": format!("SETTING_{n:02}"), "value": "x".repeat(20)})).collect();
    Job::new("pi", workers).stored("team-a", "u").containers("env", env).set("/spec/slotsPerWorker", 8).read()
}

fn valid(workers: u32) -> ValidJob {
    match ValidJob::parse(&raw(workers), None) {
        Verdict::Valid(job) => *job,
        _ => panic!("the job of the bench is not valid"),
    }
}

/// All workers run and are Ready.
fn observed(job: &ValidJob) -> ObservedState {
    let pod = |index| ObservedPod {
        role: kind::WORKER,
        index,
        name: "".into(),
        uid: Uid::from(&*format!("{index:08x}-0000-4000-8000-000000000000")),
        version: Version(u64::from(index)),
        controller: Some(job.uid().clone()),
        created: Timestamp::UNIX_EPOCH,
        phase: PodPhase::Running,
        ready: true,
        deleting: false,
        gate: None,
        attempt: None,
        failure: None,
        blocker: None,
    };
    ObservedState { pods: (0..job.workers()).map(pod).collect(), ..ObservedState::default() }
}

fn granted(job: &ValidJob, observed: &ObservedState) -> (Pin, Granted) {
    let pin = PLUGINS.choose(job).unwrap_or_else(|_| panic!("no plugin serves the job"));
    let granted = RUNTIME.block_on(PLUGINS.render(job, &pin, observed, true));
    (pin, granted.unwrap_or_else(|_| panic!("the job is not rendered")))
}

fn desired(job: &ValidJob, observed: &ObservedState) -> Desired {
    let (pin, granted) = granted(job, observed);
    desired::objects(job, &granted, &pin, &Gang::Off, &BTreeMap::new(), observed)
}

#[divan::bench]
fn job_packed_and_unpacked(bencher: Bencher<'_, '_>) {
    let job = raw(8);
    bencher.bench(|| JobRow::new(black_box(&job)).job());
}

#[divan::bench]
fn job_parsed(bencher: Bencher<'_, '_>) {
    let job = raw(8);
    bencher.bench(|| ValidJob::parse(black_box(&job), None));
}

/// As the watch brings it, `managedFields` included.
#[divan::bench]
fn pod_decoded(bencher: Bencher<'_, '_>) {
    let fields: BTreeMap<String, _> =
        (0..60).map(|n| (format!("f:SETTING_{n:02}"), json!({"f:value": {}}))).collect();
    let pod = json!({
        "metadata": {
            "name": "pi-worker-0", "namespace": "team-a", "uid": "00000000-0000-4000-8000-000000000000",
            "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"training.kubeflow.org/job-name": "pi", "training.kubeflow.org/job-role": "worker"},
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": fields}}],
        },
        "spec": raw(8).spec.mpi_replica_specs.unwrap()["Worker"].clone().unwrap().template["spec"],
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    let text = pod.to_string();
    bencher.bench(|| serde_json::from_str::<DecodedPod>(black_box(&text)).unwrap().row());
}

#[divan::bench(args = WORKERS)]
fn rendered_by_the_plugin(bencher: Bencher<'_, '_>, workers: u32) {
    let job = valid(workers);
    let observed = observed(&job);
    let (pin, _) = granted(&job, &observed);
    bencher.bench(|| RUNTIME.block_on(PLUGINS.render(&job, &pin, &observed, true)).is_ok());
}

#[divan::bench(args = WORKERS)]
fn objects_made(bencher: Bencher<'_, '_>, workers: u32) {
    let job = valid(workers);
    let state = observed(&job);
    let (pin, granted) = granted(&job, &state);
    bencher.bench(|| desired::objects(&job, black_box(&granted), &pin, &Gang::Off, &BTreeMap::new(), &state));
}

#[divan::bench]
fn worker_manifest_made(bencher: Bencher<'_, '_>) {
    let job = valid(8);
    let template = desired(&job, &ObservedState::default()).workers.remove(0);
    bencher.bench(|| template.manifest(black_box(7)));
}

/// A job of which nothing but its workers exists yet.
#[divan::bench(args = WORKERS)]
fn differences_found(bencher: Bencher<'_, '_>, workers: u32) {
    let job = valid(workers);
    let observed = observed(&job);
    let wanted = desired(&job, &observed).into();
    bencher.bench(|| {
        let phase = phase::of(&job, &observed);
        let gate = gate::decide(&job, &observed, Timestamp::UNIX_EPOCH);
        diff::steps(&job, black_box(&observed), phase, &gate, &wanted)
    });
}

#[divan::bench(args = WORKERS)]
fn status_made(bencher: Bencher<'_, '_>, workers: u32) {
    let job = valid(workers);
    let observed = observed(&job);
    let outcome = Outcome::default();
    bencher.bench(|| status::next(&job, black_box(&observed), &outcome, Timestamp::UNIX_EPOCH));
}
