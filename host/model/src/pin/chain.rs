//! The pin itself, as it is written on a job's objects.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{claims::ClaimFacts, digest::Digest};

/// One plugin of a chain, exactly as it rendered the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct PinnedPlugin {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub digest: Digest,
    /// Its settings as merged when the job was pinned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Most bytes of a pin as an annotation: some plugins with their settings. No longer one is made, nor honoured: tenants can
/// write annotations of 256 KiB on as many ConfigMaps as they like, and all are kept in memory.
pub const MOST: usize = 16 << 10;

/// Kept in the place of what is longer than that.
pub(super) const TOO_LONG: &str = "too long";

/// What is kept of the annotation's text.
pub fn kept(text: &str) -> Arc<str> {
    if text.len() > MOST { TOO_LONG.into() } else { text.into() }
}

/// What renders a job for life.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Renders launcher environment, hostfile, command.
    pub launcher: PinnedPlugin,
    /// Adjust the plan, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tuners: Vec<PinnedPlugin>,
    /// `--cluster-domain` when the job was pinned: it is part of every host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_domain: Option<String>,
    /// What the objects behind the job's device claims said when it was pinned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: ClaimFacts,
}

impl Pin {
    /// The annotation's text; the same pin always gives the same text.
    pub fn to_annotation(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the annotation's text. `None` if it is not one of ours: tenants can write their ConfigMaps.
    pub fn from_annotation(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Launcher first, then the tuners.
    pub fn plugins(&self) -> impl Iterator<Item = &PinnedPlugin> {
        std::iter::once(&self.launcher).chain(&self.tuners)
    }

    /// `openmpi@0123456789ab, nccl-rdma@ba9876543210`, for events.
    pub fn summary(&self) -> String {
        let one = |p: &PinnedPlugin| format!("{}@{}", p.name, p.digest.short());
        self.plugins().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// In the place of the pin, on the ConfigMap of a job that the MPI Operator started.
pub const ADOPTED: &str = "adopted";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Facts;

    fn pin() -> Pin {
        Pin {
            launcher: PinnedPlugin {
                name: "openmpi".into(),
                digest: Digest::of(b"openmpi"),
                settings: [("ssh-args".to_owned(), "-q".to_owned())].into(),
            },
            tuners: vec![],
            cluster_domain: Some("k8s.example".into()),
            claims: [("resourceclaims/nic".to_owned(), Facts::default())].into(),
        }
    }

    #[test]
    fn a_pin_survives_its_annotation() {
        assert_eq!(Pin::from_annotation(&pin().to_annotation()), Some(pin()));
    }

    #[test]
    fn a_mangled_annotation_is_no_pin() {
        let text = pin().to_annotation();

        assert_eq!(Pin::from_annotation(&text.replace("digest", "digesd")), None);
        assert_eq!(Pin::from_annotation(""), None);
    }
}
