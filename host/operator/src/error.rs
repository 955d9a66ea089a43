//! `Failed`: why a pass did not come through. For people by its text, for the queue by its reason.

use std::{fmt, time::Duration};

use coxswain_model::step::{Done, FailureReason, StepFailure};

use crate::{cluster::rest::Refused, queue::Ended};

/// A pass that did not come through. Retried as its reason asks; shown with its whole chain.
#[derive(Debug)]
pub struct Failed {
    /// Decides about the retry.
    pub reason: FailureReason,
    /// For people.
    pub error: anyhow::Error,
    /// How the queue is to go on, if the reason does not say it.
    ended: Option<Ended>,
}

impl Failed {
    /// Something went wrong on our side or on the way.
    pub fn unavailable(error: anyhow::Error) -> Self {
        Self { reason: FailureReason::Unavailable, error, ended: None }
    }

    /// There was no turn for it before time was over.
    pub fn late(doing: &str) -> Self {
        Self::unavailable(anyhow::anyhow!("{doing}: no turn in time"))
    }

    /// The same, where it is known when to look again: the writes that failed wait, not the job.
    #[must_use]
    pub fn again(self, wake: Option<Duration>) -> Self {
        Self { ended: Some(Ended::Well { wake }), ..self }
    }

    /// How the queue is to go on.
    pub fn ended(&self) -> Ended {
        self.ended.unwrap_or(match self.reason {
            FailureReason::Conflict => Ended::Conflict,
            FailureReason::Unavailable => Ended::Failed,
            FailureReason::Foreign | FailureReason::Invalid | FailureReason::Forbidden => Ended::Refused,
        })
    }
}

impl Failed {
    /// What of a pass's writes decides about its retry; nothing if all succeeded. What may pass by itself goes
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
        Self { reason: *reason, error, ended: None }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl Failed {
    /// The API server refused while doing this (`updating the status of team-a/pi`).
    pub fn refused(refused: Refused, doing: String) -> Self {
        Self { reason: refused.failure(), error: anyhow::Error::new(refused).context(doing), ended: None }
    }
}
