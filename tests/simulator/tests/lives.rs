//! The operator over the simulated cluster: first without any fault, and equal in repeated runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use coxswain_simulator::{life, modes, plan::Fault, plan::WriteFault, workloads};
use pretty_assertions::assert_eq;

#[test]
fn every_workload_ends_where_it_should() {
    for plan in workloads::all() {
        let report = life::run(&plan);
        assert_eq!(
            report.violations,
            Vec::<String>::new(),
            "{}: {:?}\n{}",
            plan.name,
            report.jobs,
            report.lines.join("\n")
        );
        assert!(report.writes > 0, "{}: the operator has written", plan.name);
    }
}

#[test]
fn a_run_is_the_same_every_time() {
    let mut plan = workloads::named("fails-and-retries").unwrap();
    plan.replicas = 2;
    plan.faults = vec![Fault::Write { number: 5, how: WriteFault::CrashAfter }];
    let hashes: Vec<u64> = (0..3).map(|_| life::run(&plan).hash).collect();

    assert_eq!(hashes[0], hashes[1]);
    assert_eq!(hashes[1], hashes[2]);
}

#[test]
fn some_seeds_end_where_they_should() {
    for plan in (1..=10).map(modes::seeded) {
        let report = life::run(&plan);
        assert_eq!(report.violations, Vec::<String>::new(), "{} {:?}", plan.name, plan.faults);
    }
}
