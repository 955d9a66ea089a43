use coxswain_sandbox::Sandbox;
use coxswain_test_support::components;
use pretty_assertions::assert_eq;

use super::*;

fn plugin(name: &str) -> Plugin {
    Sandbox::new().unwrap().load(name, &components::bytes(name), 1 << 20).unwrap()
}

fn failures(name: &str, text: &str) -> Vec<String> {
    let vectors = parse(text).unwrap();
    let again = parse(&serde_json::to_string_pretty(&vectors).unwrap()).unwrap();
    assert_eq!(vectors, again, "what is packed is what was written");
    check(&plugin(name), &vectors, &ClusterPolicy::default())
}

const GOOD: &str = r"
- name: two workers
  settings:
    tree-spawn: false
  expect:
    launcher:
      env:
        OMPI_MCA_orte_default_hostfile: /etc/mpi/hostfile
        HYDRA_LAUNCHER: null
    files:
      hostfile: |
        probe-worker-0.probe.default.svc slots=2
        probe-worker-1.probe.default.svc slots=2
      discover_hosts.sh: { contains: /bin/sh }
- name: a wrong setting
  settings: { tree-spawn: maybe }
  expect: { refused: tree-spawn }
";

#[test]
fn a_plugin_that_does_what_its_vectors_say_has_no_failures() {
    assert_eq!(failures("openmpi", GOOD), Vec::<String>::new());
}

#[test]
fn every_difference_is_told_with_the_vector_and_what_is_there_instead() {
    let wrong = GOOD
        .replace("hostfile: /etc/mpi/hostfile", "hostfile: /etc/hostfile")
        .replace("worker-1.probe.default.svc slots=2", "worker-1.probe.default.svc slots=4")
        .replace("maybe", "true");

    let found = failures("openmpi", &wrong);

    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(
        found[0],
        "two workers: launcher: variable OMPI_MCA_orte_default_hostfile must be \"/etc/hostfile\", but is \
         \"/etc/mpi/hostfile\""
    );
    assert!(found[1].starts_with("two workers: file hostfile must be"), "{}", found[1]);
    assert_eq!(found[2], "a wrong setting: must be refused with \"tree-spawn\", but is not");
}

#[test]
fn capabilities_are_expected_by_their_earlier_name_too() {
    let expecting = |key: &str| format!("- name: x\n  expect: {{ {key}: {{ shared-memory: 8Gi }} }}\n");

    let old = parse(&expecting("wants")).unwrap();

    assert_eq!(old, parse(&expecting("capabilities")).unwrap());
    let found = check(&plugin("openmpi"), &old, &ClusterPolicy::default());
    assert!(found[0].starts_with("x: capability shared-memory must be"), "{found:?}");
}

#[test]
fn a_plugin_that_breaks_is_never_expected_to() {
    let text =
        r#"[{ "name": "x", "settings": { "behaviour": "loop" }, "expect": { "refused": "instructions" } }]"#;

    let found = failures("hostile", text);

    assert!(found[0].starts_with("x: ") && found[0].contains("used up its"), "{found:?}");
}

#[test]
fn unreadable_vectors_name_the_vector_and_the_field() {
    let wrong = |text: &str| parse(text).unwrap_err();

    assert!(wrong("{}").starts_with("must be a list of vectors"));
    assert!(wrong("- name: x\n  expct: {}").contains("vector 1 (x): unknown field `expct`"));
    assert!(wrong("- name: x\n  job: pi.yaml\n  expect: {}").contains("is a path"));
    assert!(
        wrong("- name: x\n  job: { apiVersion: v1, kind: Job }\n  expect: {}")
            .contains("v1 Job, not kubeflow.org/v2beta1 MPIJob")
    );
    assert!(wrong("- {name: x, expect: {}}\n- {name: x, expect: {}}").contains("same name"));
    let huge = probes::sample("OpenMPI", MAX_WORKERS + 1);
    let huge = serde_json::json!([{ "name": "x", "job": huge, "expect": {} }]);
    assert!(wrong(&huge.to_string()).contains("at most 10000"));
}

#[test]
fn a_job_may_be_a_file_where_files_can_be_read() {
    let job = probes::sample("OpenMPI", 3).to_string();
    let text = "- name: x\n  job: pi.json\n  expect: { files: { hostfile: { contains: probe-worker-2 } } }";

    let vectors = parse_with(text, |path| if path == "pi.json" { Ok(job.clone()) } else { Err("no".into()) });

    let found = check(&plugin("openmpi"), &vectors.unwrap(), &ClusterPolicy::default());
    assert_eq!(found, Vec::<String>::new());
}
