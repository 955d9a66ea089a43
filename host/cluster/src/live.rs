//! The real cluster: the index in front, the API server behind.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use coxswain_model::{
    api::MpiJob,
    desired::pod_group::Priorities,
    job::ValidJob,
    observed::{ObservedState, Uid},
    phase,
    status::{Count, StatusUpdate, merge_patch},
    step::{Done, FailureReason, Step},
};
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    apply::{Applier, BUDGET},
    claims::{self, Claims},
    events::{Sink, Subject},
    failed::Failed,
    fold,
    index::Shared,
    key::JobKey,
    kinds::DecodedMpiJob,
    limiter::Flow,
    metrics::Metrics,
    named::Named,
    rest::{
        Call, MERGE_PATCH, Rest,
        persist::{Stop, Tries},
    },
    wake::{Cause, Wake},
    world,
};

/// A status is begun within this time or reported by a later reconcile, which has a newer one.
const STATUS: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Clone)]
pub struct Live {
    /// Sends.
    pub rest: Rest,
    /// What the watches reported.
    pub index: Shared,
    /// Takes events.
    pub events: Sink,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Asks for another reconcile.
    pub wake: Wake,
    /// Jobs whose objects have been looked for.
    pub claimed: Claimed,
}

/// Jobs without a launcher Job whose other objects were looked for once in this process's life. Few: jobs that
/// are suspended or wait for their workers, and those that another operator began.
#[derive(Clone, Debug, Default)]
pub struct Claimed(Arc<Mutex<HashMap<JobKey, Uid>>>);

impl Claimed {
    fn contains(&self, key: &JobKey, job: &Uid) -> bool {
        self.lock().get(key) == Some(job)
    }

    fn insert(&self, key: JobKey, job: Uid) {
        self.lock().insert(key, job);
    }

    /// Forgets a job that is no more.
    pub fn forget(&self, key: &JobKey) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobKey, Uid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// The job as last seen or written. Out of memory.
    pub fn job(&self, key: &JobKey) -> Option<Arc<MpiJob>> {
        self.index.job(key)
    }

    /// Before the first look at a job that another operator began: makes what that one created visible to the
    /// watches. Also where the launcher Job of a job that may have run is not seen: makes sure that it is gone. Does
    /// nothing, without a request, for any other job.
    pub async fn adopt(&self, job: &ValidJob) -> Result<(), Failed> {
        let key = key(job);
        let began = !job.status().conditions.is_empty() && job.status().completion_time.is_none();
        let is_known = {
            let index = self.index.read();
            let is_launcher = |row: &Named<_>| *row.name == *job.names().launcher().as_ref();
            index.launchers.of(&key).iter().any(is_launcher) || index.gone.knows(&key, job.uid())
        };
        // A launcher that may have run is looked for again wherever the watches do not show it: they may be late.
        let is_missing = phase::had_launcher(job);
        if !began || is_known || (self.claimed.contains(&key, job.uid()) && !is_missing) {
            return Ok(());
        }
        let doing = format!("looking for the objects of {key}");
        let claimed = self.applier(job, key.clone()).claim().await;
        let has_launcher = claimed.map_err(|stop| match stop {
            Stop::Failed(failure) => Failed::because(&failure, &doing),
            Stop::Late | Stop::Unwanted => Failed::late(&doing),
        })?;
        if is_missing && !has_launcher {
            let mut index = self.index.write();
            // A row that something else than a watch has dropped may hold the end.
            index.note_left(world::now());
            index.gone.not_found(key.clone(), job.uid());
        }
        self.claimed.insert(key, job.uid().clone());
        Ok(())
    }

    /// What the objects behind the job's device claims say: one request for each of them, none for a job without.
    pub async fn claims(&self, job: &ValidJob) -> Result<Claims, Failed> {
        claims::read(&self.rest, job, &key(job)).await
    }

    /// What exists of it, our own writes included. Out of memory; no request.
    pub fn observe(&self, job: &ValidJob) -> ObservedState {
        self.index.read().observed(&key(job), job)
    }

    /// Values of the priority classes by name, under gang scheduling. Out of memory.
    pub fn priorities(&self) -> Priorities {
        self.index.read().priorities.clone()
    }

    /// Carries the steps out, wave by wave. Never fails as a whole: what did not succeed stands in `Done`.
    pub async fn apply(&self, job: &ValidJob, steps: Vec<Step>) -> Done {
        let key = key(job);
        let applier = self.applier(job, key.clone());
        let (done, left) = applier.apply(steps).await;
        if left {
            (self.wake)(&key, Cause::Other);
        }
        done
    }

    /// Writes the status if the update has a new one (one patch, against the version of `job`), then hands over
    /// the events and counts the counts. `job` is the one that the update was made from.
    pub async fn record(&self, job: &MpiJob, update: &StatusUpdate) -> Result<(), Failed> {
        let written = match &update.status {
            Some(status) => {
                let old = job.status.clone().unwrap_or_default();
                self.patch_status(job, merge_patch(&old, status)).await
            }
            None => Ok(()),
        };
        // What a status says that the API server will never take could not be reported otherwise.
        let is_reported = written.as_ref().err().is_none_or(|failed| failed.reason == FailureReason::Invalid);
        let events = if is_reported { update.events.as_slice() } else { &[] };
        for event in events.iter().chain(&update.acts) {
            self.events.emit(Subject::job(job), event.clone());
        }
        written?;
        self.note_launcher(job);
        for count in &update.counts {
            match count {
                Count::Created => self.metrics.job_created(),
                Count::Succeeded => self.metrics.job_succeeded(),
                Count::Failed => self.metrics.job_failed(),
            }
        }
        Ok(())
    }

    /// The same for one term: what began in an earlier one writes no more, and nothing is known of what it did.
    #[must_use]
    pub fn in_term(&self, term: u64) -> Self {
        Self { rest: self.rest.clone().in_term(Some(term)), claimed: Claimed::default(), ..self.clone() }
    }

    fn applier<'a>(&'a self, job: &'a ValidJob, key: JobKey) -> Applier<'a> {
        Applier {
            rest: &self.rest,
            index: &self.index,
            metrics: &self.metrics,
            job,
            key,
            deadline: Instant::now() + BUDGET,
        }
    }

    /// Counts the job's own launcher Job: tenants can label others, and no series of those would ever go.
    fn note_launcher(&self, job: &MpiJob) {
        let key = JobKey::new(&job.metadata.namespace, &job.metadata.name);
        let (name, owner) = (format!("{}-launcher", key.name), Uid::from(job.metadata.uid.as_str()));
        let index = self.index.read();
        let mut launchers = index.launchers.of(&key).iter();
        if launchers.any(|row| *row.name == *name && row.observed.object.is_controlled_by(&owner)) {
            self.metrics.job_launched(&name, &key.namespace);
        }
    }

    async fn patch_status(&self, job: &MpiJob, mut change: Value) -> Result<(), Failed> {
        let meta = &job.metadata;
        if let Some(fields) = change.as_object_mut() {
            let preconditions = json!({"uid": meta.uid, "resourceVersion": meta.resource_version});
            fields.insert("metadata".to_owned(), preconditions);
        }
        let (namespace, name) = (&meta.namespace, &meta.name);
        let path = format!("/apis/kubeflow.org/v2beta1/namespaces/{namespace}/mpijobs/{name}/status");
        let call = Call::new("MPIJob", Method::PATCH, path).body(MERGE_PATCH, change.to_string());
        let holder = format!("{namespace}/{name}");
        let tries = Tries { flow: Flow::Objects, holder: &holder, deadline: Instant::now() + STATUS };
        match self.rest.persist(tries, || true, || call.clone()).await {
            Ok(body) => {
                fold::wrote::<DecodedMpiJob>(&self.index, &body);
                Ok(())
            }
            // Deleted meanwhile: the watch will say so, or should have said so.
            Err(Stop::Failed(refused)) if refused.code == 404 => {
                if refused.says_gone(name) {
                    let (key, uid) = (JobKey::new(namespace, name), Uid::from(meta.uid.as_str()));
                    fold::deleted::<DecodedMpiJob>(&self.index, &key, &uid, None);
                }
                Ok(())
            }
            Err(Stop::Failed(refused)) => {
                Err(Failed::refused(refused, format!("updating the status of {holder}")))
            }
            Err(Stop::Late | Stop::Unwanted) => {
                Err(Failed::late(&format!("updating the status of {holder}")))
            }
        }
    }
}

fn key(job: &ValidJob) -> JobKey {
    JobKey::new(job.names().namespace(), job.names().job())
}

#[cfg(test)]
mod tests;
