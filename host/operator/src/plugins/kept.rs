//! What is kept across restarts: what served, and a copy of every component that serves, served lately or is pinned.
//! Everybody reads, the leader alone writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result};
use coxswain_model::pin::Digest;
use tokio::{sync::oneshot, time::Instant};

use super::{
    LiveJobs, Plugins,
    registry::Active,
    source::Candidate,
    state::{Outcome, Served},
};

/// How long a copy must have been of no use before it is removed: a pin is seen some seconds after it was chosen.
const GRACE: Duration = Duration::from_mins(2);
/// How often that is looked at. It costs no request.
const COLLECTION: Duration = Duration::from_secs(20);
/// How long a new leader waits until the plugins have been looked at again. After it, what served the standby serves.
const TURN: Duration = Duration::from_secs(20);

/// Copies that are there, and since when nothing has needed them.
#[derive(Debug, Default)]
pub struct Copies(BTreeMap<Digest, Option<Instant>>);

impl Copies {
    /// One is there.
    pub fn add(&mut self, digest: &Digest) {
        self.0.entry(digest.clone()).or_default();
    }

    /// One is there no more.
    pub fn remove(&mut self, digest: &Digest) {
        self.0.remove(digest);
    }

    /// Whether it is there.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.0.contains_key(digest)
    }

    /// Those that nothing has needed for long enough.
    pub fn unneeded(&mut self, needed: &BTreeSet<Digest>, now: Instant) -> Vec<Digest> {
        let mut unneeded = Vec::new();
        for (digest, since) in &mut self.0 {
            if needed.contains(digest) {
                *since = None;
            } else if now.duration_since(*since.get_or_insert(now)) >= GRACE {
                unneeded.push(digest.clone());
            }
        }
        unneeded
    }
}

impl Plugins {
    /// Called when this process has become the leader, before the first pass: what served under the leader before serves
    /// on, and everything that a job may be pinned to has its copy.
    pub async fn lead(&self) -> Result<()> {
        let store = self.store.as_ref().context("a leader has a cluster")?;
        let copies = store.copies().await?;
        {
            let mut known = self.copies.lock().await;
            for digest in &copies {
                known.add(digest);
            }
        }
        let (done, is_done) = oneshot::channel();
        if self.turns.send(done).await.is_ok() && tokio::time::timeout(TURN, is_done).await.is_err() {
            tracing::warn!("the plugins have not been looked at again in time");
        }
        self.lead_from_now();
        let active: Vec<Active> = self.read(|registry| registry.all().cloned().collect());
        for active in &active {
            self.save_copy_if_leading(&active.candidate).await?;
        }
        // Also what was decided before this process led.
        let mut plugins: BTreeSet<String> = self.known.lock().await.plugins().cloned().collect();
        plugins.extend(active.iter().map(|active| active.candidate.name.clone()));
        for plugin in &plugins {
            let served = self.serving(plugin);
            self.note(plugin, |outcome| outcome.serve(served)).await;
        }
        Ok(())
    }

    pub(super) async fn save_copy_if_leading(&self, candidate: &Candidate) -> Result<()> {
        let Some(store) = self.store.as_ref().filter(|_| self.leads()) else { return Ok(()) };
        let mut copies = self.copies.lock().await;
        if !copies.contains(&candidate.digest) {
            store.save_copy(candidate).await?;
            copies.add(&candidate.digest);
        }
        Ok(())
    }

    /// Reads what an earlier process, or the leader before, left; `None` if it is what was there the last time.
    pub(super) async fn recall(&self) -> Result<Option<BTreeMap<String, Outcome>>> {
        let Some(store) = &self.store else { return Ok(None) };
        let stored = store.outcomes().await?;
        let mut known = self.known.lock().await;
        if known.is_current(&stored) {
            return Ok(None);
        }
        known.recall(stored.clone());
        Ok(Some(stored))
    }

    /// Lets the last good component of a plugin serve, until its ConfigMap has been looked at.
    pub(super) async fn revive(&self, name: &str, outcome: &Outcome) {
        self.write(|registry| registry.restrict(name, outcome.access.clone()));
        let Some(served) =
            outcome.active.as_ref().filter(|served| self.serving(name).as_ref() != Some(served))
        else {
            return;
        };
        if let Some(active) = self.last_good(name, served).await {
            self.write(|registry| registry.activate(name, active.clone()));
            self.measured.serves(name, Some(&active));
        }
    }

    async fn last_good(&self, name: &str, served: &Served) -> Option<Active> {
        let copy = self.store.as_ref()?.copy(&served.digest).await.ok()??;
        let candidate = Candidate { settings: served.settings.clone(), ..copy };
        if candidate.name != name {
            return None;
        }
        self.rules.trust.vouched(&candidate).ok()?;
        let plugin = self.load(&candidate).await.ok()?;
        Some(Active { plugin, candidate: Arc::new(candidate) })
    }

    /// Lets go, again and again, what nothing needs: components in memory and, as leader, their copies.
    pub async fn collect(self: Arc<Self>) {
        loop {
            tokio::time::sleep(COLLECTION).await;
            let needed = self.needed().await;
            for gone in self.write(|registry| registry.retain(&needed)) {
                self.measured.forget(&gone);
            }
            if self.leads() {
                self.remove_copies(&needed).await;
            }
        }
    }

    async fn remove_copies(&self, needed: &BTreeSet<Digest>) {
        let Some(store) = &self.store else { return };
        let mut copies = self.copies.lock().await;
        for digest in copies.unneeded(needed, Instant::now()) {
            match store.remove_copy(&digest).await {
                Ok(()) => {
                    tracing::info!(%digest, "a copy that nothing needs was removed");
                    copies.remove(&digest);
                }
                Err(error) => tracing::warn!("{error:#}"),
            }
        }
    }

    /// Everything that serves, is a way back, or is pinned by a job that has not ended.
    async fn needed(&self) -> BTreeSet<Digest> {
        let mut needed: BTreeSet<Digest> = self.read(|registry| registry.serving().cloned().collect());
        for outcome in self.known.lock().await.all() {
            needed.extend(outcome.components().cloned());
        }
        let pinned = self.jobs.as_ref().map(LiveJobs::pinned).unwrap_or_default();
        needed.extend(pinned.iter().flat_map(|(_, pin)| pin.plugins()).map(|plugin| plugin.digest.clone()));
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_after_two_minutes_without_use_and_a_use_in_between_counts_anew() {
        let digest = Digest::of(b"1");
        let (none, all) = (BTreeSet::new(), BTreeSet::from([digest.clone()]));
        let mut copies = Copies::default();
        copies.add(&digest);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);

        assert_eq!(copies.unneeded(&none, at(0)), []);
        assert_eq!(copies.unneeded(&none, at(119)), []);
        assert_eq!(copies.unneeded(&all, at(119)), []);
        assert_eq!(copies.unneeded(&none, at(121)), []);
        assert_eq!(copies.unneeded(&none, at(241)), [digest]);
    }
}
