//! The API server's audit log: what an operator's `ServiceAccount` asked for.

use std::{env, fs};

use anyhow::{Context as _, Result};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::operator;

/// What Coxswain's requests are told from those of the MPI Operator by, which takes its place and its account in `switch`.
const AGENT: &str = "coxswain/";

/// One request of the operator.
#[derive(Clone, Debug)]
pub struct Request {
    /// When the API server got it.
    pub at: Timestamp,
    /// get, list, watch, create, update, patch, delete.
    pub verb: String,
    /// API group, empty for the core's.
    pub group: String,
    /// For example pods, or jobs/status.
    pub resource: String,
    /// Empty for what belongs to no namespace.
    pub namespace: String,
    /// Of the object; empty for a collection.
    pub name: String,
    /// Of what was created, where the bed logs bodies: see `bed up mixed`.
    pub uid: String,
    /// With the path.
    pub uri: String,
    /// HTTP status of the answer.
    pub code: i64,
    /// The roles allow it. (An answer of 403 may also come from admission, as in a namespace that is being deleted.)
    pub allowed: bool,
}

impl Request {
    /// Changes something.
    pub fn writes(&self) -> bool {
        !matches!(&*self.verb, "get" | "list" | "watch")
    }
}

/// The operator's requests since then, in the order of their answers. `COXSWAIN_AUDIT_LOG` names the file.
pub fn requests_since(since: Timestamp) -> Result<Vec<Request>> {
    requests_of(operator::NAMESPACE, since)
}

/// The same, of an operator in another namespace.
pub fn requests_of(namespace: &str, since: Timestamp) -> Result<Vec<Request>> {
    let path =
        env::var("COXSWAIN_AUDIT_LOG").context("COXSWAIN_AUDIT_LOG must name the API server's audit log")?;
    let log = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let user = format!("system:serviceaccount:{namespace}:{}", operator::NAME);
    // The last line may be half written.
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = events.filter(|event| {
        text(event, "/user/username") == user && text(event, "/userAgent").starts_with(AGENT)
    });
    Ok(ours.filter_map(|event| request(&event)).filter(|request| request.at >= since).collect())
}

fn request(event: &Value) -> Option<Request> {
    let owned = |pointer: &str| text(event, pointer).to_owned();
    let subresource = text(event, "/objectRef/subresource");
    let slash = if subresource.is_empty() { "" } else { "/" };
    Some(Request {
        at: text(event, "/requestReceivedTimestamp").parse().ok()?,
        verb: owned("/verb"),
        group: owned("/objectRef/apiGroup"),
        resource: format!("{}{slash}{subresource}", text(event, "/objectRef/resource")),
        namespace: owned("/objectRef/namespace"),
        name: owned("/objectRef/name"),
        uid: owned("/responseObject/metadata/uid"),
        uri: owned("/requestURI"),
        code: event.pointer("/responseStatus/code").and_then(Value::as_i64).unwrap_or_default(),
        allowed: text(event, "/annotations/authorization.k8s.io~1decision") == "allow",
    })
}

fn text<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
