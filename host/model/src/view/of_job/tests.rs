use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::{
    job::Verdict,
    kind::{LAUNCHER, RoleId, WORKER},
    observed::{ObservedLauncher, ObservedObject, Uid},
};

fn job(edit: impl FnOnce(&mut Value)) -> ValidJob {
    let container = json!({
        "image": "mpi-pi",
        "command": ["mpirun"],
        "args": ["-n", "2", "pi"],
        "env": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "C", "valueFrom": {"secretKeyRef": {}}}],
        "resources": {
            "limits": {"cpu": "1500m", "nvidia.com/gpu": 8, "hugepages-2Mi": "1Gi"},
            "requests": {"cpu": "1", "memory": "2Gi", "rdma/hca": "1"},
        },
    });
    let template = json!({
        "metadata": {"annotations": {"z": "1", "a": "2"}},
        "spec": {
            "hostNetwork": true,
            "securityContext": {"runAsUser": 1000},
            "resourceClaims": [{"name": "net", "resourceClaimTemplateName": "dranet"}],
            "containers": [container],
        },
    });
    let mut raw = json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "u-1", "annotations": {}},
        "spec": {
            "slotsPerWorker": 4,
            "mpiReplicaSpecs": {
                "Launcher": {"template": template},
                "Worker": {"replicas": 3, "template": template},
            },
        },
    });
    edit(&mut raw);
    match ValidJob::parse(&serde_json::from_value(raw).unwrap(), Some("k8s.example")) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn pod(role: RoleId, index: u32, controller: &str) -> ObservedPod {
    ObservedPod {
        role,
        index,
        name: "".into(),
        uid: Uid::default(),
        version: crate::observed::Version::default(),
        controller: Some(controller.into()),
        created: jiff::Timestamp::UNIX_EPOCH,
        phase: PodPhase::Running,
        ready: false,
        deleting: false,
        gate: None,
        attempt: None,
        failure: None,
        blocker: None,
    }
}

#[test]
fn a_view_holds_every_host_and_what_the_template_says() {
    let view = job(|_| ()).view(true);

    assert_eq!((view.name.as_str(), view.namespace.as_str(), view.id.as_str()), ("pi", "team-a", "u-1"));
    assert_eq!(view.flavor, "OpenMPI");
    assert_eq!(view.cluster_domain.as_deref(), Some("k8s.example"));
    assert_eq!(view.files_dir, "/etc/mpi");
    assert_eq!(view.ssh, Some(SshView { mount_path: "/root/.ssh".into(), ..SshView::default() }));
    assert!(view.gated && !view.elastic && !view.renders_command);
    let [launcher, worker] = view.groups.as_slice() else { panic!("{:?}", view.groups) };
    assert!(launcher.driver && !launcher.runs_ranks && worker.runs_ranks && !worker.driver);
    assert_eq!(launcher.hosts[0].name, "pi-launcher.pi.team-a.svc.k8s.example");
    assert_eq!(
        worker.hosts[2],
        HostEntry {
            name: "pi-worker-2.pi.team-a.svc.k8s.example".into(),
            short_name: "pi-worker-2".into(),
            index: 2,
            slots: 4,
        }
    );
    assert_eq!(worker.hosts.len(), 3);
    assert!(worker.host_network);
    assert_eq!(worker.run_as_user, Some(1000));
    assert_eq!(worker.claims[0].name, "net");
    let keys: Vec<&str> = worker.annotations.iter().map(|a| a.key.as_str()).collect();
    assert_eq!(keys, ["a", "z"]);
}

#[test]
fn limits_come_before_requests_and_references_have_no_value() {
    let container = &job(|_| ()).view(false).groups[0].container.clone();

    assert_eq!(container.cpu_millis, 1500);
    assert_eq!(container.memory_bytes, 2 << 30);
    assert_eq!(container.devices, [("nvidia.com/gpu".to_owned(), 8), ("rdma/hca".to_owned(), 1)]);
    assert_eq!(
        container.env,
        [
            ("A".to_owned(), Some("1".to_owned())),
            ("B".to_owned(), Some(String::new())),
            ("C".to_owned(), None),
        ]
    );
}

#[test]
fn a_launcher_that_runs_ranks_takes_the_first_index() {
    let view = job(|raw| raw["spec"]["runLauncherAsWorker"] = json!(true)).view(false);

    assert!(view.groups[0].runs_ranks);
    assert_eq!(view.groups[0].hosts[0].index, 0);
    assert_eq!(view.groups[1].hosts[0].index, 1);
}

#[test]
fn annotations_of_the_job_reach_the_view() {
    let annotations = json!({"coxswain.dev/ssh-probe": "2222", "coxswain.dev/start-min-workers": "2"});
    let view = job(|raw| raw["metadata"]["annotations"] = annotations).view(false);

    assert_eq!(view.ssh.unwrap().port, Some(2222));
    assert!(view.elastic);
}

#[test]
fn members_are_the_jobs_own_workers_in_numeric_order() {
    let mut foreign = pod(WORKER, 1, "someone");
    foreign.ready = true;
    let mut ready = pod(WORKER, 0, "u-1");
    ready.ready = true;
    let mut ending = pod(WORKER, 1, "u-1");
    ending.deleting = true;
    let surplus = pod(WORKER, 3, "u-1");
    let observed = ObservedState {
        pods: vec![pod(WORKER, 2, "u-1"), foreign, ready, ending, surplus],
        ..ObservedState::default()
    };

    let members = job(|_| ()).members(&observed);

    let states: Vec<_> = members.iter().map(|m| (m.host.short_name.as_str(), m.state)).collect();
    assert_eq!(
        states,
        [
            ("pi-worker-0", MemberState::Ready),
            ("pi-worker-1", MemberState::Terminating),
            ("pi-worker-2", MemberState::Running),
        ]
    );
}

#[test]
fn the_launchers_last_pod_is_a_member_where_it_runs_ranks() {
    let launcher = ObservedLauncher {
        object: ObservedObject { uid: "job-1".into(), ..ObservedObject::default() },
        ..ObservedLauncher::default()
    };
    let mut failed = pod(LAUNCHER, 0, "job-1");
    failed.phase = PodPhase::Failed;
    let observed = ObservedState {
        launcher: Some(launcher),
        pods: vec![failed, pod(LAUNCHER, 0, "job-1")],
        ..ObservedState::default()
    };

    assert_eq!(job(|_| ()).members(&observed), []);
    let members = job(|raw| raw["spec"]["runLauncherAsWorker"] = json!(true)).members(&observed);
    assert_eq!(members.len(), 1);
    assert_eq!((members[0].group.as_str(), members[0].state), ("launcher", MemberState::Running));
}
