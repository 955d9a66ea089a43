//! Jobs for tests: the shape of examples/pi.yaml, with requests so small that ten of them fit on two cores.

use std::env;

use serde_json::{Value, json};

/// An MPI implementation, sshd and pi; tests/images builds them. `COXSWAIN_PI_IMAGE` names others, without the tag.
const IMAGE: &str = "localhost/coxswain-pi";

/// An MPIJob that is being written.
#[derive(Clone, Debug)]
pub struct Job(Value);

impl Job {
    /// Two workers compute pi within a moment and are removed afterwards.
    pub fn pi(name: &str) -> Self {
        let worker = container(&["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"]);
        let launcher = container(&["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000"]);
        Self(json!({
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": { "name": name, "annotations": {} },
            "spec": {
                "slotsPerWorker": 1,
                "runPolicy": { "cleanPodPolicy": "Running" },
                "sshAuthMountPath": "/home/mpiuser/.ssh",
                "mpiReplicaSpecs": {
                    "Launcher": { "replicas": 1, "template": { "spec": { "containers": [launcher] } } },
                    "Worker": { "replicas": 2, "template": { "spec": { "containers": [worker] } } },
                },
            },
        }))
    }

    /// The same with another MPI: the tag of its image and its name in `spec.mpiImplementation`.
    #[must_use]
    pub fn with_mpi(self, tag: &str, implementation: &str) -> Self {
        let image = |role| format!("/spec/mpiReplicaSpecs/{role}/template/spec/containers/0/image");
        self.set("/spec/mpiImplementation", implementation)
            .set(&image("Launcher"), pi_image(tag))
            .set(&image("Worker"), pi_image(tag))
    }

    /// A variable of the launcher's main container.
    #[must_use]
    pub fn launcher_env(mut self, name: &str, value: &str) -> Self {
        let main = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0";
        let variable = json!({ "name": name, "value": value });
        if let Some(Value::Object(container)) = self.0.pointer_mut(main)
            && let Value::Array(env) = container.entry("env").or_insert_with(|| json!([]))
        {
            env.push(variable);
        }
        self
    }

    /// The job of a manifest, under another name.
    pub fn of_yaml(yaml: &str, name: &str) -> anyhow::Result<Self> {
        Ok(Self(serde_saphyr::from_str(yaml)?).set("/metadata/name", name))
    }

    /// The launcher runs for as long as its file /tmp/done is missing; see [`crate::Space::finish`].
    pub fn open_ended(name: &str) -> Self {
        Self::pi(name).launcher_runs("until test -e /tmp/done; do sleep 0.2; done")
    }

    /// `spec.mpiReplicaSpecs.Worker.replicas`.
    #[must_use]
    pub fn workers(self, count: u32) -> Self {
        self.set("/spec/mpiReplicaSpecs/Worker/replicas", count)
    }

    /// The launcher's main container runs this shell script.
    #[must_use]
    pub fn launcher_runs(self, script: &str) -> Self {
        self.set("/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command", shell(script))
    }

    /// The workers' main containers run this shell script, as user 1000.
    #[must_use]
    pub fn workers_run(self, script: &str) -> Self {
        self.set("/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/command", shell(script))
    }

    /// A field of the workers' main container.
    #[must_use]
    pub fn worker_container(self, field: &str, value: Value) -> Self {
        self.set(&format!("/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/{field}"), value)
    }

    /// The workers are Ready for as long as their container has this file.
    #[must_use]
    pub fn ready_while(self, file: &str) -> Self {
        let probe =
            json!({ "exec": { "command": ["test", "-e", file] }, "periodSeconds": 1, "failureThreshold": 1 });
        self.worker_container("readinessProbe", probe)
    }

    /// The workers never become Ready.
    #[must_use]
    pub fn never_ready(self) -> Self {
        self.ready_while("/never")
    }

    /// The workers' sshd starts this much later.
    #[must_use]
    pub fn workers_start_late(self, seconds: u32) -> Self {
        let wait =
            Self(container(&[])).set("/name", "wait").set("/command", shell(&format!("sleep {seconds}")));
        self.set("/spec/mpiReplicaSpecs/Worker/template/spec/initContainers", vec![wait.0])
    }

    /// The workers are Ready once their sshd listens.
    #[must_use]
    pub fn ssh_probe(self) -> Self {
        self.annotate("coxswain.dev/ssh-probe", "2222")
    }

    /// A field of `spec.runPolicy`.
    #[must_use]
    pub fn run_policy(self, field: &str, value: impl Into<Value>) -> Self {
        self.set(&format!("/spec/runPolicy/{field}"), value)
    }

    /// An annotation of the job.
    #[must_use]
    pub fn annotate(self, key: &str, value: &str) -> Self {
        // A slash in a key is written `~1` in a pointer.
        self.set(&format!("/metadata/annotations/{}", key.replace('/', "~1")), value)
    }

    /// Sets the value at a JSON pointer; its parent must exist, or nothing is set.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return self };
        match self.0.pointer_mut(parent) {
            Some(Value::Object(fields)) => drop(fields.insert(key.replace("~1", "/"), value.into())),
            Some(Value::Array(_)) => {
                if let Some(place) = self.0.pointer_mut(pointer) {
                    *place = value.into();
                }
            }
            _ => {}
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }

    /// As it is sent.
    pub fn manifest(&self) -> &Value {
        &self.0
    }
}

fn pi_image(tag: &str) -> String {
    let name = env::var("COXSWAIN_PI_IMAGE");
    format!("{}:{tag}", name.as_deref().unwrap_or(IMAGE))
}

fn container(command: &[&str]) -> Value {
    json!({
        "name": "main",
        "image": pi_image("openmpi4"),
        "securityContext": { "runAsUser": 1000 },
        "command": command,
        "resources": { "requests": { "cpu": "20m", "memory": "32Mi" } },
    })
}

/// A shell as first process would ignore SIGTERM and hold every deletion up for half a minute.
fn shell(script: &str) -> Value {
    json!(["bash", "-c", format!("trap 'exit 143' TERM; {{ {script}; }} & wait $!")])
}
