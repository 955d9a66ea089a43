//! What an operator has to do meanwhile: jobs that run, and new ones that come.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    Job, Object, Space, audit,
    bed::{self, FAKE_SCHEDULER, RUNS_FOR},
    objects::{Kind, has},
    watch,
};
use anyhow::{Result, bail, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::jiff::Timestamp;
use kube::runtime::watcher;
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};

use super::Sizes;

/// Jobs that are submitted at a time.
const AT_ONCE: usize = 10;
/// Longest that the jobs take to come up while nothing is wrong.
const UP: Duration = Duration::from_mins(5);
/// Longest that whoever submits a job waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a new job's launcher runs.
const LIFE: &str = "5s";
/// Workers of each job.
const WORKERS: usize = 2;
/// Jobs that are named when some do not do what they should.
const NAMED: usize = 10;

/// Jobs on fake nodes, until [`Load::end`].
pub(super) struct Load {
    space: Arc<Space>,
    sizes: Sizes,
    since: Timestamp,
    came: Arc<AtomicUsize>,
    newcomers: JoinHandle<()>,
}

/// What became of the jobs.
#[derive(Debug)]
pub(super) struct Outcome {
    /// All that there were, each of which succeeded.
    pub(super) jobs: usize,
    /// How long the last one took to end after it was told to.
    pub(super) ended: Duration,
}

impl Load {
    /// Jobs run, and from now on others come.
    pub(super) async fn start(theme: &str, sizes: Sizes) -> Result<Self> {
        let since = Timestamp::now();
        let space = Arc::new(Space::new(theme).await?);
        let jobs = (0..sizes.jobs).map(|index| fake(&format!("long-{index}")));
        submit(&space, jobs.collect()).await?;
        all(&space, UP, sizes.jobs as usize, "Running").await?;
        let came = Arc::new(AtomicUsize::new(0));
        let newcomers = tokio::spawn(keep_coming(Arc::clone(&space), Arc::clone(&came), sizes.interval));
        Ok(Self { space, sizes, since, came, newcomers })
    }

    /// No further jobs come. Those that run are told to end, and every one of them must, having been made once.
    pub(super) async fn end(self) -> Result<Outcome> {
        self.newcomers.abort();
        let _ = self.newcomers.await;
        let jobs = self.space.all(Kind::MpiJob).await?.len();
        let submitted = self.sizes.jobs as usize + self.came.load(Ordering::Relaxed);
        ensure!(jobs >= submitted, "{submitted} jobs were submitted, and there are {jobs}");
        let began = tokio::time::Instant::now();
        bed::end_launchers(self.space.name()).await?;
        all(&self.space, self.sizes.ends, jobs, "Succeeded").await?;
        let ended = began.elapsed();
        nothing_twice(self.space.name(), self.since, jobs)?;
        if let Some(space) = Arc::into_inner(self.space) {
            space.remove().await?;
        }
        Ok(Outcome { jobs, ended })
    }
}

/// A job whose pods run on fake nodes, its launcher until it is told to end.
pub(super) fn fake(name: &str) -> Job {
    let template = |role| format!("/spec/mpiReplicaSpecs/{role}/template/spec/schedulerName");
    Job::pi(name).set(&template("Launcher"), FAKE_SCHEDULER).set(&template("Worker"), FAKE_SCHEDULER)
}

/// The same whose launcher ends by itself.
fn short_lived(name: &str) -> Job {
    let metadata = json!({ "annotations": { (RUNS_FOR): LIFE } });
    fake(name).set("/spec/mpiReplicaSpecs/Launcher/template/metadata", metadata)
}

/// Creates jobs, several at a time.
pub(super) async fn submit(space: &Space, jobs: Vec<Job>) -> Result<()> {
    let created = stream::iter(jobs).map(|job| async move { space.create(&job).await.map(drop) });
    created.buffer_unordered(AT_ONCE).try_collect().await
}

async fn keep_coming(space: Arc<Space>, came: Arc<AtomicUsize>, every: Duration) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for number in 0_u32.. {
        ticks.tick().await;
        // While the API server is gone nobody can submit anything.
        if let Ok(Ok(_)) = timeout(PATIENCE, space.create(&short_lived(&format!("new-{number}")))).await {
            came.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits until the namespace has so many jobs that have the condition.
pub(super) async fn all(space: &Space, limit: Duration, jobs: usize, condition: &str) -> Result<()> {
    let what = format!("{jobs} jobs of {} are {condition}", space.name());
    let reached = |job: &Object| has(job, condition, "True");
    let api = space.api(Kind::MpiJob);
    let waited = watch::until(&api, watcher::Config::default(), limit, &what, |seen| {
        Ok((seen.len() == jobs && seen.values().all(reached)).then_some(()))
    });
    if waited.await.is_ok() {
        return Ok(());
    }
    let seen = space.all(Kind::MpiJob).await?;
    let late: Vec<&String> = seen.iter().filter(|(_, job)| !reached(job)).map(|(name, _)| name).collect();
    let some = late.iter().take(NAMED).collect::<Vec<_>>();
    bail!("not within {} s: {what}; {} are not, such as {some:?}", limit.as_secs(), late.len())
}

/// By the API server's audit log, which knows the uid of everything that was ever made: each job has had one launcher
/// Job, and one pod of each index.
fn nothing_twice(namespace: &str, since: Timestamp, jobs: usize) -> Result<()> {
    let mut made = BTreeMap::<(String, String), BTreeSet<String>>::new();
    for request in audit::requests_since(since)? {
        if request.namespace == namespace && request.verb == "create" && request.code == 201 {
            let kind = matches!(&*request.resource, "pods" | "jobs");
            ensure!(!kind || !request.uid.is_empty(), "the audit log has no uid of {request:?}");
            made.entry((request.resource, request.name)).or_default().insert(request.uid);
        }
    }
    for (resource, each) in [("jobs", 1), ("pods", WORKERS)] {
        let of_kind = || made.iter().filter(|((kind, _), _)| kind == resource);
        let twice: Vec<_> = of_kind().filter(|(_, uids)| uids.len() > 1).collect();
        ensure!(twice.is_empty(), "made more than once: {twice:?}");
        let (count, expected) = (of_kind().count(), jobs * each);
        ensure!(count == expected, "{count} {resource} were made, not {expected}");
    }
    Ok(())
}
