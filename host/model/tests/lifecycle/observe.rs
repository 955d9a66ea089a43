//! Objects as JSON → what the watches would have kept of them.

use coxswain_model::{
    api::{annotations, labels, scheduling},
    observed::{
        LauncherEnd, ObservedConfig, ObservedLauncher, ObservedObject, ObservedPod, ObservedPodGroup,
        ObservedSecret, ObservedService, PodFailure, PodPhase, Role, Uid, Version,
    },
    step::Kind,
};
use serde_json::{Value, json};

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

fn controller(object: &Value) -> Option<Uid> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true).or(owners.first())?;
    Some(Uid::from(text(owner, "/uid")))
}

/// What every object has.
pub fn identity(object: &Value) -> ObservedObject {
    ObservedObject {
        uid: Uid::from(text(object, "/metadata/uid")),
        version: Version::from(text(object, "/metadata/resourceVersion")),
        controller: controller(object),
        deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
    }
}

/// A Service.
pub fn service(object: &Value) -> ObservedService {
    let ours = [labels::LABEL_OPERATOR_NAME, labels::LABEL_JOB_NAME];
    let selector = object.pointer("/spec/selector").and_then(Value::as_object).cloned().unwrap_or_default();
    let wanted = json!({
        labels::LABEL_OPERATOR_NAME: labels::OPERATOR_NAME,
        labels::LABEL_JOB_NAME: text(object, "/metadata/name"),
    });
    ObservedService {
        object: identity(object),
        selects_job: Value::Object(selector.clone()) == wanted,
        extra_selectors: selector
            .keys()
            .filter(|k| !ours.contains(&k.as_str()))
            .map(|k| (**k).into())
            .collect(),
        publishes_not_ready: object["spec"]["publishNotReadyAddresses"] == true,
    }
}

/// A ConfigMap.
pub fn config(object: &Value) -> ObservedConfig {
    ObservedConfig {
        object: identity(object),
        content: annotation(object, annotations::ANNOTATION_CONTENT).map(Into::into),
        pin: annotation(object, annotations::ANNOTATION_PIN).map(Into::into),
    }
}

/// The Secret.
pub fn secret(object: &Value) -> ObservedSecret {
    ObservedSecret {
        object: identity(object),
        has_known_hosts: annotation(object, annotations::ANNOTATION_SSH_HOST_KEYS).is_some(),
    }
}

/// A `PodGroup`.
pub fn pod_group(kind: Kind, object: &Value) -> ObservedPodGroup {
    let resources = object.pointer("/spec/minResources").and_then(Value::as_object);
    ObservedPodGroup {
        kind,
        object: identity(object),
        content: annotation(object, annotations::ANNOTATION_CONTENT).map(Into::into),
        resources: resources.into_iter().flat_map(|map| map.keys()).map(|key| (**key).into()).collect(),
    }
}

/// The launcher Job.
pub fn launcher(object: &Value) -> ObservedLauncher {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let end = conditions.into_iter().flatten().next().map(|condition| LauncherEnd {
        complete: condition["type"] == "Complete",
        reason: text(condition, "/reason").to_owned(),
        message: text(condition, "/message").to_owned(),
        time: text(object, "/status/completionTime").parse().ok(),
    });
    ObservedLauncher {
        object: identity(object),
        pin: annotation(object, annotations::ANNOTATION_PIN).map(Into::into),
        suspended: object["spec"]["suspend"] == true,
        started: !text(object, "/status/startTime").is_empty(),
        failed: object["status"]["failed"].as_i64().unwrap_or_default().try_into().unwrap(),
        end,
    }
}

/// A pod of either role.
pub fn pod(object: &Value) -> ObservedPod {
    let name = text(object, "/metadata/name");
    let identity = identity(object);
    let launcher = object["metadata"]["labels"][labels::LABEL_JOB_ROLE] == labels::ROLE_LAUNCHER;
    let gates = object.pointer("/spec/schedulingGates").and_then(Value::as_array);
    let status = &object["status"];
    ObservedPod {
        role: if launcher { Role::Launcher } else { Role::Worker },
        index: if launcher { 0 } else { name.rsplit('-').next().unwrap().parse().unwrap() },
        name: if launcher { name.into() } else { "".into() },
        uid: identity.uid,
        version: identity.version,
        controller: identity.controller,
        created: text(object, "/metadata/creationTimestamp").parse().unwrap(),
        phase: match text(status, "/phase") {
            "Running" => PodPhase::Running,
            "Succeeded" => PodPhase::Succeeded,
            "Failed" => PodPhase::Failed,
            _ => PodPhase::Pending,
        },
        ready: status["ready"] == true,
        deleting: identity.deleting,
        gate: gates.and_then(|gates| gates.iter().position(|gate| gate["name"] == scheduling::GATE_WORKERS)),
        attempt: text(object, "/status/attempt").parse().ok().map(Box::new),
        failure: (status["phase"] == "Failed").then(|| {
            Box::new(PodFailure {
                reason: text(status, "/reason").to_owned(),
                message: text(status, "/message").to_owned(),
                finished: text(status, "/finished").parse().ok(),
            })
        }),
    }
}
