//! What became of each request, kept in the plugin namespace in objects of the operator's own: for each plugin one
//! status (active and refused digests), and for each digest that serves or is pinned an immutable copy of its
//! bytes. Only the leader writes; everybody reads.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result};
use coxswain_model::pin::Digest;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

use crate::{access::Access, source::Candidate};

/// On the status objects; the value is the plugin's name.
pub const LABEL_STATE: &str = "coxswain.dev/plugin-state";
/// On the copies; the value is the plugin's name.
pub const LABEL_COPY: &str = "coxswain.dev/plugin-copy";

const WASM: &str = "plugin.wasm";
const SIGNATURE: &str = "signature";
const COPY_PREFIX: &str = "coxswain-copy-";
const FIELD_MANAGER: &str = "mpi-operator";
/// A call that has not been answered by then has failed: the API server's own limit is 60 s, and plugins are
/// loaded before anything else can go on.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Components that served before and are kept for a way back.
const EARLIER: usize = 3;
/// Refusals that are remembered for one plugin.
const REFUSED: usize = 32;
/// Longest reason that is kept, in characters.
const REASON: usize = 1000;

/// What became of one plugin's requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredStatus {
    /// What serves new jobs; last good when the ConfigMap holds a broken one.
    pub active: Option<Served>,
    /// What served before, newest first.
    pub earlier: Vec<Served>,
    /// What the ConfigMap asks for and does not get as yet.
    pub candidate: Option<Waiting>,
    /// Digests that were refused, and why, oldest first: they stay refused when the same bytes are applied again.
    pub refused: Vec<Refusal>,
    /// Who may use it.
    pub access: Access,
}

/// A component and the administrator's settings that it served with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Served {
    /// The component.
    pub digest: Digest,
    /// The settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// A request that does not serve.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Waiting {
    /// Its component.
    pub digest: Digest,
    /// It waits for `coxswain plugin approve`; otherwise it was refused.
    pub held: bool,
    /// Why, and what it would change.
    pub why: String,
}

/// A digest that never serves, and why.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Refusal {
    /// The component.
    pub digest: Digest,
    /// For its author.
    pub why: String,
}

impl StoredStatus {
    /// Another component or other settings serve from now on. What served before is kept as a way back.
    pub fn serve(&mut self, served: Option<Served>) {
        if self.active == served {
            return;
        }
        let before = std::mem::replace(&mut self.active, served);
        self.earlier
            .retain(|earlier| Some(earlier) != self.active.as_ref() && Some(earlier) != before.as_ref());
        self.earlier.splice(0..0, before);
        self.earlier.truncate(EARLIER);
    }

    /// Remembers that these bytes are at fault.
    pub fn refuse(&mut self, digest: &Digest, why: &str) {
        self.refused.retain(|refusal| refusal.digest != *digest);
        self.refused.push(Refusal { digest: digest.clone(), why: why.chars().take(REASON).collect() });
        let surplus = self.refused.len().saturating_sub(REFUSED);
        self.refused.drain(..surplus);
    }

    /// Why these bytes were refused.
    pub fn refusal(&self, digest: &Digest) -> Option<&str> {
        self.refused.iter().find(|refusal| refusal.digest == *digest).map(|refusal| refusal.why.as_str())
    }

    /// Every component that it speaks of as one that serves or may serve again.
    pub fn components(&self) -> impl Iterator<Item = &Digest> {
        self.active.iter().chain(&self.earlier).map(|served| &served.digest)
    }
}

/// Copies and statuses in the plugin namespace.
#[derive(Clone)]
pub struct Store {
    api: Api<ConfigMap>,
}

impl Store {
    /// `namespace` is the plugin namespace.
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace) }
    }

    /// The component of a digest that the operator once admitted. A copy whose bytes do not hash to its name does
    /// not count.
    pub async fn copy(&self, digest: &Digest) -> Result<Option<Candidate>> {
        let name = copy_name(digest);
        let found =
            timed(self.api.get_opt(&name)).await.with_context(|| format!("reading plugin copy {name}"))?;
        let Some(map) = found else { return Ok(None) };
        let plugin = map.metadata.labels.unwrap_or_default().remove(LABEL_COPY);
        let bytes = map.binary_data.unwrap_or_default().remove(WASM).map(|bytes| bytes.0);
        let signature = map.data.unwrap_or_default().remove(SIGNATURE);
        let of =
            |(plugin, bytes): (String, Vec<u8>)| Candidate { signature, ..Candidate::of(&plugin, bytes) };
        Ok(plugin.zip(bytes).map(of).filter(|candidate| candidate.digest == *digest))
    }

    /// Writes the immutable copy; one that exists is left as it is.
    pub async fn save_copy(&self, candidate: &Candidate) -> Result<()> {
        let name = copy_name(&candidate.digest);
        let signature =
            candidate.signature.clone().map(|signature| [(SIGNATURE.to_owned(), signature)].into());
        let copy = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some([(LABEL_COPY.to_owned(), candidate.name.clone())].into()),
                ..ObjectMeta::default()
            },
            data: signature,
            binary_data: Some([(WASM.to_owned(), ByteString(candidate.bytes.clone()))].into()),
            immutable: Some(true),
        };
        match timed(self.api.create(&PostParams::default(), &copy)).await {
            Err(error) if is_conflict(&error) => Ok(()),
            other => other.map(drop).with_context(|| format!("writing plugin copy {name}")),
        }
    }

    /// Digests of all copies.
    pub async fn copies(&self) -> Result<Vec<Digest>> {
        let selector = ListParams::default().labels(LABEL_COPY);
        let listed = timed(self.api.list_metadata(&selector)).await.context("listing plugin copies")?;
        Ok(listed.items.iter().filter_map(|map| digest_of(&map.name_any())).collect())
    }

    /// Removes a copy that nothing needs. One that is gone is fine.
    pub async fn remove_copy(&self, digest: &Digest) -> Result<()> {
        let name = copy_name(digest);
        match timed(self.api.delete(&name, &DeleteParams::default())).await {
            Err(error) if is_gone(&error) => Ok(()),
            other => other.map(drop).with_context(|| format!("removing plugin copy {name}")),
        }
    }

    /// The statuses of all plugins, by name.
    pub async fn statuses(&self) -> Result<BTreeMap<String, StoredStatus>> {
        let selector = ListParams::default().labels(LABEL_STATE);
        let listed = timed(self.api.list(&selector)).await.context("listing the statuses of plugins")?;
        Ok(listed.items.into_iter().filter_map(read_status).collect())
    }

    /// Writes what became of a plugin, whole.
    pub async fn save_status(&self, plugin: &str, status: &StoredStatus) -> Result<()> {
        let name = format!("coxswain-plugin-{plugin}");
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "labels": { LABEL_STATE: plugin } },
            "data": {
                "active": serde_json::to_string(&status.active)?,
                "earlier": serde_json::to_string(&status.earlier)?,
                "candidate": serde_json::to_string(&status.candidate)?,
                "refused": serde_json::to_string(&status.refused)?,
                "namespaces": status.access.to_string(),
            },
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        timed(self.api.patch(&name, &parameters, &Patch::Apply(object)))
            .await
            .map(drop)
            .with_context(|| format!("writing the status of plugin {plugin}"))
    }
}

/// A plain name: the digest alone, so that nothing can stand under a copy's name but its bytes.
fn copy_name(digest: &Digest) -> String {
    format!("{COPY_PREFIX}{digest}")
}

fn digest_of(name: &str) -> Option<Digest> {
    name.strip_prefix(COPY_PREFIX)?.parse().ok()
}

/// What cannot be read counts as not there.
fn read_status(map: ConfigMap) -> Option<(String, StoredStatus)> {
    let plugin = map.metadata.labels?.remove(LABEL_STATE)?;
    let data = map.data.unwrap_or_default();
    let status = StoredStatus {
        active: entry(&data, "active"),
        earlier: entry(&data, "earlier"),
        candidate: entry(&data, "candidate"),
        refused: entry(&data, "refused"),
        access: data.get("namespaces").and_then(|text| Access::read(text).ok()).unwrap_or_default(),
    };
    Some((plugin, status))
}

fn entry<T: DeserializeOwned + Default>(data: &BTreeMap<String, String>, key: &str) -> T {
    data.get(key).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn is_conflict(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.is_already_exists())
}

fn is_gone(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.is_not_found())
}

/// The same with a time limit.
pub async fn timed<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T> {
    Ok(tokio::time::timeout(TIMEOUT, call).await.context("the API server did not answer in time")??)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(bytes: &[u8]) -> Served {
        Served { digest: Digest::of(bytes), settings: BTreeMap::new() }
    }

    #[test]
    fn what_served_before_is_kept_for_three_swaps_and_once() {
        let mut status = StoredStatus::default();

        for bytes in [b"1", b"2", b"1", b"3", b"4", b"5"] {
            status.serve(Some(served(bytes)));
        }

        assert_eq!(status.active, Some(served(b"5")));
        assert_eq!(status.earlier, [served(b"4"), served(b"3"), served(b"1")]);
    }

    #[test]
    fn serving_the_same_again_changes_nothing() {
        let mut status = StoredStatus::default();
        status.serve(Some(served(b"1")));
        let before = status.clone();

        status.serve(Some(served(b"1")));

        assert_eq!(status, before);
    }

    /// Label, keys and values as they stand in clusters: a version that knows them by other names would forget what served.
    #[test]
    fn what_an_earlier_version_left_in_the_cluster_is_read() {
        let digest = Digest::of(b"1");
        let served = json!({"digest": digest, "settings": {"key": "value"}});
        let map = serde_json::from_value(json!({
            "metadata": {"labels": {"coxswain.dev/plugin-state": "openmpi"}},
            "data": {
                "active": served.to_string(),
                "earlier": json!([{"digest": digest}]).to_string(),
                "candidate": json!({"digest": digest, "held": true, "why": "because"}).to_string(),
                "refused": json!([{"digest": digest, "why": "because"}]).to_string(),
                "namespaces": "team-a",
            },
        }));

        let (plugin, status) = read_status(map.unwrap()).unwrap();

        let settings = [("key".to_owned(), "value".to_owned())].into();
        assert_eq!(
            (plugin.as_str(), &status.active),
            ("openmpi", &Some(Served { digest: digest.clone(), settings }))
        );
        assert_eq!(status.earlier, [Served { digest: digest.clone(), settings: BTreeMap::new() }]);
        assert_eq!(
            status.candidate,
            Some(Waiting { digest: digest.clone(), held: true, why: "because".into() })
        );
        assert_eq!(status.refusal(&digest), Some("because"));
        assert!(status.access.allows("team-a") && !status.access.allows("team-b"));
    }

    #[test]
    fn refusals_are_bounded_and_the_newest_are_kept() {
        let mut status = StoredStatus::default();

        for n in 0..100_u8 {
            status.refuse(&Digest::of(&[n]), &"x".repeat(5000));
        }

        assert_eq!(status.refused.len(), REFUSED);
        assert!(status.refusal(&Digest::of(&[99])).is_some_and(|why| why.len() == REASON));
        assert_eq!(status.refusal(&Digest::of(&[0])), None);
    }
}
