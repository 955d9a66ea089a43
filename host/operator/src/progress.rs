//! Since when what may wait of jobs that come up has waited, so that it is written together
//! ([`coxswain_model::progress`]).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use coxswain_cluster::key::JobKey;

/// See the module. Holds the jobs of which something waits.
#[derive(Debug, Default)]
pub struct Progress(Mutex<HashMap<JobKey, Instant>>);

impl Progress {
    /// How long what may wait for `wait` in all still waits; nothing if it is to be written now. What has not waited
    /// yet begins to.
    pub fn left(&self, job: &JobKey, wait: Duration) -> Option<Duration> {
        let since = *self.lock().entry(job.clone()).or_insert_with(Instant::now);
        wait.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
    }

    /// Nothing of the job waits any more: it was written, or is no longer to be.
    pub fn forget(&self, job: &JobKey) {
        self.lock().remove(job);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobKey, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(300);

    #[tokio::test(start_paused = true)]
    async fn what_may_wait_waits_from_its_first_change_on_and_no_longer() {
        let (progress, job) = (Progress::default(), JobKey::new("n", "a"));
        tokio::time::advance(Duration::from_mins(1)).await;
        assert_eq!(progress.left(&job, WAIT), Some(WAIT), "also where nothing was written for long");
        tokio::time::advance(WAIT / 3).await;
        assert_eq!(progress.left(&job, WAIT), Some(WAIT * 2 / 3), "a second change waits with the first");
        tokio::time::advance(WAIT * 2 / 3).await;
        assert_eq!(progress.left(&job, WAIT), None);
        progress.forget(&job);
        assert!(progress.lock().is_empty());
        assert_eq!(progress.left(&job, WAIT), Some(WAIT));
    }
}
