//! The jobs that live now, as far as plugins are concerned: what each is pinned to, and what it asks for.

use std::{collections::HashMap, sync::Arc};

use coxswain_model::{
    api::resource,
    desired::{self, Gang},
    job::{ValidJob, Verdict},
    observed::ObservedObject,
    pin::{Digest, Pin},
    view::JobView,
};
use tokio::sync::watch;

use coxswain_cluster::{index::Shared, job_row::JobRow, key::JobKey, table::Row as _};

/// Reads the index; nothing is kept here.
#[derive(Clone)]
pub struct LiveJobs {
    /// What the watches reported.
    pub index: Shared,
    /// `--gang-scheduling`: it is part of what a plugin sees.
    pub gang: Gang,
    /// One for each watch, true once it has listed all.
    pub synced: Vec<watch::Receiver<bool>>,
}

/// A job and how its plugins see it.
pub struct ObservedJob {
    /// The job, under the cluster domain of its pin.
    pub job: ValidJob,
    /// The same for plugins.
    pub view: JobView,
}

impl LiveJobs {
    /// Waits until all that is there is known.
    pub async fn synced(&self) {
        for mut kind in self.synced.clone() {
            // A watch that has ended ends the process elsewhere.
            let _ = kind.wait_for(|synced| *synced).await;
        }
    }

    /// Every job with a pin that has not ended. Pins of many jobs are alike, and are shared.
    pub fn pinned(&self) -> Vec<(JobKey, Arc<Pin>)> {
        let index = self.index.read();
        let mut read: HashMap<Arc<str>, Option<Arc<Pin>>> = HashMap::new();
        let mut pinned = Vec::new();
        // Of a job that is set aside nothing may be known, but what it made goes on.
        let aside = index.aside.names(resource::KIND).filter(|key| index.jobs.of(key).is_empty());
        for key in index.jobs.jobs().chain(aside) {
            let rows = index.jobs.of(key);
            if !rows.is_empty() && rows.iter().all(JobRow::has_ended) {
                continue;
            }
            let configs = index.configs.of(key).iter().filter_map(|config| config.observed.pin.as_ref());
            let launchers =
                index.launchers.of(key).iter().filter_map(|launcher| launcher.observed.pin.as_ref());
            for text in configs.chain(launchers) {
                let pin =
                    read.entry(Arc::clone(text)).or_insert_with(|| Pin::from_annotation(text).map(Arc::new));
                pinned.extend(pin.clone().map(|pin| (key.clone(), pin)));
            }
        }
        pinned.dedup();
        pinned
    }

    /// Jobs that a switch to this component concerns: those without a pin may have waited for it, and those that are pinned to
    /// it may have lost it. All others keep their pins and would be looked at in vain, before jobs that come.
    pub fn concerned(&self, digest: &Digest) -> Vec<JobKey> {
        let index = self.index.read();
        let mut read: HashMap<Arc<str>, bool> = HashMap::new();
        let mut is_of_another = |text: &Arc<str>| {
            let read_now = || {
                let pin = Pin::from_annotation(text);
                pin.is_some_and(|pin| pin.plugins().all(|pinned| pinned.digest != *digest))
            };
            *read.entry(Arc::clone(text)).or_insert_with(read_now)
        };
        let mut is_concerned = |key: &JobKey| {
            let Some(job) = index.jobs.of(key).first() else { return false };
            let ours = |object: &ObservedObject| object.controller.as_ref() == Some(job.uid());
            let configs = index.configs.of(key).iter().map(|row| (&row.observed.object, &row.observed.pin));
            let launchers =
                index.launchers.of(key).iter().map(|row| (&row.observed.object, &row.observed.pin));
            let mut pins = configs.chain(launchers).filter(|(object, _)| ours(object));
            !pins.any(|(_, pin)| pin.as_ref().is_some_and(&mut is_of_another))
        };
        index.jobs.jobs().filter(|key| is_concerned(key)).cloned().collect()
    }

    /// A job for a shadow render; `None` if it is gone, or wrong by now.
    pub fn see(&self, key: &JobKey, pin: &Pin) -> Option<ObservedJob> {
        let raw = self.index.job(key)?;
        let domain = pin.cluster_domain.as_deref();
        let Verdict::Valid(job) = ValidJob::parse(&raw, domain) else { return None };
        let job = job.under_domain(domain);
        let gated = desired::launcher::gated(&job, &self.gang);
        let view = job.view_pinned(pin, gated);
        Some(ObservedJob { job, view })
    }
}
