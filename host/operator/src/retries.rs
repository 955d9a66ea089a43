//! Which of a job's writes wait after they failed.
//!
//! Only they wait: whatever else there is to observe, report, clean up or write goes on. In: what a reconcile wants to write, and
//! what came of it. Out: what of it may be written now, what still counts as failed, and when to try again.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use coxswain_model::step::{Done, FailureReason, Kind, ObjectName, Step, StepFailure};
use tokio::time::Instant;

use crate::queue::delay::{self, CONFLICT, FAILED, REFUSED};
use coxswain_cluster::key::JobKey;

/// The shell: one memory for all jobs, behind a lock.
#[derive(Debug, Default)]
pub struct Retries(Mutex<HashMap<JobKey, Waiting>>);

/// Writes of one job that wait. Empty for all but a few jobs.
#[derive(Debug, Default)]
struct Waiting(HashMap<Write, Wait>);

/// What fails and succeeds together: workers are made from one template against one quota.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Write {
    CreateWorkers,
    DeletePods,
    Object(ObjectName),
}

#[derive(Clone, Debug)]
struct Wait {
    until: Instant,
    failures: u32,
    last: StepFailure,
}

/// What a reconcile tries, by which its failures are told apart afterwards.
#[derive(Debug)]
pub struct Tried {
    at: Instant,
    writes: HashSet<Write>,
    gates: HashSet<String>,
}

/// What waits.
#[derive(Debug, Default)]
pub struct Held {
    /// How it failed the last time.
    pub failures: Vec<StepFailure>,
}

impl Retries {
    /// Takes out of `steps` what still waits, and what needs that to be there.
    pub fn hold_back(&self, job: &JobKey, steps: &mut Vec<Step>, now: Instant) -> (Tried, Held) {
        let held = self.lock().get(job).map(|waiting| waiting.hold_back(steps, now));
        (Tried::of(steps, now), held.unwrap_or_default())
    }

    /// Takes note of what came of the steps that were tried. Returns how long until the next is to be tried again.
    pub fn settle(
        &self,
        job: &JobKey,
        tried: &Tried,
        done: &Done,
        now: Instant,
        noise: u32,
    ) -> Option<Duration> {
        let mut jobs = self.lock();
        if done.failures.is_empty() && !jobs.contains_key(job) {
            return None;
        }
        let waiting = jobs.entry(job.clone()).or_default();
        waiting.settle(tried, done, now, noise);
        let next = waiting.0.values().map(|wait| wait.until).min();
        if next.is_none() {
            jobs.remove(job);
        }
        next.map(|until| until.saturating_duration_since(now))
    }

    /// The job is gone, or was changed, which may be the repair.
    pub fn forget(&self, job: &JobKey) {
        self.lock().remove(job);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobKey, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn hold_back(&self, steps: &mut Vec<Step>, now: Instant) -> Held {
        let waits = |step: &Step| self.0.get(&Write::of(step)).filter(|wait| wait.until > now);
        let mut held: Vec<(Write, StepFailure)> = Vec::new();
        for step in steps.iter() {
            let write = Write::of(step);
            if let Some(wait) = waits(step).filter(|_| held.iter().all(|(other, _)| *other != write)) {
                held.push((write, wait.last.clone()));
            }
        }
        let first = steps.iter().filter(|step| waits(step).is_some()).map(Step::wave).min();
        steps.retain(|step| {
            let follows = first.is_some_and(|first| step.wave() > first) && step.needs_earlier_waves();
            waits(step).is_none() && !follows
        });
        Held { failures: held.into_iter().map(|(_, failure)| failure).collect() }
    }

    fn settle(&mut self, tried: &Tried, done: &Done, now: Instant, noise: u32) {
        let progress = done.created + done.deleted > 0;
        let mut before: HashMap<Write, u32> = HashMap::new();
        for write in &tried.writes {
            if let Some(wait) = self.0.get(write).filter(|wait| wait.until <= tried.at) {
                before.insert(write.clone(), wait.failures);
            }
        }
        // What was not held back and was not tried is not wanted any more.
        self.0.retain(|_, wait| wait.until > tried.at);
        for failure in &done.failures {
            let Some(times) = times(failure.reason) else { continue };
            let write = tried.write_of(&failure.object);
            let failures = before.get(&write).copied().filter(|_| !progress).unwrap_or_default();
            let until = now + delay::growing(times, failures, noise);
            let wait = Wait { until, failures: failures.saturating_add(1), last: failure.clone() };
            // Of failures of several kinds the longest wait counts: trying sooner would only meet that one again.
            match self.0.get(&write) {
                Some(other) if other.until >= until => {}
                _ => drop(self.0.insert(write, wait)),
            }
        }
    }
}

/// What someone has to take away first is looked at when the status says ([`coxswain_model::status`]).
fn times(reason: FailureReason) -> Option<(Duration, Duration)> {
    match reason {
        FailureReason::Foreign => None,
        FailureReason::Conflict => Some(CONFLICT),
        FailureReason::Unavailable => Some(FAILED),
        FailureReason::Invalid | FailureReason::Forbidden => Some(REFUSED),
    }
}

impl Write {
    fn of(step: &Step) -> Self {
        match step {
            Step::CreateWorkers { .. } => Self::CreateWorkers,
            Step::Delete { object, .. } if object.kind == Kind::Pod => Self::DeletePods,
            Step::OpenGate { pod, .. } => Self::Object(ObjectName { kind: Kind::Pod, name: pod.clone() }),
            Step::Create { object, .. }
            | Step::CreateSecret { object, .. }
            | Step::Patch { object, .. }
            | Step::Resume { object, .. }
            | Step::Delete { object, .. } => Self::Object(object.clone()),
        }
    }
}

impl Tried {
    fn of(steps: &[Step], at: Instant) -> Self {
        let gates = steps.iter().filter_map(|step| match step {
            Step::OpenGate { pod, .. } => Some(pod.clone()),
            _ => None,
        });
        Self { at, writes: steps.iter().map(Write::of).collect(), gates: gates.collect() }
    }

    /// Pods are created and deleted in one reconcile only while a job shrinks, and then by one quota.
    fn write_of(&self, object: &ObjectName) -> Write {
        if object.kind != Kind::Pod || self.gates.contains(&object.name) {
            Write::Object(object.clone())
        } else if self.writes.contains(&Write::CreateWorkers) {
            Write::CreateWorkers
        } else {
            Write::DeletePods
        }
    }
}

#[cfg(test)]
mod tests;
