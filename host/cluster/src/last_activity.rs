//! When the API server last gave a sign of life for each kind that is watched: a page of a list, an opened watch, an
//! event or a bookmark. A replica that has heard nothing for long is blind, whatever its connections say.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Cheap to clone: all clones are one.
#[derive(Clone, Debug, Default)]
pub struct LastActivity(Arc<Mutex<BTreeMap<&'static str, Life>>>);

/// Of one kind.
#[derive(Debug)]
struct Life {
    heard: Instant,
    failing: Option<Failing>,
}

/// Nothing but failures, since when, and the last one in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The first one since the last sign of life.
    pub since: Instant,
    /// The last one.
    pub why: String,
}

impl LastActivity {
    /// A watch of this kind begins. Until the first sign of life its age is counted from here.
    pub fn begin(&self, kind: &'static str) {
        self.lock().entry(kind).or_insert_with(Life::now);
    }

    /// The API server has given a sign of life for this kind.
    pub fn heard(&self, kind: &'static str) {
        self.lock().insert(kind, Life::now());
    }

    /// An attempt has failed.
    pub fn failed(&self, kind: &'static str, why: String) {
        let mut lives = self.lock();
        let life = lives.entry(kind).or_insert_with(Life::now);
        let since = life.failing.as_ref().map_or_else(Instant::now, |failing| failing.since);
        life.failing = Some(Failing { since, why });
    }

    /// Whether attempts have failed since the last sign of life.
    pub fn failing(&self, kind: &str) -> Option<Failing> {
        self.lock().get(kind)?.failing.clone()
    }

    /// How long ago that was; nothing if the kind is not watched.
    pub fn age(&self, kind: &str) -> Option<Duration> {
        self.lock().get(kind).map(|life| life.heard.elapsed())
    }

    /// The same of all kinds that are watched.
    pub fn ages(&self) -> Vec<(&'static str, Duration)> {
        self.lock().iter().map(|(kind, life)| (*kind, life.heard.elapsed())).collect()
    }

    /// The kind of which nothing has been heard for the longest time.
    pub fn oldest(&self) -> Option<(&'static str, Duration)> {
        self.ages().into_iter().max_by_key(|(_, age)| *age)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Life>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Life {
    fn now() -> Self {
        Self { heard: Instant::now(), failing: None }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_kind_that_is_silent_is_the_oldest() {
        let last_activity = LastActivity::default();
        assert_eq!(last_activity.oldest(), None);

        last_activity.begin("Pod");
        last_activity.begin("MPIJob");
        sleep(Duration::from_secs(5)).await;
        last_activity.heard("Pod");
        last_activity.begin("Pod");
        sleep(Duration::from_secs(1)).await;

        assert_eq!(last_activity.age("Pod"), Some(Duration::from_secs(1)));
        assert_eq!(last_activity.oldest(), Some(("MPIJob", Duration::from_secs(6))));
        assert_eq!(last_activity.age("Secret"), None);
    }
    #[tokio::test(start_paused = true)]
    async fn failures_count_from_the_first_one_until_a_sign_of_life() {
        let last_activity = LastActivity::default();
        last_activity.begin("Pod");
        let first = Instant::now();

        last_activity.failed("Pod", "refused".to_owned());
        sleep(Duration::from_secs(5)).await;
        last_activity.failed("Pod", "still refused".to_owned());

        let failing = Failing { since: first, why: "still refused".to_owned() };
        assert_eq!(last_activity.failing("Pod"), Some(failing));
        last_activity.heard("Pod");
        assert_eq!(last_activity.failing("Pod"), None);
    }
}
