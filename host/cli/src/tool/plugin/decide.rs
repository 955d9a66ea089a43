//! `coxswain plugin approve` and `coxswain plugin rollback`: what an administrator decides about a plugin's ConfigMap,
//! written on it as an annotation. The operator sees it there like any other change.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

use coxswain_plugins::{
    source::{ANNOTATION_APPROVED, ANNOTATION_ROLLBACK, LABEL_PLUGIN, PluginRequest, Rollback, Unusable},
    store::{Served, Store, StoredStatus},
};

/// Fewest digits by which a digest is named: those that events and tables show are 12.
const DIGITS: usize = 8;

/// Where plugins are.
#[derive(Debug, Args)]
pub struct Place {
    /// Namespace of the plugins' ConfigMaps.
    #[arg(long, short, default_value = "mpi-operator")]
    pub namespace: String,
}

/// Arguments of `approve`.
#[derive(Debug, Args)]
pub struct Approve {
    /// The plugin.
    name: String,
    /// The digest of the component that may change the plans of live jobs, as the event shows it.
    digest: String,
    #[command(flatten)]
    place: Place,
}

/// Arguments of `rollback`.
#[derive(Debug, Args)]
pub struct Back {
    /// The plugin.
    name: String,
    /// To a component that served earlier than the one before.
    #[arg(long, value_name = "DIGEST")]
    to: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// A plugin's ConfigMap and what became of it.
struct Found {
    api: Api<ConfigMap>,
    map: ConfigMap,
    request: PluginRequest,
    status: StoredStatus,
}

/// Lets a request that is held serve.
pub async fn approve(arguments: Approve) -> Result<ExitCode> {
    let Approve { name, digest, place } = arguments;
    let found = find(&name, &place.namespace).await?;
    let requested = &found.request.candidate.digest;
    ensure!(
        names(&digest, &requested.to_string())?,
        "the ConfigMap of plugin {name} holds sha256:{}, not {digest}: look at what it would change, then approve that",
        requested.short()
    );
    let waits = found.status.candidate.as_ref().is_some_and(|waiting| waiting.held);
    ensure!(waits, "plugin {name} does not wait for approval: {}", status(&found));
    annotate(&found, ANNOTATION_APPROVED, &found.request.identity().to_string()).await?;
    writeln!(
        io::stdout(),
        "plugin {name}: sha256:{} is approved and will serve new jobs",
        requested.short()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Lets what served before serve again.
pub async fn rollback(arguments: Back) -> Result<ExitCode> {
    let Back { name, to, place } = arguments;
    let found = find(&name, &place.namespace).await?;
    let target = target(&found.request, &found.status, to.as_deref())
        .with_context(|| format!("rolling back plugin {name}"))?;
    let rollback = Rollback { from: found.request.identity(), to: target.digest.clone() };
    annotate(&found, ANNOTATION_ROLLBACK, &rollback.to_string()).await?;
    writeln!(
        io::stdout(),
        "plugin {name}: sha256:{} will serve new jobs until its ConfigMap gets another component or other settings",
        target.digest.short()
    )?;
    Ok(ExitCode::SUCCESS)
}

/// What to go back to: the newest that is neither what serves nor what the ConfigMap asks for.
fn target<'a>(request: &PluginRequest, status: &'a StoredStatus, to: Option<&str>) -> Result<&'a Served> {
    let requested =
        Served { digest: request.candidate.digest.clone(), settings: request.candidate.settings.clone() };
    // A request that was refused or is held has changed nothing yet; the way back from it is what serves.
    let mut earlier = status.earlier.iter().filter(|served| **served != requested);
    let found = match to {
        None => earlier.next(),
        Some(to) => {
            let mut fits = None;
            for served in earlier {
                if names(to, &served.digest.to_string())? {
                    fits = fits.or(Some(served));
                }
            }
            fits
        }
    };
    found.with_context(|| {
        let known: Vec<String> = status.earlier.iter().map(|served| served.digest.short()).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        format!("nothing to go back to; what served before: {known}")
    })
}

/// Whether what a person wrote names a digest.
fn names(written: &str, digest: &str) -> Result<bool> {
    let digits = written.trim().strip_prefix("sha256:").unwrap_or(written.trim());
    ensure!(
        digits.len() >= DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit()),
        "{written:?} is no digest: at least {DIGITS} hex digits name one"
    );
    Ok(digest.starts_with(&digits.to_ascii_lowercase()))
}

fn status(found: &Found) -> String {
    match (&found.status.candidate, &found.status.active) {
        (Some(waiting), _) => format!("it was refused: {}", waiting.why),
        (None, Some(served)) => format!("sha256:{} serves", served.digest.short()),
        (None, None) => "the operator has not looked at it yet".to_owned(),
    }
}

async fn find(name: &str, namespace: &str) -> Result<Found> {
    let client = Client::try_default().await.context("connecting to the cluster")?;
    let store = Store::new(client.clone(), namespace);
    let api = Api::<ConfigMap>::namespaced(client, namespace);
    let selector = ListParams::default().labels(&format!("{LABEL_PLUGIN}={name}"));
    let listed =
        api.list(&selector).await.with_context(|| format!("listing plugin ConfigMaps of {namespace}"))?;
    let mut maps = listed.items.into_iter();
    let (Some(map), None) = (maps.next(), maps.next()) else {
        bail!(
            "there must be one ConfigMap labelled {LABEL_PLUGIN}={name} in namespace {namespace}; a component of the \
             image alone has neither approval nor a way back"
        );
    };
    let request = PluginRequest::read(name, &map).map_err(|Unusable(why)| anyhow::anyhow!(why));
    let request = request.with_context(|| format!("reading ConfigMap {}", map.name_any()))?;
    let status = store.statuses().await?.remove(name).unwrap_or_default();
    Ok(Found { api, map, request, status })
}

/// Fails if the ConfigMap has changed since it was read: the decision would be about something else.
async fn annotate(found: &Found, key: &str, value: &str) -> Result<()> {
    let name = found.map.name_any();
    let metadata = json!({ "annotations": { key: value }, "resourceVersion": found.map.resource_version() });
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    found.api.patch(&name, &PatchParams::default(), &patch).await.map(drop).with_context(|| {
        format!("annotating ConfigMap {name}; if it was changed meanwhile, look at it again first")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use coxswain_model::pin::Digest;

    use super::*;
    use coxswain_plugins::source::Candidate;

    fn served(bytes: &[u8]) -> Served {
        Served { digest: Digest::of(bytes), settings: BTreeMap::new() }
    }

    fn request(bytes: &[u8]) -> PluginRequest {
        let candidate = Candidate::of("x", bytes.to_vec());
        PluginRequest { candidate, vectors: None, holds: false, approved: None, rollback: None }
    }

    fn status() -> StoredStatus {
        let mut status = StoredStatus::default();
        for bytes in [b"1", b"2", b"3"] {
            status.serve(Some(served(bytes)));
        }
        status
    }

    #[test]
    fn the_way_back_is_what_served_last_and_never_what_is_asked_for() {
        let back = target(&request(b"3"), &status(), None).unwrap().digest.clone();
        let mut rolled_back = status();
        rolled_back.serve(Some(served(b"2")));
        let further = target(&request(b"3"), &rolled_back, None).unwrap().digest.clone();

        assert_eq!(back, Digest::of(b"2"));
        assert_eq!(further, Digest::of(b"1"));
    }

    #[test]
    fn a_digest_is_named_by_its_first_digits() {
        let one = Digest::of(b"1");

        assert_eq!(target(&request(b"3"), &status(), Some(&one.short())).unwrap().digest, one);
        assert!(target(&request(b"3"), &status(), Some("sha256:0123456789ab")).is_err());
        assert!(names("12ab", "12ab").is_err());
        assert!(names("nonsense", "nonsense").is_err());
    }

    #[test]
    fn without_a_past_there_is_no_way_back_and_it_says_so() {
        let error = target(&request(b"1"), &StoredStatus::default(), None).unwrap_err();

        assert_eq!(error.to_string(), "nothing to go back to; what served before: nothing");
    }
}
