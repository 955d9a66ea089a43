//! Pods: a new one is pending, and of its spec hardly anything but gates can be changed.

use serde_json::{Value, json};

use super::{super::kind::POD, default, status, text};
use crate::server::status::Refusal;

/// A new pod.
pub fn complete(pod: &mut Value) {
    default(pod, "/spec/restartPolicy", "Always");
    default(pod, "/spec/terminationGracePeriodSeconds", 30);
    default(pod, "/spec/dnsPolicy", "ClusterFirst");
    default(pod, "/spec/schedulerName", "default-scheduler");
    default(pod, "/spec/securityContext", json!({}));
    default(pod, "/spec/enableServiceLinks", true);
    let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    let mut status = json!({"phase": "Pending", "qosClass": "BestEffort"});
    if gated {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": null,
        }]);
    }
    pod["status"] = status;
}

/// Gates go and never come; a node is bound once.
pub fn check(old: &Value, new: &Value) -> Result<(), Refusal> {
    let (old_spec, new_spec) = (&old["spec"], &new["spec"]);
    let gates = |spec: &Value| spec["schedulingGates"].as_array().cloned().unwrap_or_default();
    let (before, after) = (gates(old_spec), gates(new_spec));
    if let Some(at) = after.iter().position(|gate| !before.contains(gate)) {
        let gate = after[at]["name"].as_str().unwrap_or_default();
        let problem = format!("Forbidden: only deletion is allowed, but found new scheduling gate '{gate}'");
        return Err(invalid(new, &format!("spec.schedulingGates[{at}].name"), &problem));
    }
    let rest = |spec: &Value| {
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("schedulingGates");
        }
        spec
    };
    let (before, after) = (rest(old_spec), rest(new_spec));
    if before == after {
        return Ok(());
    }
    let problem = "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
    Err(invalid(new, "spec", problem))
}

fn invalid(pod: &Value, field: &str, problem: &str) -> Refusal {
    status::invalid(&POD, text(pod, "name"), field, "FieldValueForbidden", problem)
}
