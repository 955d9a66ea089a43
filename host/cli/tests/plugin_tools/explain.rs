//! `render --explain`.

use serde_json::Value;

use super::given::{component, coxswain, root};

fn explain(job: &str, more: &[&str]) -> super::given::Said {
    let job = root().join("tests/golden").join(job).join("job.yaml");
    let words = ["render", job.to_str().unwrap(), "--plugin", &component("openmpi"), "--explain"];
    let said = coxswain(&[&words, more].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    said
}

#[test]
fn a_table_says_who_set_what_and_what_it_replaced() {
    let said = explain("variables-of-the-user", &[]);

    let heading = said.out.lines().nth(1).unwrap();
    let words: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(words, ["GROUP", "WHAT", "NAME", "VALUE", "SET", "BY", "INSTEAD", "OF"]);
    assert!(said.out.starts_with("default/"), "{}", said.out);
    assert!(said.out.lines().any(|line| line.contains("/etc/mpi/hostfile") && line.contains("openmpi")));
    assert!(said.out.lines().any(|line| line.contains("K_MPI_JOB_ROLE") && line.contains("(operator)")));
}

#[test]
fn json_has_the_values_that_gave_way() {
    let said = explain("variables-of-the-user", &["-o", "json"]);

    let document: Value = serde_json::from_str(&said.out).unwrap();
    let explained = document["explained"].as_array().unwrap();
    let over = |by: &str| {
        let mine = explained.iter().filter(|one| one["is"]["by"] == by && one["item"] == "variable");
        mine.filter(|one| one["over"].as_array().is_some_and(|over| !over.is_empty())).count()
    };
    assert!(over("openmpi") > 0, "the plugin forces one: {document:#}");
    assert!(over("(user)") > 0, "the user keeps one: {document:#}");
}

#[test]
fn a_tuner_that_cluster_and_job_name_runs_once() {
    let job = root().join("examples/nccl-rdma.yaml");
    let words =
        ["render", job.to_str().unwrap(), "--explain", "-o", "json", "--plugin", &component("openmpi")];
    let said = coxswain(&[&words, ["--tuner", &*component("nccl-rdma")].as_slice()].concat());

    assert_eq!(said.code, Some(0), "{}", said.err);
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert!(std::fs::read_to_string(job).unwrap().contains("coxswain.dev/tuners"));
    assert_eq!(document["pin"]["tuners"].as_array().unwrap().len(), 1, "{document:#}");
}
