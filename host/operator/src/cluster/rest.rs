//! One request to the API server: with a time limit, paced, counted, and its refusal told apart.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use coxswain_model::step::{FailureReason, Kind};
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    lease::Standing,
    pace::{Answer, Flow, Pace, Permit},
};
use crate::metrics::Metrics;

/// An API server that has not answered a single-object request after this long will not; its own limit for
/// writes is 34 s, but by then the picture that the write rests on is old.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// JSON merge patch.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// JSON patch.
pub const JSON_PATCH: &str = "application/json-patch+json";
const JSON: &str = "application/json";
/// The API server then answers with metadata alone: 0.5 KiB in place of 5 for a pod.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Kind for the metrics.
    pub kind: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Content type of the body.
    pub content: &'static str,
    /// What is sent.
    pub body: Bytes,
    /// Ask for metadata alone.
    pub metadata_only: bool,
}

impl Call {
    /// A request without body that wants the whole object.
    pub fn new(kind: &'static str, method: Method, path: String) -> Self {
        Self { kind, method, path, content: JSON, body: Bytes::new(), metadata_only: false }
    }

    /// The same with a body.
    #[must_use]
    pub fn body(mut self, content: &'static str, body: impl Into<Bytes>) -> Self {
        self.content = content;
        self.body = body.into();
        self
    }

    /// The same with JSON as its body.
    #[must_use]
    pub fn json(self, body: &serde_json::Value) -> Self {
        self.body(JSON, body.to_string())
    }

    /// The same, asking for metadata alone where no more of this kind is kept. Keeps Secrets' values out of the
    /// process.
    #[must_use]
    pub fn metadata_of(self, kind: Kind) -> Self {
        match kind {
            Kind::Pod | Kind::ConfigMap | Kind::Secret => self.metadata_only(),
            Kind::Service | Kind::Job | Kind::VolcanoPodGroup | Kind::SchedulerPluginsPodGroup => self,
        }
    }

    /// The same, asking for metadata alone.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

/// Why a request did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// HTTP status; 0 if there was no answer.
    pub code: u16,
    /// `reason` of the API server's Status, such as `AlreadyExists`.
    pub reason: String,
    /// The API server's words, or what went wrong on the way.
    pub message: String,
    /// It asked to be left alone for so long.
    pub retry_after: Option<Duration>,
}

impl Refused {
    fn on_the_way(message: String) -> Self {
        Self { code: 0, reason: String::new(), message, retry_after: None }
    }

    /// What the retry is decided by.
    pub fn failure(&self) -> FailureReason {
        match self.code {
            409 => FailureReason::Conflict,
            400 | 413 | 422 => FailureReason::Invalid,
            // A namespace that is being deleted refuses with 403, a missing one with 404.
            401 | 403 | 404 | 405 => FailureReason::Forbidden,
            _ => FailureReason::Unavailable,
        }
    }

    /// Overload, as far as the pace is concerned.
    fn is_overload(&self) -> bool {
        matches!(self.code, 0 | 429 | 503 | 504)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
}

/// Sends requests.
#[derive(Clone)]
pub struct Rest {
    client: Client,
    pace: Arc<Pace>,
    metrics: Arc<Metrics>,
    timeout: Duration,
    standing: Option<Standing>,
}

impl Rest {
    /// Over this client, at this pace.
    pub fn new(client: Client, pace: Arc<Pace>, metrics: Arc<Metrics>) -> Self {
        Self { client, pace, metrics, timeout: TIMEOUT, standing: None }
    }

    /// The same with another time limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same, sending only while this process leads.
    #[must_use]
    pub fn while_leading(mut self, standing: Standing) -> Self {
        self.standing = Some(standing);
        self
    }

    /// What it goes by.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Waits for its turn in `flow`; `holder` is the job on whose behalf (jobs share fairly).
    pub async fn turn(&self, flow: Flow, holder: &str) -> Permit {
        self.pace.turn(flow, holder).await
    }

    /// Waits for its turn and sends.
    pub async fn send(&self, flow: Flow, holder: &str, call: Call) -> Result<Bytes, Refused> {
        let permit = self.turn(flow, holder).await;
        self.send_now(permit, call).await
    }

    /// Sends with a turn already taken.
    pub async fn send_now(&self, permit: Permit, call: Call) -> Result<Bytes, Refused> {
        if self.standing.as_ref().is_some_and(|standing| !standing.leads()) {
            return Err(Refused::on_the_way("this process does not hold the lease".to_owned()));
        }
        let (kind, verb) = (call.kind, verb(&call));
        let start = Instant::now();
        let result = match tokio::time::timeout(self.timeout, self.exchange(call)).await {
            Ok(result) => result,
            Err(_) => Err(Refused::on_the_way(format!("no answer within {} s", self.timeout.as_secs()))),
        };
        let code = result.as_ref().map_or_else(|refused| refused.code, |(code, _)| code.as_u16());
        self.metrics.api_request(verb, kind, code, start.elapsed());
        permit.answered(match &result {
            Err(refused) if refused.is_overload() => Answer::Overload { retry_after: refused.retry_after },
            _ => Answer::Fine,
        });
        result.map(|(_, body)| body)
    }

    async fn exchange(&self, call: Call) -> Result<(StatusCode, Bytes), Refused> {
        let accept = if call.metadata_only { METADATA } else { JSON };
        let request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, call.content)
            .body(Body::from(call.body.to_vec()))
            .map_err(|error| Refused::on_the_way(error.to_string()))?;
        let response = self.client.send(request).await.map_err(|error| Refused::on_the_way(chain(&error)))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| Refused::on_the_way(chain(&error)))?.to_bytes();
        if parts.status.is_success() {
            return Ok((parts.status, body));
        }
        let retry_after = parts.headers.get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let Status { reason, message } = serde_json::from_slice(&body).unwrap_or_default();
        let message = if message.is_empty() {
            format!("the API server answered {}: {}", parts.status, excerpt(&body))
        } else {
            message
        };
        let code = parts.status.as_u16();
        Err(Refused { code, reason, message, retry_after: retry_after.map(Duration::from_secs) })
    }
}

/// What the metrics call it: the API server's own verbs.
fn verb(call: &Call) -> &'static str {
    match call.method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    }
}

/// An answer that is no Status comes from a proxy; its first line is enough to say which.
fn excerpt(body: &Bytes) -> String {
    String::from_utf8_lossy(body).lines().next().unwrap_or_default().chars().take(200).collect()
}

/// The error and its causes, so that "connection refused" is not lost behind "service error".
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}

/// The collection of `kind` in `namespace`.
pub fn collection(kind: Kind, namespace: &str) -> String {
    let (api, plural) = match kind {
        Kind::Service => ("api/v1", "services"),
        Kind::ConfigMap => ("api/v1", "configmaps"),
        Kind::Secret => ("api/v1", "secrets"),
        Kind::Pod => ("api/v1", "pods"),
        Kind::Job => ("apis/batch/v1", "jobs"),
        Kind::VolcanoPodGroup => ("apis/scheduling.volcano.sh/v1beta1", "podgroups"),
        Kind::SchedulerPluginsPodGroup => ("apis/scheduling.x-k8s.io/v1alpha1", "podgroups"),
    };
    format!("/{api}/namespaces/{namespace}/{plural}")
}

/// The kind in the metrics.
pub fn kind_label(kind: Kind) -> &'static str {
    match kind {
        Kind::Service => "Service",
        Kind::ConfigMap => "ConfigMap",
        Kind::Secret => "Secret",
        Kind::Pod => "Pod",
        Kind::Job => "Job",
        Kind::VolcanoPodGroup | Kind::SchedulerPluginsPodGroup => "PodGroup",
    }
}
