//! The operator under test: its pods, its lease, its plugins, its endpoints.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use k8s_openapi::ByteString;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
    runtime::watcher,
};
use serde_json::{Value, json};

use crate::{
    objects::{Kind, Object, Objects, has, labelled, number, text},
    watch,
};

/// Namespace of the shipped overlay.
pub const NAMESPACE: &str = "mpi-operator";
/// Of Deployment, `ServiceAccount` and Lease.
pub const NAME: &str = "mpi-operator";
/// Longest that the operator may take to start or to end.
const LIMIT: Duration = Duration::from_mins(1);
/// Port of /healthz and /readyz.
pub const HEALTH: u16 = 8080;
/// Label of the copies of components that serve or are pinned.
pub const COPIES: &str = "coxswain.dev/plugin-copy";
/// Port of /metrics.
pub const METRICS: u16 = 9090;

/// The operator under test.
pub struct Operator {
    client: Client,
}

impl Operator {
    /// It must have been deployed.
    pub async fn connect() -> Result<Self> {
        Ok(Self {
            client: Client::try_default().await.context("connecting; KUBECONFIG must name a cluster")?,
        })
    }

    /// The objects of a kind in its namespace.
    pub fn api(&self, kind: Kind) -> Api<Object> {
        Api::namespaced_with(self.client.clone(), NAMESPACE, &kind.resource())
    }

    /// Waits until exactly `count` of its pods are Ready and no other one is left; returns them.
    pub async fn ready(&self, count: usize) -> Result<Vec<Object>> {
        let what = format!("{count} pods of the operator are Ready, and no other is left");
        self.pods_until(&what, |pods| {
            let all = labelled(pods, "app", NAME);
            let good = all.len() == count && all.iter().all(|pod| is_ready(pod));
            good.then(|| all.into_iter().cloned().collect())
        })
        .await
    }

    /// Its only pod.
    pub async fn pod(&self) -> Result<Object> {
        self.ready(1).await?.pop().context("the operator has no pod")
    }

    /// Its pods as they are now.
    pub async fn pods(&self) -> Result<Vec<Object>> {
        let selection = ListParams::default().labels(&format!("app={NAME}"));
        Ok(self.api(Kind::Pod).list(&selection).await.context("listing the operator's pods")?.items)
    }

    /// Waits for something about its pods.
    pub async fn pods_until<T>(&self, what: &str, mut seen: impl FnMut(&Objects) -> Option<T>) -> Result<T> {
        let selection = watcher::Config::default().labels(&format!("app={NAME}"));
        watch::until(&self.api(Kind::Pod), selection, LIMIT, what, |pods| Ok(seen(pods))).await
    }

    /// Deletes one of its pods; without `grace` it is killed.
    pub async fn delete(&self, pod: &str, grace: bool) -> Result<()> {
        let parameters =
            if grace { DeleteParams::default() } else { DeleteParams::default().grace_period(0) };
        self.api(Kind::Pod).delete(pod, &parameters).await.map(drop).context("deleting the operator's pod")
    }

    /// Deletes its only pod and waits for the next one. Returns the new pod.
    pub async fn restart(&self, grace: bool) -> Result<Object> {
        let before = self.pod().await?;
        self.delete(&before.name_any(), grace).await?;
        self.pods_until("the old pod is gone", |pods| {
            pods.values().all(|pod| pod.uid() != before.uid()).then_some(())
        })
        .await?;
        self.pod().await
    }

    /// Sets the number of its pods.
    pub async fn scale(&self, replicas: u32) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        self.api(Kind::Deployment).patch(NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Who leads; empty if nobody does.
    pub async fn leader(&self) -> Result<String> {
        Ok(holder(&self.api(Kind::Lease).get(NAME).await.context("reading the lease")?).to_owned())
    }

    /// Waits for something about who leads.
    pub async fn leader_until<T>(&self, what: &str, mut seen: impl FnMut(&str) -> Option<T>) -> Result<T> {
        let selection = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        watch::until(&self.api(Kind::Lease), selection, LIMIT, what, |leases| {
            Ok(leases.get(NAME).and_then(|lease| seen(holder(lease))))
        })
        .await
    }

    /// GET by way of the API server, which works from outside the cluster too.
    pub async fn fetch(&self, pod: &str, port: u16, path: &str) -> Result<String> {
        let uri = format!("/api/v1/namespaces/{NAMESPACE}/pods/http:{pod}:{port}/proxy{path}");
        let request = http::Request::get(&uri).body(Vec::new())?;
        self.client
            .request_text(request)
            .await
            .with_context(|| format!("reading {path} of {pod} at port {port}"))
    }

    /// The ConfigMap of a plugin; `coxswain plugin pack` gives it the plugin's name.
    pub async fn plugin(&self, plugin: &str) -> Result<Object> {
        self.api(Kind::ConfigMap).get(plugin).await.with_context(|| format!("reading {plugin}"))
    }

    /// Replaces the component in a plugin's ConfigMap, as an administrator does; `sha256` is what its `data` says.
    /// Waits for the operator's answer and returns its message.
    pub async fn offer(&self, plugin: &str, component: &[u8], sha256: &str, answer: &str) -> Result<String> {
        let before = self.answers(plugin).await?;
        let bytes = serde_json::to_value(ByteString(component.to_vec()))?;
        let patch = json!({ "binaryData": { "plugin.wasm": bytes }, "data": { "sha256": sha256 } });
        let api = self.api(Kind::ConfigMap);
        api.patch(plugin, &PatchParams::default(), &Patch::Merge(patch)).await?;
        let selection = watcher::Config::default().fields(&format!("involvedObject.name={plugin}"));
        let what = format!("an event on the ConfigMap of {plugin} that contains {answer:?}");
        watch::until(&self.api(Kind::Event), selection, LIMIT, &what, |events| {
            let new = events
                .iter()
                .filter(|(name, event)| before.get(*name).cloned().flatten() != event.resource_version());
            let mut messages = new.map(|(_, event)| text(event, "/message").to_owned());
            Ok(messages.find(|message| message.contains(answer)))
        })
        .await
    }

    /// Events on a plugin's ConfigMap: name to version.
    async fn answers(&self, plugin: &str) -> Result<BTreeMap<String, Option<String>>> {
        let selection = ListParams::default().fields(&format!("involvedObject.name={plugin}"));
        let events = self.api(Kind::Event).list(&selection).await.context("listing events")?;
        Ok(events.into_iter().map(|event| (event.name_any(), event.resource_version())).collect())
    }
}

fn holder(lease: &Object) -> &str {
    text(lease, "/spec/holderIdentity")
}

fn is_ready(pod: &Object) -> bool {
    has(pod, "Ready", "True") && pod.metadata.deletion_timestamp.is_none()
}

/// Starts of a pod's first container beyond the first one.
pub fn restarts(pod: &Object) -> i64 {
    number(pod, "/status/containerStatuses/0/restartCount")
}

/// The exit code of a pod's first container, once it has ended.
pub fn exit_code(pod: &Object) -> Option<i64> {
    pod.data.pointer("/status/containerStatuses/0/state/terminated/exitCode").and_then(Value::as_i64)
}

/// The component in a plugin's ConfigMap.
pub fn component(config_map: &Object) -> Result<Vec<u8>> {
    let bytes = config_map.data.pointer("/binaryData/plugin.wasm").cloned().unwrap_or_default();
    let ByteString(bytes) = serde_json::from_value(bytes).context("binaryData has no key plugin.wasm")?;
    Ok(bytes)
}
