//! Where things are: cargo says it, nothing is guessed.

use std::{env, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Target triple of all plugins: no system behind it, so a component imports nothing.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Profile in the workspace's `Cargo.toml`.
pub const PROFILE: &str = "plugin";

/// The workspace as far as building plugins goes.
pub struct Workspace {
    /// Folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Where core modules are built: not the workspace's own target directory, which a running cargo may have locked.
    pub target: PathBuf,
    /// Where components go.
    pub output: PathBuf,
    /// Members of type `cdylib`, by name.
    pub plugins: Vec<Package>,
}

/// One plugin.
pub struct Package {
    /// Name of its folder, which is the name it is loaded as.
    pub name: String,
    /// Name of its package.
    pub id: String,
}

/// The cargo to call.
pub fn cargo() -> Command {
    Command::new(env::var_os("COXSWAIN_CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Workspace {
    /// Asks `cargo metadata`.
    pub fn read() -> Result<Self> {
        let mut command = cargo();
        command
            .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().with_context(|| format!("starting {command:?}"))?;
        ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).context("reading cargo's metadata")?;

        let folder = |key: &str| -> Result<PathBuf> {
            let text = metadata.get(key).and_then(Value::as_str);
            Ok(text.with_context(|| format!("cargo's metadata lack {key}"))?.into())
        };
        let target = folder("target_directory")?;
        let packages = metadata.get("packages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut plugins: Vec<Package> = packages.iter().filter_map(plugin).collect();
        plugins.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            root: folder("workspace_root")?,
            output: env::var_os("COXSWAIN_PLUGINS").map_or_else(|| target.join("plugins"), PathBuf::from),
            target: target.join("plugin-build"),
            plugins,
        })
    }

    /// The core module that cargo leaves for a plugin.
    pub fn module(&self, plugin: &Package) -> PathBuf {
        self.target.join(TARGET).join(PROFILE).join(plugin.id.replace('-', "_")).with_extension("wasm")
    }
}

/// A package that makes a `cdylib`.
fn plugin(package: &Value) -> Option<Package> {
    let is_cdylib = |target: &Value| {
        target
            .get("crate_types")
            .and_then(Value::as_array)
            .is_some_and(|types| types.iter().any(|t| t == "cdylib"))
    };
    let targets = package.get("targets")?.as_array()?;
    if !targets.iter().any(is_cdylib) {
        return None;
    }
    let manifest = PathBuf::from(package.get("manifest_path")?.as_str()?);
    let name = manifest.parent()?.file_name()?.to_str()?.to_owned();
    Some(Package { name, id: package.get("name")?.as_str()?.to_owned() })
}
