//! Plans as text that people review, and files to hold them to.

use std::{env, fmt::Write, fs, path::PathBuf};

use coxswain_model::plan::{Change, EnvValue, File, Place, Plan};
use pretty_assertions::assert_eq;

/// Compares with `tests/golden/NAME.txt`; with `COXSWAIN_UPDATE_GOLDEN=1` in the environment writes it.
pub fn check(name: &str, actual: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("txt");
    if env::var_os("COXSWAIN_UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; COXSWAIN_UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(expected, actual, "{name}");
}

/// A whole plan.
pub fn plan(plan: &Plan) -> String {
    let mut text = String::new();
    for edit in &plan.edits {
        let group = edit.group.as_deref().unwrap_or("(all)");
        let change = match &edit.change {
            Change::Env(env) => {
                let how = if env.force { "force" } else { "fallback" };
                match &env.value {
                    EnvValue::Literal(value) => format!("{how} {}={value}", env.name),
                    EnvValue::Field(field) => format!("{how} {} from {field:?}", env.name),
                }
            }
            Change::LaunchCommand(words) => format!("command {words:?}"),
            other => format!("{other:?}"),
        };
        writeln!(text, "{}: {group}: {change}", edit.by).unwrap();
    }
    for note in &plan.notes {
        let level = if note.warning { "warning" } else { "info" };
        writeln!(text, "{}: {level}: {}", note.by, note.text).unwrap();
    }
    text + &files(&plan.files)
}

/// Files alone.
pub fn files(files: &[File]) -> String {
    let mut text = String::new();
    for file in files {
        let place = match &file.place {
            Place::Job => "job",
            Place::Everywhere(place) => place,
        };
        let mode = if file.executable { "0555" } else { "0444" };
        write!(text, "--- {}: {} in {place}, {mode}\n{}", file.by, file.name, file.content).unwrap();
    }
    text
}
