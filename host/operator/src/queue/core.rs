//! The queue's decisions, as a function of what it is told and of the time it is told.
//!
//! In: wake-ups, ends of passes, the time. Out: the next job, or when to ask again.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use tokio::time::Instant;

use crate::cluster::key::JobKey;

/// Why a job is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The `MPIJob` is new or changed: at once, also during backoff (the change may be the repair).
    Job,
    /// One of its objects changed: after [`Settings::coalesce`], so that a storm of pods costs a few passes; a
    /// backoff goes on.
    Child,
    /// Something else says so, at once: a pass that ran out of time, a plugin that came.
    Other,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing more to do until something happens or this time is over.
    Well {
        /// Look again then.
        wake: Option<Duration>,
    },
    /// What it had seen was out of date: soon, but with the delay growing if it goes on.
    Conflict,
    /// It did not come through: again with growing delay.
    Failed,
    /// It cannot come through before someone changes something (quota, admission, RBAC): again after a minute,
    /// growing to ten.
    Refused,
    /// The job is no more.
    Gone,
}

/// Times of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long changes of a job's objects are gathered.
    pub coalesce: Duration,
    /// And so much longer for each of its pods, up to [`LONGEST_COALESCE`]: a pass looks at all of them, so the cost of
    /// bringing up a pod does not grow with the job.
    pub coalesce_pod: Duration,
    /// Every job is looked at after this long, ±10 %: heals what a lost event hid.
    pub resync: Duration,
}

impl Default for Settings {
    /// 75 ms: below what a person sees, and some hundred pods' events; a quarter of a second for 1 000 workers, which
    /// take some ten times that to come up. 10 minutes.
    fn default() -> Self {
        Self {
            coalesce: Duration::from_millis(75),
            coalesce_pod: Duration::from_micros(150),
            resync: Duration::from_mins(10),
        }
    }
}

impl Settings {
    fn gathers(&self, pods: usize) -> Duration {
        let pods = u32::try_from(pods).unwrap_or(u32::MAX);
        self.coalesce_pod.saturating_mul(pods).saturating_add(self.coalesce).min(LONGEST_COALESCE)
    }
}

/// A start gate opens so much later at most.
const LONGEST_COALESCE: Duration = Duration::from_secs(1);

/// Smallest and largest delay after one and many failures.
const FAILED: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));
/// Likewise after conflicts: the watch needs some milliseconds to bring what was missing.
const CONFLICT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Likewise after refusals.
const REFUSED: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Look at this one. It is given to nobody else until [`Core::ended`].
    Job {
        /// Which.
        job: JobKey,
        /// How long it was due.
        waited: Duration,
    },
    /// Nothing before this time, unless something happens.
    At(Instant),
    /// Nothing, unless something happens.
    Idle,
}

/// Order among jobs that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// New or changed.
    Job,
    /// Its objects changed.
    Child,
    /// Retry or resync.
    Later,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    rank: Rank,
}

#[derive(Debug, Default)]
struct Entry {
    due: Option<Due>,
    running: bool,
    /// Wake-ups by objects wait until then.
    backoff: Option<Instant>,
    failures: u32,
    /// Heap items of older tickets are void.
    ticket: u64,
}

/// See the module.
pub struct Core {
    settings: Settings,
    entries: HashMap<JobKey, Entry>,
    /// By time: not due yet.
    waiting: BinaryHeap<Reverse<(Instant, u64, JobKey)>>,
    /// By rank, then time: due.
    ready: BinaryHeap<Reverse<(Rank, Instant, u64, JobKey)>>,
    tickets: u64,
}

impl Core {
    /// An empty queue.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            entries: HashMap::new(),
            waiting: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            tickets: 0,
        }
    }

    /// Look at this job, which has so many pods.
    pub fn wake(&mut self, job: &JobKey, cause: Cause, pods: usize, now: Instant) {
        let backoff = self.entries.get(job).and_then(|entry| entry.backoff);
        let due = match cause {
            Cause::Job => Due { at: now, rank: Rank::Job },
            Cause::Other => Due { at: now, rank: Rank::Child },
            Cause::Child => {
                let at = now + self.settings.gathers(pods);
                Due { at: backoff.map_or(at, |end| end.max(at)), rank: Rank::Child }
            }
        };
        self.set_due(job, due);
    }

    /// The next job, or when to ask again.
    pub fn next(&mut self, now: Instant) -> Next {
        self.promote(now);
        while let Some(Reverse((_, at, ticket, job))) = self.ready.pop() {
            let Some(entry) = self.entries.get_mut(&job) else { continue };
            // A job that is running has no ticket until it has ended.
            if entry.ticket != ticket {
                continue;
            }
            entry.running = true;
            entry.due = None;
            entry.backoff = None;
            return Next::Job { job, waited: now.saturating_duration_since(at) };
        }
        self.waiting.peek().map_or(Next::Idle, |Reverse((at, ..))| Next::At(*at))
    }

    /// A pass is over. `noise` is a random number for the jitter.
    pub fn ended(&mut self, job: &JobKey, how: Ended, now: Instant, noise: u32) {
        let Some(entry) = self.entries.get_mut(job) else { return };
        entry.running = false;
        let woken = entry.due.is_some();
        if how == Ended::Gone && !woken {
            self.entries.remove(job);
            return;
        }
        let delay = delay(how, entry.failures, self.settings.resync, noise);
        let failed = matches!(how, Ended::Conflict | Ended::Failed | Ended::Refused);
        entry.failures = if failed { entry.failures.saturating_add(1) } else { 0 };
        entry.backoff = failed.then(|| now + delay);
        let due = entry.due.take();
        match due {
            // A change of the job itself breaks the backoff; one of its objects waits for its end.
            Some(due) if failed && due.rank != Rank::Job => {
                self.set_due(job, Due { at: due.at.max(now + delay), ..due });
            }
            Some(due) => self.set_due(job, due),
            None => self.set_due(job, Due { at: now + delay, rank: Rank::Later }),
        }
    }

    /// Jobs that are due or running.
    pub fn depth(&self, now: Instant) -> usize {
        let counts = |entry: &&Entry| entry.running || entry.due.is_some_and(|due| due.at <= now);
        self.entries.values().filter(counts).count()
    }

    /// The earlier time and the higher rank win; during a pass it only takes note.
    fn set_due(&mut self, job: &JobKey, due: Due) {
        let entry = self.entries.entry(job.clone()).or_default();
        let merged = match entry.due {
            Some(old) if old.at <= due.at && old.rank <= due.rank => return,
            Some(old) => Due { at: old.at.min(due.at), rank: old.rank.min(due.rank) },
            None => due,
        };
        entry.due = Some(merged);
        if !entry.running {
            self.tickets += 1;
            entry.ticket = self.tickets;
            self.waiting.push(Reverse((merged.at, entry.ticket, job.clone())));
        }
    }

    /// Moves what has become due.
    fn promote(&mut self, now: Instant) {
        while self.waiting.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((at, ticket, job))) = self.waiting.pop() else { break };
            let Some(entry) = self.entries.get(&job) else { continue };
            if let (Some(due), true) = (entry.due, entry.ticket == ticket) {
                self.ready.push(Reverse((due.rank, at, ticket, job)));
            }
        }
    }
}

fn delay(how: Ended, failures: u32, resync: Duration, noise: u32) -> Duration {
    let fraction = f64::from(noise) / f64::from(u32::MAX);
    let growing = |(least, most): (Duration, Duration)| {
        let full = least.saturating_mul(1 << failures.min(16)).min(most);
        full.mul_f64(0.75 + fraction / 4.0)
    };
    match how {
        Ended::Well { wake } => {
            let resync = resync.mul_f64(0.9 + fraction / 5.0);
            wake.map_or(resync, |wake| wake.min(resync))
        }
        Ended::Conflict => growing(CONFLICT),
        Ended::Failed => growing(FAILED),
        Ended::Refused => growing(REFUSED),
        Ended::Gone => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
