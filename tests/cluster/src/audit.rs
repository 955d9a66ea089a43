//! The API server's audit log: what an operator's `ServiceAccount` asked for.

use std::{env, fs};

use anyhow::{Context as _, Result};
use coxswain_test_support::audit::Entry;
use k8s_openapi::jiff::Timestamp;

use crate::operator;

/// What Coxswain's requests are told from those of the MPI Operator by, which takes its place and its account in `switch`.
const AGENT: &str = "coxswain/";

/// The operator's requests since then, in the order of their answers. `COXSWAIN_AUDIT_LOG` names the file.
pub fn requests_since(since: Timestamp) -> Result<Vec<Entry>> {
    requests_of(operator::NAMESPACE, since)
}

/// The same, of an operator in another namespace.
pub fn requests_of(namespace: &str, since: Timestamp) -> Result<Vec<Entry>> {
    let path =
        env::var("COXSWAIN_AUDIT_LOG").context("COXSWAIN_AUDIT_LOG must name the API server's audit log")?;
    let log = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let user = format!("system:serviceaccount:{namespace}:{}", operator::NAME);
    let entries = log.lines().filter_map(|line| Entry::read(line.as_bytes()));
    let ours = entries.filter(|entry| entry.user == user && entry.agent.starts_with(AGENT));
    Ok(ours.filter(|entry| entry.received >= since).collect())
}
