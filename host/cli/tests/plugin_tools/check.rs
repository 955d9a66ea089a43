//! `plugin check`.

use std::fs;

use serde_json::Value;

use super::given::{command, component, coxswain, file, folder, said};

fn json(words: &[&str]) -> (Option<i32>, Value) {
    let said = coxswain(&[words, &["-o", "json"]].concat());
    (said.code, serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}")))
}

/// Whether a check passed.
fn passed(report: &Value, name: &str) -> bool {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()["passed"].as_bool().unwrap()
}

#[test]
fn every_shipped_plugin_may_serve_and_says_what_it_costs_at_each_size() {
    for name in ["openmpi", "intel-mpi", "mpich"] {
        let (code, report) = json(&["plugin", "check", &component(name)]);

        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(report["passed"], true);
        assert_eq!(report["about"]["exports"][0], "launcher");
        let costs = report["costs"].as_array().unwrap();
        let sizes: Vec<u64> = costs
            .iter()
            .filter(|c| c["function"] == "render")
            .map(|c| c["hosts"].as_u64().unwrap())
            .collect();
        assert_eq!(sizes, [1, 64, 1024, 10_000]);
        assert!(costs.iter().all(|cost| cost["fuel"].as_u64() > Some(1000)), "{costs:#?}");
    }
}

#[test]
fn a_plugin_that_does_what_none_may_fails_the_check_that_says_so() {
    let here = folder("check-hostile");
    let of = |behaviour: &str| {
        let settings = file(&here, behaviour, &format!("behaviour: {behaviour}\n"));
        json(&["plugin", "check", &component("hostile"), "--settings", &settings])
    };

    let (code, report) = of("loop");
    assert_eq!(code, Some(1), "{report:#}");
    assert!(!passed(&report, "probes") && !passed(&report, "fuel") && passed(&report, "policy"));

    let (code, report) = of("preload");
    assert_eq!(code, Some(1), "{report:#}");
    assert!(!passed(&report, "policy") && passed(&report, "probes"));
}

#[test]
fn bytes_that_are_no_component_are_refused_in_one_line() {
    let here = folder("check-broken");
    let cut = here.join("openmpi.wasm");
    fs::write(&cut, &fs::read(component("openmpi")).unwrap()[..5000]).unwrap();
    let text = file(&here, "text.wasm", "not WebAssembly");

    for broken in [cut.to_str().unwrap(), &text] {
        let said = coxswain(&["plugin", "check", broken]);

        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(
            said.out.contains("FAIL load") && said.out.contains("- it is not WebAssembly: "),
            "{}",
            said.out
        );
        assert!(said.out.ends_with("It must not serve: mend what failed above.\n"), "{}", said.out);
    }
}

#[test]
fn vectors_are_checked_with_jobs_from_files() {
    let here = folder("check-vectors");
    fs::copy(super::given::root().join("examples/pi.yaml"), here.join("pi.yaml")).unwrap();
    let text = "- name: pi\n  job: pi.yaml\n  expect: { files: { hostfile: { contains: pi-worker-1 } } }\n";
    let good = file(&here, "good.yaml", text);
    let wrong = file(&here, "wrong.yaml", &text.replace("worker-1", "worker-7"));

    let said = coxswain(&["plugin", "check", &component("openmpi"), "--vectors", &good]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = coxswain(&["plugin", "check", &component("openmpi"), "--vectors", &wrong]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.out.contains("- pi: file hostfile must be something with \"pi-worker-7\""), "{}", said.out);
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let words = ["plugin", "check", &component("mpich")];
    let with = |name: &str| {
        let mut command = command(&words);
        command.env(name, "1");
        said(command).out
    };

    assert!(!coxswain(&words).out.contains('\u{1b}'), "no terminal");
    assert!(with("CLICOLOR_FORCE").contains("\u{1b}["));
    assert!(!with("NO_COLOR").contains('\u{1b}'));
}

#[test]
fn a_component_is_known_by_its_name() {
    let here = folder("check-name");
    let renamed = here.join("other.wasm");
    fs::copy(component("mpich"), &renamed).unwrap();
    let renamed = renamed.to_str().unwrap();

    let said = coxswain(&["plugin", "check", renamed]);
    assert!(said.out.contains("it calls itself \"mpich\" and is loaded as \"other\""), "{}", said.out);
    assert_eq!(coxswain(&["plugin", "check", renamed, "--name", "mpich"]).code, Some(0));
}
