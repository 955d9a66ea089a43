//! Lines of an API server's audit log.

use std::{borrow::Cow, time::Duration};

use jiff::Timestamp;
use serde::Deserialize;

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Who asked.
    pub user: String,
    /// With which program.
    pub agent: String,
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
    /// Of what was created, where the log holds bodies.
    pub uid: String,
    /// With the path.
    pub uri: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// The roles allow it. (An answer of 403 may also come from admission, as in a namespace that is being deleted.)
    pub allowed: bool,
    /// When the API server got it.
    pub received: Timestamp,
    /// When it had answered.
    pub answered: Timestamp,
}

impl Entry {
    /// Reads a line. None for half a line, and for the stages of a request but one: a watch counts when it begins, everything
    /// else when it is over.
    pub fn read(line: &[u8]) -> Option<Self> {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        if line.stage != if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" } {
            return None;
        }
        let ObjectRef { api_group, resource, subresource, namespace, name } = line.object_ref;
        let slash = if subresource.is_empty() { "" } else { "/" };
        Some(Self {
            user: line.user.username.into_owned(),
            agent: line.user_agent.into_owned(),
            verb: line.verb.to_owned(),
            group: api_group.to_owned(),
            resource: format!("{resource}{slash}{subresource}"),
            namespace: namespace.to_owned(),
            name: name.into_owned(),
            uid: line.response_object.metadata.uid.to_owned(),
            uri: line.request_uri.into_owned(),
            code: line.response_status.code,
            allowed: line.annotations.decision == "allow",
            received: line.request_received_timestamp,
            answered: line.stage_timestamp,
        })
    }

    /// Changes something.
    pub fn writes(&self) -> bool {
        !matches!(&*self.verb, "get" | "list" | "watch")
    }
}

/// Seconds since 1970.
pub fn seconds(time: Timestamp) -> f64 {
    Duration::try_from(time.as_duration()).unwrap_or_default().as_secs_f64()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    stage: &'a str,
    verb: &'a str,
    #[serde(rename = "requestURI", borrow, default)]
    request_uri: Cow<'a, str>,
    #[serde(borrow)]
    user: User<'a>,
    #[serde(borrow, default)]
    user_agent: Cow<'a, str>,
    #[serde(borrow, default)]
    object_ref: ObjectRef<'a>,
    #[serde(default)]
    response_status: Status,
    #[serde(borrow, default)]
    response_object: ResponseObject<'a>,
    #[serde(borrow, default)]
    annotations: Annotations<'a>,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct User<'a> {
    #[serde(borrow)]
    username: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ObjectRef<'a> {
    api_group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseObject<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    uid: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations<'a> {
    #[serde(rename = "authorization.k8s.io/decision")]
    decision: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stage: &str, verb: &str) -> String {
        format!(
            r#"{{"stage":"{stage}","verb":"{verb}","user":{{"username":"system:serviceaccount:n:o"}},
            "objectRef":{{"resource":"pods","subresource":"binding","namespace":"n"}},
            "responseStatus":{{"metadata":{{}},"code":201}},"responseObject":{{"metadata":{{"uid":"u"}}}},
            "annotations":{{"authorization.k8s.io/decision":"allow"}},
            "requestReceivedTimestamp":"2026-01-01T00:00:00.250000Z","stageTimestamp":"2026-01-01T00:00:00.500000Z"}}"#
        )
    }

    #[test]
    fn what_was_answered_is_read_once() {
        let entry = Entry::read(line("ResponseComplete", "create").as_bytes()).unwrap();

        assert_eq!((&*entry.namespace, &*entry.resource, &*entry.uid), ("n", "pods/binding", "u"));
        assert!(entry.code == 201 && entry.allowed && entry.writes());
        assert!((seconds(entry.answered) - seconds(entry.received) - 0.25).abs() < 1e-6);
        assert!(Entry::read(line("ResponseStarted", "create").as_bytes()).is_none());
        assert!(Entry::read(line("ResponseStarted", "watch").as_bytes()).is_some());
        assert!(Entry::read(line("ResponseComplete", "watch").as_bytes()).is_none());
        assert!(Entry::read(b"{\"stage\":").is_none());
    }
}
