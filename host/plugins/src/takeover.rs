//! Taking over from the process or leader before: what served serves on, and every component that serves, served lately or
//! is pinned has its copy. Everybody reads, the leader alone writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

use crate::{
    pauses::Pauses,
    registry::Active,
    serving::Plugins,
    source::Candidate,
    store::{Served, StoredStatus},
};

/// How long a new leader waits until the plugins have been looked at again. After it, what served the standby serves.
const REVIEW: Duration = Duration::from_secs(20);

/// How long it waits until all of them have their copies, and then for their statuses. After it, jobs go on, and copies are
/// made up for.
const SAVING: Duration = Duration::from_secs(20);

impl Plugins {
    /// Called when a term begins, before the first reconcile: what served under the leader before serves on, and everything that
    /// a job may be pinned to has its copy. What the API server refuses is tried again; where that does not help, jobs do
    /// not wait for it: what is missing is made up for later.
    pub async fn lead(&self, term: u64) {
        let taking_over = async {
            let mut pauses = Pauses::default();
            loop {
                let Err(error) = self.look_again().await else { return };
                tracing::warn!("looking at the plugins again: {error:#}");
                sleep(pauses.next()).await;
            }
        };
        if timeout(REVIEW, taking_over).await.is_err() {
            tracing::warn!("the plugins have not been looked at again in time");
        }
        self.lead_from_now(term);
        let saving = async {
            let mut pauses = Pauses::default();
            loop {
                let Err(error) = self.keep_all().await else { return };
                tracing::warn!("keeping copies of the plugins: {error:#}");
                sleep(pauses.next()).await;
            }
        };
        if timeout(SAVING, saving).await.is_err() {
            tracing::error!("not every plugin has its copy; it is tried again while jobs go on");
        }
        // Also what was decided before this process led.
        let mut plugins: BTreeSet<String> = self.statuses.lock().await.plugins().cloned().collect();
        plugins.extend(
            self.read(|registry| {
                registry.all().map(|active| active.candidate.name.clone()).collect::<Vec<_>>()
            }),
        );
        let noting = async {
            for plugin in &plugins {
                let served = self.serving(plugin);
                self.note(plugin, |status| status.serve(served)).await;
            }
        };
        if timeout(SAVING, noting).await.is_err() {
            tracing::error!("not every plugin's status is written; it is with its next change");
        }
    }

    /// Has the requests looked at again, as another leader may have decided otherwise.
    async fn look_again(&self) -> Result<()> {
        let (done, is_done) = oneshot::channel();
        self.reviews.send(done).await.context("nobody follows the plugins")?;
        is_done.await.context("nobody follows the plugins")?
    }

    /// Sees to it that everything that serves has its copy. Costs a request where it is known that one is missing, and at the
    /// first time of a term.
    pub(crate) async fn keep_all(&self) -> Result<()> {
        let store = self.store.as_ref().context("a leader has a cluster")?;
        let term = self.term.load(Ordering::Acquire);
        if self.copies.lock().await.listed_in != Some(term) {
            let listed = store.copies().await?;
            self.copies.lock().await.relist(&listed, term);
        }
        let active: Vec<Active> = self.read(|registry| registry.all().cloned().collect());
        for active in &active {
            self.save_copy_if_leading(&active.candidate).await?;
        }
        Ok(())
    }

    pub(crate) async fn save_copy_if_leading(&self, candidate: &Candidate) -> Result<()> {
        let Some(store) = self.store.as_ref().filter(|_| self.leads()) else { return Ok(()) };
        let mut copies = self.copies.lock().await;
        if !copies.contains(&candidate.digest) {
            store.save_copy(candidate).await?;
            copies.add(&candidate.digest);
        }
        Ok(())
    }

    /// Reads what an earlier process, or the leader before, left; `None` if it is what was there the last time.
    pub(crate) async fn recall(&self) -> Result<Option<BTreeMap<String, StoredStatus>>> {
        let Some(store) = &self.store else { return Ok(None) };
        let stored = store.statuses().await?;
        let mut cache = self.statuses.lock().await;
        if cache.is_current(&stored) {
            return Ok(None);
        }
        cache.recall(stored.clone());
        Ok(Some(stored))
    }

    /// Lets the last good component of a plugin serve, until its ConfigMap has been looked at.
    pub(crate) async fn revive(&self, name: &str, status: &StoredStatus) {
        self.write(|registry| registry.restrict(name, status.access.clone()));
        let Some(served) =
            status.active.as_ref().filter(|served| self.serving(name).as_ref() != Some(served))
        else {
            return;
        };
        if let Some(active) = self.last_good(name, served).await {
            self.write(|registry| registry.activate(name, active.clone()));
            self.metrics.serves(name, Some(&active));
        }
    }

    async fn last_good(&self, name: &str, served: &Served) -> Option<Active> {
        let copy = self.store.as_ref()?.copy(&served.digest).await.ok()??;
        let candidate = Candidate { settings: served.settings.clone(), ..copy };
        if candidate.name != name {
            return None;
        }
        self.rules.trust.verify(&candidate).ok()?;
        let plugin = self.load(&candidate).await.ok()?;
        Some(Active { plugin, candidate: Arc::new(candidate) })
    }
}
