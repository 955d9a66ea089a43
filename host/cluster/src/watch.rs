//! Watches: one per kind, with label selectors, folded into the [`super::index::Index`].
//!
//! In: the events of a kind. Out: the index, and a wake-up for each job of which anything changed that a reconcile
//! looks at. A kubelet's heartbeat changes nothing and wakes nobody.
//!
//! kube's own watcher decodes whole lists, so that one object that cannot be decoded hides all others for ever; it
//! begins a list anew at each page that fails, waits without a limit, and is stopped by an answer of 410. So the loop is
//! ours: [`cut`] takes bytes apart, [`course`] says what to ask for next, [`source`] asks, [`follow`] ties them
//! together, [`rows`] makes rows of what comes, and [`check`] compares them with the API server now and then.

mod check;
mod classes;
mod course;
mod cut;
mod follow;
mod message;
mod read;
mod rows;
mod source;

use std::sync::Arc;

use coxswain_model::desired::Gang;
use futures::future::BoxFuture;
use kube::Client;
use tokio::sync::watch;

pub use self::{
    check::Picture,
    cut::Cut,
    follow::{Folds, Follow},
    source::Source,
};
use self::{
    classes::{Classes, PRIORITY_CLASS},
    rows::{Rows, Target},
};
use crate::{
    events::Sink,
    index::Shared,
    kind::Watched,
    kinds::{self, Visit},
    last_activity::LastActivity,
    leadership::Leadership,
    metrics::Metrics,
    wake::Wake,
};

/// Where watches report to.
#[derive(Clone)]
pub struct Watches {
    /// Folded into.
    pub index: Shared,
    /// Notified which job to look at.
    pub wake: Wake,
    /// Counts events.
    pub metrics: Arc<Metrics>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Notified of signs of life.
    pub last_activity: LastActivity,
    /// Reports to the owners of objects that are set aside.
    pub events: Sink,
    /// The leader reports them.
    pub leadership: Leadership,
}

impl Watches {
    fn target(&self) -> Target {
        let (wake, metrics) = (Arc::clone(&self.wake), Arc::clone(&self.metrics));
        Target { index: self.index.clone(), wake, metrics }
    }

    /// The watch of every kind, each to be run until the process ends, with what says that it has listed all.
    pub fn all(&self, client: &Client, gang: &Gang) -> Vec<Watching> {
        struct Start<'a>(&'a Watches, &'a Client, Vec<Watching>);
        impl Visit for Start<'_> {
            fn visit<K: Watched>(&mut self) {
                let Self(watches, client, started) = self;
                let source =
                    Source::of((*client).clone(), &K::FACTS, watches.namespace.as_deref(), K::selector());
                started.push(watches.follow(K::FACTS.kind, source, Rows::<K>::new(watches.target())));
            }
        }
        let mut start = Start(self, client, Vec::new());
        kinds::watched(gang, &mut start);
        if *gang != Gang::Off {
            let source = Source::of(client.clone(), &PRIORITY_CLASS, None, None);
            let classes = Classes::new(self.index.clone());
            start.2.push(self.follow(PRIORITY_CLASS.kind, source, classes));
        }
        start.2
    }

    /// Reports to the owners of what was set aside, and how long each watch has been silent. To be called every second.
    pub fn report(&self) {
        for (kind, age) in self.last_activity.ages() {
            self.metrics.watches().age(kind, age);
        }
        let (unreported, counts) = {
            let mut index = self.index.write();
            let unreported = if self.leadership.leads() { index.aside.unreported() } else { Vec::new() };
            (unreported, index.aside.counts())
        };
        for (subject, event) in unreported {
            self.events.emit(subject, event);
        }
        for (kind, _) in self.last_activity.ages() {
            self.metrics.watches().are_aside(kind, counts.get(kind).copied().unwrap_or_default());
        }
    }

    fn follow(&self, kind: &'static str, source: Source, folds: impl Folds + 'static) -> Watching {
        self.metrics.watches().begin(kind);
        let (synced, listed) = watch::channel(false);
        let (last_activity, metrics) = (self.last_activity.clone(), Arc::clone(&self.metrics));
        let task = Follow { kind, source, folds, synced, last_activity, metrics }.run();
        Watching { kind, listed, task: Box::pin(task) }
    }
}

/// The watch of a kind.
pub struct Watching {
    /// `kind`.
    pub kind: &'static str,
    /// True once it has listed all.
    pub listed: watch::Receiver<bool>,
    /// Never ends.
    pub task: BoxFuture<'static, ()>,
}

#[cfg(test)]
mod tests;
