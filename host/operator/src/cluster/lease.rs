//! Leader election by a Lease: only the leader writes.
//!
//! A candidate judges the holder by when it last *saw the record change*, on its own monotonic clock; it never
//! compares the times in the record with its own wall clock, so skewed clocks elect nobody twice. Writes are PUTs
//! with `resourceVersion`: of two candidates that reach for it at once, one gets 409.
//!
//! In: a record (the API server's Lease, or a test's). Out: [`Standing`], which every writer asks. Whoever loses
//! the lease ends the process; whoever stops gives it back, and a standby takes over within two seconds.

mod record;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

pub use self::record::{LeaseApi, Record};
use super::rest::Refused;

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
}

impl Default for Timing {
    /// The MPI Operator's duration and renewals. It gives up after 5 s, which makes two slow answers in a row cost the
    /// leadership; client-go's own 10 s do not.
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            deadline: Duration::from_secs(10),
            renew: Duration::from_secs(3),
            look: Duration::from_millis(1500),
        }
    }
}

/// Whether this process leads. Cheap to share.
#[derive(Clone, Debug)]
pub struct Standing {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    /// When the renewal that holds now was sent.
    renewed: Option<Instant>,
    /// Until when writes may begin.
    until: Option<Instant>,
}

impl Default for Standing {
    fn default() -> Self {
        Self { state: Arc::default(), changed: watch::Sender::new(false) }
    }
}

impl Standing {
    /// Writes may begin now. Turns false by itself when a renewal fails to come, also if this process was stopped
    /// and goes on.
    pub fn leads(&self) -> bool {
        self.lock().until.is_some_and(|until| Instant::now() < until)
    }

    /// Becomes true when the process starts to lead; it ends the process when it stops.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.changed.subscribe()
    }

    /// False only for a holder that has not renewed for `longest` and has not even noticed.
    pub fn is_healthy(&self, longest: Duration) -> bool {
        self.lock().renewed.is_none_or(|renewed| renewed.elapsed() < longest)
    }

    fn renewed(&self, sent: Instant, deadline: Duration) {
        *self.lock() = State { renewed: Some(sent), until: Some(sent + deadline) };
        self.changed.send_if_modified(|leads| !std::mem::replace(leads, true));
    }

    fn lost(&self) {
        *self.lock() = State::default();
        self.changed.send_replace(false);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One candidate.
pub struct Candidate<R> {
    record: R,
    identity: String,
    timing: Timing,
    standing: Standing,
    /// Wall clock, for the times in the record, which only people read.
    clock: fn() -> Timestamp,
    seen: Option<Seen>,
    leads_since: Option<Instant>,
}

/// The record as last read or written.
struct Seen {
    lease: Value,
    /// When it was first seen to be like that.
    at: Instant,
}

/// How a candidacy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Someone else leads, or nobody knows: the process must end.
    Lost,
    /// Told to stop; the lease, if it was ours, was given back.
    Stopped,
}

impl<R: Record> Candidate<R> {
    /// A candidate of this identity, unique among all that ever run.
    pub fn new(record: R, identity: String, timing: Timing, standing: Standing) -> Self {
        Self { record, identity, timing, standing, clock: Timestamp::now, seen: None, leads_since: None }
    }

    /// Who it is.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Runs for the lease and holds it until it is lost or `stop` becomes true.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) -> End {
        loop {
            let sent = Instant::now();
            let attempt = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                attempt = self.attempt() => attempt,
            };
            match attempt {
                Ok(true) => self.holds(sent),
                Ok(false) if self.leads_since.is_some() => return self.lost("someone else holds the lease"),
                Ok(false) => {}
                Err(refused) => {
                    tracing::warn!(error = %refused, leads = self.leads_since.is_some(), "asking for the lease");
                    if self.leads_since.is_some_and(|renewed| renewed.elapsed() >= self.timing.deadline) {
                        return self.lost("it could not be renewed in time");
                    }
                }
            }
            // Counted from when this attempt was sent, so that slow answers do not stretch the renewals.
            let pause = self.pause().saturating_sub(sent.elapsed());
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                () = sleep(pause) => {}
            }
        }
        self.release().await;
        End::Stopped
    }

    /// Until the next attempt: for a standby no longer than the lease runs if it is not renewed.
    fn pause(&self) -> Duration {
        if self.leads_since.is_some() {
            return jittered(self.timing.renew);
        }
        let runs = |seen: &Seen| {
            let duration = record::duration(&seen.lease).unwrap_or(self.timing.duration);
            duration.saturating_sub(seen.at.elapsed())
        };
        let rest = self.seen.as_ref().map(runs).filter(|rest| !rest.is_zero());
        jittered(self.timing.look).min(rest.unwrap_or(Duration::MAX))
    }

    /// One try to take or renew. True if we hold it now.
    async fn attempt(&mut self) -> Result<bool, Refused> {
        if self.leads_since.is_none() || self.seen.is_none() {
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
        self.seen = match (lease, self.seen.take()) {
            (None, _) => None,
            (Some(lease), Some(old)) if lease == old.lease => Some(old),
            (Some(lease), _) => Some(Seen { lease, at: now }),
        };
        Ok(())
    }

    async fn write(&mut self) -> Result<bool, Refused> {
        let now = Instant::now();
        let wall = (self.clock)();
        let lease = match &self.seen {
            None => self.record.create(record::first(&self.identity, self.timing.duration, wall)).await?,
            Some(seen) if self.is_held_by_other(seen, now) => return Ok(false),
            Some(seen) => {
                let lease = record::taken(&seen.lease, &self.identity, self.timing.duration, wall);
                self.record.update(lease).await?
            }
        };
        self.seen = Some(Seen { lease, at: now });
        Ok(true)
    }

    fn is_held_by_other(&self, seen: &Seen, now: Instant) -> bool {
        let holder = record::holder(&seen.lease);
        let ours = holder.is_empty() || holder == self.identity;
        let silent = now.saturating_duration_since(seen.at);
        !ours && silent < record::duration(&seen.lease).unwrap_or(self.timing.duration)
    }

    fn holds(&mut self, sent: Instant) {
        if self.leads_since.is_none() {
            tracing::info!(identity = self.identity, "became leader");
        }
        self.leads_since = Some(sent);
        self.standing.renewed(sent, self.timing.deadline);
    }

    fn lost(&mut self, why: &str) -> End {
        tracing::error!(identity = self.identity, why, "stopped leading");
        self.standing.lost();
        End::Lost
    }

    /// Gives the lease back. If that fails, the others wait it out.
    async fn release(&mut self) {
        self.standing.lost();
        let Some(seen) = self.seen.take().filter(|_| self.leads_since.is_some()) else { return };
        match self.record.update(record::released(&seen.lease, (self.clock)())).await {
            Ok(_) => tracing::info!(identity = self.identity, "gave the lease back"),
            Err(refused) => tracing::warn!(error = %refused, "giving the lease back"),
        }
    }
}

/// ±10 %, so that candidates do not ask in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.9 + f64::from(rand::random::<u8>()) / 1275.0)
}

#[cfg(test)]
mod tests;
