//! Secret with the ssh key pair of a job.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{overlay, owned};
use crate::{api::wire, job::ValidJob};

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
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": owned::metadata(job, &job.names.secret()),
        "type": "kubernetes.io/ssh-auth",
    })
}

/// The Secret with its keys.
pub fn with_keys(manifest: &Value, keys: &KeyPair) -> Value {
    let mut secret = overlay::fields(manifest.clone());
    overlay::set(
        &mut secret,
        "data",
        json!({
            wire::SSH_PRIVATE_KEY: STANDARD.encode(&keys.private_pem),
            wire::SSH_PUBLIC_KEY: STANDARD.encode(&keys.public_line),
        }),
    );
    Value::from(secret)
}
