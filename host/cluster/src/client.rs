//! The way to the API server.

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// Where the API server is, as far as somebody said so.
#[derive(Clone, Debug, Default)]
pub struct ApiServer {
    /// Path of a kubeconfig; `KUBECONFIG` goes before it. Without either: the pod's `ServiceAccount`.
    pub kubeconfig: Option<String>,
    /// A URL in place of the kubeconfig's.
    pub url: Option<String>,
}

/// A client of its own connections. Retries are the queue's business, not the client's: its own would hold a
/// pass for minutes.
pub async fn new(api_server: &ApiServer) -> anyhow::Result<Client> {
    let from_variable = std::env::var("KUBECONFIG").ok().filter(|path| !path.is_empty());
    let url = api_server.url.as_deref();
    let url = url.map(|url| url.parse::<http::Uri>().with_context(|| format!("reading --master {url:?}")));
    let url = url.transpose()?;
    let mut config = if let Some(path) = from_variable.or_else(|| api_server.kubeconfig.clone()) {
        let kubeconfig =
            Kubeconfig::read_from(&path).with_context(|| format!("reading the kubeconfig {path}"))?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .with_context(|| format!("using the kubeconfig {path}"))?
    } else if let Some(url) = url.clone() {
        Config::new(url)
    } else {
        Config::incluster()
            .context("finding the pod's service account (outside a cluster set --kubeConfig)")?
    };
    if let Some(url) = url {
        config.cluster_url = url;
    }
    config.default_retry = false;
    config.headers.push((
        http::header::USER_AGENT,
        http::HeaderValue::from_static(concat!("coxswain/", env!("CARGO_PKG_VERSION"), " mpi-operator")),
    ));
    Client::try_from(config).context("setting up the client")
}
