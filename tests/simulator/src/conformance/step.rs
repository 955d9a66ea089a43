//! A step of the script.

use std::collections::BTreeMap;

use http::Method;
use serde::Deserialize;
use serde_json::Value;

/// See the module.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// What it is about, for people.
    pub what: String,
    /// `METHOD PATH`, to be sent.
    pub send: Option<String>,
    /// JSON with `$name` for what was kept.
    #[serde(default)]
    pub body: Value,
    /// Type of a PATCH.
    #[serde(default)]
    pub patch: PatchType,
    /// The answer is to show metadata alone.
    #[serde(default)]
    pub metadata_only: bool,
    /// Sent again for some seconds while it is refused: something that a controller makes has to be there first.
    #[serde(default)]
    pub patient: bool,
    /// Values of the answer that later steps use, by name: JSON pointers.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
    /// Parts of the answer that are compared, beside what is always compared: JSON pointers.
    #[serde(default)]
    pub show: Vec<String>,
    /// Opens a watch under this name, with `send`.
    pub watch: Option<String>,
    /// Compares the next events of the watch of this name.
    pub told: Option<Told>,
}

/// Events of a watch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// The watch.
    pub by: String,
    /// How many events.
    pub events: usize,
}

/// Of a PATCH.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatchType {
    /// RFC 7386.
    #[default]
    Merge,
    /// RFC 6902.
    Json,
    /// Server-side.
    Apply,
}

impl PatchType {
    /// `Content-Type`.
    pub fn content(self) -> &'static str {
        match self {
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

impl Step {
    /// Method and path.
    pub fn request(&self) -> Option<(Method, &str)> {
        let (method, path) = self.send.as_deref()?.split_once(' ')?;
        Some((method.parse().ok()?, path))
    }
}
