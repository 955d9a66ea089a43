use std::collections::BTreeMap;

use coxswain_model::{
    api::{annotations, labels, resource, scheduling},
    kind,
    observed::PodPhase,
};
use serde_json::{Value, json};

use super::*;
use crate::named::Named;

fn row<W: Watched>(object: Value) -> Option<(JobKey, W::Row)> {
    serde_json::from_value::<W>(object).unwrap().row()
}

fn pod(name: &str, role: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "uid": "u",
            "resourceVersion": "7",
            "labels": {labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: role},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "x"},
                {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "pi", "uid": "j", "controller": true},
            ],
            "managedFields": [{"manager": "x", "fieldsV1": {"f:metadata": {}}}],
        },
        "spec": {"containers": [{"name": "a", "image": "b"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

#[test]
fn a_worker_is_known_by_its_name_and_a_stranger_is_not() {
    let (job, worker) = row::<DecodedPod>(pod("pi-worker-3", "worker")).unwrap();

    assert_eq!(job, JobKey::new("team-a", "pi"));
    assert_eq!((worker.role, worker.index, &*worker.name), (kind::WORKER, 3, ""));
    assert_eq!((worker.phase, worker.ready), (PodPhase::Running, true));
    assert_eq!(worker.controller, Some(Uid::from("j")));
    for name in ["pi-worker-03", "pi-worker-", "pi-worker-+3", "other-worker-3", "pi-worker-3x"] {
        assert!(row::<DecodedPod>(pod(name, "worker")).is_none(), "{name}");
    }
}

#[test]
fn the_gate_of_a_launcher_is_found_among_others() {
    let mut launcher = pod("pi-launcher-x7f2k", "launcher");
    launcher["spec"]["schedulingGates"] = json!([{"name": "a/b"}, {"name": scheduling::GATE_WORKERS}]);

    let (_, launcher) = row::<DecodedPod>(launcher).unwrap();

    assert_eq!(
        (launcher.role, &*launcher.name, launcher.gate),
        (kind::LAUNCHER, "pi-launcher-x7f2k", Some(1))
    );
}

#[test]
fn a_launcher_that_was_restarted_in_place_says_when_its_last_attempt_began() {
    let mut launcher = pod("pi-launcher-x7f2k", "launcher");
    launcher["status"]["containerStatuses"] = json!([{
        "restartCount": 1,
        "state": {"running": {"startedAt": "2026-01-01T00:00:20Z"}},
        "lastState": {"terminated": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:10Z"}},
    }]);

    let (_, launcher) = row::<DecodedPod>(launcher).unwrap();

    assert_eq!(launcher.attempt.unwrap().to_string(), "2026-01-01T00:00:20Z");
}

#[test]
fn an_evicted_pod_says_why() {
    let mut evicted = pod("pi-worker-0", "worker");
    evicted["status"] =
        json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on disk"});

    let (_, evicted) = row::<DecodedPod>(evicted).unwrap();

    assert_eq!(evicted.failure.unwrap().reason, "Evicted");
}

#[test]
fn a_launcher_job_tells_how_it_ended() {
    let object = json!({
        "metadata": {"name": "pi-launcher", "namespace": "team-a", "uid": "l", "resourceVersion": "9",
            "labels": {labels::LABEL_JOB: "pi"}, "annotations": {annotations::ANNOTATION_PIN: "{}"}},
        "spec": {"suspend": false},
        "status": {"startTime": "2026-01-01T00:00:00Z", "failed": 2, "conditions": [
            {"type": "FailureTarget", "status": "True"},
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "m"},
        ]},
    });

    let (_, launcher) = row::<DecodedJob>(object).unwrap();

    let Named { observed, name } = launcher;
    let end = observed.end.unwrap();
    assert_eq!(
        (&*name, observed.started, observed.failed, observed.suspended),
        ("pi-launcher", true, 2, false)
    );
    assert_eq!((end.complete, end.reason.as_str(), end.time), (false, "BackoffLimitExceeded", None));
    assert_eq!(observed.pin.as_deref(), Some("{}"));
}

#[test]
fn the_files_belong_to_their_owner_although_it_is_no_controller() {
    let object = json!({"metadata": {"name": "pi-files", "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"},
        "ownerReferences": [{"apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": "pi", "uid": "j"}]}});

    let (_, files) = row::<DecodedConfigMap>(object).unwrap();

    assert!(files.observed.object.is_controlled_by(&Uid::from("j")));
}

#[test]
fn a_service_with_another_selector_is_told_from_ours() {
    let service = |selector: Value| {
        row::<DecodedService>(json!({
            "metadata": {"name": "pi", "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"}},
            "spec": {"selector": selector, "publishNotReadyAddresses": true},
        }))
        .unwrap()
        .1
        .observed
    };
    let ours = json!({labels::LABEL_OPERATOR_NAME: "mpi-operator", labels::LABEL_JOB_NAME: "pi"});
    let mut more = ours.clone();
    more["x"] = "y".into();

    assert!(service(ours).selects_job);
    assert_eq!(service(more).extra_selectors, [Box::from("x")]);
    assert!(!service(Value::Null).selects_job);
}

#[test]
fn a_pod_group_is_found_by_its_controller() {
    let group = |kind: &str| {
        row::<DecodedVolcanoPodGroup>(json!({
            "metadata": {"name": "pi", "namespace": "team-a", "ownerReferences": [
                {"apiVersion": resource::API_VERSION, "kind": kind, "name": "pi", "uid": "j", "controller": true}]},
            "spec": {"minMember": 3, "minResources": {"cpu": "2"}},
        }))
    };

    let (job, ours) = group("MPIJob").unwrap();

    assert_eq!((job, ours.observed.resources), (JobKey::new("team-a", "pi"), vec![Box::from("cpu")]));
    assert!(group("Job").is_none());
}

#[test]
fn a_slice_publishes_the_pods_that_dns_answers_for() {
    let endpoint = |uid: &str, hostname: Option<&str>, ready: Option<bool>| {
        json!({
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": ready},
            "hostname": hostname,
            "targetRef": {"kind": "Pod", "uid": uid},
        })
    };
    let mut without_address = endpoint("no-address", Some("pi-worker-4"), Some(true));
    without_address["addresses"] = json!([]);
    let slice = json!({
        "metadata": {"name": "pi-x7f2k", "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"}},
        "addressType": "IPv4",
        "endpoints": [
            endpoint("ready", Some("pi-worker-0"), Some(true)),
            endpoint("silent", Some("pi-worker-1"), None),
            endpoint("not-ready", Some("pi-worker-2"), Some(false)),
            endpoint("launcher", None, Some(true)),
            without_address,
        ],
    });

    let (job, slice) = row::<DecodedEndpointSlice>(slice).unwrap();

    assert_eq!(job, JobKey::new("team-a", "pi"));
    assert_eq!(*slice.observed.pods, [Uid::from("ready"), Uid::from("silent")]);
    let empty = json!({
        "metadata": {"name": "pi-x", "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"}},
        "endpoints": null,
    });
    assert!(row::<DecodedEndpointSlice>(empty).unwrap().1.observed.pods.is_empty());
}

#[test]
fn of_what_a_tenant_writes_little_is_kept_however_long_it_is() {
    let long = "x".repeat(200 << 10);
    let annotations = json!({annotations::ANNOTATION_PIN: long, annotations::ANNOTATION_CONTENT: long});
    let owner = json!({"apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": "pi", "uid": long, "controller": true});
    let metadata = json!({"name": "pi-config", "namespace": "team-a", "labels": {labels::LABEL_JOB: "pi"},
        "annotations": annotations, "ownerReferences": [owner]});

    let (_, config) = row::<DecodedConfigMap>(json!({"metadata": metadata})).unwrap();
    let (_, launcher) = row::<DecodedJob>(json!({"metadata": metadata})).unwrap();
    let many: BTreeMap<String, &str> = (0..10_000).map(|n| (format!("example.com/{n}"), "1")).collect();
    let (_, service) =
        row::<DecodedService>(json!({"metadata": metadata, "spec": {"selector": many}})).unwrap();
    let (_, group) =
        row::<DecodedVolcanoPodGroup>(json!({"metadata": metadata, "spec": {"minResources": many}})).unwrap();

    for kept in [format!("{config:?}"), format!("{launcher:?}"), format!("{service:?}"), format!("{group:?}")]
    {
        assert!(kept.len() < 2048, "{} bytes: {}", kept.len(), &kept[..500]);
    }
    assert!(config.observed.pin.is_some(), "that there is one is known");
}

#[test]
fn what_keeps_a_pod_from_being_ready_is_kept_in_kubernetes_words() {
    let blocker = |status: Value| {
        let mut waits = pod("pi-worker-3", "worker");
        waits["status"] = status;
        let (_, row) = row::<DecodedPod>(waits).unwrap();
        row.blocker.map(|blocker| (blocker.reason.to_string(), blocker.message.to_string()))
    };
    let said = |reason: &str, message: &str| Some((reason.to_owned(), message.to_owned()));
    let unscheduled =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"});
    let waiting =
        |reason: &str| json!([{"state": {"waiting": {"reason": reason, "message": "no such image"}}}]);

    assert_eq!(
        blocker(json!({"phase": "Pending", "conditions": [unscheduled]})),
        said("Unschedulable", "0/4 nodes")
    );
    assert_eq!(
        blocker(json!({"phase": "Pending", "initContainerStatuses": waiting("ImagePullBackOff")})),
        said("ImagePullBackOff", "no such image")
    );
    assert_eq!(blocker(json!({"phase": "Pending", "containerStatuses": waiting("ContainerCreating")})), None);
    // What is Ready is not held back, and what has ended says why elsewhere.
    let ready = json!({"type": "Ready", "status": "True"});
    assert_eq!(blocker(json!({"phase": "Running", "conditions": [ready, unscheduled]})), None);
    assert_eq!(blocker(json!({"phase": "Failed", "conditions": [unscheduled]})), None);
}

#[test]
fn a_pod_stays_its_owners_whatever_is_written_into_its_labels() {
    let keyed = |mut changed: Value, labels: Value| {
        changed["metadata"]["labels"] = labels;
        row::<DecodedPod>(changed).map(|(job, row)| (job.name.to_string(), row.role, row.index))
    };
    let launcher = || {
        let mut launcher = pod("pi-launcher-x7f2k", "launcher");
        launcher["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "pi-launcher", "uid": "l", "controller": true}]);
        launcher
    };

    for labels in [json!(null), json!({labels::LABEL_JOB_NAME: "other", labels::LABEL_JOB_ROLE: "launcher"})]
    {
        assert_eq!(
            keyed(pod("pi-worker-3", "worker"), labels.clone()),
            Some(("pi".to_owned(), kind::WORKER, 3))
        );
        assert_eq!(keyed(launcher(), labels), Some(("pi".to_owned(), kind::LAUNCHER, 0)));
    }
    // Nobody's, under our labels: what it is in the way of is found by them.
    let mut nobodys = pod("pi-worker-3", "worker");
    nobodys["metadata"]["ownerReferences"] = json!([]);
    let (job, row) = row::<DecodedPod>(nobodys).unwrap();
    assert_eq!((&*job.name, row.role, row.controller), ("pi", kind::WORKER, None));
}
