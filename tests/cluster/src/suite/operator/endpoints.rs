//! Health, readiness and metrics, by the ports that the manifests name.

use crate::{
    Operator,
    objects::list,
    operator::{HEALTH, METRICS},
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
async fn metrics_count_the_jobs_that_have_run() -> Result<()> {
    let operator = Operator::connect().await?;
    let pod = operator.pod().await?.name_any();
    let metrics = operator.fetch(&pod, METRICS, "/metrics").await?;
    let value = |name: &str| {
        let line = metrics.lines().find(|line| line.split([' ', '{']).next() == Some(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    assert_eq!(value("mpi_operator_is_leader"), Some(1.0), "{metrics}");
    for counter in ["mpi_operator_jobs_created_total", "mpi_operator_jobs_successful_total"] {
        assert!(value(counter).is_some_and(|count| count >= 1.0), "{counter} in:\n{metrics}");
    }
    Ok(())
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
