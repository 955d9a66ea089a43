//! How a job ends: by its launcher Job, by the loss of its workers, or by the loss of its launcher.

use jiff::Timestamp;

use super::{
    draft::{Draft, shorten},
    update::Count,
};
use crate::{
    condition,
    observed::{LauncherEnd, PodPhase},
    phase::{self, Phase},
};

/// The Job controller's reason when the launcher failed too often.
const BACKOFF_LIMIT_EXCEEDED: &str = "BackoffLimitExceeded";

impl Draft<'_> {
    pub(super) fn end(&mut self) {
        match self.phase {
            Phase::Active | Phase::Suspended | Phase::Finished => {}
            Phase::Evicted { lost, of } => {
                let message = format!("{lost}/{of} workers are evicted");
                self.fail(self.reasons().evicted, &message);
            }
            Phase::Lost => {
                let message = format!(
                    "Job {} is gone, and how it ended was not seen: it may have run and is not run again; create the \
                     {} anew if its result is missing",
                    self.job.names().launcher(),
                    self.job.kind().name
                );
                self.fail(condition::LAUNCHER_LOST, &message);
            }
            Phase::Ended => match phase::end(self.job, self.observed) {
                Some(end) if end.complete => self.judge(end),
                Some(end) => {
                    let (reason, message) = self.failure(end);
                    self.fail(&reason, &message);
                }
                None => {}
            },
        }
    }

    pub(super) fn succeed(&mut self, end: &LauncherEnd) {
        let reason = self.reasons().succeeded;
        let message = format!("{} successfully completed.", self.whom());
        self.ended_at(end.time.unwrap_or(self.now));
        if self.set(condition::SUCCEEDED, true, reason, &message) {
            self.event(false, reason, &message);
            self.update.counts.push(Count::Succeeded);
        }
    }

    pub(super) fn fail(&mut self, reason: &str, message: &str) {
        self.ended_at(self.now);
        if self.set(condition::FAILED, true, reason, message) {
            self.event(true, reason, message);
            self.update.counts.push(Count::Failed);
        }
    }

    /// Never before the job began: a launcher may have run while nobody was there to write that it did, and the clock of whoever
    /// wrote it may have been ahead of this one.
    fn ended_at(&mut self, time: Timestamp) {
        let ended = self.status.start_time.map_or(time, |began| time.max(began));
        self.status.completion_time.get_or_insert(ended);
    }

    /// The Job's own reason and message; after too many failures with those of the newest failed pod.
    fn failure(&self, end: &LauncherEnd) -> (String, String) {
        let or = |text: &str, default: String| if text.is_empty() { default } else { text.to_owned() };
        let mut reason = or(&end.reason, self.reasons().failed.to_owned());
        let mut message = or(&end.message, format!("{} has failed", self.whom()));
        let failed = self.observed.launcher_pods().filter(|pod| pod.phase == PodPhase::Failed);
        let newest = failed.max_by_key(|pod| pod.created).filter(|_| reason == BACKOFF_LIMIT_EXCEEDED);
        if let Some(pod) = newest {
            let failure = pod.failure.as_deref().cloned().unwrap_or_default();
            reason = shorten(&format!("{reason}/{}", failure.reason));
            // Most failed pods have no message: a trailing colon would only look cut off.
            if !failure.message.is_empty() {
                message = format!("{message}: {}", failure.message);
            }
        }
        (reason, shorten(&message))
    }
}
