//! Where things are: cargo says it, nothing is guessed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::c;

/// Target triple of all plugins: no system behind it, so a component imports nothing.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Profile in the workspace's `Cargo.toml`.
pub const PROFILE: &str = "plugin";
/// Plugins to start from.
const EXAMPLES: &str = "examples/plugins";

/// The workspace as far as building plugins goes.
pub struct Workspace {
    /// Folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
    /// Where core modules are built: not the workspace's own target directory, which a running cargo may have locked.
    pub target: PathBuf,
    /// Where components go.
    pub output: PathBuf,
    /// Members of type `cdylib` and the examples in C, by name.
    pub plugins: Vec<Plugin>,
}

/// One plugin.
pub struct Plugin {
    /// Name of its folder, which is the name it is loaded as.
    pub name: String,
    /// What it is written in.
    pub source: Source,
    /// Who gets it.
    pub purpose: Purpose,
}

/// What a plugin is written in.
pub enum Source {
    /// A package of the workspace, by its name.
    Rust(String),
    /// The files of a folder.
    C(PathBuf),
}

/// Who gets a plugin. An operator serves whatever lies in its plugin directory, so what is not shipped lies elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Every operator.
    Shipped,
    /// Whoever writes a plugin.
    Example,
    /// Tests alone.
    Test,
}

impl Purpose {
    fn of(name: &str, folder: &Path, root: &Path) -> Self {
        if folder.starts_with(root.join(EXAMPLES)) {
            Self::Example
        } else if name == "hostile" {
            Self::Test
        } else {
            Self::Shipped
        }
    }
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
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        let packages = metadata.get("packages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut plugins: Vec<Plugin> = packages.iter().filter_map(|package| rust(package, &root)).collect();
        plugins.extend(examples_in_c(&root)?);
        plugins.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            root,
            output: env::var_os("COXSWAIN_PLUGINS").map_or_else(|| target.join("plugins"), PathBuf::from),
            target: target.join("plugin-build"),
            plugins,
        })
    }

    /// The core module that cargo leaves for a package.
    pub fn module(&self, package: &str) -> PathBuf {
        self.target.join(TARGET).join(PROFILE).join(package.replace('-', "_")).with_extension("wasm")
    }

    /// Where the component of a plugin goes.
    pub fn folder(&self, plugin: &Plugin) -> PathBuf {
        match plugin.purpose {
            Purpose::Shipped => self.output.clone(),
            Purpose::Example => self.output.join("examples"),
            Purpose::Test => self.output.join("unshipped"),
        }
    }
}

/// A package that makes a `cdylib`.
fn rust(package: &Value, root: &Path) -> Option<Plugin> {
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
    let folder = manifest.parent()?;
    let name = folder.file_name()?.to_str()?.to_owned();
    let purpose = Purpose::of(&name, folder, root);
    Some(Plugin { name, source: Source::Rust(package.get("name")?.as_str()?.to_owned()), purpose })
}

/// A plugin in C, if the folder holds one.
fn in_c(folder: &Path, root: &Path) -> Option<Plugin> {
    let name = folder.join(c::MAIN).is_file().then(|| folder.file_name()?.to_str().map(str::to_owned))??;
    let purpose = Purpose::of(&name, folder, root);
    Some(Plugin { name, source: Source::C(folder.to_owned()), purpose })
}

fn examples_in_c(root: &Path) -> Result<Vec<Plugin>> {
    let folder = root.join(EXAMPLES);
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let folders: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(|| format!("reading {}", folder.display()))?;
    Ok(folders.iter().filter_map(|folder| in_c(folder, root)).collect())
}
