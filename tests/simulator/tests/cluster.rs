//! The simulated cluster by itself: what its controllers make of a Job and of a Service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{sync::Arc, time::Duration};

use coxswain_simulator::{
    agenda::Agenda,
    controllers::{self, Garbage, Inside, Jobs, Kubelets, Namespaces, Slices},
    dice::Dice,
    holds::Holds,
    network::{BIRTH, Network},
    server::{
        Server,
        ask::Propagation,
        kind::{ENDPOINT_SLICE, JOB, NAMESPACE, POD, SERVICE},
    },
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// A cluster whose pods of the label `code` end with it after 5 s.
struct Cluster {
    inside: Inside,
    agenda: Agenda,
}

impl Cluster {
    fn new() -> Self {
        let agenda = Agenda::default();
        let network = Network::new(Server::new(1000, BIRTH, 1), agenda.clone(), Dice::new(1));
        let ends = Arc::new(|pod: &Value| {
            let code = pod["metadata"]["labels"]["code"].as_str()?.parse().ok()?;
            Some((code, 5 * SECOND))
        });
        let (start, stop) = ((SECOND, 2 * SECOND), (SECOND, 3 * SECOND));
        controllers::start(&network, Jobs::default());
        controllers::start(&network, Kubelets { ends, start, stop, holds: Holds::default() });
        controllers::start(&network, Slices::default());
        controllers::start(&network, Garbage { delay: (SECOND, 3 * SECOND) });
        controllers::start(&network, Namespaces);
        let inside = Inside::new(network, "test");
        inside.create(&NAMESPACE, "", json!({"metadata": {"name": "a"}})).unwrap();
        Self { inside, agenda }
    }

    async fn pass(&self, time: Duration) {
        let _ = timeout(time, self.agenda.run()).await;
        sleep(Duration::ZERO).await;
    }

    fn job(&self, code: u8, spec: &Value) {
        let labels = json!({"code": code.to_string(), "training.kubeflow.org/job-role": "launcher"});
        let pod = json!({"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}});
        let mut job = json!({"metadata": {"name": "j"}, "spec": {"template": pod}});
        json_patch::merge(&mut job["spec"], spec);
        self.inside.create(&JOB, "a", job).unwrap();
    }

    fn conditions(&self) -> Vec<String> {
        let job = self.inside.get(&JOB, "a", "j").unwrap();
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions
            .iter()
            .map(|one| format!("{}={}", one["type"].as_str().unwrap(), one["status"].as_str().unwrap()))
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_pod_succeeds_is_complete_and_its_pod_is_held_no_more() {
    let cluster = Cluster::new();
    cluster.job(0, &json!({}));

    cluster.pass(20 * SECOND).await;

    assert_eq!(cluster.conditions(), ["SuccessCriteriaMet=True", "Complete=True"]);
    let job = cluster.inside.get(&JOB, "a", "j").unwrap();
    assert_eq!((&job["status"]["succeeded"], &job["status"]["active"]), (&json!(1), &Value::Null));
    assert!(job["status"]["completionTime"].is_string());
    let pods = cluster.inside.all(&POD, "a");
    assert_eq!(pods.len(), 1);
    assert!(pods[0]["metadata"]["finalizers"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_pods_fail_backs_off_and_fails() {
    let cluster = Cluster::new();
    cluster.job(1, &json!({"backoffLimit": 1}));

    cluster.pass(10 * SECOND).await;
    assert_eq!((cluster.inside.all(&POD, "a").len(), cluster.conditions().len()), (1, 0));
    cluster.pass(30 * SECOND).await;

    assert_eq!(cluster.conditions(), ["FailureTarget=True", "Failed=True"]);
    assert_eq!(cluster.inside.all(&POD, "a").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_has_no_pods_and_a_resumed_one_starts_anew() {
    let cluster = Cluster::new();
    cluster.job(0, &json!({"suspend": true}));
    cluster.pass(10 * SECOND).await;
    assert_eq!(
        (cluster.conditions(), cluster.inside.all(&POD, "a").len()),
        (vec!["Suspended=True".to_owned()], 0)
    );

    let job = cluster.inside.get(&JOB, "a", "j").unwrap();
    cluster.inside.patch(&JOB, &job, json!({"spec": {"suspend": false}})).unwrap();
    cluster.pass(20 * SECOND).await;

    assert_eq!(cluster.conditions(), ["Suspended=False", "SuccessCriteriaMet=True", "Complete=True"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_job_made_goes_with_it() {
    let cluster = Cluster::new();
    cluster.job(0, &json!({"ttlSecondsAfterFinished": 10}));
    cluster.pass(12 * SECOND).await;
    assert_eq!((cluster.conditions().len(), cluster.inside.all(&POD, "a").len()), (2, 1));

    cluster.pass(30 * SECOND).await;

    assert!(cluster.inside.all(&POD, "a").is_empty() && cluster.inside.get(&JOB, "a", "j").is_none());
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_service_have_addresses_while_they_run() {
    let cluster = Cluster::new();
    let service = json!({"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "selector": {"app": "x"}}});
    cluster.inside.create(&SERVICE, "a", service).unwrap();
    let spec = json!({"hostname": "p", "subdomain": "s", "containers": [{"name": "c"}]});
    cluster
        .inside
        .create(&POD, "a", json!({"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": spec}))
        .unwrap();

    cluster.pass(10 * SECOND).await;
    let slice = cluster.inside.all(&ENDPOINT_SLICE, "a").remove(0);
    assert_eq!(
        (&slice["endpoints"][0]["hostname"], &slice["endpoints"][0]["conditions"]["ready"]),
        (&json!("p"), &json!(true))
    );
    let pod = cluster.inside.get(&POD, "a", "p").unwrap();
    cluster.inside.delete(&POD, &pod, Propagation::Background, None).unwrap();
    assert!(cluster.inside.get(&POD, "a", "p").is_some(), "its kubelet confirms its end");
    cluster.pass(10 * SECOND).await;

    assert!(cluster.inside.get(&POD, "a", "p").is_none());
    assert_eq!(cluster.inside.all(&ENDPOINT_SLICE, "a")[0]["endpoints"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_when_its_content_has_gone() {
    let cluster = Cluster::new();
    cluster.job(0, &json!({}));
    cluster.pass(3 * SECOND).await;
    let namespace = cluster.inside.get(&NAMESPACE, "", "a").unwrap();
    cluster.inside.delete(&NAMESPACE, &namespace, Propagation::Background, None).unwrap();
    let refused =
        cluster.inside.create(&POD, "a", json!({"metadata": {"name": "p"}, "spec": {"containers": []}}));
    assert_eq!(refused.unwrap_err().code, 403);

    cluster.pass(60 * SECOND).await;

    assert!(cluster.inside.get(&NAMESPACE, "", "a").is_none() && cluster.inside.all(&POD, "a").is_empty());
}
