//! The interpreter of steps: the only writer of a job's objects.
//!
//! In: a job and its steps. Out: what came of them. Waves go one after the other; within a wave all writes go in
//! parallel, as far as [`super::limiter`] lets them, and all are tried, also where some fail. After a wave with a failure
//! only those go on that need nothing of it. Answers are folded into the index at once, so that the next reconcile sees
//! what this one did.

mod adopt;
mod write;

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use coxswain_model::{
    desired::WorkerTemplate,
    job::ValidJob,
    step::{Done, FailureReason, Step, StepFailure, Wave},
};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::Instant;

use crate::{
    index::Shared,
    key::JobKey,
    limiter::Flow,
    metrics::Metrics,
    rest::{
        Rest,
        persist::{Stop, Tries},
    },
};

/// A reconcile stops beginning new writes after this long and lets the next one go on, so that a user's change of
/// mind (suspend, delete) does not wait for 5 000 pods at a rate limit.
pub const BUDGET: Duration = Duration::from_secs(20);

/// The first worker goes alone, so that a quota or a webhook that refuses them costs one request and not thousands;
/// each one that was created lets so many more go at once: 1, 5, 25, 125 as long as answers take equally long.
const WINDOW_GROWTH: usize = 4;

/// Requests of one job that stand in line at once; the limiter grants no more.
const IN_LINE: usize = 256;

/// Workers that fail although they were tried again, after which the others are not tried: the server has other worries.
const LOST: usize = 3;

/// Failures reported of one kind of object and reason.
const REPORTED: usize = 3;

/// Carries out the steps of one job.
pub struct Applier<'a> {
    /// Sends.
    pub rest: &'a Rest,
    /// Folded into.
    pub index: &'a Shared,
    /// Counts.
    pub metrics: &'a Metrics,
    /// On whose behalf.
    pub job: &'a ValidJob,
    /// The same, for index and limiter.
    pub key: JobKey,
    /// When to stop beginning.
    pub deadline: Instant,
}

/// What one write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrote {
    Created,
    Changed,
    /// It is going.
    Deleted,
    /// It went at once.
    Gone,
}

type Result1 = Result<Wrote, Stop<StepFailure>>;

/// The sum of a wave.
#[derive(Default)]
struct Sum {
    done: Done,
    /// Writes that were not begun for lack of time.
    left: bool,
    /// An object went at once.
    gone: bool,
}

impl Applier<'_> {
    /// Carries out `steps`. The flag says that another reconcile is due: not all of them fit into the time, or an object went
    /// at once, which may have to come back and of which nothing more will be heard.
    pub async fn apply(&self, steps: Vec<Step>) -> (Done, bool) {
        let mut waves: BTreeMap<Wave, Vec<Step>> = BTreeMap::new();
        for step in steps {
            waves.entry(step.wave()).or_default().push(step);
        }
        let mut sum = Sum::default();
        for (_, mut steps) in waves {
            if !sum.done.failures.is_empty() {
                steps.retain(|step| !step.needs_earlier_waves());
            }
            let mut running: FuturesUnordered<BoxFuture<'_, Sum>> =
                steps.into_iter().map(|step| self.step(step)).collect();
            while let Some(more) = running.next().await {
                sum.join(more);
            }
            if sum.left {
                break;
            }
        }
        (sum.done, sum.left || sum.gone)
    }

    fn step(&self, step: Step) -> BoxFuture<'_, Sum> {
        match step {
            Step::Create { object, manifest, .. } => one(async move { self.create(object, &manifest).await }),
            Step::CreateSecret { object, manifest } => {
                one(async move { self.create_secret(object, &manifest).await })
            }
            Step::CreateWorkers { template, indexes } => Box::pin(self.create_workers(template, indexes)),
            Step::Patch { object, uid, version, patch, subresource, .. } => {
                one(async move { self.patch(object, &uid, version, patch, subresource).await })
            }
            Step::Resume { object, uid, launcher } => {
                one(async move { self.resume(object, &uid, &launcher).await })
            }
            Step::OpenGate { pod, version, position } => {
                one(async move { self.open_gate(pod, version, position).await })
            }
            Step::Delete { object, uid, version } => {
                one(async move { self.delete(object, &uid, version).await })
            }
        }
    }

    async fn create_workers(&self, template: Arc<WorkerTemplate>, indexes: Vec<u32>) -> Sum {
        let mut sum = Sum::default();
        let lost = AtomicUsize::new(0);
        let mut rest = indexes.into_iter();
        let mut window = 1;
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < window && lost.load(Ordering::Relaxed) < LOST && !sum.left {
                let Some(index) = rest.next() else { break };
                running.push(self.create_worker(&template, index, &lost));
            }
            let Some(more) = running.next().await else { return sum };
            sum.join(more);
            window = (window + WINDOW_GROWTH).min(IN_LINE);
        }
    }

    /// Once one is refused for what all have in common, those that stand in line give way.
    async fn create_worker(&self, template: &WorkerTemplate, index: u32, lost: &AtomicUsize) -> Sum {
        let mut sum = Sum::default();
        let object = template.object(index);
        let wanted = || lost.load(Ordering::Relaxed) < LOST;
        let created = self.post(object, wanted, || template.manifest(index).into(), None).await;
        match &created {
            Ok(_) => {
                self.metrics.pod_created();
                lost.store(0, Ordering::Relaxed);
            }
            Err(Stop::Failed(failure)) => {
                let more = match failure.reason {
                    FailureReason::Forbidden | FailureReason::Invalid => LOST,
                    FailureReason::Unavailable => 1,
                    // Something else has this one's name.
                    FailureReason::Conflict | FailureReason::Foreign => 0,
                };
                lost.fetch_add(more, Ordering::Relaxed);
            }
            Err(Stop::Late | Stop::Unwanted) => {}
        }
        sum.add(created);
        sum
    }

    fn tries<'b>(&self, flow: Flow, holder: &'b str) -> Tries<'b> {
        Tries { flow, holder, deadline: self.deadline }
    }
}

/// One write.
fn one<'a>(write: impl Future<Output = Result1> + Send + 'a) -> BoxFuture<'a, Sum> {
    Box::pin(async move {
        let mut sum = Sum::default();
        sum.add(write.await);
        sum
    })
}

impl Sum {
    fn add(&mut self, result: Result1) {
        match result {
            Ok(Wrote::Created) => self.done.created += 1,
            Ok(Wrote::Deleted) => self.done.deleted += 1,
            Ok(Wrote::Gone) => {
                self.done.deleted += 1;
                self.gone = true;
            }
            Ok(Wrote::Changed) | Err(Stop::Unwanted) => {}
            Err(Stop::Failed(failure)) => self.fail(failure),
            Err(Stop::Late) => self.left = true,
        }
    }

    fn join(&mut self, other: Self) {
        let Self { done: Done { created, deleted, failures }, left, gone } = other;
        self.done.created += created;
        self.done.deleted += deleted;
        for failure in failures {
            self.fail(failure);
        }
        self.left |= left;
        self.gone |= gone;
    }

    fn fail(&mut self, failure: StepFailure) {
        let alike =
            |other: &&StepFailure| other.object.kind == failure.object.kind && other.reason == failure.reason;
        if self.done.failures.iter().filter(alike).count() < REPORTED {
            self.done.failures.push(failure);
        }
    }
}

#[cfg(test)]
mod tests;
