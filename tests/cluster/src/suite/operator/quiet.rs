//! What nobody asked for is not done.

use std::time::Duration;

use crate::{Job, Operator, Space, audit};
use anyhow::Result;
use k8s_openapi::jiff::Timestamp;

/// A reconcile after a start takes milliseconds; what would be written at all is written by then.
const SETTLED: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_restarted_operator_writes_nothing_for_jobs_in_which_nothing_changed() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("quiet").await?;
    for name in ["one", "two"] {
        space.create(&Job::open_ended(name)).await?;
    }
    space.create(&Job::pi("ended")).await?;
    for name in ["one", "two"] {
        space.condition(name, "Running", "True").await?;
    }
    space.succeeds("ended").await?;
    tokio::time::sleep(SETTLED).await;
    let before = space.versions().await?;

    let restarted = Timestamp::now();
    operator.restart(true).await?;
    operator.leader_until("it leads", |holder| (!holder.is_empty()).then_some(())).await?;
    tokio::time::sleep(SETTLED).await;

    assert_eq!(space.versions().await?, before);
    let writes = audit::requests_since(restarted)?;
    let writes: Vec<_> = writes.iter().filter(|r| r.writes() && r.namespace == space.name()).collect();
    assert!(writes.is_empty(), "{writes:#?}");
    for name in ["one", "two"] {
        space.finish(name).await?;
        space.succeeds(name).await?;
    }
    space.remove().await
}

/// Jobs of other tests may still be on their way, so theirs does not count; nothing but `late` runs beside this one.
#[tokio::test]
async fn an_idle_operator_asks_for_nothing_but_its_lease_and_its_watches() -> Result<()> {
    let operator = Operator::connect().await?;
    operator.pod().await?;
    let space = Space::new("idle").await?;
    space.create(&Job::open_ended("pi")).await?;
    space.condition("pi", "Running", "True").await?;
    tokio::time::sleep(SETTLED).await;

    let since = Timestamp::now();
    tokio::time::sleep(Duration::from_secs(30)).await;

    let requests = audit::requests_since(since)?;
    let others: Vec<_> = requests
        .iter()
        .filter(|r| r.verb != "watch" && r.resource != "leases" && !r.namespace.starts_with("late-"))
        // The cache is compared with the API server every 10 minutes, at a time left to chance.
        .filter(|r| !(r.verb == "list" && r.uri.contains("limit=500")))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
    let lease = requests.iter().filter(|r| r.resource == "leases").count();
    assert!((1..=20).contains(&lease), "{lease} requests for the lease in 30 s");
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.remove().await
}
