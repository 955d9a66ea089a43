//! Orders for a bed of the kind `mixed`: its components, the proxy between pods and API server, its fake nodes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use http::Request;
use kube::{Client, Config};
use serde_json::Value;

/// Where they are taken inside the bed.
const FAKE_KUBELET: &str = "http://127.0.0.1:10270";
const SUPERVISOR: &str = "http://127.0.0.1:10271";
const FAULT_PROXY: &str = "http://127.0.0.1:10272";
/// The component that tests stop and freeze.
const SERVER: &str = "kube-apiserver";
/// A pod of this scheduler is put on a fake node, where it is Running and Ready at once and runs nothing.
pub const FAKE_SCHEDULER: &str = "fake-nodes";
/// How long a launcher on a fake node runs before it ends with success.
pub const RUNS_FOR: &str = "bed.coxswain.dev/runs-for";

/// Ends the API server.
pub async fn stop_server() -> Result<()> {
    order(&format!("{SUPERVISOR}/stop?component={SERVER}")).await
}

/// Starts it again, and waits until it is ready.
pub async fn start_server() -> Result<()> {
    order(&format!("{SUPERVISOR}/start?component={SERVER}")).await
}

/// It stops working and keeps its connections.
pub async fn freeze_server() -> Result<()> {
    order(&format!("{SUPERVISOR}/freeze?component={SERVER}")).await
}

/// It goes on.
pub async fn thaw_server() -> Result<()> {
    order(&format!("{SUPERVISOR}/thaw?component={SERVER}")).await
}

/// From now on the answers to pods are spoilt like this, for example `delay=2s` or `refuse=0.5`; empty for not at all.
pub async fn spoil(fault: &str) -> Result<()> {
    order(&format!("{FAULT_PROXY}/fault?{fault}")).await
}

/// How many answers were `delayed`, `refused` or `cut` so far.
pub async fn spoilt(how: &str) -> Result<u64> {
    let answer = client(FAULT_PROXY)?.request_text(Request::get("/fault").body(Vec::new())?).await?;
    let counts: Value = serde_json::from_str(&answer)?;
    counts.get(how).and_then(Value::as_u64).with_context(|| format!("no count of {how}: {answer}"))
}

/// The launchers of a namespace that run on fake nodes end with success, now and later.
pub async fn end_launchers(namespace: &str) -> Result<()> {
    order(&format!("{FAKE_KUBELET}/end?namespace={namespace}")).await
}

async fn order(uri: &str) -> Result<()> {
    let (server, path) = uri.rsplit_once('/').context("an order has a path")?;
    let request = Request::post(format!("/{path}")).body(Vec::new())?;
    let told = client(server)?.request_text(request).await;
    told.map(drop).with_context(|| format!("telling the bed {path}"))
}

fn client(server: &str) -> Result<Client> {
    let mut config = Config::new(server.parse()?);
    // A start of the API server takes a while on two busy cores.
    config.read_timeout = Some(Duration::from_mins(5));
    Ok(Client::try_from(config)?)
}
