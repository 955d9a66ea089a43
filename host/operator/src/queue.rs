//! The work queue: which job to look at next. A pure core that is told the time ([`core::Core`]) and a thin
//! shell that waits.
//!
//! Per job at most one entry and at most one pass at a time. New and changed jobs go before jobs whose pods
//! ticked, those before retries and the slow resync.

pub mod core;

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::Notify, time::Instant};

pub use self::core::{Cause, Ended, Settings};
use self::core::{Core, Next};
use crate::{cluster::key::JobKey, metrics::Metrics};

/// The shell. Cheap to share.
pub struct Queue {
    core: Mutex<Core>,
    changed: Notify,
    metrics: Arc<Metrics>,
}

impl Queue {
    /// An empty queue.
    pub fn new(settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { core: Mutex::new(Core::new(settings)), changed: Notify::new(), metrics }
    }

    /// Look at this job, which has so many pods.
    pub fn wake(&self, job: &JobKey, cause: Cause, pods: usize) {
        self.lock().wake(job, cause, pods, Instant::now());
        self.changed.notify_one();
    }

    /// Waits for a job to look at. For one caller at a time; each job given out must come back through
    /// [`Queue::ended`].
    pub async fn next(&self) -> JobKey {
        loop {
            let changed = pin!(self.changed.notified());
            let next = self.lock().next(Instant::now());
            match next {
                Next::Job { job, waited } => {
                    self.metrics.queue_waited(waited);
                    return job;
                }
                Next::At(time) => {
                    let _ = tokio::time::timeout_at(time, changed).await;
                }
                Next::Idle => changed.await,
            }
        }
    }

    /// A pass over this job is over.
    pub fn ended(&self, job: &JobKey, how: Ended) {
        self.lock().ended(job, how, Instant::now(), rand::random());
        self.changed.notify_one();
    }

    /// Jobs that are due or running.
    pub fn depth(&self) -> usize {
        self.lock().depth(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
