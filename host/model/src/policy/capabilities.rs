//! Capabilities that only the host can give: granted by the cluster's policy or by the job, otherwise a note.

use serde_json::Value;

use super::{cluster_policy::ClusterPolicy, findings::Findings};
use crate::{
    api::{annotations, capabilities},
    job::{Group, ValidJob},
    json::at,
    places::{LOCK_MEMORY, SHARED_MEMORY_PATH},
    plan::{CapabilityRequest, Change, Plan},
    quantity::Quantity,
};

/// (size of shared memory, locking of memory). An empty size sets no limit. The last request of a kind wins.
pub(super) fn grant(
    job: &ValidJob,
    plan: &Plan,
    policy: &ClusterPolicy,
    found: &mut Findings,
) -> (Option<String>, bool) {
    let (mut shared_memory, mut lock_memory) = (None, false);
    for edit in &plan.edits {
        let Change::Capability(request) = &edit.change else { continue };
        match request.kind.as_str() {
            capabilities::CAPABILITY_SHARED_MEMORY => {
                let size = size(&edit.by, request, found);
                if allowed(job, policy, &edit.by, request, found) {
                    shared_memory = Some(size);
                }
            }
            capabilities::CAPABILITY_LOCK_MEMORY => {
                lock_memory |= allowed(job, policy, &edit.by, request, found);
            }
            capabilities::CAPABILITY_WAIT_FOR_MEMBERS if job.options().start_gate => {}
            capabilities::CAPABILITY_WAIT_FOR_MEMBERS => {
                let text = format!(
                    "requests that the launcher waits for its workers, but annotation {} turns that off",
                    annotations::ANNOTATION_START_GATE
                );
                found.note(&edit.by, text);
            }
            unknown => {
                found.note(
                    &edit.by,
                    format!("requests capability {unknown:?}, which this operator does not know"),
                );
            }
        }
    }
    (shared_memory, lock_memory)
}

fn size(by: &str, request: &CapabilityRequest, found: &mut Findings) -> String {
    let size = request.parameter.clone().unwrap_or_default();
    if !size.is_empty() && Quantity::parse(&size).is_none() {
        let text = format!("{size:?} is no size: write it like 8Gi");
        found.refuse(by, &format!("capabilities[{}]", request.kind), text);
    }
    size
}

fn allowed(
    job: &ValidJob,
    policy: &ClusterPolicy,
    by: &str,
    request: &CapabilityRequest,
    found: &mut Findings,
) -> bool {
    let allowed = policy.capabilities.contains(&request.kind)
        || job.options().allow_capabilities.contains(&request.kind);
    if !allowed && !has_it(job, &request.kind) {
        let text = format!(
            "requests capability {0:?}, which is not granted: annotation {1}: {0} on the job grants it, and \
             --allow-capabilities={0} of the operator to every job",
            request.kind,
            annotations::ANNOTATION_ALLOW_CAPABILITIES,
        );
        found.note(by, text);
    }
    allowed
}

/// Every pod that executes ranks has it by the user's own hand, so there is nothing to report.
fn has_it(job: &ValidJob, kind: &str) -> bool {
    let mut ranks = job.groups().all().filter(|group| group.runs_ranks()).map(Group::container).peekable();
    let lists = |container: &Value, list: &str, has: &dyn Fn(&Value) -> bool| {
        at(container, list).as_array().is_some_and(|list| list.iter().any(has))
    };
    ranks.peek().is_some()
        && ranks.all(|container| match kind {
            capabilities::CAPABILITY_SHARED_MEMORY => {
                lists(container, "/volumeMounts", &|mount| at(mount, "/mountPath") == SHARED_MEMORY_PATH)
            }
            _ => {
                at(container, "/securityContext/privileged") == &Value::Bool(true)
                    || lists(container, "/securityContext/capabilities/add", &|one| {
                        one == LOCK_MEMORY || one == "ALL"
                    })
            }
        })
}
