//! The launcher Job.

use serde_json::{Value, json};

use super::{
    config_map,
    gang::Gang,
    membership::Membership,
    overlay::{self, Fields},
    owned,
    pod::Pod,
    pod_group,
};
use crate::{
    api::{annotations, labels, scheduling, volumes},
    job::ValidJob,
    pin::Pin,
    policy::Granted,
};

/// Blanked in a launcher that runs no ranks, so that NVIDIA's container runtime gives it no devices.
const NVIDIA: [&str; 2] = ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"];

/// The launcher's pod waits for its workers at a scheduling gate.
///
/// Under gang scheduling only where the gang can be placed without the launcher: otherwise gang and gate would
/// wait for each other. A native gang leaves out a launcher that waits.
pub fn gated(job: &ValidJob, gang: &Gang) -> bool {
    let placed = *gang == Gang::Off || gang.is_native() || pod_group::min_member(job) <= job.workers();
    job.options().start_gate && job.workers() > 0 && placed
}

/// The Job as created while the `MPIJob` is not suspended.
pub fn manifest(job: &ValidJob, granted: &Granted, pin: &Pin, membership: Membership) -> Value {
    let mut metadata = owned::metadata(job, job.names().launcher().as_ref());
    owned::annotate(&mut metadata, annotations::ANNOTATION_PIN, &pin.to_annotation());
    let mut spec = overlay::fields(json!({
        "podReplacementPolicy": "Failed",
        "template": template(job, granted, membership),
    }));
    let limits = [
        ("ttlSecondsAfterFinished", job.ttl_seconds_after_finished().map(u64::from)),
        ("activeDeadlineSeconds", job.active_deadline_seconds()),
        ("backoffLimit", job.backoff_limit().map(u64::from)),
    ];
    for (key, value) in limits {
        if let Some(value) = value {
            overlay::set(&mut spec, key, value);
        }
    }
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
}

/// The same Job for an `MPIJob` that is suspended when the Job is created.
pub fn with_suspend(manifest: &Value) -> Value {
    let mut job = overlay::fields(manifest.clone());
    overlay::edit(&mut job, "spec", |spec| overlay::set(spec, "suspend", true));
    Value::from(job)
}

/// The suspended Job `current`, ready to be written back so that it runs.
///
/// What queues change while a job is suspended (Kueue: labels, annotations, `nodeSelector`, `tolerations`,
/// `schedulingGates`) comes from `desired`, the Job as it would be created now. Labels and annotations are merged
/// and the desired ones win; the others are replaced. Nothing else: Kubernetes lets no more be changed.
pub fn resumed(current: Value, desired: &Value) -> Value {
    let at = |pointer: &str| desired.pointer(pointer).cloned().unwrap_or_default();
    let mut job = overlay::fields(current);
    overlay::edit(&mut job, "spec", |spec| {
        overlay::set(spec, "suspend", false);
        overlay::edit(spec, "template", |template| {
            overlay::edit(template, "metadata", |metadata| {
                for key in ["labels", "annotations"] {
                    merge(metadata, key, at(&format!("/spec/template/metadata/{key}")));
                }
            });
            overlay::edit(template, "spec", |pod| {
                for key in ["nodeSelector", "tolerations", "schedulingGates"] {
                    replace(pod, key, at(&format!("/spec/template/spec/{key}")));
                }
            });
        });
    });
    Value::from(job)
}

fn merge(parent: &mut Fields, key: &str, more: Value) {
    let more = overlay::fields(more);
    if !more.is_empty() {
        overlay::edit(parent, key, |texts| texts.extend(more));
    }
}

fn replace(parent: &mut Fields, key: &str, value: Value) {
    if value.is_null() {
        parent.remove(key);
    } else {
        overlay::set(parent, key, value);
    }
}

fn template(job: &ValidJob, granted: &Granted, membership: Membership) -> Value {
    let mut pod = Pod::of(job, job.driver());
    // Without effect, as the Job controller makes itself the owner of the pods, but the MPI Operator stores it.
    overlay::set(&mut pod.metadata, "ownerReferences", json!([owned::controller(job)]));
    pod_group::join(&mut pod, job, membership.gang);
    if let Some(native) = membership.native.filter(|native| native.has_launcher()) {
        native.join(&mut pod, job);
    }
    if job.driver().runs_ranks() {
        owned::label(&mut pod.metadata, labels::LABEL_REPLICA_INDEX, "0");
    }
    overlay::set(&mut pod.spec, "hostname", job.names().launcher().as_ref());
    if job.driver().runs_ranks() {
        overlay::append(&mut pod.spec, "hostAliases", [own_name(job)]);
    }
    pod.container(|container| command(container, granted));
    let grant = granted.of(job.driver().id());
    pod.environment(job.driver().role().name, grant, &granted.everywhere);
    if !job.driver().runs_ranks() {
        let blank = NVIDIA.map(|name| json!({"name": name}));
        pod.container(|container| overlay::append(container, "env", blank));
    }
    pod.ports(&grant.ports);
    pod.ssh(job);
    let mount = json!({"name": volumes::CONFIG_VOLUME, "mountPath": volumes::CONFIG_MOUNT_PATH});
    pod.volume(config_map::config_volume(job, granted), [mount]);
    pod.files(job, granted);
    if job.driver().runs_ranks() {
        pod.capabilities(granted);
    }
    // A gate that the user wrote himself is not written twice: names of gates are unique.
    if gated(job, membership.gang)
        && !overlay::lists(&pod.spec, "schedulingGates", "name", scheduling::GATE_WORKERS)
    {
        overlay::prepend(&mut pod.spec, "schedulingGates", json!({"name": scheduling::GATE_WORKERS}));
    }
    json!({"metadata": pod.metadata, "spec": pod.spec})
}

/// The launcher's line of the hostfile, for itself: DNS learns it only once the launcher runs, and a refusal is cached
/// for 30 s. Measured: Open MPI 4 and MPICH lost three starts and 45 s to that. The kubelet's own line in the pod's
/// hosts file has the name with the cluster's domain alone.
fn own_name(job: &ValidJob) -> Value {
    json!({"ip": "127.0.0.1", "hostnames": [job.names().fqdn(&job.names().launcher())]})
}

/// The whole command where a plugin renders it, otherwise the user's; the prefix before either.
fn command(container: &mut Fields, granted: &Granted) {
    if let Some(words) = &granted.launch_command {
        overlay::set(container, "command", json!(words));
        container.remove("args");
    }
    if !granted.prefix_command.is_empty() && !overlay::is_empty(container, "command") {
        for word in granted.prefix_command.iter().rev() {
            overlay::prepend(container, "command", json!(word));
        }
    }
}
