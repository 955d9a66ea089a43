//! Workers that start three minutes late: image pulls and node provisioning take that long.

use std::time::{Duration, Instant};

use crate::{Job, Space};
use anyhow::{Result, ensure};

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
