//! An API server in memory: raw JSON in a store with one counter of versions, the verbs that the operator and the simulated
//! controllers use, and watches. It has no clock and no network of its own: [`crate::network`] brings requests when it is
//! time, and tells watches when it is time.

pub mod ask;
pub mod kind;
pub mod patch;
pub mod path;
mod rules;
pub mod selector;
pub mod state;
pub mod status;
pub mod store;
pub mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use self::{
    ask::{Ask, Raw},
    state::{Answer, State},
    status::Refusal,
    store::{Change, Object},
    watch::Interest,
};

/// Learns of everything that happens, at the moment when it does, in the order in which it does.
pub trait Observer: Send + Sync {
    /// A request had its effect, or was refused. `who` sent it.
    fn asked(&self, who: &str, raw: &Raw, answer: &Answer) {
        let _ = (who, raw, answer);
    }

    /// Something was written. `who` wrote it.
    fn changed(&self, who: &str, change: &Change) {
        let _ = (who, change);
    }
}

/// What comes of a request.
pub enum Outcome {
    /// One answer.
    Whole(Answer),
    /// A watch, with what it is told at once.
    Watch(Box<Interest>, Vec<Value>),
}

/// Cheap to share.
#[derive(Clone)]
pub struct Server {
    state: Arc<Mutex<State>>,
    observers: Arc<Mutex<Vec<Arc<dyn Observer>>>>,
}

impl Server {
    /// Keeps so many changes of each kind for watches; uids follow from the seed.
    pub fn new(history: usize, now: Timestamp, seed: u64) -> Self {
        let state = Arc::new(Mutex::new(State::new(history, now, seed)));
        Self { state, observers: Arc::default() }
    }

    /// From now on this one learns of everything, after those that came before it.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner).push(observer);
    }

    /// From now on nobody learns of anything. Most of those who did hold on to the server itself.
    pub fn forget_observers(&self) {
        let observers = std::mem::take(&mut *self.observers.lock().unwrap_or_else(PoisonError::into_inner));
        drop(observers);
    }

    /// A request has its effect, now.
    pub fn request(&self, who: &str, now: Timestamp, raw: &Raw) -> Outcome {
        let Some(ask) = ask::read(raw) else { return Outcome::Whole(Err(status::not_served())) };
        if let Some((interest, watching)) = Interest::of(&ask) {
            let events = interest.since(&self.state().store, watching.version);
            return Outcome::Watch(Box::new(interest), events);
        }
        let answer = self.carry_out(who, now, &ask, Some(raw));
        Outcome::Whole(answer)
    }

    /// What the server itself, or whoever is inside of it, asks for.
    pub fn carry_out(&self, who: &str, now: Timestamp, ask: &Ask, raw: Option<&Raw>) -> Answer {
        let (answer, changes) = self.act(now, |state| state.carry_out(ask));
        if let Some(raw) = raw {
            for observer in self.observers() {
                observer.asked(who, raw, &answer);
            }
        }
        self.tell(who, &changes);
        answer
    }

    /// The scheduler's word on a pod, for which there is a request of its own.
    pub fn bind(&self, now: Timestamp, pod: &Object, node: &str) {
        let ((), changes) = self.act(now, |state| state.bind(pod, node));
        self.tell("scheduler", &changes);
    }

    /// The end of a namespace that is empty.
    pub fn finish_namespace(&self, now: Timestamp, namespace: &Object) {
        let name = store::text(namespace, "name");
        let (_, changes) = self.act(now, |state| state.store.remove(&kind::NAMESPACE, "", name));
        self.tell("namespace-controller", &changes);
    }

    fn act<T>(&self, now: Timestamp, act: impl FnOnce(&mut State) -> T) -> (T, Vec<Change>) {
        let mut state = self.state();
        state.now = now;
        let done = act(&mut state);
        (done, state.store.take_fresh())
    }

    /// Nothing is locked while they learn of it: some of them write.
    fn tell(&self, who: &str, changes: &[Change]) {
        let observers = self.observers();
        for change in changes {
            for observer in &observers {
                observer.changed(who, change);
            }
        }
    }

    fn observers(&self) -> Vec<Arc<dyn Observer>> {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The object as it is.
    pub fn get(&self, kind: &'static kind::Kind, namespace: &str, name: &str) -> Option<Object> {
        self.state().store.get(kind, namespace, name).cloned()
    }

    /// All objects of a kind, or those in one namespace.
    pub fn all(&self, kind: &'static kind::Kind, namespace: Option<&str>) -> Vec<Object> {
        self.state().store.list(kind, namespace).cloned().collect()
    }

    /// To look at, and for what no request can do: quotas, a server that forgets.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer in HTTP's terms.
pub fn rendered(answer: &Answer) -> (u16, Value) {
    match answer {
        Ok((code, body)) => (*code, body.clone()),
        Err(refusal) => (refusal.code, status::body(refusal)),
    }
}

/// A refusal's code, or none.
pub fn refused(answer: &Answer) -> Option<&Refusal> {
    answer.as_ref().err()
}
