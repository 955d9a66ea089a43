//! An operator that is killed: what the API server's audit log says about the pods that it and its successor made.

use std::collections::BTreeMap;

use crate::{
    Job, Operator, Space, audit,
    objects::Kind,
    space::{LIMIT, workers},
};
use anyhow::Result;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::json;

/// Which pod has which name. A pod that is made anew has another uid.
async fn identities(space: &Space) -> Result<BTreeMap<String, Option<String>>> {
    Ok(space.all(Kind::Pod).await?.into_iter().map(|(name, pod)| (name, pod.uid())).collect())
}

/// What the API server answered to the operator's attempts to create pods there, by the pod's name.
fn creations(space: &Space) -> Result<BTreeMap<String, Vec<u16>>> {
    let mut answers = BTreeMap::<String, Vec<u16>>::new();
    for request in audit::requests_since(Timestamp::UNIX_EPOCH)? {
        if request.namespace == space.name() && request.resource == "pods" && request.verb == "create" {
            answers.entry(request.name).or_default().push(request.code);
        }
    }
    Ok(answers)
}

#[tokio::test]
async fn a_job_that_runs_while_the_operator_is_killed_succeeds_and_no_pod_is_made_twice() -> Result<()> {
    let operator = Operator::connect().await?;
    let space = Space::new("mid-run").await?;
    // Long enough to be killed in, also where starting the next operator takes a while.
    let program = json!(["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000", "20"]);
    let command = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command";
    // The workers stay, to be compared.
    space.create(&Job::pi("pi").set(command, program).run_policy("cleanPodPolicy", "None")).await?;
    space.condition("pi", "Running", "True").await?;
    let before = identities(&space).await?;
    assert_eq!(before.len(), 3, "{before:?}");

    operator.restart(false).await?;

    space.succeeds("pi").await?;
    space.ran_on_workers("pi", 2).await?;
    space.launcher_started_once("pi").await?;
    assert_eq!(identities(&space).await?, before);
    let once = |index| (format!("pi-worker-{index}"), vec![201]);
    assert_eq!(creations(&space)?, BTreeMap::from([once(0), once(1)]));
    space.remove().await
}

/// What was created by requests whose answers nobody got is found by the next operator.
#[tokio::test]
async fn an_operator_killed_while_it_makes_workers_leaves_none_to_be_made_twice() -> Result<()> {
    const WORKERS: u32 = 12;
    let operator = Operator::connect().await?;
    let space = Space::new("mid-start").await?;
    let job = Job::pi("pi").workers(WORKERS).run_policy("cleanPodPolicy", "None");
    space.create(&job).await?;
    let first = |pods: &crate::Objects| workers(pods).first().map(|pod| (pod.name_any(), pod.uid()));
    let (name, uid) = space.pods_until("pi", LIMIT, "the first worker is there", first).await?;

    operator.restart(false).await?;

    // A dozen pods start on what may be two cores.
    space.succeeds_within("pi", LIMIT * 2).await?;
    space.launcher_started_once("pi").await?;
    assert_eq!(space.read(Kind::Pod, &name).await?.uid(), uid);
    for (name, answers) in creations(&space)? {
        let made = answers.iter().filter(|code| **code == 201).count();
        assert!(made <= 1, "{name}: {answers:?}");
    }
    assert_eq!(creations(&space)?.len(), WORKERS as usize);
    space.remove().await
}
