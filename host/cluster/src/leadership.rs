//! Whether this process leads: asked before each write, kept up to date by the election.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

/// Whether this process leads, and for which time. Cheap to share.
#[derive(Clone, Debug)]
pub struct Leadership {
    state: Arc<Mutex<State>>,
    term: watch::Sender<Option<u64>>,
}

#[derive(Debug, Default)]
struct State {
    /// Terms that have begun.
    terms: u64,
    /// When the renewal that holds now was sent.
    renewed: Option<Instant>,
    /// Until when writes may begin.
    until: Option<Instant>,
}

impl Default for Leadership {
    fn default() -> Self {
        Self { state: Arc::default(), term: watch::Sender::new(None) }
    }
}

impl Leadership {
    /// Writes may begin now. Turns false by itself when a renewal fails to come, also if this process was stopped
    /// and goes on.
    pub fn leads(&self) -> bool {
        self.lock().may_write()
    }

    /// Writes of this term may begin now.
    pub fn leads_in(&self, term: u64) -> bool {
        let state = self.lock();
        state.terms == term && state.may_write()
    }

    /// The term, from taking the lease until it is lost: also while a renewal is late and nothing may be written.
    pub fn term(&self) -> Option<u64> {
        *self.term.borrow()
    }

    /// [`Leadership::term`] as it changes.
    pub fn subscribe(&self) -> watch::Receiver<Option<u64>> {
        self.term.subscribe()
    }

    /// False only for a holder that has not renewed for `longest` and has not even noticed.
    pub fn is_healthy(&self, longest: Duration) -> bool {
        self.lock().renewed.is_none_or(|renewed| renewed.elapsed() < longest)
    }

    /// The lease was renewed by a request sent then; it is valid for `deadline` from there.
    pub fn renewed(&self, sent: Instant, deadline: Duration) {
        let mut state = self.lock();
        if state.renewed.is_none() {
            state.terms += 1;
        }
        state.renewed = Some(sent);
        state.until = Some(sent + deadline);
        let term = Some(state.terms);
        drop(state);
        self.term.send_if_modified(|old| std::mem::replace(old, term) != term);
    }

    /// The lease is lost, or given back.
    pub fn lost(&self) {
        let mut state = self.lock();
        (state.renewed, state.until) = (None, None);
        drop(state);
        self.term.send_if_modified(|term| term.take().is_some());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_write(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }
}
