//! Follows the plugin ConfigMaps: each change is a wish, each wish is granted or refused, and an event on the
//! ConfigMap says which.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
};

use anyhow::{Context as _, Result};
use coxswain_model::pin::Digest;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use tokio::sync::watch;

use super::{
    Plugins,
    source::{Candidate, LABEL_PLUGIN, Unusable},
};

/// What became of one wish, for an event on its ConfigMap.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The ConfigMap.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// True: refused. False: it serves.
    pub refused: bool,
    /// What happened, or what to change.
    pub message: String,
}

/// One wish as it stands.
struct Wish {
    plugin: String,
    map: Arc<ConfigMap>,
    /// Answered, for this version of the ConfigMap.
    answered: bool,
}

/// Follows the plugin ConfigMaps of `namespace` until the watch ends. `ready` turns true once all that were there
/// at the start have been answered; `answer` carries the events out.
pub async fn follow(
    plugins: Arc<Plugins>,
    client: Client,
    namespace: &str,
    ready: watch::Sender<bool>,
    mut answer: impl FnMut(Answer) + Send,
) -> Result<()> {
    plugins.recall().await?;
    let api = Api::<ConfigMap>::namespaced(client, namespace);
    let stream = watcher(api, watcher::Config::default().labels(LABEL_PLUGIN)).default_backoff();
    let mut stream = pin!(stream);
    let mut wishes = Wishes { plugins, by_name: BTreeMap::new(), listed: BTreeSet::new() };
    while let Some(event) = stream.try_next().await.context("watching plugin ConfigMaps")? {
        let answers = match event {
            Event::Init => {
                wishes.listed.clear();
                Vec::new()
            }
            Event::InitApply(map) => {
                wishes.listed.insert(map.name_any());
                wishes.put(map);
                Vec::new()
            }
            Event::InitDone => wishes.relisted().await,
            Event::Apply(map) => {
                wishes.put(map);
                wishes.settle().await
            }
            Event::Delete(map) => wishes.remove(&map.name_any()).await,
        };
        answers.into_iter().for_each(&mut answer);
        ready.send_if_modified(|ready| !std::mem::replace(ready, true));
    }
    anyhow::bail!("the watch of plugin ConfigMaps ended")
}

struct Wishes {
    plugins: Arc<Plugins>,
    /// By name of the ConfigMap.
    by_name: BTreeMap<String, Wish>,
    /// Names in the list that is being received.
    listed: BTreeSet<String>,
}

impl Wishes {
    /// A list is complete: what it does not name is gone. Nothing is forgotten before its end, so that no plugin
    /// drops out for the length of a relist.
    async fn relisted(&mut self) -> Vec<Answer> {
        let gone: Vec<String> =
            self.by_name.keys().filter(|name| !self.listed.contains(*name)).cloned().collect();
        let mut answers = Vec::new();
        for name in gone {
            answers.append(&mut self.remove(&name).await);
        }
        answers.append(&mut self.settle().await);
        answers
    }

    fn put(&mut self, map: ConfigMap) {
        let Some(plugin) = map.labels().get(LABEL_PLUGIN).cloned() else { return };
        let name = map.name_any();
        let version = map.resource_version();
        let same = |wish: &Wish| wish.map.resource_version() == version && wish.answered;
        if !self.by_name.get(&name).is_some_and(same) {
            self.by_name.insert(name, Wish { plugin, map: Arc::new(map), answered: false });
        }
    }

    async fn remove(&mut self, name: &str) -> Vec<Answer> {
        let Some(gone) = self.by_name.remove(name) else { return Vec::new() };
        if self.by_name.values().all(|wish| wish.plugin != gone.plugin) {
            let serving = self.plugins.withdraw(&gone.plugin).await;
            tracing::info!(plugin = gone.plugin, serving, "plugin ConfigMap deleted");
            return Vec::new();
        }
        // The other of two with one label value may now have its way.
        for wish in self.by_name.values_mut().filter(|wish| wish.plugin == gone.plugin) {
            wish.answered = false;
        }
        self.settle().await
    }

    /// Answers every wish that has no answer yet.
    async fn settle(&mut self) -> Vec<Answer> {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for wish in self.by_name.values() {
            *count.entry(wish.plugin.clone()).or_default() += 1;
        }
        let mut answers = Vec::new();
        for (name, wish) in self.by_name.iter_mut().filter(|(_, wish)| !wish.answered) {
            let outcome = if count.get(&wish.plugin).is_some_and(|n| *n > 1) {
                Err(format!(
                    "another ConfigMap is labelled {LABEL_PLUGIN}={} too: remove one of them",
                    wish.plugin
                ))
            } else {
                grant(&self.plugins, wish).await
            };
            wish.answered = true;
            // The bytes have done their duty: only label, uid and version are needed from here on.
            wish.map = Arc::new(ConfigMap { metadata: wish.map.metadata.clone(), ..ConfigMap::default() });
            let (refused, message) = match outcome {
                Ok(Some(message)) => (false, message),
                // Nothing new, as after a restart: nothing to tell.
                Ok(None) => continue,
                Err(reason) => (true, reason),
            };
            tracing::info!(plugin = wish.plugin, config_map = name, refused, "{message}");
            let uid = wish.map.uid().unwrap_or_default();
            answers.push(Answer { name: name.clone(), uid, refused, message });
        }
        answers
    }
}

/// What to tell of a wish that was granted, `None` if it changes nothing.
async fn grant(plugins: &Plugins, wish: &Wish) -> Result<Option<String>, String> {
    let candidate = match Candidate::read(&wish.plugin, &wish.map) {
        Ok(candidate) => candidate,
        Err(Unusable(reason)) => return Err(plugins.kept(&wish.plugin, &reason)),
    };
    let before = plugins.serving(&wish.plugin);
    match plugins.offer(candidate).await {
        Ok(digest) if plugins.serving(&wish.plugin) != before => {
            Ok(Some(format!("plugin {} sha256:{} serves new jobs", wish.plugin, digest.short())))
        }
        Ok(_) => Ok(None),
        Err(reason) => Err(plugins.kept(&wish.plugin, &reason)),
    }
}

impl Plugins {
    /// Reads what an earlier process left: last good components serve until their ConfigMap has been looked at.
    async fn recall(&self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let outcomes = store.outcomes().await?;
        *self.outcomes.lock().await = outcomes.clone();
        for name in outcomes.keys() {
            if let Some(active) = self.last_good(name).await {
                self.write(|registry| registry.activate(name, active));
            }
        }
        Ok(())
    }

    /// Digest and settings that new jobs get.
    fn serving(&self, plugin: &str) -> Option<(Digest, BTreeMap<String, String>)> {
        self.read(|registry| registry.active(plugin).map(|a| (a.plugin.digest().clone(), a.settings.clone())))
    }

    /// The ConfigMap is gone: back to the image's component. Says what serves now.
    async fn withdraw(&self, plugin: &str) -> String {
        let digest =
            self.write(|registry| registry.withdraw(plugin).map(|active| active.plugin.digest().short()));
        self.note_active(plugin).await;
        digest.map_or_else(|| "none".to_owned(), |digest| format!("sha256:{digest} of the image"))
    }

    /// A refusal's reason, and what serves in its place.
    fn kept(&self, plugin: &str, reason: &str) -> String {
        let serving =
            self.read(|registry| registry.active(plugin).map(|active| active.plugin.digest().short()));
        match serving {
            Some(digest) => format!("{reason}; sha256:{digest} goes on serving"),
            None => format!("{reason}; no plugin {plugin} serves"),
        }
    }
}
