//! Ending and taking over.

use std::time::{Duration, Instant};

use crate::{Job, Operator, Space, operator::exit_code};
use anyhow::{Context as _, Result, ensure};
use kube::ResourceExt;

#[tokio::test]
async fn it_ends_with_exit_code_0_and_gives_its_lease_back() -> Result<()> {
    let operator = Operator::connect().await?;
    let pod = operator.pod().await?.name_any();

    operator.scale(0).await?;
    // The kubelet reports how the container ended before the pod goes.
    let code =
        operator.pods_until("the container has ended", |pods| pods.get(&pod).and_then(exit_code)).await;
    let holder = operator.leader().await;
    operator.scale(1).await?;
    operator.pod().await?;

    assert_eq!(code?, 0);
    assert_eq!(holder?, "");
    operator.leader_until("the next one leads", |holder| (!holder.is_empty()).then_some(())).await
}

#[tokio::test]
async fn a_second_replica_takes_over_within_five_seconds_and_goes_on_with_the_jobs() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("handover").await?;
    operator.scale(2).await?;
    let pods = operator.ready(2).await?;
    let leader = operator.leader().await?;
    let names: Vec<String> = pods.iter().map(ResourceExt::name_any).collect();
    let leads = names
        .iter()
        .find(|name| leader.contains(&***name))
        .with_context(|| format!("the lease is held by {leader:?}, which is none of {names:?}"))?;

    let began = Instant::now();
    operator.delete(leads, true).await?;
    space.create(&Job::pi("pi")).await?;
    operator
        .leader_until("the other one leads", |holder| (!holder.is_empty() && holder != leader).then_some(()))
        .await?;
    let took = began.elapsed();
    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;

    println!("taken over after {:.1} s", took.as_secs_f64());
    operator.scale(1).await?;
    operator.pod().await?;
    ensure!(took < Duration::from_secs(5), "taken over after {took:?}");
    space.remove().await
}
