//! What takes minutes: workers that start three minutes late, as image pulls and node provisioning take that long, and
//! the removal of copies that nothing needs.

use std::time::{Duration, Instant};

use crate::{
    Job, Operator, Space,
    objects::Kind,
    operator::{COPIES, component},
    watch,
};
use anyhow::{Result, ensure};
use coxswain_model::pin::Digest;
use kube::runtime::watcher;

#[tokio::test]
async fn a_job_without_retries_survives_workers_that_start_three_minutes_late() -> Result<()> {
    let space = Space::new("late").await?;
    let began = Instant::now();

    let job = Job::pi("pi").run_policy("backoffLimit", 0).workers_start_late(180);
    space.create(&job).await?;
    space.succeeds_within("pi", Duration::from_mins(6)).await?;

    ensure!(began.elapsed() >= Duration::from_mins(3), "the workers were not late");
    space.launcher_started_once("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}

/// Of what served, the last three components are kept as a way back; with the fourth swap nothing needs the first.
#[tokio::test]
async fn the_copy_of_a_component_that_nothing_needs_is_removed() -> Result<()> {
    const PLUGIN: &str = "nccl-rdma";
    let operator = Operator::connect().await?;
    let shipped = component(&operator.plugin(PLUGIN).await?)?;
    let mut digests = Vec::new();
    for build in 1..=4 {
        // A custom section more, which nobody reads.
        let bytes = [shipped.as_slice(), &[0, 3, 1, b'b', build]].concat();
        let digest = Digest::of(&bytes);
        operator.offer(PLUGIN, &bytes, &digest.to_string(), &digest.short()).await?;
        digests.push(digest);
    }
    let digest = Digest::of(&shipped);
    operator.offer(PLUGIN, &shipped, &digest.to_string(), &digest.short()).await?;
    let names: Vec<String> = digests.iter().map(|digest| format!("coxswain-copy-{digest}")).collect();
    let [unneeded, ways_back @ ..] = names.as_slice() else { anyhow::bail!("four were offered") };

    let copies = watcher::Config::default().labels(COPIES);
    let api = operator.api(Kind::ConfigMap);
    let limit = Duration::from_mins(6);
    let what = format!("{unneeded} is gone");
    let left = watch::until(&api, copies, limit, &what, |copies| {
        Ok((!copies.contains_key(unneeded)).then(|| copies.keys().cloned().collect::<Vec<_>>()))
    });
    let left = left.await?;
    ensure!(ways_back.iter().all(|copy| left.contains(copy)), "of {ways_back:?} there are {left:?}");
    Ok(())
}
