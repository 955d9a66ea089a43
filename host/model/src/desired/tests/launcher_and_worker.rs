//! The three cases in which the MPI Operator's own tests compare launcher and worker.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::jobs;
use crate::desired::Gang;

fn template(manifest: &Value) -> &Value {
    &manifest["spec"]["template"]
}

/// With the start gate off, so that what is left is the MPI Operator's.
fn render(mut manifest: Value, index: u32, slots: u32) -> (Value, Value) {
    manifest["metadata"]["annotations"] = json!({"coxswain.dev/start-gate": "none"});
    let desired = jobs::render(&jobs::job(manifest), &jobs::granted(slots, ""), &Gang::Off);
    (desired.launcher.clone(), jobs::worker(&desired, index))
}

fn ssh_volume(job: &str, mode: Option<u32>) -> Value {
    let mut secret = json!({"secretName": format!("{job}-ssh"), "items": [
        {"key": "ssh-privatekey", "path": "id_rsa"},
        {"key": "ssh-publickey", "path": "id_rsa.pub"},
        {"key": "ssh-publickey", "path": "authorized_keys"},
    ]});
    if let Some(mode) = mode {
        secret["defaultMode"] = json!(mode);
    }
    json!({"name": "ssh-auth", "secret": secret})
}

fn config_volume(job: &str) -> Value {
    json!({"name": "mpi-job-config", "configMap": {"name": format!("{job}-config"), "items": [
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]}})
}

fn environment(before: &[Value], slots: u32, nvidia: bool) -> Value {
    let mut env = before.to_vec();
    env.extend([
        json!({"name": "K_MPI_JOB_ROLE", "value": "launcher"}),
        json!({"name": "OMPI_MCA_orte_keep_fqdn_hostnames", "value": "true"}),
        json!({"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"}),
        json!({"name": "OMPI_MCA_plm_rsh_args", "value": "-o ConnectionAttempts=10"}),
        json!({"name": "OMPI_MCA_orte_set_default_slots", "value": slots.to_string()}),
    ]);
    if nvidia {
        env.extend(
            ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"].map(|name| json!({"name": name})),
        );
    }
    Value::from(env)
}

fn labels(job: &str, role: &str, index: Option<&str>) -> Value {
    let mut labels = json!({
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": job,
        "training.kubeflow.org/job-role": role,
    });
    if let Some(index) = index {
        labels["training.kubeflow.org/replica-index"] = json!(index);
    }
    labels
}

fn foo(runs_ranks: bool) -> Value {
    json!({
        "metadata": {"name": "foo", "namespace": "bar"},
        "spec": {
            "runLauncherAsWorker": runs_ranks,
            "mpiReplicaSpecs": {
                "Launcher": {"template": {"spec": {"containers": [{}]}}},
                "Worker": {"replicas": 1, "template": {"spec": {"containers": [{}]}}},
            },
        },
    })
}

fn foo_launcher(nvidia: bool) -> Value {
    json!({
        "hostname": "foo-launcher",
        "subdomain": "foo",
        "restartPolicy": "OnFailure",
        "containers": [{
            "env": environment(&[], 1, nvidia),
            "volumeMounts": [
                {"name": "ssh-auth", "mountPath": "/root/.ssh"},
                {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
            ],
        }],
        "volumes": [ssh_volume("foo", Some(0o600)), config_volume("foo")],
    })
}

fn foo_worker() -> Value {
    json!({
        "hostname": "foo-worker-0",
        "subdomain": "foo",
        "restartPolicy": "Never",
        "dnsConfig": {"searches": ["foo.bar.svc.cluster.local"]},
        "containers": [{
            "command": ["/usr/sbin/sshd", "-De"],
            "env": [{"name": "K_MPI_JOB_ROLE", "value": "worker"}],
            "volumeMounts": [{"name": "ssh-auth", "mountPath": "/root/.ssh"}],
        }],
        "volumes": [ssh_volume("foo", Some(0o600))],
    })
}

#[test]
fn defaults() {
    let (launcher, worker) = render(foo(false), 0, 1);

    assert_eq!(launcher["metadata"]["labels"]["app"], "foo");
    assert_eq!(launcher["spec"]["podReplacementPolicy"], "Failed");
    assert_eq!(template(&launcher)["spec"], foo_launcher(true));
    assert_eq!(template(&launcher)["metadata"]["labels"], labels("foo", "launcher", None));
    assert_eq!(worker["spec"], foo_worker());
    assert_eq!(worker["metadata"]["labels"], labels("foo", "worker", Some("0")));
}

#[test]
fn launcher_as_worker() {
    let (launcher, worker) = render(foo(true), 0, 1);

    let mut spec = foo_launcher(false);
    spec["hostAliases"] = json!([{"ip": "127.0.0.1", "hostnames": ["foo-launcher.foo.bar.svc"]}]);
    assert_eq!(template(&launcher)["spec"], spec);
    assert_eq!(template(&launcher)["metadata"]["labels"], labels("foo", "launcher", Some("0")));
    assert_eq!(worker["spec"], foo_worker());
    assert_eq!(worker["metadata"]["labels"], labels("foo", "worker", Some("1")));
}

fn bar() -> Value {
    let foo = json!({"name": "FOO", "value": "bar"});
    json!({
        "metadata": {"name": "bar", "namespace": "foo"},
        "spec": {
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "slotsPerWorker": 5,
            "runPolicy": {"ttlSecondsAfterFinished": 1, "activeDeadlineSeconds": 2, "backoffLimit": 3},
            "mpiReplicaSpecs": {
                "Launcher": {
                    "restartPolicy": "OnFailure",
                    "template": {
                        "metadata": {"labels": {"foo": "bar"}, "finalizers": ["ignored"]},
                        "spec": {
                            "hostNetwork": true,
                            "dnsPolicy": "Default",
                            "containers": [{
                                "env": [foo],
                                "securityContext": {"runAsUser": 1000},
                                "volumeMounts": [{"name": "foo-vol", "mountPath": "/mnt/foo"}],
                            }, {}],
                            "volumes": [{"name": "foo-vol"}],
                        },
                    },
                },
                "Worker": {
                    "replicas": 13,
                    "template": {"spec": {
                        "hostNetwork": true,
                        "restartPolicy": "Always",
                        "containers": [{"command": ["/entrypoint.sh"], "env": [foo]}],
                    }},
                },
            },
        },
    })
}

#[test]
fn overrides() {
    let (launcher, worker) = render(bar(), 12, 5);

    let spec = launcher["spec"].as_object().unwrap();
    assert_eq!(
        (&spec["ttlSecondsAfterFinished"], &spec["activeDeadlineSeconds"], &spec["backoffLimit"]),
        (&json!(1), &json!(2), &json!(3))
    );
    let foo = json!({"name": "FOO", "value": "bar"});
    let mut launcher_labels = labels("bar", "launcher", None);
    launcher_labels["foo"] = json!("bar");
    assert_eq!(template(&launcher)["metadata"]["labels"], launcher_labels);
    assert_eq!(template(&launcher)["metadata"]["finalizers"], Value::Null);
    assert_eq!(
        template(&launcher)["spec"],
        json!({
            "hostNetwork": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "hostname": "bar-launcher",
            "subdomain": "bar",
            "restartPolicy": "OnFailure",
            "containers": [{
                "env": environment(std::slice::from_ref(&foo), 5, true),
                "securityContext": {"runAsUser": 1000},
                "volumeMounts": [
                    {"name": "foo-vol", "mountPath": "/mnt/foo"},
                    {"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"},
                    {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
                ],
            }, {}],
            "volumes": [{"name": "foo-vol"}, ssh_volume("bar", None), config_volume("bar")],
        })
    );
    assert_eq!(worker["metadata"]["labels"], labels("bar", "worker", Some("12")));
    assert_eq!(
        worker["spec"],
        json!({
            "hostNetwork": true,
            "dnsPolicy": "ClusterFirstWithHostNet",
            "hostname": "bar-worker-12",
            "subdomain": "bar",
            "restartPolicy": "Never",
            "dnsConfig": {"searches": ["bar.foo.svc.cluster.local"]},
            "containers": [{
                "command": ["/entrypoint.sh"],
                "env": [foo, {"name": "K_MPI_JOB_ROLE", "value": "worker"}],
                "volumeMounts": [{"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh"}],
            }],
            "volumes": [ssh_volume("bar", None)],
        })
    );
}
