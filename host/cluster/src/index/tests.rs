use coxswain_model::{
    api::{labels, resource, scheduling},
    desired::Gang,
    job::Verdict,
    observed::{LauncherGone, Uid, Version},
};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{
    kind::Watched as _,
    kinds::{self, DecodedConfigMap, DecodedJob, DecodedMpiJob, DecodedPod, DecodedSecret},
};

fn key() -> JobKey {
    JobKey::new("team-a", "pi")
}

fn job_row(version: &str, changes: &serde_json::Value) -> JobRow {
    let mut job = json!({
        "metadata": {"name": "pi", "namespace": "team-a", "uid": "j", "resourceVersion": version, "generation": 1},
        "spec": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "l"}]}}}}},
    });
    for (key, value) in changes.as_object().unwrap() {
        job[key] = value.clone();
    }
    serde_json::from_value::<DecodedMpiJob>(job).unwrap().row().unwrap().1
}

fn job(index: &Index) -> MpiJob {
    index.jobs.of(&key()).first().unwrap().job().unwrap()
}

fn valid(index: &Index) -> ValidJob {
    match ValidJob::parse(&job(index), None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

fn pod(role: &str, name: &str, created: &str, version: u64) -> ObservedPod {
    let object = json!({"metadata": {
        "name": name, "namespace": "team-a", "uid": format!("u-{name}"), "resourceVersion": version.to_string(),
        "creationTimestamp": created,
        "labels": {labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: role},
    }});
    serde_json::from_value::<DecodedPod>(object).unwrap().row().unwrap().1
}

#[test]
fn a_job_is_seen_with_everything_that_bears_its_names() {
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));
    for (name, version) in [("pi-files", "2"), ("pi-config", "3"), ("unrelated", "4")] {
        let config = json!({"metadata": {"name": name, "namespace": "team-a", "uid": name,
            "resourceVersion": version, "labels": {labels::LABEL_JOB: "pi"}}});
        let row = serde_json::from_value::<DecodedConfigMap>(config.clone()).unwrap().row().unwrap().1;
        index.configs.shown(&key(), row);
        let row = serde_json::from_value::<DecodedSecret>(config).unwrap().row().unwrap().1;
        index.secrets.shown(&key(), row);
    }

    let observed = index.observed(&key(), &valid(&index));

    assert_eq!(observed.config.unwrap().object.uid, Uid::from("pi-config"));
    assert_eq!(observed.files.unwrap().object.uid, Uid::from("pi-files"));
    assert_eq!(observed.secret, None);
    assert_eq!(observed.service, None);
}

#[test]
fn workers_come_by_index_and_launchers_by_age() {
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z");
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));
    for (role, name, created, version) in [
        ("launcher", "pi-launcher-a", late, 2),
        ("worker", "pi-worker-10", early, 3),
        ("launcher", "pi-launcher-b", early, 4),
        ("worker", "pi-worker-9", late, 5),
    ] {
        index.pods.shown(&key(), pod(role, name, created, version));
    }

    let observed = index.observed(&key(), &valid(&index));

    let order: Vec<(u32, &str)> = observed.pods.iter().map(|pod| (pod.index, &*pod.name)).collect();
    assert_eq!(order, [(9, ""), (10, ""), (0, "pi-launcher-b"), (0, "pi-launcher-a")]);
    assert_eq!(observed.pods[0].created, late.parse::<Timestamp>().unwrap());
}

#[test]
fn our_own_status_write_wakes_nobody_and_anybody_elses_does() {
    let condition = |reason: &str| json!({"status": {"conditions": [{"type": "Created", "status": "True", "reason": reason}]}});
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));

    index.jobs.wrote(&key(), job_row("2", &condition("ours")), Instant::now());
    assert_eq!(job(&index).metadata.resource_version, "2");
    assert!(!index.jobs.shown(&key(), job_row("2", &condition("ours"))));

    assert!(index.jobs.shown(&key(), job_row("3", &condition("theirs"))));
}

#[test]
fn a_new_version_without_a_change_is_the_one_that_the_next_write_rests_on() {
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));

    assert!(!index.jobs.shown(&key(), job_row("5", &json!({}))));

    assert_eq!(job(&index).metadata.resource_version, "5");
}

#[test]
fn a_status_asks_for_nothing_and_an_annotation_does() {
    let plain = job_row("1", &json!({}));

    assert!(plain.asks_the_same(&job_row("2", &json!({"status": {"startTime": "2026-01-01T00:00:00Z"}}))));
    assert!(!plain.asks_the_same(&job_row("2", &json!({"spec": {"slotsPerWorker": 2}}))));
}

/// A launcher's pod.
fn launcher(version: u64, changes: &serde_json::Value) -> ObservedPod {
    let mut object = json!({
        "metadata": {
            "name": "pi-launcher-a", "namespace": "team-a", "uid": "l", "resourceVersion": version.to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: labels::ROLE_LAUNCHER},
        },
        "status": {"phase": "Running"},
    });
    for (key, value) in changes.as_object().unwrap() {
        object[key] = value.clone();
    }
    serde_json::from_value::<DecodedPod>(object).unwrap().row().unwrap().1
}

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// When the launchers of a job of this name left, as the job is told that has the name now.
fn asked(index: &mut Index) -> Option<Timestamp> {
    index.note_left(noon());
    index.jobs.shown(&key(), job_row("90", &json!({})));
    index.observed(&key(), &valid(index)).asked
}

#[test]
fn a_job_is_told_when_the_launcher_of_an_earlier_one_left() {
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));
    index.pods.shown(&key(), launcher(2, &json!({})));
    assert_eq!(asked(&mut index), None, "it is there");

    index.jobs.ended(&key(), &job_row("3", &json!({})));
    index.pods.ended(&key(), &launcher(4, &json!({})));

    assert_eq!(asked(&mut index), Some(noon()));
    index.launcher_exits.expire(noon() + coxswain_model::gate::DNS_CACHE);
    assert_eq!(asked(&mut index), None);
}

#[test]
fn a_launcher_leaves_when_it_ends_and_not_when_its_pod_is_removed_later() {
    let mut index = Index::default();
    index.pods.shown(&key(), launcher(2, &json!({})));
    index.pods.shown(&key(), launcher(3, &json!({"status": {"phase": "Succeeded"}})));
    assert_eq!(asked(&mut index), Some(noon()));

    index.launcher_exits = LauncherExits::default();
    index.pods.ended(&key(), &launcher(4, &json!({"status": {"phase": "Succeeded"}})));

    assert_eq!(asked(&mut index), None);
}

#[test]
fn a_launcher_that_waited_at_its_gate_has_asked_nobody() {
    let mut index = Index::default();
    let gated = json!({"spec": {"schedulingGates": [{"name": scheduling::GATE_WORKERS}]}});
    index.pods.shown(&key(), launcher(2, &gated));
    index.pods.ended(&key(), &launcher(3, &gated));

    assert_eq!(asked(&mut index), None);
}

#[test]
fn a_worker_that_goes_says_nothing_about_launchers() {
    let mut index = Index::default();
    let worker = pod("worker", "pi-worker-0", "2026-01-01T00:00:00Z", 2);
    index.pods.shown(&key(), worker.clone());
    index.pods.ended(&key(), &worker);

    assert_eq!(asked(&mut index), None);
}

/// The watch was interrupted meanwhile.
#[test]
fn a_launcher_that_a_new_list_lacks_has_left() {
    let mut index = Index::default();
    index.pods.shown(&key(), launcher(2, &json!({})));
    index.pods.listing();
    index.pods.listed(&key(), launcher(3, &json!({})));
    index.pods.listed_all(Version(3));
    assert_eq!(asked(&mut index), None, "it is there");

    index.pods.listing();
    index.pods.listed_all(Version(4));

    assert_eq!(asked(&mut index), Some(noon()));
}

/// The launcher Job of [`key`].
fn launcher_job(version: u64, end: Option<&str>) -> Named<ObservedLauncher> {
    let end = end.map(|kind| json!([{"type": kind, "status": "True"}]));
    let object = json!({
        "metadata": {
            "name": "pi-launcher", "namespace": "team-a", "uid": "lj", "resourceVersion": version.to_string(),
            "labels": {labels::LABEL_JOB: "pi"},
            "ownerReferences": [{"apiVersion": resource::API_VERSION, "kind": "MPIJob", "name": "pi", "uid": "j", "controller": true}],
        },
        "status": {"conditions": end},
    });
    serde_json::from_value::<DecodedJob>(object).unwrap().row().unwrap().1
}

/// A job whose launcher Job was shown, and ended or not.
fn with_launcher(end: Option<&str>) -> Index {
    let mut index = Index::default();
    index.jobs.shown(&key(), job_row("1", &json!({})));
    index.launchers.shown(&key(), launcher_job(2, None));
    index.launchers.shown(&key(), launcher_job(3, end));
    index
}

fn look(index: &mut Index) -> (Option<bool>, LauncherGone) {
    index.note_left(noon());
    let observed = index.observed(&key(), &valid(index));
    (observed.launcher.map(|launcher| launcher.end.is_some()), observed.launcher_gone)
}

#[test]
fn a_launcher_job_that_had_ended_when_it_went_stands_until_the_status_says_so() {
    let mut shown = with_launcher(None);
    shown.launchers.ended(&key(), &launcher_job(4, Some("Complete")));
    let mut relisted = with_launcher(Some("Complete"));
    relisted.launchers.listing();
    relisted.launchers.listed_all(Version(50));
    for mut index in [shown, relisted] {
        assert_eq!(look(&mut index), (Some(true), LauncherGone::Unknown));
        kinds::expire(&mut index, &Gang::Off, Instant::now());
        assert_eq!(look(&mut index), (Some(true), LauncherGone::Unknown), "nobody has looked yet");

        let condition = json!({"type": "Succeeded", "status": "True", "reason": "MPIJobSucceeded"});
        index.jobs.shown(&key(), job_row("5", &json!({"status": {"conditions": [condition]}})));
        kinds::expire(&mut index, &Gang::Off, Instant::now());
        assert_eq!(look(&mut index), (None, LauncherGone::Unknown));
    }
}

#[test]
fn a_launcher_job_that_is_deleted_before_its_end_is_told_from_one_that_a_new_list_lacks() {
    let mut shown = with_launcher(None);
    shown.launchers.ended(&key(), &launcher_job(4, None));
    assert_eq!(look(&mut shown), (None, LauncherGone::Deleted));

    let mut relisted = with_launcher(None);
    relisted.launchers.listing();
    relisted.launchers.listed_all(Version(50));
    assert_eq!(look(&mut relisted), (None, LauncherGone::Unknown));
    relisted.gone.not_found(key(), &Uid::from("j"));
    assert_eq!(look(&mut relisted), (None, LauncherGone::Unobserved));
}

#[test]
fn what_became_of_a_launcher_says_nothing_about_that_of_a_later_job_of_the_name() {
    let mut index = with_launcher(Some("Complete"));
    index.launchers.ended(&key(), &launcher_job(4, Some("Complete")));
    look(&mut index);
    let mut later = job(&index);
    later.metadata.uid = "j2".into();
    later.metadata.resource_version = "9".into();
    index.jobs.shown(&key(), JobRow::new(&later));

    assert_eq!(look(&mut index), (None, LauncherGone::Unknown));
    kinds::expire(&mut index, &Gang::Off, Instant::now());
    assert!(!index.gone.knows(&key(), &Uid::from("j")));
}

#[test]
fn a_job_is_unpacked_while_others_write() {
    let shared = Shared::default();
    shared.write().jobs.shown(&key(), job_row("7", &json!({})));
    let row = shared.read().jobs.of(&key()).first().cloned().unwrap();

    let writing = shared.write();

    assert_eq!(row.job().unwrap().metadata.resource_version, "7", "what was taken out needs no lock");
    drop(writing);
    assert_eq!(shared.job(&key()).unwrap().metadata.resource_version, "7");
}

#[test]
fn what_a_job_takes_decoded_is_known_without_decoding_it() {
    let shared = Shared::default();
    assert_eq!(shared.decoded(&key()), 0, "there is none");
    let decoded = |variables: usize| {
        let env: Vec<serde_json::Value> =
            (0..variables).map(|n| json!({"name": n.to_string(), "value": "x"})).collect();
        let template = json!({"spec": {"containers": [{"name": "main", "env": env}]}});
        let job = json!({
            "metadata": {"name": "pi", "namespace": "team-a", "uid": "j", "resourceVersion": variables.to_string()},
            "spec": {"mpiReplicaSpecs": {"Worker": {"template": template}}},
        });
        let (key, row) = serde_json::from_value::<DecodedMpiJob>(job).unwrap().row().unwrap();
        shared.write().jobs.shown(&key, row);
        shared.decoded(&key)
    };

    let (small, large) = (decoded(10), decoded(4_000));

    assert!(small < 20 << 10, "{small} bytes");
    assert!((3 << 20..4 << 20).contains(&large), "{large} bytes");
}
