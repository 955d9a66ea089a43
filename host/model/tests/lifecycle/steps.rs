//! What is done, case by case.

use coxswain_model::{
    diff::{self, Wanted},
    gate::Gate,
    observed::ObservedState,
    phase::{self, Phase},
    step::{Kind, ObjectName, Step, Wave},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name},
    sample::{clean, desired, raw, scale, suspend, valid},
};

/// `Create Service pi` and the like, in order.
fn brief(steps: &[Step]) -> Vec<String> {
    let one = |step: &Step| match step {
        Step::Create { object, .. } | Step::CreateSecret { object, .. } => format!("create {object}"),
        Step::CreateWorkers { indexes, .. } => format!("create workers {indexes:?}"),
        Step::Patch { object, .. } => format!("patch {object}"),
        Step::Resume { object, .. } => format!("resume {object}"),
        Step::OpenGate { pod, .. } => format!("open {pod}"),
        Step::Delete { object, .. } => format!("delete {object}"),
    };
    steps.iter().map(one).collect()
}

/// What an operator would do that cannot render the job.
fn blind(cluster: &Cluster) -> Vec<String> {
    let (job, seen) = (valid(&cluster.raw), cluster.seen());
    brief(&diff::steps(&job, &seen, phase::of(&job, &seen), &cluster.gate(), &Wanted::Nothing))
}

fn settled(workers: u32) -> Cluster {
    let mut cluster = Cluster::new(raw(workers));
    cluster.settle();
    cluster
}

fn config() -> ObjectName {
    ObjectName { kind: Kind::ConfigMap, name: "pi-config".to_owned() }
}

#[test]
fn everything_is_created_in_one_pass_pods_last() {
    let pass = Cluster::new(raw(5)).pass();

    assert_eq!(
        brief(&pass.steps),
        [
            "create Service pi",
            "create ConfigMap pi-config",
            "create Secret pi-ssh",
            "create workers [0, 1, 2, 3, 4]",
            "create Job pi-launcher",
        ]
    );
    assert_eq!(pass.steps[2].wave(), Wave::Dependencies);
    assert_eq!(pass.steps[3].wave(), Wave::Pods);
}

#[test]
fn a_job_without_workers_gets_a_launcher_under_either_creation_policy() {
    for policy in ["AtStartup", "WaitForWorkersReady"] {
        let mut alone = raw(0);
        alone.spec.launcher_creation_policy = Some(policy.to_owned());
        let pass = Cluster::new(alone).pass();
        assert_eq!(brief(&pass.steps).last().unwrap(), "create Job pi-launcher");
        assert_eq!(pass.steps.len(), 4);
    }
}

#[test]
fn nothing_is_created_beside_any_foreign_object() {
    let service = ObjectName { kind: Kind::Service, name: "pi".to_owned() };
    let secret = ObjectName { kind: Kind::Secret, name: "pi-ssh".to_owned() };
    let files = ObjectName { kind: Kind::ConfigMap, name: "pi-files".to_owned() };
    for foreign in [service, secret, config(), files, launcher(), pod_name("pi-worker-7")] {
        for owner in [json!([]), json!([{"uid": "job-0", "controller": true}])] {
            let mut cluster = Cluster::new(raw(8));
            cluster.put(foreign.clone(), json!({"metadata": {"ownerReferences": owner}}));
            let (job, seen) = (valid(&cluster.raw), cluster.seen());
            assert_eq!(diff::foreign(&job, &seen, Phase::Active), std::slice::from_ref(&foreign));
            assert!(cluster.pass().steps.is_empty(), "{foreign}");
        }
    }
}

#[test]
fn foreign_pods_beyond_the_jobs_size_or_of_a_suspended_job_disturb_nobody() {
    let mut cluster = Cluster::new(raw(2));
    cluster.put(pod_name("pi-worker-2"), json!({}));
    assert_eq!(cluster.pass().steps.len(), 5);
    cluster.settle();
    assert!(cluster.deleted.is_empty(), "not ours to scale down");

    let mut held = raw(3);
    suspend(&mut held, true);
    let mut cluster = Cluster::new(held);
    cluster.put(pod_name("pi-worker-2"), json!({}));
    assert_eq!(cluster.pass().steps.len(), 4);
}

#[test]
fn a_suspended_job_gets_everything_but_pods() {
    let mut held = raw(2);
    suspend(&mut held, true);
    let steps = Cluster::new(held).pass().steps;

    let expected =
        ["create Service pi", "create ConfigMap pi-config", "create Secret pi-ssh", "create Job pi-launcher"];
    assert_eq!(brief(&steps), expected);
    assert!(matches!(&steps[3], Step::Create { manifest, .. } if manifest["spec"]["suspend"] == true));
}

#[test]
fn a_changed_service_gets_back_only_what_is_ours() {
    let mut cluster = settled(1);
    let service = ObjectName { kind: Kind::Service, name: "pi".to_owned() };
    let before = cluster.objects[&service]["spec"].clone();
    let theirs = json!({"spec": {"selector": {"role": "worker"}, "publishNotReadyAddresses": false, "x": 1}});
    cluster.patch(&service, &theirs);
    assert_eq!(brief(&cluster.pass().steps), ["patch Service pi"]);
    cluster.settle();

    assert_eq!(cluster.objects[&service]["spec"]["selector"], before["selector"]);
    assert_eq!(cluster.objects[&service]["spec"]["x"], 1);
}

#[test]
fn the_config_map_follows_the_spec_and_gets_its_annotations_back() {
    let mut cluster = settled(1);
    scale(&mut cluster.raw, 2);
    assert_eq!(brief(&cluster.pass().steps), ["patch ConfigMap pi-config", "create workers [1]"]);
    let hostfile = "pi-worker-0.pi.team-a.svc slots=1\npi-worker-1.pi.team-a.svc slots=1\n";
    assert_eq!(cluster.objects[&config()]["data"]["hostfile"], hostfile);
    cluster.settle();

    cluster.patch(&config(), &json!({"metadata": {"annotations": {"coxswain.dev/pin": null}}}));
    assert_eq!(brief(&cluster.pass().steps), ["patch ConfigMap pi-config"], "the launcher Job still has it");
    cluster.settle();
}

#[test]
fn an_object_that_is_being_deleted_is_waited_for_and_pods_wait_with_it() {
    let mut cluster = Cluster::new(raw(2));
    cluster.put(config(), json!({"metadata": {"deletionTimestamp": "2026-11-21T11:59:59Z"}}));
    assert_eq!(brief(&cluster.pass().steps), ["create Service pi", "create Secret pi-ssh"]);
    cluster.reap();
    let steps = brief(&cluster.pass().steps);
    assert_eq!(steps, ["create ConfigMap pi-config", "create workers [0, 1]", "create Job pi-launcher"]);
}

#[test]
fn files_that_change_go_and_come_back_and_never_hold_a_name_twice() {
    let cluster = settled(1);
    let (job, mut seen) = (valid(&cluster.raw), cluster.seen());
    let mut desired = desired(&job, &seen, &cluster.gang);
    desired.files = Some(json!({"metadata": {"annotations": {"coxswain.dev/content": "new"}}}));
    let wanted = desired.into();
    let steps =
        |seen: &ObservedState| brief(&diff::steps(&job, seen, Phase::Active, &Gate::NotUsed, &wanted));
    assert_eq!(steps(&seen), ["create ConfigMap pi-files"]);

    let mut files = seen.config.clone().unwrap();
    files.content = Some("old".into());
    seen.files = Some(files.clone());
    assert_eq!(steps(&seen), ["delete ConfigMap pi-files"]);
    files.object.deleting = true;
    seen.files = Some(files.clone());
    assert_eq!(steps(&seen), [""; 0]);
    (files.object.deleting, files.content) = (false, Some("new".into()));
    seen.files = Some(files);
    assert_eq!(steps(&seen), [""; 0]);
}

#[test]
fn without_a_plan_nothing_is_made_but_all_that_ends_a_job_still_works() {
    assert!(blind(&Cluster::new(raw(2))).is_empty());

    let mut cluster = settled(3);
    cluster.launch("pi-launcher-a");
    cluster.ready();
    scale(&mut cluster.raw, 1);
    assert_eq!(blind(&cluster), ["delete Pod pi-worker-2", "delete Pod pi-worker-1", "open pi-launcher-a"]);

    clean(&mut cluster.raw, "Running");
    suspend(&mut cluster.raw, true);
    assert_eq!(
        blind(&cluster),
        [
            "patch Job pi-launcher",
            "delete Pod pi-worker-2",
            "delete Pod pi-worker-1",
            "delete Pod pi-worker-0"
        ]
    );

    suspend(&mut cluster.raw, false);
    cluster.end("Complete", "", "");
    assert!(blind(&cluster).is_empty(), "first the status says how it ended");
    cluster.pass();
    assert_eq!(blind(&cluster).len(), 3);
}

#[test]
fn what_is_decided_on_a_pods_state_is_deleted_only_in_that_state() {
    let mut cluster = settled(2);
    clean(&mut cluster.raw, "Running");
    cluster.end("Complete", "", "");
    cluster.pass();
    let steps = {
        let (job, seen) = (valid(&cluster.raw), cluster.seen());
        diff::steps(&job, &seen, Phase::Finished, &Gate::NotUsed, &Wanted::Nothing)
    };
    let versions: Vec<_> = steps
        .iter()
        .map(|step| match step {
            Step::Delete { version, .. } => version.is_some(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(versions, [true, true]);
}

#[test]
fn a_finished_job_is_not_touched_again_whatever_its_spec_says() {
    let mut cluster = settled(2);
    cluster.end("Complete", "", "");
    cluster.settle();
    cluster.objects.remove(&launcher());
    scale(&mut cluster.raw, 5);
    suspend(&mut cluster.raw, true);
    let status = cluster.raw.status.clone();

    assert!(cluster.pass().is_idle(), "also after the launcher Job's TTL");
    assert_eq!(cluster.raw.status, status);
}
