//! What a queue such as Kueue does to a job, and launchers that come after their workers.

use std::time::Duration;

use crate::{
    Job, Object, Space,
    objects::{Kind, gates, text},
    space::{LIMIT, launchers, workers},
};
use anyhow::{Context as _, Result};
use kube::ResourceExt;
use serde_json::{Value, json};

const TOPOLOGY: &str = "kueue.x-k8s.io/topology";

fn template(role: &str) -> String {
    format!("/spec/mpiReplicaSpecs/{role}/template")
}

/// As Kueue writes them into the templates of a job that it admits.
fn directives(mut job: Value) -> Value {
    for role in ["Launcher", "Worker"] {
        if let Some(template) = job.pointer_mut(&template(role)) {
            template["metadata"] =
                json!({ "labels": { "queue": "admitted" }, "annotations": { "podset": role } });
            template["spec"]["nodeSelector"] = json!({ "kubernetes.io/os": "linux" });
            template["spec"]["tolerations"] = json!([{ "key": "spot", "operator": "Exists" }]);
            template["spec"]["schedulingGates"] = json!([{ "name": TOPOLOGY }]);
        }
    }
    job["spec"]["runPolicy"]["suspend"] = json!(false);
    json!({ "spec": job["spec"] })
}

fn admitted(pod: &Object) -> bool {
    pod.labels().get("queue").is_some_and(|value| value == "admitted")
        && pod.annotations().contains_key("podset")
        && text(pod, "/spec/nodeSelector/kubernetes.io~1os") == "linux"
        && pod.data.pointer("/spec/tolerations/0/key") == Some(&json!("spot"))
        && gates(pod).contains(&TOPOLOGY)
}

/// The queue's gate goes as Kueue takes it away: by itself, wherever it stands.
async fn ungate(space: &Space, pod: &Object) -> Result<()> {
    let name = pod.name_any();
    let now = space.read(Kind::Pod, &name).await?;
    let left: Vec<Value> = gates(&now)
        .into_iter()
        .filter(|gate| *gate != TOPOLOGY)
        .map(|gate| json!({ "name": gate }))
        .collect();
    space.patch(Kind::Pod, &name, json!({ "spec": { "schedulingGates": left } })).await
}

#[tokio::test]
async fn the_directives_of_a_queue_reach_the_pods_and_its_gate_keeps_its_place() -> Result<()> {
    let space = Space::new("queue").await?;
    let job = Job::pi("pi").run_policy("suspend", true);
    space.create(&job).await?;
    space.condition("pi", "Suspended", "True").await?;

    space.patch(Kind::MpiJob, "pi", directives(job.manifest().clone())).await?;
    let pods = space
        .pods_until("pi", LIMIT, "launcher and workers carry the directives", |pods| {
            let all: Vec<&Object> = workers(pods).into_iter().chain(launchers(pods)).collect();
            (all.len() == 3 && all.iter().all(|pod| admitted(pod)))
                .then(|| all.into_iter().cloned().collect::<Vec<Object>>())
        })
        .await?;
    let launcher = pods.iter().find(|pod| pod.name_any().contains("-launcher-")).context("no launcher")?;
    assert_eq!(gates(launcher), ["coxswain.dev/workers", TOPOLOGY]);
    for pod in &pods {
        ungate(&space, pod).await?;
    }
    space.succeeds("pi").await?;
    space.launcher_started_once("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}

async fn no_launcher(space: &Space) -> Result<()> {
    let any = |pods: &crate::Objects| launchers(pods).into_iter().next().map(ResourceExt::name_any);
    space.workers_run("pi", 2).await?;
    space.pods_never("pi", Duration::from_secs(2), any).await
}

async fn touch_ready(space: &Space) -> Result<()> {
    for worker in ["pi-worker-0", "pi-worker-1"] {
        space.exec(worker, &["touch", "/tmp/ready"]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_launcher_that_comes_after_its_workers_waits_for_them_again_after_a_suspension() -> Result<()> {
    let space = Space::new("wait").await?;
    let job = Job::open_ended("pi")
        .workers_run("/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config")
        .ready_while("/tmp/ready")
        .set("/spec/launcherCreationPolicy", "WaitForWorkersReady");
    space.create(&job).await?;
    no_launcher(&space).await?;
    touch_ready(&space).await?;
    space.launcher_runs("pi").await?;

    space.patch(Kind::MpiJob, "pi", json!({ "spec": { "runPolicy": { "suspend": true } } })).await?;
    space.pods_until("pi", LIMIT, "no pod is left", |pods| pods.is_empty().then_some(())).await?;
    space.patch(Kind::MpiJob, "pi", json!({ "spec": { "runPolicy": { "suspend": false } } })).await?;
    no_launcher(&space).await?;
    touch_ready(&space).await?;

    space.finish("pi").await?;
    space.succeeds("pi").await?;
    space.remove().await
}
