//! Capabilities that only the host can give: granted by the cluster's policy or by the job, otherwise a note.

use serde_json::Value;

use super::{cluster_policy::ClusterPolicy, findings::Findings};
use crate::{
    api::{annotations, capabilities},
    job::{Replica, ValidJob},
    json::at,
    places::{LOCK_MEMORY, SHARED_MEMORY_PATH},
    plan::{Change, Plan, Want},
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
        let Change::Want(want) = &edit.change else { continue };
        match want.kind.as_str() {
            capabilities::WANT_SHARED_MEMORY => {
                let size = size(&edit.by, want, found);
                if allowed(job, policy, &edit.by, want, found) {
                    shared_memory = Some(size);
                }
            }
            capabilities::WANT_LOCK_MEMORY => lock_memory |= allowed(job, policy, &edit.by, want, found),
            capabilities::WANT_WAIT_FOR_MEMBERS if job.options().start_gate => {}
            capabilities::WANT_WAIT_FOR_MEMBERS => {
                let text = format!(
                    "wants the launcher to wait for its workers, but annotation {} turns that off",
                    annotations::ANNOTATION_START_GATE
                );
                found.note(&edit.by, text);
            }
            unknown => {
                found.note(&edit.by, format!("wants {unknown:?}, which this operator does not know"));
            }
        }
    }
    (shared_memory, lock_memory)
}

fn size(by: &str, want: &Want, found: &mut Findings) -> String {
    let size = want.parameter.clone().unwrap_or_default();
    if !size.is_empty() && Quantity::parse(&size).is_none() {
        let text = format!("{size:?} is no size: write it like 8Gi");
        found.refuse(by, &format!("wants[{}]", want.kind), text);
    }
    size
}

fn allowed(job: &ValidJob, policy: &ClusterPolicy, by: &str, want: &Want, found: &mut Findings) -> bool {
    let allowed = policy.wants.contains(&want.kind) || job.options().allow_wants.contains(&want.kind);
    if !allowed && !has_it(job, &want.kind) {
        let text = format!(
            "wants {0:?}, which is not granted: annotation {1}: {0} on the job grants it, and --allow-wants={0} of the \
             operator to every job",
            want.kind,
            annotations::ANNOTATION_ALLOW_WANTS,
        );
        found.note(by, text);
    }
    allowed
}

/// Every pod that executes ranks has it by the user's own hand, so there is nothing to report.
fn has_it(job: &ValidJob, kind: &str) -> bool {
    let launcher = Some(job.launcher()).filter(|_| job.launcher_runs_ranks());
    let mut ranks = job.worker().into_iter().chain(launcher).map(Replica::container).peekable();
    let lists = |container: &Value, list: &str, has: &dyn Fn(&Value) -> bool| {
        at(container, list).as_array().is_some_and(|list| list.iter().any(has))
    };
    ranks.peek().is_some()
        && ranks.all(|container| match kind {
            capabilities::WANT_SHARED_MEMORY => {
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
