//! How many reconciles go at once, and how many of them for one namespace. A reconcile of a large job takes several slots.
//!
//! A namespace may have [`TIMES_FREE`] times what is free, so that something is left for whoever comes; where its reconciles
//! hang, only a [`SHARE`] of all.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

/// One namespace alone gets three quarters, a second one as much of the rest.
const TIMES_FREE: usize = 3;

/// Of all, for a namespace with a reconcile that takes longer than [`LONG`].
const SHARE: usize = 4;

/// A reconcile is a few requests of some 20 ms each.
const LONG: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub struct Slots {
    all: usize,
    held: usize,
    /// Since when. As many as there are slots.
    namespaces: HashMap<Arc<str>, Vec<Instant>>,
}

impl Slots {
    /// So many.
    pub fn new(all: usize) -> Self {
        Self { all, held: 0, namespaces: HashMap::new() }
    }

    /// Whether a reconcile may begin for this namespace.
    pub fn has_room(&self, namespace: &str, now: Instant) -> bool {
        let free = self.all.saturating_sub(self.held);
        let Some(since) = self.namespaces.get(namespace) else { return free > 0 };
        let hangs = || since.iter().any(|since| now.saturating_duration_since(*since) >= LONG);
        let held = since.len();
        held < TIMES_FREE * free && (held < (self.all / SHARE).max(1) || !hangs())
    }

    /// A reconcile begins.
    pub fn begin(&mut self, namespace: &Arc<str>, now: Instant) {
        self.held += 1;
        self.namespaces.entry(Arc::clone(namespace)).or_default().push(now);
    }

    /// The reconcile that began at that time takes so many more: it is large. There may be less room than that.
    pub fn take_more(&mut self, namespace: &str, began: Instant, slots: usize) {
        if let Some(since) = self.namespaces.get_mut(namespace) {
            since.extend(std::iter::repeat_n(began, slots));
            self.held += slots;
        }
    }

    /// One that began at that time has ended. For a large reconcile to be called as often as it has slots.
    pub fn end(&mut self, namespace: &str, began: Instant) {
        let Some(since) = self.namespaces.get_mut(namespace) else { return };
        if let Some(place) = since.iter().position(|since| *since == began) {
            since.swap_remove(place);
            self.held = self.held.saturating_sub(1);
        }
        if since.is_empty() {
            self.namespaces.remove(namespace);
        }
    }
}
