//! What to tell: the job's status, events and counters, as a function of what is observed.
//!
//! In go the job as it was parsed (with the stored status), what is seen after the writes, what came of them,
//! and the time; out comes a [`Tale`]. Conditions, reasons, messages and their order are those of the MPI
//! Operator 0.8.2; `Accepted` is ours and appears only on jobs that were once not accepted.

mod acceptance;
pub mod condition;
mod counters;
mod ending;
mod lost;
mod patch;
pub mod trouble;

use std::time::Duration;

use jiff::Timestamp;

use self::trouble::Trouble;
pub use self::{counters::LAUNCHER, patch::merge_patch};
use crate::{
    api::{
        MpiJob,
        mpijob::{Condition, JobStatus, ReplicaStatus},
        wire,
    },
    gate::{Because, Gate, Missing},
    job::{
        CleanPodPolicy, ValidJob, at,
        violation::{FieldError, aggregate},
    },
    phase::{self, Phase},
    plan::Note,
    seen::{PodPhase, Seen},
    step::{Done, Kind, ObjectName},
};

/// What one pass has to tell and when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tale {
    /// The new status, only if it differs from the stored one.
    pub status: Option<JobStatus>,
    /// In order; written after the status.
    pub events: Vec<Event>,
    /// What this reconcile did, which no later one can tell: written after the others, and also where the status could not
    /// be written.
    pub acts: Vec<Event>,
    /// What the metrics count.
    pub counts: Vec<Count>,
    /// Look again after this long even if nothing happens.
    pub wake: Option<Duration>,
}

/// One core/v1 event on the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Type Warning in place of Normal.
    pub warning: bool,
    /// CamelCase.
    pub reason: String,
    /// At most [`crate::api::wire::MAX_MESSAGE`] bytes.
    pub message: String,
}

/// What the MPI Operator's counters count. Counted once a job, if the caller counts only after the status that
/// came along was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Count {
    Created,
    Succeeded,
    Failed,
}

/// What came of one pass up to here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the steps did.
    pub done: Done,
    /// What was decided about the launcher's gate.
    pub gate: Gate,
    /// Why the job could not be rendered.
    pub trouble: Option<Trouble>,
    /// `openmpi@0123456789ab (v0.1.0)`, launcher first: set in the pass whose steps write the job's pin.
    pub pinned: Option<String>,
    /// The plugins' remarks, told together with the pin.
    pub notes: Vec<Note>,
    /// Annotations that have no effect ([`crate::job::Wishes::ignored`]), where it is known what renders the job.
    pub ignored: Option<Vec<String>>,
}

/// What to tell of a valid job. `seen` is observed after the writes.
pub fn next(job: &ValidJob, seen: &Seen, outcome: &Outcome, now: Timestamp) -> Tale {
    let (exactly, now) = (now, whole_seconds(now));
    let phase = phase::of(job, seen);
    let (status, tale) = (job.status.clone(), Tale::default());
    let mut draft = Draft { job, seen, outcome, now, exactly, phase, status, tale };
    if phase == Phase::Finished {
        draft.clean_up();
    } else {
        draft.create();
        draft.pin();
        draft.start();
        draft.suspend();
        draft.accept();
        draft.open_gate();
        draft.count_replicas();
        draft.end();
        draft.run();
    }
    // What it leaves behind is cleaned up by the next pass, once the status says how it ended.
    if draft.status.completion_time.is_some() && job.status.completion_time.is_none() {
        if matches!(phase, Phase::Ended | Phase::Lost) {
            // The counters as they will be then, or the status would have to be written once more.
            draft.clean_up();
        }
        draft.wake(Duration::ZERO);
    }
    let Draft { status, mut tale, .. } = draft;
    tale.status = (status != job.status).then_some(status);
    tale
}

/// What to tell of a job that its user has to change first. Everything else of its status stays.
pub fn rejected(raw: &MpiJob, errors: &[FieldError], now: Timestamp) -> Tale {
    const REASON: &str = "ValidationError";
    let message = shorten(&format!("Found validation errors: {}", aggregate(errors)));
    let mut status = raw.status.clone().unwrap_or_default();
    let claim =
        condition::Claim { kind: condition::ACCEPTED, holds: false, reason: REASON, message: &message };
    if !condition::tell(&mut status, claim, whole_seconds(now)) {
        return Tale::default();
    }
    let event = Event { warning: true, reason: REASON.to_owned(), message };
    Tale { status: Some(status), events: vec![event], ..Tale::default() }
}

/// The tale while it is being written.
struct Draft<'a> {
    job: &'a ValidJob,
    seen: &'a Seen,
    outcome: &'a Outcome,
    now: Timestamp,
    exactly: Timestamp,
    phase: Phase,
    status: JobStatus,
    tale: Tale,
}

impl Draft<'_> {
    fn create(&mut self) {
        let message = format!("MPIJob {} is created.", self.job.key());
        if condition::find(&self.status, condition::CREATED).is_none() {
            self.set(condition::CREATED, true, "MPIJobCreated", &message);
            self.event(false, "MPIJobCreated", &message);
            self.tale.counts.push(Count::Created);
        }
    }

    fn pin(&mut self) {
        let Some(pinned) = self.outcome.pinned.as_ref().filter(|_| self.is_pinned()) else { return };
        self.act(false, "PluginsPinned", &format!("rendered by {pinned}"));
        for note in &self.outcome.notes {
            self.act(note.warning, "PluginNote", &format!("{}: {}", note.by, note.text));
        }
        if !at(self.job.launcher.pod_spec(), "/restartPolicy").is_null() {
            let message = "Restart policy in pod template overridden by restart policy in replica spec";
            self.act(true, "SetPodTemplateRestartPolicy", message);
        }
    }

    /// The ConfigMap that carries the pin was written: it did not fail, and nothing kept it from being tried. It
    /// may not be seen yet.
    fn is_pinned(&self) -> bool {
        let Outcome { done, .. } = self.outcome;
        let object = ObjectName { kind: Kind::ConfigMap, name: self.job.names.config() };
        let written = match &self.seen.config {
            None => done.created > 0,
            Some(config) => config.object.is_controlled_by(&self.job.uid) && config.pin.is_some(),
        };
        written && done.failures.iter().all(|failure| failure.object != object)
    }

    fn start(&mut self) {
        if self.status.start_time.is_none() && !self.job.suspended {
            self.status.start_time = Some(self.now);
        }
    }

    fn suspend(&mut self) {
        if self.job.suspended {
            if self.set(condition::SUSPENDED, true, "MPIJobSuspended", "MPIJob suspended") {
                self.event(false, "MPIJobSuspended", "MPIJob suspended");
            }
        } else if condition::find(&self.status, condition::SUSPENDED).is_some()
            && self.set(condition::SUSPENDED, false, "MPIJobResumed", "MPIJob resumed")
        {
            self.event(false, "MPIJobResumed", "MPIJob resumed");
            self.status.start_time = Some(self.now);
        }
    }

    /// A closed gate is a wake-up, an open one an event where it was not opened for the best of reasons.
    fn open_gate(&mut self) {
        match &self.outcome.gate {
            Gate::Closed { until, .. } => {
                let left = Duration::try_from(until.duration_since(self.now)).unwrap_or_default();
                self.wake(left.max(Duration::from_secs(1)));
            }
            Gate::Open { pod, because, .. } if self.is_opened(pod) => match because {
                Because::AllReady | Because::RanBefore | Because::Minimum => {}
                Because::WorkerFailed => {
                    let message =
                        "the launcher starts although not all workers are ready: a worker has ended";
                    self.act(true, "StartGateOpened", message);
                }
                Because::TimedOut { missing } => {
                    let message = self.timed_out(missing);
                    self.act(true, "StartGateTimedOut", &message);
                }
            },
            Gate::NotUsed | Gate::Open { .. } => {}
        }
    }

    /// The step that opens the gate was carried out: neither it nor an earlier wave failed.
    fn is_opened(&self, pod: &str) -> bool {
        let failures = &self.outcome.done.failures;
        failures.iter().all(|failure| failure.object.kind == Kind::Pod && failure.object.name != pod)
    }

    fn timed_out(&self, missing: &Missing) -> String {
        let names = &self.job.names;
        let hosts: Vec<String> = missing.sample.iter().map(|index| names.worker(*index)).collect();
        let rest = usize::try_from(missing.count).unwrap_or(usize::MAX).saturating_sub(hosts.len());
        let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        format!(
            "the launcher starts after {} s although {} of {} workers are not ready or not in DNS: {}{more}",
            self.job.wishes.start_gate_timeout.as_secs(),
            missing.count,
            self.job.workers(),
            hosts.join(", ")
        )
    }

    /// Running once the launcher and every worker do; False again only by suspension or the end.
    fn run(&mut self) {
        let key = self.job.key();
        if phase::is_finished(&self.status) {
            self.never_ran();
        } else if self.job.suspended {
            let message = format!("MPIJob {key} is suspended.");
            self.set(condition::RUNNING, false, "MPIJobSuspended", &message);
        } else if self.is_running() {
            let message = format!("MPIJob {key} is running.");
            if self.set(condition::RUNNING, true, "MPIJobRunning", &message) {
                self.event(false, "MPIJobRunning", &format!("MPIJob {key} is running"));
            }
        }
    }

    /// Tells that a job has ended without ever having been seen to run. The MPI Operator 0.8.2 appends that; here it
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
            reason: "MPIJobRunning".to_owned(),
            message: format!("MPIJob {} is finished but Running condition was never set.", self.job.key()),
            last_update_time: at,
            last_transition_time: at,
        };
        self.status.conditions.insert(before_the_end, never);
    }

    fn is_running(&self) -> bool {
        let runs = |phase| phase == PodPhase::Running;
        let launcher = self.seen.launcher_of(self.job).is_some();
        launcher
            && self.seen.launcher_pods().any(|pod| runs(pod.phase))
            && counters::workers(self.job, self.seen).active
                == i32::try_from(self.job.workers()).unwrap_or(-1)
    }

    fn clean_up(&mut self) {
        counters::launcher(self.job, self.seen, &mut self.status);
        if self.job.clean_pod_policy != CleanPodPolicy::None {
            self.status.replica_statuses.insert(counters::WORKER.to_owned(), ReplicaStatus::default());
        }
    }

    fn set(&mut self, kind: &'static str, holds: bool, reason: &str, message: &str) -> bool {
        let claim = condition::Claim { kind, holds, reason, message };
        condition::set(&mut self.status, claim, self.now)
    }

    fn event(&mut self, warning: bool, reason: &str, message: &str) {
        let event = Event { warning, reason: reason.to_owned(), message: shorten(message) };
        self.tale.events.push(event);
    }

    /// An event about what was done, as against what the status says from now on.
    fn act(&mut self, warning: bool, reason: &str, message: &str) {
        let event = Event { warning, reason: reason.to_owned(), message: shorten(message) };
        self.tale.acts.push(event);
    }

    fn wake(&mut self, after: Duration) {
        self.tale.wake = Some(self.tale.wake.map_or(after, |earlier| earlier.min(after)));
    }
}

/// At most [`wire::MAX_MESSAGE`] bytes; a longer text ends in `...`.
pub fn shorten(text: &str) -> String {
    const MARK: &str = "...";
    if text.len() <= wire::MAX_MESSAGE {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(wire::MAX_MESSAGE - MARK.len());
    format!("{}{MARK}", text.get(..kept).unwrap_or_default())
}

/// Times stand in whole seconds in the API; finer ones would differ from their stored selves at each pass.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
