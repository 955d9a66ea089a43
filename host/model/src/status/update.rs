//! What a reconcile leads to: a status, events, counts.

use std::time::Duration;

use crate::api::mpijob::JobStatus;

/// What one reconcile leads to, and when to look again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusUpdate {
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
    /// At most [`crate::api::events::MAX_MESSAGE`] bytes.
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
