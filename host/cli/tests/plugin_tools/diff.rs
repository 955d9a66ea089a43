//! `plugin diff`.

use std::{fs, path::Path};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::given::{component, coxswain, file, folder, root};

/// The same component with some of its text replaced by text of the same length.
fn changed(folder: &Path, name: &str, from: &str, to: &str) -> String {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(component(name)).unwrap();
    let at: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!at.is_empty(), "{name} has no {from}");
    for at in at {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    let path = folder.join(name).with_extension("wasm");
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn example(name: &str) -> String {
    root().join("examples").join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_component_beside_itself_is_no_difference() {
    let (one, pi) = (component("openmpi"), example("pi.yaml"));

    let said = coxswain(&["plugin", "diff", &one, &one, &pi]);

    assert_eq!((said.code, said.out), (Some(0), format!("{pi}: no difference\n")), "{}", said.err);
}

#[test]
fn a_changed_variable_is_shown_where_it_is_and_nowhere_else() {
    let here = folder("diff");
    let new = changed(&here, "openmpi", "OMPI_MCA_plm_rsh_args", "OMPI_MCA_plm_rsh_argz");

    let said = coxswain(&["plugin", "diff", &component("openmpi"), &new, &example("pi.yaml")]);

    assert_eq!(said.code, Some(1), "{said:?}");
    let lines: Vec<&str> = said.out.lines().filter(|line| line.starts_with(['+', '-'])).collect();
    let pi = example("pi.yaml");
    assert_eq!(
        lines,
        [
            &*format!("--- {pi}: Job/pi-launcher"),
            &*format!("+++ {pi}: Job/pi-launcher (changed)"),
            "-        - name: OMPI_MCA_plm_rsh_args",
            "+        - name: OMPI_MCA_plm_rsh_argz",
        ]
    );
}

/// The objects that differ between two behaviours of the hostile plugin, which sets its variables in every pod.
fn behaviours(old: &str, new: &str) -> Vec<Value> {
    let here = folder(&format!("diff-{old}-{new}"));
    let [old, new] = [old, new].map(|behaviour| file(&here, behaviour, &format!("behaviour: {behaviour}\n")));
    let hostile = component("hostile");
    let words = ["plugin", "diff", &hostile, &hostile, "--settings", &old, "--new-settings", &new];
    let said = coxswain(&[&words, ["-o", "json", &*example("pi.yaml")].as_slice()].concat());
    assert_eq!(said.code, Some(1), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["different"], true);
    document["jobs"][0]["objects"].as_array().unwrap().clone()
}

#[test]
fn workers_that_change_alike_are_told_once() {
    let objects = behaviours("fickle", "echo");

    let pods: Vec<&Value> =
        objects.iter().filter(|object| object["object"].as_str().unwrap().starts_with("Pod/")).collect();
    assert_eq!(pods.len(), 1, "{objects:#?}");
    assert_eq!(pods[0]["object"], "Pod/pi-worker-0");
    assert_eq!(pods[0]["alike"], serde_json::json!(["Pod/pi-worker-1"]));
}

#[test]
fn a_job_that_only_the_new_one_refuses_loses_its_objects() {
    let objects = behaviours("fickle", "preload");

    let of = |name: &str| objects.iter().find(|object| object["object"] == name).unwrap();
    assert_eq!(of("refusal")["change"], "added");
    assert!(of("refusal")["diff"].as_str().unwrap().contains("LD_PRELOAD"), "{objects:#?}");
    assert_eq!(of("Pod/pi-worker-0")["change"], "removed");
}

#[test]
fn a_job_that_both_refuse_is_said_to_be_refused() {
    let one = component("openmpi");

    let said = coxswain(&["plugin", "diff", &one, &one, &example("pi-mpich.yaml")]);

    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("both refuse it") && said.out.contains("it serves OpenMPI"), "{}", said.out);
}

#[test]
fn what_cannot_be_compared_is_neither_same_nor_different() {
    let pi = example("pi.yaml");

    for (old, new, why) in [
        (component("openmpi"), component("mpich"), "openmpi and mpich are different plugins"),
        (component("openmpi"), example("pi.yaml"), "it is not WebAssembly"),
        (component("openmpi"), "missing.wasm".into(), "reading missing.wasm"),
    ] {
        let said = coxswain(&["plugin", "diff", &old, &new, &pi]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{}", said.err);
    }
}
