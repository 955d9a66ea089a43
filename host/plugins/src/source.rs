//! A plugin's ConfigMap → the administrator's request: a component with its settings, and how it is to be taken; or why it
//! is none.
//!
//! The operator writes such a ConfigMap nowhere. What an administrator decides about a request (`coxswain plugin approve`,
//! `coxswain plugin rollback`) is an annotation on it.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read, Write},
};

use coxswain_model::pin::Digest;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::settings;

/// Label that makes a ConfigMap a plugin's; the value is the plugin's name.
pub const LABEL_PLUGIN: &str = "coxswain.dev/plugin";
/// Largest component that a ConfigMap may hold, bytes, after unpacking. A Rust or C component is 15 to 60 KB,
/// one that carries a JavaScript engine 1.1 MB; a larger one would need more memory to compile than the
/// operator has.
pub const MAX_COMPONENT: usize = 4 << 20;

/// Key of a component in `binaryData`.
pub const WASM: &str = "plugin.wasm";
/// Key of a compressed one.
pub const WASM_GZ: &str = "plugin.wasm.gz";

/// Annotation: the request ([`PluginRequest::identity`]) that may change the plans of live jobs although `data.onChange` is `hold`.
pub const ANNOTATION_APPROVED: &str = "coxswain.dev/approved";
/// Annotation: `FROM TO`. While the request is still FROM ([`PluginRequest::identity`]), the component of digest TO serves in its place,
/// with the settings that it served with.
pub const ANNOTATION_ROLLBACK: &str = "coxswain.dev/rollback";

/// A component that wants to serve, before the sandbox has looked at it.
#[derive(Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The plugin's name.
    pub name: String,
    /// The component.
    pub bytes: Vec<u8>,
    /// Of `bytes`.
    pub digest: Digest,
    /// The administrator's settings.
    pub settings: BTreeMap<String, String>,
    /// `data.signature`.
    pub signature: Option<String>,
}

/// Everything that a plugin's ConfigMap says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRequest {
    /// What is to serve.
    pub candidate: Candidate,
    /// `data.vectors`: what it must render.
    pub vectors: Option<String>,
    /// `data.onChange: hold`: not before it is approved, if it changes the plan of a live job.
    pub holds: bool,
    /// [`ANNOTATION_APPROVED`].
    pub approved: Option<Digest>,
    /// [`ANNOTATION_ROLLBACK`].
    pub rollback: Option<Rollback>,
}

/// An administrator's way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollback {
    /// Identity of the request that is not to serve.
    pub from: Digest,
    /// The component that serves in its place.
    pub to: Digest,
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Candidate({}@{}, {} bytes)", self.name, self.digest.short(), self.bytes.len())
    }
}

/// Why a ConfigMap holds no candidate, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable(pub String);

impl Candidate {
    /// A component from anywhere else than a ConfigMap.
    pub fn of(name: &str, bytes: Vec<u8>) -> Self {
        let digest = Digest::of(&bytes);
        Self { name: name.to_owned(), bytes, digest, settings: BTreeMap::new(), signature: None }
    }

    fn read(name: &str, map: &ConfigMap) -> Result<Self, Unusable> {
        let text = |key: &str| text(map, key);
        let bytes = component(map)?;
        let digest = Digest::of(&bytes);
        if let Some(stated) = text("sha256") {
            let expected: Digest = stated.parse().map_err(|_| {
                Unusable("data.sha256 must be the 64 hex digits of the component's sha256".into())
            })?;
            if expected != digest {
                return Err(Unusable(format!(
                    "data.sha256 says {}, but the component's digest is {}: the bytes were cut or replaced on the \
                     way, or data.sha256 was not updated with them",
                    expected.short(),
                    digest.short()
                )));
            }
        }
        let settings =
            text("settings").map(settings::parse).transpose().map_err(Unusable)?.unwrap_or_default();
        let signature = text("signature").map(str::to_owned);
        Ok(Self { name: name.to_owned(), bytes, digest, settings, signature })
    }
}

impl PluginRequest {
    /// Reads `binaryData`, `data` and our annotations of a plugin's ConfigMap.
    pub fn read(name: &str, map: &ConfigMap) -> Result<Self, Unusable> {
        let candidate = Candidate::read(name, map)?;
        let holds = match text(map, "onChange").map(str::trim) {
            None | Some("" | "report") => false,
            Some("hold") => true,
            Some(other) => {
                return Err(Unusable(format!("data.onChange is {other:?}: it must be hold or report")));
            }
        };
        let annotation = |key: &str| map.metadata.annotations.as_ref().and_then(|all| all.get(key));
        let unreadable = |key: &str, form: &str| {
            Unusable(format!(
                "metadata.annotations[{key}] must be {form}: remove it or write it by `coxswain plugin`"
            ))
        };
        let approved = annotation(ANNOTATION_APPROVED)
            .map(|text| text.parse().map_err(|_| unreadable(ANNOTATION_APPROVED, "a sha256")))
            .transpose()?;
        let rollback = annotation(ANNOTATION_ROLLBACK)
            .map(|text| Rollback::read(text).ok_or_else(|| unreadable(ANNOTATION_ROLLBACK, "two sha256")))
            .transpose()?;
        let vectors = text(map, "vectors").map(str::to_owned);
        Ok(Self { candidate, vectors, holds, approved, rollback })
    }

    /// Changes with the component and with its settings, and with nothing else.
    pub fn identity(&self) -> Digest {
        let Candidate { digest, settings, .. } = &self.candidate;
        let settings = serde_json::to_string(settings).unwrap_or_default();
        Digest::of(format!("{digest} {settings}").as_bytes())
    }
}

impl Rollback {
    fn read(text: &str) -> Option<Self> {
        let (from, to) = text.split_once(' ')?;
        Some(Self { from: from.parse().ok()?, to: to.parse().ok()? })
    }
}

impl fmt::Display for Rollback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.from, self.to)
    }
}

fn text<'a>(map: &'a ConfigMap, key: &str) -> Option<&'a str> {
    map.data.as_ref()?.get(key).map(String::as_str)
}

fn component(map: &ConfigMap) -> Result<Vec<u8>, Unusable> {
    let binary = |key: &str| map.binary_data.as_ref().and_then(|data| data.get(key)).map(|b| b.0.as_slice());
    let bytes = match (binary(WASM), binary(WASM_GZ)) {
        (Some(bytes), None) => bytes.to_vec(),
        (None, Some(packed)) => unpack(packed)?,
        (Some(_), Some(_)) => {
            return Err(Unusable(format!("binaryData has both {WASM} and {WASM_GZ}: remove one of them")));
        }
        (None, None) => {
            return Err(Unusable(format!("binaryData has no key {WASM} or {WASM_GZ}")));
        }
    };
    if bytes.len() > MAX_COMPONENT {
        return Err(Unusable(format!(
            "the component has {} bytes, at most {MAX_COMPONENT} are allowed",
            bytes.len()
        )));
    }
    Ok(bytes)
}

/// Stops at one byte over the bound, so that a small archive of a huge file costs nothing.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Unusable> {
    let bound = u64::try_from(MAX_COMPONENT).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    GzDecoder::new(packed)
        .take(bound)
        .read_to_end(&mut bytes)
        .map_err(|error| Unusable(format!("binaryData[{WASM_GZ}] is no gzip file: {error}")))?;
    Ok(bytes)
}

/// The same bytes give the same archive.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn map(binary: &[(&str, &[u8])], data: &[(&str, &str)]) -> ConfigMap {
        ConfigMap {
            binary_data: Some(binary.iter().map(|(k, v)| ((*k).into(), ByteString(v.to_vec()))).collect()),
            data: Some(data.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()),
            ..ConfigMap::default()
        }
    }

    #[test]
    fn packed_and_plain_bytes_are_the_same_plugin() {
        let plain = Candidate::read("x", &map(&[(WASM, b"abc")], &[])).unwrap();
        let packed = Candidate::read("x", &map(&[(WASM_GZ, &pack(b"abc").unwrap())], &[])).unwrap();

        assert_eq!(plain, packed);
    }

    #[test]
    fn a_small_archive_of_a_huge_file_is_refused() {
        let huge = pack(&vec![0; MAX_COMPONENT + 4096]).unwrap();

        let Unusable(why) = Candidate::read("x", &map(&[(WASM_GZ, &huge)], &[])).unwrap_err();

        assert!(huge.len() < 10_000);
        assert!(why.contains("at most 4194304"), "{why}");
    }

    #[test]
    fn a_wrong_sha256_names_both_digests() {
        let other = Digest::of(b"other").to_string();

        let Unusable(why) = Candidate::read("x", &map(&[(WASM, b"abc")], &[("sha256", &other)])).unwrap_err();

        assert!(why.contains(&Digest::of(b"abc").short()) && why.contains(&other[..12]), "{why}");
    }

    #[test]
    fn a_configmap_without_a_component_says_which_key_is_missing() {
        let Unusable(why) = Candidate::read("x", &map(&[], &[])).unwrap_err();

        assert_eq!(why, "binaryData has no key plugin.wasm or plugin.wasm.gz");
    }

    #[test]
    fn a_request_is_another_one_with_other_bytes_or_settings_alone() {
        let identity = |bytes: &[u8], data: &[(&str, &str)]| {
            PluginRequest::read("x", &map(&[(WASM, bytes)], data)).unwrap().identity()
        };
        let one = identity(b"abc", &[("settings", "a: 1")]);

        assert_eq!(one, identity(b"abc", &[("settings", "# still\na: 1"), ("onChange", "hold")]));
        assert_ne!(one, identity(b"abd", &[("settings", "a: 1")]));
        assert_ne!(one, identity(b"abc", &[("settings", "a: 2")]));
    }

    #[test]
    fn what_an_administrator_decided_is_read_off_annotations() {
        let (from, to) = (Digest::of(b"1"), Digest::of(b"2"));
        let rollback = Rollback { from: from.clone(), to };
        let mut map = map(&[(WASM, b"abc")], &[("onChange", "hold")]);
        map.metadata.annotations = Some(
            [
                (ANNOTATION_APPROVED.into(), from.to_string()),
                (ANNOTATION_ROLLBACK.into(), rollback.to_string()),
            ]
            .into(),
        );

        let request = PluginRequest::read("x", &map).unwrap();

        assert!(request.holds);
        assert_eq!((request.approved, request.rollback), (Some(from), Some(rollback)));
    }

    #[test]
    fn a_word_that_nobody_knows_is_refused_with_those_that_are() {
        let Unusable(why) =
            PluginRequest::read("x", &map(&[(WASM, b"abc")], &[("onChange", "wait")])).unwrap_err();

        assert_eq!(why, "data.onChange is \"wait\": it must be hold or report");
    }
}
