//! Releases what no job and no plugin needs any more: components in memory, and their copies in the cluster. The leader alone
//! removes copies.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use coxswain_model::pin::Digest;
use tokio::time::{Instant, sleep};

use crate::{jobs::LiveJobs, serving::Plugins};

/// How often that is looked at. It costs no request.
const COLLECTION: Duration = Duration::from_secs(20);

impl Plugins {
    /// Releases, again and again, what nothing needs: components in memory and, as leader, their copies.
    pub async fn collect(self: Arc<Self>) {
        loop {
            sleep(COLLECTION).await;
            let needed = self.needed().await;
            for gone in self.write(|registry| registry.retain(&needed)) {
                self.metrics.forget(&gone);
            }
            if self.leads() {
                if let Err(error) = self.keep_all().await {
                    tracing::warn!("keeping copies of the plugins: {error:#}");
                }
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
        for status in self.statuses.lock().await.all() {
            needed.extend(status.components().cloned());
        }
        let pinned = self.jobs.as_ref().map(LiveJobs::pinned).unwrap_or_default();
        needed.extend(pinned.iter().flat_map(|(_, pin)| pin.plugins()).map(|plugin| plugin.digest.clone()));
        needed
    }
}
