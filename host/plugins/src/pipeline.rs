//! Everything that a request has to pass before new jobs get it. On any failure what serves now goes on serving.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use coxswain_model::pin::Digest;
use coxswain_sandbox::{Plugin, Refused};

use crate::{
    probes,
    registry::Active,
    serving::Plugins,
    settings::as_settings,
    shadow::Shadow,
    shadow_renders::{PinnedJob, ShadowRenders},
    source::{Candidate, MAX_COMPONENT, PluginRequest},
    store::{Served, StoredStatus, Waiting},
    trust::Verified,
    vectors,
    verdict::{Refusal, Verdict},
};
use coxswain_cluster::world;

impl Plugins {
    /// Decides on a request and carries it out.
    pub(crate) async fn offer(&self, request: PluginRequest) -> Verdict {
        let (name, digest) = (request.candidate.name.clone(), request.candidate.digest.clone());
        let verdict = match self.try_offer(request).await {
            Ok(verdict) => verdict,
            Err(refusal) => Verdict::Refused(refusal),
        };
        self.note(&name, |status| {
            status.candidate = match &verdict {
                Verdict::Held(why) => Some(Waiting { digest: digest.clone(), held: true, why: why.clone() }),
                Verdict::Refused(refusal) => {
                    Some(Waiting { digest: digest.clone(), held: false, why: refusal.why.clone() })
                }
                _ => None,
            };
            if let Verdict::Refused(Refusal { why, bytes: true }) = &verdict {
                status.refuse(&digest, why);
            }
        })
        .await;
        verdict
    }

    async fn try_offer(&self, request: PluginRequest) -> Result<Verdict, Refusal> {
        if let Some(candidate) = self.rolled_back(&request).await? {
            return self.roll_back(candidate).await;
        }
        let PluginRequest { candidate, vectors, .. } = &request;
        if let Some(why) = self.refusal(candidate).await {
            return Err(Refusal::of_bytes(why));
        }
        let verified = self.rules.trust.verify(candidate).map_err(Refusal::of_request)?;
        let plugin = self.load(candidate).await?;
        self.check_settings(&plugin, &candidate.settings).await?;
        let active = Active { plugin, candidate: Arc::new(candidate.clone()) };
        if self.serving(&candidate.name) == Some(active.served()) {
            return Ok(Verdict::Unchanged);
        }
        self.check_vectors(&active, vectors.as_deref()).await?;
        let shadow = self.shadow(&active).await;
        if shadow.fails() {
            return Err(Refusal::of_request(format!("live jobs would fail with it: {shadow}")));
        }
        if request.holds && shadow.changes() && request.approved != Some(request.identity()) {
            return Ok(Verdict::Held(format!(
                "{shadow}; let it serve with `coxswain plugin approve {} {}`",
                candidate.name,
                candidate.digest.short()
            )));
        }
        self.switch(active).await?;
        let verified = match verified {
            Verified::Unasked => String::new(),
            Verified::By(key) => format!("; signed by key {key}"),
            Verified::Not(why) => format!("; {why}"),
        };
        let changes =
            if shadow.is_empty() { String::new() } else { format!("; {shadow}, all keep their pins") };
        Ok(Verdict::Serves(format!("{verified}{changes}")))
    }

    async fn refusal(&self, candidate: &Candidate) -> Option<String> {
        let status = self.statuses.lock().await.of(&candidate.name);
        status.refusal(&candidate.digest).map(str::to_owned)
    }

    /// Loads a component, unless it is at hand.
    pub(crate) async fn load(&self, candidate: &Candidate) -> Result<Plugin, Refusal> {
        let at_hand = self.read(|registry| registry.component(&candidate.digest));
        if let Some(plugin) = at_hand.filter(|plugin| plugin.name() == candidate.name) {
            return Ok(plugin);
        }
        let (sandbox, candidate) = (Arc::clone(&self.sandbox), candidate.clone());
        let load = move || sandbox.load(&candidate.name, &candidate.bytes, MAX_COMPONENT);
        match world::compute(load).await {
            Ok(loaded) => loaded.map_err(|refused| match refused {
                Refused::CompilerLost(_) => Refusal::of_request(refused.to_string()),
                _ => Refusal::of_bytes(refused.to_string()),
            }),
            Err(panicked) => {
                Err(Refusal::of_bytes(format!("the component made the compiler fail: {panicked}")))
            }
        }
    }

    /// The administrator's settings over the declared defaults, as the plugin itself judges them.
    pub(crate) async fn check_settings(
        &self,
        plugin: &Plugin,
        given: &BTreeMap<String, String>,
    ) -> Result<(), Refusal> {
        let (judge, settings) = (plugin.clone(), as_settings(given));
        let violations = match world::compute(move || judge.check_settings(&settings)).await {
            Ok(Ok(violations)) => violations,
            Ok(Err(fault)) => return Err(Refusal::of_request(format!("check-settings: {fault}"))),
            Err(panicked) => return Err(Refusal::of_request(format!("check-settings: {panicked}"))),
        };
        let words: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.text)).collect();
        if words.is_empty() {
            return Ok(());
        }
        Err(Refusal::of_request(format!("data.settings: {}", words.join("; "))))
    }

    /// Probes of the operator's own, then what the plugin's author or the administrator wrote down.
    async fn check_vectors(&self, active: &Active, text: Option<&str>) -> Result<(), Refusal> {
        let vectors = text.map(vectors::parse).transpose();
        let vectors = vectors.map_err(|why| Refusal::of_request(format!("data.vectors: {why}")))?;
        let (plugin, policy) = (active.plugin.clone(), self.rules.policy.clone());
        let settings = active.candidate.settings.clone();
        let tried = world::compute(move || {
            let probed = probes::failures(&probes::probe(&plugin, &settings, &policy));
            let checked =
                vectors.map(|vectors| vectors::check(&plugin, &vectors, &policy)).unwrap_or_default();
            (probed, checked)
        });
        let (probed, checked) = tried.await.map_err(|panicked| Refusal::of_request(panicked.to_string()))?;
        if !probed.is_empty() {
            return Err(Refusal::of_request(format!(
                "it fails on jobs that it must serve: {}",
                probed.join("; ")
            )));
        }
        if !checked.is_empty() {
            return Err(Refusal::of_request(format!(
                "it is not what data.vectors expect: {}",
                checked.join("; ")
            )));
        }
        Ok(())
    }

    /// Renders every live job that the plugin renders, by its pin and with the candidate in the pin's place.
    async fn shadow(&self, candidate: &Active) -> Shadow {
        let Some(jobs) = &self.jobs else { return Shadow::default() };
        jobs.synced().await;
        let name = candidate.plugin.name();
        let mut pinned = jobs.pinned();
        pinned.retain(|(_, pin)| pin.plugins().any(|pinned| pinned.name == name));
        let mut rendered = Vec::with_capacity(pinned.len());
        for (key, pin) in pinned {
            // One whose components are lost says so itself.
            if let Ok(chain) = self.chain(&key.namespace, &pin).await {
                rendered.push(PinnedJob { key, pin, chain });
            }
        }
        let renders = ShadowRenders {
            jobs: jobs.clone(),
            candidate: candidate.clone(),
            policy: self.rules.policy.clone(),
            pinned: rendered,
        };
        renders.run(&self.calls).await
    }

    /// The copy first: a job may be pinned to the digest the moment after the switch.
    async fn switch(&self, active: Active) -> Result<(), Refusal> {
        self.save_copy_if_leading(&active.candidate)
            .await
            .map_err(|error| Refusal::of_request(format!("{error:#}")))?;
        let (name, served) = (active.candidate.name.clone(), active.served());
        self.write(|registry| registry.activate(&name, active.clone()));
        self.metrics.serves(&name, Some(&active));
        self.note(&name, |status| status.serve(Some(served))).await;
        Ok(())
    }
}

/// The way back.
impl Plugins {
    /// What is to serve in the place of the request, if an administrator said so of this very request.
    async fn rolled_back(&self, request: &PluginRequest) -> Result<Option<Candidate>, Refusal> {
        let Some(rollback) = request.rollback.as_ref().filter(|rollback| rollback.from == request.identity())
        else {
            return Ok(None);
        };
        let name = &request.candidate.name;
        let status = self.statuses.lock().await.of(name);
        let settings = settings_before(&status, &request.candidate, &rollback.to);
        let copy = match &self.store {
            Some(store) => {
                store.copy(&rollback.to).await.map_err(|error| Refusal::of_request(format!("{error:#}")))?
            }
            None => None,
        };
        let copy = copy.filter(|copy| copy.name == *name).ok_or_else(|| {
            Refusal::of_request(format!(
                "it is to be rolled back to sha256:{}, of which there is no copy",
                rollback.to.short()
            ))
        })?;
        Ok(Some(Candidate { settings, ..copy }))
    }

    async fn roll_back(&self, candidate: Candidate) -> Result<Verdict, Refusal> {
        self.rules.trust.verify(&candidate).map_err(Refusal::of_request)?;
        let plugin = self.load(&candidate).await.map_err(|refusal| Refusal::of_request(refusal.why))?;
        let digest = candidate.digest.clone();
        let active = Active { plugin, candidate: Arc::new(candidate) };
        if self.serving(&active.candidate.name) == Some(active.served()) {
            return Ok(Verdict::Unchanged);
        }
        self.switch(active).await?;
        Ok(Verdict::RolledBack(digest))
    }
}

/// The settings with which `to` served last, other than as the candidate asks for it: a request may differ from what served
/// before by its settings alone.
fn settings_before(status: &StoredStatus, candidate: &Candidate, to: &Digest) -> BTreeMap<String, String> {
    let is_asked_for =
        |served: &Served| served.digest == candidate.digest && served.settings == candidate.settings;
    let mut served = status.active.iter().chain(&status.earlier);
    let found = served.find(|served| served.digest == *to && !is_asked_for(served));
    found.map(|served| served.settings.clone()).unwrap_or_default()
}

/// What became of plugins' requests is written when it changes, by the leader alone.
impl Plugins {
    /// Changes what is known of a plugin. A failure to write it costs only that the next process does not know; it is
    /// logged, and written again with the next change.
    pub(crate) async fn note(&self, plugin: &str, change: impl FnOnce(&mut StoredStatus)) {
        let mut cache = self.statuses.lock().await;
        cache.change(plugin, change);
        let Some(store) = self.store.as_ref().filter(|_| self.leads()) else { return };
        let Some(status) = cache.unsaved(plugin) else { return };
        match store.save_status(plugin, status).await {
            Ok(()) => cache.saved(plugin),
            Err(error) => tracing::warn!(plugin, "{error:#}"),
        }
    }
}

#[cfg(test)]
mod tests;
