//! The way to the API server.

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::flags::Flags;

/// A client of its own connections. Retries are the queue's business, not the client's: its own would hold a
/// pass for minutes.
pub async fn new(flags: &Flags) -> anyhow::Result<Client> {
    let from_variable = std::env::var("KUBECONFIG").unwrap_or_default();
    let path = if from_variable.is_empty() { flags.kubeconfig.clone() } else { from_variable };
    let mut config = if !path.is_empty() {
        let kubeconfig =
            Kubeconfig::read_from(&path).with_context(|| format!("reading the kubeconfig {path}"))?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .with_context(|| format!("using the kubeconfig {path}"))?
    } else if !flags.master.is_empty() {
        Config::new(flags.master.parse().with_context(|| format!("reading --master {:?}", flags.master))?)
    } else {
        Config::incluster()
            .context("finding the pod's service account (outside a cluster set --kubeConfig)")?
    };
    if !flags.master.is_empty() {
        config.cluster_url =
            flags.master.parse().with_context(|| format!("reading --master {:?}", flags.master))?;
    }
    config.default_retry = false;
    config.headers.push((
        http::header::USER_AGENT,
        http::HeaderValue::from_static(concat!("coxswain/", env!("CARGO_PKG_VERSION"), " mpi-operator")),
    ));
    Client::try_from(config).context("setting up the client")
}
