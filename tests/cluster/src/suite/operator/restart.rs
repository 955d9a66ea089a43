//! An operator that is killed.

use crate::{
    Job, Operator, Space,
    objects::gates,
    space::{LIMIT, launchers},
};
use anyhow::Result;

#[tokio::test]
async fn a_job_whose_gate_is_closed_while_the_operator_is_killed_succeeds() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("killed").await?;
    let job = Job::pi("pi").run_policy("backoffLimit", 0).workers_start_late(15);
    space.create(&job).await?;
    space
        .pods_until("pi", LIMIT, "the launcher waits", |pods| {
            launchers(pods).iter().any(|pod| gates(pod) == ["coxswain.dev/workers"]).then_some(())
        })
        .await?;

    operator.restart(false).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    space.remove().await
}
