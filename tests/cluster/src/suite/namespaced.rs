//! The operator of one namespace: `deploy/overlays/namespaced`, which has Roles and none for the cluster.

use std::{env, fs, path::Path};

use crate::{
    Job, Operator, Space, audit,
    objects::Kind,
    operator::NAME,
    space::{LIMIT, workers},
    tool::run,
};
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;

#[tokio::test]
async fn a_job_runs_under_the_operator_of_its_namespace_which_asks_for_nothing_outside() -> Result<()> {
    let operator = Operator::connect().await?;
    let (inside, outside) = (Space::new("namespaced").await?, Space::new("outside").await?);
    operator.scale(0).await?;
    operator.ready(0).await?;

    let outcome = alone(&inside, &outside).await;

    let requests = audit::requests_of(inside.name(), Timestamp::UNIX_EPOCH)?;
    // Together they would both act on its jobs.
    run("kubectl", &["-n", inside.name(), "delete", "deployment", NAME, "--wait", "--cascade=foreground"])
        .await?;
    operator.scale(1).await?;
    operator.pod().await?;
    outcome?;
    let wrong: Vec<_> = requests
        .iter()
        .filter(|request| {
            !request.allowed || (!request.resource.is_empty() && request.namespace != inside.name())
        })
        .collect();
    ensure!(wrong.is_empty(), "forbidden, or outside of the namespace: {wrong:#?}");
    ensure!(requests.len() > 50, "only {} requests: is this the right log?", requests.len());

    outside.succeeds("pi").await?;
    outside.ran_on_workers("pi", 2).await?;
    inside.remove().await?;
    outside.remove().await
}

/// While there is no operator but that of the namespace.
async fn alone(inside: &Space, outside: &Space) -> Result<()> {
    deploy(inside.name()).await?;
    outside.create(&Job::pi("pi")).await?;

    inside.create(&Job::pi("pi")).await?;
    inside.succeeds("pi").await?;
    inside.ran_on_workers("pi", 2).await?;
    inside.launcher_started_once("pi").await?;

    // It needs rights of its own to run again.
    inside.create(&Job::open_ended("again")).await?;
    inside.condition("again", "Running", "True").await?;
    let suspend = |suspended: bool| json!({ "spec": { "runPolicy": { "suspend": suspended } } });
    inside.patch(Kind::MpiJob, "again", suspend(true)).await?;
    let none = |pods: &crate::Objects| pods.is_empty().then_some(());
    inside.pods_until("again", LIMIT, "no pod is left", none).await?;
    inside.patch(Kind::MpiJob, "again", suspend(false)).await?;
    inside.finish("again").await?;
    inside.succeeds("again").await?;

    let theirs = outside.read(Kind::MpiJob, "pi").await?;
    ensure!(theirs.data.get("status").is_none(), "the job outside has a status: {}", theirs.data);
    ensure!(workers(&outside.all(Kind::Pod).await?).is_empty(), "the job outside has workers");
    Ok(())
}

/// The overlay as it is shipped, in another namespace, with the image that is loaded and a plugin beside those of the image.
async fn deploy(namespace: &str) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    // A kustomization names its bases by relative paths.
    let folder = root.join("target/cluster-tests/namespaced");
    fs::create_dir_all(&folder).context("making the overlay's folder")?;
    let overlay = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": namespace,
        "resources": ["../../../deploy/overlays/namespaced"],
        "images": [{"name": "coxswain", "newName": "localhost/coxswain", "newTag": "dev"}],
    });
    fs::write(folder.join("kustomization.yaml"), overlay.to_string())?;
    run("kubectl", &["apply", "--server-side", "-k", &folder.display().to_string()]).await?;
    let coxswain = env::var("COXSWAIN_BINARY").context("COXSWAIN_BINARY must name it")?;
    let plugin = root.join("target/plugins/openmpi.wasm").display().to_string();
    let manifest = folder.join("plugin.yaml");
    fs::write(&manifest, run(&coxswain, &["plugin", "pack", &plugin]).await?)?;
    run("kubectl", &["-n", namespace, "apply", "--server-side", "-f", &manifest.display().to_string()])
        .await?;
    let deployment = format!("deployment/{NAME}");
    run("kubectl", &["-n", namespace, "rollout", "status", &deployment, "--timeout=180s"]).await.map(drop)
}
