//! The work queue: which job to look at next. A pure core that is told the time ([`core::Core`]) and a thin
//! shell that waits.
//!
//! Per job at most one entry and at most one reconcile at a time. Namespaces take turns; within one, new and changed jobs go
//! before jobs whose pods ticked or whose time has come, those before the slow resync, and none of them for long.

pub mod core;
pub mod delay;
mod line;
mod slots;

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::Notify, time::Instant};

use self::core::{Core, Next};
pub use self::core::{Ended, Settings};
use coxswain_cluster::{key::JobKey, wake::Cause, world};

use crate::metrics::ReconcileMetrics;

/// The shell. Cheap to share.
pub struct Queue {
    core: Mutex<Core>,
    changed: Notify,
    metrics: Arc<ReconcileMetrics>,
}

impl Queue {
    /// An empty queue.
    pub fn new(settings: Settings, metrics: Arc<ReconcileMetrics>) -> Self {
        Self { core: Mutex::new(Core::new(settings)), changed: Notify::new(), metrics }
    }

    /// Look at this job, which has so many pods.
    pub fn wake(&self, job: &JobKey, cause: Cause, pods: usize) {
        self.lock().wake(job, cause, pods, Instant::now());
        self.changed.notify_one();
    }

    /// Forgets everything, as at the beginning and at the end of a term. No reconcile may be under way.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Waits for a job to look at, and a slot to do it in. For one caller at a time; each job given out must come back
    /// through [`Queue::ended`]. The flag says that the job is new or was changed.
    pub async fn next(&self) -> (JobKey, bool) {
        loop {
            let changed = pin!(self.changed.notified());
            let next = self.lock().next(Instant::now());
            match next {
                Next::Job { job, waited, changed } => {
                    self.metrics.queue_waited(waited);
                    return (job, changed);
                }
                Next::At(time) => {
                    let _ = tokio::time::timeout_at(time, changed).await;
                }
                Next::Idle => changed.await,
            }
        }
    }

    /// The reconcile of this job takes so many slots: it is large.
    pub fn takes(&self, job: &JobKey, slots: usize) {
        self.lock().takes(job, slots);
    }

    /// A reconcile of this job is over.
    pub fn ended(&self, job: &JobKey, how: Ended) {
        self.lock().ended(job, how, Instant::now(), world::random());
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
