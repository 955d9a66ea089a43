//! Kubernetes events: core/v1, as the MPI Operator writes them, because clients match on their fields.
//!
//! Reconciles only hand them over. A task of its own writes them, after everything else, so that no event delays a pod;
//! those of one object one after the other, those of others beside them, as the namespaces' turns go ([`super::limiter`]).
//! What waits is bounded. Per object at most [`BURST`] and then one per [`REFILL`]; the same event again within
//! [`REPEAT`] raises the count of the first one.

mod pending;
mod waiting;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use coxswain_model::{api::events, observed::Uid, status::Event};
use futures::{StreamExt, stream::FuturesUnordered};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

pub use self::pending::Subject;
use self::{
    pending::PendingEvent,
    waiting::{Queued, Waiting},
};
use crate::{
    leadership::Leadership,
    limiter::{Flow, Permit},
    metadata::AnyObject,
    metrics::Metrics,
    rest::{Call, MERGE_PATCH, Rest},
    world,
};

/// client-go's limits, which users of the MPI Operator know: 25 events at once, then one in 5 minutes.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_mins(5);
/// client-go forgets repetitions after 10 minutes.
const REPEAT: Duration = Duration::from_mins(10);

/// How long the last events may take when the process ends.
const FLUSH: Duration = Duration::from_secs(3);

/// Takes events from reconciles.
#[derive(Clone)]
pub struct Sink {
    shared: Arc<Shared>,
    leadership: Option<Leadership>,
    metrics: Arc<Metrics>,
}

/// Between those who emit and the one who writes.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    emitted: Notify,
}

#[derive(Default)]
struct State {
    waiting: Waiting,
    memory: Memory,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes them.
pub struct Writer {
    shared: Arc<Shared>,
    rest: Rest,
}

/// A sink and the writer at its other end.
pub fn channel(rest: Rest, metrics: Arc<Metrics>) -> (Sink, Writer) {
    let shared = Arc::<Shared>::default();
    let sink = Sink { shared: Arc::clone(&shared), leadership: rest.leadership().cloned(), metrics };
    (sink, Writer { shared, rest })
}

impl Sink {
    /// Hands an event over; never waits. Where only the leader writes, the events of others are none.
    pub fn emit(&self, subject: Subject, event: Event) {
        self.emit_as(subject, event, events::EVENT_COMPONENT);
    }

    /// The same under another component's name.
    pub fn emit_as(&self, subject: Subject, event: Event, component: &'static str) {
        let term = self.leadership.as_ref().map(Leadership::term);
        if term == Some(None) {
            return;
        }
        let pending = PendingEvent { subject, event, component, term: term.flatten() };
        let is_kept = {
            let mut state = self.shared.lock();
            state.memory.spend(&pending.subject, Instant::now()) && state.waiting.push(pending)
        };
        if !is_kept {
            self.metrics.event_dropped();
        }
        self.shared.emitted.notify_one();
    }
}

impl Writer {
    /// Runs until it is told to stop, then writes what waits, so that a process that ends keeps nothing to itself.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut queues = FuturesUnordered::new();
        let begun = || self.shared.lock().waiting.begun().into_iter().map(|queue| self.work_off(queue));
        loop {
            queues.extend(begun());
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                () = self.shared.emitted.notified() => {}
                Some(()) = queues.next() => {}
            }
        }
        let flush = async {
            queues.extend(begun());
            while queues.next().await.is_some() {
                queues.extend(begun());
            }
        };
        let _ = timeout(FLUSH, flush).await;
    }

    /// Writes the events of one object, one after the other, until there are none. Until it has a permit an event waits
    /// where it may still be lost to others.
    async fn work_off(&self, mut queue: Queued) {
        loop {
            let permit = tokio::select! {
                biased;
                _ = &mut queue.lost => return,
                permit = self.rest.acquire(Flow::Events, &queue.object) => permit,
            };
            let Some(pending) = self.shared.lock().waiting.take(&queue) else { return };
            self.write(permit, pending).await;
            if self.shared.lock().waiting.is_over(&queue) {
                return;
            }
        }
    }

    async fn write(&self, permit: Permit, pending: PendingEvent) {
        let PendingEvent { subject, event, component, term } = &pending;
        let (now, time) = (Instant::now(), world::now());
        let again = self.shared.lock().memory.again(subject, event, now);
        let is_new = again.is_none();
        let call = match again {
            None => post(subject, event, component, time),
            Some((name, count)) => raise(subject, &name, count, time),
        };
        let rest = self.rest.clone().in_term(*term);
        match rest.send_now(permit, call.metadata_only()).await {
            Ok(body) if is_new => {
                if let Some(name) = AnyObject::read(&body).metadata.name {
                    self.shared.lock().memory.written(subject, event, name, now);
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(namespace = subject.namespace, name = subject.name, %error, "writing an event");
            }
        }
    }
}

fn post(subject: &Subject, event: &Event, component: &str, time: Timestamp) -> Call {
    let path = format!("/api/v1/namespaces/{}/events", subject.namespace);
    Call::new("Event", Method::POST, path).json(&manifest(subject, event, component, time))
}

/// Says of an event that was written how often it has happened.
fn raise(subject: &Subject, name: &str, count: u32, time: Timestamp) -> Call {
    let path = format!("/api/v1/namespaces/{}/events/{name}", subject.namespace);
    let again = json!({"count": count, "lastTimestamp": seconds(time)});
    Call::new("Event", Method::PATCH, path).body(MERGE_PATCH, again.to_string())
}

/// The object that is written. Host, action, related, reporting instance, event time and series stay unset.
fn manifest(subject: &Subject, event: &Event, component: &str, time: Timestamp) -> Value {
    // A cluster-scoped subject's events live in `default`, as client-go has it.
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{}.{:x}", subject.name, time.as_nanosecond()),
            "namespace": subject.namespace,
        },
        "involvedObject": {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
            "resourceVersion": subject.version,
        },
        "type": if event.warning { "Warning" } else { "Normal" },
        "reason": event.reason,
        "message": event.message,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": seconds(time),
        "lastTimestamp": seconds(time),
        "count": 1,
    })
}

/// Kubernetes' `Time` knows no fractions of seconds.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What was written lately. Bounded by the objects of the last [`REPEAT`].
#[derive(Default)]
struct Memory {
    subjects: HashMap<Uid, Recent>,
    swept: Option<Instant>,
}

struct Recent {
    tokens: u32,
    refilled: Instant,
    events: VecDeque<Written>,
}

struct Written {
    event: Event,
    name: String,
    count: u32,
    last: Instant,
}

impl Memory {
    /// Whether one more may be emitted for this object.
    fn spend(&mut self, subject: &Subject, now: Instant) -> bool {
        self.sweep(now);
        let recent = self.subjects.entry(Uid::from(subject.uid.as_str())).or_insert_with(|| Recent {
            tokens: BURST,
            refilled: now,
            events: VecDeque::new(),
        });
        recent.spend(now)
    }

    /// The name of the same event where it was written lately, and how often it has happened with this time.
    fn again(&mut self, subject: &Subject, event: &Event, now: Instant) -> Option<(String, u32)> {
        let recent = self.subjects.get_mut(&Uid::from(subject.uid.as_str()))?;
        recent.events.retain(|written| now.saturating_duration_since(written.last) < REPEAT);
        let written = recent.events.iter_mut().find(|written| written.event == *event)?;
        written.count += 1;
        written.last = now;
        Some((written.name.clone(), written.count))
    }

    fn written(&mut self, subject: &Subject, event: &Event, name: String, now: Instant) {
        if let Some(recent) = self.subjects.get_mut(&Uid::from(subject.uid.as_str())) {
            recent.events.push_back(Written { event: event.clone(), name, count: 1, last: now });
        }
    }

    /// Forgets objects that have been silent long enough to have all their tokens back.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < REPEAT) {
            return;
        }
        self.swept = Some(now);
        self.subjects.retain(|_, recent| {
            let silent = now.saturating_duration_since(recent.refilled);
            silent < REFILL * BURST.saturating_sub(recent.tokens) || silent < REPEAT
        });
    }
}

impl Recent {
    fn spend(&mut self, now: Instant) -> bool {
        while self.tokens < BURST && now.saturating_duration_since(self.refilled) >= REFILL {
            self.tokens += 1;
            self.refilled += REFILL;
        }
        if self.tokens == BURST {
            self.refilled = now;
        }
        let some = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        some
    }
}

#[cfg(test)]
mod tests;
