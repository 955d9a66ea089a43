//! Reads the status of plugins from a cluster. Nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use coxswain_model::{
    api::{MpiJob, annotations, labels, resource},
    pin::{Digest, Pin},
    status::condition,
};
use coxswain_sandbox::{Plugin, Sandbox};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, ObjectList},
};

use super::gathered::{About, Asked, Gathered, LiveJob};
use coxswain_plugins::{
    source::{LABEL_PLUGIN, MAX_COMPONENT, PluginRequest, Unusable},
    store::Store,
};

/// Objects in one answer of the API server.
const PAGE: u32 = 500;

/// Reads everything; where jobs cannot be listed, says so on standard error and goes on without them.
pub async fn gather(namespace: &str) -> Result<Gathered> {
    let client = Client::try_default().await.context("connecting to the cluster")?;
    let store = Store::new(client.clone(), namespace);
    let statuses = store.statuses().await.with_context(|| format!("reading namespace {namespace}"))?;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let maps = maps.list(&ListParams::default().labels(LABEL_PLUGIN)).await;
    let maps = maps.with_context(|| format!("listing plugin ConfigMaps of {namespace}"))?;
    let asked = maps.items.iter().filter_map(asked).collect();
    let digests: BTreeSet<&Digest> =
        statuses.values().filter_map(|status| status.active.as_ref()).map(|served| &served.digest).collect();
    let about = about(&store, digests).await?;
    let jobs = match jobs(&client).await {
        Ok(jobs) => Some(jobs),
        Err(error) => {
            eprintln!("coxswain: jobs are left out: {error:#}");
            None
        }
    };
    Ok(Gathered { statuses, asked, about, jobs })
}

fn asked(map: &ConfigMap) -> Option<Asked> {
    let plugin = map.labels().get(LABEL_PLUGIN)?.clone();
    let request = PluginRequest::read(&plugin, map).map_err(|Unusable(why)| why);
    Some(Asked { plugin, config_map: map.name_any(), request })
}

/// What the components of these digests say of themselves, by the operator's own copies.
async fn about(store: &Store, digests: BTreeSet<&Digest>) -> Result<BTreeMap<Digest, About>> {
    let sandbox = Sandbox::new().context("starting the plugin sandbox")?;
    let mut found = BTreeMap::new();
    for digest in digests {
        let Some(copy) = store.copy(digest).await? else { continue };
        let sandbox = sandbox.clone();
        let load = move || sandbox.load(&copy.name, &copy.bytes, MAX_COMPONENT);
        if let Ok(plugin) = tokio::task::spawn_blocking(load).await.context("loading a component")? {
            found.insert(digest.clone(), described(&plugin));
        }
    }
    Ok(found)
}

fn described(plugin: &Plugin) -> About {
    let descriptor = plugin.descriptor();
    let kinds = [("launcher", plugin.is_launcher()), ("tuner", plugin.is_tuner())];
    About {
        version: descriptor.version.clone(),
        summary: descriptor.summary.clone(),
        kinds: kinds.into_iter().filter(|(_, is)| *is).map(|(kind, _)| kind).collect(),
        serves: descriptor.serves.clone(),
    }
}

/// Every job of the cluster that has not ended, with the pin of its ConfigMap.
async fn jobs(client: &Client) -> Result<Vec<LiveJob>> {
    let (group, version) = resource::API_VERSION.split_once('/').unwrap_or_default();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, resource::KIND));
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let objects = all(async |page| api.list(&page).await).await.context("listing jobs")?;
    let configs = Api::<ConfigMap>::all(client.clone());
    let labelled = |page: ListParams| page.labels(labels::LABEL_JOB);
    let configs = all(async |page| configs.list_metadata(&labelled(page)).await);
    let configs = configs.await.context("listing ConfigMaps of jobs")?;
    let pins: BTreeMap<(String, String), Pin> = configs
        .iter()
        .filter_map(|config| {
            let pin = Pin::from_annotation(config.annotations().get(annotations::ANNOTATION_PIN)?)?;
            Some(((config.namespace()?, config.labels().get(labels::LABEL_JOB)?.clone()), pin))
        })
        .collect();
    Ok(objects.into_iter().filter_map(|object| live(object, &pins)).collect())
}

fn live(object: DynamicObject, pins: &BTreeMap<(String, String), Pin>) -> Option<LiveJob> {
    let job: MpiJob = serde_json::from_value(serde_json::to_value(object).ok()?).ok()?;
    let status = job.status.clone().unwrap_or_default();
    if condition::is_true(&status, condition::SUCCEEDED) || condition::is_true(&status, condition::FAILED) {
        return None;
    }
    let accepted = condition::find(&status, condition::ACCEPTED);
    let fault =
        accepted.filter(|accepted| accepted.reason == "PluginFailed" && accepted.status == condition::FALSE);
    let key = (job.metadata.namespace, job.metadata.name);
    Some(LiveJob {
        pin: pins.get(&key).cloned(),
        key: format!("{}/{}", key.0, key.1),
        fault: fault.map(|fault| fault.message.clone()),
    })
}

/// Page by page.
async fn all<T: Clone>(list: impl AsyncFn(ListParams) -> kube::Result<ObjectList<T>>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let listed = list(page.clone()).await?;
        found.extend(listed.items);
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}
