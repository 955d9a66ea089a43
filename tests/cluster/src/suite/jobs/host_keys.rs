//! Host keys: ssh accepts the job's own and no other, where the job asks for it.

use crate::{
    Job, Space,
    objects::{Kind, condition, field},
};
use anyhow::Result;
use serde_json::json;

const ANNOTATION: &str = "coxswain.dev/ssh-host-keys";

/// The daemon of user 1000, but with a host key of its own making, as a stranger under a worker's name would have.
fn strangers(name: &str) -> Job {
    Job::pi(name)
        .workers_run(
            "ssh-keygen -q -t ecdsa -N '' -f /tmp/key && \
             sed s,/home/mpiuser/.ssh/id_rsa,/tmp/key, /home/mpiuser/.sshd_config >/tmp/sshd_config && \
             /usr/sbin/sshd -De -f /tmp/sshd_config",
        )
        .ssh_probe()
        .run_policy("backoffLimit", 0)
        .set("/spec/mpiReplicaSpecs/Launcher/restartPolicy", "Never")
}

#[tokio::test]
async fn with_host_keys_checked_a_stranger_under_a_workers_name_is_not_talked_to() -> Result<()> {
    let space = Space::new("stranger").await?;
    space.create(&strangers("unchecked")).await?;
    space.create(&strangers("checked").annotate(ANNOTATION, "job")).await?;

    space.succeeds("unchecked").await?;
    space.ran_on_workers("unchecked", 2).await?;
    space
        .until(Kind::MpiJob, "checked", "Failed", |object| {
            let failed = condition(object, "Failed").filter(|found| field(found, "status") == "True");
            Ok(failed.map(drop))
        })
        .await?;
    let output = space.output("checked").await?;
    assert!(output.contains("Host key verification failed"), "{output}");
    space.remove().await
}

/// As root with the configuration of sshd that the image has, which knows nothing of the job's key: workers without a
/// command get a daemon that does.
#[tokio::test]
async fn workers_without_a_command_have_the_jobs_host_key() -> Result<()> {
    let space = Space::new("root-keys").await?;
    let root = json!({ "runAsUser": 0 });
    let main = |role| format!("/spec/mpiReplicaSpecs/{role}/template/spec/containers/0");
    let job = Job::pi("pi")
        .annotate(ANNOTATION, "job")
        .set("/spec/sshAuthMountPath", "/root/.ssh")
        .set(&format!("{}/securityContext", main("Launcher")), root.clone())
        .set(&format!("{}/securityContext", main("Worker")), root)
        .set(&format!("{}/command", main("Worker")), json!([]))
        .launcher_env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .launcher_env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    space.create(&job).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    space.remove().await
}

/// Pods that mounted what the Secret does not have would hang without a word.
#[tokio::test]
async fn a_job_that_asks_for_the_check_too_late_is_told_so_and_runs_on_once_it_does_not() -> Result<()> {
    let space = Space::new("too-late").await?;
    space.create(&Job::pi("pi").run_policy("suspend", true)).await?;
    space.condition("pi", "Suspended", "True").await?;

    let annotate = |value: Option<&str>| json!({ "metadata": { "annotations": { ANNOTATION: value } } });
    space.patch(Kind::MpiJob, "pi", annotate(Some("job"))).await?;
    let message = space.condition("pi", "Accepted", "False").await?;
    assert!(message.contains(ANNOTATION) && message.contains("Secret pi-ssh"), "{message}");

    space.patch(Kind::MpiJob, "pi", annotate(None)).await?;
    space.patch(Kind::MpiJob, "pi", json!({ "spec": { "runPolicy": { "suspend": false } } })).await?;
    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.remove().await
}
