//! Secret with the ssh key pair of a job.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{overlay, owned};
use crate::{
    api::{annotations, volumes},
    job::ValidJob,
    json::at,
    observed::ObservedState,
};

/// Both halves, as files.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// SEC1 PEM, `EC PRIVATE KEY`.
    pub private_pem: String,
    /// `authorized_keys` line with its line feed.
    pub public_line: String,
}

impl std::fmt::Debug for KeyPair {
    /// The private half stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyPair").field("public_line", &self.public_line).finish_non_exhaustive()
    }
}

/// The Secret without `data`: keys are random and made only when it is written.
pub fn manifest(job: &ValidJob) -> Value {
    let mut metadata = owned::metadata(job, &job.names().secret());
    if job.options().checks_host_keys {
        owned::annotate(&mut metadata, annotations::ANNOTATION_SSH_HOST_KEYS, "job");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "kubernetes.io/ssh-auth",
    })
}

/// The Secret with its keys, and with the line of `known_hosts` where its annotation says so. Any host of the job may
/// have the job's key: who holds it could log in at all of them anyway.
pub fn with_keys(manifest: &Value, keys: &KeyPair) -> Value {
    let mut secret = overlay::fields(manifest.clone());
    let annotations = at(manifest, "/metadata/annotations");
    let checks = annotations.get(annotations::ANNOTATION_SSH_HOST_KEYS).is_some();
    let known_hosts = checks.then(|| (volumes::SSH_KNOWN_HOSTS, format!("* {}", keys.public_line)));
    overlay::edit(&mut secret, "data", |data| {
        overlay::set(data, volumes::SSH_PRIVATE_KEY, STANDARD.encode(&keys.private_pem));
        overlay::set(data, volumes::SSH_PUBLIC_KEY, STANDARD.encode(&keys.public_line));
        if let Some((key, line)) = known_hosts {
            overlay::set(data, key, STANDARD.encode(line));
        }
    });
    Value::from(secret)
}

/// The job's pods would mount known hosts that its Secret, made earlier, does not have, and hang.
pub fn lacks_known_hosts(job: &ValidJob, observed: &ObservedState) -> bool {
    let ours = observed.secret.as_ref().filter(|secret| secret.object.is_controlled_by(job.uid()));
    job.options().checks_host_keys && ours.is_some_and(|secret| !secret.has_known_hosts)
}
