//! Refusals, in the words of a Kubernetes API server.

use serde_json::{Value, json};

use super::kind::Kind;

/// A refusal.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// HTTP status.
    pub code: u16,
    /// `reason`.
    pub reason: &'static str,
    /// For people, and for those who read it all the same.
    pub message: String,
    /// `details`.
    pub details: Value,
    /// What stands beside `status` in `metadata`: a token with which a list that has expired can go on.
    pub token: Option<String>,
}

/// The body of a refusal.
pub fn body(refusal: &Refusal) -> Value {
    let Refusal { code, reason, message, details, token } = refusal;
    let metadata = token.as_ref().map_or_else(|| json!({}), |token| json!({"continue": token}));
    let mut body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata,
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    if !details.is_null() {
        body["details"] = details.clone();
    }
    body
}

/// What a DELETE says of an object that is gone, if it does not show it.
pub fn deleted(kind: &Kind, name: &str, uid: &Value) -> Value {
    let mut details = json!({"name": name, "kind": kind.plural, "uid": uid});
    if !kind.group.is_empty() {
        details["group"] = kind.group.into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

fn of(kind: &Kind, name: &str) -> Value {
    described(name, kind.group, kind.plural)
}

fn described(name: &str, group: &str, kind: &str) -> Value {
    let mut details = json!({"name": name, "kind": kind});
    if !group.is_empty() {
        details["group"] = group.into();
    }
    details
}

fn refusal(code: u16, reason: &'static str, message: String, details: Value) -> Refusal {
    Refusal { code, reason, message, details, token: None }
}

/// There is no such object.
pub fn not_found(kind: &Kind, name: &str) -> Refusal {
    refusal(404, "NotFound", format!("{} \"{name}\" not found", kind.resource()), of(kind, name))
}

/// There is one.
pub fn already_exists(kind: &Kind, name: &str, is_ending: bool) -> Refusal {
    let hint = if is_ending { "object is being deleted: " } else { "" };
    let message = format!("{hint}{} \"{name}\" already exists", kind.resource());
    refusal(409, "AlreadyExists", message, of(kind, name))
}

/// It is not the one that was meant to be changed.
pub fn modified(kind: &Kind, name: &str) -> Refusal {
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
    refusal(409, "Conflict", message, of(kind, name))
}

/// It is another one than that of which the uid was given, as a PUT is told.
pub fn other_uid(kind: &Kind, namespace: &str, name: &str, asked: &str, is: &str) -> Refusal {
    let message = format!(
        "Operation cannot be fulfilled on {} \"{name}\": StorageError: invalid object, Code: 4, Key: /registry/{}/{namespace}/{name}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {asked}, UID in object meta: \
         {is}",
        kind.resource(),
        kind.plural
    );
    refusal(409, "Conflict", message, of(kind, name))
}

/// It is not the one that was meant to be deleted. These messages name the kind.
pub fn not_deleted(kind: &Kind, name: &str, what: &str, asked: &str, is: &str) -> Refusal {
    let hint = if what == "UID" { "deleted and then recreated" } else { "modified" };
    let message = format!(
        "Operation cannot be fulfilled on {} \"{name}\": the {what} in the precondition ({asked}) does not match the \
         {what} in record ({is}). The object might have been {hint}",
        kind.qualified_kind()
    );
    refusal(409, "Conflict", message, described(name, kind.group, kind.kind))
}

/// A field has a value that it cannot have. `problem` begins with what is wrong with it.
pub fn invalid(kind: &Kind, name: &str, field: &str, reason: &str, problem: &str) -> Refusal {
    let message = format!("{} \"{name}\" is invalid: {field}: {problem}", kind.qualified_kind());
    let mut details = described(name, kind.group, kind.kind);
    details["causes"] = json!([{"reason": reason, "message": problem, "field": field}]);
    refusal(422, "Invalid", message, details)
}

/// A PUT that does not say what it rests on. This message names the resource.
pub fn version_missing(kind: &Kind, name: &str) -> Refusal {
    let (field, problem) = ("metadata.resourceVersion", "Invalid value: 0: must be specified for an update");
    let message = format!("{} \"{name}\" is invalid: {field}: {problem}", kind.resource());
    let mut details = of(kind, name);
    details["causes"] = json!([{"reason": "FieldValueInvalid", "message": problem, "field": field}]);
    refusal(422, "Invalid", message, details)
}

/// A patch that cannot be applied to the object as it is.
pub fn unprocessable() -> Refusal {
    let message = "the server rejected our request due to an error in our request".to_owned();
    refusal(422, "Invalid", message, json!({}))
}

/// Nothing new begins in a namespace that ends.
pub fn namespace_ends(kind: &Kind, name: &str, namespace: &str) -> Refusal {
    let message = format!(
        "{} \"{name}\" is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
        kind.resource()
    );
    let mut details = of(kind, name);
    details["causes"] = json!([{
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    }]);
    refusal(403, "Forbidden", message, details)
}

/// More than the namespace may have.
pub fn over_quota(kind: &Kind, name: &str, quota: &str, limit: u64) -> Refusal {
    let message = format!(
        "{} \"{name}\" is forbidden: exceeded quota: {quota}, requested: {resource}=1, used: {resource}={limit}, limited: \
         {resource}={limit}",
        kind.resource(),
        resource = kind.plural
    );
    refusal(403, "Forbidden", message, of(kind, name))
}

/// A version of a group that is not served.
pub fn not_served() -> Refusal {
    refusal(404, "NotFound", "the server could not find the requested resource".to_owned(), json!({}))
}

/// A role that is too small.
pub fn forbidden(kind: &Kind, name: &str, message: String) -> Refusal {
    refusal(403, "Forbidden", message, of(kind, name))
}

/// The page that a token leads to is forgotten. The list can go on at `token`, at the price of showing two moments.
pub fn page_expired(token: String) -> Refusal {
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and now \
                   may show up in the list."
        .to_owned();
    Refusal { token: Some(token), ..refusal(410, "Expired", message, Value::Null) }
}

/// What a watch would have to tell first is forgotten.
pub fn watch_expired(asked: u64, oldest: u64) -> Refusal {
    let message = format!("too old resource version: {asked} ({oldest})");
    refusal(410, "Expired", message, Value::Null)
}

/// A watch from a version that the server has not reached.
pub fn version_ahead(asked: u64, current: u64) -> Refusal {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
    refusal(504, "Timeout", message, json!({"causes": [cause], "retryAfterSeconds": 1}))
}

/// A fault of the server or of what it asks.
pub fn failure(code: u16, reason: &'static str, message: &str) -> Refusal {
    refusal(code, reason, message.to_owned(), Value::Null)
}
