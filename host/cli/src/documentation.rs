//! Tables of `docs/` that come from the code: annotations, flags, metrics, settings of the shipped plugins.
//!
//! A table stands between `<!-- generated: NAME -->` and `<!-- generated: end -->`. A test fails where it is not what the
//! code says; with `COXSWAIN_UPDATE_GOLDEN=1` in the environment it writes it.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use clap::{Arg, CommandFactory};
use coxswain_model::{
    api::job_annotations::{Annotation, JOB_ANNOTATIONS},
    plan::SettingKind,
};
use coxswain_sandbox::Sandbox;
use coxswain_test_support::components;
use prometheus::core::Desc;

use crate::flags::{Flags, OURS};
use coxswain_cluster::metrics::{Metrics, Registry};
use coxswain_operator::metrics::ReconcileMetrics;
use coxswain_plugins::{metrics::PluginMetrics, source::MAX_COMPONENT};

const END: &str = "<!-- generated: end -->\n";

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Holds the table `name` of `docs/FILE` to `table`.
fn check(file: &str, name: &str, table: &str) {
    /// Several tables stand in one file, and tests run side by side.
    static FILES: Mutex<()> = Mutex::new(());
    let _alone = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join("docs").join(file);
    let text = fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/{file} has no {begin}"));
    let (found, after) = rest.split_once(END).unwrap_or_else(|| panic!("docs/{file} has no {END}"));
    if env::var_os("COXSWAIN_UPDATE_GOLDEN").is_some() {
        fs::write(&path, [before, &begin, table, END, after].concat()).unwrap();
    } else {
        pretty_assertions::assert_eq!(
            found,
            table,
            "docs/{file} is not what the code says: `COXSWAIN_UPDATE_GOLDEN=1 cargo test --workspace --bin coxswain documentation` \
             writes it"
        );
    }
}

fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(N));
    for row in rows {
        writeln!(text, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | ")).unwrap();
    }
    text.replace("|  |", "| |")
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

#[test]
fn annotations_of_jobs_are_documented() {
    let row = |annotation: &Annotation| {
        [code(annotation.name), annotation.value.to_owned(), annotation.meaning.to_owned()]
    };
    check(
        "annotations.md",
        "annotations",
        &table(["Annotation", "Value", "Effect"], JOB_ANNOTATIONS.iter().map(row)),
    );
}

fn flag(arg: &Arg) -> [String; 3] {
    let name = format!("`--{}`", arg.get_long().unwrap());
    let default: Vec<String> =
        arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    let default = Some(default.join(",")).filter(|text| text != "false").unwrap_or_default();
    let variable = arg.get_env().map(|name| format!("`${}`", name.to_string_lossy()));
    let mut meaning = arg.get_help().unwrap_or_else(|| panic!("{name} says nothing")).to_string();
    let is_switch = arg.get_long() == Some("version");
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|_| !is_switch)
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}`: {help}", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        meaning = format!("{meaning}. {}", values.join("; "));
    }
    [name, variable.unwrap_or_else(|| code(&default)), meaning]
}

fn flags(ours: bool) -> String {
    let command = Flags::command();
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_long().is_some());
    let args = args.filter(|arg| (arg.get_help_heading() == Some(OURS)) == ours);
    table(["Flag", "Default", "Meaning"], args.map(flag))
}

#[test]
fn flags_are_documented() {
    check("annotations.md", "flags of the MPI Operator", &flags(false));
    check("annotations.md", "flags", &flags(true));
}

fn metrics(described: &[Desc]) -> String {
    let row = |metric: &Desc| {
        let labels = metric.variable_labels.iter().map(|label| code(label)).collect::<Vec<_>>().join(", ");
        [code(&metric.fq_name), labels, metric.help.trim_end_matches('.').to_owned()]
    };
    table(["Metric", "Labels", "Meaning"], described.iter().map(row))
}

/// All instruments of the operator itself.
fn operators() -> Metrics {
    let metrics = Metrics::new().unwrap();
    ReconcileMetrics::new(metrics.registry()).unwrap();
    metrics
}

#[test]
fn metrics_are_documented() {
    let registry = Registry::default();
    PluginMetrics::new(&registry).unwrap();

    check("metrics.md", "metrics", &metrics(&operators().registry().described()));
    check("operating-plugins.md", "metrics", &metrics(&registry.described()));
}

/// The settings of shipped plugins; those that several declare alike are one row.
fn settings(names: &[&str]) -> String {
    let sandbox = Sandbox::new().unwrap();
    let mut rows: Vec<(SettingKind, Vec<String>)> = Vec::new();
    for name in names {
        let plugin = sandbox.load(name, &components::bytes(name), MAX_COMPONENT).unwrap();
        for kind in &plugin.descriptor().settings {
            match rows.iter_mut().find(|(known, _)| known == kind) {
                Some((_, by)) => by.push(code(name)),
                None => rows.push((kind.clone(), vec![code(name)])),
            }
        }
    }
    rows.sort_by_key(|(_, by)| std::cmp::Reverse(by.len()));
    let row = |(kind, by): (SettingKind, Vec<String>)| {
        let default = code(&kind.default.unwrap_or_default());
        [by.join(", "), code(&kind.key), default, kind.summary]
    };
    table(["Plugin", "Key", "Default", "Meaning"], rows.into_iter().map(row))
}

#[test]
fn settings_of_the_shipped_plugins_are_documented() {
    check("annotations.md", "settings", &settings(&["openmpi", "intel-mpi", "mpich"]));
    check("fabrics.md", "settings", &settings(&["nccl-rdma"]));
}

/// Names of metrics in an expression, each with the labels that it selects by.
fn selected(expression: &str) -> Vec<(String, Vec<String>)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(at) = ["mpi_operator_", "coxswain_"].iter().filter_map(|prefix| rest.find(prefix)).min() {
        let tail = rest.get(at..).unwrap();
        let end = tail.find(|c| !is_name(c)).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        let matchers =
            after.strip_prefix('{').and_then(|inner| inner.split_once('}')).map_or("", |(inner, _)| inner);
        let labels = matchers.split("\",").filter_map(|matcher| Some(matcher.split_once('=')?.0.to_owned()));
        found.push((name.to_owned(), labels.collect()));
        rest = after;
    }
    found
}

/// Labels in `by (...)` and `on (...)`.
fn grouped(expression: &str) -> Vec<String> {
    let lists = ["by (", "on ("].iter().flat_map(|word| expression.split(word).skip(1));
    let labels = lists.flat_map(|rest| rest.split(')').next().unwrap_or_default().split(','));
    labels.map(|label| label.trim().to_owned()).collect()
}

/// What Prometheus adds to every series of a pod, and to buckets.
const TARGET: [&str; 3] = ["namespace", "pod", "le"];

#[test]
fn alerts_use_metrics_and_labels_that_there_are_and_see_the_first_increase() {
    let metrics = operators();
    PluginMetrics::new(metrics.registry()).unwrap();
    let described: BTreeMap<String, Desc> =
        metrics.registry().described().into_iter().map(|desc| (desc.fq_name.clone(), desc)).collect();
    let at_start = metrics.registry().text().unwrap();
    let file = fs::read_to_string(root().join("deploy/components/monitoring/alerts.yaml")).unwrap();
    let alerts: serde_json::Value = serde_saphyr::from_str(&file).unwrap();
    let rules = alerts["spec"]["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() >= 6, "{rules:?}");

    for rule in rules {
        let (alert, expression) = (&rule["alert"], rule["expr"].as_str().unwrap());
        let mut known: Vec<String> = TARGET.map(str::to_owned).to_vec();
        let selected = selected(expression);
        assert!(!selected.is_empty(), "{alert}: no metric in {expression}");
        for (name, labels) in selected {
            let desc = described.get(name.trim_end_matches("_bucket"));
            let desc = desc.unwrap_or_else(|| panic!("{alert}: there is no metric {name}"));
            known.extend(desc.variable_labels.iter().cloned());
            for label in &labels {
                assert!(known.contains(label), "{alert}: {name} has no label {label}");
            }
            let born_at_zero = desc.variable_labels.is_empty() && at_start.contains(&format!("\n{name} 0\n"));
            let needs = expression.contains("increase(") && !born_at_zero;
            assert!(!needs || expression.contains("unless"), "{alert}: {name} may be born at 1");
        }
        for label in grouped(expression) {
            assert!(known.contains(&label), "{alert}: no metric of it has the label {label}");
        }
        let is_of_one =
            expression.contains(r#"{namespace="mpi-operator""#) || expression.contains("by (watches)");
        assert!(is_of_one, "{alert}: it adds up several operators");
    }
}
