//! The chain of plugins that renders a job for life.
//!
//! Written on the job's ConfigMap before its first worker exists, and again on the launcher Job. Scaling,
//! resuming and a new operator all render by the pin, whatever the cluster's plugins have become meanwhile.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// sha256 of a plugin's bytes: its identity. Displayed and stored as 64 hex digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// Not 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDigest;

impl Digest {
    /// Digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first 12 hex digits, for people.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    /// Accepts 64 hex digits, with or without `sha256:` before them and white space around.
    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let text = text.trim();
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(InvalidDigest);
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..64).step_by(2)) {
            let pair = hex.get(at..at + 2).ok_or(InvalidDigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidDigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|InvalidDigest| serde::de::Error::custom("a digest is 64 hex digits"))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Pin {
        Pin {
            launcher: PinnedPlugin {
                name: "openmpi".into(),
                digest: Digest::of(b"openmpi"),
                settings: [("ssh-args".to_owned(), "-q".to_owned())].into(),
            },
            tuners: vec![],
            cluster_domain: Some("k8s.example".into()),
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

    #[test]
    fn a_digest_reads_what_it_writes_and_nothing_else() {
        let digest = Digest::of(b"");

        assert!(digest.to_string().starts_with("e3b0c44298fc1c14"));
        assert_eq!(format!("sha256:{digest}").parse(), Ok(digest.clone()));
        assert_eq!("abc".parse::<Digest>(), Err(InvalidDigest));
        assert_eq!("+0".repeat(32).parse::<Digest>(), Err(InvalidDigest));
    }
}
