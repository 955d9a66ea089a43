//! What is not done for some pods, for now: the controllers ask here. Cheap to share.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::plan::{Held, Hold};

/// How soon what is held is looked at again.
pub const AGAIN: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Clone, Default)]
pub struct Holds(Arc<Mutex<BTreeSet<Hold>>>);

impl Holds {
    /// From now on.
    pub fn hold(&self, hold: Hold) {
        self.lock().insert(hold);
    }

    /// No more.
    pub fn release(&self, hold: &Hold) {
        self.lock().remove(hold);
    }

    /// This is not done for the pod of this name.
    pub fn is_held(&self, what: Held, name: &str) -> bool {
        self.lock().iter().any(|hold| hold.what == what && is_called(name, &hold.pod))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Hold>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `pi-launcher` calls `pi-launcher-x7k2p`, and `pi-worker-1` calls itself and not `pi-worker-10`.
pub fn is_called(name: &str, by: &str) -> bool {
    name.strip_prefix(by).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
