//! "Already exists": is it ours? A created object may be one whose answer was lost, one of a watch that is late,
//! one that the MPI Operator made (it lacks the label that our watches select), or someone else's.

use bytes::Bytes;
use coxswain_model::{
    api::{annotations, resource},
    observed::Uid,
    step::{FailureReason, Kind, ObjectName, StepFailure},
};
use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::{
    Applier, Result1, Wrote,
    write::{answered, failure},
};
use crate::{
    kinds::written,
    limiter::Flow,
    metadata::AnyObject,
    rest::{Call, MERGE_PATCH, Refused, persist::Stop},
};

impl Applier<'_> {
    /// The answer to a POST that met an object of that name.
    pub(super) async fn adopt(
        &self,
        object: ObjectName,
        refused: Refused,
        annotations: Option<&Value>,
    ) -> Result1 {
        if refused.reason != "AlreadyExists" {
            return Err(failure(object, &refused).into());
        }
        let call = Call::new(object.kind.as_str(), Method::GET, self.path(&object));
        let body = self.write(&object, call).await?;
        let meta = AnyObject::read(&body).metadata;
        if !is_owned_by(&meta, self.job.uid()) {
            return Err(self.foreign(object, &meta).into());
        }
        let labelled = self.label(&object, &meta, body).await?;
        match annotations {
            // Pods by one pin beside a ConfigMap by another: what is there is seen by now, and decides the next time.
            Some(annotations) if !holds_the_same(&meta, annotations) => {
                let message = "it exists with another pin or other content than was to be written".to_owned();
                Err(StepFailure { object, reason: FailureReason::Conflict, message }.into())
            }
            _ => Ok(labelled),
        }
    }

    /// Finds what another operator made of this job: the objects get the label that our watches select. The
    /// launcher Job comes last, so that what is missing tells that this has not come through. Says whether there is one.
    pub async fn claim(&self) -> Result<bool, Stop<StepFailure>> {
        let names = self.job.names();
        let objects = [
            (Kind::Service, names.job().to_owned()),
            (Kind::ConfigMap, names.config()),
            (Kind::Secret, names.secret()),
            (Kind::Job, names.launcher().to_string()),
        ];
        let mut has_launcher = false;
        for (kind, name) in objects {
            let object = ObjectName { kind, name };
            let call = Call::new(kind.as_str(), Method::GET, self.path(&object));
            let body = match self.persist(Flow::Objects, answered(call, written(kind))).await {
                Ok(body) => body,
                Err(Stop::Failed(refused)) if refused.code == 404 => continue,
                Err(stop) => return Err(stop.map(|refused| failure(object, &refused))),
            };
            let meta = AnyObject::read(&body).metadata;
            if is_owned_by(&meta, self.job.uid()) {
                self.label(&object, &meta, body).await?;
                has_launcher |= kind == Kind::Job;
            }
        }
        Ok(has_launcher)
    }

    /// Gives our object the label by which the watch finds it, and folds it in. `body` is the object as read.
    async fn label(&self, object: &ObjectName, meta: &ObjectMeta, mut body: Bytes) -> Result1 {
        if let Some(labels) = self.missing_labels(object, meta) {
            let changes = json!({"metadata": {"uid": meta.uid, "labels": labels}});
            let call = Call::new(object.kind.as_str(), Method::PATCH, self.path(object))
                .body(MERGE_PATCH, changes.to_string());
            body = self.write(object, call).await?;
        }
        (written(object.kind).wrote)(self.index, &body);
        Ok(Wrote::Changed)
    }

    /// What is on its way out, or was left by a job of the same name, will be gone in a moment.
    fn foreign(&self, object: ObjectName, meta: &ObjectMeta) -> StepFailure {
        let by_this_name = |kind: &str, name: &str| kind == resource::KIND && name == self.job.names().job();
        let leftover =
            meta.owner_references.iter().flatten().any(|owner| by_this_name(&owner.kind, &owner.name));
        let message = format!(
            "Resource {:?} of Kind {:?} already exists and is not managed by MPIJob",
            object.name,
            object.kind.as_str()
        );
        let leaves = leftover || meta.deletion_timestamp.is_some();
        let reason = if leaves { FailureReason::Conflict } else { FailureReason::Foreign };
        StepFailure { object, reason, message }
    }

    /// The labels by which the watch of this kind finds the object, if any of them is missing.
    fn missing_labels(&self, object: &ObjectName, meta: &ObjectMeta) -> Option<Value> {
        let job = self.job.names().job();
        let wanted = (written(object.kind).labels)(job, &object.name);
        let has = |key: &str, value: &str| {
            meta.labels.as_ref().and_then(|labels| labels.get(key)).is_some_and(|label| label == value)
        };
        let missing = wanted.iter().any(|(key, value)| !has(key, value));
        missing.then(|| {
            wanted.iter().map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str()))).collect()
        })
    }
}

/// The ConfigMap says of pin and content what was to be written.
fn holds_the_same(meta: &ObjectMeta, annotations: &Value) -> bool {
    [annotations::ANNOTATION_PIN, annotations::ANNOTATION_CONTENT].into_iter().all(|key| {
        let there = meta.annotations.as_ref().and_then(|there| there.get(key));
        there.map(String::as_str) == annotations.get(key).and_then(Value::as_str)
    })
}

/// The ConfigMap of files has an owner that is no controller, so any owner counts.
fn is_owned_by(meta: &ObjectMeta, uid: &Uid) -> bool {
    meta.owner_references.iter().flatten().any(|owner| Uid::from(owner.uid.as_str()) == *uid)
}
