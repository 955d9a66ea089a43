//! The job `pi` in `default`, object by object.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::jobs::{self, file, variable};
use crate::{
    desired::{self, Gang, launcher, secret},
    kind::{MPI_JOB, WORKER},
    observed::{ObservedObject, ObservedSecret, ObservedState},
    plan::{EnvValue, Place, PodField, Port},
    policy::Grant,
};

fn manifest() -> Value {
    let container = json!({"name": "mpi", "image": "mpi-pi", "securityContext": {"runAsUser": 1000}});
    json!({
        "metadata": {"name": "pi", "namespace": "default"},
        "spec": {
            "slotsPerWorker": 1,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
                "Worker": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
            },
        },
    })
}

fn granted() -> crate::policy::Granted {
    jobs::granted(1, "pi-worker-0.pi.default.svc slots=1\npi-worker-1.pi.default.svc slots=1\n")
}

fn rendered() -> desired::Desired {
    jobs::render(&jobs::job(manifest()), &granted(), &Gang::Off)
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name,
        "namespace": "default",
        "labels": {"app": "pi", "coxswain.dev/job": "pi"},
        "ownerReferences": [jobs::owner("pi")],
    })
}

fn ssh_volume() -> Value {
    json!({"name": "ssh-auth", "secret": {"secretName": "pi-ssh", "items": [
        {"key": "ssh-privatekey", "path": "id_rsa"},
        {"key": "ssh-publickey", "path": "id_rsa.pub"},
        {"key": "ssh-publickey", "path": "authorized_keys"},
    ]}})
}

#[test]
fn the_service_selects_all_pods_of_the_job() {
    assert_eq!(
        rendered().service,
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata("pi"),
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": true,
                "selector": {
                    "training.kubeflow.org/operator-name": "mpi-operator",
                    "training.kubeflow.org/job-name": "pi",
                },
            },
        })
    );
}

#[test]
fn the_config_map_carries_content_and_pin() {
    let config = rendered().config;

    let mut expected = metadata("pi-config");
    expected["annotations"] = json!({
        "coxswain.dev/content": desired::content(&config).unwrap(),
        "coxswain.dev/pin": jobs::pin().to_annotation(),
    });
    assert_eq!(
        config,
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": expected,
            "data": {
                "hostfile": "pi-worker-0.pi.default.svc slots=1\npi-worker-1.pi.default.svc slots=1\n",
                "discover_hosts.sh": "#!/bin/sh\n",
            },
        })
    );
    assert_eq!(desired::content(&config).unwrap().len(), 64);
}

#[test]
fn the_content_digest_follows_the_content_alone() {
    let job = jobs::job(manifest());
    let digest = |granted: &crate::policy::Granted| {
        let config = jobs::render(&job, granted, &Gang::Off).config;
        desired::content(&config).unwrap().to_owned()
    };
    let mut reversed = granted();
    reversed.job_files.reverse();
    let mut changed = granted();
    changed.job_files[1].content.push_str("echo pi-worker-1.pi.default.svc\n");

    assert_eq!(digest(&granted()), digest(&reversed));
    assert_ne!(digest(&granted()), digest(&changed));
}

#[test]
fn the_secret_gets_its_keys_when_it_is_written() {
    let bare = rendered().secret;
    let keys =
        secret::KeyPair { private_pem: "PEM\n".into(), public_line: "ecdsa-sha2-nistp521 AA\n".into() };

    assert_eq!(
        bare,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("pi-ssh"), "type": "kubernetes.io/ssh-auth"})
    );
    assert_eq!(
        secret::with_keys(&bare, &keys)["data"],
        json!({"ssh-privatekey": "UEVNCg==", "ssh-publickey": "ZWNkc2Etc2hhMi1uaXN0cDUyMSBBQQo="})
    );
    assert!(!format!("{keys:?}").contains("PEM"));
}

#[test]
fn the_known_hosts_are_written_only_where_the_job_asks_for_them_and_never_later() {
    let keys = secret::KeyPair { private_pem: "PEM\n".into(), public_line: "ecdsa AA\n".into() };
    let job = jobs::job(manifest());
    let ours = ObservedObject { controller: Some(job.uid().clone()), ..ObservedObject::default() };
    let observed = |has_known_hosts| {
        let object = ours.clone();
        ObservedState { secret: Some(ObservedSecret { object, has_known_hosts }), ..ObservedState::default() }
    };
    let (without, with) = (observed(false), observed(true));
    assert!(!secret::lacks_known_hosts(&job, &without), "it does not ask");

    let mut asking = manifest();
    asking["metadata"]["annotations"] = json!({"coxswain.dev/ssh-host-keys": "job"});
    let job = jobs::job(asking);
    let manifest = jobs::render(&job, &granted(), &Gang::Off).secret;

    assert_eq!(manifest["metadata"]["annotations"], json!({"coxswain.dev/ssh-host-keys": "job"}));
    assert_eq!(
        secret::with_keys(&manifest, &keys)["data"]["ssh-knownhosts"],
        "KiBlY2RzYSBBQQo=",
        "* ecdsa AA"
    );
    assert!(secret::lacks_known_hosts(&job, &without));
    assert!(!secret::lacks_known_hosts(&job, &with));
    assert!(!secret::lacks_known_hosts(&job, &ObservedState::default()), "it will be made");
}

#[test]
fn a_worker_runs_sshd_and_finds_its_launcher() {
    assert_eq!(
        jobs::worker(&rendered(), 0),
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "pi-worker-0",
                "namespace": "default",
                "ownerReferences": [jobs::owner("pi")],
                "labels": {
                    "training.kubeflow.org/operator-name": "mpi-operator",
                    "training.kubeflow.org/job-name": "pi",
                    "training.kubeflow.org/job-role": "worker",
                    "training.kubeflow.org/replica-index": "0",
                },
            },
            "spec": {
                "hostname": "pi-worker-0",
                "subdomain": "pi",
                "restartPolicy": "Never",
                "dnsConfig": {"searches": ["pi.default.svc.cluster.local"]},
                "containers": [{
                    "name": "mpi",
                    "image": "mpi-pi",
                    "securityContext": {"runAsUser": 1000},
                    "command": ["/usr/sbin/sshd", "-De"],
                    "env": [{"name": "K_MPI_JOB_ROLE", "value": "worker"}],
                    "volumeMounts": [{"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"}],
                }],
                "volumes": [ssh_volume()],
            },
        })
    );
}

#[test]
fn the_launcher_waits_at_our_gate_and_carries_the_pin() {
    let mut expected = metadata("pi-launcher");
    expected["annotations"] = json!({"coxswain.dev/pin": jobs::pin().to_annotation()});
    assert_eq!(
        rendered().launcher,
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": expected,
            "spec": {
                "podReplacementPolicy": "Failed",
                "template": {
                    "metadata": {
                        "ownerReferences": [jobs::owner("pi")],
                        "labels": {
                            "training.kubeflow.org/operator-name": "mpi-operator",
                            "training.kubeflow.org/job-name": "pi",
                            "training.kubeflow.org/job-role": "launcher",
                        },
                    },
                    "spec": {
                        "hostname": "pi-launcher",
                        "subdomain": "pi",
                        "restartPolicy": "OnFailure",
                        "schedulingGates": [{"name": "coxswain.dev/workers"}],
                        "containers": [{
                            "name": "mpi",
                            "image": "mpi-pi",
                            "securityContext": {"runAsUser": 1000},
                            "env": [
                                {"name": "K_MPI_JOB_ROLE", "value": "launcher"},
                                {"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "true"},
                                {"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"},
                                {"name": "OMPI_MCA_plm_rsh_args", "value": "-o ConnectionAttempts=10"},
                                {"name": "OMPI_MCA_orte_set_default_slots", "value": "1"},
                                {"name": "NVIDIA_VISIBLE_DEVICES"},
                                {"name": "NVIDIA_DRIVER_CAPABILITIES"},
                            ],
                            "volumeMounts": [
                                {"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"},
                                {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
                            ],
                        }],
                        "volumes": [ssh_volume(), {
                            "name": "mpi-job-config",
                            "configMap": {"name": "pi-config", "items": [
                                {"key": "hostfile", "path": "hostfile", "mode": 0o444},
                                {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
                            ]},
                        }],
                    },
                },
            },
        })
    );
}

#[test]
fn a_suspended_job_differs_by_suspend_alone() {
    let mut expected = rendered().launcher;
    expected["spec"]["suspend"] = json!(true);

    assert_eq!(launcher::with_suspend(&rendered().launcher), expected);
}

#[test]
fn files_for_every_pod_are_mounted_where_programs_look() {
    let mut granted = granted();
    granted.everywhere = vec![
        file("nccl.conf", Place::Everywhere("nccl-conf".into()), "NCCL_DEBUG=INFO\n"),
        file("ucx.conf", Place::Everywhere("ucx-conf".into()), "UCX_TLS=rc\n"),
    ];

    let desired = jobs::render(&jobs::job(manifest()), &granted, &Gang::Off);
    let files = desired.files.clone().unwrap();
    let worker = &jobs::worker(&desired, 1)["spec"];
    let launcher = &desired.launcher["spec"]["template"]["spec"];

    assert_eq!(files["immutable"], true);
    assert_eq!(files["data"], json!({"nccl-conf": "NCCL_DEBUG=INFO\n", "ucx-conf": "UCX_TLS=rc\n"}));
    assert_eq!(files["metadata"]["name"], "pi-files");
    assert_eq!(files["metadata"]["ownerReferences"][0]["controller"], Value::Null);
    assert_eq!(
        worker["volumes"][1],
        json!({"name": "coxswain-files", "configMap": {"name": "pi-files", "items": [
            {"key": "nccl-conf", "path": "nccl-conf", "mode": 0o444},
            {"key": "ucx-conf", "path": "ucx-conf", "mode": 0o444},
        ]}})
    );
    assert_eq!(launcher["volumes"][2], worker["volumes"][1]);
    for mounts in [&worker["containers"][0]["volumeMounts"], &launcher["containers"][0]["volumeMounts"]] {
        assert!(mounts.as_array().unwrap().contains(&json!({
            "name": "coxswain-files", "mountPath": "/etc/nccl.conf", "subPath": "nccl-conf", "readOnly": true,
        })));
    }
    let env = worker["containers"][0]["env"].as_array().unwrap();
    assert!(env.contains(&json!({"name": "UCX_CONFIG_DIR", "value": "/etc/ucx"})));
}

#[test]
fn what_the_user_set_or_mounted_himself_stays_his() {
    let mut manifest = manifest();
    let container = &mut manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0];
    container["env"] = json!([{"name": "KEPT", "value": "mine"}, {"name": "FORCED", "value": "mine"}]);
    container["ports"] = json!([{"containerPort": 9000}]);
    container["volumeMounts"] =
        json!([{"name": "m", "mountPath": "/dev/shm"}, {"name": "n", "mountPath": "/etc/nccl.conf"}]);
    let mut granted = granted();
    let mut env = vec![variable("KEPT", "ours", false), variable("FORCED", "ours", true)];
    env.push(variable("RANK", "", false));
    env[2].value = EnvValue::Field(PodField::ReplicaIndex);
    let ports = vec![Port { name: "a".into(), number: 9000 }, Port { name: "b".into(), number: 9001 }];
    granted.groups.push((MPI_JOB.role(WORKER), Grant { env, ports }));
    granted.shared_memory = Some("1Gi".into());
    granted.everywhere = vec![file("nccl.conf", Place::Everywhere("nccl-conf".into()), "")];

    let worker = jobs::worker(&jobs::render(&jobs::job(manifest), &granted, &Gang::Off), 0);
    let container = &worker["spec"]["containers"][0];

    assert_eq!(
        container["env"],
        json!([
            {"name": "KEPT", "value": "mine"},
            {"name": "FORCED", "value": "mine"},
            {"name": "K_MPI_JOB_ROLE", "value": "worker"},
            {"name": "FORCED", "value": "ours"},
            {"name": "RANK", "valueFrom": {"fieldRef": {
                "fieldPath": "metadata.labels['training.kubeflow.org/replica-index']",
            }}},
        ])
    );
    assert_eq!(
        container["ports"],
        json!([{"containerPort": 9000}, {"name": "b", "containerPort": 9001, "protocol": "TCP"}])
    );
    assert_eq!(worker["spec"]["volumes"], json!([ssh_volume()]));
}

#[test]
fn capabilities_go_to_the_pods_that_run_ranks() {
    let mut granted = granted();
    granted.shared_memory = Some("8Gi".into());
    granted.lock_memory = true;

    let desired = jobs::render(&jobs::job(manifest()), &granted, &Gang::Off);
    let worker = jobs::worker(&desired, 0);

    assert_eq!(
        worker["spec"]["volumes"][1],
        json!({"name": "coxswain-shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}})
    );
    assert_eq!(
        worker["spec"]["containers"][0]["securityContext"],
        json!({"runAsUser": 1000, "capabilities": {"add": ["IPC_LOCK"]}})
    );
    let launcher = desired.launcher.to_string();
    assert!(!launcher.contains("IPC_LOCK") && !launcher.contains("/dev/shm"), "{launcher}");
}

#[test]
fn a_rendered_command_replaces_the_users_and_a_prefix_goes_before_either() {
    let mut manifest = manifest();
    let container = &mut manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0];
    container["command"] = json!(["mpirun"]);
    container["args"] = json!(["-n", "2", "/home/mpiuser/pi"]);
    let job = jobs::job(manifest);
    let launcher = |granted: &crate::policy::Granted| {
        let job = jobs::render(&job, granted, &Gang::Off).launcher;
        let container = job["spec"]["template"]["spec"]["containers"][0].clone();
        (container["command"].clone(), container["args"].clone())
    };
    let mut wrapped = granted();
    wrapped.prefix_command = vec!["nsys".into(), "profile".into()];
    let mut rendered = wrapped.clone();
    rendered.launch_command = Some(vec!["mpirun".into(), "pi".into()]);

    assert_eq!(
        launcher(&wrapped),
        (json!(["nsys", "profile", "mpirun"]), json!(["-n", "2", "/home/mpiuser/pi"]))
    );
    assert_eq!(launcher(&rendered), (json!(["nsys", "profile", "mpirun", "pi"]), Value::Null));
}
