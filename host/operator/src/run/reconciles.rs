//! Runs reconciles: takes jobs off the queue and reports to it how each reconcile ended.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};
use tracing::Instrument;

use crate::{
    metrics::ReconcileMetrics,
    options::Options,
    progress::Progress,
    queue::{Ended, Queue},
    reconcile::{self, Context, Unfinished},
    retries::Retries,
};
use coxswain_cluster::{
    key::JobKey,
    live::Live,
    rate::{Bucket, Rate},
    world::held,
};
use coxswain_plugins::Plugins;

/// Jobs rendered at once: as many as keep the cores busy.
const RENDERING: usize = 8;

/// Bytes of a decoded job for each slot of the queue that its reconcile takes, and the most slots: 64 reconciles of the largest
/// jobs that can be decoded would take a GiB.
const SLOT: usize = 1 << 20;
const MOST_SLOTS: usize = 16;

/// See the module.
pub struct Reconciles {
    live: Live,
    context: Context,
    queue: Arc<Queue>,
    metrics: Arc<ReconcileMetrics>,
    rate: Option<Rate>,
}

impl Reconciles {
    /// As the options say.
    pub fn new(
        live: Live,
        plugins: Arc<Plugins>,
        queue: Arc<Queue>,
        metrics: Arc<ReconcileMetrics>,
        options: &Options,
    ) -> Self {
        let context = Context {
            cluster: live.clone(),
            plugins,
            rendering: Semaphore::new(RENDERING),
            progress: Progress::default(),
            retries: Retries::default(),
            gang: options.gang.clone(),
            cluster_domain: options.rules.cluster_domain.clone(),
            lost_worker: options.lost_worker,
        };
        Self { live, context, queue, metrics, rate: options.reconcile_rate }
    }

    /// Runs reconciles until `grace` says how long those under way may go on; after that they are cut off.
    pub async fn run(self, mut grace: watch::Receiver<Option<Duration>>) {
        let mut bucket = self.rate.map(|rate| Bucket::full(rate, Instant::now()));
        let this = Arc::new(self);
        let mut running = JoinSet::new();
        loop {
            let turn = async {
                while let Some(until) = bucket.as_mut().and_then(|bucket| bucket.empty_until(Instant::now()))
                {
                    tokio::time::sleep_until(until).await;
                }
                this.queue.next().await
            };
            let (job, changed) = tokio::select! {
                biased;
                Ok(_) = grace.wait_for(Option::is_some) => break,
                // What has ended is released at once: after a start that is a reconcile of every job.
                Some(_) = running.join_next() => continue,
                turn = turn => turn,
            };
            if let Some(bucket) = &mut bucket {
                bucket.spend();
            }
            let slots = 1 + this.live.index.decoded(&job) / SLOT;
            this.queue.takes(&job, slots.min(MOST_SLOTS));
            let this = Arc::clone(&this);
            running.spawn(held(async move {
                if changed {
                    this.context.retries.forget(&job);
                }
                let ended = this.reconcile(&job).await;
                this.queue.ended(&job, ended);
            }));
        }
        let grace = (*grace.borrow()).unwrap_or_default();
        let finish = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, finish).await.is_err() {
            tracing::warn!(reconciles = running.len(), "cut off: not finished in time");
        }
        running.shutdown().await;
    }

    /// One reconcile, with its panics caught: a bug costs one job's reconcile, not the operator.
    async fn reconcile(&self, job: &JobKey) -> Ended {
        let start = Instant::now();
        let Some(observed) = self.live.job(job) else {
            self.live.metrics.job_gone(job);
            self.live.claimed.forget(job);
            self.context.progress.forget(job);
            self.context.retries.forget(job);
            return Ended::Gone;
        };
        let span = tracing::info_span!(
            "reconcile",
            namespace = &*job.namespace,
            name = &*job.name,
            uid = observed.metadata.uid
        );
        let reconcile = AssertUnwindSafe(reconcile::run(&self.context, job, &observed))
            .catch_unwind()
            .instrument(span.clone());
        let (outcome, ended) = match reconcile.await {
            Ok(Ok(ended)) => ("ok", ended),
            Ok(Err(failed)) => {
                let Unfinished { failed, ended } = failed;
                span.in_scope(
                    || tracing::warn!(reason = ?failed.reason, error = %failed, "reconcile failed"),
                );
                ("failed", ended)
            }
            Err(_) => {
                self.metrics.reconcile_panicked();
                span.in_scope(|| tracing::error!("reconcile panicked; this is a bug"));
                ("panicked", Ended::Failed)
            }
        };
        self.metrics.reconcile_finished(outcome, start.elapsed());
        ended
    }
}

#[cfg(test)]
mod tests;
