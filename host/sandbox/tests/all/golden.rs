//! Plans as text that people review, and files to hold them to.

use std::{env, fmt::Write, fs, path::PathBuf};

use coxswain_model::plan::{Change, EnvValue, File, Place, Plan};
use pretty_assertions::StrComparison;

/// Cases that are compared one by one: one that differs does not keep the others from being looked at.
#[derive(Default)]
pub struct Cases {
    different: Vec<String>,
}

impl Cases {
    /// Compares with `tests/golden/NAME.txt`; with `COXSWAIN_UPDATE_GOLDEN=1` in the environment writes it.
    pub fn check(&mut self, name: &str, actual: &str) {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name).with_extension("txt");
        if env::var_os("COXSWAIN_UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, actual).unwrap();
        }
        let expected = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()));
        self.compare(name, expected, actual);
    }

    fn compare(&mut self, name: &str, expected: Result<String, String>, actual: &str) {
        match expected {
            Ok(expected) if expected == actual => {}
            Ok(expected) => {
                self.different.push(format!("{name}\n{}", StrComparison::new(&expected, actual)));
            }
            Err(error) => self.different.push(format!("{name}: {error}")),
        }
    }

    /// Fails if any differed.
    pub fn end(self) {
        let Self { different } = self;
        let count = different.len();
        let hint = "COXSWAIN_UPDATE_GOLDEN=1 writes the files anew";
        assert!(different.is_empty(), "{count} differ ({hint}):\n\n{}", different.join("\n\n"));
    }
}

/// One case alone.
pub fn check(name: &str, actual: &str) {
    let mut cases = Cases::default();
    cases.check(name, actual);
    cases.end();
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

#[test]
fn a_case_that_differs_does_not_hide_the_others() {
    let mut cases = Cases::default();
    cases.compare("missing", Err("not found".to_owned()), "a");
    cases.compare("as expected", Ok("a".to_owned()), "a");
    cases.compare("different", Ok("b".to_owned()), "a");
    assert_eq!(cases.different.len(), 2);
}
