//! `conformance record` asks the API server of the kubeconfig and writes the record; `conformance compare` holds the record
//! that there is to it.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a command that is not shipped"
)]

use std::process::ExitCode;

use coxswain_simulator::conformance::{self, Step};
use http::Request;
use kube::Client;
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let records = std::env::args().nth(1).as_deref() == Some("record");
    let client = Client::try_default().await?;
    let version: Value = client.request(Request::get("/version").body(Vec::new())?).await?;
    let text = |field: &str| version[field].as_str().unwrap_or_default().trim_end_matches('+').to_owned();
    let minor = format!("{}.{}", text("major"), text("minor"));
    let script: Vec<(String, Vec<Step>)> = conformance::script().into_iter().collect();
    let mut same = true;
    for (group, steps) in script {
        let answers = conformance::run(&client, &steps).await;
        if records {
            conformance::write_record(&minor, &group, &answers)?;
            println!("{group}: {} answers of Kubernetes {minor} recorded", answers.len());
            continue;
        }
        let recorded = conformance::record(&minor).remove(&group).unwrap_or_default();
        for (answer, recorded) in
            answers.iter().zip(&recorded).filter(|(answer, recorded)| answer != recorded)
        {
            same = false;
            println!("{group}: {}\n  recorded: {recorded}\n  answered: {answer}", recorded["what"]);
        }
        same &= answers.len() == recorded.len();
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
