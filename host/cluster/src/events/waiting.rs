//! Events that wait to be written, in the order in which they were emitted, object by object.
//!
//! Where there is no room for one more, the namespace that has most of them loses its newest: nobody's silence is
//! another one's noise.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use tokio::sync::oneshot;

use super::pending::{PendingEvent, QUEUE};

/// See the module.
#[derive(Default)]
pub(super) struct Waiting {
    total: usize,
    namespaces: HashMap<Arc<str>, Queues>,
    begun: Vec<Queued>,
    numbers: u64,
}

/// Of one namespace.
#[derive(Default)]
struct Queues {
    total: usize,
    objects: HashMap<Arc<str>, Queue>,
}

/// Of one object.
struct Queue {
    number: u64,
    events: VecDeque<PendingEvent>,
    /// One of them is being written: no other queue may begin for the object.
    is_writing: bool,
    _there: oneshot::Sender<()>,
}

/// A queue for whoever works it off.
pub(super) struct Queued {
    namespace: Arc<str>,
    /// Namespace and name.
    pub(super) object: Arc<str>,
    number: u64,
    /// Comes to its end when all that waited was lost to others.
    pub(super) lost: oneshot::Receiver<()>,
}

impl Waiting {
    /// Puts an event last in its object's queue. False if one was lost for want of room, this one or another.
    pub(super) fn push(&mut self, pending: PendingEvent) -> bool {
        let namespace: Arc<str> = pending.subject.namespace.as_str().into();
        let is_full = self.total >= QUEUE;
        if is_full && !self.make_room(&namespace) {
            return false;
        }
        let object: Arc<str> = pending.subject.holder().into();
        let queues = self.namespaces.entry(Arc::clone(&namespace)).or_default();
        self.total += 1;
        queues.total += 1;
        if let Some(queue) = queues.objects.get_mut(&object) {
            queue.events.push_back(pending);
            return !is_full;
        }
        self.numbers += 1;
        let (number, (there, lost)) = (self.numbers, oneshot::channel());
        let queue = Queue { number, events: VecDeque::from([pending]), is_writing: false, _there: there };
        queues.objects.insert(Arc::clone(&object), queue);
        self.begun.push(Queued { namespace, object, number, lost });
        !is_full
    }

    /// Queues that have begun since this was last asked. Whoever asks works them off.
    pub(super) fn begun(&mut self) -> Vec<Queued> {
        std::mem::take(&mut self.begun)
    }

    /// The next event of a queue, which is written now.
    pub(super) fn take(&mut self, of: &Queued) -> Option<PendingEvent> {
        let queues = self.namespaces.get_mut(&of.namespace)?;
        let queue = queues.objects.get_mut(&of.object).filter(|queue| queue.number == of.number)?;
        let pending = queue.events.pop_front()?;
        queue.is_writing = true;
        queues.total -= 1;
        self.total -= 1;
        Some(pending)
    }

    /// What was taken is written. Whether that was the queue's last event, which ends it.
    pub(super) fn is_over(&mut self, of: &Queued) -> bool {
        let Some(queues) = self.namespaces.get_mut(&of.namespace) else { return true };
        let queue = queues.objects.get_mut(&of.object).filter(|queue| queue.number == of.number);
        let Some(queue) = queue else { return true };
        queue.is_writing = false;
        if !queue.events.is_empty() {
            return false;
        }
        queues.objects.remove(&of.object);
        self.forget(&of.namespace);
        true
    }

    /// Takes the newest event of the namespace that has most, if that is more than this one has.
    fn make_room(&mut self, namespace: &str) -> bool {
        let own = self.namespaces.get(namespace).map_or(0, |queues| queues.total);
        let most = self.namespaces.iter_mut().max_by_key(|(_, queues)| queues.total);
        let Some((loser, queues)) = most.filter(|(_, queues)| queues.total > own) else { return false };
        let longest = queues.objects.iter_mut().max_by_key(|(_, queue)| queue.events.len());
        let Some((object, queue)) = longest.filter(|(_, queue)| !queue.events.is_empty()) else {
            return false;
        };
        queue.events.pop_back();
        queues.total -= 1;
        self.total -= 1;
        if queue.events.is_empty() && !queue.is_writing {
            let (loser, object) = (Arc::clone(loser), Arc::clone(object));
            queues.objects.remove(&object);
            self.forget(&loser);
        }
        true
    }

    fn forget(&mut self, namespace: &str) {
        if self.namespaces.get(namespace).is_some_and(|queues| queues.objects.is_empty()) {
            self.namespaces.remove(namespace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coxswain_model::status::Event;

    use crate::events::pending::Subject;

    fn pending(namespace: &str, number: usize) -> PendingEvent {
        let subject = Subject {
            api_version: "v1",
            kind: "Pod",
            namespace: namespace.to_owned(),
            name: number.to_string(),
            uid: String::new(),
            version: String::new(),
        };
        let event = Event { warning: false, reason: String::new(), message: String::new() };
        PendingEvent { subject, event, component: "", term: None }
    }

    #[test]
    fn what_was_lost_leaves_nothing_behind() {
        let mut waiting = Waiting::default();
        for number in 0..QUEUE {
            assert!(waiting.push(pending("noisy", number)));
        }
        let mut begun = waiting.begun();
        let first = waiting.take(&begun[0]).map(|pending| pending.subject.name);
        assert_eq!(first.as_deref(), Some("0"));

        for number in 0..=100 {
            waiting.push(pending("other", number));
        }

        assert_eq!(waiting.total, QUEUE);
        let queues: usize = waiting.namespaces.values().map(|queues| queues.objects.len()).sum();
        assert_eq!(queues, QUEUE + 1, "and the one that is being written");
        let is_lost =
            |queued: &mut Queued| queued.lost.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        let lost = begun.iter_mut().filter_map(|queued| is_lost(queued).then_some(())).count();
        assert_eq!(lost, 100, "whoever works those off is told");
        assert!(waiting.is_over(&begun[0]) && waiting.is_over(&begun[0]));
    }
}
