//! The condition `Accepted`: False, with an event, while something keeps the job from being carried out as it
//! is written; True again only where it was False, and then behind what the job's state was before: the last condition
//! is the state. A healthy job has none.

use std::time::Duration;

use super::draft::{Draft, shorten};
use crate::{
    condition, diff,
    job::{LauncherCreation, ValidJob},
    object::{Kind, ObjectName},
    observed::ObservedState,
    phase::Phase,
    step::{FailureReason, StepFailure},
};

/// Foreign objects are not reported in a job's first seconds: after a job was deleted and created again under
/// its name, they are those of the old one, which the garbage collector is about to delete.
const GRACE: Duration = Duration::from_secs(10);
/// How soon to look again during the grace.
const SOON: Duration = Duration::from_secs(1);
/// How soon to look again for a foreign object that stays: objects without our label are not watched.
const LATER: Duration = Duration::from_secs(30);

/// Reason of the condition that holds although something of the job has no effect.
const IGNORED: &str = "AnnotationsIgnored";

/// What this reconcile means for the condition.
enum Acceptance {
    /// Nothing: it stays as it is.
    Unknown,
    Accepted,
    Refused {
        reason: &'static str,
        message: String,
    },
}

impl Draft<'_> {
    pub(super) fn accept(&mut self) {
        match self.acceptance() {
            Acceptance::Unknown => self.report_ignored(),
            Acceptance::Accepted => {
                let refused = condition::find(&self.status, condition::ACCEPTED)
                    .is_some_and(|accepted| accepted.status == condition::FALSE);
                let message = format!("{} is accepted.", self.whom());
                if refused && self.set(condition::ACCEPTED, true, "Accepted", &message) {
                    condition::make_last_but_one(&mut self.status);
                    self.event(false, "Accepted", &message);
                }
                self.report_ignored();
            }
            Acceptance::Refused { reason, message } => self.refuse(reason, &shorten(&message)),
        }
    }

    /// Annotations that have no effect are no reason to refuse a job, but one to notify its user; a refusal goes before.
    fn report_ignored(&mut self) {
        let Some(ignored) = &self.outcome.ignored else { return };
        let accepted = condition::find(&self.status, condition::ACCEPTED);
        if accepted.is_some_and(|accepted| accepted.status == condition::FALSE) {
            return;
        }
        let was_told = accepted.is_some_and(|accepted| accepted.reason == IGNORED);
        let (reason, message) = if ignored.is_empty() {
            ("Accepted", format!("{} is accepted.", self.whom()))
        } else {
            (IGNORED, shorten(&format!("accepted, but without effect: {}", ignored.join("; "))))
        };
        if ignored.is_empty() && !was_told {
            return;
        }
        let claim = condition::Claim { kind: condition::ACCEPTED, holds: true, reason, message: &message };
        if condition::report(&mut self.status, claim, self.now) {
            condition::make_last_but_one(&mut self.status);
            self.event(!ignored.is_empty(), reason, &message);
        }
    }

    fn refuse(&mut self, reason: &'static str, message: &str) {
        let claim = condition::Claim { kind: condition::ACCEPTED, holds: false, reason, message };
        if condition::report(&mut self.status, claim, self.now) {
            self.event(true, reason, message);
            if let Some(message) = self.failed_creation() {
                self.event(true, self.reasons().failed, &message);
            }
        }
    }

    fn acceptance(&mut self) -> Acceptance {
        if let Some(render_error) = &self.outcome.render_error {
            return Acceptance::Refused { reason: render_error.reason(), message: render_error.message() };
        }
        let collision = diff::foreign(self.job, self.observed, self.phase).into_iter().next().or_else(|| {
            // One without our label, which the watches do not see.
            let taken = self.first_failure(|reason| reason == FailureReason::Foreign);
            taken.map(|failure| failure.object.clone())
        });
        if let Some(object) = collision {
            return self.collide(&object);
        }
        let refusal =
            self.first_failure(|reason| matches!(reason, FailureReason::Invalid | FailureReason::Forbidden));
        match refusal {
            Some(failure) => refused(failure),
            None if self.outcome.done.failures.is_empty()
                && is_complete(self.job, self.observed, self.phase) =>
            {
                Acceptance::Accepted
            }
            None => Acceptance::Unknown,
        }
    }

    fn collide(&mut self, object: &ObjectName) -> Acceptance {
        let created = condition::find(&self.status, condition::CREATED);
        let since = created.and_then(|created| created.last_transition_time).unwrap_or(self.now);
        let age = Duration::try_from(self.now.duration_since(since)).unwrap_or_default();
        if age < GRACE {
            self.wake(SOON);
            return Acceptance::Unknown;
        }
        self.wake(LATER);
        let message = format!(
            "Resource {:?} of Kind {:?} already exists and is not managed by {}",
            object.name,
            object.kind.as_str(),
            self.job.kind().name
        );
        Acceptance::Refused { reason: "ErrResourceExists", message }
    }

    /// The same one at each reconcile, whatever the order in which parallel writes fail.
    fn first_failure(&self, wanted: impl Fn(FailureReason) -> bool) -> Option<&StepFailure> {
        let failures = self.outcome.done.failures.iter().filter(|failure| wanted(failure.reason));
        failures.min_by(|a, b| (&a.object, &a.message).cmp(&(&b.object, &b.message)))
    }

    /// What the MPI Operator says when it cannot create a pod.
    fn failed_creation(&self) -> Option<String> {
        let failure =
            self.first_failure(|reason| matches!(reason, FailureReason::Invalid | FailureReason::Forbidden))?;
        let role = match failure.object.kind {
            Kind::Pod => "worker",
            Kind::Job if self.observed.launcher.is_none() => "launcher",
            _ => return None,
        };
        Some(format!("{role} pod created failed: {}", failure.message))
    }
}

fn refused(failure: &StepFailure) -> Acceptance {
    let StepFailure { object, reason, message } = failure;
    let reason = match (reason, object.kind) {
        (FailureReason::Forbidden, _) => "Forbidden",
        (_, Kind::Pod | Kind::Job) => "PodTemplateRefused",
        _ => "ObjectRefused",
    };
    let message = format!("the API server refuses {object}: {message}");
    Acceptance::Refused { reason, message }
}

/// All that this phase asks for is there. A refusal is taken back only then: a reconcile without failures may just
/// have had nothing to try.
fn is_complete(job: &ValidJob, observed: &ObservedState, phase: Phase) -> bool {
    let workers = || {
        let present = observed.wanted_workers_of(job).count();
        present >= usize::try_from(job.workers()).unwrap_or(usize::MAX)
    };
    let launcher =
        observed.launcher_of(job).is_some() || job.launcher_creation() != LauncherCreation::AtStartup;
    let dependencies = observed.service.is_some() && observed.config.is_some() && observed.secret.is_some();
    match phase {
        Phase::Active => dependencies && launcher && workers(),
        Phase::Suspended => dependencies && launcher,
        // What kept a job from being whole to its end stays to be read.
        Phase::Ended | Phase::Evicted { .. } | Phase::Lost | Phase::Finished => false,
    }
}
