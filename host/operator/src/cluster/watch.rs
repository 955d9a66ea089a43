//! Watches: one per kind, with label selectors, folded into the [`super::index::Index`].
//!
//! In: the events of a kind. Out: the index, and a wake-up for each job of which anything changed that a pass
//! looks at. A kubelet's heartbeat changes nothing and wakes nobody.

use std::{collections::BTreeMap, fmt::Debug, pin::pin, sync::Arc};

use coxswain_model::api::wire;
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::{
    Wake,
    index::{Index, JobRow, Shared},
    key::JobKey,
    table::{Row, Table},
    wire::{
        ConfigWire, CoschedulingGroupWire, JobWire, LauncherWire, PodWire, SecretWire, ServiceWire,
        SliceWire, VolcanoGroupWire, Wire,
    },
};
use crate::{metrics::Metrics, queue::Cause};

/// Objects a page while listing: bounds what is decoded at once (54 KiB a pod of 5 KB JSON) to a few MiB.
const PAGE: u32 = 100;

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
}

/// Which kind a watch is for: its wire type, its table and how a change is answered.
struct Kind<R> {
    name: &'static str,
    selector: Option<String>,
    table: fn(&mut Index) -> &mut Table<R>,
    /// Of a change from the first row of the job to the second.
    cause: fn(Option<&R>, &R) -> Cause,
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
        let kind = Kind { name: "MPIJob", selector: None, table: |index| &mut index.jobs, cause };
        self.run::<DeserializeGuard<JobWire>>(client, kind, synced).await;
    }

    /// Pods of jobs, in the MPI Operator's words.
    pub async fn pods(self, client: Client, synced: Synced) {
        let selector = Some(format!("{}={}", wire::LABEL_OPERATOR_NAME, wire::OPERATOR_NAME));
        let kind = Kind { name: "Pod", selector, table: |index| &mut index.pods, cause: |_, _| Cause::Child };
        self.run::<PodWire>(client, kind, synced).await;
    }

    /// Services of jobs.
    pub async fn services(self, client: Client, synced: Synced) {
        self.run::<ServiceWire>(client, ours("Service", |index| &mut index.services), synced).await;
    }

    /// `EndpointSlice`s of the Services.
    pub async fn slices(self, client: Client, synced: Synced) {
        self.run::<SliceWire>(client, ours("EndpointSlice", |index| &mut index.slices), synced).await;
    }

    /// ConfigMaps of jobs.
    pub async fn configs(self, client: Client, synced: Synced) {
        self.run::<ConfigWire>(client, ours("ConfigMap", |index| &mut index.configs), synced).await;
    }

    /// Secrets of jobs.
    pub async fn secrets(self, client: Client, synced: Synced) {
        self.run::<SecretWire>(client, ours("Secret", |index| &mut index.secrets), synced).await;
    }

    /// Launcher Jobs.
    pub async fn launchers(self, client: Client, synced: Synced) {
        self.run::<LauncherWire>(client, ours("Job", |index| &mut index.launchers), synced).await;
    }

    /// Volcano's `PodGroups`.
    pub async fn volcano_groups(self, client: Client, synced: Synced) {
        let kind = Kind { selector: None, ..ours("PodGroup", |index| &mut index.groups) };
        self.run::<DeserializeGuard<VolcanoGroupWire>>(client, kind, synced).await;
    }

    /// scheduler-plugins' `PodGroups`.
    pub async fn coscheduling_groups(self, client: Client, synced: Synced) {
        let kind = Kind { selector: None, ..ours("PodGroup", |index| &mut index.groups) };
        self.run::<DeserializeGuard<CoschedulingGroupWire>>(client, kind, synced).await;
    }

    /// Priority classes of the cluster: few, and none of a job's.
    pub async fn priorities(self, client: Client, synced: Synced) {
        let classes = watcher(Api::<PriorityClass>::all(client), watcher::Config::default());
        let mut events = pin!(classes.default_backoff());
        let mut listed = BTreeMap::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(class)) => {
                    listed.insert(class.name_any(), class.value.unwrap_or(0));
                }
                Ok(Event::InitDone) => {
                    self.index.write().priorities = std::mem::take(&mut listed);
                    synced.send_replace(true);
                }
                Ok(Event::Apply(class)) => {
                    self.index.write().priorities.insert(class.name_any(), class.value.unwrap_or(0));
                }
                Ok(Event::Delete(class)) => {
                    self.index.write().priorities.remove(&class.name_any());
                }
                Err(error) => {
                    tracing::warn!(kind = "PriorityClass", error = format!("{error:#}"), "watching");
                }
            }
        }
    }

    async fn run<W>(self, client: Client, kind: Kind<W::Row>, synced: Synced)
    where
        W: Wire + Resource<Scope = k8s_openapi::NamespaceResourceScope> + Clone,
        W: DeserializeOwned + Debug + Send + 'static,
        W::Row: Row,
    {
        let api = match &self.namespace {
            Some(namespace) => Api::<W>::namespaced(client, namespace),
            None => Api::all(client),
        };
        let mut config = watcher::Config::default().page_size(PAGE);
        config.label_selector = kind.selector.clone();
        let mut events = pin!(watcher(api, config).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    if matches!(event, Event::InitDone) {
                        synced.send_replace(true);
                    }
                    self.fold(&kind, event);
                }
                Err(error) => {
                    self.metrics.watch_event(kind.name, "error");
                    let hint = hint(&error);
                    tracing::warn!(kind = kind.name, error = format!("{error:#}"), hint, "watching");
                }
            }
        }
    }

    fn fold<W>(&self, kind: &Kind<W::Row>, event: Event<W>)
    where
        W: Wire,
        W::Row: Row,
    {
        self.metrics.watch_event(kind.name, label(&event));
        let mut index = self.index.write();
        let table = (kind.table)(&mut index);
        let woken: Vec<(JobKey, Cause)> = match event {
            Event::Init => {
                table.listing();
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some((job, row)) = object.row() {
                    table.listed(&job, row);
                }
                Vec::new()
            }
            // Whoever has just listed has not been told who is urgent.
            Event::InitDone => table.listed_all().into_iter().map(|job| (job, Cause::Other)).collect(),
            Event::Apply(object) => {
                object.row().and_then(|(job, row)| shown(table, kind, job, row)).into_iter().collect()
            }
            Event::Delete(object) => {
                let ended = object.row().filter(|(job, row)| table.ended(job, row));
                ended.map(|(job, _)| (job, Cause::Child)).into_iter().collect()
            }
        };
        index.note_left(Timestamp::now());
        drop(index);
        for (job, cause) in &woken {
            (self.wake)(job, *cause);
        }
    }
}

fn shown<R: Row>(table: &mut Table<R>, kind: &Kind<R>, job: JobKey, row: R) -> Option<(JobKey, Cause)> {
    let cause = (kind.cause)(table.of(&job).first(), &row);
    table.shown(&job, row).then_some((job, cause))
}

fn ours<R>(name: &'static str, table: fn(&mut Index) -> &mut Table<R>) -> Kind<R> {
    Kind { name, selector: Some(wire::LABEL_JOB.to_owned()), table, cause: |_, _| Cause::Child }
}

/// What a person can do about it.
fn hint(error: &watcher::Error) -> &'static str {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
            "the cluster does not know this kind: install its CRD (PodGroups come with the gang scheduler), or leave \
             out --gang-scheduling"
        }
        watcher::Error::InitialListFailed(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {
            "the operator's ServiceAccount may not list and watch this kind: apply its ClusterRole"
        }
        _ => "it is tried again",
    }
}

fn label<W>(event: &Event<W>) -> &'static str {
    match event {
        Event::Init => "list",
        Event::InitApply(_) => "listed",
        Event::InitDone => "listed_all",
        Event::Apply(_) => "apply",
        Event::Delete(_) => "delete",
    }
}

/// An object that cannot be decoded is as good as absent, and must not hide the others.
impl<W: Wire> Wire for DeserializeGuard<W> {
    type Row = W::Row;

    fn row(self) -> Option<(JobKey, W::Row)> {
        match self.0 {
            Ok(object) => object.row(),
            Err(invalid) => {
                let name = invalid.metadata.name.as_deref().unwrap_or_default();
                let namespace = invalid.metadata.namespace.as_deref().unwrap_or_default();
                tracing::error!(kind = %W::kind(&()), namespace, name, error = invalid.error, "decoding");
                None
            }
        }
    }
}
