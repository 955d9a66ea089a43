//! `Failed`: why what a job needs could not be read or written. For people by its text, for the queue by its reason.

use std::fmt;

use coxswain_model::step::{Done, FailureReason, StepFailure};

use crate::rest::Refused;

/// Something that did not come through. Retried as its reason asks; shown with its whole chain.
#[derive(Debug)]
pub struct Failed {
    /// Decides about the retry.
    pub reason: FailureReason,
    /// For people.
    pub error: anyhow::Error,
}

impl Failed {
    /// Something went wrong on our side or on the way.
    pub fn unavailable(error: anyhow::Error) -> Self {
        Self { reason: FailureReason::Unavailable, error }
    }

    /// There was no permit for it before time was over.
    pub fn late(doing: &str) -> Self {
        Self::unavailable(anyhow::anyhow!("{doing}: no permit of the limiter in time"))
    }

    /// What of a reconcile's writes decides about its retry; nothing if all succeeded. What may pass by itself goes
    /// before what someone has to change.
    pub fn of(done: &Done, doing: &str) -> Option<Self> {
        let urgency = |failure: &&StepFailure| match failure.reason {
            FailureReason::Unavailable => 0,
            FailureReason::Conflict => 1,
            FailureReason::Foreign => 2,
            FailureReason::Forbidden => 3,
            FailureReason::Invalid => 4,
        };
        Some(Self::because(done.failures.iter().min_by_key(urgency)?, doing))
    }

    /// One write that did not succeed.
    pub fn because(failure: &StepFailure, doing: &str) -> Self {
        let StepFailure { object, reason, message } = failure;
        let error = anyhow::anyhow!("{message}").context(format!("{doing} ({object})"));
        Self { reason: *reason, error }
    }

    /// The API server refused while doing this (`updating the status of team-a/pi`).
    pub fn refused(refused: Refused, doing: String) -> Self {
        Self { reason: refused.failure(), error: anyhow::Error::new(refused).context(doing) }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}
