//! The status update: the job's status, events and counters, as a function of what is observed.
//!
//! In go the job as it was parsed (with the stored status), what is observed after the writes, what came of them,
//! and the time; out comes a [`StatusUpdate`]. Conditions, reasons, messages and their order are those of the MPI
//! Operator 0.8.2; `Accepted` is ours and appears only on jobs that were once not accepted.

mod acceptance;
mod counters;
mod draft;
mod ending;
mod gang;
mod lost;
mod opening;
mod outcome;
mod patch;
mod render_error;
mod update;

use std::time::Duration;

use jiff::Timestamp;

use self::draft::Draft;
pub use self::{
    draft::shorten,
    outcome::Outcome,
    patch::merge_patch,
    render_error::RenderError,
    update::{Count, Event, StatusUpdate},
};
pub use crate::condition;
use crate::{
    api::{
        MpiJob,
        mpijob::{Condition, ReplicaStatus},
    },
    job::{
        CleanPodPolicy, ValidJob,
        violation::{FieldError, aggregate},
    },
    json::at,
    object::{Kind, ObjectName},
    observed::{ObservedPod, ObservedState, PodPhase},
    phase::{self, Phase},
};

/// The status update of a valid job. `observed` is observed after the writes.
pub fn next(job: &ValidJob, observed: &ObservedState, outcome: &Outcome, now: Timestamp) -> StatusUpdate {
    let (exactly, now) = (now, whole_seconds(now));
    let phase = phase::of(job, observed);
    let (status, update) = (job.status().clone(), StatusUpdate::default());
    let mut draft = Draft { job, observed, outcome, now, exactly, phase, status, update };
    if phase == Phase::Finished {
        draft.clean_up();
    } else {
        draft.create();
        draft.pin();
        draft.start();
        draft.suspend();
        draft.accept();
        draft.open_gate();
        draft.report_gang();
        draft.count_replicas();
        draft.end();
        draft.run();
    }
    // What it leaves behind is cleaned up by the next reconcile, once the status says how it ended.
    if draft.status.completion_time.is_some() && job.status().completion_time.is_none() {
        if matches!(phase, Phase::Ended | Phase::Lost) {
            // The counters as they will be then, or the status would have to be written once more.
            draft.clean_up();
        }
        draft.wake(Duration::ZERO);
    }
    let Draft { status, mut update, .. } = draft;
    update.status = (status != *job.status()).then_some(status);
    update
}

/// The status update of a job that its user has to change first. Everything else of its status stays.
pub fn rejected(raw: &MpiJob, errors: &[FieldError], now: Timestamp) -> StatusUpdate {
    const REASON: &str = "ValidationError";
    let message = shorten(&format!("Found validation errors: {}", aggregate(errors)));
    let mut status = raw.status.clone().unwrap_or_default();
    let claim =
        condition::Claim { kind: condition::ACCEPTED, holds: false, reason: REASON, message: &message };
    if !condition::report(&mut status, claim, whole_seconds(now)) {
        return StatusUpdate::default();
    }
    let event = Event { warning: true, reason: REASON.to_owned(), message };
    StatusUpdate { status: Some(status), events: vec![event], ..StatusUpdate::default() }
}

impl Draft<'_> {
    fn create(&mut self) {
        if condition::find(&self.status, condition::CREATED).is_none() {
            let (reason, message) = (self.reasons().created, format!("{} is created.", self.whom()));
            self.set(condition::CREATED, true, reason, &message);
            self.event(false, reason, &message);
            self.update.counts.push(Count::Created);
        }
    }

    fn pin(&mut self) {
        let Some(pinned) = self.outcome.pinned.as_ref().filter(|_| self.is_pinned()) else { return };
        self.act(false, "PluginsPinned", &format!("rendered by {pinned}"));
        for note in &self.outcome.notes {
            self.act(note.warning, "PluginNote", &format!("{}: {}", note.by, note.text));
        }
        if !at(self.job.driver().pod_spec(), "/restartPolicy").is_null() {
            let message = "Restart policy in pod template overridden by restart policy in replica spec";
            self.act(true, "SetPodTemplateRestartPolicy", message);
        }
    }

    /// The ConfigMap that carries the pin was written: it did not fail, and nothing kept it from being tried. It
    /// may not be observed yet.
    fn is_pinned(&self) -> bool {
        let Outcome { done, .. } = self.outcome;
        let object = ObjectName { kind: Kind::ConfigMap, name: self.job.names().config() };
        let written = match &self.observed.config {
            None => done.created > 0,
            Some(config) => config.object.is_controlled_by(self.job.uid()) && config.pin.is_some(),
        };
        written && done.failures.iter().all(|failure| failure.object != object)
    }

    fn start(&mut self) {
        if self.status.start_time.is_none() && !self.job.is_suspended() {
            self.status.start_time = Some(self.now);
        }
    }

    /// That the status says Suspended also means that what has run was stopped, and may run again.
    fn suspend(&mut self) {
        if self.job.is_suspended() {
            if self.launcher_was_not_reached() {
                return;
            }
            let (reason, message) = (self.reasons().suspended, format!("{} suspended", self.job.kind().name));
            if self.set(condition::SUSPENDED, true, reason, &message) {
                self.event(false, reason, &message);
            }
        } else if condition::find(&self.status, condition::SUSPENDED).is_some() {
            let (reason, message) = (self.reasons().resumed, format!("{} resumed", self.job.kind().name));
            if self.set(condition::SUSPENDED, false, reason, &message) {
                self.event(false, reason, &message);
                self.status.start_time = Some(self.now);
            }
        }
    }

    /// The launcher Job that the status knows of could not be written to in this reconcile. It may have ended, and the status
    /// must go on saying that it was there.
    pub(super) fn launcher_was_not_reached(&self) -> bool {
        phase::had_launcher(self.job)
            && self.outcome.done.failures.iter().any(|failure| failure.object.kind == Kind::Job)
    }

    /// Running once the launcher and every worker do; False again only by suspension or the end.
    fn run(&mut self) {
        if phase::is_finished(&self.status) {
            self.never_ran();
        } else if self.job.is_suspended() {
            let message = format!("{} is suspended.", self.whom());
            self.set(condition::RUNNING, false, self.reasons().suspended, &message);
        } else if self.is_running() {
            let (reason, message) = (self.reasons().running, format!("{} is running", self.whom()));
            if self.set(condition::RUNNING, true, reason, &format!("{message}.")) {
                self.event(false, reason, &message);
            }
        }
    }

    /// Says that a job has ended without ever having been observed to run. The MPI Operator 0.8.2 appends that; here it
    /// goes before the end, as where a job did run, so that the last condition is always the state of the job.
    fn never_ran(&mut self) {
        if condition::find(&self.status, condition::RUNNING).is_some() {
            return;
        }
        let at = Some(self.status.completion_time.unwrap_or(self.now));
        let before_the_end = self.status.conditions.len().saturating_sub(1);
        let never = Condition {
            kind: condition::RUNNING.to_owned(),
            status: condition::FALSE.to_owned(),
            reason: self.reasons().running.to_owned(),
            message: format!("{} is finished but Running condition was never set.", self.whom()),
            last_update_time: at,
            last_transition_time: at,
        };
        self.status.conditions.insert(before_the_end, never);
    }

    fn is_running(&self) -> bool {
        let runs = |pod: &&ObservedPod| pod.phase == PodPhase::Running;
        let running = || self.observed.wanted_workers_of(self.job).filter(runs).count();
        self.observed.launcher_of(self.job).is_some()
            && self.observed.launcher_pods().any(|pod| runs(&pod))
            && u32::try_from(running()) == Ok(self.job.workers())
    }

    fn clean_up(&mut self) {
        counters::launcher(self.job, self.observed, &mut self.status);
        if self.job.clean_pod_policy() != CleanPodPolicy::None {
            for role in self.job.kind().run_by_pods() {
                self.status.replica_statuses.insert(role.key.to_owned(), ReplicaStatus::default());
            }
        }
    }
}

/// Times stand in whole seconds in the API; finer ones would differ from their stored selves at each reconcile.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests;
