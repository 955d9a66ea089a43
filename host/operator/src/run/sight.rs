//! What this replica sees: of each kind that it watches, whether all has been listed and whether the API server still gives
//! signs of life. Who does not see all must not lead. What only has to be known at the start (plugins: those that serve go
//! on serving) takes nobody's lease away when it is not seen any more; log and metrics report it.

use std::{fmt, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use coxswain_cluster::last_activity::{Failing, LastActivity};

/// A watch that fails for so long sees nothing: what has been away for less is still known well enough.
const LONGEST_FAILING: Duration = Duration::from_mins(1);
/// Nor does one that hears nothing for so long. The API server sends a bookmark each minute, and a watch that is silent is
/// opened anew after 160 s at the latest.
const LONGEST_SILENCE: Duration = Duration::from_mins(3);
/// How often that is looked at, in memory: a replica that starts waits no longer than this once all is listed.
const LOOK: Duration = Duration::from_millis(250);
/// When a replica that waits says for what, first and then again: listing takes a few seconds.
const FIRST_REMINDER: Duration = Duration::from_secs(5);
const REMINDER: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Clone)]
pub struct Sight {
    kinds: Vec<Kind>,
    last_activity: LastActivity,
}

/// Of one kind.
#[derive(Clone)]
pub struct Kind {
    /// In log, metrics and `/readyz`.
    pub name: &'static str,
    /// True once all has been listed.
    pub listed: watch::Receiver<bool>,
    /// It has to be seen all the time, and not at the start alone.
    pub is_vital: bool,
}

/// A kind that this replica does not see, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsynced {
    /// The kind.
    pub kind: &'static str,
    /// For people.
    pub why: String,
}

impl fmt::Display for Unsynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.why)
    }
}

impl Sight {
    /// Of these kinds, whose watches tell `last_activity` of signs of life; one of which it knows nothing counts as seen once it
    /// is listed.
    pub fn new(kinds: Vec<Kind>, last_activity: LastActivity) -> Self {
        Self { kinds, last_activity }
    }

    /// What is not seen.
    pub fn unsynced(&self) -> Vec<Unsynced> {
        let of = |kind: &Kind| {
            let (age, failing) = (self.last_activity.age(kind.name), self.last_activity.failing(kind.name));
            let listed = *kind.listed.borrow();
            if listed && !kind.is_vital {
                return None;
            }
            let why = blind(listed, age, failing, Instant::now())?;
            Some(Unsynced { kind: kind.name, why })
        };
        self.kinds.iter().filter_map(of).collect()
    }

    /// Waits until all is seen, and says what for.
    pub async fn all(&self) {
        let start = Instant::now();
        let mut reminder = start + FIRST_REMINDER;
        loop {
            let unsynced = self.unsynced();
            if unsynced.is_empty() {
                tracing::info!(
                    seconds = start.elapsed().as_secs_f64(),
                    "this replica sees all that it must see"
                );
                return;
            }
            if Instant::now() >= reminder {
                reminder = Instant::now() + REMINDER;
                tracing::warn!(
                    unsynced = words(&unsynced),
                    "this replica cannot lead before it sees all that it must see"
                );
            }
            sleep(LOOK).await;
        }
    }

    /// Waits until something is not seen any more.
    pub async fn lost(&self) -> Vec<Unsynced> {
        loop {
            let unsynced = self.unsynced();
            if !unsynced.is_empty() {
                return unsynced;
            }
            sleep(LOOK).await;
        }
    }
}

/// All of them in one line.
pub fn words(unsynced: &[Unsynced]) -> String {
    unsynced.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Why a kind is not seen; nothing if it is.
fn blind(listed: bool, age: Option<Duration>, failing: Option<Failing>, now: Instant) -> Option<String> {
    let Some(Failing { since, why }) = failing else {
        return match age.filter(|age| *age >= LONGEST_SILENCE) {
            _ if !listed => Some("it has not been listed yet".to_owned()),
            Some(age) => Some(format!("the API server has been silent for {} s", age.as_secs())),
            None => None,
        };
    };
    let failing = now.saturating_duration_since(since);
    if !listed {
        Some(format!("it has not been listed yet: {why}"))
    } else if failing >= LONGEST_FAILING {
        Some(format!("it has failed for {} s: {why}", failing.as_secs()))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(names: &[&'static str]) -> (Sight, Vec<watch::Sender<bool>>, LastActivity) {
        let last_activity = LastActivity::default();
        let (mut kinds, mut listed) = (Vec::new(), Vec::new());
        for name in names {
            let (sender, receiver) = watch::channel(false);
            kinds.push(Kind { name, listed: receiver, is_vital: *name != "plugin ConfigMap" });
            listed.push(sender);
            last_activity.begin(name);
        }
        (Sight::new(kinds, last_activity.clone()), listed, last_activity)
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_listed_is_named_with_its_cause() {
        let (sight, listed, last_activity) = sight(&["MPIJob", "Pod"]);
        listed[1].send_replace(true);
        assert_eq!(words(&sight.unsynced()), "MPIJob: it has not been listed yet");

        last_activity.failed("MPIJob", "404 page not found; install its CRD".to_owned());

        let why = "it has not been listed yet: 404 page not found; install its CRD".to_owned();
        assert_eq!(sight.unsynced(), [Unsynced { kind: "MPIJob", why }]);
        listed[0].send_replace(true);
        last_activity.heard("MPIJob");
        assert_eq!(sight.unsynced(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fails_for_a_minute_sees_nothing_until_the_next_sign_of_life() {
        let (sight, listed, last_activity) = sight(&["Pod"]);
        listed[0].send_replace(true);

        last_activity.failed("Pod", "refused".to_owned());
        sleep(Duration::from_secs(59)).await;
        last_activity.failed("Pod", "refused".to_owned());
        assert_eq!(sight.unsynced(), [], "what has been away for less is known well enough");
        sleep(Duration::from_secs(1)).await;

        assert_eq!(words(&sight.unsynced()), "Pod: it has failed for 60 s: refused");
        last_activity.heard("Pod");
        assert_eq!(sight.unsynced(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_to_be_known_at_the_start_alone_may_be_out_of_sight_later() {
        let (sight, listed, last_activity) = sight(&["plugin ConfigMap"]);
        last_activity.failed("plugin ConfigMap", "refused".to_owned());
        assert_eq!(words(&sight.unsynced()), "plugin ConfigMap: it has not been listed yet: refused");

        listed[0].send_replace(true);
        sleep(Duration::from_hours(1)).await;

        assert_eq!(sight.unsynced(), []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_longer_than_a_watch_lasts_is_blindness() {
        let (sight, listed, last_activity) = sight(&["Pod"]);
        listed[0].send_replace(true);

        sleep(Duration::from_secs(179)).await;
        assert_eq!(sight.unsynced(), []);
        sleep(Duration::from_secs(1)).await;

        assert_eq!(words(&sight.unsynced()), "Pod: the API server has been silent for 180 s");
        last_activity.heard("Pod");
        assert_eq!(sight.unsynced(), []);
    }
}
