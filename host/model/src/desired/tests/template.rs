//! What becomes of the user's template: his fields, gates, probes, and what a queue changes while he waits.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::jobs;
use crate::desired::{Desired, Gang, launcher};

fn rendered(edit: impl FnOnce(&mut Value)) -> Desired {
    let template = json!({"spec": {"containers": [{"image": "mpi-pi"}]}});
    let mut manifest = json!({
        "metadata": {"name": "pi", "namespace": "default", "annotations": {}},
        "spec": {"mpiReplicaSpecs": {
            "Launcher": {"template": template},
            "Worker": {"replicas": 2, "template": template},
        }},
    });
    edit(&mut manifest);
    jobs::render(&jobs::job(manifest), &jobs::granted(1, ""), &Gang::Off)
}

fn launcher_pod(desired: &Desired) -> &Value {
    &desired.launcher["spec"]["template"]["spec"]
}

#[test]
fn fields_of_kubernetes_versions_to_come_survive() {
    let desired = rendered(|job| {
        for role in ["Launcher", "Worker"] {
            let template = &mut job["spec"]["mpiReplicaSpecs"][role]["template"];
            template["metadata"]["annotations"] = json!({"mine": "kept"});
            template["spec"]["fieldOf2030"] = json!({"deep": [1, {"er": null}]});
            template["spec"]["containers"][0]["fieldOf2031"] = json!("kept");
        }
    });

    let worker = jobs::worker(&desired, 1);
    for (metadata, spec) in [
        (&worker["metadata"], &worker["spec"]),
        (&desired.launcher["spec"]["template"]["metadata"], launcher_pod(&desired)),
    ] {
        assert_eq!(metadata["annotations"]["mine"], "kept");
        assert_eq!(spec["fieldOf2030"], json!({"deep": [1, {"er": null}]}));
        assert_eq!(spec["containers"][0]["fieldOf2031"], "kept");
    }
}

#[test]
fn our_gate_comes_first_and_others_keep_their_places() {
    let gates = json!([{"name": "a"}, {"name": "b"}]);
    let with_gates = |job: &mut Value| {
        for role in ["Launcher", "Worker"] {
            job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["schedulingGates"] = gates.clone();
        }
    };

    let desired = rendered(with_gates);
    assert_eq!(
        launcher_pod(&desired)["schedulingGates"],
        json!([{"name": "coxswain.dev/workers"}, {"name": "a"}, {"name": "b"}])
    );
    assert_eq!(jobs::worker(&desired, 0)["spec"]["schedulingGates"], gates);

    let off = rendered(|job| {
        with_gates(job);
        job["metadata"]["annotations"] = json!({"coxswain.dev/start-gate": "none"});
    });
    assert_eq!(launcher_pod(&off)["schedulingGates"], gates);
}

#[test]
fn a_job_without_workers_has_no_gate() {
    let alone = rendered(|job| {
        job["spec"]["mpiReplicaSpecs"].as_object_mut().unwrap().remove("Worker");
    });

    assert_eq!(launcher_pod(&alone)["schedulingGates"], Value::Null);
    assert_eq!(alone.workers, []);
}

#[test]
fn an_ssh_probe_is_added_where_the_user_has_none() {
    let probed = |edit: fn(&mut Value)| {
        let desired = rendered(|job| {
            job["metadata"]["annotations"] = json!({"coxswain.dev/ssh-probe": "2222"});
            edit(&mut job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]);
        });
        assert_eq!(launcher_pod(&desired)["containers"][0]["readinessProbe"], Value::Null);
        jobs::worker(&desired, 0)["spec"]["containers"][0]["readinessProbe"].clone()
    };

    assert_eq!(probed(|_| ()), json!({"tcpSocket": {"port": 2222}, "periodSeconds": 5}));
    assert_eq!(probed(|container| container["readinessProbe"] = json!({"exec": {}})), json!({"exec": {}}));
}

#[test]
fn search_domains_of_the_user_come_first() {
    let desired = rendered(|job| {
        job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["dnsConfig"] =
            json!({"nameservers": ["10.0.0.1"], "searches": ["mine"]});
    });

    assert_eq!(
        jobs::worker(&desired, 0)["spec"]["dnsConfig"],
        json!({"nameservers": ["10.0.0.1"], "searches": ["mine", "pi.default.svc.cluster.local"]})
    );
}

#[test]
fn arguments_alone_are_a_command_of_the_image() {
    let desired = rendered(|job| {
        job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] =
            json!(["run"]);
    });

    assert_eq!(jobs::worker(&desired, 0)["spec"]["containers"][0]["command"], Value::Null);
}

#[test]
fn resuming_takes_over_what_a_queue_may_change_and_nothing_else() {
    let desired = rendered(|job| {
        let template = &mut job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"];
        template["metadata"] = json!({"labels": {"queue": "new"}, "annotations": {"flavor": "spot"}});
        template["spec"]["nodeSelector"] = json!({"zone": "b"});
        template["spec"]["tolerations"] = json!([{"key": "spot"}]);
        template["spec"]["containers"][0]["image"] = json!("changed");
    })
    .launcher;
    let current = json!({
        "metadata": {"name": "pi-launcher", "resourceVersion": "7"},
        "spec": {
            "suspend": true,
            "selector": {"x": "y"},
            "template": {
                "metadata": {"labels": {"queue": "old", "controller-uid": "1"}},
                "spec": {
                    "nodeSelector": {"zone": "a", "gone": "x"},
                    "schedulingGates": [{"name": "old"}],
                    "containers": [{"image": "first"}],
                },
            },
        },
    });

    let resumed = launcher::resumed(current, &desired);

    assert_eq!(
        resumed,
        json!({
            "metadata": {"name": "pi-launcher", "resourceVersion": "7"},
            "spec": {
                "suspend": false,
                "selector": {"x": "y"},
                "template": {
                    "metadata": {
                        "labels": {
                            "queue": "new",
                            "controller-uid": "1",
                            "training.kubeflow.org/operator-name": "mpi-operator",
                            "training.kubeflow.org/job-name": "pi",
                            "training.kubeflow.org/job-role": "launcher",
                        },
                        "annotations": {"flavor": "spot"},
                    },
                    "spec": {
                        "nodeSelector": {"zone": "b"},
                        "tolerations": [{"key": "spot"}],
                        "schedulingGates": [{"name": "coxswain.dev/workers"}],
                        "containers": [{"image": "first"}],
                    },
                },
            },
        })
    );
}

#[test]
fn what_the_template_no_longer_has_is_gone_after_resuming() {
    let desired = rendered(|job| {
        job["metadata"]["annotations"] = json!({"coxswain.dev/start-gate": "none"});
    })
    .launcher;
    let mut current = launcher::with_suspend(&desired);
    current["spec"]["template"]["spec"]["nodeSelector"] = json!({"zone": "a"});
    current["spec"]["template"]["spec"]["schedulingGates"] = json!([{"name": "old"}]);
    let mut expected = desired.clone();
    expected["spec"]["suspend"] = json!(false);

    assert_eq!(launcher::resumed(current, &desired), expected);
}
