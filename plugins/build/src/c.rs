//! Plugins in C to core modules, by clang and its linker for WebAssembly.
//!
//! In: a folder with `launcher.c`, and whatever other `*.c` and `*.h` it holds. The bindings are generated from
//! `wit/plugin.wit` each time, so they are never out of date; `plugins/kit-c` is compiled in, which is all the C library
//! that there is. Out: a core module that imports nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use wit_bindgen_core::{Files, wit_parser::Resolve};

use crate::workspace::Workspace;

/// The file whose presence makes a folder a plugin in C; it is named for the world that it implements.
pub const MAIN: &str = "launcher.c";
/// That world in `wit/plugin.wit`.
const WORLD: &str = "launcher-plugin";
/// What the generated files are called, and the prefix of the types that are in no interface.
const BINDINGS: &str = "coxswain-plugin";

/// Of the target without a system; no library but what is compiled in.
const FLAGS: &[&str] = &[
    "--target=wasm32-unknown-unknown",
    "-std=c11",
    "-Os",
    "-ffreestanding",
    "-fno-builtin",
    "-nostdlib",
    // Copies are one instruction, which costs no fuel by length.
    "-mbulk-memory",
    "-Wall",
    "-Wextra",
    "-Werror",
    // A stack that overflows leaves memory, which traps, in place of writing over the plugin's own constants.
    "-Wl,--stack-first,-z,stack-size=65536",
    "-Wl,--no-entry,--strip-all",
];

/// Compiles the core module of the plugin `name` in `folder` and says where it is.
pub fn module(workspace: &Workspace, name: &str, folder: &Path) -> Result<PathBuf> {
    let build = workspace.target.join("c").join(name);
    let bindings = build.join("bindings");
    fs::create_dir_all(&bindings).with_context(|| format!("creating {}", bindings.display()))?;
    let mut sources = generate(workspace, &bindings)?;
    let kit = workspace.root.join("plugins/kit-c");
    sources.extend(written_in_c(&kit)?);
    sources.extend(written_in_c(folder)?);

    let module = build.join("module.wasm");
    let compiler = env::var("COXSWAIN_CC").unwrap_or_else(|_| "clang".into());
    let mut command = Command::new(&compiler);
    command.args(FLAGS).arg(format!("-DPLUGIN_NAME=\"{name}\""));
    command.arg("-isystem").arg(kit.join("include"));
    command.arg("-I").arg(&kit).arg("-I").arg(&bindings);
    command.args(sources).arg("-o").arg(&module);
    let status = command.status().with_context(|| {
        format!("starting {compiler}; plugins in C need clang and lld (Debian: apt-get install clang lld)")
    })?;
    if !status.success() {
        bail!("compiling {} failed ({status})", folder.display());
    }
    Ok(module)
}

/// Writes the bindings and returns what of them is compiled or linked.
fn generate(workspace: &Workspace, into: &Path) -> Result<Vec<PathBuf>> {
    let wit = workspace.root.join("wit");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(&wit).with_context(|| format!("reading {}", wit.display()))?;
    let world = resolve.select_world(&[package], Some(WORLD)).context("looking for the world")?;
    let options =
        wit_bindgen_c::Opts { rename_world: Some(BINDINGS.to_owned()), ..wit_bindgen_c::Opts::default() };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).context("generating bindings for C")?;

    let mut sources = Vec::new();
    for (name, content) in files.iter() {
        let path = into.join(name);
        fs::write(&path, content).with_context(|| format!("writing {}", path.display()))?;
        if path.extension().is_some_and(|extension| extension != "h") {
            sources.push(path);
        }
    }
    Ok(sources)
}

/// The `*.c` files of a folder, in the order of their names, as the order reaches the bytes.
fn written_in_c(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry.with_context(|| format!("reading {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            found.push(path);
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "{} holds no file *.c", folder.display());
    Ok(found)
}
