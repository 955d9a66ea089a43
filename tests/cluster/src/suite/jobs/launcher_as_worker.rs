//! The launcher executes ranks, too.

use std::collections::BTreeSet;

use crate::{Job, Space};
use anyhow::Result;

const EXAMPLE: &str = include_str!("../../../../../examples/launcher-as-worker.yaml");

/// The launcher is the first host of the hostfile, and DNS does not know it yet when it reads that.
#[tokio::test]
async fn a_launcher_that_executes_ranks_starts_once_and_knows_its_own_name() -> Result<()> {
    let space = Space::new("launcher-as-worker").await?;
    space.create(&Job::of_yaml(EXAMPLE, "pi")?).await?;

    space.succeeds("pi").await?;
    space.launcher_started_once("pi").await?;
    let hosts = ["pi-launcher", "pi-worker-0", "pi-worker-1"];
    space.ran_on("pi", BTreeSet::from(hosts.map(str::to_owned))).await?;
    space.remove().await
}
