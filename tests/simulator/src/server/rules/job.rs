//! Jobs: the template is fixed, but for where its pods may run, and for that only while the Job is suspended and has not
//! started.

use serde_json::{Value, json};

use super::{super::kind::JOB, default, status, text};
use crate::server::status::Refusal;

/// A new Job: it counts pods by a label with its uid.
pub fn complete(job: &mut Value) {
    let (name, uid) = (text(job, "name").to_owned(), text(job, "uid").to_owned());
    if job["spec"].get("completions").is_none() && job["spec"].get("parallelism").is_none() {
        job["spec"]["completions"] = 1.into();
    }
    default(job, "/spec/parallelism", 1);
    default(job, "/spec/backoffLimit", 6);
    default(job, "/spec/completionMode", "NonIndexed");
    default(job, "/spec/suspend", false);
    default(job, "/spec/podReplacementPolicy", "TerminatingOrFailed");
    default(job, "/spec/manualSelector", false);
    job["spec"]["selector"] = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    let labels = &mut job["spec"]["template"]["metadata"]["labels"];
    for (label, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        labels[label] = value.as_str().into();
    }
    if job["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty) {
        job["metadata"]["labels"] = job["spec"]["template"]["metadata"]["labels"].clone();
    }
    job["status"] = json!({});
}

/// Numbers that are nothing are left out.
pub fn tidy(job: &mut Value) {
    let Some(status) = job["status"].as_object_mut() else { return };
    status
        .retain(|field, value| !(["active", "failed", "succeeded"].contains(&field.as_str()) && *value == 0));
}

/// See the module.
pub fn check(old: &Value, new: &Value) -> Result<(), Refusal> {
    for field in ["selector", "completionMode"] {
        if old["spec"][field] != new["spec"][field] {
            return Err(immutable(new, &format!("spec.{field}")));
        }
    }
    let may_move = old["spec"]["suspend"] == true && old["status"]["startTime"].is_null();
    let fixed = |job: &Value| {
        let mut template = job["spec"]["template"].clone();
        if may_move {
            for (part, fields) in [
                ("metadata", &["labels", "annotations"][..]),
                ("spec", &["nodeSelector", "tolerations", "schedulingGates"]),
            ] {
                if let Some(part) = template[part].as_object_mut() {
                    part.retain(|field, _| !fields.contains(&field.as_str()));
                }
            }
        }
        template
    };
    if fixed(old) == fixed(new) { Ok(()) } else { Err(immutable(new, "spec.template")) }
}

fn immutable(job: &Value, field: &str) -> Refusal {
    status::invalid(
        &JOB,
        text(job, "name"),
        field,
        "FieldValueInvalid",
        "Invalid value: {}: field is immutable",
    )
}
