//! The Lease as it is written: what a candidate reads from it and puts into it. Labels, annotations and fields
//! that we do not know are left as they are.

use std::{future::Future, sync::Arc, time::Duration};

use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Map, Value, json};

use crate::{
    metrics::Metrics,
    rest::{self, Call, Refused},
};

/// Where the one lease is kept.
pub trait Record: Send + Sync {
    /// As it is; nothing if there is none.
    fn read(&self) -> impl Future<Output = Result<Option<Value>, Refused>> + Send;
    /// Refused with 409 if there is one.
    fn create(&self, lease: Value) -> impl Future<Output = Result<Value, Refused>> + Send;
    /// Refused with 409 if it has changed since, with 404 if it is gone.
    fn update(&self, lease: Value) -> impl Future<Output = Result<Value, Refused>> + Send;
}

/// The API server's. Nothing stands before its requests, and none is waited for without a limit.
#[derive(Clone)]
pub struct LeaseApi {
    /// Of its own, so that no burst of creates stands before a renewal.
    pub client: Client,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// For one request, from handing it over to the last byte of its answer.
    pub limit: Duration,
    /// `--lock-namespace`.
    pub namespace: String,
    /// `mpi-operator`.
    pub name: String,
}

impl LeaseApi {
    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    async fn send(&self, method: Method, path: String, body: Option<Value>) -> Result<Value, Refused> {
        let call = Call::new("Lease", method, path);
        let call = match body {
            Some(body) => call.json(&body),
            None => call,
        };
        let answer = rest::send_unpaced(&self.client, &self.metrics, self.limit, call).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| Refused::unanswered(format!("the Lease is no JSON: {error}")))
    }
}

impl Record for LeaseApi {
    async fn read(&self) -> Result<Option<Value>, Refused> {
        match self.send(Method::GET, format!("{}/{}", self.collection(), self.name), None).await {
            Ok(lease) => Ok(Some(lease)),
            Err(refused) if refused.code == 404 => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    async fn create(&self, mut lease: Value) -> Result<Value, Refused> {
        if let Some(fields) = lease.as_object_mut() {
            fields.insert("metadata".to_owned(), json!({"name": self.name, "namespace": self.namespace}));
        }
        self.send(Method::POST, self.collection(), Some(lease)).await
    }

    async fn update(&self, lease: Value) -> Result<Value, Refused> {
        self.send(Method::PUT, format!("{}/{}", self.collection(), self.name), Some(lease)).await
    }
}

/// `spec.holderIdentity`; empty if nobody holds it.
pub(super) fn holder(lease: &Value) -> &str {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

/// `spec.leaseDurationSeconds`: what the holder promised.
pub(super) fn duration(lease: &Value) -> Option<Duration> {
    lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64).map(Duration::from_secs)
}

/// A new lease of ours.
pub(super) fn first(identity: &str, duration: Duration, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {
            "holderIdentity": identity,
            "leaseDurationSeconds": duration.as_secs(),
            "acquireTime": micros(now),
            "renewTime": micros(now),
            "leaseTransitions": 0,
        },
    })
}

/// The lease renewed if it is ours, else taken over.
pub(super) fn taken(lease: &Value, identity: &str, duration: Duration, now: Timestamp) -> Value {
    let took_over = holder(lease) != identity;
    let transitions = lease.pointer("/spec/leaseTransitions").and_then(Value::as_u64).unwrap_or(0);
    with_spec(lease, |spec| {
        spec.insert("holderIdentity".to_owned(), identity.into());
        spec.insert("leaseDurationSeconds".to_owned(), duration.as_secs().into());
        spec.insert("renewTime".to_owned(), micros(now).into());
        if took_over {
            spec.insert("acquireTime".to_owned(), micros(now).into());
            spec.insert("leaseTransitions".to_owned(), (transitions + 1).into());
        }
    })
}

/// The lease without a holder, as client-go gives it back.
pub(super) fn released(lease: &Value, now: Timestamp) -> Value {
    with_spec(lease, |spec| {
        spec.insert("holderIdentity".to_owned(), "".into());
        spec.insert("leaseDurationSeconds".to_owned(), 1.into());
        spec.insert("renewTime".to_owned(), micros(now).into());
        spec.insert("acquireTime".to_owned(), micros(now).into());
    })
}

fn with_spec(lease: &Value, edit: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut lease = lease.clone();
    if let Some(fields) = lease.as_object_mut() {
        let spec = fields.entry("spec").or_insert_with(|| json!({}));
        if let Some(spec) = spec.as_object_mut() {
            edit(spec);
        }
    }
    lease
}

/// Kubernetes' `MicroTime`.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
