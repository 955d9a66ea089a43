//! Clients of the bed: the administrator's, the plain one that is measured, and the fake kubelet's orders.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use http::{Method, Request, header};
use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// As the operator asks, so that the plain client is not slowed by longer answers.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// JSON merge patch.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// Content type of everything else.
pub const JSON: &str = "application/json";

/// Requests to an API server, a connection for each one under way.
#[derive(Clone)]
pub struct Api {
    client: Client,
    accept: &'static str,
}

/// An answer: HTTP status and body.
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl Api {
    /// The user of the current kubeconfig.
    pub async fn administrator() -> Result<Self> {
        let config = Config::from_kubeconfig(&KubeConfigOptions::default()).await;
        Self::of(config.context("reading the kubeconfig")?, JSON)
    }

    /// The user of this kubeconfig file, who asks as the operator does.
    pub async fn plain(path: &Path) -> Result<Self> {
        let kubeconfig =
            Kubeconfig::read_from(path).with_context(|| format!("reading {}", path.display()))?;
        Self::of(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?, METADATA)
    }

    fn of(mut config: Config, accept: &'static str) -> Result<Self> {
        config.default_retry = false;
        Ok(Self { client: Client::try_from(config)?, accept })
    }

    /// One request, whatever the answer is.
    pub async fn ask(&self, method: Method, path: &str, content: &str, body: String) -> Result<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, self.accept)
            .header(header::CONTENT_TYPE, content)
            .body(Body::from(body.into_bytes()))?;
        let response = self.client.send(request).await.with_context(|| format!("asking for {path}"))?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.context("reading an answer")?.to_bytes().to_vec();
        Ok(Answer { code, body })
    }

    /// One request that has to succeed. Returns the body.
    pub async fn send(&self, method: Method, path: &str, content: &str, body: String) -> Result<Vec<u8>> {
        let Answer { code, body } = self.ask(method, path, content, body).await?;
        if !(200..300).contains(&code) {
            bail!("{path}: the API server answered {code}: {}", String::from_utf8_lossy(&body));
        }
        Ok(body)
    }

    /// Creates an object; one that exists is left alone.
    pub async fn ensure(&self, path: &str, object: &Value) -> Result<()> {
        let answer = self.ask(Method::POST, path, JSON, object.to_string()).await?;
        if answer.code >= 300 && answer.code != 409 {
            bail!(
                "{path}: the API server answered {}: {}",
                answer.code,
                String::from_utf8_lossy(&answer.body)
            );
        }
        Ok(())
    }

    /// Makes a namespace.
    pub async fn make_namespace(&self, name: &str) -> Result<()> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.ensure("/api/v1/namespaces", &object).await
    }

    /// A token for a service account, for a day.
    pub async fn token(&self, namespace: &str, account: &str) -> Result<String> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let wanted = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86400}});
        let request = Request::post(path).header(header::CONTENT_TYPE, JSON);
        let body = self.client.send(request.body(Body::from(wanted.to_string().into_bytes()))?).await?;
        let body = body.into_body().collect().await?.to_bytes();
        let answer: Value = serde_json::from_slice(&body)?;
        let token = answer.pointer("/status/token").and_then(Value::as_str);
        token.map(str::to_owned).with_context(|| format!("no token for {account}: {answer}"))
    }
}

/// The fake kubelet, which the bed has at this address.
#[derive(Clone)]
pub struct Kubelet(Api);

/// Where it takes orders inside the bed.
const KUBELET: &str = "http://127.0.0.1:10270";

/// What it says of the pods of a namespace.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Pods {
    /// That exist.
    #[serde(rename = "pods")]
    pub all: usize,
    /// That run.
    pub running: usize,
}

impl Kubelet {
    /// Of the bed that this runs in.
    pub fn connect() -> Result<Self> {
        Ok(Self(Api::of(Config::new(KUBELET.parse()?), JSON)?))
    }

    /// From now on no pod starts.
    pub async fn hold(&self) -> Result<()> {
        self.order("/hold").await
    }

    /// They do again.
    pub async fn release(&self) -> Result<()> {
        self.order("/release").await
    }

    /// Launchers of this namespace end.
    pub async fn end(&self, namespace: &str) -> Result<()> {
        self.order(&format!("/end?namespace={namespace}")).await
    }

    /// The counts.
    pub async fn pods(&self, namespace: &str) -> Result<Pods> {
        let path = format!("/state?namespace={namespace}");
        let body = self.0.send(Method::GET, &path, JSON, String::new()).await?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Waits for something about the pods of a namespace.
    pub async fn until(
        &self,
        namespace: &str,
        limit: Duration,
        what: &str,
        seen: impl Fn(Pods) -> bool,
    ) -> Result<()> {
        let begin = tokio::time::Instant::now();
        loop {
            let pods = self.pods(namespace).await?;
            if seen(pods) {
                return Ok(());
            }
            if begin.elapsed() > limit {
                bail!("not within {} s: {what} (the fake kubelet has {pods:?})", limit.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn order(&self, path: &str) -> Result<()> {
        self.0.send(Method::POST, path, JSON, String::new()).await.map(drop)
    }
}
