//! What the server adds to objects of some kinds when they are made, and what it does not let change.

mod job;
mod pod;

use serde_json::{Value, json};

use super::{
    kind::{CONFIG_MAP, JOB, Kind, MPI_JOB, POD, SECRET, SERVICE},
    status::{self, Refusal},
    store::text,
};

/// Sets a field that is not there.
fn default(object: &mut Value, pointer: &str, value: impl Into<Value>) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let Some(Value::Object(parent)) = object.pointer_mut(parent) else { return };
    parent.entry(key).or_insert_with(|| value.into());
}

/// A new object, complete but for its identity's version.
pub fn complete(kind: &'static Kind, object: &mut Value) {
    if kind.has_status && kind != &POD {
        object.as_object_mut().expect("an object").remove("status");
    }
    match kind {
        kind if kind == &POD => pod::complete(object),
        kind if kind == &JOB => job::complete(object),
        kind if kind == &SERVICE => {
            default(object, "/spec/type", "ClusterIP");
            object["status"] = json!({"loadBalancer": {}});
        }
        kind if kind == &SECRET => default(object, "/type", "Opaque"),
        kind if kind == &MPI_JOB => {
            default(object, "/spec/launcherCreationPolicy", "AtStartup");
            default(object, "/spec/mpiImplementation", "OpenMPI");
            default(object, "/spec/slotsPerWorker", 1);
            default(object, "/spec/sshAuthMountPath", "/root/.ssh");
        }
        _ => {}
    }
}

/// An object as it is kept.
pub fn tidy(kind: &'static Kind, object: &mut Value) {
    if kind == &JOB {
        job::tidy(object);
    }
}

/// Whether the object may become this.
pub fn check(kind: &'static Kind, old: &Value, new: &Value) -> Result<(), Refusal> {
    match kind {
        kind if kind == &POD => pod::check(old, new),
        kind if kind == &JOB => job::check(old, new),
        kind if kind == &CONFIG_MAP && old["immutable"] == true => {
            let changed =
                ["data", "binaryData", "immutable"].into_iter().find(|field| old[*field] != new[*field]);
            changed.map_or(Ok(()), |field| {
                let problem = "Forbidden: field is immutable when `immutable` is set";
                Err(status::invalid(kind, text(new, "name"), field, "FieldValueForbidden", problem))
            })
        }
        _ => Ok(()),
    }
}
