//! What differs between two grants of one job, in lines for people: what another build of a plugin, or other settings,
//! would change.

use std::collections::BTreeMap;

use super::granted::{Grant, Granted, GrantedEnv};
use crate::plan::{EnvValue, File};

/// Longest value that is shown whole; of a longer one its beginning.
const SHOWN: usize = 60;

/// One line for each thing that differs, `old` first. Empty: the pods would be the same.
pub fn differences(old: &Granted, new: &Granted) -> Vec<String> {
    let mut lines = Vec::new();
    for (role, new) in &new.groups {
        let (role, old) = (role.name, old.of(role.id));
        compare(&mut lines, &format!("{role} env"), &variables(old), &variables(new));
        compare(&mut lines, &format!("{role} port"), &ports(old), &ports(new));
    }
    compare(&mut lines, "file", &files(&old.job_files), &files(&new.job_files));
    compare(&mut lines, "file for all pods", &files(&old.everywhere), &files(&new.everywhere));
    compare(&mut lines, "", &others(old), &others(new));
    lines
}

type Named = BTreeMap<String, String>;

fn compare(lines: &mut Vec<String>, what: &str, old: &Named, new: &Named) {
    let says = |name: &str, change: String| format!("{what} {name}{change}").trim_start().to_owned();
    for (name, was) in old {
        match new.get(name) {
            Some(is) if is == was => {}
            Some(is) => {
                let (was, is) = parting(was, is);
                lines.push(says(name, format!(": {} becomes {}", clip(was), clip(is))));
            }
            None => lines.push(says(name, format!(": {} is gone", clip(was)))),
        }
    }
    for (name, is) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        lines.push(says(name, format!(": {} is new", clip(is))));
    }
}

fn variables(grant: &Grant) -> Named {
    let value = |variable: &GrantedEnv| {
        let value = match &variable.value {
            EnvValue::Literal(text) => text.clone(),
            EnvValue::Field(field) => format!("field {field:?}"),
        };
        if variable.force { format!("{value} (forced)") } else { value }
    };
    grant.env.iter().map(|variable| (variable.name.clone(), value(variable))).collect()
}

fn ports(grant: &Grant) -> Named {
    grant.ports.iter().map(|port| (port.name.clone(), port.number.to_string())).collect()
}

fn files(files: &[File]) -> Named {
    files.iter().map(|file| (file.name.clone(), file.content.clone())).collect()
}

/// What a plan has once.
fn others(granted: &Granted) -> Named {
    let words = |words: &[String]| words.join(" ");
    [
        ("launch command", granted.launch_command.as_deref().map(words)),
        (
            "prefix command",
            Some(granted.prefix_command.as_slice()).filter(|prefix| !prefix.is_empty()).map(words),
        ),
        ("shared memory", granted.shared_memory.clone()),
        ("locked memory", granted.lock_memory.then(|| "granted".to_owned())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// From the first line in which two texts differ: a host list has thousands before it.
fn parting<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let (mut old, mut new) = (old, new);
    while let (Some((was, old_rest)), Some((is, new_rest))) = (old.split_once('\n'), new.split_once('\n')) {
        if was != is {
            break;
        }
        (old, new) = (old_rest, new_rest);
    }
    (old, new)
}

fn clip(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.trim_end().len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::{MPI_JOB, WORKER},
        plan::Place,
    };

    fn variable(name: &str, value: &str) -> GrantedEnv {
        GrantedEnv {
            name: name.into(),
            value: EnvValue::Literal(value.into()),
            force: false,
            by: "x".into(),
            replaced: Vec::new(),
        }
    }

    fn file(content: &str) -> File {
        File {
            by: "x".into(),
            name: "hostfile".into(),
            place: Place::Job,
            executable: false,
            content: content.into(),
        }
    }

    fn granted(env: Vec<GrantedEnv>, content: &str) -> Granted {
        let groups = vec![(MPI_JOB.role(WORKER), Grant { env, ports: Vec::new() })];
        Granted { groups, job_files: vec![file(content)], ..Granted::default() }
    }

    #[test]
    fn equal_grants_differ_in_nothing_whoever_set_them() {
        let old = granted(vec![variable("A", "1")], "a\n");
        let mut new = old.clone();
        new.groups[0].1.env[0].by = "another".into();

        assert_eq!(differences(&old, &new), Vec::<String>::new());
    }

    #[test]
    fn what_is_new_gone_or_another_is_told_by_role_and_name() {
        let old = granted(vec![variable("A", "1"), variable("B", "2")], "a\nb\n");
        let new = granted(vec![variable("B", "3"), variable("C", "4")], "a\nc\n");

        assert_eq!(
            differences(&old, &new),
            [
                r#"worker env A: "1" is gone"#,
                r#"worker env B: "2" becomes "3""#,
                r#"worker env C: "4" is new"#,
                r#"file hostfile: "b" becomes "c""#,
            ]
        );
    }
}
