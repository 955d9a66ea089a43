//! The real cluster: the index in front, the API server behind.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use coxswain_model::{
    api::MpiJob,
    desired::pod_group::Priorities,
    job::ValidJob,
    seen::{Seen, Uid},
    status::{Count, Event, Tale, merge_patch},
    step::{Done, Step},
};
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Cluster, Wake,
    apply::{Applier, BUDGET},
    claims::{self, Claims},
    events::{Sink, Subject},
    fold,
    index::Shared,
    key::JobKey,
    pace::Flow,
    rest::{Call, MERGE_PATCH, Rest},
};
use crate::{error::Failed, metrics::Metrics, plugins::Answer, queue::Cause};

/// See the module.
#[derive(Clone)]
pub struct Live {
    /// Sends.
    pub rest: Rest,
    /// What the watches told.
    pub index: Shared,
    /// Takes events.
    pub events: Sink,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Asks for another pass.
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

impl Cluster for Live {
    fn job(&self, key: &JobKey) -> Option<Arc<MpiJob>> {
        self.index.read().job(key)
    }

    async fn adopt(&self, job: &ValidJob) -> Result<(), Failed> {
        let key = key(job);
        let began = !job.status.conditions.is_empty() && job.status.completion_time.is_none();
        let known = self.index.read().launchers.of(&key).iter().any(|row| *row.name == *job.names.launcher());
        if !began || known || self.claimed.contains(&key, &job.uid) {
            return Ok(());
        }
        let doing = format!("looking for the objects of {key}");
        let claimed = self.applier(job, key.clone()).claim().await;
        claimed.map_err(|failure| Failed::because(&failure, &doing))?;
        self.claimed.insert(key, job.uid.clone());
        Ok(())
    }

    async fn claims(&self, job: &ValidJob) -> Result<Claims, Failed> {
        claims::read(&self.rest, job, &key(job)).await
    }

    fn observe(&self, job: &ValidJob) -> Seen {
        self.index.read().seen(&key(job), job)
    }

    fn priorities(&self) -> Priorities {
        self.index.read().priorities.clone()
    }

    async fn apply(&self, job: &ValidJob, steps: Vec<Step>) -> Done {
        let key = key(job);
        let applier = self.applier(job, key.clone());
        let (done, left) = applier.apply(steps).await;
        if left {
            (self.wake)(&key, Cause::Other);
        }
        done
    }

    async fn record(&self, job: &MpiJob, tale: &Tale) -> Result<(), Failed> {
        if let Some(status) = &tale.status {
            let old = job.status.clone().unwrap_or_default();
            self.patch_status(job, merge_patch(&old, status)).await?;
        }
        let key = JobKey::new(&job.metadata.namespace, &job.metadata.name);
        if let Some(launcher) = self.index.read().launchers.of(&key).first() {
            self.metrics.job_launched(&launcher.name, &key.namespace);
        }
        for count in &tale.counts {
            match count {
                Count::Created => self.metrics.job_created(),
                Count::Succeeded => self.metrics.job_succeeded(),
                Count::Failed => self.metrics.job_failed(),
            }
        }
        for event in &tale.events {
            self.events.tell(Subject::job(job), event.clone());
        }
        Ok(())
    }
}

impl Live {
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
        match self.rest.send(Flow::Objects, &holder, call).await {
            Ok(body) => {
                fold::wrote_job(&self.index, &body);
                Ok(())
            }
            // Deleted meanwhile: the watch will say so.
            Err(refused) if refused.code == 404 => Ok(()),
            Err(refused) => Err(Failed::refused(refused, format!("updating the status of {holder}"))),
        }
    }
}

fn key(job: &ValidJob) -> JobKey {
    JobKey::new(job.names.namespace(), job.names.job())
}

impl Live {
    /// Tells on a plugin's ConfigMap what became of it, and has every job looked at: one may have waited for this
    /// plugin.
    pub fn plugin_answered(&self, namespace: &str, answer: Answer) {
        let subject = Subject {
            api_version: "v1",
            kind: "ConfigMap",
            namespace: namespace.to_owned(),
            name: answer.name,
            uid: answer.uid,
            version: String::new(),
        };
        let Answer { warning, reason, message, .. } = answer;
        self.events.tell(subject, Event { warning, reason: reason.to_owned(), message });
        if answer.switched {
            let jobs: Vec<JobKey> = self.index.read().jobs.jobs().cloned().collect();
            for job in &jobs {
                (self.wake)(job, Cause::Other);
            }
        }
    }
}
