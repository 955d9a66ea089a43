//! What a person sees of the plugins: `coxswain plugin list` and `coxswain plugin status`.

use std::{
    env,
    time::{Duration, Instant},
};

use crate::{
    Job, Operator, Space,
    objects::Kind,
    operator::{NAMESPACE, component},
    tool::run,
};
use anyhow::{Context as _, Result, ensure};
use coxswain_model::pin::Digest;
use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::time::sleep;

/// Longest that the operator may take to look at a ConfigMap.
const LIMIT: Duration = Duration::from_mins(1);

/// `coxswain plugin WORDS… -o json`.
async fn plugin(words: &[&str]) -> Result<Value> {
    let coxswain = env::var("COXSWAIN_BINARY").context("COXSWAIN_BINARY must name it")?;
    let said = run(&coxswain, &[&["plugin"], words, &["-n", NAMESPACE, "-o", "json"]].concat()).await?;
    serde_json::from_str(&said).with_context(|| format!("reading {said:?}"))
}

/// Asks until a plugin stands so.
async fn stands(name: &str, state: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let now = plugin(&["status", name]).await?;
        if now["state"] == state {
            return Ok(());
        }
        ensure!(begin.elapsed() < LIMIT, "{name} does not become {state}: {now:#}");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn plugin_list_and_status_say_what_serves_what_was_refused_and_which_jobs_live_by_it() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("tools").await?;
    let bytes = component(&operator.plugin("openmpi").await?)?;
    let digest = Digest::of(&bytes);
    space.create(&Job::open_ended("listed").workers(1)).await?;
    space.condition("listed", "Running", "True").await?;

    let listed = plugin(&["list"]).await?;
    let broken = b"\0asm, but no component, once more";
    let sha256 = Digest::of(broken).to_string();
    operator.offer("openmpi", broken, &sha256, "goes on serving").await?;
    let refused = plugin(&["status", "openmpi"]).await?;
    // Nothing new serves, so no event tells of it.
    let patch = json!({
        "binaryData": { "plugin.wasm": ByteString(bytes) },
        "data": { "sha256": digest.to_string() },
    });
    let maps = operator.api(Kind::ConfigMap);
    maps.patch("openmpi", &PatchParams::default(), &Patch::Merge(patch)).await?;
    stands("openmpi", "active").await?;

    let openmpi = listed.as_array().into_iter().flatten().find(|one| one["name"] == "openmpi");
    let openmpi = openmpi.with_context(|| format!("openmpi is not in {listed:#}"))?;
    assert_eq!(openmpi["state"], "active", "{openmpi:#}");
    assert_eq!(openmpi["active"]["digest"], digest.to_string());
    assert_eq!(openmpi["active"]["serves"][0], "OpenMPI");
    let job = format!("{}/listed", space.name());
    let lives_by = |pinned: &Value| {
        pinned["digest"] == digest.to_string()
            && pinned["jobs"].as_array().into_iter().flatten().any(|one| one == &job)
    };
    assert!(openmpi["pinned"].as_array().into_iter().flatten().any(lives_by), "{openmpi:#}");
    assert_eq!(refused["state"], "refused", "{refused:#}");
    assert_eq!(
        (&refused["requested"], &refused["active"]["digest"]),
        (&sha256.into(), &digest.to_string().into())
    );
    space.finish("listed").await?;
    space.succeeds("listed").await?;
    space.remove().await
}
