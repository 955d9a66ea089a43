use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::{
    api::{events::MAX_MESSAGE, mpijob::JobStatus},
    gate,
    object::Uid,
    observed::LauncherEnd,
    plan::{Note, Violation},
    step::{Done, FailureReason, StepFailure},
    testing::{complete, launcher_pod, noon, object, raw, suspend, valid},
};

/// A job that was created and waits for its workers, and what is observed of it.
fn created() -> (MpiJob, ObservedState) {
    let mut raw = raw(2);
    let mut observed = complete(&valid(&raw));
    for pod in &mut observed.pods[..2] {
        (pod.phase, pod.ready) = (PodPhase::Pending, false);
    }
    raw.status = told_of(&raw, &observed, &Outcome::default()).status;
    (raw, observed)
}

/// The same that runs.
fn running() -> (MpiJob, ObservedState) {
    let (mut raw, _) = created();
    let mut observed = complete(&valid(&raw));
    (observed.pods[2].phase, observed.pods[2].gate) = (PodPhase::Running, None);
    raw.status = told_of(&raw, &observed, &Outcome::default()).status;
    (raw, observed)
}

fn told_of(raw: &MpiJob, observed: &ObservedState, outcome: &Outcome) -> StatusUpdate {
    next(&valid(raw), observed, outcome, noon())
}

fn end(complete: bool) -> LauncherEnd {
    LauncherEnd { complete, reason: String::new(), message: String::new(), time: Some(noon()) }
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

/// `Succeeded=True MPIJobSucceeded`, in order.
fn conditions(status: &JobStatus) -> Vec<String> {
    status.conditions.iter().map(|c| format!("{}={} {}", c.kind, c.status, c.reason)).collect()
}

#[test]
fn times_are_written_in_whole_seconds_so_that_the_next_pass_changes_nothing() {
    let job = raw(2);
    let fine = noon() + Duration::from_nanos(123_456_789);
    let update = next(&valid(&job), &ObservedState::default(), &Outcome::default(), fine);
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
    let again = next(&valid(&stored), &ObservedState::default(), &Outcome::default(), later);
    assert_eq!(again, StatusUpdate::default());
}

#[test]
fn the_condition_rule_ignores_messages_and_keeps_the_transition_where_only_the_reason_changed() {
    let (mut raw, mut observed) = created();
    let hour_ago = noon() - Duration::from_hours(1);
    let condition = |kind: &str, reason: &str| Condition {
        kind: kind.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message: "old".to_owned(),
        last_update_time: Some(hour_ago),
        last_transition_time: Some(hour_ago),
    };
    let before = raw.status.as_mut().unwrap();
    before.conditions.extend([condition("Suspended", "MPIJobSuspended"), condition("Restarting", "x")]);
    before.conditions.push(condition("Running", "OtherReason"));
    suspend(&mut raw, true);
    let suspended = told_of(&raw, &observed, &Outcome::default()).status.unwrap();
    assert_eq!(suspended.conditions[1].message, "old", "same status and reason: nothing changes");

    suspend(&mut raw, false);
    raw.status = Some(suspended);
    let status = raw.status.as_mut().unwrap();
    status.conditions.retain(|c| c.kind != "Running");
    status.conditions.push(condition("Running", "OtherReason"));
    observed = complete(&valid(&raw));
    (observed.pods[2].phase, observed.pods[2].gate) = (PodPhase::Running, None);
    let status = told_of(&raw, &observed, &Outcome::default()).status.unwrap();
    let running = status.conditions.last().unwrap();
    assert_eq!((running.kind.as_str(), running.reason.as_str()), ("Running", "MPIJobRunning"));
    assert_eq!(running.last_transition_time, Some(hour_ago));
    assert_eq!(running.last_update_time, Some(noon()));
    assert!(status.conditions.iter().all(|c| c.kind != "Restarting"));
}

#[test]
fn an_invalid_job_is_told_once_and_keeps_the_rest_of_its_status() {
    let (mut raw, observed) = created();
    let before = raw.status.clone().unwrap();
    let errors = [FieldError::required("spec.mpiReplicaSpecs", "must have replica specs")];
    let update = rejected(&raw, &errors, noon());

    let message = "Found validation errors: spec.mpiReplicaSpecs: Required value: must have replica specs";
    assert_eq!(told(&update), [("ValidationError", message)]);
    let status = update.status.unwrap();
    assert_eq!(status.conditions[..1], before.conditions);
    assert_eq!((&status.conditions[1].kind[..], &status.conditions[1].status[..]), ("Accepted", "False"));
    assert_eq!((status.start_time, &status.replica_statuses), (before.start_time, &before.replica_statuses));
    raw.status = Some(status);
    assert_eq!(rejected(&raw, &errors, noon()), StatusUpdate::default());

    let other = [FieldError::required("spec.mpiImplementation", "new words")];
    assert_eq!(rejected(&raw, &other, noon()).events.len(), 1, "a new message is news");
    let mended = told_of(&raw, &observed, &Outcome::default()).status.unwrap();
    assert_eq!(conditions(&mended), ["Accepted=True Accepted", "Created=True MPIJobCreated"]);
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
        let (raw, observed) = created();
        let update = told_of(&raw, &observed, &outcome);
        assert_eq!(update.events.len(), 1);
        assert!(update.events[0].warning && update.events[0].reason == reason, "{update:?}");
        assert!(update.events[0].message.contains(words), "{}", update.events[0].message);
    }
}

#[test]
fn a_refused_object_is_named_whatever_the_order_in_which_writes_fail() {
    let mut raw = raw(2);
    let pods = [(Kind::Pod, "pi-worker-1"), (Kind::Pod, "pi-worker-0")];
    let update = told_of(&raw, &ObservedState::default(), &failures(FailureReason::Invalid, &pods));
    assert_eq!(
        told(&update)[1..],
        [
            ("PodTemplateRefused", "the API server refuses Pod pi-worker-0: no pi-worker-0"),
            ("MPIJobFailed", "worker pod created failed: no pi-worker-0"),
        ]
    );

    raw.status = update.status;
    let launcher = failures(FailureReason::Forbidden, &[(Kind::Job, "pi-launcher")]);
    let update = told_of(&raw, &ObservedState::default(), &launcher);
    assert_eq!(
        told(&update),
        [
            ("Forbidden", "the API server refuses Job pi-launcher: no pi-launcher"),
            ("MPIJobFailed", "launcher pod created failed: no pi-launcher"),
        ]
    );
    let config = failures(FailureReason::Invalid, &[(Kind::ConfigMap, "pi-config")]);
    let update = told_of(&raw, &ObservedState::default(), &config);
    assert_eq!(
        told(&update),
        [("ObjectRefused", "the API server refuses ConfigMap pi-config: no pi-config")]
    );
}

#[test]
fn a_conflict_or_a_busy_api_server_is_no_news_for_the_user() {
    for reason in [FailureReason::Conflict, FailureReason::Unavailable] {
        let (raw, observed) = created();
        let update = told_of(&raw, &observed, &failures(reason, &[(Kind::Pod, "pi-worker-0")]));
        assert_eq!(update, StatusUpdate::default());
    }
}

#[test]
fn an_object_that_the_watches_do_not_see_is_foreign_too() {
    let (raw, observed) = created();
    let outcome = failures(FailureReason::Foreign, &[(Kind::Service, "pi")]);
    let update = next(&valid(&raw), &observed, &outcome, noon() + Duration::from_secs(11));

    assert_eq!(update.events[0].reason, "ErrResourceExists");
    assert_eq!(update.wake, Some(Duration::from_secs(30)));
}

/// It is that of an earlier job, which the garbage collector is about to delete.
#[test]
fn a_foreign_object_in_a_jobs_first_seconds_is_looked_at_again_soon() {
    let (raw, observed) = created();
    let outcome = failures(FailureReason::Foreign, &[(Kind::Service, "pi")]);
    let update = next(&valid(&raw), &observed, &outcome, noon() + Duration::from_secs(9));

    assert_eq!(update, StatusUpdate { wake: Some(Duration::from_secs(1)), ..StatusUpdate::default() });
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
    let update = told_of(&job, &ObservedState::default(), &outcome);
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
    let update = told_of(&job, &ObservedState::default(), &outcome);
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
    let update = told_of(&job, &ObservedState::default(), &slip);
    let message = "accepted, but without effect: metadata.annotations[coxswain.dev/start-gat]: is none of the operator's";
    assert_eq!(told(&update)[1], ("AnnotationsIgnored", message));
    assert!(update.events[1].warning);
    job.status = update.status;
    assert_eq!(
        conditions(job.status.as_ref().unwrap()),
        ["Accepted=True AnnotationsIgnored", "Created=True MPIJobCreated"],
        "the last condition is the job's state"
    );

    assert_eq!(told_of(&job, &ObservedState::default(), &slip), StatusUpdate::default());
    let unknown = told_of(&job, &ObservedState::default(), &Outcome::default());
    assert_eq!(unknown, StatusUpdate::default(), "what was not rendered says nothing");
    let mended = told_of(&job, &ObservedState::default(), &outcome(&[]));
    assert_eq!(conditions(&mended.status.unwrap())[0], "Accepted=True Accepted");
}

#[test]
fn a_gate_that_did_not_open_is_no_event() {
    let (raw, mut observed) = created();
    observed.pods[1].phase = PodPhase::Failed;
    let told = |objects: &[(Kind, &str)]| {
        let mut outcome = failures(FailureReason::Conflict, objects);
        outcome.gate = gate::decide(&valid(&raw), &observed, noon());
        let update = told_of(&raw, &observed, &outcome);
        update.acts.iter().any(|event| event.reason == "StartGateOpened")
    };
    assert!(told(&[]));
    assert!(told(&[(Kind::Pod, "pi-worker-0")]), "another write of the same wave");
    assert!(!told(&[(Kind::Pod, "pi-launcher-a")]));
    assert!(!told(&[(Kind::ConfigMap, "pi-config")]), "an earlier wave stops the pass");
}

#[test]
fn a_gate_that_is_closed_is_looked_at_again_when_its_time_is_over() {
    let (raw, observed) = created();
    let wake = |past: Duration| {
        let gate = gate::decide(&valid(&raw), &observed, noon() + past);
        let outcome = Outcome { gate, ..Outcome::default() };
        next(&valid(&raw), &observed, &outcome, noon() + past).wake
    };
    assert_eq!(wake(Duration::ZERO), Some(Duration::from_mins(10)));
    assert_eq!(wake(Duration::from_secs(599)), Some(Duration::from_secs(1)));
}

#[test]
fn a_job_is_counted_once_when_it_is_made_and_once_when_it_ends() {
    for (complete, count) in [(true, Count::Succeeded), (false, Count::Failed)] {
        let mut raw = raw(2);
        let mut counts = Vec::new();
        let mut tell = |raw: &mut MpiJob, observed: &ObservedState| {
            for _ in 0..2 {
                let update =
                    next(&valid(raw), observed, &Outcome::default(), noon() + Duration::from_secs(5));
                counts.extend(update.counts);
                raw.status = update.status.or(raw.status.take());
            }
        };
        let mut observed = crate::testing::complete(&valid(&raw));
        tell(&mut raw, &observed);
        observed.launcher.as_mut().unwrap().end = Some(end(complete));
        tell(&mut raw, &observed);
        assert_eq!(counts, [Count::Created, count]);
    }
}

#[test]
fn a_launcher_job_that_failed_without_a_word_has_the_words_of_the_mpi_operator() {
    let (raw, mut observed) = running();
    observed.launcher.as_mut().unwrap().end = Some(end(false));
    let update = told_of(&raw, &observed, &Outcome::default());

    assert_eq!(told(&update), [("MPIJobFailed", "MPIJob team-a/pi has failed")]);
    assert!(update.events[0].warning);
    assert_eq!(conditions(&update.status.unwrap()).last().unwrap(), "Failed=True MPIJobFailed");
}

#[test]
fn too_many_failures_are_explained_by_the_newest_failed_pod() {
    let (raw, mut observed) = running();
    for second in [1, 2] {
        let mut pod = crate::testing::failed(launcher_pod("pi-launcher-x"), &format!("FailedReason{second}"));
        pod.failure.as_mut().unwrap().message = format!("message {second}");
        pod.created = noon() + Duration::from_secs(second);
        observed.pods.insert(2, pod);
    }
    let launcher = observed.launcher.as_mut().unwrap();
    launcher.failed = 2;
    let (reason, message) = ("BackoffLimitExceeded".to_owned(), "too often".to_owned());
    launcher.end = Some(LauncherEnd { reason, message, ..end(false) });
    let update = told_of(&raw, &observed, &Outcome::default());

    assert_eq!(told(&update), [("BackoffLimitExceeded/FailedReason2", "too often: message 2")]);
}

#[test]
fn an_end_that_may_still_be_a_loss_is_looked_at_again_when_all_losses_are_reported() {
    let (mut raw, mut observed) = running();
    let running = raw.status.as_mut().unwrap().conditions.last_mut().unwrap();
    running.last_transition_time = Some(noon() - Duration::from_mins(1));
    observed.launcher.as_mut().unwrap().end = Some(end(true));
    let at =
        |millis| next(&valid(&raw), &observed, &Outcome::default(), noon() + Duration::from_millis(millis));

    let early = at(400);
    assert_eq!(early.wake, Some(Duration::from_millis(1600)));
    assert!(early.status.is_none_or(|status| !phase::is_finished(&status)));
    assert!(phase::is_finished(&at(2000).status.unwrap()));
}

/// As [`running`], and the launcher's Job is another one: its pods count for nothing.
#[test]
fn pods_of_another_launcher_job_do_not_make_a_job_run() {
    let (mut raw, mut observed) = created();
    for pod in &mut observed.pods {
        (pod.phase, pod.gate) = (PodPhase::Running, None);
    }
    observed.launcher.as_mut().unwrap().object = object(&valid(&raw), "another");
    raw.status = told_of(&raw, &observed, &Outcome::default()).status;

    assert_eq!(conditions(raw.status.as_ref().unwrap()), ["Created=True MPIJobCreated"]);
    assert_ne!(observed.pods[2].controller, Some(Uid::from("another")));
}

#[test]
fn long_messages_are_cut_between_characters() {
    assert_eq!(shorten(&"x".repeat(MAX_MESSAGE)), "x".repeat(MAX_MESSAGE));
    let cut = shorten(&"é".repeat(600));
    assert_eq!(cut, format!("{}...", "é".repeat(510)));

    let errors: Vec<_> =
        (0..60).map(|n| FieldError::required(format!("spec.field{n}"), "must be there")).collect();
    let StatusUpdate { events, .. } = rejected(&raw(1), &errors, noon());
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

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

#[test]
fn the_patch_leads_from_any_status_to_any_other() {
    let (created, running) = (created().0.status, running());
    let (mut ended, mut observed) = running.clone();
    observed.launcher.as_mut().unwrap().end = Some(end(true));
    ended.status =
        next(&valid(&ended), &observed, &Outcome::default(), noon() + Duration::from_secs(5)).status;
    let mut suspended = running.0.clone();
    suspend(&mut suspended, true);
    suspended.status = told_of(&suspended, &running.1, &Outcome::default()).status;
    let all = [Some(JobStatus::default()), created, running.0.status, suspended.status, ended.status];

    for (old, new) in all.iter().flat_map(|old| all.iter().map(move |new| (old, new))) {
        let (old, new) = (old.as_ref().unwrap(), new.as_ref().unwrap());
        let mut stored = json!({"status": serde_json::to_value(old).unwrap()});
        merge(&mut stored, &merge_patch(old, new));
        assert_eq!(&serde_json::from_value::<JobStatus>(stored["status"].clone()).unwrap(), new);
    }
}

/// Its Job was gone: it may have ended, and must not be made anew as one that was stopped.
#[test]
fn a_job_is_not_suspended_before_its_launcher_was() {
    let (mut raw, mut observed) = running();
    suspend(&mut raw, true);
    observed.launcher = None;
    let not_found = failures(FailureReason::Conflict, &[(Kind::Job, "pi-launcher")]);

    let status = told_of(&raw, &observed, &not_found).status.unwrap();

    assert!(!condition::is_true(&status, condition::SUSPENDED));
    assert!(status.replica_statuses.contains_key("Launcher"), "there was one");
}

#[test]
fn a_job_without_a_launcher_is_suspended_whatever_becomes_of_the_new_one() {
    let mut raw = raw(2);
    suspend(&mut raw, true);
    let refused = failures(FailureReason::Invalid, &[(Kind::Job, "pi-launcher")]);

    let status = told_of(&raw, &ObservedState::default(), &refused).status.unwrap();

    assert!(condition::is_true(&status, condition::SUSPENDED));
}

#[test]
fn no_job_ends_before_it_began() {
    let (mut raw, mut observed) = running();
    let began = noon() + Duration::from_mins(1);
    raw.status.as_mut().unwrap().start_time = Some(began);
    observed.launcher.as_mut().unwrap().end = Some(end(true));

    let status = next(&valid(&raw), &observed, &Outcome::default(), began).status.unwrap();

    assert_eq!(status.completion_time, Some(began));
}

#[test]
fn no_job_fails_before_it_began_by_the_clock_of_another_replica() {
    let (mut raw, mut observed) = running();
    let began = noon() + Duration::from_mins(1);
    raw.status.as_mut().unwrap().start_time = Some(began);
    observed.launcher.as_mut().unwrap().end = Some(end(false));

    let status = next(&valid(&raw), &observed, &Outcome::default(), noon()).status.unwrap();

    assert!(condition::is_true(&status, condition::FAILED));
    assert_eq!(status.completion_time, Some(began));
}
