//! What else works in a cluster: the Job controller, kubelets, `EndpointSlice`s, the garbage collector, namespaces.
//!
//! Each [`Actor`] is a function of the server's state that is run some drawn time after something changed, and that writes
//! through the server's own verbs, so that versions, events and the observers' rules hold for it as for everybody. What it is
//! to look at stands on the agenda at most once; what changes meanwhile is seen then.

mod garbage;
pub mod inside;
mod job;
pub mod kubelet;
mod namespaces;
mod slices;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use self::{
    garbage::Garbage,
    inside::{Inside, has_ended, is_ending},
    job::Jobs,
    kubelet::{Ends, Kubelets},
    namespaces::Namespaces,
    slices::Slices,
};
use crate::{
    network::Network,
    server::{
        Observer,
        kind::Kind,
        store::{Change, text},
    },
};

/// What an actor is to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Plural and group of the kind.
    pub resource: String,
    /// Empty for what is in none.
    pub namespace: String,
    /// Of the object.
    pub name: String,
}

impl Key {
    /// Of an object.
    pub fn of(kind: &'static Kind, object: &serde_json::Value) -> Self {
        Self {
            resource: kind.resource(),
            namespace: text(object, "namespace").to_owned(),
            name: text(object, "name").to_owned(),
        }
    }
}

/// One of them.
pub trait Actor: Send + Sync {
    /// In the trace.
    fn name(&self) -> &'static str;
    /// How soon it looks at what has changed.
    fn delay(&self) -> (Duration, Duration);
    /// What it has to look at because of a change.
    fn wakes(&self, inside: &Inside, change: &Change) -> Vec<Key>;
    /// Looks at it, and writes. When to look again, if nothing else happens.
    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration>;
}

/// Lets an actor work from now on.
pub fn start(network: &Network, actor: impl Actor + 'static) {
    let inside = Inside::new(network.clone(), actor.name());
    let working = Working { actor: Arc::new(actor), inside, waiting: Arc::default() };
    network.server.observe(Arc::new(working));
}

#[derive(Clone)]
struct Working {
    actor: Arc<dyn Actor>,
    inside: Inside,
    waiting: Arc<Mutex<BTreeSet<Key>>>,
}

impl Working {
    fn enter(&self, key: Key, pause: Duration) {
        let is_new = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        if !is_new {
            return;
        }
        let this = self.clone();
        self.inside.network.agenda.after(pause, move || {
            this.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            if let Some(pause) = this.actor.look(&this.inside, &key) {
                this.enter_later(key, pause);
            }
        });
    }

    /// A time that has come does not stand in the way of what happens before.
    fn enter_later(&self, key: Key, pause: Duration) {
        let this = self.clone();
        self.inside.network.agenda.after(pause, move || this.enter(key, Duration::ZERO));
    }
}

impl Observer for Working {
    fn changed(&self, _: &str, change: &Change) {
        for key in self.actor.wakes(&self.inside, change) {
            let (least, most) = self.actor.delay();
            let purpose = [self.actor.name(), "delay", &key.resource, &key.namespace, &key.name];
            let pause = self.inside.network.dice.between(least, most, &purpose);
            self.enter(key, pause);
        }
    }
}
