//! The direction in which the crates under `host/` may depend on each other.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Each crate, and those that it may depend on. The drawing in `Cargo.toml` says the same.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("sandbox", &["model"]),
    ("cluster", &["model"]),
    ("plugins", &["model", "sandbox", "cluster"]),
    ("operator", &["model", "sandbox", "cluster", "plugins"]),
    ("cli", &["model", "sandbox", "cluster", "plugins", "operator"]),
];

/// Dependencies, of whatever kind, that run against the direction, in the words of `cargo metadata`. A crate that is not
/// there yet is none; one that is not in the list may depend on no other.
pub(crate) fn against_direction(metadata: &Value) -> Result<Vec<String>> {
    let root = text(metadata, "workspace_root")?;
    let mut found = Vec::new();
    for package in list(metadata, "packages")? {
        let Some(from) = host(root, text(package, "manifest_path")?) else { continue };
        let allowed = MAY_DEPEND_ON.iter().find(|(name, _)| *name == from).map(|(_, allowed)| *allowed);
        if allowed.is_none() {
            found.push(format!("host/{from} is none of the crates whose direction is known"));
        }
        for dependency in list(package, "dependencies")? {
            let path = dependency.get("path").and_then(Value::as_str);
            let Some(to) = path.and_then(|path| host(root, path)) else { continue };
            if !allowed.unwrap_or_default().contains(&to) {
                found.push(format!("host/{from} depends on host/{to}, which is against the direction"));
            }
        }
    }
    Ok(found)
}

/// The folder under `host/` in which a path is.
fn host<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let below = path.strip_prefix(root)?.strip_prefix("/host/")?;
    below.split('/').next()
}

fn list<'a>(of: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    of.get(key).and_then(Value::as_array).with_context(|| format!("{key} is no list"))
}

fn text<'a>(of: &'a Value, key: &str) -> Result<&'a str> {
    of.get(key).and_then(Value::as_str).with_context(|| format!("{key} is no text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspace(packages: &[(&str, &[&str])]) -> Value {
        let package = |(name, needs): &(&str, &[&str])| {
            let others = needs.iter().map(|to| json!({"path": format!("/w/{to}")}));
            let needs: Vec<Value> = others.chain([json!({"name": "serde"})]).collect();
            json!({"manifest_path": format!("/w/{name}/Cargo.toml"), "dependencies": needs})
        };
        json!({"workspace_root": "/w", "packages": packages.iter().map(package).collect::<Vec<_>>()})
    }

    #[test]
    fn dependencies_in_the_direction_and_on_others_pass() {
        let given = workspace(&[
            ("host/model", &[]),
            ("host/sandbox", &["host/model", "plugins/kit"]),
            ("host/operator", &["host/model", "host/sandbox"]),
            ("plugins/kit", &["host/operator"]),
        ]);

        assert_eq!(against_direction(&given).unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn a_dependency_against_the_direction_is_named() {
        let given = workspace(&[
            ("host/model", &["host/sandbox"]),
            ("host/cluster", &["host/plugins", "host/model"]),
        ]);

        assert_eq!(
            against_direction(&given).unwrap(),
            [
                "host/model depends on host/sandbox, which is against the direction",
                "host/cluster depends on host/plugins, which is against the direction",
            ]
        );
    }

    #[test]
    fn a_crate_that_is_not_in_the_list_is_named() {
        let given = workspace(&[("host/attic", &["host/model"])]);

        assert_eq!(
            against_direction(&given).unwrap(),
            [
                "host/attic is none of the crates whose direction is known",
                "host/attic depends on host/model, which is against the direction",
            ]
        );
    }
}
