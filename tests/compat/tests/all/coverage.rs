//! `docs/coverage.md` names a test for each part of the compatibility surface; each of them has to exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What the table names: `path/of/file.rs::name_of_test`, in backquotes; `path/of/folder/` for a golden case; a path
/// alone for a script.
fn named(table: &str) -> BTreeSet<&str> {
    let rows = table.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let last = rows.skip(1).filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    let is_test = |text: &&str| text.contains('/');
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).filter(is_test).collect()
}

fn missing(test: &str) -> Option<String> {
    let (file, name) = test.split_once("::").unwrap_or((test, ""));
    let path = root().join(file);
    if name.is_empty() {
        return (!path.exists()).then(|| format!("{test}: there is no such path"));
    }
    let Ok(source) = fs::read_to_string(&path) else { return Some(format!("{test}: there is no such file")) };
    let go = format!("func {name}(");
    let rust = format!("fn {name}(");
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_test = lines.iter().enumerate().any(|(at, line)| {
        line.starts_with(&go)
            || (line.trim_start_matches("async ").starts_with(&rust)
                // Attributes and parameters of a macro may stand between.
                && lines[at.saturating_sub(4)..at].iter().any(|above| above.starts_with("#[") && above.contains("test")
                    || *above == "proptest! {"))
    });
    (!is_test).then(|| format!("{test}: that file has no such test"))
}

#[test]
fn every_test_that_the_table_names_exists() {
    let table = fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let named = named(&table);

    assert!(named.len() > 60, "only {} tests were read from docs/coverage.md", named.len());
    let missing: Vec<String> = named.into_iter().filter_map(missing).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_row_names_a_test() {
    let table = fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let rows = table.lines().filter(|line| {
        line.starts_with("| ") && !line.starts_with("| Part") && !line.starts_with("| Their test")
    });
    let without: Vec<&str> = rows.filter(|row| !row.contains(".rs::") && !row.contains("`tests/")).collect();
    assert!(without.is_empty(), "{}", without.join("\n"));
}

#[test]
fn a_test_that_does_not_exist_is_found_out() {
    assert_eq!(missing("tests/compat/tests/all/coverage.rs::a_test_that_does_not_exist_is_found_out"), None);
    assert!(missing("tests/compat/tests/all/coverage.rs::there_is_no_such_test").is_some());
    assert!(missing("tests/compat/tests/all/nothing.rs::named").is_some());
    assert!(missing("tests/compat/tests/all/coverage.rs::missing").is_some(), "a function that is no test");
}
