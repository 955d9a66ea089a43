//! Where the bench runs: the bed, who acts in it, and the programs that are measured.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use http::Method;
use serde_json::{Value, json};

use crate::{
    api::{Api, JSON, Kubelet},
    audit::Log,
};

/// Longest that the pods of a namespace may take to go.
const LIMIT: Duration = Duration::from_mins(10);

/// Everything that scenarios work with.
pub struct Setting {
    /// The operator's binary.
    pub operator: PathBuf,
    /// Its plugins.
    pub plugins: PathBuf,
    /// Its kubeconfig: that of the shipped `ServiceAccount` with the shipped roles.
    pub kubeconfig: PathBuf,
    /// Changes what no scenario measures.
    pub admin: Api,
    /// Kubeconfig of the plain client, which is made anew for each round.
    pub plain: PathBuf,
    /// Orders for the fake kubelet.
    pub kubelet: Kubelet,
    /// Who asked for what.
    pub log: Log,
    /// Where files go.
    pub out: PathBuf,
}

/// Requests that may be needed to delete a collection, of up to a minute each.
const TRIES: u32 = 10;

/// All jobs.
const JOBS: &str = "/apis/kubeflow.org/v2beta1/mpijobs";

/// Namespace of the operator, of its lease and of its account.
pub const OPERATOR_NAMESPACE: &str = "mpi-operator";

impl Setting {
    /// Deploys all of the shipped overlay but the Deployment's pod, and makes the accounts.
    pub async fn prepare(operator: PathBuf, plugins: PathBuf, log: &Path, out: PathBuf) -> Result<Self> {
        fs::create_dir_all(&out).with_context(|| format!("making {}", out.display()))?;
        let admin = Api::administrator().await?;
        kubectl(&["apply", "--server-side", "-k", "deploy/overlays/standalone"])?;
        kubectl(&["-n", OPERATOR_NAMESPACE, "scale", "deployment", "mpi-operator", "--replicas", "0"])?;
        kubectl(&["wait", "--for", "condition=Established", "crd/mpijobs.kubeflow.org"])?;
        // Established is not yet served.
        while admin.ask(Method::GET, JOBS, JSON, String::new()).await?.code != 200 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        admin.make_namespace("bench").await?;
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "plain"}});
        admin.ensure("/api/v1/namespaces/bench/serviceaccounts", &account).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "plain"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "bench", "name": "plain"}],
        });
        admin.ensure("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding).await?;
        let kubeconfig =
            kubeconfig(&out, "operator", &admin.token(OPERATOR_NAMESPACE, "mpi-operator").await?)?;
        let plain = kubeconfig_of_plain(&out, &admin).await?;
        let kubelet = Kubelet::connect()?;
        let log = Log::follow(log)?;
        Ok(Self { operator, plugins, kubeconfig, admin, plain, kubelet, log, out })
    }

    /// Removes what is in a namespace and waits until its pods are gone, then the namespace, without waiting: its
    /// controller takes its time.
    pub async fn clear(&self, namespace: &str) -> Result<()> {
        self.kubelet.release().await?;
        for collection in [
            "apis/kubeflow.org/v2beta1/namespaces/NS/mpijobs",
            "apis/batch/v1/namespaces/NS/jobs",
            "api/v1/namespaces/NS/pods",
        ] {
            let path = format!("/{}?propagationPolicy=Background", collection.replace("NS", namespace));
            // Thousands take longer than a request may; what is left goes with the next one.
            let mut tries = 0;
            while !matches!(self.admin.ask(Method::DELETE, &path, JSON, String::new()).await, Ok(a) if a.code < 300)
            {
                tries += 1;
                ensure!(tries < TRIES, "{path}: the API server does not delete it");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        self.kubelet.until(namespace, LIMIT, "all pods are gone", |pods| pods.all == 0).await?;
        self.admin
            .send(Method::DELETE, &format!("/api/v1/namespaces/{namespace}"), JSON, String::new())
            .await?;
        Ok(())
    }

    /// A plain client without a single open connection.
    pub async fn plain(&self) -> Result<Api> {
        Api::plain(&self.plain).await
    }
}

async fn kubeconfig_of_plain(out: &Path, admin: &Api) -> Result<PathBuf> {
    kubeconfig(out, "plain", &admin.token("bench", "plain").await?)
}

/// The current kubeconfig with another user.
fn kubeconfig(out: &Path, name: &str, token: &str) -> Result<PathBuf> {
    let current = env::var("KUBECONFIG").context("KUBECONFIG must name the bed's; use `bed exec`")?;
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&current)?)
        .with_context(|| format!("{current} is not the bed's, which is JSON"))?;
    config["users"] = json!([{"name": "bed", "user": {"token": token}}]);
    let path = out.join(format!("{name}.kubeconfig"));
    fs::write(&path, config.to_string()).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

fn kubectl(words: &[&str]) -> Result<()> {
    let output = Command::new("kubectl").args(words).output().context("starting kubectl")?;
    if !output.status.success() {
        bail!("kubectl {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
