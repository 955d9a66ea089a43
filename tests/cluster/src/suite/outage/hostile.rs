//! Jobs that nobody can carry out, which the schema of the API server lets pass: they are named, and cost nobody
//! anything.

use std::{env, fs, time::Duration};

use crate::{Job, Space, bed, objects, objects::Kind, space::LIMIT, tool::run, watch};
use anyhow::{Context as _, Result, ensure};
use kube::runtime::watcher;

use super::{
    load::{all, fake, submit},
    replicas::Replicas,
};

/// Jobs of others.
const GOOD: usize = 20;
/// Maps in maps: more than decoders descend into that count.
const DEPTH: usize = 200;
/// Longest from the start of a process until it is ready, told in seconds.
const START: Duration = Duration::from_secs(5);

/// The largest number of workers that the schema allows.
fn too_many(name: &str, suspend: bool) -> Job {
    fake(name).set("/spec/mpiReplicaSpecs/Worker/replicas", i32::MAX).run_policy("suspend", suspend)
}

/// Creates a job of which no client of the tests could read the answer, and returns its name.
async fn create_nested(space: &Space) -> Result<&'static str> {
    // The pod templates' spec keeps fields that the API server does not know.
    let job = fake("nested").set("/spec/mpiReplicaSpecs/Worker/template/spec/nested", "DEEP");
    let deep = format!("{}1{}", r#"{"a":"#.repeat(DEPTH), "}".repeat(DEPTH));
    let file = env::temp_dir().join(format!("nested-{}.json", std::process::id()));
    fs::write(&file, job.manifest().to_string().replace(r#""DEEP""#, &deep))?;
    let path = file.to_string_lossy();
    let created = run("kubectl", &["-n", space.name(), "create", "--validate=false", "-f", &path]).await;
    fs::remove_file(&file).with_context(|| format!("removing {path}"))?;
    created.map(|_| "nested")
}

/// Waits until a Warning names the job.
async fn is_named(space: &Space, job: &str) -> Result<String> {
    let selection = watcher::Config::default().fields(&format!("involvedObject.name={job},type=Warning"));
    let what = format!("a Warning about {}/{job}", space.name());
    watch::until(&space.api(Kind::Event), selection, LIMIT, &what, |events| {
        Ok(events.values().next().map(|event| objects::text(event, "/message").to_owned()))
    })
    .await
}

#[tokio::test]
async fn jobs_that_nobody_can_carry_out_are_named_and_harm_no_other() -> Result<()> {
    let replicas = Replicas::renew().await?;
    let hostile = Space::new("hostile").await?;
    hostile.create(&too_many("too-many-suspended", true)).await?;
    hostile.create(&too_many("too-many", false)).await?;
    let nested = create_nested(&hostile).await?;
    let beside = Space::new("beside").await?;

    submit(&beside, (0..GOOD).map(|index| fake(&format!("good-{index}"))).collect()).await?;
    all(&beside, LIMIT, GOOD, "Running").await?;
    for job in ["too-many-suspended", "too-many", nested] {
        println!("{job}: {}", is_named(&hostile, job).await?);
    }
    replicas.none_has_ended().await?;
    replicas.peak_memory()?;

    let again = Replicas::renew().await?;
    let took = again.start()?;
    println!("ready {} s after the start beside the three", took.as_secs());
    ensure!(took <= START, "ready after {took:?}");
    submit(&beside, vec![fake("afterwards")]).await?;
    all(&beside, LIMIT, GOOD + 1, "Running").await?;
    bed::end_launchers(beside.name()).await?;
    all(&beside, LIMIT, GOOD + 1, "Succeeded").await?;
    again.none_has_ended().await?;
    again.peak_memory()?;
    beside.remove().await?;
    hostile.remove().await
}
