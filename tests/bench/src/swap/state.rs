//! What there is of the jobs of a namespace: versions of their objects, and what renders them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, Result};
use coxswain_model::{
    api::annotations::ANNOTATION_PIN,
    pin::{Digest, Pin},
};
use futures::TryStreamExt as _;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret, Service},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::ListParams,
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::builds::MARK;
use crate::audit::now;

const LABEL_JOB: &str = "training.kubeflow.org/job-name";

/// The jobs of one namespace.
pub struct Jobs {
    client: Client,
    namespace: String,
    /// When a job was first seen with its pin, and the pin.
    seen: Arc<Mutex<HashMap<String, (f64, String)>>>,
}

/// The number of the build that a pin names, by its setting.
pub fn number(pin: &Pin) -> Option<u32> {
    numbers(pin.launcher.settings.get("ssh-args")?).first().map(|mark| mark - 1)
}

/// Marks of builds in a text.
fn numbers(text: &str) -> BTreeSet<u32> {
    let after = text.split(MARK).skip(1);
    let digits = after.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// Whether the marks that a job's pods carry are those of its build alone.
pub fn rendered_for(marks: &BTreeSet<u32>, number: Option<u32>) -> bool {
    number.is_some_and(|number| *marks == BTreeSet::from([number + 1]))
}

impl Jobs {
    /// Those of `namespace`.
    pub async fn of(namespace: &str) -> Result<Self> {
        let client = Client::try_default().await.context("connecting")?;
        Ok(Self { client, namespace: namespace.to_owned(), seen: Arc::default() })
    }

    /// Takes down from now on when jobs are pinned, as long as the process runs.
    pub fn follow(&self) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let seen = Arc::clone(&self.seen);
        tokio::spawn(async move {
            let stream = watcher(maps, watcher::Config::default()).default_backoff().applied_objects();
            let mut stream = pin!(stream);
            // Errors are tried again by the stream itself.
            while let Ok(Some(map)) = stream.try_next().await {
                if let Some(text) = map.annotations().get(ANNOTATION_PIN) {
                    let first = || (now(), text.clone());
                    lock(&seen).entry(map.name_any()).or_insert_with(first);
                }
            }
        });
    }

    /// When the first job after `since` was pinned to a build.
    pub fn first_pinned(&self, digest: &Digest, since: f64) -> Option<f64> {
        let (seen, digest) = (lock(&self.seen), digest.to_string());
        let of_it = seen.values().filter(|(at, pin)| *at > since && pin.contains(&digest));
        of_it.map(|(at, _)| *at).reduce(f64::min)
    }

    /// `KIND/NAME` to resourceVersion of everything but the MPIJobs, whose status may change.
    pub async fn versions(&self) -> Result<BTreeMap<String, String>> {
        let mut versions = BTreeMap::new();
        self.versions_of::<Service>("Service", &mut versions).await?;
        self.versions_of::<ConfigMap>("ConfigMap", &mut versions).await?;
        self.versions_of::<Secret>("Secret", &mut versions).await?;
        self.versions_of::<Pod>("Pod", &mut versions).await?;
        self.versions_of::<Job>("Job", &mut versions).await?;
        Ok(versions)
    }

    async fn versions_of<K>(&self, kind: &str, versions: &mut BTreeMap<String, String>) -> Result<()>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        for object in self.all::<K>().await? {
            let version = object.resource_version().unwrap_or_default();
            versions.insert(format!("{kind}/{}", object.name_any()), version);
        }
        Ok(())
    }

    async fn all<K>(&self) -> Result<Vec<K>>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&ListParams::default()).await;
        let mut objects = listed.with_context(|| format!("listing objects of {}", self.namespace))?.items;
        objects.retain(|object| !job_of(object).is_empty());
        Ok(objects)
    }

    /// Variables of a pod's main container.
    pub async fn environment(&self, pod: String) -> Result<Value> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let pod = api.get(&pod).await.with_context(|| format!("reading pod {pod}"))?;
        let container = pod.spec.and_then(|spec| spec.containers.into_iter().next());
        Ok(serde_json::to_value(container.context("a pod has no container")?.env)?)
    }

    /// The pins of each job: of its ConfigMap, of its launcher.
    pub async fn pins(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let mut pins: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut add = |object: &dyn Pinning| {
            if let Some((job, pin)) = object.pin() {
                pins.entry(job).or_default().push(pin);
            }
        };
        self.all::<ConfigMap>().await?.iter().for_each(|map| add(map));
        self.all::<Job>().await?.iter().for_each(|job| add(job));
        Ok(pins)
    }

    /// Marks of builds in the launcher and the pods of each job.
    pub async fn rendered(&self) -> Result<BTreeMap<String, BTreeSet<u32>>> {
        let mut marks: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for job in self.all::<Job>().await? {
            let text = serde_json::to_string(&job.spec)?;
            marks.entry(job_of(&job)).or_default().extend(numbers(&text));
        }
        for pod in self.all::<Pod>().await? {
            let text = serde_json::to_string(&pod.spec)?;
            marks.entry(job_of(&pod)).or_default().extend(numbers(&text));
        }
        Ok(marks)
    }
}

/// What carries a pin.
trait Pinning {
    fn pin(&self) -> Option<(String, String)>;
}

impl<K: ResourceExt> Pinning for K {
    fn pin(&self) -> Option<(String, String)> {
        Some((job_of(self), self.annotations().get(ANNOTATION_PIN)?.clone()))
    }
}

/// Pods have a label, other objects an owner; what has neither belongs to no job.
fn job_of(object: &impl ResourceExt) -> String {
    let owner = object.owner_references().iter().find(|owner| owner.kind == "MPIJob");
    let named = object.labels().get(LABEL_JOB).or(owner.map(|owner| &owner.name));
    named.cloned().unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
