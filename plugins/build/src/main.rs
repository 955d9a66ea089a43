//! Builds every plugin of the workspace as a component and writes `target/plugins/NAME.wasm`, and what is
//! for tests only into `target/plugins/unshipped`.
//!
//! ```text
//! cargo run -p coxswain-plugin-build [-- NAME…]
//! ```
//!
//! | Variable | Meaning |
//! |---|---|
//! | `COXSWAIN_CARGO` | the cargo to call; default `cargo` |
//! | `COXSWAIN_WASM_FLAGS` | more arguments of `cargo build`, separated by blanks, such as `-Zbuild-std=std,panic_abort` |
//! | `COXSWAIN_WASM_ENV` | variables for that cargo alone, `KEY=VALUE` words such as `RUSTC_BOOTSTRAP=1` |
//! | `COXSWAIN_PLUGINS` | where to write; default `plugins` in the target directory |
//!
//! Everything else (`RUSTC`, a linker) reaches cargo as it is; `RUSTFLAGS` does not, as it would change the bytes and
//! with them every digest.

mod compile;
mod workspace;

use std::{fmt::Write, fs, process::ExitCode};

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::workspace::{Package, Workspace};

/// A shipped component fits a ConfigMap many times over and compiles in tens of milliseconds.
const SHIPPED_LIMIT: usize = 60 << 10;
/// Those for tests hold many ways to fail.
const HOSTILE_LIMIT: usize = 100 << 10;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(names: &[String]) -> Result<()> {
    let workspace = Workspace::read()?;
    let known = |name: &String| workspace.plugins.iter().any(|plugin| plugin.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = workspace.plugins.iter().map(|plugin| &*plugin.name).collect();
        anyhow::bail!("no plugin is called {unknown}; there are: {}", all.join(", "));
    }

    let chosen: Vec<&Package> =
        workspace.plugins.iter().filter(|plugin| names.is_empty() || names.contains(&plugin.name)).collect();
    compile::modules(&workspace, &chosen)?;
    chosen.into_iter().try_for_each(|plugin| componentize(&workspace, plugin))
}

/// Core module to component, within its limit, written and reported.
fn componentize(workspace: &Workspace, plugin: &Package) -> Result<()> {
    let module = workspace.module(plugin);
    let bytes = fs::read(&module).with_context(|| format!("reading {}", module.display()))?;
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(wit_component::ComponentEncoder::encode)
        .with_context(|| format!("making a component of {}", module.display()))?;

    let shipped = plugin.name != "hostile";
    let limit = if shipped { SHIPPED_LIMIT } else { HOSTILE_LIMIT };
    let size = component.len();
    ensure!(size <= limit, "{} has {size} bytes, the limit is {limit}", plugin.name);

    // An operator serves whatever lies in its plugin directory, so what is never shipped lies elsewhere.
    let folder = if shipped { workspace.output.clone() } else { workspace.output.join("unshipped") };
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let path = folder.join(&plugin.name).with_extension("wasm");
    // Unchanged bytes keep their time stamp, so that nothing that depends on them is built again.
    if fs::read(&path).ok().as_deref() != Some(&*component) {
        fs::write(&path, &component).with_context(|| format!("writing {}", path.display()))?;
    }
    eprintln!("{:<12} {size:>6} bytes  sha256:{}", plugin.name, digest(&component));
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
