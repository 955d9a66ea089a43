//! Kubernetes events: core/v1, as the MPI Operator writes them, because clients match on their fields.
//!
//! Passes only hand them over. A bounded queue and a task of its own write them, after everything else, so that
//! no event delays a pod. Per object at most [`BURST`] and then one per [`REFILL`]; the same event again within
//! [`REPEAT`] raises the count of the first one.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use coxswain_model::{
    api::{MpiJob, wire},
    seen::Uid,
    status::Event,
};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    sync::{
        mpsc::{self, Receiver, Sender},
        watch,
    },
    time::Instant,
};

use crate::{
    metadata::AnyObject,
    metrics::Metrics,
    pace::Flow,
    rest::{Call, MERGE_PATCH, Rest},
    standing::Standing,
};

/// client-go's limits, which users of the MPI Operator know: 25 events at once, then one in 5 minutes.
const BURST: u32 = 25;
const REFILL: Duration = Duration::from_mins(5);
/// client-go forgets repetitions after 10 minutes.
const REPEAT: Duration = Duration::from_mins(10);
/// Events that may wait: a few for each of a hundred jobs that start at once; more are dropped and counted.
const QUEUE: usize = 1024;

/// How long the last events may take when the process ends.
const FLUSH: Duration = Duration::from_secs(3);

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `apiVersion`.
    pub api_version: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`, if known.
    pub version: String,
}

impl Subject {
    /// A job.
    pub fn job(job: &MpiJob) -> Self {
        Self {
            api_version: wire::API_VERSION,
            kind: wire::KIND,
            namespace: job.metadata.namespace.clone(),
            name: job.metadata.name.clone(),
            uid: job.metadata.uid.clone(),
            version: job.metadata.resource_version.clone(),
        }
    }

    /// On whose behalf its events are written.
    fn holder(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// Takes events from passes.
#[derive(Clone)]
pub struct Sink {
    queue: Sender<Told>,
    standing: Option<Standing>,
    metrics: Arc<Metrics>,
}

/// An event on its way.
struct Told {
    subject: Subject,
    event: Event,
    component: &'static str,
    /// It is written in this term or never: whoever leads next tells what it sees itself.
    term: Option<u64>,
}

/// Writes them.
pub struct Writer {
    queue: Receiver<Told>,
    rest: Rest,
    metrics: Arc<Metrics>,
    memory: Memory,
}

/// A sink and the writer at its other end.
pub fn channel(rest: Rest, metrics: Arc<Metrics>) -> (Sink, Writer) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let sink = Sink { queue: sender, standing: rest.standing().cloned(), metrics: Arc::clone(&metrics) };
    (sink, Writer { queue: receiver, rest, metrics, memory: Memory::default() })
}

impl Sink {
    /// Hands an event over; never waits. Where only the leader writes, the events of others are none.
    pub fn tell(&self, subject: Subject, event: Event) {
        self.tell_as(subject, event, wire::EVENT_COMPONENT);
    }

    /// The same under another component's name.
    pub fn tell_as(&self, subject: Subject, event: Event, component: &'static str) {
        let term = self.standing.as_ref().map(Standing::term);
        if term == Some(None) {
            return;
        }
        if self.queue.try_send(Told { subject, event, component, term: term.flatten() }).is_err() {
            self.metrics.event_dropped();
        }
    }
}

impl Writer {
    /// Runs until it is told to stop, then writes what waits, so that a process that ends keeps nothing to itself.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let next = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                next = self.queue.recv() => next,
            };
            let Some(told) = next else { return };
            self.write(told).await;
        }
        let flush = async {
            while let Ok(told) = self.queue.try_recv() {
                self.write(told).await;
            }
        };
        let _ = tokio::time::timeout(FLUSH, flush).await;
    }

    async fn write(&mut self, told: Told) {
        let Told { subject, event, component, term } = &told;
        self.rest = self.rest.clone().in_term(*term);
        let (now, time) = (Instant::now(), Timestamp::now());
        let what = match self.memory.next(subject, event, now) {
            Next::Drop => return self.metrics.event_dropped(),
            Next::New => self.post(subject, event, component, time).await,
            Next::Again { name, count } => self.count(subject, &name, count, time).await,
        };
        match what {
            Ok(Some(name)) => self.memory.written(subject, event, name, now),
            Ok(None) => {}
            Err(error) => {
                tracing::debug!(namespace = subject.namespace, name = subject.name, %error, "writing an event");
            }
        }
    }

    async fn post(
        &self,
        subject: &Subject,
        event: &Event,
        component: &str,
        time: Timestamp,
    ) -> Result<Option<String>, super::rest::Refused> {
        let path = format!("/api/v1/namespaces/{}/events", subject.namespace);
        let call = Call::new("Event", Method::POST, path).json(&manifest(subject, event, component, time));
        let body = self.rest.send(Flow::Events, &subject.holder(), call.metadata_only()).await?;
        Ok(AnyObject::read(&body).metadata.name)
    }

    async fn count(
        &self,
        subject: &Subject,
        name: &str,
        count: u32,
        time: Timestamp,
    ) -> Result<Option<String>, super::rest::Refused> {
        let path = format!("/api/v1/namespaces/{}/events/{name}", subject.namespace);
        let again = json!({"count": count, "lastTimestamp": seconds(time)});
        let call = Call::new("Event", Method::PATCH, path).body(MERGE_PATCH, again.to_string());
        self.rest.send(Flow::Events, &subject.holder(), call.metadata_only()).await?;
        Ok(None)
    }
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

/// What to do with an event.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    New,
    Again { name: String, count: u32 },
    Drop,
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
    fn next(&mut self, subject: &Subject, event: &Event, now: Instant) -> Next {
        self.sweep(now);
        let recent = self.subjects.entry(Uid::from(subject.uid.as_str())).or_insert_with(|| Recent {
            tokens: BURST,
            refilled: now,
            events: VecDeque::new(),
        });
        if !recent.spend(now) {
            return Next::Drop;
        }
        recent.events.retain(|written| now.saturating_duration_since(written.last) < REPEAT);
        match recent.events.iter_mut().find(|written| written.event == *event) {
            Some(written) => {
                written.count += 1;
                written.last = now;
                Next::Again { name: written.name.clone(), count: written.count }
            }
            None => Next::New,
        }
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
