//! Jobs that are due, in the order in which they go.
//!
//! Namespaces take turns; within one, what is urgent goes first. How long something stands behind what is more urgent is
//! bounded by its rank's patience: from then on it is overdue and goes before all that came later.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use coxswain_cluster::key::JobKey;

/// Why a job is due, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// New or changed.
    Job,
    /// Its objects changed.
    Child,
    /// A time has come: a gate's, a deadline's, a retry's.
    Time,
    /// Nothing has happened for long.
    Resync,
}

/// When and why.
#[derive(Clone, Copy, Debug)]
pub struct Due {
    /// From then on.
    pub at: Instant,
    /// How urgently.
    pub rank: Rank,
}

/// Where a job stands in its namespace: by the end of its patience, then by its number.
pub type Ticket = (Instant, u64);

/// See the module.
#[derive(Debug, Default)]
pub struct Line {
    namespaces: HashMap<Arc<str>, Waiting>,
    turns: u64,
}

#[derive(Debug)]
struct Waiting {
    jobs: BTreeMap<Ticket, (JobKey, Due)>,
    /// Of its last job that went; the lowest goes next.
    turn: u64,
}

impl Rank {
    fn patience(self) -> Duration {
        match self {
            Self::Job => Duration::ZERO,
            Self::Child | Self::Time => Duration::from_secs(1),
            Self::Resync => Duration::from_secs(30),
        }
    }
}

impl Line {
    /// Puts a job in line. `number` tells apart what is equally urgent.
    pub fn push(&mut self, job: JobKey, due: Due, number: u64) -> Ticket {
        let ticket = (due.at + due.rank.patience(), number);
        // Who comes newly waits for one round, or a namespace with one job at a time would always be first.
        let turns = &mut self.turns;
        let waiting = self.namespaces.entry(Arc::clone(&job.namespace)).or_insert_with(|| {
            *turns += 1;
            Waiting { jobs: BTreeMap::new(), turn: *turns }
        });
        waiting.jobs.insert(ticket, (job, due));
        ticket
    }

    /// Takes a job out of line.
    pub fn remove(&mut self, job: &JobKey, ticket: Ticket) {
        if let Some(waiting) = self.namespaces.get_mut(&job.namespace) {
            waiting.jobs.remove(&ticket);
            if waiting.jobs.is_empty() {
                self.namespaces.remove(&job.namespace);
            }
        }
    }

    /// The next job of a namespace that has room. Looks at each namespace that has jobs in line: hundreds at most.
    pub fn pop(&mut self, now: Instant, has_room: impl Fn(&str) -> bool) -> Option<(JobKey, Due)> {
        let heads = self.namespaces.iter().filter_map(|(namespace, waiting)| {
            let (ticket, (_, due)) = waiting.jobs.first_key_value()?;
            let class = if ticket.0 <= now { 0 } else { 1 + u8::from(due.rank == Rank::Resync) };
            has_room(namespace).then_some(((class, waiting.turn), namespace))
        });
        let namespace = Arc::clone(heads.min_by_key(|(order, _)| *order)?.1);
        let waiting = self.namespaces.get_mut(&namespace)?;
        let (_, next) = waiting.jobs.pop_first()?;
        self.turns += 1;
        waiting.turn = self.turns;
        if waiting.jobs.is_empty() {
            self.namespaces.remove(&namespace);
        }
        Some(next)
    }
}
