//! The jobs that are submitted, and the objects that the operator makes of them.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use coxswain_test_support::job::Job;
use serde_json::{Value, json};

use crate::setting::Setting;

/// Stands for the job's name, namespace and uid until they are known; as long as the real ones.
const NAME: &str = "zz-name";
const NAMESPACE: &str = "zz-namespace";
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Never pulled: the nodes are fake.
pub const IMAGE: &str = "registry.example/team/image:1";

/// What every job of a scenario looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Jobs.
    pub jobs: u32,
    /// Workers of each.
    pub workers: u32,
    /// Two containers and 3 KB of environment a worker, bound to a node from the start.
    pub realistic: bool,
}

impl Shape {
    /// Small pods, so that the API server has little to do but to create them.
    pub const fn small(jobs: u32, workers: u32) -> Self {
        Self { jobs, workers, realistic: false }
    }

    /// Workers of all jobs.
    pub const fn all_workers(self) -> usize {
        self.jobs as usize * self.workers as usize
    }

    /// Their pods, launchers included.
    pub const fn all_pods(self) -> usize {
        self.all_workers() + self.jobs as usize
    }

    /// The `index`th job's manifest.
    pub fn manifest(self, namespace: &str, index: u32) -> Value {
        self.named(namespace, &name(index))
    }

    fn named(self, namespace: &str, name: &str) -> Value {
        let job = Job::new(name, self.workers)
            .containers("name", "main")
            .containers("image", IMAGE)
            .launcher_container("command", json!(["mpirun", "/home/mpiuser/pi"]))
            .run_policy("cleanPodPolicy", "All")
            .set("/metadata/namespace", namespace)
            .set("/spec/slotsPerWorker", 1);
        let job = if self.realistic { realistic(job) } else { job };
        job.manifest().clone()
    }

    /// Every object that the operator makes of one such job, by its own `render`; only the gate of the launcher is
    /// missing, which nobody would open for the plain client.
    pub fn rendered(self, setting: &Setting) -> Result<Rendered> {
        let mut job = self.named(NAMESPACE, NAME);
        job["metadata"]["annotations"] = json!({"coxswain.dev/start-gate": "none"});
        let mut child = Command::new(&setting.operator)
            .args(["render", "-", "--output", "json", "--plugin-dir"])
            .arg(&setting.plugins)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", setting.operator.display()))?;
        child.stdin.take().context("the child has no input")?.write_all(job.to_string().as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("rendering a job of the bench failed: {}", output.status);
        }
        let lines = String::from_utf8(output.stdout)?;
        lines.lines().map(Template::read).collect::<Result<_>>().map(Rendered)
    }
}

/// Two containers and 3 KB of environment a worker, bound to a node from the start.
fn realistic(job: Job) -> Job {
    let env: Vec<Value> =
        (0..60_u64).map(|n| json!({"name": format!("SETTING_{n:02}"), "value": text(n)})).collect();
    let containers =
        [json!({"name": "main", "image": IMAGE, "env": env}), json!({"name": "beside", "image": IMAGE})];
    job.set("/spec/mpiReplicaSpecs/Worker/template/spec/nodeName", "fake-00")
        .set("/spec/mpiReplicaSpecs/Worker/template/spec/containers", containers.to_vec())
}

/// The `index`th job's name.
pub fn name(index: u32) -> String {
    format!("job-{index:03}")
}

/// 20 characters of which no two are alike, so that what the operator keeps cannot be compressed to nothing.
fn text(number: u64) -> String {
    // Constants of splitmix64, whose steps look like chance.
    let scramble = |word: u64| {
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word ^ (word >> 27)
    };
    let word = scramble(number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
    format!("{word:016x}{:04x}", scramble(word) & 0xffff)
}

/// The objects of one job, to be filled in.
#[derive(Clone)]
pub struct Rendered(Vec<Template>);

impl Rendered {
    /// In the order of their creation.
    pub fn templates(&self) -> &[Template] {
        &self.0
    }
}

/// One object.
#[derive(Clone)]
pub struct Template {
    collection: &'static str,
    text: String,
}

impl Template {
    fn read(line: &str) -> Result<Self> {
        let mut object: Value = serde_json::from_str(line).context("reading what was rendered")?;
        let collection = match object["kind"].as_str().unwrap_or_default() {
            "Service" => "api/v1/namespaces/zz-namespace/services",
            "ConfigMap" => "api/v1/namespaces/zz-namespace/configmaps",
            "Secret" => {
                // As large as a P-521 key pair in PEM and as a line of known hosts.
                object["stringData"] =
                    json!({"ssh-privatekey": "x".repeat(365), "ssh-publickey": "x".repeat(280)});
                "api/v1/namespaces/zz-namespace/secrets"
            }
            "Pod" => "api/v1/namespaces/zz-namespace/pods?fieldValidation=Strict",
            "Job" => "apis/batch/v1/namespaces/zz-namespace/jobs?fieldValidation=Strict",
            kind => bail!("a job is not expected to have a {kind}"),
        };
        Ok(Self { collection, text: object.to_string() })
    }

    /// Path and body for a job.
    pub fn filled(&self, namespace: &str, job: &str, uid: &str) -> (String, String) {
        let path = format!("/{}", self.collection.replace(NAMESPACE, namespace));
        (path, self.text.replace(NAMESPACE, namespace).replace(NAME, job).replace(NO_UID, uid))
    }
}
