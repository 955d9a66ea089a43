//! What is going to happen, and when. Everything of the simulated cluster that takes time stands here: a request on its way,
//! an answer, a watch event, the next step of a controller. So nothing of it dies with whoever waits for it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

type Action = Box<dyn FnOnce() + Send>;

/// Cheap to share.
#[derive(Clone, Default)]
pub struct Agenda(Arc<Inner>);

#[derive(Default)]
struct Inner {
    entries: Mutex<Entries>,
    changed: Notify,
}

#[derive(Default)]
struct Entries {
    /// What is due at the same moment happens in the order in which it was entered.
    by_time: BTreeMap<(Instant, u64), Action>,
    entered: u64,
}

impl Agenda {
    /// Does this after so long.
    pub fn after(&self, pause: Duration, action: impl FnOnce() + Send + 'static) {
        self.at(Instant::now() + pause, action);
    }

    /// Does this then.
    pub fn at(&self, time: Instant, action: impl FnOnce() + Send + 'static) {
        let mut entries = self.lock();
        entries.entered += 1;
        let key = (time, entries.entered);
        entries.by_time.insert(key, Box::new(action));
        drop(entries);
        self.0.changed.notify_one();
    }

    /// Nothing of it happens any more. What stood here may hold on to the agenda itself.
    pub fn clear(&self) {
        let entries = std::mem::take(&mut self.lock().by_time);
        drop(entries);
    }

    /// Never returns.
    pub async fn run(&self) {
        loop {
            let Some(time) = self.next() else {
                self.0.changed.notified().await;
                continue;
            };
            if Instant::now() < time {
                tokio::select! {
                    biased;
                    () = sleep_until(time) => {}
                    () = self.0.changed.notified() => continue,
                }
            }
            let action = self.lock().by_time.pop_first();
            if let Some((_, action)) = action {
                action();
            }
            // Whoever was told something now acts on it before the next thing happens.
            tokio::task::yield_now().await;
        }
    }

    fn next(&self) -> Option<Instant> {
        self.lock().by_time.first_key_value().map(|((time, _), _)| *time)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn things_happen_in_order_of_time_and_then_of_entry() {
        let (agenda, told) = (Agenda::default(), Arc::<Mutex<Vec<u32>>>::default());
        for (pause, number) in [(30, 4), (10, 1), (20, 2), (20, 3)] {
            let told = Arc::clone(&told);
            agenda.after(Duration::from_secs(pause), move || told.lock().unwrap().push(number));
        }

        let _ = tokio::time::timeout(Duration::from_secs(25), agenda.run()).await;
        assert_eq!(*told.lock().unwrap(), [1, 2, 3]);
        let _ = tokio::time::timeout(Duration::from_secs(10), agenda.run()).await;

        assert_eq!(*told.lock().unwrap(), [1, 2, 3, 4]);
    }
}
