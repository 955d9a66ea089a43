//! The chain of plugins that renders a job for life.
//!
//! Written on the job's ConfigMap before its first worker exists, and again on the launcher Job. Scaling,
//! resuming and a new operator all render by the pin, whatever the cluster's plugins have become meanwhile.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    api::wire::ANNOTATION_PIN,
    claims::ClaimFacts,
    job::ValidJob,
    seen::{ObjectSeen, Seen},
};

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

/// Most bytes of a pin as an annotation: some plugins with their settings. No longer one is made, nor honoured: tenants can
/// write annotations of 256 KiB on as many ConfigMaps as they like, and all are kept in memory.
pub const MOST: usize = 16 << 10;

/// Kept in the place of what is longer than that.
const TOO_LONG: &str = "too long";

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

/// Whether a job has a pin, by what is seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing of the job has started: it gets a pin now.
    Fresh,
    /// Rendered by this until it ends.
    Pinned(Pin),
    /// Started by another operator (the MPI Operator, before the switch): kept up, not rendered.
    Adopted,
    /// It had a pin and has none that can be trusted: nothing is rendered anew. Says what was found.
    Lost(String),
}

impl Standing {
    /// Objects of an earlier job of the same name do not count.
    pub fn of(job: &ValidJob, seen: &Seen) -> Self {
        let ours = |object: &ObjectSeen| object.controller.as_ref() == Some(&job.uid);
        let config = seen.config.as_ref().filter(|config| ours(&config.object));
        let launcher = seen.launcher.as_ref().filter(|launcher| ours(&launcher.object));
        let on_config = config.and_then(|config| config.pin.as_deref());
        let adopted = on_config == Some(ADOPTED) && launcher.is_some();
        let on_config = on_config.filter(|_| !adopted);
        let on_launcher = launcher.and_then(|launcher| launcher.pin.as_deref());
        match (on_config, on_launcher) {
            (Some(one), Some(other)) if one != other => Self::Lost(format!(
                "annotation {ANNOTATION_PIN} of ConfigMap {} and Job {} contradict each other",
                job.names.config(),
                job.names.launcher()
            )),
            (Some(TOO_LONG), _) | (None, Some(TOO_LONG)) => {
                Self::Lost(format!("annotation {ANNOTATION_PIN} is longer than any pin, {MOST} bytes"))
            }
            (Some(text), _) | (None, Some(text)) => Pin::from_annotation(text).map_or_else(
                || Self::Lost(format!("annotation {ANNOTATION_PIN} holds something that is no pin")),
                Self::Pinned,
            ),
            // Suspended, nothing of it runs: it gets a pin, and `diff` makes its launcher Job anew.
            (None, None) if launcher.is_some_and(|launcher| !launcher.suspended) => Self::Adopted,
            (None, None) if !adopted && config.is_some_and(|config| config.content.is_some()) => Self::Lost(
                format!("annotation {ANNOTATION_PIN} was removed from ConfigMap {}", job.names.config()),
            ),
            (None, None)
                if config.is_none()
                    && seen.workers().any(|pod| pod.controller.as_ref() == Some(&job.uid)) =>
            {
                Self::Lost(format!(
                    "ConfigMap {} was deleted while its workers were there",
                    job.names.config()
                ))
            }
            (None, None) => Self::Fresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        claims::Facts,
        job::Verdict,
        seen::{ConfigSeen, LauncherSeen, Uid},
    };

    fn job() -> ValidJob {
        let template = serde_json::json!({ "spec": { "containers": [{ "name": "main" }] } });
        let raw = serde_json::json!({
            "metadata": { "name": "pi", "namespace": "team-a", "uid": "u1" },
            "spec": { "mpiReplicaSpecs": { "Launcher": { "template": template } } },
        });
        match ValidJob::parse(&serde_json::from_value(raw).unwrap(), None) {
            Verdict::Valid(job) => *job,
            other => panic!("{other:?}"),
        }
    }

    fn config(owner: &str, pin: Option<&str>) -> ConfigSeen {
        ConfigSeen {
            object: ObjectSeen { controller: Some(Uid::from(owner)), ..ObjectSeen::default() },
            content: Some("digest".into()),
            pin: pin.map(Into::into),
        }
    }

    fn launcher(pin: Option<&str>) -> LauncherSeen {
        let object = ObjectSeen { controller: Some(Uid::from("u1")), ..ObjectSeen::default() };
        LauncherSeen { object, pin: pin.map(Into::into), ..LauncherSeen::default() }
    }

    #[test]
    fn a_job_is_pinned_once_and_objects_of_its_predecessor_do_not_count() {
        let text = pin().to_annotation();
        let of = |seen: &Seen| Standing::of(&job(), seen);

        assert_eq!(of(&Seen::default()), Standing::Fresh);
        let old = Seen { config: Some(config("u0", Some(&text))), ..Seen::default() };
        assert_eq!(of(&old), Standing::Fresh);
        let pinned = Seen { config: Some(config("u1", Some(&text))), ..Seen::default() };
        assert_eq!(of(&pinned), Standing::Pinned(pin()));
        let on_launcher = Seen { launcher: Some(launcher(Some(&text))), ..Seen::default() };
        assert_eq!(of(&on_launcher), Standing::Pinned(pin()));
    }

    #[test]
    fn a_pin_that_is_gone_or_contradicts_itself_is_lost_and_never_made_anew() {
        let text = pin().to_annotation();
        let removed = Seen { config: Some(config("u1", None)), ..Seen::default() };
        let mangled = Seen { config: Some(config("u1", Some("{}"))), ..Seen::default() };
        let contradicting = Seen {
            config: Some(config("u1", Some(&text))),
            launcher: Some(launcher(Some(&text.replace("-q", "-v")))),
            ..Seen::default()
        };

        for seen in [removed, mangled, contradicting] {
            assert!(matches!(Standing::of(&job(), &seen), Standing::Lost(_)), "{seen:?}");
        }
    }

    #[test]
    fn what_is_longer_than_any_pin_is_lost_and_not_kept() {
        let mut long = pin();
        long.launcher.settings.insert("ssh-args".to_owned(), "x".repeat(MOST));
        let kept_pin = kept(&long.to_annotation());
        assert!(kept_pin.len() < 16, "{} bytes are kept", kept_pin.len());

        let seen = Seen { config: Some(config("u1", Some(&kept_pin))), ..Seen::default() };

        let Standing::Lost(why) = Standing::of(&job(), &seen) else { panic!("it is honoured") };
        assert!(why.contains("16384 bytes"), "{why}");
        assert_eq!(*kept(&pin().to_annotation()), pin().to_annotation());
    }

    #[test]
    fn a_launcher_without_a_pin_was_started_by_another_operator() {
        let seen = Seen { launcher: Some(launcher(None)), ..Seen::default() };

        assert_eq!(Standing::of(&job(), &seen), Standing::Adopted);
    }

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

    #[test]
    fn a_digest_reads_what_it_writes_and_nothing_else() {
        let digest = Digest::of(b"");

        assert!(digest.to_string().starts_with("e3b0c44298fc1c14"));
        assert_eq!(format!("sha256:{digest}").parse(), Ok(digest.clone()));
        assert_eq!("abc".parse::<Digest>(), Err(InvalidDigest));
        assert_eq!("+0".repeat(32).parse::<Digest>(), Err(InvalidDigest));
    }
}
