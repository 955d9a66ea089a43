//! A component's file, and what lies beside it, as a person names them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;
use coxswain_model::pin::Digest;
use coxswain_sandbox::Plugin;

use coxswain_plugins::{
    settings,
    source::{self, MAX_COMPONENT, Unusable},
    vectors::{self, Vectors},
};

/// The component and what is tried with it.
#[derive(Debug, Args)]
pub struct Named {
    /// The component, NAME.wasm or NAME.wasm.gz.
    file: PathBuf,
    /// The plugin's name, if it is not the file's.
    #[arg(long)]
    name: Option<String>,
    /// The administrator's settings, YAML with one `key: value` a line, as in data.settings of a ConfigMap.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Jobs with what the plugin must make of them, as in data.vectors of a ConfigMap; there `job` may be a path, too.
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,
}

/// All of it, read.
pub struct Component {
    /// The file, as it was named.
    pub file: String,
    /// The plugin's name.
    pub name: String,
    /// Unpacked.
    pub bytes: Vec<u8>,
    /// Of `bytes`.
    pub digest: Digest,
    /// As written.
    pub settings_text: Option<String>,
    /// Read.
    pub settings: BTreeMap<String, String>,
    /// Read, with their jobs.
    pub vectors: Option<Vectors>,
}

impl Named {
    /// Another component, under the name of its file and with its own defaults.
    pub fn file(file: PathBuf) -> Self {
        Self { file, name: None, settings: None, vectors: None }
    }

    /// Which flags say something about one component alone.
    pub fn flags_of_one(&self) -> Vec<&'static str> {
        let given = [
            ("--name", self.name.is_some()),
            ("--settings", self.settings.is_some()),
            ("--vectors", self.vectors.is_some()),
        ];
        given.into_iter().filter_map(|(flag, given)| given.then_some(flag)).collect()
    }

    /// Reads the files.
    pub fn read(&self) -> Result<Component> {
        let file = self.file.display().to_string();
        let name = match &self.name {
            Some(name) => name.clone(),
            None => name(&self.file).with_context(|| format!("{file} has no file name"))?,
        };
        let settings_text = self.settings.as_deref().map(text).transpose()?;
        let settings = self.settings.as_deref().map(settings).transpose()?;
        let vectors = self.vectors.as_deref().map(read_vectors).transpose()?;
        let bytes = bytes(&self.file)?;
        let digest = Digest::of(&bytes);
        let settings = settings.unwrap_or_default();
        Ok(Component { file, name, bytes, digest, settings_text, settings, vectors })
    }
}

impl Component {
    /// Loads it, with the operator's own bound.
    pub fn load(&self, sandbox: &coxswain_sandbox::Sandbox) -> Result<Plugin, coxswain_sandbox::Refused> {
        sandbox.load(&self.name, &self.bytes, MAX_COMPONENT)
    }
}

/// The bytes of NAME.wasm, or of NAME.wasm.gz unpacked.
pub fn bytes(file: &Path) -> Result<Vec<u8>> {
    let shown = file.display();
    let bytes = fs::read(file).with_context(|| format!("reading {shown}"))?;
    if file.extension().is_some_and(|extension| extension == "gz") {
        return source::unpack(&bytes)
            .map_err(|Unusable(why)| anyhow::anyhow!(why))
            .with_context(|| format!("reading {shown}"));
    }
    Ok(bytes)
}

/// A plugin's name is its file's without `.wasm` or `.wasm.gz`, as in the operator's directory.
pub fn name(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    Some(name.strip_suffix(".wasm").unwrap_or(name).to_owned())
}

fn read_vectors(file: &Path) -> Result<Vectors> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let job = |path: &str| text(&folder.join(path)).map_err(|error| format!("{error:#}"));
    vectors::parse_with(&text(file)?, job)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("reading {}", file.display()))
}

fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}

/// As in `data.settings` of a ConfigMap.
pub fn settings(file: &Path) -> Result<BTreeMap<String, String>> {
    settings::parse(&text(file)?)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("reading {}", file.display()))
}
