//! A plugin's ConfigMap → a candidate: its bytes, digest and settings, or why it is none.
//!
//! The ConfigMap is the administrator's wish; it is read here and written nowhere.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read, Write},
};

use coxswain_model::pin::Digest;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use k8s_openapi::api::core::v1::ConfigMap;

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
        Self { name: name.to_owned(), bytes, digest, settings: BTreeMap::new() }
    }

    /// Reads `binaryData` and `data` of a plugin's ConfigMap.
    pub fn read(name: &str, map: &ConfigMap) -> Result<Self, Unusable> {
        let text = |key: &str| map.data.as_ref().and_then(|data| data.get(key)).map(String::as_str);
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
        let settings = text("settings").map_or_else(|| Ok(BTreeMap::new()), settings)?;
        Ok(Self { name: name.to_owned(), bytes, digest, settings })
    }
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

/// One `key: value` a line; `#` starts a comment line; quotes around a value are taken off.
pub fn settings(text: &str) -> Result<BTreeMap<String, String>, Unusable> {
    let mut settings = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: &str| Unusable(format!("data.settings line {}: {why}: {line:?}", number + 1));
        let (key, value) = line.split_once(':').ok_or_else(|| wrong("must read `key: value`"))?;
        let key = key.trim();
        if key.is_empty() {
            return Err(wrong("must read `key: value`"));
        }
        if settings.insert(key.to_owned(), unquoted(value.trim()).to_owned()).is_some() {
            return Err(wrong("the key is set twice"));
        }
    }
    Ok(settings)
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value)
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
    fn settings_are_lines_and_a_bad_line_is_named() {
        let read = settings("# ours\nssh-args: \"-o X=1\"\ntree-spawn: false\n").unwrap();

        assert_eq!(read["ssh-args"], "-o X=1");
        assert_eq!(read["tree-spawn"], "false");
        assert!(settings("a: 1\nb").unwrap_err().0.contains("line 2"));
        assert!(settings("a: 1\na: 2").unwrap_err().0.contains("twice"));
    }
}
