//! What becomes of a pod whose containers have ended.

/// `restartPolicy` of a role's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Kubernetes' own names")]
pub enum RestartPolicy {
    Never,
    OnFailure,
}

impl RestartPolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Never, Self::OnFailure];

    /// As it stands in a pod's spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::OnFailure => "OnFailure",
        }
    }
}
