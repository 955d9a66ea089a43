//! The queue's decisions, as a function of what it is told and of the time it is told.
//!
//! In: wake-ups, ends of reconciles, the time. Out: the next job, or when to ask again. Who goes first among those that are
//! due is decided in [`super::line`], how many of one namespace go at once in [`super::slots`].

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    delay::{self, CONFLICT, FAILED, REFUSED},
    line::{Due, Line, Rank, Ticket},
    slots::Slots,
};
use coxswain_cluster::{key::JobKey, wake::Cause};

/// How a reconcile ended.
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
    /// And so much longer for each of its pods, up to [`LONGEST_COALESCE`]: a reconcile looks at all of them, so the cost of
    /// bringing up a pod does not grow with the job.
    pub coalesce_pod: Duration,
    /// Every job is looked at after this long, ±10 %: heals what a lost event hid.
    pub resync: Duration,
    /// Reconciles at once. They wait for the API server most of the time; the limiter, not this, bounds requests.
    pub at_once: usize,
}

impl Default for Settings {
    /// 75 ms: below what a person sees, and some hundred pods' events; a quarter of a second for 1 000 workers, which
    /// take some ten times that to come up. 10 minutes. 64 reconciles.
    fn default() -> Self {
        Self {
            coalesce: Duration::from_millis(75),
            coalesce_pod: Duration::from_micros(150),
            resync: Duration::from_mins(10),
            at_once: 64,
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

/// What changed is looked at this soon also where the last reconcile failed: an end of the job that nobody looks at is not
/// told, whatever it is that cannot be written.
pub const FLOOR: Duration = Duration::from_secs(1);

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Look at this one. It is given to nobody else until [`Core::ended`].
    Job {
        /// Which.
        job: JobKey,
        /// How long it was due.
        waited: Duration,
        /// It is new or its user has changed it: what failed before may succeed now.
        changed: bool,
    },
    /// Nothing before this time, unless something happens.
    At(Instant),
    /// Nothing, unless something happens.
    Idle,
}

#[derive(Debug, Default)]
struct Entry {
    due: Option<Due>,
    place: Option<Place>,
    /// Since when a reconcile looks at it.
    running: Option<Instant>,
    /// Slots that the reconcile has beyond the first one.
    more_slots: usize,
    /// Wake-ups by objects wait until then.
    floor: Option<Instant>,
    failures: u32,
}

/// Where a job stands that is to be looked at.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// By time, and then by number: not due yet.
    Waiting(Instant, u64),
    /// Due.
    Line(Ticket),
}

/// See the module.
pub struct Core {
    settings: Settings,
    entries: HashMap<JobKey, Entry>,
    waiting: BTreeMap<(Instant, u64), JobKey>,
    line: Line,
    slots: Slots,
    numbers: u64,
}

impl Core {
    /// An empty queue.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            entries: HashMap::new(),
            waiting: BTreeMap::new(),
            line: Line::default(),
            slots: Slots::new(settings.at_once),
            numbers: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.settings);
    }

    /// Look at this job, which has so many pods.
    pub fn wake(&mut self, job: &JobKey, cause: Cause, pods: usize, now: Instant) {
        let floor = self.entries.get(job).and_then(|entry| entry.floor);
        let due = match cause {
            Cause::Job => Due { at: now, rank: Rank::Job },
            Cause::Other => Due { at: now, rank: Rank::Child },
            Cause::Child => {
                let at = now + self.settings.gathers(pods);
                Due { at: floor.map_or(at, |floor| floor.max(at)), rank: Rank::Child }
            }
        };
        self.set_due(job, due);
    }

    /// The next job, or when to ask again.
    pub fn next(&mut self, now: Instant) -> Next {
        self.promote(now);
        let slots = &self.slots;
        if let Some((job, due)) = self.line.pop(now, |namespace| slots.has_room(namespace, now)) {
            self.slots.begin(&job.namespace, now);
            let entry = self.entries.entry(job.clone()).or_default();
            *entry = Entry { running: Some(now), failures: entry.failures, ..Entry::default() };
            let waited = now.saturating_duration_since(due.at);
            return Next::Job { job, waited, changed: due.rank == Rank::Job };
        }
        self.waiting.first_key_value().map_or(Next::Idle, |((at, _), _)| Next::At(*at))
    }

    /// The reconcile of this job takes so many slots: it is large.
    pub fn takes(&mut self, job: &JobKey, slots: usize) {
        let Some(entry) = self.entries.get_mut(job) else { return };
        if let Some(since) = entry.running.filter(|_| entry.more_slots == 0) {
            entry.more_slots = slots.saturating_sub(1);
            self.slots.take_more(&job.namespace, since, entry.more_slots);
        }
    }

    /// A reconcile is over. `noise` is a random number for the jitter.
    pub fn ended(&mut self, job: &JobKey, how: Ended, now: Instant, noise: u32) {
        let Some(entry) = self.entries.get_mut(job) else { return };
        if let Some(since) = entry.running.take() {
            for _ in 0..=std::mem::take(&mut entry.more_slots) {
                self.slots.end(&job.namespace, since);
            }
        }
        let due = entry.due.take();
        if how == Ended::Gone && due.is_none() {
            self.entries.remove(job);
            return;
        }
        let (delay, rank) = self.settings.again(how, entry.failures, noise);
        let failed = matches!(how, Ended::Conflict | Ended::Failed | Ended::Refused);
        entry.failures = if failed { entry.failures.saturating_add(1) } else { 0 };
        let floor = now + delay.min(FLOOR);
        entry.floor = failed.then_some(floor);
        match due {
            // A change of the job itself may be the repair.
            Some(due) if failed && due.rank != Rank::Job => {
                self.set_due(job, Due { at: due.at.max(floor), ..due });
            }
            Some(due) => self.set_due(job, due),
            None => self.set_due(job, Due { at: now + delay, rank }),
        }
    }

    /// Jobs that are due or running.
    pub fn depth(&self, now: Instant) -> usize {
        let counts = |entry: &&Entry| entry.running.is_some() || entry.due.is_some_and(|due| due.at <= now);
        self.entries.values().filter(counts).count()
    }

    /// The earlier time and the higher rank win; during a reconcile it only takes note.
    fn set_due(&mut self, job: &JobKey, due: Due) {
        let entry = self.entries.entry(job.clone()).or_default();
        let merged = match entry.due {
            Some(old) if old.at <= due.at && old.rank <= due.rank => return,
            Some(old) => Due { at: old.at.min(due.at), rank: old.rank.min(due.rank) },
            None => due,
        };
        entry.due = Some(merged);
        if entry.running.is_some() {
            return;
        }
        match entry.place {
            Some(Place::Waiting(at, number)) => drop(self.waiting.remove(&(at, number))),
            Some(Place::Line(ticket)) => self.line.remove(job, ticket),
            None => {}
        }
        self.numbers += 1;
        entry.place = Some(Place::Waiting(merged.at, self.numbers));
        self.waiting.insert((merged.at, self.numbers), job.clone());
    }

    /// Moves what has become due.
    fn promote(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let ((_, number), job) = first.remove_entry();
            let Some(entry) = self.entries.get_mut(&job) else { continue };
            let Some(due) = entry.due else { continue };
            entry.place = Some(Place::Line(self.line.push(job, due, number)));
        }
    }
}

impl Settings {
    /// When to look again after a reconcile that ended so, and how that stands in line.
    fn again(&self, how: Ended, failures: u32, noise: u32) -> (Duration, Rank) {
        match how {
            Ended::Well { wake } => {
                let resync = delay::about(self.resync, noise);
                wake.filter(|wake| *wake < resync).map_or((resync, Rank::Resync), |wake| (wake, Rank::Time))
            }
            Ended::Conflict => (delay::growing(CONFLICT, failures, noise), Rank::Time),
            Ended::Failed => (delay::growing(FAILED, failures, noise), Rank::Time),
            Ended::Refused => (delay::growing(REFUSED, failures, noise), Rank::Time),
            Ended::Gone => (Duration::ZERO, Rank::Time),
        }
    }
}

#[cfg(test)]
mod tests;
