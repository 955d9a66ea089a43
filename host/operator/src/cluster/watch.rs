//! Watches: one per kind, with label selectors, folded into the [`super::index::Index`].
//!
//! In: the events of a kind. Out: the index, and a wake-up for each job of which anything changed that a pass
//! looks at. A kubelet's heartbeat changes nothing and wakes nobody.
//!
//! kube's own watcher decodes whole lists, so that one object that cannot be decoded hides all others for ever; it
//! begins a list anew at each page that fails, waits without a limit, and is stopped by an answer of 410. So the loop is
//! ours: [`cut`] takes bytes apart, [`course`] says what to ask for next, [`source`] asks, [`follow`] ties them
//! together, [`rows`] makes rows of what comes, and [`check`] compares them with the API server now and then.

mod check;
mod classes;
mod course;
mod cut;
mod follow;
mod message;
mod read;
mod rows;
mod source;

use std::sync::Arc;

use coxswain_model::api::wire;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Client;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

pub use self::{
    check::Picture,
    cut::Cut,
    follow::{Folds, Follow},
    source::Source,
};
use self::{
    classes::Classes,
    rows::{Kind, Rows},
};
use super::{
    Wake,
    events::Sink,
    index::{Index, JobRow, Shared},
    last_seen::LastSeen,
    lease::Standing,
    table::{Row, Table},
    wire::{
        ConfigWire, CoschedulingGroupWire, JobWire, LauncherWire, PodWire, SecretWire, ServiceWire,
        SliceWire, VolcanoGroupWire, Wire,
    },
};
use crate::{metrics::Metrics, queue::Cause};

/// Where watches report to.
#[derive(Clone)]
pub struct Watches {
    /// Folded into.
    pub index: Shared,
    /// Told which job to look at.
    pub wake: Wake,
    /// Counts events.
    pub metrics: Arc<Metrics>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Told of signs of life.
    pub last_seen: LastSeen,
    /// Tells the owners of objects that are set aside.
    pub events: Sink,
    /// They are told by the leader.
    pub standing: Standing,
}

/// Becomes true once a kind has been listed.
pub type Synced = watch::Sender<bool>;

impl Watches {
    /// `MPIJobs`. Never returns; so do the others.
    pub async fn jobs(self, client: Client, synced: Synced) {
        // A status is mostly our own, on its way back: it may overtake the answer to the write.
        let cause = |old: Option<&JobRow>, new: &JobRow| {
            if old.is_some_and(|old| old.asks_the_same(new)) { Cause::Child } else { Cause::Job }
        };
        let kind = Kind {
            name: wire::KIND,
            api_version: wire::API_VERSION,
            selector: None,
            table: |index| &mut index.jobs,
            cause,
        };
        self.run::<JobWire>(client, kind, synced).await;
    }

    /// Pods of jobs, in the MPI Operator's words.
    pub async fn pods(self, client: Client, synced: Synced) {
        let selector = Some(format!("{}={}", wire::LABEL_OPERATOR_NAME, wire::OPERATOR_NAME));
        let kind = Kind { selector, ..ours("Pod", "v1", |index| &mut index.pods) };
        self.run::<PodWire>(client, kind, synced).await;
    }

    /// Services of jobs.
    pub async fn services(self, client: Client, synced: Synced) {
        self.run::<ServiceWire>(client, ours("Service", "v1", |index| &mut index.services), synced).await;
    }

    /// `EndpointSlice`s of the Services.
    pub async fn slices(self, client: Client, synced: Synced) {
        let kind = ours("EndpointSlice", "discovery.k8s.io/v1", |index| &mut index.slices);
        self.run::<SliceWire>(client, kind, synced).await;
    }

    /// ConfigMaps of jobs.
    pub async fn configs(self, client: Client, synced: Synced) {
        self.run::<ConfigWire>(client, ours("ConfigMap", "v1", |index| &mut index.configs), synced).await;
    }

    /// Secrets of jobs.
    pub async fn secrets(self, client: Client, synced: Synced) {
        self.run::<SecretWire>(client, ours("Secret", "v1", |index| &mut index.secrets), synced).await;
    }

    /// Launcher Jobs.
    pub async fn launchers(self, client: Client, synced: Synced) {
        let kind = ours("Job", "batch/v1", |index| &mut index.launchers);
        self.run::<LauncherWire>(client, kind, synced).await;
    }

    /// Volcano's `PodGroups`.
    pub async fn volcano_groups(self, client: Client, synced: Synced) {
        let kind = ours("PodGroup", "scheduling.volcano.sh/v1beta1", |index| &mut index.groups);
        self.run::<VolcanoGroupWire>(client, Kind { selector: None, ..kind }, synced).await;
    }

    /// scheduler-plugins' `PodGroups`.
    pub async fn coscheduling_groups(self, client: Client, synced: Synced) {
        let kind = ours("PodGroup", "scheduling.x-k8s.io/v1alpha1", |index| &mut index.groups);
        self.run::<CoschedulingGroupWire>(client, Kind { selector: None, ..kind }, synced).await;
    }

    /// Priority classes of the cluster: few, and none of a job's.
    pub async fn priorities(self, client: Client, synced: Synced) {
        let source = Source::of::<PriorityClass>(client, None, None);
        let classes = Classes::new(self.index.clone());
        self.follow("PriorityClass", source, classes, synced).await;
    }

    /// Tells the owners of what was set aside, and how long each watch has been silent. To be called every second.
    pub fn report(&self) {
        for (kind, age) in self.last_seen.ages() {
            self.metrics.watches().age(kind, age);
        }
        let (untold, counts) = {
            let mut index = self.index.write();
            let untold = if self.standing.leads() { index.aside.untold() } else { Vec::new() };
            (untold, index.aside.counts())
        };
        for (subject, event) in untold {
            self.events.tell(subject, event);
        }
        for (kind, _) in self.last_seen.ages() {
            self.metrics.watches().are_aside(kind, counts.get(kind).copied().unwrap_or_default());
        }
    }

    async fn run<W>(self, client: Client, kind: Kind<W::Row>, synced: Synced)
    where
        W: Wire + DeserializeOwned,
        W::Row: Row,
    {
        let source = Source::of::<W>(client, self.namespace.as_deref(), kind.selector.clone());
        let (name, rows) = (kind.name, Rows::<W>::new(kind, self.clone()));
        self.follow(name, source, rows, synced).await;
    }

    async fn follow(self, kind: &'static str, source: Source, folds: impl Folds, synced: Synced) {
        self.metrics.watches().begin(kind);
        let Self { last_seen, metrics, .. } = self;
        Follow { kind, source, folds, synced, last_seen, metrics }.run().await;
    }
}

fn ours<R>(name: &'static str, api_version: &'static str, table: fn(&mut Index) -> &mut Table<R>) -> Kind<R> {
    Kind { name, api_version, selector: Some(wire::LABEL_JOB.to_owned()), table, cause: |_, _| Cause::Child }
}

#[cfg(test)]
mod tests;
