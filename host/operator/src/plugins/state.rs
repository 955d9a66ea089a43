//! What became of each wish, kept in the plugin namespace in objects of the operator's own: for each plugin one
//! outcome (active and refused digests), and for each digest that serves or is pinned an immutable copy of its
//! bytes. Only the leader writes; everybody reads.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use coxswain_model::pin::Digest;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

/// On the outcome objects; the value is the plugin's name.
pub const LABEL_STATE: &str = "coxswain.dev/plugin-state";
/// On the copies; the value is the plugin's name.
pub const LABEL_COPY: &str = "coxswain.dev/plugin-copy";

const WASM: &str = "plugin.wasm";
const FIELD_MANAGER: &str = "mpi-operator";
/// A call that has not been answered by then has failed: the API server's own limit is 60 s, and plugins are
/// loaded before anything else can go on.
const TIMEOUT: Duration = Duration::from_secs(15);

/// What became of one plugin's wishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The digest that serves new jobs; last good when the ConfigMap holds a broken one.
    pub active: Option<Digest>,
    /// The administrator's settings that it serves with.
    pub settings: BTreeMap<String, String>,
    /// Digests that were refused, and why: they stay refused when the same bytes are applied again.
    pub refused: BTreeMap<Digest, String>,
}

/// Copies and outcomes in the plugin namespace.
#[derive(Clone)]
pub struct Store {
    api: Api<ConfigMap>,
}

impl Store {
    /// `namespace` is the plugin namespace.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace) }
    }

    /// The bytes of a digest that the operator once admitted. A copy whose bytes do not hash to its name does
    /// not count.
    pub async fn copy(&self, digest: &Digest) -> Result<Option<(String, Vec<u8>)>> {
        let name = copy_name(digest);
        let found =
            timed(self.api.get_opt(&name)).await.with_context(|| format!("reading plugin copy {name}"))?;
        let Some(map) = found else { return Ok(None) };
        let plugin = map.metadata.labels.unwrap_or_default().remove(LABEL_COPY);
        let bytes = map.binary_data.unwrap_or_default().remove(WASM).map(|bytes| bytes.0);
        Ok(plugin.zip(bytes).filter(|(_, bytes)| Digest::of(bytes) == *digest))
    }

    /// Writes the immutable copy; one that exists is left as it is.
    pub async fn save_copy(&self, plugin: &str, digest: &Digest, bytes: &[u8]) -> Result<()> {
        let name = copy_name(digest);
        let copy = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some([(LABEL_COPY.to_owned(), plugin.to_owned())].into()),
                ..ObjectMeta::default()
            },
            binary_data: Some([(WASM.to_owned(), ByteString(bytes.to_vec()))].into()),
            immutable: Some(true),
            ..ConfigMap::default()
        };
        match timed(self.api.create(&PostParams::default(), &copy)).await {
            Err(error) if is_conflict(&error) => Ok(()),
            other => other.map(drop).with_context(|| format!("writing plugin copy {name}")),
        }
    }

    /// The outcomes of all plugins, by name.
    pub async fn outcomes(&self) -> Result<BTreeMap<String, Outcome>> {
        let selector = ListParams::default().labels(LABEL_STATE);
        let listed = timed(self.api.list(&selector)).await.context("listing the outcomes of plugins")?;
        Ok(listed.items.into_iter().filter_map(read_outcome).collect())
    }

    /// Writes what became of a plugin, whole.
    pub async fn save_outcome(&self, plugin: &str, outcome: &Outcome) -> Result<()> {
        let name = format!("coxswain-plugin-{plugin}");
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "labels": { LABEL_STATE: plugin } },
            "data": {
                "active": outcome.active.as_ref().map(ToString::to_string).unwrap_or_default(),
                "settings": serde_json::to_string(&outcome.settings)?,
                "refused": serde_json::to_string(&outcome.refused)?,
            },
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        timed(self.api.patch(&name, &parameters, &Patch::Apply(object)))
            .await
            .map(drop)
            .with_context(|| format!("writing the outcome of plugin {plugin}"))
    }
}

/// A plain name: the digest alone, so that nothing can stand under a copy's name but its bytes.
fn copy_name(digest: &Digest) -> String {
    format!("coxswain-copy-{digest}")
}

fn read_outcome(map: ConfigMap) -> Option<(String, Outcome)> {
    let plugin = map.metadata.labels?.remove(LABEL_STATE)?;
    let data = map.data.unwrap_or_default();
    let text = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
    let outcome = Outcome {
        active: text("active").parse().ok(),
        settings: serde_json::from_str(text("settings")).unwrap_or_default(),
        refused: serde_json::from_str(text("refused")).unwrap_or_default(),
    };
    Some((plugin, outcome))
}

fn is_conflict(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.is_already_exists())
}

async fn timed<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T> {
    Ok(tokio::time::timeout(TIMEOUT, call).await.context("the API server did not answer in time")??)
}
