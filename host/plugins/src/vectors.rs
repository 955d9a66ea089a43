//! Vectors: jobs with what a plugin must make of them, as its author wrote them down.
//!
//! `coxswain plugin check` holds a component to them on the author's machine, the operator before a component serves
//! (`data.vectors` of its ConfigMap). A list in JSON or YAML:
//!
//! ```yaml
//! - name: two workers
//!   job: { … }                 # an MPIJob; absent: a plain one with two workers
//!   settings: { key: value }   # as in data.settings
//!   after:                     # for tuners: what the launcher's plugin has set
//!     worker: { env: { NAME: value } }
//!   expect:                    # what is not named here may be anything
//!     launcher:
//!       env: { NAME: value, OTHER: null }      # null: is not set
//!       ports: { name: 4000 }
//!     worker: { … }
//!     command: [mpirun, …]
//!     files: { hostfile: "…", other: { contains: "…" } }
//!     capabilities: { shared-memory: 8Gi }
//!     notes: [part of a note]
//! - name: a wrong setting
//!   settings: { key: nonsense }
//!   expect: { refused: part of the words }
//! ```

mod expect;

use std::collections::BTreeMap;

use coxswain_model::{
    api::labels,
    job::ValidJob,
    plan::{Change, Edit, EnvEdit, EnvValue, File, Place, Plan},
    policy::ClusterPolicy,
};
use coxswain_sandbox::Plugin;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use self::expect::{Expect, text};
use crate::{
    probes,
    trial::{self, SO_FAR, Trial, Tried},
};

/// Most vectors: the operator tries them all before a component serves.
const MAX_VECTORS: usize = 256;
/// Most workers of a vector's job.
const MAX_WORKERS: u32 = 10_000;

/// What a plugin must do, in the order of the file. Written by serde, it is text that [`parse`] reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Vectors(Vec<Vector>);

/// One job and what is expected.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    job: Value,
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<After>,
    expect: Expect,
}

/// What a tuner finds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct After {
    launcher: Role,
    worker: Role,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
}

/// What one role has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Role {
    #[serde(deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
}

/// Reads vectors whose jobs are written in them.
///
/// # Errors
///
/// What is wrong, with the vector's name.
pub fn parse(text: &str) -> Result<Vectors, String> {
    parse_with(text, |path| Err(format!("{path:?} is a path; a job must be written into the vectors here")))
}

/// The same where `job` may also be a path, whose text `read` gives: for files on an author's machine.
///
/// # Errors
///
/// As [`parse`], and what `read` says.
pub fn parse_with(text: &str, read: impl Fn(&str) -> Result<String, String>) -> Result<Vectors, String> {
    let values: Vec<Value> = value(text).map_err(|error| format!("must be a list of vectors: {error}"))?;
    if values.len() > MAX_VECTORS {
        return Err(format!("{} vectors: at most {MAX_VECTORS} are allowed", values.len()));
    }
    let mut vectors: Vec<Vector> = Vec::new();
    for (number, raw) in values.into_iter().enumerate() {
        let name = raw.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let wrong = |why: String| format!("vector {} ({name}): {why}", number + 1);
        let mut vector: Vector = serde_json::from_value(raw).map_err(|error| wrong(error.to_string()))?;
        if let Value::String(path) = &vector.job {
            let text = read(path).map_err(|why| wrong(format!("job: {why}")))?;
            vector.job = value(&text).map_err(|why| wrong(format!("job: {path}: {why}")))?;
        }
        let workers = vector.parsed("OpenMPI").map_err(|why| wrong(format!("job: {why}")))?.workers();
        if workers > MAX_WORKERS {
            return Err(wrong(format!(
                "job: {workers} workers: at most {MAX_WORKERS} are allowed in a vector"
            )));
        }
        if vectors.iter().any(|other| other.name == vector.name) {
            return Err(wrong("another vector has the same name".into()));
        }
        vectors.push(vector);
    }
    Ok(Vectors(vectors))
}

/// JSON has clearer errors in its own reader; everything else is YAML.
fn value<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.trim_start().starts_with(['[', '{']) {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

/// Asks a plugin and compares: every difference in words, none if it does what it must. Blocks for some milliseconds a
/// vector.
pub fn check(plugin: &Plugin, vectors: &Vectors, policy: &ClusterPolicy) -> Vec<String> {
    let failures = |vector: &Vector| {
        let failures = vector.failures(plugin, policy);
        let named = failures.into_iter().map(|failure| format!("{}: {failure}", vector.name));
        named.collect::<Vec<_>>()
    };
    vectors.0.iter().flat_map(failures).collect()
}

impl Vectors {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Vector {
    fn failures(&self, plugin: &Plugin, policy: &ClusterPolicy) -> Vec<String> {
        let job = match self.parsed(probes::implementation(plugin)) {
            Ok(job) => job,
            Err(why) => return vec![format!("job: {why}")],
        };
        let so_far = self.after.as_ref().map(After::plan);
        let trial =
            Trial { plugin, given: &self.settings, policy, job: &job, view: trial::view(&job), so_far };
        match (trial.run(), &self.expect.refused) {
            (Tried::Broken(how), _) => vec![how],
            (Tried::Unsteady, _) => vec![trial::UNSTEADY.to_owned()],
            (Tried::Granted(_), Some(words)) => vec![format!("must be refused with {words:?}, but is not")],
            (Tried::Granted(result), None) => self.expect.differences(&result.0, &result.1),
            (Tried::Refused(why), expected) => unexpected(&why, expected.as_deref()),
            (Tried::Forbidden(violations), expected) => {
                unexpected(&trial::words(&violations), expected.as_deref())
            }
        }
    }

    fn parsed(&self, implementation: &str) -> Result<ValidJob, String> {
        let sample = || probes::sample(implementation, 2);
        trial::job(if self.job.is_null() { sample() } else { self.job.clone() })
    }
}

impl After {
    fn plan(&self) -> Plan {
        let roles = [(labels::ROLE_LAUNCHER, &self.launcher), (labels::ROLE_WORKER, &self.worker)];
        let edit = |role: &str, name: &str, value: &str| Edit {
            by: SO_FAR.into(),
            group: Some(role.to_owned()),
            change: Change::Env(EnvEdit {
                name: name.to_owned(),
                value: EnvValue::Literal(value.to_owned()),
                force: false,
            }),
        };
        let file = |(name, content): (&String, &String)| File {
            by: SO_FAR.into(),
            name: name.clone(),
            place: Place::Job,
            executable: false,
            content: content.clone(),
        };
        let edits = roles
            .iter()
            .flat_map(|(role, given)| given.env.iter().map(move |(name, value)| edit(role, name, value)));
        Plan { edits: edits.collect(), files: self.files.iter().map(file).collect(), notes: Vec::new() }
    }
}

fn unexpected(why: &str, expected: Option<&str>) -> Vec<String> {
    match expected {
        Some(words) if why.contains(words) => Vec::new(),
        Some(words) => vec![format!("must be refused with {words:?}, but is refused with: {why}")],
        None => vec![format!("is refused: {why}")],
    }
}

/// Numbers and flags are texts here: `slots: 2` and `slots: "2"` mean the same.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values = BTreeMap::<String, Value>::deserialize(deserializer)?;
    values.into_iter().map(|(key, value)| Ok((key, text(value)?))).collect()
}

#[cfg(test)]
mod tests;
