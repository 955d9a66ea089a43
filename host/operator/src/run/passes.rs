//! Runs passes: takes jobs off the queue and tells it how each pass ended.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};
use tracing::Instrument;

use crate::{
    cluster::{
        Cluster,
        key::JobKey,
        live::Live,
        rate::{Bucket, Rate},
    },
    flags::Flags,
    plugins::Plugins,
    progress::Progress,
    queue::{Ended, Queue},
    reconcile::{self, Context},
};

/// Passes at once where `--threadiness` is unset. They wait for the API server most of the time; the pace, not
/// this, bounds requests.
const PASSES: usize = 64;

/// Jobs thought about at once: as many as keep the cores busy.
const THOUGHTS: usize = 8;

/// How long passes may go on after the process was told to end.
const GRACE: Duration = Duration::from_secs(10);

/// See the module.
pub struct Passes {
    live: Live,
    context: Context<Live>,
    queue: Arc<Queue>,
    at_once: usize,
    rate: Option<Rate>,
}

impl Passes {
    /// As the flags say.
    pub fn new(live: Live, plugins: Arc<Plugins>, queue: Arc<Queue>, flags: &Flags) -> Self {
        let at_once = flags.threadiness.unwrap_or(PASSES);
        let context = Context {
            cluster: live.clone(),
            plugins,
            thoughts: Semaphore::new(THOUGHTS),
            progress: Progress::default(),
            gang: flags.gang(),
            cluster_domain: flags.domain().map(Into::into),
        };
        Self { live, context, queue, at_once, rate: flags.pass_rate() }
    }

    /// Runs passes until it is told to stop, then waits for those under way.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.at_once));
        let mut bucket = self.rate.map(|rate| Bucket::full(rate, Instant::now()));
        let this = Arc::new(self);
        let mut running = JoinSet::new();
        loop {
            let turn = async {
                let permit = Arc::clone(&permits).acquire_owned().await;
                while let Some(until) = bucket.as_mut().and_then(|bucket| bucket.empty_until(Instant::now()))
                {
                    tokio::time::sleep_until(until).await;
                }
                (permit, this.queue.next().await)
            };
            let (permit, job) = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                // What has ended is let go of at once: after a start that is a pass over every job.
                Some(_) = running.join_next() => continue,
                turn = turn => turn,
            };
            if let Some(bucket) = &mut bucket {
                bucket.spend();
            }
            let this = Arc::clone(&this);
            running.spawn(async move {
                let ended = this.pass(&job).await;
                this.queue.ended(&job, ended);
                drop(permit);
            });
        }
        if tokio::time::timeout(GRACE, running.join_all()).await.is_err() {
            tracing::warn!("passes did not finish in time");
        }
    }

    /// One pass, with its panics caught: a bug costs one job's pass, not the operator.
    async fn pass(&self, job: &JobKey) -> Ended {
        let start = Instant::now();
        let Some(seen) = self.live.job(job) else {
            self.live.metrics.job_gone(job);
            self.live.claimed.forget(job);
            self.context.progress.forget(job);
            return Ended::Gone;
        };
        let span = tracing::info_span!(
            "pass",
            namespace = &*job.namespace,
            name = &*job.name,
            uid = seen.metadata.uid
        );
        let pass =
            AssertUnwindSafe(reconcile::pass(&self.context, job)).catch_unwind().instrument(span.clone());
        let (outcome, ended) = match pass.await {
            Ok(Ok(ended)) => ("ok", ended),
            Ok(Err(failed)) => {
                span.in_scope(|| tracing::warn!(reason = ?failed.reason, error = %failed, "pass failed"));
                ("failed", failed.ended())
            }
            Err(_) => {
                self.live.metrics.pass_panicked();
                span.in_scope(|| tracing::error!("pass panicked; this is a bug"));
                ("panicked", Ended::Failed)
            }
        };
        self.live.metrics.pass_finished(outcome, start.elapsed());
        ended
    }
}
