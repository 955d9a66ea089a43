//! When jobs that come up were last written to, so that what may wait is written together
//! ([`coxswain_model::progress`]).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use coxswain_model::progress::WAIT;
use tokio::time::Instant;

use crate::cluster::key::JobKey;

/// See the module. Holds the jobs of which something waits or may soon.
#[derive(Debug, Default)]
pub struct Progress(Mutex<HashMap<JobKey, Instant>>);

impl Progress {
    /// How long what may wait still waits; nothing if it is to be written now. What is not known begins to wait.
    pub fn left(&self, job: &JobKey) -> Option<Duration> {
        let since = *self.lock().entry(job.clone()).or_insert_with(Instant::now);
        WAIT.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
    }

    /// A job that comes up was written to.
    pub fn written(&self, job: &JobKey) {
        self.lock().insert(job.clone(), Instant::now());
    }

    /// A job is up, or no more.
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

    #[tokio::test(start_paused = true)]
    async fn what_may_wait_waits_ten_seconds_after_a_write_and_no_longer() {
        let (progress, job) = (Progress::default(), JobKey::new("n", "a"));
        assert_eq!(progress.left(&job), Some(WAIT), "nothing is known after a restart");
        progress.written(&job);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(progress.left(&job), Some(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(progress.left(&job), None);
        progress.forget(&job);
        assert!(progress.lock().is_empty());
    }
}
