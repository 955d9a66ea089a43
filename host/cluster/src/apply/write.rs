//! The single writes: the request of each step, and what its answer means.

use bytes::Bytes;
use coxswain_model::{
    api::scheduling,
    desired::{launcher, secret},
    observed::{Uid, Version},
    step::{FailureReason, Kind, ObjectName, StepFailure},
};
use http::Method;
use serde_json::{Value, json};

use super::{Applier, Result1, Wrote};
use crate::{
    kinds::{WrittenKind, written},
    limiter::Flow,
    rest::{Call, JSON_PATCH, MERGE_PATCH, Refused, persist::Stop},
    world,
};

impl Applier<'_> {
    pub(super) async fn create(&self, object: ObjectName, manifest: &Value) -> Result1 {
        let annotations =
            manifest.pointer("/metadata/annotations").filter(|_| object.kind == Kind::ConfigMap);
        let manifest = Bytes::from(manifest.to_string());
        self.post(object, || true, || manifest.clone(), annotations).await
    }

    /// The key pair is made on a thread for computing; the private half goes nowhere but into the request.
    pub(super) async fn create_secret(&self, object: ObjectName, manifest: &Value) -> Result1 {
        let keys = world::compute(world::key_pair).await.map_err(anyhow::Error::from).flatten();
        match keys {
            Ok(keys) => self.create(object, &secret::with_keys(manifest, &keys)).await,
            Err(error) => {
                let message = format!("{error:#}");
                Err(StepFailure { object, reason: FailureReason::Unavailable, message }.into())
            }
        }
    }

    /// One whose answer was lost is found by the next try. `annotations`, of a ConfigMap, say what it holds: one that
    /// exists and says something else is not what was asked for.
    pub(super) async fn post(
        &self,
        object: ObjectName,
        wanted: impl Fn() -> bool,
        manifest: impl Fn() -> Bytes,
        annotations: Option<&Value>,
    ) -> Result1 {
        let kind = written(object.kind);
        let call = || {
            let strict = if kind.holds_users_template { "?fieldValidation=Strict" } else { "" };
            let path = format!("{}{strict}", kind.facts.collection(Some(self.job.names().namespace())));
            answered(
                Call::new(kind.facts.kind, Method::POST, path).body("application/json", manifest()),
                kind,
            )
        };
        let holder = self.job.key();
        match self.rest.persist(self.tries(kind.flow, &holder), wanted, call).await {
            Ok(body) => {
                (written(object.kind).wrote)(self.index, &body);
                Ok(Wrote::Created)
            }
            Err(Stop::Failed(refused)) if refused.code == 409 => {
                self.adopt(object, refused, annotations).await
            }
            Err(stop) => Err(stop.map(|refused| failure(object, &refused))),
        }
    }

    pub(super) async fn patch(
        &self,
        object: ObjectName,
        uid: &Uid,
        version: Version,
        mut change: Value,
        subresource: Option<&'static str>,
    ) -> Result1 {
        let preconditions = [("uid", uid.to_string()), ("resourceVersion", version.0.to_string())];
        if let Some(fields) = change.as_object_mut() {
            let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
            for (key, value) in preconditions {
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.insert(key.to_owned(), value.into());
                }
            }
        }
        let mut path = self.path(&object);
        if let Some(subresource) = subresource {
            path = format!("{path}/{subresource}");
        }
        let call = Call::new(object.kind.as_str(), Method::PATCH, path).body(MERGE_PATCH, change.to_string());
        let body = self.write_observed(&object, uid, call).await?;
        (written(object.kind).wrote)(self.index, &body);
        Ok(Wrote::Changed)
    }

    pub(super) async fn resume(&self, object: ObjectName, uid: &Uid, desired: &Value) -> Result1 {
        let kind = object.kind.as_str();
        let mut current = self.read(&object, uid).await?;
        if current.pointer("/status/startTime").is_some_and(|time| !time.is_null()) {
            let version = current.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
            let reset = json!({"metadata": {"uid": uid.to_string(), "resourceVersion": version}, "status": {"startTime": null}});
            let path = format!("{}/status", self.path(&object));
            let call = Call::new(kind, Method::PATCH, path).body(MERGE_PATCH, reset.to_string());
            current = parsed(&object, &self.write_observed(&object, uid, call).await?)?;
        }
        let call =
            Call::new(kind, Method::PUT, self.path(&object)).json(&launcher::resumed(current, desired));
        let body = self.write_observed(&object, uid, call).await?;
        (written(object.kind).wrote)(self.index, &body);
        Ok(Wrote::Changed)
    }

    /// The object as it is, if it is still the one with this uid.
    async fn read(&self, object: &ObjectName, uid: &Uid) -> Result<Value, Stop<StepFailure>> {
        let call = Call::new(object.kind.as_str(), Method::GET, self.path(object));
        let body = self.write_observed(object, uid, call).await?;
        let current = parsed(object, &body)?;
        if current.pointer("/metadata/uid").and_then(Value::as_str) == Some(&*uid.to_string()) {
            return Ok(current);
        }
        let message = "the object is another one by now".to_owned();
        Err(StepFailure { object: object.clone(), reason: FailureReason::Conflict, message }.into())
    }

    pub(super) async fn open_gate(&self, pod: String, version: Version, position: usize) -> Result1 {
        let object = ObjectName { kind: Kind::Pod, name: pod };
        let gate = format!("/spec/schedulingGates/{position}");
        let patch = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version.0.to_string()},
            {"op": "test", "path": format!("{gate}/name"), "value": scheduling::GATE_WORKERS},
            {"op": "remove", "path": gate},
        ]);
        let call = Call::new("Pod", Method::PATCH, self.path(&object)).body(JSON_PATCH, patch.to_string());
        match self.persist(Flow::Objects, call).await {
            Ok(body) => {
                (written(Kind::Pod).wrote)(self.index, &body);
                Ok(Wrote::Changed)
            }
            // A test that does not hold is answered with 422: the pod has changed since it was observed.
            Err(Stop::Failed(refused)) if refused.code == 422 => {
                Err(StepFailure { reason: FailureReason::Conflict, ..failure(object, &refused) }.into())
            }
            Err(Stop::Failed(refused)) => {
                let observed = self.index.read();
                let pod = observed.pods.of(&self.key).iter().find(|pod| *pod.name == *object.name);
                let pod_uid = pod.map(|pod| pod.uid.clone());
                drop(observed);
                if let Some(uid) = pod_uid {
                    self.drop_if_gone(&object, &uid, &refused);
                }
                Err(changed(object, &refused).into())
            }
            Err(stop) => Err(stop.map(|refused| changed(object, &refused))),
        }
    }

    pub(super) async fn delete(&self, object: ObjectName, uid: &Uid, version: Option<Version>) -> Result1 {
        let mut preconditions = json!({"uid": uid.to_string()});
        if let (Some(version), Some(fields)) = (version, preconditions.as_object_mut()) {
            fields.insert("resourceVersion".to_owned(), version.0.to_string().into());
        }
        let options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": preconditions,
        });
        let kind = object.kind;
        let call = Call::new(kind.as_str(), Method::DELETE, self.path(&object)).json(&options);
        let body = match self.persist(written(kind).flow, call.metadata_only()).await {
            Ok(body) => Some(body),
            // Gone, or the name belongs to a later object.
            Err(Stop::Failed(refused))
                if refused.code == 404 || (refused.code == 409 && version.is_none()) =>
            {
                None
            }
            Err(stop) => return Err(stop.map(|refused| failure(object, &refused))),
        };
        let went = (written(kind).deleted)(self.index, &self.key, uid, body.as_ref());
        Ok(if went { Wrote::Gone } else { Wrote::Deleted })
    }

    /// A request about the object of this uid. If there is none of its name, it is forgotten, whatever the watch has reported.
    async fn write_observed(
        &self,
        object: &ObjectName,
        uid: &Uid,
        call: Call,
    ) -> Result<Bytes, Stop<StepFailure>> {
        let sent = self.persist(written(object.kind).flow, answered(call, written(object.kind))).await;
        sent.map_err(|stop| {
            stop.map(|refused| {
                self.drop_if_gone(object, uid, &refused);
                changed(object.clone(), &refused)
            })
        })
    }

    fn drop_if_gone(&self, object: &ObjectName, uid: &Uid, refused: &Refused) {
        if refused.says_gone(&object.name) {
            (written(object.kind).deleted)(self.index, &self.key, uid, None);
        }
    }

    /// A request about an object that was observed.
    pub(super) async fn write(&self, object: &ObjectName, call: Call) -> Result<Bytes, Stop<StepFailure>> {
        let sent = self.persist(written(object.kind).flow, answered(call, written(object.kind))).await;
        sent.map_err(|stop| stop.map(|refused| changed(object.clone(), &refused)))
    }

    pub(super) async fn persist(&self, flow: Flow, call: Call) -> Result<Bytes, Stop<Refused>> {
        let holder = self.job.key();
        self.rest.persist(self.tries(flow, &holder), || true, || call.clone()).await
    }

    pub(super) fn path(&self, object: &ObjectName) -> String {
        let collection = written(object.kind).facts.collection(Some(self.job.names().namespace()));
        format!("{collection}/{}", object.name)
    }
}

/// The request, asking for no more of the answer than is kept.
pub(super) fn answered(call: Call, kind: WrittenKind) -> Call {
    if kind.answered_by_metadata { call.metadata_only() } else { call }
}

pub(super) fn failure(object: ObjectName, refused: &Refused) -> StepFailure {
    StepFailure { object, reason: refused.failure(), message: refused.message.clone() }
}

/// For objects that were observed: 404 means that what was observed is out of date.
fn changed(object: ObjectName, refused: &Refused) -> StepFailure {
    let failed = failure(object, refused);
    if refused.code == 404 { StepFailure { reason: FailureReason::Conflict, ..failed } } else { failed }
}

fn parsed(object: &ObjectName, body: &Bytes) -> Result<Value, StepFailure> {
    serde_json::from_slice(body).map_err(|error| StepFailure {
        object: object.clone(),
        reason: FailureReason::Unavailable,
        message: format!("the API server's answer is no JSON: {error}"),
    })
}
