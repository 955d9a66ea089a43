//! Builds plugins as components: those of the workspace into `target/plugins/NAME.wasm`, its examples into
//! `target/plugins/examples`, what is for tests only into `target/plugins/unshipped`.
//!
//! ```text
//! cargo run -p coxswain-plugin-build                 all of them
//! cargo run -p coxswain-plugin-build -- --shipped    those of the operator's image
//! cargo run -p coxswain-plugin-build -- NAME…        these
//! cargo run -p coxswain-plugin-build -- ./FOLDER…    a plugin anywhere, a crate or one in C, into ./FOLDER.wasm
//! ```
//!
//! | Variable | Meaning |
//! |---|---|
//! | `COXSWAIN_CARGO` | the cargo to call; default `cargo` |
//! | `COXSWAIN_CC` | the clang that compiles plugins in C; default `clang` |
//! | `COXSWAIN_WASM_FLAGS` | more arguments of `cargo build`, separated by blanks, such as `-Zbuild-std=std,panic_abort` |
//! | `COXSWAIN_WASM_ENV` | variables for that cargo alone, `KEY=VALUE` words such as `RUSTC_BOOTSTRAP=1` |
//! | `COXSWAIN_PLUGINS` | where to write; default `plugins` in the target directory |
//!
//! Everything else (`RUSTC`, a linker) reaches cargo as it is; `RUSTFLAGS` does not, as it would change the bytes and
//! with them every digest.

mod c;
mod compile;
mod workspace;

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::workspace::{Plugin, Purpose, Source, Workspace};

/// A shipped component fits a ConfigMap many times over and compiles in tens of milliseconds.
const SHIPPED_LIMIT: usize = 60 << 10;
/// Those for tests hold many ways to fail.
const TEST_LIMIT: usize = 100 << 10;
/// The word for those of the operator's image.
const SHIPPED: &str = "--shipped";

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    let workspace = Workspace::read()?;
    if words.is_empty() {
        return build(&workspace, &workspace.plugins.iter().collect::<Vec<_>>());
    }
    if words == [SHIPPED] {
        let shipped = |plugin: &&Plugin| plugin.purpose == Purpose::Shipped;
        return build(&workspace, &workspace.plugins.iter().filter(shipped).collect::<Vec<_>>());
    }
    let (folders, names): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.contains('/'));
    let chosen: Vec<&Plugin> =
        names.into_iter().map(|name| named(&workspace, name)).collect::<Result<_>>()?;
    build(&workspace, &chosen)?;
    folders.into_iter().try_for_each(|folder| elsewhere(&workspace, folder))
}

fn named<'a>(workspace: &'a Workspace, name: &str) -> Result<&'a Plugin> {
    let found = workspace.plugins.iter().find(|plugin| plugin.name == name);
    found.with_context(|| {
        let all: Vec<&str> = workspace.plugins.iter().map(|plugin| &*plugin.name).collect();
        format!("no plugin is called {name}; there are: {}", all.join(", "))
    })
}

/// Builds plugins of the workspace, those in Rust at once.
fn build(workspace: &Workspace, plugins: &[&Plugin]) -> Result<()> {
    let packages: Vec<&str> = plugins
        .iter()
        .filter_map(|plugin| match &plugin.source {
            Source::Rust(package) => Some(&**package),
            Source::C(_) => None,
        })
        .collect();
    compile::modules(workspace, &packages)?;
    for plugin in plugins {
        let module = match &plugin.source {
            Source::Rust(package) => workspace.module(package),
            Source::C(folder) => c::module(workspace, &plugin.name, folder)?,
        };
        let folder = workspace.folder(plugin);
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let limit = if plugin.purpose == Purpose::Test { TEST_LIMIT } else { SHIPPED_LIMIT };
        componentize(&plugin.name, &module, &folder, limit)?;
    }
    Ok(())
}

/// A plugin that is not of the workspace: its component goes where the person is.
fn elsewhere(workspace: &Workspace, folder: &str) -> Result<()> {
    let path = fs::canonicalize(folder).with_context(|| format!("reading {folder}"))?;
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{folder} has no name that a plugin could have"))?;
    let module = if path.join(c::MAIN).is_file() {
        c::module(workspace, name, &path)?
    } else if path.join("Cargo.toml").is_file() {
        compile::module(workspace, &path)?
    } else {
        bail!("{folder} holds neither Cargo.toml nor {}, so it is no plugin", c::MAIN);
    };
    // The operator's bounds apply, and it says so in words.
    componentize(name, &module, &PathBuf::from("."), usize::MAX)
}

/// Core module to component, within its limit, written and reported.
fn componentize(name: &str, module: &Path, folder: &Path, limit: usize) -> Result<()> {
    let bytes = fs::read(module).with_context(|| format!("reading {}", module.display()))?;
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(wit_component::ComponentEncoder::encode)
        .with_context(|| format!("making a component of {}", module.display()))?;

    let size = component.len();
    ensure!(size <= limit, "{name} has {size} bytes, the limit is {limit}");
    let path = folder.join(name).with_extension("wasm");
    // Unchanged bytes keep their time stamp, so that nothing that depends on them is built again.
    if fs::read(&path).ok().as_deref() != Some(&*component) {
        fs::write(&path, &component).with_context(|| format!("writing {}", path.display()))?;
    }
    eprintln!("{name:<12} {size:>6} bytes  sha256:{}", digest(&component));
    Ok(())
}

/// 64 hex digits.
fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
