//! Deletes and patches of what is there.

use pretty_assertions::assert_eq;

use super::*;

fn with_worker(bench: &Bench) {
    let pod = json!({"metadata": {"name": "pi-worker-0", "namespace": "team-a", "uid": "p", "resourceVersion": "5",
        "labels": {labels::LABEL_JOB_NAME: "pi", labels::LABEL_JOB_ROLE: "worker"}}});
    let (key, row) = serde_json::from_value::<DecodedPod>(pod).unwrap().row().unwrap();
    bench.index.write().pods.shown(&key, row);
}

#[tokio::test(start_paused = true)]
async fn a_delete_names_the_object_that_it_means() {
    let pod = json!({"kind": "PartialObjectMetadata", "metadata": {"uid": "p", "resourceVersion": "9"}});
    let bench = Bench::new(move |_, _| Reply::ok(pod.clone()));
    with_worker(&bench);

    let (done, another_reconcile) = bench.apply(vec![delete(Some(5))]).await;

    assert_eq!((done.deleted, another_reconcile), (1, false), "the watch tells when it is gone");
    let options = &bench.fake.asked()[0].body;
    assert_eq!(options["preconditions"], json!({"uid": "p", "resourceVersion": "5"}));
    assert_eq!(options["propagationPolicy"], "Background");
    let pod = &bench.observed().pods[0];
    assert_eq!((pod.deleting, pod.version), (true, Version(9)));
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_already_is_as_good_as_deleted() {
    for status in [404, 409] {
        let bench = Bench::new(move |_, _| Reply::refused(status, "x"));
        with_worker(&bench);

        let (done, another_reconcile) = bench.apply(vec![delete(None)]).await;

        assert_eq!((done.deleted, done.failures.len(), bench.observed().pods.len()), (1, 0, 0), "{status}");
        assert!(another_reconcile, "nothing more is heard of it");
    }
    let bench = Bench::new(|_, _| Reply::refused(409, "Conflict"));
    let (done, _) = bench.apply(vec![delete(Some(5))]).await;
    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

/// As a ConfigMap does, whose deletion is answered by a Status.
#[tokio::test(start_paused = true)]
async fn what_goes_at_once_is_looked_after_at_once() {
    let status = json!({"kind": "Status", "status": "Success", "details": {"uid": "p"}});
    let bench = Bench::new(move |_, _| Reply::ok(status.clone()));
    with_worker(&bench);

    let (done, another_reconcile) = bench.apply(vec![delete(None)]).await;

    assert_eq!((done.deleted, another_reconcile, bench.observed().pods.len()), (1, true, 0));
}

#[tokio::test(start_paused = true)]
async fn the_gate_is_removed_only_where_it_was_seen() {
    let bench = Bench::new(|_, _| Reply::refused(422, "Invalid"));

    let step = Step::OpenGate { pod: "pi-launcher-x".into(), version: Version(7), position: 1 };
    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(
        bench.fake.asked()[0].body,
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
            {"op": "test", "path": "/spec/schedulingGates/1/name", "value": "coxswain.dev/workers"},
            {"op": "remove", "path": "/spec/schedulingGates/1"},
        ])
    );
    assert_eq!(bench.fake.asked()[0].content, "application/json-patch+json");
    assert_eq!(done.failures[0].reason, FailureReason::Conflict, "a test that does not hold is a change");
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_refused_if_the_object_has_changed() {
    let bench = Bench::new(|_, _| Reply::refused(409, "Conflict"));
    let step = Step::Patch {
        object: object(Kind::Job, "pi-launcher"),
        uid: Uid::from("l"),
        version: Version(8),
        patch: json!({"spec": {"suspend": true}}),
        subresource: None,
        wave: Wave::LauncherUpdate,
    };

    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(
        bench.fake.asked()[0].body,
        json!({"spec": {"suspend": true}, "metadata": {"uid": "l", "resourceVersion": "8"}})
    );
    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

#[tokio::test(start_paused = true)]
async fn a_launcher_that_ran_before_is_reset_and_then_resumed() {
    let stored = json!({"metadata": {"name": "pi-launcher", "namespace": "team-a", "uid": "l", "resourceVersion": "8",
        "labels": {labels::LABEL_JOB: "pi"}}, "spec": {"suspend": true}, "status": {"startTime": "2026-01-01T00:00:00Z"}});
    let bench = Bench::new(move |_, asked| match asked.method {
        http::Method::PUT => Reply::ok(asked.body.clone()),
        http::Method::PATCH => {
            let mut reset = stored.clone();
            reset["metadata"]["resourceVersion"] = "9".into();
            reset["status"] = json!({});
            Reply::ok(reset)
        }
        _ => Reply::ok(stored.clone()),
    });
    let step = Step::Resume {
        object: object(Kind::Job, "pi-launcher"),
        uid: Uid::from("l"),
        launcher: json!({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
    };

    let (done, _) = bench.apply(vec![step]).await;

    assert_eq!(done, Done::default());
    let asked = bench.fake.asked();
    assert_eq!(bench.fake.lines(), ["GET pi-launcher", "PATCH status", "PUT pi-launcher pi-launcher"]);
    assert_eq!(asked[1].body["status"], json!({"startTime": null}));
    assert_eq!(asked[2].body["metadata"]["resourceVersion"], "9");
    assert_eq!(asked[2].body.pointer("/spec/template/spec/nodeSelector"), Some(&json!({"a": "b"})));
    assert!(!bench.observed().launcher.unwrap().suspended);
}

/// The rows are there, the objects are not: the watch has lost their ends.
#[tokio::test(start_paused = true)]
async fn what_a_write_does_not_find_is_forgotten() {
    let patch = |kind: Kind, name: &str| Step::Patch {
        object: object(kind, name),
        uid: Uid::from(name),
        version: Version(5),
        patch: json!({"data": {}}),
        subresource: None,
        wave: Wave::LauncherUpdate,
    };
    let steps = vec![
        patch(Kind::Service, "pi"),
        patch(Kind::ConfigMap, "pi-config"),
        patch(Kind::Secret, "pi-ssh"),
        patch(Kind::Job, "pi-launcher"),
        Step::OpenGate { pod: "pi-launcher-x".into(), version: Version(5), position: 0 },
    ];
    let not_found = |asked: &Asked| {
        let name = asked.path.rsplit('/').next().unwrap();
        let message = format!("things \"{name}\" not found");
        Reply { body: json!({"reason": "NotFound", "message": message}), ..Reply::refused(404, "NotFound") }
    };
    for (is_named, left) in [(true, 0), (false, 5)] {
        let bench = Bench::new(
            move |_, asked| {
                if is_named { not_found(asked) } else { Reply::refused(404, "NotFound") }
            },
        );
        for (kind, name) in [
            (Kind::Service, "pi"),
            (Kind::ConfigMap, "pi-config"),
            (Kind::Secret, "pi-ssh"),
            (Kind::Job, "pi-launcher"),
            (Kind::Pod, "pi-launcher-x"),
        ] {
            let mut object = manifest(name);
            object["metadata"]["uid"] = name.into();
            object["metadata"]["resourceVersion"] = "5".into();
            object["metadata"]["labels"][labels::LABEL_JOB_NAME] = "pi".into();
            object["metadata"]["labels"][labels::LABEL_JOB_ROLE] = "launcher".into();
            (crate::kinds::written(kind).wrote)(&bench.index, &object.to_string().into());
        }

        // One after the other: a wave ends with its first failure.
        for step in steps.clone() {
            let (done, _) = bench.apply(vec![step]).await;
            assert_eq!(done.failures[0].reason, FailureReason::Conflict);
        }

        let observed = bench.observed();
        let rows = [
            observed.service.is_some(),
            observed.config.is_some(),
            observed.secret.is_some(),
            observed.launcher.is_some(),
            !observed.pods.is_empty(),
        ];
        assert_eq!(rows.into_iter().filter(|stays| *stays).count(), left, "{rows:?}");
    }
}

/// A leader of before, or a tenant, was faster: workers by our pin beside its ConfigMap would contradict each other.
#[tokio::test(start_paused = true)]
async fn a_config_map_with_another_pin_stops_the_reconcile_and_is_seen() {
    let config = |pin: &str| {
        let mut config = manifest("pi-config");
        config["metadata"]["annotations"] =
            json!({annotations::ANNOTATION_PIN: pin, annotations::ANNOTATION_CONTENT: "c"});
        config
    };
    for (theirs, created) in [("theirs", 0), ("ours", 1)] {
        let mut there = config(theirs);
        there["metadata"]["uid"] = "uid-of-theirs".into();
        there["metadata"]["resourceVersion"] = "7".into();
        let bench = Bench::new(move |fake, asked| match asked.line().as_str() {
            "POST configmaps pi-config" => Reply::refused(409, "AlreadyExists"),
            "GET pi-config" => Reply::ok(there.clone()),
            _ => all_well(fake, asked),
        });
        let step = Step::Create {
            object: object(Kind::ConfigMap, "pi-config"),
            manifest: config("ours"),
            wave: Wave::Dependencies,
        };

        let (done, _) = bench.apply(vec![step, workers([0])]).await;

        let reasons: Vec<_> = done.failures.iter().map(|failure| failure.reason).collect();
        assert_eq!((done.created, reasons.len()), (created, 1 - created), "{theirs}");
        assert!(reasons.iter().all(|reason| *reason == FailureReason::Conflict));
        assert_eq!(bench.observed().config.unwrap().pin.as_deref(), Some(theirs));
    }
}
