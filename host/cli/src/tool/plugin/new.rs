//! `coxswain plugin new NAME`: a crate that builds, passes `plugin check`, and is a place to start from.
//!
//! In: a name, and a checkout of Coxswain for the kit and the builder. Out: a folder. Nothing that exists is touched.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;

/// The contract, which a crate carries along: it can be built in ten years.
const CONTRACT: &str = include_str!("../../../../../wit/plugin.wit");

/// Arguments of `plugin new`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The plugin's name, a DNS label.
    name: String,
    /// Where the folder NAME is made; here unless given.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// A tuner in place of a launcher.
    #[arg(long)]
    tuner: bool,
    /// The implementation of MPI that it serves, as in spec.mpiImplementation; the plugin's name unless given.
    #[arg(long, value_name = "NAME", conflicts_with = "tuner")]
    implementation: Option<String>,
    /// The folder plugins/kit of a checkout of Coxswain. Without it, the checkout around this folder or this program
    /// is used.
    #[arg(long, value_name = "DIR")]
    kit: Option<PathBuf>,
}

/// Writes the crate and says how to go on.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    ensure!(
        is_label(name),
        "{name:?} cannot be a plugin's name: lower case letters, digits and '-' inside, a letter first, at most 63"
    );
    let kit = match &arguments.kit {
        Some(kit) => kit_at(kit).with_context(|| format!("{} is no plugin kit", kit.display()))?,
        None => around().context(
            "there is no checkout of Coxswain around here, which a plugin in Rust is built with: name its folder \
             plugins/kit with --kit",
        )?,
    };
    let folder = arguments.dir.clone().unwrap_or_default().join(name);
    if folder.exists() {
        bail!("{} exists", folder.display());
    }
    for (path, text) in files(arguments, &kit)? {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{} is a plugin that works. Go on with\n  cd {}\n  cargo plugin\n  coxswain plugin check {name}.wasm --vectors \
         vectors.json",
        folder.display(),
        folder.display(),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Path in the crate, and text.
fn files(arguments: &Arguments, kit: &Path) -> Result<Vec<(&'static str, String)>> {
    let name = arguments.name.as_str();
    let checkout = kit.parent().and_then(Path::parent).context("the kit lies in no checkout")?;
    let checkout = quotable(checkout)?;
    let kit = quotable(kit)?;
    let serves = arguments.implementation.as_deref().unwrap_or(name);
    ensure!(
        !serves.is_empty() && serves.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
        "{serves:?} cannot be the name of an implementation: letters, digits, '-', '_' and '.'"
    );
    let prefix = format!("{}_", name.to_ascii_uppercase().replace('-', "_"));
    let (kind, world) = if arguments.tuner { ("Tuner", "tuner") } else { ("Launcher", "launcher") };
    // A tuner is seen on top of a launcher.
    let (flag, beside) = if arguments.tuner {
        ("tuner", format!(" --plugin {checkout}/target/plugins/openmpi.wasm"))
    } else {
        ("plugin", String::new())
    };
    let fill = |template: &str| {
        let words = [
            ("{{name}}", name),
            ("{{kind}}", kind),
            ("{{world}}", world),
            ("{{serves}}", serves),
            ("{{prefix}}", prefix.as_str()),
            ("{{kit}}", kit),
            ("{{checkout}}", checkout),
            ("{{flag}}", flag),
            ("{{beside}}", beside.as_str()),
        ];
        words.into_iter().fold(template.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let (code, vectors, job) = if arguments.tuner {
        (
            include_str!("../../../templates/tuner.rs.in"),
            include_str!("../../../templates/tuner-vectors.json.in"),
            include_str!("../../../templates/tuner-job.yaml.in"),
        )
    } else {
        (
            include_str!("../../../templates/launcher.rs.in"),
            include_str!("../../../templates/launcher-vectors.json.in"),
            include_str!("../../../templates/launcher-job.yaml.in"),
        )
    };
    Ok(vec![
        ("Cargo.toml", fill(include_str!("../../../templates/Cargo.toml.in"))),
        (".cargo/config.toml", fill(include_str!("../../../templates/config.toml.in"))),
        (".gitignore", fill(include_str!("../../../templates/gitignore.in"))),
        ("README.md", fill(include_str!("../../../templates/README.md.in"))),
        ("src/bindings.rs", fill(include_str!("../../../templates/bindings.rs.in"))),
        ("src/lib.rs", fill(code)),
        ("vectors.json", fill(vectors)),
        ("job.yaml", fill(job)),
        ("wit/plugin.wit", CONTRACT.to_owned()),
    ])
}

/// The kit of the checkout around the current folder, or else around this program.
fn around() -> Option<PathBuf> {
    let places = [env::current_dir().ok(), env::current_exe().ok()];
    let mut folders = places.iter().flatten().flat_map(|place| place.ancestors());
    folders.find_map(|folder| kit_at(&folder.join("plugins/kit")))
}

/// The folder with links resolved, if it is a kit with the builder beside it.
fn kit_at(folder: &Path) -> Option<PathBuf> {
    let kit = fs::canonicalize(folder).ok()?;
    let is_kit =
        fs::read_to_string(kit.join("Cargo.toml")).is_ok_and(|text| text.contains("coxswain-plugin-kit"));
    (is_kit && kit.join("../build/Cargo.toml").is_file()).then_some(kit)
}

/// A path that stands between quotes in TOML as it is.
fn quotable(path: &Path) -> Result<&str> {
    let text = path.to_str().filter(|text| !text.contains(['"', '\\']) && !text.contains(char::is_control));
    text.with_context(|| format!("{} holds characters that a Cargo.toml cannot", path.display()))
}

/// A DNS label that starts with a letter, as a variable's prefix must.
fn is_label(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}
