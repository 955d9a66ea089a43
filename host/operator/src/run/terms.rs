//! Leading, term after term: what belongs to a term begins with it and ends with it, in order, so that a replica that lost
//! the lease in an outage leads again without being started anew.
//!
//! In: what this replica sees ([`Sight`]), and the lease ([`Leadership`]). Out: whether it is a candidate, and reconciles while it
//! leads.

use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use coxswain_model::{api::labels, status::Event};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{
    reconciles::Reconciles,
    sight::{Sight, words},
};
use crate::{metrics::ReconcileMetrics, options::Options, queue::Queue};
use coxswain_cluster::{events::Subject, leadership::Leadership, live::Live, wake::Cause};
use coxswain_plugins::Plugins;

/// How long reconciles may go on after this replica was told to end, or gives the lease up.
const GRACE: Duration = Duration::from_secs(10);

/// How long a replica that gave the lease up is no candidate, at first and at most: whoever keeps losing sight must not
/// keep taking the lease from those who do not.
const ABSTAINS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_mins(5));
/// A term after which that begins from the start.
const LONG_TERM: Duration = Duration::from_mins(10);

/// What is done in one term.
pub trait Work: Send + Sync {
    /// Begins the term; never returns before `grace` says how long what is under way may still take. Nothing of it goes on
    /// after that.
    fn lead(&self, term: u64, grace: watch::Receiver<Option<Duration>>) -> impl Future<Output = ()> + Send;
}

/// See the module.
pub struct Terms<W> {
    /// What is seen.
    pub sight: Sight,
    /// Of this process.
    pub leadership: Leadership,
    /// Whether to run for the lease, and to hold it.
    pub candidacy: watch::Sender<bool>,
    /// Done while leading.
    pub work: W,
}

/// How a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// Someone else leads, or nobody knows.
    Lost,
    /// Not all is seen any more: another replica may see better.
    Blind,
    /// Told to stop.
    Stopped,
}

impl<W: Work> Terms<W> {
    /// Runs until `stop` turns true.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut abstentions = 0;
        loop {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                () = self.sight.all() => {}
            }
            self.candidacy.send_replace(true);
            let mut terms = self.leadership.subscribe();
            let term = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                unsynced = self.sight.lost() => {
                    tracing::warn!(unsynced = words(&unsynced), "no candidate for the lease any more");
                    self.candidacy.send_replace(false);
                    continue;
                }
                Ok(term) = terms.wait_for(Option::is_some) => *term,
            };
            let Some(term) = term else { continue };
            let began = Instant::now();
            match self.term(term, &mut stop).await {
                Over::Stopped => return,
                Over::Lost => {}
                Over::Blind => {
                    abstentions = if began.elapsed() >= LONG_TERM { 0 } else { abstentions };
                    self.candidacy.send_replace(false);
                    tokio::select! {
                        biased;
                        _ = stop.wait_for(|stop| *stop) => return,
                        () = sleep(abstains(abstentions)) => {}
                    }
                    abstentions = abstentions.saturating_add(1);
                }
            }
        }
    }

    async fn term(&self, term: u64, stop: &mut watch::Receiver<bool>) -> Over {
        let (grace, given) = watch::channel(None);
        let mut work = pin!(self.work.lead(term, given));
        let mut terms = self.leadership.subscribe();
        let over = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => Over::Stopped,
            _ = terms.wait_for(|now| *now != Some(term)) => Over::Lost,
            unsynced = self.sight.lost() => {
                tracing::error!(unsynced = words(&unsynced), "giving the lease up: another replica may see more");
                Over::Blind
            }
            () = &mut work => return Over::Lost,
        };
        // Nothing more can be written once the lease is lost.
        grace.send_replace(Some(if over == Over::Lost { Duration::ZERO } else { GRACE }));
        work.await;
        over
    }
}

fn abstains(times: u32) -> Duration {
    let (first, longest) = ABSTAINS;
    first.saturating_mul(1 << times.min(16)).min(longest)
}

/// Reconciles, and what they need.
pub struct Leading {
    /// Of this process; each term has its own.
    pub live: Live,
    /// Taken over from the leader before.
    pub plugins: Arc<Plugins>,
    /// Empty between two terms.
    pub queue: Arc<Queue>,
    /// For [`Reconciles`].
    pub metrics: Arc<ReconcileMetrics>,
    /// For [`Reconciles`].
    pub options: Options,
    /// Of the candidate.
    pub identity: String,
}

impl Work for Leading {
    async fn lead(&self, term: u64, mut grace: watch::Receiver<Option<Duration>>) {
        let live = self.live.in_term(term);
        live.metrics.leads(true);
        self.emit("became leader");
        // Whatever was woken before this list was made is in it.
        self.queue.clear();
        let jobs: Vec<_> = live.index.read().jobs.jobs().cloned().collect();
        for job in &jobs {
            (live.wake)(job, Cause::Other);
        }
        let taken_over = tokio::select! {
            biased;
            Ok(_) = grace.wait_for(Option::is_some) => false,
            () = self.plugins.lead(term) => true,
        };
        if taken_over {
            let reconciles = self.reconciles(live.clone());
            reconciles.run(grace).await;
        }
        self.plugins.follow_only();
        self.queue.clear();
        live.metrics.leads(false);
        self.emit("stopped leading");
    }
}

impl Leading {
    fn reconciles(&self, live: Live) -> Reconciles {
        let (plugins, queue) = (Arc::clone(&self.plugins), Arc::clone(&self.queue));
        Reconciles::new(live, plugins, queue, Arc::clone(&self.metrics), &self.options)
    }

    fn emit(&self, what: &str) {
        let lease = Subject {
            api_version: "coordination.k8s.io/v1",
            kind: "Lease",
            namespace: self.options.lock_namespace.clone(),
            name: labels::OPERATOR_NAME.to_owned(),
            uid: String::new(),
            version: String::new(),
        };
        let message = format!("{} {what}", self.identity);
        let event = Event { warning: false, reason: "LeaderElection".to_owned(), message };
        self.live.events.emit_as(lease, event, labels::OPERATOR_NAME);
    }
}

#[cfg(test)]
mod tests;
