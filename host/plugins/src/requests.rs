//! Follows the plugin ConfigMaps: each change is a request, each request is decided on ([`crate::pipeline`]), and an event on
//! the ConfigMap says how.

mod inbox;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use futures::future::join;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, ResourceExt, api::ListParams};
use tokio::{sync::watch, time::sleep};

pub use self::inbox::KIND;
use self::inbox::{CONFIG_MAP, Folded, Inbox, News};
use crate::{
    access::Access,
    pauses::Pauses,
    reviews::Reviews,
    serving::Plugins,
    source::{LABEL_PLUGIN, PluginRequest, Unusable},
    store::{Served, StoredStatus, timed},
    verdict::{Refusal, Verdict},
};
use coxswain_cluster::{
    key::JobKey,
    last_activity::LastActivity,
    metrics::Metrics,
    watch::{Follow, Source},
};

/// What became of one request, for an event on its ConfigMap.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The ConfigMap.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Type Warning. A request that is held or refused warns.
    pub warning: bool,
    /// Jobs that waited for what new jobs get from now on.
    pub concerned: Vec<JobKey>,
    /// In one word.
    pub reason: &'static str,
    /// What happened, or what to change.
    pub message: String,
}

/// One ConfigMap as it stands.
struct Entry {
    plugin: String,
    map: Arc<ConfigMap>,
    /// Answered, for this version of the ConfigMap.
    answered: bool,
}

/// Where the plugin ConfigMaps are, and who is notified how their watch fares.
pub struct Followed<'a> {
    /// Asked.
    pub client: Client,
    /// The plugin namespace.
    pub namespace: &'a str,
    /// Notified of signs of life.
    pub last_activity: LastActivity,
    /// Counts events.
    pub metrics: Arc<Metrics>,
}

/// Follows the plugin ConfigMaps, for ever: what the API server refuses is tried again. `ready` turns true once all that
/// were there at the start have been answered; `answer` carries the events out.
pub async fn follow(
    plugins: Arc<Plugins>,
    followed: Followed<'_>,
    reviews: Reviews,
    ready: watch::Sender<bool>,
    answer: impl FnMut(Answer) + Send,
) {
    let Followed { client, namespace, last_activity, metrics } = followed;
    revive_all(&plugins).await;
    let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let requests =
        Requests { plugins, api, by_name: BTreeMap::new(), listed: BTreeSet::new(), recalled: None };
    let inbox = Inbox::default();
    metrics.watches().begin(KIND);
    let watching = Follow {
        kind: KIND,
        source: Source::of(client, &CONFIG_MAP, Some(namespace), Some(LABEL_PLUGIN.to_owned())),
        folds: Folded::into(inbox.clone()),
        // Not what counts as ready: they have to be answered, too.
        synced: watch::Sender::new(false),
        last_activity,
        metrics,
    };
    join(watching.run(), requests.answer(inbox, reviews, ready, answer)).await;
}

/// Lets what an earlier process left serve, before the ConfigMaps have been looked at: a broken one must not take it away.
async fn revive_all(plugins: &Plugins) {
    let mut pauses = Pauses::default();
    let statuses = loop {
        match plugins.recall().await {
            Ok(statuses) => break statuses.unwrap_or_default(),
            Err(error) => tracing::warn!("recalling what served: {error:#}"),
        }
        sleep(pauses.next()).await;
    };
    for (name, status) in statuses {
        plugins.revive(&name, &status).await;
    }
}

struct Requests {
    plugins: Arc<Plugins>,
    api: Api<ConfigMap>,
    /// By name of the ConfigMap.
    by_name: BTreeMap<String, Entry>,
    /// Names in the list that is being received.
    listed: BTreeSet<String>,
    /// What another leader left, as long as the requests have not been looked at again for it.
    recalled: Option<BTreeMap<String, StoredStatus>>,
}

impl Requests {
    /// Answers what the watch reports and whoever is about to lead, for ever.
    async fn answer(
        mut self,
        inbox: Inbox,
        mut reviews: Reviews,
        ready: watch::Sender<bool>,
        mut answer: impl FnMut(Answer) + Send,
    ) {
        loop {
            let news = tokio::select! {
                biased;
                Some(done) = reviews.0.recv() => {
                    let answers = self.review().await;
                    // Whoever asked may have gone on meanwhile.
                    let _ = done.send(answers.map(|answers| answers.into_iter().for_each(&mut answer)));
                    continue;
                }
                news = inbox.news() => news,
            };
            let is_listed = news.listed.is_some();
            self.apply(news).await.into_iter().for_each(&mut answer);
            if is_listed {
                ready.send_if_modified(|ready| !std::mem::replace(ready, true));
            }
        }
    }

    /// What has changed. Nothing is forgotten before a list has ended, so that no plugin drops out for the length of one.
    async fn apply(&mut self, news: News) -> Vec<Answer> {
        let mut answers = Vec::new();
        for name in news.ended {
            answers.append(&mut self.remove(&name).await);
        }
        for map in news.shown {
            self.put(map);
        }
        match news.listed {
            Some(listed) => {
                self.listed = listed;
                answers.append(&mut self.relisted().await);
            }
            None => answers.append(&mut self.settle().await),
        }
        answers
    }

    /// A list is complete: what it does not name is gone. Nothing is forgotten before its end, so that no plugin
    /// drops out for the length of a relist.
    async fn relisted(&mut self) -> Vec<Answer> {
        let gone: Vec<String> =
            self.by_name.keys().filter(|name| !self.listed.contains(*name)).cloned().collect();
        let mut answers = Vec::new();
        for name in gone {
            answers.append(&mut self.remove(&name).await);
        }
        // What an earlier process left of a plugin whose ConfigMap was deleted in between.
        let known: Vec<String> = self.plugins.statuses.lock().await.plugins().cloned().collect();
        for plugin in known {
            if self.by_name.values().all(|entry| entry.plugin != plugin) {
                self.plugins.withdraw(&plugin).await;
            }
        }
        answers.append(&mut self.settle().await);
        answers
    }

    /// This process is about to lead. If another one led meanwhile, its decisions may differ from this one's, as jobs came
    /// and went between them: what it let serve serves, and every request is decided on again.
    async fn review(&mut self) -> Result<Vec<Answer>> {
        if let Some(statuses) = self.plugins.recall().await? {
            self.recalled = Some(statuses);
        }
        if self.recalled.is_none() {
            return Ok(Vec::new());
        }
        let selector = ListParams::default().labels(LABEL_PLUGIN);
        let listed = timed(self.api.list(&selector)).await.context("listing plugin ConfigMaps")?;
        for map in listed {
            if let Some(entry) = self.by_name.get_mut(&map.name_any()) {
                *entry = Entry { map: Arc::new(map), answered: false, plugin: entry.plugin.clone() };
            }
        }
        let statuses = self.recalled.take().unwrap_or_default();
        let listed: BTreeSet<String> = self.by_name.values().map(|entry| entry.plugin.clone()).collect();
        for (name, status) in statuses.iter().filter(|(name, _)| listed.contains(*name)) {
            self.plugins.revive(name, status).await;
        }
        Ok(self.settle().await)
    }

    fn put(&mut self, map: ConfigMap) {
        let Some(plugin) = map.labels().get(LABEL_PLUGIN).cloned() else { return };
        let name = map.name_any();
        let version = map.resource_version();
        let same = |entry: &Entry| entry.map.resource_version() == version && entry.answered;
        if !self.by_name.get(&name).is_some_and(same) {
            self.by_name.insert(name, Entry { plugin, map: Arc::new(map), answered: false });
        }
    }

    async fn remove(&mut self, name: &str) -> Vec<Answer> {
        let Some(gone) = self.by_name.remove(name) else { return Vec::new() };
        if self.by_name.values().all(|entry| entry.plugin != gone.plugin) {
            let serving = self.plugins.withdraw(&gone.plugin).await;
            tracing::info!(plugin = gone.plugin, serving, "plugin ConfigMap deleted");
            return Vec::new();
        }
        // The other of two with one label value may now have its way.
        for entry in self.by_name.values_mut().filter(|entry| entry.plugin == gone.plugin) {
            entry.answered = false;
        }
        self.settle().await
    }

    /// Answers every request that has no answer yet.
    async fn settle(&mut self) -> Vec<Answer> {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        for entry in self.by_name.values() {
            *count.entry(entry.plugin.clone()).or_default() += 1;
        }
        let mut answers = Vec::new();
        for (name, entry) in self.by_name.iter_mut().filter(|(_, entry)| !entry.answered) {
            let verdict = if count.get(&entry.plugin).is_some_and(|n| *n > 1) {
                let why = format!(
                    "another ConfigMap is labelled {LABEL_PLUGIN}={} too: remove one of them",
                    entry.plugin
                );
                Verdict::Refused(Refusal { why, bytes: false })
            } else {
                decide(&self.plugins, entry).await
            };
            entry.answered = true;
            // The bytes have done their duty: only label, uid and version are needed from here on.
            entry.map = Arc::new(ConfigMap { metadata: entry.map.metadata.clone(), ..ConfigMap::default() });
            self.plugins.metrics.decided(&entry.plugin, &verdict);
            // Nothing new, as after a restart: nothing to report.
            let Some((warning, reason, message)) = words(&self.plugins, &entry.plugin, &verdict) else {
                continue;
            };
            tracing::info!(plugin = entry.plugin, config_map = name, reason, "{message}");
            let uid = entry.map.uid().unwrap_or_default();
            let has_switched = matches!(verdict, Verdict::Serves(_) | Verdict::RolledBack(_));
            let concerned = if has_switched { self.plugins.concerned(&entry.plugin) } else { Vec::new() };
            answers.push(Answer { name: name.clone(), uid, warning, concerned, reason, message });
        }
        answers
    }
}

async fn decide(plugins: &Plugins, entry: &Entry) -> Verdict {
    let refused = |Unusable(why): Unusable| Verdict::Refused(Refusal { why, bytes: false });
    // First, and whatever is wrong with the rest: a list that is made shorter must not wait for good bytes.
    let namespaces = entry.map.data.as_ref().and_then(|data| data.get("namespaces"));
    match Access::read(namespaces.map(String::as_str).unwrap_or_default()) {
        Ok(access) => plugins.restrict(&entry.plugin, access).await,
        Err(unusable) => return refused(unusable),
    }
    match PluginRequest::read(&entry.plugin, &entry.map) {
        Ok(request) => plugins.offer(request).await,
        Err(unusable) => refused(unusable),
    }
}

/// Whether to warn, the reason and the message of the event.
fn words(plugins: &Plugins, plugin: &str, verdict: &Verdict) -> Option<(bool, &'static str, String)> {
    let serving = plugins.serving(plugin).map(|served| served.digest.short());
    let digest = serving.clone().unwrap_or_default();
    let goes_on = match serving {
        Some(digest) => format!("sha256:{digest} goes on serving"),
        None => format!("no plugin {plugin} serves"),
    };
    Some(match verdict {
        Verdict::Unchanged => return None,
        Verdict::Serves(beside) => {
            (false, "PluginLoaded", format!("plugin {plugin} sha256:{digest} serves new jobs{beside}"))
        }
        Verdict::RolledBack(digest) => (
            false,
            "PluginRolledBack",
            format!("plugin {plugin} is rolled back: sha256:{} serves new jobs", digest.short()),
        ),
        Verdict::Held(why) => (true, "PluginHeld", format!("{why}; {goes_on}")),
        Verdict::Refused(refusal) => (true, "PluginRefused", format!("{}; {goes_on}", refusal.why)),
    })
}

impl Plugins {
    /// Digest and settings that new jobs get.
    pub(crate) fn serving(&self, plugin: &str) -> Option<Served> {
        self.read(|registry| registry.active(plugin).map(super::registry::Active::served))
    }

    /// Jobs that what serves now as this plugin may be the answer to.
    fn concerned(&self, plugin: &str) -> Vec<JobKey> {
        let served = self.serving(plugin).zip(self.jobs.as_ref());
        served.map(|(served, jobs)| jobs.concerned(&served.digest)).unwrap_or_default()
    }

    async fn restrict(&self, plugin: &str, access: Access) {
        self.write(|registry| registry.restrict(plugin, access.clone()));
        self.note(plugin, |status| status.access = access).await;
    }

    /// The ConfigMap is gone: back to the image's component. Says what serves now.
    async fn withdraw(&self, plugin: &str) -> String {
        let active = self.write(|registry| registry.withdraw(plugin).cloned());
        self.metrics.serves(plugin, active.as_ref());
        let served = active.as_ref().map(super::registry::Active::served);
        self.note(plugin, |status| {
            status.candidate = None;
            if served.is_some() {
                status.access = Access::default();
            }
            status.serve(served);
        })
        .await;
        let digest = active.map(|active| active.plugin.digest().short());
        digest.map_or_else(|| "none".to_owned(), |digest| format!("sha256:{digest} of the image"))
    }
}

#[cfg(test)]
mod tests;
