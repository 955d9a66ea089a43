//! The simulated API server answers the script as real ones do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use coxswain_simulator::{
    agenda::Agenda,
    conformance,
    dice::Dice,
    network::{BIRTH, Network},
    server::Server,
};
use serde_json::Value;

/// What the simulated server answers to the steps of a group.
async fn simulated(steps: &[conformance::Step]) -> Vec<Value> {
    let agenda = Agenda::default();
    let network = Network::new(Server::new(1000, BIRTH, 1), agenda.clone(), Dice::new(1));
    let client = network.client("script");
    tokio::select! {
        biased;
        answers = conformance::run(&client, steps) => answers,
        () = agenda.run() => unreachable!("it never ends"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_simulated_server_answers_as_recorded() {
    let recorded = conformance::recorded();
    assert!(!recorded.is_empty(), "there is a record");
    let mut differences = Vec::new();
    for minor in recorded {
        let record = conformance::record(&minor);
        for (group, steps) in conformance::script() {
            let recorded = record.get(&group).unwrap_or_else(|| panic!("{minor} has no record of {group}"));
            assert_eq!(recorded.len(), steps.len(), "{minor}: the record of {group} is of another script");
            let answers = simulated(&steps).await;
            for (answer, recorded) in
                answers.iter().zip(recorded).filter(|(answer, recorded)| answer != recorded)
            {
                differences.push(format!(
                    "Kubernetes {minor}, {group}:\n  recorded  {recorded}\n  simulated {answer}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
