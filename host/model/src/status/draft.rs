//! A status update, while it is put together.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    outcome::Outcome,
    update::{Event, StatusUpdate},
};
use crate::{
    api::{events, mpijob::JobStatus},
    condition,
    job::ValidJob,
    kind::Reasons,
    observed::ObservedState,
    phase::Phase,
};

/// A status update while it is being written.
pub(super) struct Draft<'a> {
    pub job: &'a ValidJob,
    pub observed: &'a ObservedState,
    pub outcome: &'a Outcome,
    pub now: Timestamp,
    pub exactly: Timestamp,
    pub phase: Phase,
    pub status: JobStatus,
    pub update: StatusUpdate,
}

impl Draft<'_> {
    pub fn set(&mut self, kind: &'static str, holds: bool, reason: &str, message: &str) -> bool {
        let claim = condition::Claim { kind, holds, reason, message };
        condition::set(&mut self.status, claim, self.now)
    }

    /// What begins with the name of the job's kind.
    pub fn reasons(&self) -> &'static Reasons {
        &self.job.kind().reasons
    }

    /// `MPIJob team-a/pi`, for people.
    pub fn whom(&self) -> String {
        let names = self.job.names();
        format!("{} {}/{}", self.job.kind().name, names.namespace(), names.job())
    }

    pub fn event(&mut self, warning: bool, reason: &str, message: &str) {
        let event = Event { warning, reason: reason.to_owned(), message: shorten(message) };
        self.update.events.push(event);
    }

    /// An event about what was done, as against what the status says from now on.
    pub fn act(&mut self, warning: bool, reason: &str, message: &str) {
        let event = Event { warning, reason: reason.to_owned(), message: shorten(message) };
        self.update.acts.push(event);
    }

    pub fn wake(&mut self, after: Duration) {
        self.update.wake = Some(self.update.wake.map_or(after, |earlier| earlier.min(after)));
    }
}

/// At most [`events::MAX_MESSAGE`] bytes; a longer text ends in `...`.
pub fn shorten(text: &str) -> String {
    const MARK: &str = "...";
    if text.len() <= events::MAX_MESSAGE {
        return text.to_owned();
    }
    let kept = text.floor_char_boundary(events::MAX_MESSAGE - MARK.len());
    format!("{}{MARK}", text.get(..kept).unwrap_or_default())
}
