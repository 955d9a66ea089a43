//! How many requests may be under way at once: found out, not configured.
//!
//! The API server protects itself and says when it has enough, so we ask for more until it does: the limit grows
//! by one per [`OKS_PER_RAISE`] answers and is halved on 429, 503 and 504, whose `Retry-After` is obeyed, and when it
//! answers nobody. A write that is not answered while others are says something about its namespace alone (a
//! webhook that hangs), and only that namespace's [`shares`] shrink. Flows go in order (an event never goes before a
//! pod); within a flow namespaces take turns, and within a namespace its jobs ([`fair_queue`]). `--kube-api-qps` and
//! `--kube-api-burst`, if set, bound the rate on top.
//!
//! The lease does not go through here: it has a client of its own.

mod fair_queue;
mod flow;
mod shares;

use std::{
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

pub use self::flow::Flow;
use self::{
    fair_queue::FairQueue,
    flow::{FLOWS, MOST},
    shares::Shares,
};
use crate::{
    metrics::Metrics,
    rate::{Bucket, Rate},
};

/// Start, least and most: 64 in flight at 20 ms are 2 800 creates a second (measured), 256 are 9 600, more than
/// a scheduler takes; 4 keep the small things going on an overloaded server.
const START: usize = 64;
const LEAST: usize = 4;
/// Additive increase: one more per so many good answers.
const OKS_PER_RAISE: usize = 100;
/// One overload refuses all requests in flight; it is one reason to slow down, not two hundred.
const BETWEEN_CUTS: Duration = Duration::from_secs(1);
/// A server that asks for longer is asked again earlier; it can repeat itself.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    /// There was none in time, or it came late and was an error of the server's own.
    Silent {
        /// Webhooks do not see reads, so it is the server that is silent.
        read: bool,
    },
}

/// See the module.
pub struct ConcurrencyLimiter {
    state: Mutex<State>,
    blocked: Notify,
    metrics: Arc<Metrics>,
}

/// The right to one request. Dropping it gives it back.
pub struct Permit {
    limiter: Arc<ConcurrencyLimiter>,
    flow: Flow,
    namespace: Arc<str>,
    since: Instant,
}

struct State {
    limit: usize,
    in_flight: usize,
    oks: usize,
    last_cut: Option<Instant>,
    paused: Option<Instant>,
    bucket: Option<Bucket>,
    shares: Shares,
    waiting: [FairQueue<Permit>; FLOWS],
}

impl ConcurrencyLimiter {
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
            shares: Shares::default(),
            waiting: Default::default(),
        };
        Arc::new(Self { state: Mutex::new(state), blocked: Notify::new(), metrics })
    }

    /// Waits for a permit on behalf of `holder`: `namespace/name`.
    pub async fn acquire(self: &Arc<Self>, flow: Flow, holder: &str) -> Permit {
        let permit = {
            let (grant, permit) = oneshot::channel();
            let mut state = self.lock();
            if let Some(queue) = state.waiting.get_mut(flow as usize) {
                queue.push(holder, grant);
            }
            permit
        };
        self.grant();
        match permit.await {
            Ok(permit) => permit,
            // The grant is kept in `waiting` until it is sent, and the limiter outlives this call.
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

    /// Gives permits to those who wait, as far as possible. Returns when to try again, if time is what is missing.
    fn grant(self: &Arc<Self>) -> Option<Instant> {
        loop {
            let mut state = self.lock();
            let (flow, place) = state.first()?;
            let now = Instant::now();
            if let Some(until) = state.blocked(now) {
                drop(state);
                self.blocked.notify_one();
                return Some(until);
            }
            let Some((namespace, grant)) =
                state.waiting.get_mut(flow as usize).and_then(|queue| queue.take(place))
            else {
                continue;
            };
            if grant.is_closed() {
                continue;
            }
            state.in_flight += 1;
            state.shares.begin(flow, &namespace);
            state.spend();
            drop(state);
            self.metrics.in_flight(flow.label(), 1.0);
            // If the taker has gone away meanwhile, the permit drops here and gives its turn back.
            drop(grant.send(Permit { limiter: Arc::clone(self), flow, namespace, since: now }));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The request was answered, or not in time. One that was never sent says nothing: its permit is dropped.
    pub fn answered(self, answer: Answer) {
        self.limiter.lock().answered(&self, answer, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limiter.lock();
        state.in_flight = state.in_flight.saturating_sub(1);
        state.shares.end(self.flow, &self.namespace);
        drop(state);
        self.limiter.metrics.in_flight(self.flow.label(), -1.0);
        self.limiter.grant();
    }
}

impl State {
    /// Who goes next, if anyone may.
    fn first(&self) -> Option<(Flow, usize)> {
        // A third more than the limit, for namespaces beside the one that has used it up.
        let free = (self.limit + self.limit / 3).checked_sub(self.in_flight).filter(|free| *free > 0)?;
        [Flow::Objects, Flow::Pods, Flow::Events].into_iter().find_map(|flow| {
            let queue = self.waiting.get(flow as usize)?;
            queue.first(|namespace| self.shares.may(flow, namespace, free)).map(|place| (flow, place))
        })
    }

    fn answered(&mut self, permit: &Permit, answer: Answer, now: Instant) {
        let Permit { flow, namespace, since, .. } = permit;
        match answer {
            Answer::Fine => {
                self.shares.answered(*flow, namespace, now);
                self.oks += 1;
                if self.oks >= OKS_PER_RAISE {
                    self.oks = 0;
                    self.limit = (self.limit + 1).min(MOST);
                }
            }
            Answer::Overload { retry_after } => {
                self.cut(now);
                if let Some(pause) = retry_after {
                    let until = now + pause.min(LONGEST_PAUSE);
                    self.paused = Some(self.paused.map_or(until, |old| old.max(until)));
                }
            }
            Answer::Silent { read: true } => self.cut(now),
            Answer::Silent { read: false } => {
                if self.shares.silent(*flow, namespace, *since, now) {
                    self.cut(now);
                }
            }
        }
    }

    fn cut(&mut self, now: Instant) {
        self.oks = 0;
        if self.last_cut.is_none_or(|cut| now.saturating_duration_since(cut) >= BETWEEN_CUTS) {
            self.last_cut = Some(now);
            self.limit = (self.limit / 2).max(LEAST);
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

#[cfg(test)]
mod tests;
