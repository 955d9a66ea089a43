//! Jobs of many shapes that every component is tried on before it serves.
//!
//! A plugin may refuse any of them in words; it may not break, ask for what no plugin may have, or answer differently
//! when asked again.

use std::collections::BTreeMap;

use coxswain_model::{
    api::{annotations, resource, volumes},
    job::ValidJob,
    plan::{Change, Edit, File, Place, Plan},
    policy::ClusterPolicy,
    view::JobView,
};
use coxswain_sandbox::Plugin;
use serde_json::{Value, json};

use crate::trial::{self, SO_FAR, Trial, Tried};

/// One job.
pub struct Probe {
    /// For people.
    pub name: &'static str,
    /// The job.
    pub job: ValidJob,
    /// How plugins see it.
    pub view: JobView,
}

/// What came of one probe.
pub struct Probed {
    /// Name of the probe.
    pub name: String,
    /// What the plugin made of it.
    pub tried: Tried,
}

/// Tries a plugin with the administrator's settings on every probe. Blocks for some milliseconds.
pub fn probe(plugin: &Plugin, given: &BTreeMap<String, String>, policy: &ClusterPolicy) -> Vec<Probed> {
    let mut probed = Vec::new();
    for Probe { name, job, view } in all(implementation(plugin)) {
        for (role, so_far) in roles(plugin, &view) {
            let trial = Trial { plugin, given, policy, job: &job, view: view.clone(), so_far };
            probed.push(Probed { name: format!("{name}{role}"), tried: trial.run() });
        }
    }
    probed
}

/// What a component is asked as: one that can be both is tried as both. (Words behind a probe's name, what a tuner
/// finds.)
pub fn roles(plugin: &Plugin, view: &JobView) -> Vec<(&'static str, Option<Plan>)> {
    match (plugin.is_launcher(), plugin.is_tuner()) {
        (true, true) => vec![("", None), (", as tuner", Some(launched(view)))],
        (false, true) => vec![("", Some(launched(view)))],
        _ => vec![("", None)],
    }
}

/// What a launcher's plugin has about always rendered before a tuner is asked.
fn launched(view: &JobView) -> Plan {
    let by = || SO_FAR.to_owned();
    let ranks = view.groups.iter().filter(|group| group.runs_ranks).flat_map(|group| &group.hosts);
    let lines: Vec<String> = ranks.map(|host| format!("{} slots={}\n", host.name, host.slots)).collect();
    let content = lines.concat();
    let place = Place::Job;
    let hostfile = File { by: by(), name: volumes::HOSTFILE.into(), place, executable: false, content };
    let program = view.groups.iter().find(|group| group.driver).map(|driver| driver.container.args.clone());
    let words = std::iter::once("mpirun".to_owned()).chain(program.unwrap_or_default());
    let command = Edit { by: by(), group: None, change: Change::LaunchCommand(words.collect()) };
    let edits = if view.renders_command { vec![command] } else { Vec::new() };
    Plan { edits, files: vec![hostfile], notes: Vec::new() }
}

impl Probed {
    /// Why a component that does this must not serve, in words.
    pub fn failure(&self) -> Option<String> {
        let why = match &self.tried {
            Tried::Granted(_) | Tried::Refused(_) => return None,
            Tried::Forbidden(violations) => trial::words(violations),
            Tried::Broken(how) => how.clone(),
            Tried::Unsteady => trial::UNSTEADY.to_owned(),
        };
        Some(format!("{}: {why}", self.name))
    }
}

/// Every reason why a component must not serve: none if every probe went well.
pub fn failures(probed: &[Probed]) -> Vec<String> {
    probed.iter().filter_map(Probed::failure).collect()
}

/// What a plugin is tried with: the first implementation that it serves.
pub fn implementation(plugin: &Plugin) -> &str {
    plugin.descriptor().serves.first().map_or("OpenMPI", String::as_str)
}

/// A plain job: a launcher with a command, and workers with two slots each.
pub fn sample(implementation: &str, workers: u32) -> Value {
    let pod = |container: Value| json!({ "spec": { "containers": [container] } });
    let launcher = json!({
        "name": "main",
        "image": "registry.example/mpi:1",
        "command": ["mpirun", "-n", "2", "/app/pi"],
    });
    let worker = json!({
        "name": "main",
        "image": "registry.example/mpi:1",
        "resources": { "limits": { "cpu": "2", "memory": "4Gi" } },
    });
    json!({
        "apiVersion": resource::API_VERSION,
        "kind": resource::KIND,
        "metadata": { "name": "probe", "namespace": "default" },
        "spec": {
            "slotsPerWorker": 2,
            "mpiImplementation": implementation,
            "mpiReplicaSpecs": {
                "Launcher": { "replicas": 1, "template": pod(launcher) },
                "Worker": { "replicas": workers, "template": pod(worker) },
            },
        },
    })
}

/// The probes for one implementation.
pub fn all(implementation: &str) -> Vec<Probe> {
    let plain = |workers| sample(implementation, workers);
    let changed = |change: Value| {
        let mut object = plain(2);
        merge(&mut object, change);
        object
    };
    let mut alone = plain(1);
    if let Some(specs) = alone.pointer_mut("/spec/mpiReplicaSpecs").and_then(Value::as_object_mut) {
        specs.remove("Worker");
    }
    let objects = [
        ("1 host", plain(1)),
        ("2 hosts", plain(2)),
        ("64 hosts", plain(64)),
        ("launcher alone", alone),
        ("launcher as worker", changed(json!({ "spec": { "runLauncherAsWorker": true } }))),
        ("one slot", changed(json!({ "spec": { "slotsPerWorker": 1 } }))),
        ("rendered command", changed(rendered_command())),
        ("elastic", changed(annotation(annotations::ANNOTATION_START_MIN_WORKERS, "1"))),
        ("ssh on another port", changed(annotation(annotations::ANNOTATION_SSH_PROBE, "2222"))),
        ("not root", changed(not_root())),
        ("node's network", changed(templates(&json!({ "spec": { "hostNetwork": true } })))),
        ("devices", changed(devices())),
    ];
    let mut probes: Vec<Probe> =
        objects.into_iter().filter_map(|(name, object)| probe_of(name, object)).collect();
    probes.extend(probe_of("uneven slots", plain(5)).map(uneven));
    probes.extend(probe_of("cluster domain", plain(2)).map(under_domain));
    probes
}

/// The objects are written here and are valid: a test holds on to that.
fn probe_of(name: &'static str, object: Value) -> Option<Probe> {
    let job = trial::job(object).ok()?;
    Some(Probe { name, view: trial::view(&job), job })
}

fn uneven(mut probe: Probe) -> Probe {
    for host in probe.view.groups.iter_mut().flat_map(|group| &mut group.hosts) {
        host.slots = 1 + host.index % 3;
    }
    probe
}

fn under_domain(probe: Probe) -> Probe {
    let job = probe.job.under_domain(Some("cluster.example"));
    Probe { view: trial::view(&job), job, ..probe }
}

fn annotation(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

fn rendered_command() -> Value {
    let mut change = annotation(annotations::ANNOTATION_LAUNCH_COMMAND, "render");
    let container =
        json!([{ "name": "main", "image": "registry.example/mpi:1", "args": ["/app/pi", "--steps", "10"] }]);
    let launcher = json!({ "template": { "spec": { "containers": container } } });
    merge(&mut change, json!({ "spec": { "mpiReplicaSpecs": { "Launcher": launcher } } }));
    change
}

fn not_root() -> Value {
    let mut change = templates(&json!({ "spec": { "securityContext": { "runAsUser": 1000 } } }));
    merge(&mut change, json!({ "spec": { "sshAuthMountPath": "/home/mpiuser/.ssh" } }));
    change
}

/// Graphics and network cards, and a variable of the user's.
fn devices() -> Value {
    let container = json!([{
        "name": "main",
        "image": "registry.example/mpi:1",
        "command": ["mpirun", "/app/train"],
        "env": [{ "name": "NCCL_DEBUG", "value": "INFO" }],
        "resources": { "limits": { "nvidia.com/gpu": 8, "rdma/hca": 8, "cpu": "64", "memory": "512Gi" } },
    }]);
    let claims = json!([{ "name": "nic", "resourceClaimTemplateName": "nic" }]);
    templates(&json!({ "spec": { "containers": container, "resourceClaims": claims } }))
}

/// The same change to both templates.
fn templates(change: &Value) -> Value {
    let role = json!({ "template": change });
    json!({ "spec": { "mpiReplicaSpecs": { "Launcher": role, "Worker": role } } })
}

/// Objects are merged, everything else is replaced.
fn merge(into: &mut Value, change: Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (key, value) in change {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_a_valid_job() {
        let probes = all("OpenMPI");
        let named = |name: &str| probes.iter().find(|probe| probe.name == name).unwrap();

        assert_eq!(probes.len(), 14);
        assert_eq!(named("64 hosts").view.groups[1].hosts.len(), 64);
        assert_eq!(named("launcher alone").view.groups.len(), 1);
        assert!(named("rendered command").view.renders_command);
        assert!(named("elastic").view.elastic);
        assert_eq!(named("not root").view.groups[1].run_as_user, Some(1000));
        assert_eq!(named("devices").view.groups[1].container.devices.len(), 2);
        assert_eq!(named("cluster domain").view.cluster_domain.as_deref(), Some("cluster.example"));
        let slots: Vec<u32> = named("uneven slots").view.groups[1].hosts.iter().map(|h| h.slots).collect();
        assert_eq!(slots, [1, 2, 3, 1, 2]);
    }
}
