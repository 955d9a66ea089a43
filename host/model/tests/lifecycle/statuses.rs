//! What is told, case by case.

use std::time::Duration;

use coxswain_model::{
    api::{
        events::MAX_MESSAGE,
        mpijob::{Condition, JobStatus},
    },
    job::violation::FieldError,
    observed::ObservedState,
    plan::{Note, Violation},
    status::{self, Event, Outcome, RenderError, StatusUpdate, merge_patch, shorten},
    step::{Done, FailureReason, Kind, ObjectName, StepFailure},
};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    cluster::{Cluster, launcher, pod_name},
    sample::{noon, raw, suspend, valid},
};

/// A job that was created, with its launcher Job.
fn created() -> Cluster {
    let mut cluster = Cluster::new(raw(2));
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.settle();
    cluster
}

fn failures(reason: FailureReason, objects: &[(Kind, &str)]) -> Outcome {
    let failure = |(kind, name): &(Kind, &str)| StepFailure {
        object: ObjectName { kind: *kind, name: (*name).to_owned() },
        reason,
        message: format!("no {name}"),
    };
    Outcome {
        done: Done { failures: objects.iter().map(failure).collect(), ..Done::default() },
        ..Outcome::default()
    }
}

fn told(update: &StatusUpdate) -> Vec<(&str, &str)> {
    update
        .events
        .iter()
        .chain(&update.acts)
        .map(|event| (event.reason.as_str(), event.message.as_str()))
        .collect()
}

#[test]
fn times_are_written_in_whole_seconds_so_that_the_next_pass_changes_nothing() {
    let job = raw(2);
    let fine = noon() + Duration::from_nanos(123_456_789);
    let update = status::next(&valid(&job), &ObservedState::default(), &Outcome::default(), fine);
    let status = serde_json::to_value(update.status.unwrap()).unwrap();

    assert_eq!(
        status,
        json!({
            "conditions": [{
                "type": "Created", "status": "True", "reason": "MPIJobCreated",
                "message": "MPIJob team-a/pi is created.",
                "lastUpdateTime": "2026-11-21T12:00:00Z", "lastTransitionTime": "2026-11-21T12:00:00Z",
            }],
            "replicaStatuses": {"Worker": {}},
            "startTime": "2026-11-21T12:00:00Z",
        })
    );
    let mut stored = job;
    stored.status = Some(serde_json::from_value(status).unwrap());
    let later = fine + Duration::from_secs(5);
    let again = status::next(&valid(&stored), &ObservedState::default(), &Outcome::default(), later);
    assert_eq!(again, StatusUpdate::default());
}

#[test]
fn a_launcher_that_ends_unseen_leaves_a_running_condition_that_was_never_true() {
    let mut cluster = created();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Running"}}));
    cluster.end("Complete", "", "");
    cluster.advance(Duration::from_secs(7));
    cluster.settle();

    assert_eq!(
        cluster.conditions(),
        ["Created=True MPIJobCreated", "Running=False MPIJobRunning", "Succeeded=True MPIJobSucceeded"]
    );
    let status = cluster.raw.status.as_ref().unwrap();
    let running = &status.conditions[1];
    assert_eq!(running.message, "MPIJob team-a/pi is finished but Running condition was never set.");
    assert_eq!(running.last_transition_time, Some(noon()), "not after the completion");
    assert_eq!(status.completion_time, Some(noon()));
    assert_eq!(cluster.counters("Launcher"), Some((0, 1, 0)));
}

#[test]
fn too_many_failures_are_explained_by_the_newest_failed_pod() {
    let mut cluster = created();
    let pod = cluster.objects[&pod_name("pi-launcher-a")].clone();
    for (second, name) in [(1, "pi-launcher-1"), (2, "pi-launcher-2")] {
        cluster.advance(Duration::from_secs(1));
        cluster.put(pod_name(name), pod.clone());
        let (reason, message) = (format!("FailedReason{second}"), format!("message {second}"));
        let status = json!({"phase": "Failed", "reason": reason, "message": message});
        cluster.patch(&pod_name(name), &json!({"status": status}));
    }
    cluster.patch(&launcher(), &json!({"status": {"failed": 2}}));
    cluster.end("Failed", "BackoffLimitExceeded", "too often");
    cluster.settle();

    let last = cluster.events.last().unwrap();
    assert_eq!(last.reason, "BackoffLimitExceeded/FailedReason2");
    assert_eq!(last.message, "too often: message 2");
    assert!(last.warning);
    assert_eq!(cluster.conditions().last().unwrap(), "Failed=True BackoffLimitExceeded/FailedReason2");
    assert_eq!(cluster.counters("Launcher"), Some((0, 0, 2)));
}

#[test]
fn a_job_runs_only_while_launcher_and_all_workers_do() {
    let mut cluster = created();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Running"}}));
    cluster.worker(0, &json!({"phase": "Running"}));
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Created=True MPIJobCreated"]);
    assert_eq!(cluster.counters("Launcher"), Some((1, 0, 0)));

    cluster.worker(1, &json!({"phase": "Running"}));
    cluster.settle();
    assert_eq!(cluster.conditions()[1], "Running=True MPIJobRunning");
    assert_eq!(cluster.events.last().unwrap().message, "MPIJob team-a/pi is running");
}

#[test]
fn a_launcher_alone_needs_no_workers_to_run() {
    let mut cluster = Cluster::new(raw(0));
    cluster.settle();
    cluster.launch("pi-launcher-a");
    cluster.settle();
    cluster.run_launcher("pi-launcher-a");
    cluster.settle();

    assert_eq!(cluster.conditions()[1], "Running=True MPIJobRunning");
    assert_eq!(cluster.counters("Worker"), Some((0, 0, 0)));
}

#[test]
fn the_condition_rule_ignores_messages_and_keeps_the_transition_where_only_the_reason_changed() {
    let mut cluster = created();
    let hour_ago = noon() - Duration::from_hours(1);
    let status = cluster.raw.status.as_mut().unwrap();
    let condition = |kind: &str, reason: &str| Condition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message: "old".to_owned(),
        last_update_time: Some(hour_ago),
        last_transition_time: Some(hour_ago),
    };
    status.conditions.extend([condition("Suspended", "MPIJobSuspended"), condition("Restarting", "x")]);
    status.conditions.push(condition("Running", "OtherReason"));
    suspend(&mut cluster.raw, true);
    cluster.pass();
    let conditions = &cluster.raw.status.as_ref().unwrap().conditions;
    assert_eq!(conditions[1].message, "old", "same status and reason: nothing changes");

    suspend(&mut cluster.raw, false);
    cluster.raw.status.as_mut().unwrap().conditions.retain(|c| c.kind != "Running");
    cluster.raw.status.as_mut().unwrap().conditions.push(condition("Running", "OtherReason"));
    cluster.settle();
    cluster.ready();
    cluster.patch(&pod_name("pi-launcher-a"), &json!({"status": {"phase": "Running"}}));
    cluster.settle();
    let conditions = &cluster.raw.status.as_ref().unwrap().conditions;
    let running = conditions.last().unwrap();
    assert_eq!((running.kind.as_str(), running.reason.as_str()), ("Running", "MPIJobRunning"));
    assert_eq!(running.last_transition_time, Some(hour_ago));
    assert_eq!(running.last_update_time, Some(noon()));
    assert!(conditions.iter().all(|c| c.kind != "Restarting"));
}

#[test]
fn an_invalid_job_is_told_once_and_keeps_the_rest_of_its_status() {
    let mut cluster = created();
    let before = cluster.raw.status.clone().unwrap();
    let errors = [FieldError::required("spec.mpiReplicaSpecs", "must have replica specs")];
    let update = status::rejected(&cluster.raw, &errors, cluster.now);

    let message = "Found validation errors: spec.mpiReplicaSpecs: Required value: must have replica specs";
    assert_eq!(told(&update), [("ValidationError", message)]);
    let status = update.status.unwrap();
    assert_eq!(status.conditions[..1], before.conditions);
    assert_eq!((&status.conditions[1].kind[..], &status.conditions[1].status[..]), ("Accepted", "False"));
    assert_eq!((status.start_time, &status.replica_statuses), (before.start_time, &before.replica_statuses));
    cluster.raw.status = Some(status);
    assert_eq!(status::rejected(&cluster.raw, &errors, cluster.now), StatusUpdate::default());

    let other = [FieldError::required("spec.mpiImplementation", "new words")];
    assert_eq!(status::rejected(&cluster.raw, &other, cluster.now).events.len(), 1, "a new message is news");
    cluster.settle();
    assert_eq!(cluster.conditions(), ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
}

#[test]
fn trouble_tells_the_user_what_to_change() {
    let served = vec!["Intel".to_owned(), "OpenMPI".to_owned()];
    let violation = Violation { path: "spec.slotsPerWorker".into(), text: "must be at most 512".into() };
    let cases = [
        (
            RenderError::UnsupportedImplementation { wanted: "MVAPICH".into(), served: served.clone() },
            "UnsupportedImplementation",
            "use one of the served implementations (Intel, OpenMPI)",
        ),
        (
            RenderError::UnknownPlugin {
                annotation: "coxswain.dev/plugin".into(),
                wanted: "x".into(),
                known: vec![],
            },
            "UnsupportedImplementation",
            "name one of the loaded plugins (none) or remove the annotation",
        ),
        (
            RenderError::PlanRefused(vec![violation]),
            "PlanRefused",
            "spec.slotsPerWorker: must be at most 512",
        ),
        (
            RenderError::PluginFailed { plugin: "openmpi@0123456789ab".into(), fault: "out of fuel".into() },
            "PluginFailed",
            "plugin openmpi@0123456789ab failed: out of fuel",
        ),
        (RenderError::PinLost { why: "no pin".into() }, "PinLost", "delete the job and create it again"),
    ];
    for (render_error, reason, words) in cases {
        let outcome = Outcome { render_error: Some(render_error), ..Outcome::default() };
        let cluster = created();
        let update = status::next(&valid(&cluster.raw), &cluster.seen(), &outcome, cluster.now);
        assert_eq!(update.events.len(), 1);
        assert!(update.events[0].warning && update.events[0].reason == reason, "{update:?}");
        assert!(update.events[0].message.contains(words), "{}", update.events[0].message);
    }
}

#[test]
fn a_refused_object_is_named_whatever_the_order_in_which_writes_fail() {
    let mut cluster = Cluster::new(raw(2));
    let job = valid(&cluster.raw);
    let pods = [(Kind::Pod, "pi-worker-1"), (Kind::Pod, "pi-worker-0")];
    let outcome = failures(FailureReason::Invalid, &pods);
    let update = status::next(&job, &cluster.seen(), &outcome, cluster.now);
    assert_eq!(
        told(&update)[1..],
        [
            ("PodTemplateRefused", "the API server refuses Pod pi-worker-0: no pi-worker-0"),
            ("MPIJobFailed", "worker pod created failed: no pi-worker-0"),
        ]
    );

    cluster.raw.status = update.status;
    let job = valid(&cluster.raw);
    let launcher = failures(FailureReason::Forbidden, &[(Kind::Job, "pi-launcher")]);
    let update = status::next(&job, &cluster.seen(), &launcher, cluster.now);
    assert_eq!(
        told(&update),
        [
            ("Forbidden", "the API server refuses Job pi-launcher: no pi-launcher"),
            ("MPIJobFailed", "launcher pod created failed: no pi-launcher"),
        ]
    );
    let config = failures(FailureReason::Invalid, &[(Kind::ConfigMap, "pi-config")]);
    let update = status::next(&job, &cluster.seen(), &config, cluster.now);
    assert_eq!(
        told(&update),
        [("ObjectRefused", "the API server refuses ConfigMap pi-config: no pi-config")]
    );
}

#[test]
fn a_conflict_or_a_busy_api_server_is_no_news_for_the_user() {
    for reason in [FailureReason::Conflict, FailureReason::Unavailable] {
        let cluster = created();
        let outcome = failures(reason, &[(Kind::Pod, "pi-worker-0")]);
        let update = status::next(&valid(&cluster.raw), &cluster.seen(), &outcome, cluster.now);
        assert_eq!(update, StatusUpdate::default());
    }
}

#[test]
fn an_object_that_the_watches_do_not_see_is_foreign_too() {
    let mut cluster = created();
    cluster.advance(Duration::from_secs(11));
    let outcome = failures(FailureReason::Foreign, &[(Kind::Service, "pi")]);
    let update = status::next(&valid(&cluster.raw), &cluster.seen(), &outcome, cluster.now);

    assert_eq!(update.events[0].reason, "ErrResourceExists");
    assert_eq!(update.wake, Some(Duration::from_secs(30)));
}

#[test]
fn notes_and_an_overridden_restart_policy_are_told_with_the_pin_and_only_if_it_was_written() {
    let mut job = raw(1);
    let launcher = job.spec.mpi_replica_specs.as_mut().unwrap().get_mut("Launcher").unwrap();
    launcher.as_mut().unwrap().template["spec"]["restartPolicy"] = json!("Always");
    let note = Note { by: "openmpi".into(), warning: true, text: "slots are ignored".into() };
    let mut outcome = Outcome {
        done: Done { created: 5, ..Done::default() },
        pinned: Some("openmpi@0123456789ab (v0.1.0)".into()),
        notes: vec![note],
        ..Outcome::default()
    };
    let update = status::next(&valid(&job), &ObservedState::default(), &outcome, noon());
    assert_eq!(
        told(&update),
        [
            ("MPIJobCreated", "MPIJob team-a/pi is created."),
            ("PluginsPinned", "rendered by openmpi@0123456789ab (v0.1.0)"),
            ("PluginNote", "openmpi: slots are ignored"),
            (
                "SetPodTemplateRestartPolicy",
                "Restart policy in pod template overridden by restart policy in replica spec"
            ),
        ]
    );

    outcome.done = failures(FailureReason::Unavailable, &[(Kind::ConfigMap, "pi-config")]).done;
    outcome.done.created = 2;
    let update = status::next(&valid(&job), &ObservedState::default(), &outcome, noon());
    assert_eq!(told(&update).len(), 1);
}

#[test]
fn annotations_without_effect_are_told_once_and_the_job_goes_on() {
    let outcome = |ignored: &[&str]| Outcome {
        ignored: Some(ignored.iter().map(|text| (*text).to_owned()).collect()),
        ..Outcome::default()
    };
    let mut job = raw(1);
    let slip = outcome(&["metadata.annotations[coxswain.dev/start-gat]: is none of the operator's"]);
    let update = status::next(&valid(&job), &ObservedState::default(), &slip, noon());
    let message = "accepted, but without effect: metadata.annotations[coxswain.dev/start-gat]: is none of the operator's";
    assert_eq!(told(&update)[1], ("AnnotationsIgnored", message));
    assert!(update.events[1].warning);
    job.status = update.status;
    let conditions = |status: &JobStatus| -> Vec<String> {
        status.conditions.iter().map(|c| format!("{}={} {}", c.kind, c.status, c.reason)).collect()
    };
    assert_eq!(
        conditions(job.status.as_ref().unwrap()),
        ["Accepted=True AnnotationsIgnored", "Created=True MPIJobCreated"],
        "the last condition is the job's state"
    );

    assert_eq!(status::next(&valid(&job), &ObservedState::default(), &slip, noon()), StatusUpdate::default());
    let unknown = status::next(&valid(&job), &ObservedState::default(), &Outcome::default(), noon());
    assert_eq!(unknown, StatusUpdate::default(), "what was not rendered says nothing");
    let mended = status::next(&valid(&job), &ObservedState::default(), &outcome(&[]), noon());
    assert_eq!(conditions(&mended.status.unwrap())[0], "Accepted=True Accepted");
}

#[test]
fn long_messages_are_cut_between_characters() {
    assert_eq!(shorten(&"x".repeat(MAX_MESSAGE)), "x".repeat(MAX_MESSAGE));
    let cut = shorten(&"é".repeat(600));
    assert_eq!(cut, format!("{}...", "é".repeat(510)));

    let errors: Vec<_> =
        (0..60).map(|n| FieldError::required(format!("spec.field{n}"), "must be there")).collect();
    let StatusUpdate { events, .. } = status::rejected(&raw(1), &errors, noon());
    assert_eq!(events[0].message.len(), MAX_MESSAGE);
    assert!(matches!(&events[0], Event { warning: true, message, .. } if message.ends_with("...")));
}

#[test]
fn the_patch_takes_away_what_is_gone_and_names_only_what_differs() {
    let old: JobStatus = serde_json::from_value(json!({
        "replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 2}},
        "startTime": "2026-11-21T12:00:00Z",
    }))
    .unwrap();
    let mut new = old.clone();
    new.replica_statuses.remove("Launcher");
    new.replica_statuses.get_mut("Worker").unwrap().active = 0;

    assert_eq!(
        merge_patch(&old, &new),
        json!({"status": {"replicaStatuses": {"Launcher": null, "Worker": {"active": null}}}})
    );
    assert_eq!(merge_patch(&old, &old), json!({"status": {}}));
}
