//! Leader election by a Lease: only the leader writes.
//!
//! A candidate judges the holder by when it last *saw the record change*, on its own monotonic clock; it never
//! compares the times in the record with its own wall clock, so skewed clocks elect nobody twice. Writes are PUTs
//! with `resourceVersion`: of two candidates that reach for it at once, one gets 409.
//!
//! In: a record (the API server's Lease, or a test's), and whether to be a candidate at all. Out: [`Leadership`], which
//! every writer asks. Whoever loses the lease is a candidate again at once; each time that it is held is a term with a
//! number of its own, so that what began in one term never writes in a later one. Whoever stops, or is no candidate any
//! more, gives it back, and a standby takes over within two seconds.

mod record;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

pub use self::record::{LeaseApi, Record};
use crate::{leadership::Leadership, rest::Refused, world};

/// Between two tries of a holder whose time is running out.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// Times of the election.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// A holder that was silent for so long has lost the lease.
    pub duration: Duration,
    /// The holder itself gives up after so long without a renewal, well before the others do.
    pub deadline: Duration,
    /// The holder renews this often.
    pub renew: Duration,
    /// The others look this often, so that a lease given back is taken within two seconds.
    pub look: Duration,
    /// An answer is not waited for any longer, whatever it waits for.
    pub answer: Duration,
    /// An API server that asks a standby to stay away for longer is asked again earlier.
    pub longest_asked: Duration,
}

impl Default for Timing {
    /// The MPI Operator's duration and renewals. It gives up after 5 s, which makes two slow answers in a row cost the
    /// leadership; client-go's own 10 s do not. An answer has half of that, as client-go's lock has: a renewal is sent when
    /// the one before it is answered, so answers that all take up to 5 s keep the lease, and after one that never comes
    /// there is time for another try. With 3 s an API server that took 2 s and was busy besides cost the leadership.
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            renew: Duration::from_secs(3),
            look: Duration::from_millis(1500),
            answer: Duration::from_secs(5),
            longest_asked: Duration::from_secs(10),
        }
    }
}

/// One candidate.
pub struct Candidate<R> {
    record: R,
    identity: String,
    timing: Timing,
    leadership: Leadership,
    /// Wall clock, for the times in the record, which only people read.
    clock: fn() -> Timestamp,
    observed: Option<ObservedLease>,
    /// When the renewal that holds now was sent, while the lease is ours.
    renewed: Option<Instant>,
}

/// The record as last read or written.
struct ObservedLease {
    lease: Value,
    /// When it was first seen to be like that.
    at: Instant,
}

impl<R: Record> Candidate<R> {
    /// A candidate of this identity, unique among all that ever run.
    pub fn new(record: R, identity: String, timing: Timing, leadership: Leadership) -> Self {
        Self { record, identity, timing, leadership, clock: world::now, observed: None, renewed: None }
    }

    /// Who it is.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Runs for the lease and holds it, as long as `candidacy` is true; gives it back when that turns false, and at the end,
    /// when `stop` turns true.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>, mut candidacy: watch::Receiver<bool>) {
        loop {
            if !*candidacy.borrow_and_update() {
                self.release().await;
                tokio::select! {
                    biased;
                    _ = stop.wait_for(|stop| *stop) => return,
                    Ok(_) = candidacy.wait_for(|is_candidate| *is_candidate) => {}
                }
            }
            let sent = Instant::now();
            let attempt = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                attempt = self.attempt_in_time() => attempt,
            };
            let mut asked = None;
            match attempt {
                Ok(Some(written)) => self.holds(written),
                Ok(None) => self.lost("someone else holds the lease"),
                Err(refused) => {
                    tracing::warn!(error = %refused, leads = self.renewed.is_some(), "asking for the lease");
                    asked = refused.retry_after;
                }
            }
            if self.until_deadline().is_some_and(|left| left.is_zero()) {
                self.lost("it could not be renewed in time");
            }
            // Counted from when this attempt was sent, so that slow answers do not stretch the renewals.
            let pause = self.pause(sent.elapsed(), asked);
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                Ok(()) = candidacy.changed() => {}
                () = sleep(pause) => {}
            }
        }
        self.release().await;
    }

    /// How long the lease is still ours without a renewal; nothing if it is not ours.
    fn until_deadline(&self) -> Option<Duration> {
        self.renewed.map(|renewed| self.timing.deadline.saturating_sub(renewed.elapsed()))
    }

    /// Until the next attempt, if the last one was sent so long ago and the API server then asked to be left alone.
    fn pause(&self, since: Duration, asked: Option<Duration>) -> Duration {
        let asked = asked.unwrap_or_default();
        let Some(left) = self.until_deadline() else {
            return self.looks().saturating_sub(since).max(asked.min(self.timing.longest_asked));
        };
        // Whatever it asks for, there must be time for one more try.
        let latest = left.saturating_sub(self.timing.answer).max(LEAST_PAUSE);
        jittered(self.timing.renew).saturating_sub(since).max(asked).min(latest)
    }

    /// How often a standby looks: at the latest when the lease runs out if it is not renewed.
    fn looks(&self) -> Duration {
        let runs = |observed: &ObservedLease| {
            let duration = record::duration(&observed.lease).unwrap_or(self.timing.duration);
            duration.saturating_sub(observed.at.elapsed())
        };
        let rest = self.observed.as_ref().map(runs).filter(|rest| !rest.is_zero());
        jittered(self.timing.look).min(rest.unwrap_or(Duration::MAX))
    }

    /// One try that ends when the lease is lost without it.
    async fn attempt_in_time(&mut self) -> Result<Option<Instant>, Refused> {
        let limit = self.until_deadline().unwrap_or(self.timing.deadline);
        tokio::time::timeout(limit, self.attempt())
            .await
            .unwrap_or_else(|_| Err(Refused::unanswered(format!("no answer within {} s", limit.as_secs()))))
    }

    /// One try to take or renew. If we hold it now: when the write was sent that says so.
    async fn attempt(&mut self) -> Result<Option<Instant>, Refused> {
        if self.renewed.is_none() || self.observed.is_none() {
            self.look().await?;
        }
        match self.write().await {
            // Changed or deleted under our hands: look who did it, once.
            Err(refused) if matches!(refused.code, 404 | 409) => {
                self.look().await?;
                self.write().await
            }
            result => result,
        }
    }

    async fn look(&mut self) -> Result<(), Refused> {
        let lease = self.record.read().await?;
        let now = Instant::now();
        self.observed = match (lease, self.observed.take()) {
            (None, _) => None,
            (Some(lease), Some(old)) if lease == old.lease => Some(old),
            (Some(lease), _) => Some(ObservedLease { lease, at: now }),
        };
        Ok(())
    }

    async fn write(&mut self) -> Result<Option<Instant>, Refused> {
        let now = Instant::now();
        let wall = (self.clock)();
        let lease = match &self.observed {
            None => self.record.create(record::first(&self.identity, self.timing.duration, wall)).await?,
            Some(observed) if self.is_held_by_other(observed, now) => return Ok(None),
            Some(observed) => {
                let lease = record::taken(&observed.lease, &self.identity, self.timing.duration, wall);
                self.record.update(lease).await?
            }
        };
        self.observed = Some(ObservedLease { lease, at: now });
        Ok(Some(now))
    }

    fn is_held_by_other(&self, observed: &ObservedLease, now: Instant) -> bool {
        let holder = record::holder(&observed.lease);
        let ours = holder.is_empty() || holder == self.identity;
        let silent = now.saturating_duration_since(observed.at);
        !ours && silent < record::duration(&observed.lease).unwrap_or(self.timing.duration)
    }

    fn holds(&mut self, sent: Instant) {
        if self.renewed.is_none() {
            tracing::info!(identity = self.identity, "became leader");
        }
        self.renewed = Some(sent);
        self.leadership.renewed(sent, self.timing.deadline);
    }

    fn lost(&mut self, why: &str) {
        if self.renewed.take().is_some() {
            tracing::error!(
                identity = self.identity,
                why,
                "stopped leading; this replica is a candidate again"
            );
        }
        self.leadership.lost();
    }

    /// Gives the lease back. If that fails, the others wait it out.
    async fn release(&mut self) {
        self.leadership.lost();
        let was_ours = self.renewed.take().is_some();
        let Some(observed) = self.observed.take().filter(|_| was_ours) else { return };
        let released = self.record.update(record::released(&observed.lease, (self.clock)()));
        match tokio::time::timeout(self.timing.answer, released).await {
            Ok(Ok(_)) => tracing::info!(identity = self.identity, "gave the lease back"),
            Ok(Err(refused)) => tracing::warn!(error = %refused, "giving the lease back"),
            Err(_) => tracing::warn!(error = "no answer in time", "giving the lease back"),
        }
    }
}

/// ±10 %, so that candidates do not ask in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.9 + f64::from(world::random::<u8>()) / 1275.0)
}

#[cfg(test)]
mod tests;
