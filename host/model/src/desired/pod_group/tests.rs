use pretty_assertions::assert_eq;

use super::*;
use crate::{
    desired::launcher,
    job::{ValidJob, Verdict},
};

fn template(class: &str, requests: &[(&str, &str)]) -> Value {
    let containers: Vec<Value> = requests
        .iter()
        .map(|(cpu, memory)| json!({"resources": {"requests": {"cpu": cpu, "memory": memory}}}))
        .collect();
    json!({"spec": {"priorityClassName": class, "containers": containers}})
}

/// A job `test` with these two templates, workers absent at 0.
fn job(launcher: &Value, workers: u32, worker: &Value, policy: &Value) -> ValidJob {
    job_created("AtStartup", launcher, workers, worker, policy)
}

/// The same with a `launcherCreationPolicy`.
fn job_created(creation: &str, launcher: &Value, workers: u32, worker: &Value, policy: &Value) -> ValidJob {
    let mut raw = json!({
        "metadata": {
            "name": "test",
            "namespace": "default",
            "annotations": {"scheduling.volcano.sh/queue-name": "project-x"},
        },
        "spec": {
            "launcherCreationPolicy": creation,
            "runPolicy": {"schedulingPolicy": policy},
            "mpiReplicaSpecs": {
                "Launcher": {"template": launcher},
                "Worker": {"replicas": workers, "template": worker},
            },
        },
    });
    if workers == 0 {
        raw["spec"]["mpiReplicaSpecs"].as_object_mut().unwrap().remove("Worker");
    }
    match ValidJob::parse(&serde_json::from_value(raw).unwrap(), None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn spec(job: &ValidJob, gang: &Gang, priorities: &[(&str, i32)]) -> Value {
    let priorities = priorities.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    manifest(job, alone(gang), &priorities).unwrap().1["spec"].clone()
}

fn alone(gang: &Gang) -> Membership<'_> {
    Membership { gang, native: None }
}

fn coscheduling() -> Gang {
    Gang::SchedulerPlugins("scheduler-plugins-scheduler".into())
}

fn resources(job: &ValidJob, priorities: &[(&str, i32)]) -> Value {
    spec(job, &coscheduling(), priorities)["minResources"].clone()
}

#[test]
fn what_the_policy_sets_is_taken_as_it_is() {
    let minimum = json!({"cpu": "100", "memory": "512Gi", "example.com/gpu": 40});
    let policy = json!({
        "minAvailable": 2,
        "queue": "project-y",
        "priorityClass": "high",
        "minResources": minimum,
        "scheduleTimeoutSeconds": 100,
    });
    let job = job(&template("", &[("1", "2Gi")]), 1000, &template("", &[("10", "20Gi")]), &policy);

    assert_eq!(
        spec(&job, &Gang::Volcano, &[]),
        json!({"minMember": 2, "queue": "project-y", "priorityClassName": "high", "minResources": minimum})
    );
    assert_eq!(
        spec(&job, &coscheduling(), &[]),
        json!({"minMember": 2, "scheduleTimeoutSeconds": 100, "minResources": minimum})
    );
}

#[test]
fn without_a_policy_all_pods_are_the_gang() {
    let job = job(&template("high", &[("1", "2Gi")]), 2, &template("", &[("10", "20Gi")]), &Value::Null);
    let minimum = json!({"cpu": "21", "memory": "42Gi"});

    assert_eq!(
        spec(&job, &Gang::Volcano, &[]),
        json!({"minMember": 3, "queue": "project-x", "priorityClassName": "high", "minResources": minimum})
    );
    assert_eq!(
        spec(&job, &coscheduling(), &[]),
        json!({"minMember": 3, "scheduleTimeoutSeconds": 0, "minResources": minimum})
    );
}

#[test]
fn a_group_belongs_to_the_job_and_tells_its_content() {
    let job = job(&template("", &[("1", "2Gi")]), 0, &Value::Null, &json!({"minAvailable": 1}));

    let (kind, group) = manifest(&job, alone(&Gang::Volcano), &Priorities::new()).unwrap();

    assert_eq!(kind, Kind::VolcanoPodGroup);
    assert_eq!(group["apiVersion"], "scheduling.volcano.sh/v1beta1");
    assert_eq!(group["metadata"]["name"], "test");
    assert_eq!(group["metadata"]["ownerReferences"], json!([owned::controller(&job)]));
    assert_eq!(group["spec"]["minResources"], json!({"cpu": "1", "memory": "2Gi"}));
    let (_, other) = manifest(&job, alone(&coscheduling()), &Priorities::new()).unwrap();
    assert_ne!(super::super::content(&group).unwrap(), super::super::content(&other).unwrap());
    assert_eq!(manifest(&job, alone(&Gang::Off), &Priorities::new()), None);
}

#[test]
fn the_priority_class_is_the_policys_then_the_launchers_then_the_workers() {
    let class = |policy: &str, launcher: &str, worker: &str| {
        let policy = json!({"priorityClass": policy});
        let job = job(&template(launcher, &[("1", "1")]), 1, &template(worker, &[("1", "1")]), &policy);
        priority_class(&job).to_owned()
    };

    assert_eq!(class("high", "", ""), "high");
    assert_eq!(class("", "high", "low"), "high");
    assert_eq!(class("", "", "low"), "low");
    assert_eq!(class("", "", ""), "");
}

#[test]
fn a_group_of_nobody_needs_nothing() {
    for none in [0, -1] {
        let policy = json!({"minAvailable": none});
        let job = job(&template("", &[("1", "2Gi")]), 0, &Value::Null, &policy);

        assert_eq!(spec(&job, &Gang::Volcano, &[]), json!({"minMember": 0, "queue": "project-x"}), "{none}");
    }
}

#[test]
fn every_container_counts() {
    let worker = template("", &[("10", "32Gi"), ("50", "512Gi")]);
    let job = job(&template("", &[("2", "1Gi")]), 2, &worker, &Value::Null);

    assert_eq!(resources(&job, &[]), json!({"cpu": "122", "memory": "1089Gi"}));
}

#[test]
fn among_equals_the_launcher_is_placed_first() {
    let unknown = |requests| template("non-existence", requests);
    let policy = json!({"minAvailable": 2});
    let job = job(&unknown(&[("2", "2Gi")]), 2, &unknown(&[("5", "16Gi")]), &policy);

    assert_eq!(resources(&job, &[]), json!({"cpu": "7", "memory": "18Gi"}));
}

#[test]
fn the_higher_priority_is_placed_first() {
    let (launcher, worker) = (template("high", &[("2", "4Gi")]), template("low", &[("20", "64Gi")]));
    let job = job(&launcher, 100, &worker, &json!({"minAvailable": 2}));

    assert_eq!(
        resources(&job, &[("high", 100_010), ("low", 10_010)]),
        json!({"cpu": "22", "memory": "68Gi"})
    );
    assert_eq!(resources(&job, &[("high", 1), ("low", 2)]), json!({"cpu": "40", "memory": "128Gi"}));
}

#[test]
fn requests_count_before_limits() {
    let mut both = template("", &[("10", "16Gi")]);
    both["spec"]["containers"][0]["resources"]["limits"] =
        json!({"example.com/gpu": 8, "cpu": "20", "memory": "32Gi"});
    let job = job(&both, 0, &Value::Null, &Value::Null);

    assert_eq!(resources(&job, &[]), json!({"cpu": "10", "memory": "16Gi", "example.com/gpu": "8"}));
}

#[test]
fn a_launcher_that_comes_later_is_not_waited_for() {
    let pod = template("", &[("1", "1")]);
    let job = |creation: &str, policy: &Value| job_created(creation, &pod, 99, &pod, policy);

    let at_startup = job("AtStartup", &Value::Null);
    assert_eq!(min_member(&at_startup), 100);
    assert!(!launcher::gated(&at_startup, &Gang::Volcano), "gang and gate would wait for each other");
    assert!(launcher::gated(&at_startup, &Gang::Off));

    let later = job("WaitForWorkersReady", &Value::Null);
    assert_eq!(min_member(&later), 99);
    assert!(launcher::gated(&later, &Gang::Volcano));

    let of_all = job("WaitForWorkersReady", &json!({"minAvailable": 100}));
    assert!(!launcher::gated(&of_all, &Gang::Volcano));
}

#[test]
fn pods_join_the_group_as_their_scheduler_asks() {
    let job = job(&template("", &[("1", "1")]), 1, &template("", &[("1", "1")]), &Value::Null);
    let joined = |gang: &Gang| {
        let mut pod = Pod::of(&job, job.driver());
        join(&mut pod, &job, gang);
        pod
    };

    let volcano = joined(&Gang::Volcano);
    assert_eq!(volcano.metadata["annotations"], json!({"scheduling.k8s.io/group-name": "test"}));
    assert_eq!(volcano.spec["schedulerName"], "volcano");
    let plugins = joined(&coscheduling());
    assert_eq!(plugins.metadata["labels"]["scheduling.x-k8s.io/pod-group"], "test");
    assert_eq!(plugins.spec["schedulerName"], "scheduler-plugins-scheduler");
}
