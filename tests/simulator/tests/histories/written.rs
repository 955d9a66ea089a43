//! Every write to the simulated cluster, with its time.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use coxswain_simulator::server::{
    Observer,
    store::{Change, text},
};
use tokio::time::Instant;

/// See the module.
pub struct Changes {
    began: Instant,
    all: Mutex<Vec<Written>>,
}

impl Changes {
    /// Of a cluster that begins now.
    pub fn new() -> Self {
        Self { began: Instant::now(), all: Mutex::default() }
    }

    /// Since the cluster began.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// In their order.
    pub fn all(&self) -> Vec<Written> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One write.
#[derive(Clone)]
pub struct Written {
    /// Since the cluster began.
    pub at: Duration,
    /// Who wrote.
    pub who: String,
    /// What it was before, and is now.
    pub change: Change,
}

impl Observer for Changes {
    fn changed(&self, who: &str, change: &Change) {
        let written = Written { at: self.now(), who: who.to_owned(), change: change.clone() };
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(written);
    }
}

impl Written {
    pub fn is_new(&self) -> bool {
        self.change.before.is_none()
    }

    pub fn name(&self) -> &str {
        text(self.change.object(), "name")
    }

    /// `Pod pi-worker-0`.
    pub fn brief(&self) -> String {
        format!("{} {}", self.change.kind.kind, self.name())
    }

    pub fn is(&self, kind: &str, called: &str) -> bool {
        self.change.kind.kind == kind && self.name().starts_with(called)
    }
}
