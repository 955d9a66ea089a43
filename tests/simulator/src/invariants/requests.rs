//! S2, S3, S8, S9, S10: what operators ask for.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use http::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::Violations;
use crate::{
    fleet::Fleet,
    network::Network,
    plan::{Bound, Fault, Plan, WriteFault},
    server::{
        Observer,
        ask::Raw,
        kind::{KINDS, LEASE, MPI_JOB, POD},
        path, refused,
        state::Answer,
        status::Refusal,
        store::text,
    },
};

/// Of S9.
const WINDOW: Duration = Duration::from_secs(10);
/// Requests in a window that are never too many, and further ones a job and a pod.
const BASE: usize = 150;
const FOR_EACH: usize = 30;

/// Of S8: what a leader that has just begun, or whose view lags, asks for although it is there.
const REPEATED: usize = 3;
/// Where a rate is set: from a permit to the request's arrival they may come closer together.
const JITTER: usize = 3;

pub struct Requests {
    network: Network,
    violations: Violations,
    /// A write may have its effect when its sender is long gone, or the lease is taken by force.
    may_be_late: bool,
    sent: Mutex<VecDeque<Instant>>,
    /// `--kube-api-qps`, and what was sent of what it bounds in the last second.
    bound: Option<Bound>,
    bounded: Mutex<VecDeque<Instant>>,
    /// How often a name may be asked for, and how often it was, although it was there.
    repeated: usize,
    repeats: Mutex<HashMap<String, usize>>,
}

impl Requests {
    pub fn new(plan: &Plan, network: Network, violations: Violations) -> Self {
        let is_late = |fault: &Fault| {
            matches!(fault, Fault::Write { how: WriteFault::Late | WriteFault::LeaseLost, .. })
        };
        Self {
            network,
            violations,
            may_be_late: plan.faults.iter().any(is_late),
            sent: Mutex::default(),
            bound: plan.settings.requests,
            bounded: Mutex::default(),
            repeated: REPEATED + 2 * plan.faults.len() + plan.users.len(),
            repeats: Mutex::default(),
        }
    }

    /// S2: what is deleted or told of a job's objects is told of this very object.
    fn preconditions(&self, who: &str, raw: &Raw, path: &str) {
        let body: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
        let has = |pointer: &str| body.pointer(pointer).is_some_and(Value::is_string);
        let is_own = path.contains("/namespaces/mpi-operator/") || path.contains("/events");
        if is_own {
            return;
        }
        let lacks = match raw.method {
            Method::DELETE => !has("/preconditions/uid"),
            Method::PATCH if path.ends_with("/status") => !has("/metadata/uid"),
            Method::PATCH => {
                let changes = !body["spec"].is_null() || !body["data"].is_null();
                changes && !has("/metadata/resourceVersion")
            }
            _ => false,
        };
        if lacks {
            self.violations.add("S2", &format!("{who} {} {path} has no precondition", raw.method));
        }
    }

    /// S3: nobody writes while somebody else holds the lease.
    fn leads(&self, who: &str, raw: &Raw, path: &str) {
        if raw.method == Method::GET || self.may_be_late {
            return;
        }
        let lease = self.network.server.get(&LEASE, "mpi-operator", "mpi-operator");
        let holder =
            lease.as_ref().and_then(|lease| lease["spec"]["holderIdentity"].as_str()).unwrap_or_default();
        if !holder.is_empty() && holder != who {
            self.violations.add("S3", &format!("{who} {} {path} while {holder} leads", raw.method));
        }
    }

    /// S8: what is a job's own and is there is not made again and again. A foreign object in its place is looked at each half
    /// minute.
    fn anew(&self, who: &str, raw: &Raw, path: &str, answer: &Answer) {
        let is_there = |refusal: &Refusal| refusal.reason == "AlreadyExists";
        if raw.method != Method::POST || !refused(answer).is_some_and(is_there) {
            return;
        }
        let body: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
        let owner = |object: &Value| object["metadata"]["ownerReferences"][0]["uid"].clone();
        let (Some(target), name) = (path::parse(path), text(&body, "name")) else { return };
        let found = self.network.server.get(target.kind, &target.namespace.unwrap_or_default(), name);
        if !found.is_some_and(|found| owner(&found) == owner(&body)) {
            return;
        }
        let name = format!("{path}/{name}");
        let mut repeats = self.repeats.lock().unwrap_or_else(PoisonError::into_inner);
        let count = repeats.entry(name.clone()).or_default();
        *count += 1;
        if *count == self.repeated + 1 {
            let what = format!("{who} POST {name} more than {} times, and it is there", self.repeated);
            self.violations.add("S8", &what);
        }
    }

    /// S9: no more than an administrator allows.
    fn bounded(&self, raw: &Raw, path: &str) {
        let Some(Bound { each_second, burst }) = self.bound else { return };
        // Lists, watches and what concerns plugins are not bounded.
        let reads_all = raw.method == Method::GET
            && KINDS.iter().any(|kind| path.ends_with(&format!("/{}", kind.plural)));
        if reads_all || path.contains("/namespaces/mpi-operator/") {
            return;
        }
        let now = Instant::now();
        let mut sent = self.bounded.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push_back(now);
        while sent.front().is_some_and(|first| now.duration_since(*first) > Duration::from_secs(1)) {
            sent.pop_front();
        }
        if sent.len() > (each_second + burst) as usize + JITTER {
            self.violations.add("S9", &format!("{} requests in a second, and no more than {each_second} and a burst of {burst} are allowed", sent.len()));
        }
    }

    /// S9: no storm.
    fn rate(&self) {
        let now = Instant::now();
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push_back(now);
        while sent.front().is_some_and(|first| now.duration_since(*first) > WINDOW) {
            sent.pop_front();
        }
        let objects =
            self.network.server.all(&MPI_JOB, None).len() + self.network.server.all(&POD, None).len();
        let bound = BASE + FOR_EACH * objects;
        if sent.len() > bound {
            self.violations.add("S9", &format!("more than {bound} requests in {} s", WINDOW.as_secs()));
        }
    }
}

impl Observer for Requests {
    fn asked(&self, who: &str, raw: &Raw, answer: &Answer) {
        let path = raw.uri.split('?').next().unwrap_or_default();
        if Fleet::replica(who).is_none() || path.contains("/leases") {
            return;
        }
        self.preconditions(who, raw, path);
        self.leads(who, raw, path);
        self.anew(who, raw, path, answer);
        self.rate();
        self.bounded(raw, path);
        if path.contains("/secrets") && !raw.accept.contains("PartialObjectMetadata") {
            self.violations.add("S10", &format!("{who} {} {path} asks for values", raw.method));
        }
    }
}
