//! Health, readiness and metrics, by the ports that the manifests name.

use std::time::{Duration, Instant};

use crate::{
    Job, Operator, Space,
    objects::list,
    operator::{HEALTH, METRICS},
    space::LIMIT,
};
use anyhow::Result;
use kube::ResourceExt;

#[tokio::test]
async fn health_and_readiness_answer() -> Result<()> {
    let operator = Operator::connect().await?;
    let pod = operator.pod().await?.name_any();
    for path in ["/healthz", "/readyz"] {
        operator.fetch(&pod, HEALTH, path).await?;
    }
    Ok(())
}

/// The names are those of the MPI Operator, which dashboards read.
#[tokio::test]
async fn metrics_count_jobs_under_the_names_of_the_mpi_operator() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("metrics").await?;
    let pod = operator.pod().await?.name_any();
    let before = operator.fetch(&pod, METRICS, "/metrics").await?;

    space.create(&Job::pi("pi")).await?;
    space.succeeds("pi").await?;

    // What is counted follows what is written, which is what this test waited for.
    let deadline = Instant::now() + LIMIT;
    let after = loop {
        let after = operator.fetch(&pod, METRICS, "/metrics").await?;
        if rose(&before, &after, "mpi_operator_jobs_successful_total") || Instant::now() > deadline {
            break after;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(value(&after, "mpi_operator_is_leader"), Some(1.0));
    for counter in ["mpi_operator_jobs_created_total", "mpi_operator_jobs_successful_total"] {
        assert!(rose(&before, &after, counter), "{counter} did not rise");
    }
    space.remove().await
}

fn rose(before: &str, after: &str, counter: &str) -> bool {
    value(before, counter).zip(value(after, counter)).is_some_and(|(before, after)| after >= before + 1.0)
}

/// By plugin and digest, as a dashboard reads them.
#[tokio::test]
async fn metrics_tell_what_plugins_serve_cost_and_are_pinned_to() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("plugin-metrics").await?;
    let pod = operator.pod().await?.name_any();

    space.create(&Job::open_ended("pi")).await?;
    space.launcher_runs("pi").await?;
    let running = operator.fetch(&pod, METRICS, "/metrics").await?;
    space.finish("pi").await?;
    space.succeeds("pi").await?;
    let ended = operator.fetch(&pod, METRICS, "/metrics").await?;

    let active = sample(&running, "coxswain_plugin_active", &[r#"plugin="openmpi""#]);
    let (labels, one) = active.expect("openmpi serves");
    assert!(one > 0.0, "it is active");
    let digest = labels.split(',').find(|label| label.starts_with("digest=")).expect("it has a digest");
    let of = |metrics: &str, name: &str, more: &[&str]| {
        let labels = [&[r#"plugin="openmpi""#, digest], more].concat();
        sample(metrics, name, &labels).map_or(0.0, |(_, value)| value)
    };
    assert!(of(&running, "coxswain_plugin_calls_total", &[r#"function="render""#]) >= 1.0);
    assert!(of(&running, "coxswain_plugin_fuel_total", &[r#"function="render""#]) > 1_000.0);
    assert!(of(&running, "coxswain_plugin_faults_total", &[]) < 1.0, "it broke");
    let pinned = |metrics| of(metrics, "coxswain_plugin_jobs_pinned", &[]);
    assert!(pinned(&running) > pinned(&ended), "{} jobs, then {}", pinned(&running), pinned(&ended));
    space.remove().await
}

/// Labels and value of the first sample of that name with these labels.
fn sample<'a>(metrics: &'a str, name: &str, labels: &[&str]) -> Option<(&'a str, f64)> {
    metrics.lines().find_map(|line| {
        let (found, value) = line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} ")?;
        labels.iter().all(|label| found.contains(label)).then_some((found, value.parse().ok()?))
    })
}

/// The first sample of that name.
fn value(metrics: &str, name: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.split([' ', '{']).next() == Some(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn it_runs_without_root_and_without_rights_on_its_node() -> Result<()> {
    let pod = Operator::connect().await?.pod().await?;
    let containers = list(&pod, "/spec/containers");
    assert_eq!(containers.len(), 1);
    let context = &containers[0]["securityContext"];
    assert_eq!(context["readOnlyRootFilesystem"], true);
    assert_eq!(context["allowPrivilegeEscalation"], false);
    assert_eq!(context["capabilities"]["drop"][0], "ALL");
    assert_eq!(pod.data["spec"]["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod.data["spec"]["serviceAccountName"], "mpi-operator");
    Ok(())
}
