//! Jobs for tests: the shape of examples/pi.yaml, with requests so small that ten of them fit on two cores.

use std::env;

use serde_json::{Value, json};

/// An MPI implementation, sshd and pi; tests/images builds them. `COXSWAIN_PI_IMAGE` names others, without the tag.
const IMAGE: &str = "localhost/coxswain-pi";

/// An `MPIJob` that is being written.
#[derive(Clone, Debug)]
pub struct Job(coxswain_test_support::job::Job);

impl Job {
    /// Two workers compute pi within a moment and are removed afterwards.
    pub fn pi(name: &str) -> Self {
        let worker = container("main", &json!(["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"]));
        let launcher = container("main", &json!(["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000"]));
        let job = coxswain_test_support::job::Job::new(name, 2)
            .run_policy("cleanPodPolicy", "Running")
            .set("/spec/slotsPerWorker", 1)
            .set("/spec/sshAuthMountPath", "/home/mpiuser/.ssh")
            .set("/spec/mpiReplicaSpecs/Launcher/template/spec/containers", vec![launcher])
            .set("/spec/mpiReplicaSpecs/Worker/template/spec/containers", vec![worker]);
        Self(job)
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
    pub fn launcher_env(self, name: &str, value: &str) -> Self {
        let env = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/env";
        let mut all = self.manifest().pointer(env).and_then(Value::as_array).cloned().unwrap_or_default();
        all.push(json!({ "name": name, "value": value }));
        self.set(env, all)
    }

    /// The job of a manifest, under another name.
    pub fn of_yaml(yaml: &str, name: &str) -> anyhow::Result<Self> {
        let manifest: Value = serde_saphyr::from_str(yaml)?;
        Ok(Self(manifest.into()).set("/metadata/name", name))
    }

    /// The launcher runs for as long as its file /tmp/done is missing; see [`crate::Space::finish`].
    pub fn open_ended(name: &str) -> Self {
        Self::pi(name).launcher_runs("until test -e /tmp/done; do sleep 0.2; done")
    }

    /// `spec.mpiReplicaSpecs.Worker.replicas`.
    #[must_use]
    pub fn workers(self, count: u32) -> Self {
        Self(self.0.workers(count))
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
        Self(self.0.worker_container(field, value))
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
        let wait = container("wait", &shell(&format!("sleep {seconds}")));
        self.set("/spec/mpiReplicaSpecs/Worker/template/spec/initContainers", vec![wait])
    }

    /// The workers are Ready once their sshd listens.
    #[must_use]
    pub fn ssh_probe(self) -> Self {
        self.annotate("coxswain.dev/ssh-probe", "2222")
    }

    /// A field of `spec.runPolicy`.
    #[must_use]
    pub fn run_policy(self, field: &str, value: impl Into<Value>) -> Self {
        Self(self.0.run_policy(field, value))
    }

    /// An annotation of the job.
    #[must_use]
    pub fn annotate(self, key: &str, value: &str) -> Self {
        Self(self.0.annotate(key, value))
    }

    /// Sets the value at a JSON pointer; its parent must exist, or nothing is set.
    #[must_use]
    pub fn set(self, pointer: &str, value: impl Into<Value>) -> Self {
        Self(self.0.set(pointer, value))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// As it is sent.
    pub fn manifest(&self) -> &Value {
        self.0.manifest()
    }
}

fn pi_image(tag: &str) -> String {
    let name = env::var("COXSWAIN_PI_IMAGE");
    format!("{}:{tag}", name.as_deref().unwrap_or(IMAGE))
}

fn container(name: &str, command: &Value) -> Value {
    json!({
        "name": name,
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
