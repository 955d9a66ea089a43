//! How many requests may be under way at once: found out, not configured.
//!
//! The API server protects itself and says when it has enough, so we ask for more until it does: the limit grows
//! by one per [`OKS_PER_RAISE`] answers and is halved on 429, 503, 504 and silence, whose `Retry-After` is obeyed.
//! Flows go in order (an event never goes before a pod), and within a flow jobs take turns, so that a job of 8
//! workers does not wait for one of 5 000. `--kube-api-qps` and `--kube-api-burst`, if set, bound the rate on top.
//!
//! The lease does not go through here: it has a client of its own.

use std::{
    collections::{HashMap, VecDeque},
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use super::rate::{Bucket, Rate};
use crate::metrics::Metrics;

/// Start, least and most: 64 in flight at 20 ms are 2 800 creates a second (measured), 256 are 9 600, more than
/// a scheduler takes; 4 keep the small things going on an overloaded server.
const START: usize = 64;
const LEAST: usize = 4;
const MOST: usize = 256;
/// Additive increase: one more per so many good answers.
const OKS_PER_RAISE: usize = 100;
/// One overload refuses all requests in flight; it is one reason to slow down, not two hundred.
const BETWEEN_CUTS: Duration = Duration::from_secs(1);
/// A server that asks for longer is asked again earlier; it can repeat itself.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Kinds of requests in the order in which they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Services, ConfigMaps, Secrets, `PodGroups`, Jobs, statuses: few, and others wait for them.
    Objects,
    /// Pods: many.
    Pods,
    /// Events: nobody waits for them.
    Events,
}

const FLOWS: usize = 3;

impl Flow {
    fn label(self) -> &'static str {
        match self {
            Self::Objects => "objects",
            Self::Pods => "pods",
            Self::Events => "events",
        }
    }
}

/// What an answer says about the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The server keeps up, whatever it answered.
    Fine,
    /// It does not.
    Overload {
        /// It asked to be left alone for so long.
        retry_after: Option<Duration>,
    },
}

/// See the module.
pub struct Pace {
    state: Mutex<State>,
    blocked: Notify,
    metrics: Arc<Metrics>,
}

/// The right to one request. Dropping it gives it back.
pub struct Permit {
    pace: Arc<Pace>,
    flow: Flow,
}

/// A turn that was granted but whose taker may have gone away: comes back by itself.
type Grant = oneshot::Sender<Permit>;

struct State {
    limit: usize,
    in_flight: usize,
    oks: usize,
    last_cut: Option<Instant>,
    paused: Option<Instant>,
    bucket: Option<Bucket>,
    waiting: [Turns; FLOWS],
}

/// Waiting requests of one flow, one queue a job, the jobs in a circle.
#[derive(Default)]
struct Turns {
    circle: VecDeque<Arc<str>>,
    queues: HashMap<Arc<str>, VecDeque<Grant>>,
}

impl Pace {
    /// At the starting limit; `rate` if the user set one.
    pub fn new(rate: Option<Rate>, metrics: Arc<Metrics>) -> Arc<Self> {
        let bucket = rate.map(|rate| Bucket::full(rate, Instant::now()));
        let state = State {
            limit: START,
            in_flight: 0,
            oks: 0,
            last_cut: None,
            paused: None,
            bucket,
            waiting: Default::default(),
        };
        Arc::new(Self { state: Mutex::new(state), blocked: Notify::new(), metrics })
    }

    /// Waits for a turn on behalf of `holder`.
    pub async fn turn(self: &Arc<Self>, flow: Flow, holder: &str) -> Permit {
        let turn = {
            let (grant, turn) = oneshot::channel();
            let mut state = self.lock();
            if let Some(turns) = state.waiting.get_mut(flow as usize) {
                turns.push(holder, grant);
            }
            turn
        };
        self.grant();
        match turn.await {
            Ok(permit) => permit,
            // The grant is kept in `waiting` until it is sent, and the pace outlives this call.
            Err(_) => pending().await,
        }
    }

    /// Lets requests go on after a pause or when the rate allows. Runs as long as the process.
    pub async fn run(self: Arc<Self>) {
        loop {
            self.blocked.notified().await;
            while let Some(until) = self.grant() {
                tokio::time::sleep_until(until).await;
            }
        }
    }

    /// How many requests may be under way.
    pub fn limit(&self) -> usize {
        self.lock().limit
    }

    /// Gives turns to those who wait, as far as possible. Returns when to try again, if time is what is missing.
    fn grant(self: &Arc<Self>) -> Option<Instant> {
        loop {
            let mut state = self.lock();
            if state.in_flight >= state.limit {
                return None;
            }
            let flow = [Flow::Objects, Flow::Pods, Flow::Events].into_iter().find(|flow| {
                state.waiting.get(*flow as usize).is_some_and(|turns| !turns.circle.is_empty())
            })?;
            if let Some(until) = state.blocked(Instant::now()) {
                drop(state);
                self.blocked.notify_one();
                return Some(until);
            }
            let Some(grant) = state.waiting.get_mut(flow as usize).and_then(Turns::pop) else { continue };
            if grant.is_closed() {
                continue;
            }
            state.in_flight += 1;
            state.spend();
            drop(state);
            self.metrics.in_flight(flow.label(), 1.0);
            // If the taker has gone away meanwhile, the permit drops here and gives its turn back.
            drop(grant.send(Permit { pace: Arc::clone(self), flow }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The request was answered.
    pub fn answered(self, answer: Answer) {
        self.pace.lock().answered(answer, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.pace.lock();
        state.in_flight = state.in_flight.saturating_sub(1);
        drop(state);
        self.pace.metrics.in_flight(self.flow.label(), -1.0);
        self.pace.grant();
    }
}

impl State {
    fn answered(&mut self, answer: Answer, now: Instant) {
        match answer {
            Answer::Fine => {
                self.oks += 1;
                if self.oks >= OKS_PER_RAISE {
                    self.oks = 0;
                    self.limit = (self.limit + 1).min(MOST);
                }
            }
            Answer::Overload { retry_after } => {
                self.oks = 0;
                if self.last_cut.is_none_or(|cut| now.saturating_duration_since(cut) >= BETWEEN_CUTS) {
                    self.last_cut = Some(now);
                    self.limit = (self.limit / 2).max(LEAST);
                }
                if let Some(pause) = retry_after {
                    let until = now + pause.min(LONGEST_PAUSE);
                    self.paused = Some(self.paused.map_or(until, |old| old.max(until)));
                }
            }
        }
    }

    /// Until when nothing may go, if so.
    fn blocked(&mut self, now: Instant) -> Option<Instant> {
        if let Some(until) = self.paused {
            if until > now {
                return Some(until);
            }
            self.paused = None;
        }
        self.bucket.as_mut().and_then(|bucket| bucket.empty_until(now))
    }

    fn spend(&mut self) {
        if let Some(bucket) = &mut self.bucket {
            bucket.spend();
        }
    }
}

impl Turns {
    fn push(&mut self, holder: &str, grant: Grant) {
        if let Some(queue) = self.queues.get_mut(holder) {
            queue.push_back(grant);
            return;
        }
        let holder: Arc<str> = holder.into();
        self.circle.push_back(Arc::clone(&holder));
        self.queues.insert(holder, VecDeque::from([grant]));
    }

    fn pop(&mut self) -> Option<Grant> {
        let holder = self.circle.pop_front()?;
        let queue = self.queues.get_mut(&holder)?;
        let grant = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&holder);
        } else {
            self.circle.push_back(holder);
        }
        grant
    }
}

#[cfg(test)]
mod tests;
