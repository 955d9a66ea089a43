//! Questions to pods without the API server, as a kubelet asks them: straight to the pod's address.

use std::time::Duration;

use anyhow::{Result, bail};
use http::Request;
use kube::{Client, Config};
use tokio::time::timeout;

/// As long as a kubelet waits.
const LIMIT: Duration = Duration::from_secs(1);

/// GET of a path; an answer that is no success is an error.
pub(super) async fn ask(address: &str, port: u16, path: &str) -> Result<String> {
    let client = Client::try_from(Config::new(format!("http://{address}:{port}").parse()?))?;
    let asked = client.request_text(Request::get(path).body(Vec::new())?);
    let Ok(answer) = timeout(LIMIT, asked).await else { bail!("no answer within {LIMIT:?}") };
    Ok(answer?)
}
