//! A pod under construction: what launcher and workers have in common, laid over the user's template.

use serde_json::{Value, json};

use super::{
    config_map,
    overlay::{self, Fields},
    owned,
};
use crate::{
    api::{labels, volumes},
    job::{Group, ValidJob},
    places::{self, LOCK_MEMORY, SHARED_MEMORY_PATH},
    plan::{EnvValue, File, Port},
    policy::{Grant, Granted, GrantedEnv},
};

/// Mode of the key files under [`volumes::ROOT_SSH_PATH`]: root's ssh refuses keys that others can read. Elsewhere the
/// image copies them.
const PRIVATE_MODE: u32 = 0o600;

/// `metadata` and `spec` of a pod.
pub(super) struct Pod {
    pub metadata: Fields,
    pub spec: Fields,
}

impl Pod {
    /// Of the template's metadata only labels and annotations count, as in the MPI Operator.
    pub fn of(job: &ValidJob, group: &Group) -> Self {
        let mut template = overlay::fields(group.template().clone());
        let mut given = overlay::fields(template.remove("metadata").unwrap_or_default());
        let mut metadata = Fields::new();
        for key in ["labels", "annotations"] {
            let kept = overlay::fields(given.remove(key).unwrap_or_default());
            if !kept.is_empty() {
                overlay::set(&mut metadata, key, kept);
            }
        }
        owned::label(&mut metadata, labels::LABEL_OPERATOR_NAME, labels::OPERATOR_NAME);
        owned::label(&mut metadata, labels::LABEL_JOB_NAME, job.names().job());
        owned::label(&mut metadata, labels::LABEL_JOB_ROLE, group.role().name);

        let mut spec = overlay::fields(template.remove("spec").unwrap_or_default());
        overlay::set(&mut spec, "subdomain", job.names().job());
        overlay::set(&mut spec, "restartPolicy", group.restart_policy().as_str());
        if group.host_network() {
            overlay::set(&mut spec, "dnsPolicy", "ClusterFirstWithHostNet");
        }
        Self { metadata, spec }
    }

    /// Changes the main container, the first one.
    pub fn container(&mut self, change: impl FnOnce(&mut Fields)) {
        overlay::edit_first(&mut self.spec, "containers", change);
    }

    /// Adds a volume, mounted in the main container.
    pub fn volume(&mut self, volume: Value, mounts: impl IntoIterator<Item = Value>) {
        overlay::append(&mut self.spec, "volumes", [volume]);
        self.container(|container| overlay::append(container, "volumeMounts", mounts));
    }

    /// The role, then what the plugins set, where one of them leaves a variable to the user and he has set it, his.
    pub fn environment(&mut self, role: &str, grant: &Grant, files: &[File]) {
        self.container(|container| {
            let role = json!({"name": labels::ENV_JOB_ROLE, "value": role});
            let granted = grant.env.iter().filter(|env| env.force || !is_set(container, &env.name));
            let finders = files
                .iter()
                .filter_map(|file| places::spot(config_map::key(file))?.finder)
                .filter(|(name, _)| {
                    !is_set(container, name) && !grant.env.iter().any(|env| env.name == *name)
                })
                .map(|(name, value)| json!({"name": name, "value": value}));
            let all: Vec<Value> = std::iter::once(role).chain(granted.map(variable)).chain(finders).collect();
            overlay::append(container, "env", all);
        });
    }

    /// Ports that the user has not declared himself.
    pub fn ports(&mut self, ports: &[Port]) {
        self.container(|container| {
            let declared = |port: &Port| {
                overlay::lists(container, "ports", "name", port.name.as_str())
                    || overlay::lists(container, "ports", "containerPort", port.number)
            };
            let manifest =
                |port: &Port| json!({"name": port.name, "containerPort": port.number, "protocol": "TCP"});
            let new: Vec<Value> = ports.iter().filter(|port| !declared(port)).map(manifest).collect();
            overlay::append(container, "ports", new);
        });
    }

    /// The job's key pair, and the host keys to be accepted where the job asks for a check.
    pub fn ssh(&mut self, job: &ValidJob) {
        let item = |key: &str, path: &str| json!({"key": key, "path": path});
        let mut items = vec![
            item(volumes::SSH_PRIVATE_KEY, volumes::SSH_PRIVATE_KEY_FILE),
            item(volumes::SSH_PUBLIC_KEY, "id_rsa.pub"),
            item(volumes::SSH_PUBLIC_KEY, "authorized_keys"),
        ];
        if job.options().checks_host_keys {
            items.push(item(volumes::SSH_KNOWN_HOSTS, volumes::SSH_KNOWN_HOSTS_FILE));
        }
        let mut secret = overlay::fields(json!({"secretName": job.names().secret(), "items": items}));
        if job.ssh_mount_path() == volumes::ROOT_SSH_PATH {
            overlay::set(&mut secret, "defaultMode", PRIVATE_MODE);
        }
        let mount = json!({"name": volumes::SSH_VOLUME, "mountPath": job.ssh_mount_path()});
        self.volume(json!({"name": volumes::SSH_VOLUME, "secret": secret}), [mount]);
    }

    /// Files for every pod. A path that the user mounts himself stays his.
    pub fn files(&mut self, job: &ValidJob, granted: &Granted) {
        let mounts: Vec<Value> = granted
            .everywhere
            .iter()
            .filter_map(|file| Some((config_map::key(file), places::spot(config_map::key(file))?.path)))
            .filter(|(_, path)| !self.mounts(path))
            .map(|(key, path)| {
                json!({"name": volumes::FILES_VOLUME, "mountPath": path, "subPath": key, "readOnly": true})
            })
            .collect();
        if !mounts.is_empty() {
            self.volume(config_map::files_volume(job, granted), mounts);
        }
    }

    /// Capabilities of a pod that runs ranks.
    pub fn capabilities(&mut self, granted: &Granted) {
        if let Some(size) = &granted.shared_memory
            && !self.mounts(SHARED_MEMORY_PATH)
        {
            let mut memory = overlay::fields(json!({"medium": "Memory"}));
            if !size.is_empty() {
                overlay::set(&mut memory, "sizeLimit", size.as_str());
            }
            let mount = json!({"name": volumes::SHARED_MEMORY_VOLUME, "mountPath": SHARED_MEMORY_PATH});
            self.volume(json!({"name": volumes::SHARED_MEMORY_VOLUME, "emptyDir": memory}), [mount]);
        }
        if granted.lock_memory {
            self.container(|container| overlay::edit(container, "securityContext", lock_memory));
        }
    }

    /// The user mounts something at `path` in the main container.
    fn mounts(&self, path: &str) -> bool {
        let containers = self.spec.get("containers").and_then(Value::as_array);
        let main = containers.and_then(|list| list.first()).and_then(Value::as_object);
        main.is_some_and(|container| overlay::lists(container, "volumeMounts", "mountPath", path))
    }
}

fn lock_memory(security_context: &mut Fields) {
    overlay::edit(security_context, "capabilities", |capabilities| {
        let added = capabilities.get("add").and_then(Value::as_array);
        if !added.is_some_and(|list| list.iter().any(|one| one == LOCK_MEMORY || one == "ALL")) {
            overlay::append(capabilities, "add", [Value::from(LOCK_MEMORY)]);
        }
    });
}

fn is_set(container: &Fields, name: &str) -> bool {
    overlay::lists(container, "env", "name", name)
}

fn variable(env: &GrantedEnv) -> Value {
    match &env.value {
        EnvValue::Literal(value) => json!({"name": env.name, "value": value}),
        EnvValue::Field(field) => {
            json!({"name": env.name, "valueFrom": {"fieldRef": {"fieldPath": field.path()}}})
        }
    }
}
