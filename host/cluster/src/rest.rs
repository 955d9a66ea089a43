//! One request to the API server: with a time limit, limited in number, counted, and its refusal told apart.

pub mod persist;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use coxswain_model::step::FailureReason;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use serde::Deserialize;
use tokio::time::Instant;

use crate::{
    leadership::Leadership,
    limiter::{Answer, ConcurrencyLimiter, Flow, Permit},
    metrics::Metrics,
};

/// An API server that has not answered a single-object request after this long will not; its own limit for
/// writes is 34 s, but by then the picture that the write rests on is old.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// A write that fails after this long has waited for something of its namespace's: webhooks, mostly.
const SLOW: Duration = Duration::from_secs(1);

/// What begins a refusal that is a webhook's and not the server's.
const WEBHOOK: &str = "admission webhook ";

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

    /// The same, asking for metadata alone.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.metadata_only = true;
        self
    }
}

/// The request never left this process.
pub const NOT_SENT: &str = "NotSent";

/// Why a request did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// HTTP status; 0 if there was no answer.
    pub code: u16,
    /// `reason` of the API server's Status, such as `AlreadyExists`; [`NOT_SENT`] if there is none as nothing was asked.
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

    /// There was no answer that could be understood.
    pub fn unanswered(message: String) -> Self {
        Self::on_the_way(message)
    }

    fn not_sent(message: String) -> Self {
        Self { reason: NOT_SENT.to_owned(), ..Self::on_the_way(message) }
    }

    /// It may pass by itself in a moment.
    pub fn is_transient(&self) -> bool {
        match self.code {
            0 => self.reason != NOT_SENT,
            code => code == 429 || code >= 500,
        }
    }

    /// What the retry is decided by.
    pub fn failure(&self) -> FailureReason {
        match self.code {
            // etcd's bound on one object, which the API server passes on as a fault of its own.
            500 if self.message.contains("request is too large") => FailureReason::Invalid,
            409 => FailureReason::Conflict,
            400 | 413 | 422 => FailureReason::Invalid,
            // A namespace that is being deleted refuses with 403, a missing one with 404.
            401 | 403 | 404 | 405 => FailureReason::Forbidden,
            _ => FailureReason::Unavailable,
        }
    }

    /// There is no object of this name. A 404 without its name tells less: that the kind is not served, for example.
    pub fn says_gone(&self, name: &str) -> bool {
        self.code == 404 && self.reason == "NotFound" && self.message.contains(&format!("\"{name}\""))
    }

    /// What this answer to a request, after so long, says about the load. A webhook's word is not the server's.
    fn says(&self, read: bool, took: Duration) -> Answer {
        match self.code {
            500 if !read && took >= SLOW => Answer::Silent { read },
            0 | 429 | 503 | 504 if !self.message.starts_with(WEBHOOK) => {
                Answer::Overload { retry_after: self.retry_after }
            }
            _ => Answer::Fine,
        }
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
    limiter: Arc<ConcurrencyLimiter>,
    metrics: Arc<Metrics>,
    timeout: Duration,
    leadership: Option<Leadership>,
    term: Option<u64>,
}

impl Rest {
    /// Over this client, through this limiter.
    pub fn new(client: Client, limiter: Arc<ConcurrencyLimiter>, metrics: Arc<Metrics>) -> Self {
        Self { client, limiter, metrics, timeout: TIMEOUT, leadership: None, term: None }
    }

    /// The same, sending only while this process leads.
    #[must_use]
    pub fn while_leading(mut self, leadership: Leadership) -> Self {
        self.leadership = Some(leadership);
        self
    }

    /// The same, sending only in this term: whatever began in an earlier one writes no more.
    #[must_use]
    pub fn in_term(mut self, term: Option<u64>) -> Self {
        self.term = term;
        self
    }

    /// What it asks before it sends.
    pub fn leadership(&self) -> Option<&Leadership> {
        self.leadership.as_ref()
    }

    fn may_send(&self) -> bool {
        match (&self.leadership, self.term) {
            (Some(leadership), Some(term)) => leadership.leads_in(term),
            (Some(leadership), None) => leadership.leads(),
            (None, _) => true,
        }
    }

    /// What it goes by.
    pub fn limiter(&self) -> &Arc<ConcurrencyLimiter> {
        &self.limiter
    }

    /// Waits for a permit in `flow`; `holder` is the job on whose behalf (jobs share fairly).
    pub async fn acquire(&self, flow: Flow, holder: &str) -> Permit {
        self.limiter.acquire(flow, holder).await
    }

    /// Waits for a permit and sends.
    pub async fn send(&self, flow: Flow, holder: &str, call: Call) -> Result<Bytes, Refused> {
        let permit = self.acquire(flow, holder).await;
        self.send_now(permit, call).await
    }

    /// Sends with a permit already taken.
    pub async fn send_now(&self, permit: Permit, call: Call) -> Result<Bytes, Refused> {
        if !self.may_send() {
            return Err(Refused::not_sent("this process does not hold the lease".to_owned()));
        }
        let (kind, verb, read) = (call.kind, verb(&call), call.method == Method::GET);
        let request = request(call)?;
        let start = Instant::now();
        let (result, answer) = match tokio::time::timeout(self.timeout, exchange(&self.client, request)).await
        {
            Ok(Ok(good)) => (Ok(good), Answer::Fine),
            Ok(Err(refused)) => {
                let answer = refused.says(read, start.elapsed());
                (Err(refused), answer)
            }
            Err(_) => {
                let message = format!("no answer within {} s", self.timeout.as_secs());
                (Err(Refused::on_the_way(message)), Answer::Silent { read })
            }
        };
        let code = result.as_ref().map_or_else(|refused| refused.code, |(code, _)| code.as_u16());
        self.metrics.api_request(verb, kind, code, start.elapsed());
        permit.answered(answer);
        result.map(|(_, body)| body)
    }
}

async fn exchange(client: &Client, request: Request<Body>) -> Result<(StatusCode, Bytes), Refused> {
    let response = client.send(request).await.map_err(|error| Refused::on_the_way(chain(&error)))?;
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

/// A request that waits for no permit, tells nobody about the load and is not bound to leading: the lease's. `limit` stands
/// around all of it.
pub async fn send_unpaced(
    client: &Client,
    metrics: &Metrics,
    limit: Duration,
    call: Call,
) -> Result<Bytes, Refused> {
    let (kind, verb) = (call.kind, verb(&call));
    let start = Instant::now();
    let request = request(call)?;
    let result = tokio::time::timeout(limit, exchange(client, request))
        .await
        .unwrap_or_else(|_| Err(Refused::unanswered(format!("no answer within {} s", limit.as_secs()))));
    let code = result.as_ref().map_or_else(|refused| refused.code, |(code, _)| code.as_u16());
    metrics.api_request(verb, kind, code, start.elapsed());
    result.map(|(_, body)| body)
}

/// The request, unless what is in it cannot be sent at all.
fn request(call: Call) -> Result<Request<Body>, Refused> {
    let accept = if call.metadata_only { METADATA } else { JSON };
    let request = Request::builder()
        .method(call.method)
        .uri(call.path)
        .header(header::ACCEPT, accept)
        .header(header::CONTENT_TYPE, call.content)
        .body(Body::from(call.body.to_vec()));
    request.map_err(|error| Refused::not_sent(error.to_string()))
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
pub fn chain(error: &dyn std::error::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_etcd_does_not_take_is_its_users_to_change() {
        let refused = |message: &str| Refused {
            code: 500,
            reason: "InternalError".to_owned(),
            message: message.to_owned(),
            retry_after: None,
        };

        assert_eq!(refused("etcdserver: request is too large").failure(), FailureReason::Invalid);
        assert_eq!(refused("etcdserver: leader changed").failure(), FailureReason::Unavailable);
    }
}
