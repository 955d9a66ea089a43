//! Worker pods: one pod template for all of a group, to which each adds its name and index.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    membership::Membership,
    overlay::{self, Fields},
    owned,
    pod::Pod,
    pod_group,
};
use crate::{
    api::{labels, volumes},
    job::{Group, ValidJob},
    kind::RoleId,
    object::{Kind, ObjectName},
    policy::Granted,
};

/// Period of the probe that `coxswain.dev/ssh-probe` asks for. Short, because the launcher waits for it; not
/// shorter, because sshd logs a line for each.
const PROBE_SECONDS: u32 = 5;

/// Makes the manifest of each worker from one serialized template, so that thousands of workers do not serialize
/// it thousands of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerTemplate {
    /// Whose pods they are.
    role: RoleId,
    /// Their names up to the index.
    prefix: String,
    /// Up to the index in `metadata.name`, from there to the index label, to the index in `spec.hostname`, to the
    /// end.
    pieces: [String; 4],
    /// What the index label is ahead of the worker's index.
    shift: u32,
}

impl WorkerTemplate {
    /// `pod` is the manifest of a worker without name, hostname and index label; `prefix` is the name up to the
    /// index (a DNS label), `shift` what the index label is ahead of it.
    ///
    /// The pieces are cut where the serializer joins them, so no text of the user's can be mistaken for a seam.
    pub fn new(pod: Value, role: RoleId, prefix: String, shift: u32) -> Self {
        let mut pod = overlay::fields(pod);
        let mut taken = |field: &str| overlay::fields(pod.remove(field).unwrap_or_default());
        let (mut metadata, mut spec) = (taken("metadata"), taken("spec"));
        let mut labels = overlay::fields(metadata.remove("labels").unwrap_or_default());
        metadata.remove("name");
        labels.remove(labels::LABEL_REPLICA_INDEX);
        spec.remove("hostname");
        let index = labels::LABEL_REPLICA_INDEX;
        let (metadata, labels, spec) = (tail(&metadata), tail(&labels), tail(&spec));
        Self {
            pieces: [
                format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{prefix}"#),
                format!(r#"","labels":{{"{index}":""#),
                format!(r#""{labels}}}{metadata}}},"spec":{{"hostname":"{prefix}"#),
                format!(r#""{spec}}}}}"#),
            ],
            role,
            prefix,
            shift,
        }
    }

    /// The role of the pods that it makes.
    pub fn role(&self) -> RoleId {
        self.role
    }

    /// The object that is made as worker `index`.
    pub fn object(&self, index: u32) -> ObjectName {
        ObjectName { kind: Kind::Pod, name: format!("{}{index}", self.prefix) }
    }

    /// The manifest of worker `index`, as JSON text.
    pub fn manifest(&self, index: u32) -> String {
        let [name, label, hostname, end] = &self.pieces;
        let rank = index.saturating_add(self.shift);
        format!("{name}{index}{label}{rank}{hostname}{index}{end}")
    }
}

/// The fields of an object as they follow another field: each after a comma.
fn tail(fields: &Fields) -> String {
    let text = serde_json::to_string(fields).unwrap_or_default();
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
    if inner.is_empty() { String::new() } else { format!(",{inner}") }
}

/// Makes the workers of each group of this job whose pods the operator makes itself.
pub fn templates(job: &ValidJob, granted: &Granted, membership: Membership) -> Vec<Arc<WorkerTemplate>> {
    let template = |group: &Group| {
        let mut prefix = job.names().pod(group.role().name, 0).to_string();
        prefix.pop();
        let pod = manifest(job, group, granted, membership);
        Arc::new(WorkerTemplate::new(pod, group.id(), prefix, job.replica_index(0)))
    };
    job.groups().run_by_pods().map(template).collect()
}

/// A worker without what differs between the workers of its group.
fn manifest(job: &ValidJob, group: &Group, granted: &Granted, membership: Membership) -> Value {
    let grant = granted.of(group.id());
    let mut pod = Pod::of(job, group);
    overlay::set(&mut pod.metadata, "namespace", job.names().namespace());
    overlay::set(&mut pod.metadata, "ownerReferences", json!([owned::controller(job)]));
    overlay::edit(&mut pod.spec, "dnsConfig", |dns| {
        overlay::append(dns, "searches", [Value::from(job.names().search_domain())]);
    });
    pod.container(|container| {
        if overlay::is_empty(container, "command") && overlay::is_empty(container, "args") {
            overlay::set(container, "command", daemon(job));
        }
        if let Some(port) = job.options().ssh_probe {
            probe(container, port);
        }
    });
    pod.environment(group.role().name, grant, &granted.everywhere);
    pod.ports(&grant.ports);
    pod.ssh(job);
    pod.files(job, granted);
    pod.capabilities(granted);
    pod_group::join(&mut pod, job, membership.gang);
    if let Some(native) = membership.native {
        native.join(&mut pod, job);
    }
    json!({"metadata": pod.metadata, "spec": pod.spec})
}

/// sshd in the foreground, with the image's configuration; where host keys are checked, the job's key is one of its own.
fn daemon(job: &ValidJob) -> Value {
    let host_key = job.options().checks_host_keys.then(|| job.ssh_file(volumes::SSH_PRIVATE_KEY_FILE));
    let words = ["/usr/sbin/sshd", "-De"].into_iter().map(str::to_owned);
    words.chain(host_key.into_iter().flat_map(|file| ["-h".to_owned(), file])).collect()
}

/// A readiness probe on the ssh port, unless the user has one.
fn probe(container: &mut Fields, port: u16) {
    if container.get("readinessProbe").is_none_or(Value::is_null) {
        overlay::set(
            container,
            "readinessProbe",
            json!({"tcpSocket": {"port": port}, "periodSeconds": PROBE_SECONDS}),
        );
    }
}

#[cfg(test)]
mod tests;
