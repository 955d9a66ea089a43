//! Plugins are swapped while jobs run.

use std::{collections::BTreeMap, env, fs};

use crate::{
    Job, Object, Operator, Space,
    objects::{Kind, number, variable},
    operator::{component, restarts},
};
use anyhow::{Context as _, Result, ensure};
use coxswain_model::pin::Digest;
use kube::ResourceExt;
use serde_json::json;

/// What the other build of the plugin sets in every pod, and the shipped one does not.
const MARKER: &str = "OMPI_MCA_coxswain_marker";

/// A component and the digest under which the operator knows it.
struct Build {
    bytes: Vec<u8>,
    sha256: String,
}

impl Build {
    fn of(bytes: Vec<u8>) -> Self {
        let sha256 = Digest::of(&bytes).to_string();
        Self { bytes, sha256 }
    }

    /// The build with the marker; `COXSWAIN_MARKED_PLUGIN` names its file.
    fn marked() -> Result<Self> {
        let path =
            env::var("COXSWAIN_MARKED_PLUGIN").context("COXSWAIN_MARKED_PLUGIN must name a component")?;
        Ok(Self::of(fs::read(&path).with_context(|| format!("reading {path}"))?))
    }

    fn short(&self) -> &str {
        &self.sha256[..12]
    }

    /// Makes it the openmpi plugin of new jobs.
    async fn serve(&self, operator: &Operator) -> Result<()> {
        operator.offer("openmpi", &self.bytes, &self.sha256, self.short()).await.map(drop)
    }
}

/// Whether the marker is in a running job's launcher and workers: in all or in none.
async fn marked(space: &Space, job: &str) -> Result<bool> {
    let pods = space.all(Kind::Pod).await?;
    let of_job: Vec<_> = pods.values().filter(|pod| pod.name_any().starts_with(&format!("{job}-"))).collect();
    let with = of_job.iter().filter(|pod| variable(pod, MARKER).is_some()).count();
    ensure!(!of_job.is_empty() && (with == 0 || with == of_job.len()), "{with} of {} pods", of_job.len());
    Ok(with > 0)
}

/// Runs a job to its end; true if it was rendered with the marker. The event that names its plugin must agree.
async fn runs_marked(space: &Space, name: &str, by: &Build) -> Result<bool> {
    space.create(&Job::open_ended(name)).await?;
    space.launcher_runs(name).await?;
    let said = space.hears(name, "PluginsPinned").await?;
    ensure!(
        said.message.contains(by.short()),
        "{name} is to be rendered by {}: {}",
        by.short(),
        said.message
    );
    let marked = marked(space, name).await?;
    space.finish(name).await?;
    space.succeeds(name).await?;
    Ok(marked)
}

/// Versions of what belongs to one job; its events are not part of it.
async fn versions(space: &Space, job: &str) -> Result<BTreeMap<String, String>> {
    let mut versions = space.versions().await?;
    versions.retain(|key, _| {
        let (kind, name) = key.split_once('/').unwrap_or_default();
        kind != "Event" && (name == job || name.starts_with(&format!("{job}-")))
    });
    Ok(versions)
}

#[tokio::test]
async fn a_swapped_plugin_renders_new_jobs_and_leaves_running_ones_alone() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("swap").await?;
    let shipped = Build::of(component(&operator.plugin("openmpi").await?)?);
    let other = Build::marked()?;
    let pod = operator.pod().await?;
    space.create(&Job::open_ended("old").workers(1)).await?;
    space.condition("old", "Running", "True").await?;
    // The Job controller counts ready pods a second later.
    let counted = |job: &Object| Ok((number(job, "/status/ready") == 1).then_some(()));
    space.until(Kind::Job, "old-launcher", "its pod is counted", counted).await?;
    let before = versions(&space, "old").await?;

    other.serve(&operator).await?;
    let new_is_marked = runs_marked(&space, "new", &other).await?;
    let after = versions(&space, "old").await?;
    // What the running job still gets comes from the plugin that it is pinned to.
    space
        .patch(Kind::MpiJob, "old", json!({ "spec": { "mpiReplicaSpecs": { "Worker": { "replicas": 2 } } } }))
        .await?;
    space.workers_run("old", 2).await?;
    let old_is_marked = marked(&space, "old").await?;
    let pod_after = operator.pod().await?;
    shipped.serve(&operator).await?;
    let next_is_marked = runs_marked(&space, "next", &shipped).await?;

    assert!(new_is_marked, "the new job does not show the new build");
    assert_eq!(after, before, "the swap touched a running job");
    assert!(!old_is_marked, "a worker of a running job was rendered by the new build");
    assert!(!next_is_marked, "swapped back, and the marker is still there");
    assert_eq!(
        (pod_after.uid(), restarts(&pod_after)),
        (pod.uid(), restarts(&pod)),
        "the operator restarted"
    );
    space.finish("old").await?;
    space.succeeds("old").await?;
    space.remove().await
}

#[tokio::test]
async fn broken_bytes_are_refused_and_the_last_good_build_goes_on_also_after_a_restart() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("broken").await?;
    let shipped = Build::of(component(&operator.plugin("openmpi").await?)?);
    // Not the one of the image: falling back to that would look the same.
    let good = Build::marked()?;
    good.serve(&operator).await?;
    ensure!(runs_marked(&space, "before", &good).await?, "the last good build has no marker");

    let broken = Build::of(b"\0asm, but no component".to_vec());
    let refusal = operator.offer("openmpi", &broken.bytes, &broken.sha256, good.short()).await?;
    let torn = operator.offer("openmpi", &good.bytes[..1000], &good.sha256, "sha256").await?;
    let serving = runs_marked(&space, "serving", &good).await;
    operator.restart(true).await?;
    let restarted = runs_marked(&space, "restarted", &good).await;
    shipped.serve(&operator).await?;

    assert!(refusal.contains("goes on serving"), "{refusal}");
    assert!(torn.contains(good.short()), "{torn}");
    assert!(serving?, "the last good build does not serve");
    assert!(restarted?, "the last good build does not serve after a restart");
    ensure!(!runs_marked(&space, "after", &shipped).await?, "the corrected ConfigMap does not count");
    space.remove().await
}
