//! Who waits for a permit within one flow: the namespaces in a circle, and in each its jobs in a circle, so that a job
//! of 8 workers does not wait for one of 5 000, nor a namespace of one job for one of a thousand.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

/// Who waits is notified by this.
pub(super) type Grant<P> = oneshot::Sender<P>;

/// See the module.
pub(super) struct FairQueue<P> {
    circle: VecDeque<Arc<str>>,
    namespaces: HashMap<Arc<str>, Jobs<P>>,
}

/// One queue a job.
struct Jobs<P> {
    circle: VecDeque<Arc<str>>,
    queues: HashMap<Arc<str>, VecDeque<Grant<P>>>,
}

/// The namespace of a holder; one that names none stands for itself.
pub(super) fn namespace(holder: &str) -> &str {
    holder.split_once('/').map_or(holder, |(namespace, _)| namespace)
}

impl<P> Default for FairQueue<P> {
    fn default() -> Self {
        Self { circle: VecDeque::new(), namespaces: HashMap::new() }
    }
}

impl<P> Default for Jobs<P> {
    fn default() -> Self {
        Self { circle: VecDeque::new(), queues: HashMap::new() }
    }
}

impl<P> FairQueue<P> {
    /// Puts a request of `holder` in line.
    pub(super) fn push(&mut self, holder: &str, grant: Grant<P>) {
        let namespace = namespace(holder);
        if let Some(jobs) = self.namespaces.get_mut(namespace) {
            jobs.push(holder, grant);
            return;
        }
        let namespace: Arc<str> = namespace.into();
        self.circle.push_back(Arc::clone(&namespace));
        self.namespaces.entry(namespace).or_default().push(holder, grant);
    }

    /// The place of the first namespace that may go. All but those that may not are looked at once only.
    pub(super) fn first(&self, may: impl Fn(&str) -> bool) -> Option<usize> {
        self.circle.iter().position(|namespace| may(namespace))
    }

    /// Takes the next request of the namespace at this place.
    pub(super) fn take(&mut self, place: usize) -> Option<(Arc<str>, Grant<P>)> {
        let namespace = self.circle.remove(place)?;
        let jobs = self.namespaces.get_mut(&namespace)?;
        let grant = jobs.pop();
        if jobs.circle.is_empty() {
            self.namespaces.remove(&namespace);
        } else {
            self.circle.push_back(Arc::clone(&namespace));
        }
        grant.map(|grant| (namespace, grant))
    }
}

impl<P> Jobs<P> {
    fn push(&mut self, holder: &str, grant: Grant<P>) {
        if let Some(queue) = self.queues.get_mut(holder) {
            // Where nothing is granted for long, those who have gone away must not pile up.
            while queue.front().is_some_and(Grant::is_closed) {
                queue.pop_front();
            }
            queue.push_back(grant);
            return;
        }
        let holder: Arc<str> = holder.into();
        self.circle.push_back(Arc::clone(&holder));
        self.queues.insert(holder, VecDeque::from([grant]));
    }

    fn pop(&mut self) -> Option<Grant<P>> {
        let holder = self.circle.pop_front()?;
        let queue = self.queues.get_mut(&holder)?;
        let grant = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&holder);
        } else {
            self.circle.push_back(holder);
        }
        grant
    }
}
