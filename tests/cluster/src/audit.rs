//! The API server's audit log: what the operator's `ServiceAccount` asked for.

use std::{env, fs};

use anyhow::{Context as _, Result};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::operator;

/// One request of the operator.
#[derive(Clone, Debug)]
pub struct Request {
    /// When the API server got it.
    pub at: Timestamp,
    /// get, list, watch, create, update, patch, delete.
    pub verb: String,
    /// For example pods.
    pub resource: String,
    /// Empty for what belongs to no namespace.
    pub namespace: String,
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
    let path =
        env::var("COXSWAIN_AUDIT_LOG").context("COXSWAIN_AUDIT_LOG must name the API server's audit log")?;
    let log = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let user = format!("system:serviceaccount:{}:{}", operator::NAMESPACE, operator::NAME);
    // The last line may be half written.
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = events.filter(|event| event.pointer("/user/username").and_then(Value::as_str) == Some(&user));
    Ok(ours.filter_map(|event| request(&event)).filter(|request| request.at >= since).collect())
}

fn request(event: &Value) -> Option<Request> {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Request {
        at: text("/requestReceivedTimestamp").parse().ok()?,
        verb: text("/verb"),
        resource: text("/objectRef/resource"),
        namespace: text("/objectRef/namespace"),
        uri: text("/requestURI"),
        code: event.pointer("/responseStatus/code").and_then(Value::as_i64).unwrap_or_default(),
        allowed: text("/annotations/authorization.k8s.io~1decision") == "allow",
    })
}
