use pretty_assertions::assert_eq;

use super::*;
use crate::{
    api::MpiJob,
    object::Kind,
    observed::{ObservedPodGroup, PodPhase},
    testing::{desired_under, native_group, raw, valid, worker},
};

fn job(workers: u32, edit: impl FnOnce(&mut MpiJob)) -> ValidJob {
    let mut raw = raw(workers);
    raw.metadata.generation = 3;
    edit(&mut raw);
    valid(&raw)
}

fn annotated(workers: u32, annotations: &[(&str, &str)]) -> ValidJob {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    job(workers, |raw| raw.metadata.annotations.extend(annotations.iter().map(owned)))
}

fn policy(raw: &mut MpiJob, policy: Value) {
    raw.spec.run_policy.as_mut().unwrap().scheduling_policy = serde_json::from_value(policy).unwrap();
}

fn template<'a>(raw: &'a mut MpiJob, role: &str) -> &'a mut Value {
    let specs = raw.spec.mpi_replica_specs.as_mut().unwrap();
    &mut specs.get_mut(role).unwrap().as_mut().unwrap().template["spec"]
}

/// The gang of a job of which nothing exists.
fn first(job: &ValidJob) -> NativeGang {
    NativeGang::of(job, &Gang::Native, &ObservedState::default()).unwrap()
}

fn group(job: &ValidJob, name: &str, deleting: bool) -> ObservedPodGroup {
    native_group(job, name, 2, deleting)
}

#[test]
fn the_gang_is_the_workers_and_a_launcher_that_starts_with_them() {
    let shape = |annotations: &[(&str, &str)]| {
        let gang = first(&annotated(4, annotations));
        (gang.min_count(), gang.has_launcher())
    };
    assert_eq!(shape(&[]), (4, false));
    assert_eq!(shape(&[("coxswain.dev/start-gate", "none")]), (5, true));
    assert_eq!(shape(&[("coxswain.dev/start-min-workers", "2")]), (2, false));
    assert_eq!(shape(&[("coxswain.dev/start-min-workers", "9")]), (4, false));
    let late = job(4, |raw| {
        raw.spec.launcher_creation_policy = Some("WaitForWorkersReady".to_owned());
        raw.metadata.annotations.insert("coxswain.dev/start-gate".to_owned(), "none".to_owned());
    });
    assert!(!first(&late).has_launcher());
    assert_eq!(NativeGang::of(&job(0, |_| ()), &Gang::Native, &ObservedState::default()), None);
}

#[test]
fn min_available_holds_within_the_members() {
    for (stated, least) in [(json!(3), 3), (json!(9), 4), (json!(0), 4), (json!(-1), 4)] {
        let job = job(4, |raw| policy(raw, json!({"minAvailable": stated})));
        assert_eq!(first(&job).min_count(), least, "{stated}");
    }
}

#[test]
fn members_that_have_ended_are_not_waited_for() {
    let job = job(4, |_| ());
    let mut observed = ObservedState { pod_group: Some(group(&job, "g", false)), ..ObservedState::default() };
    observed.pods = (0..4).map(|index| worker(&job, index)).collect();
    observed.pods[1].phase = PodPhase::Succeeded;

    assert_eq!(NativeGang::of(&job, &Gang::Native, &observed).unwrap().min_count(), 3);
}

#[test]
fn each_start_has_a_name_of_its_own_and_a_worker_made_anew_joins_the_others() {
    let job = job(2, |_| ());
    let named = |observed: &ObservedState| {
        NativeGang::of(&job, &Gang::Native, observed).map(|gang| gang.name().to_owned())
    };
    let with = |group: ObservedPodGroup, pods: Vec<_>| ObservedState {
        pod_group: Some(group),
        pods,
        ..ObservedState::default()
    };
    let (mut leaving, runs) = (worker(&job, 0), worker(&job, 1));
    leaving.deleting = true;

    assert_eq!(first(&job).name(), "pi-job1-3");
    assert_eq!(named(&with(group(&job, "pi-job1-1", false), vec![runs.clone()])).unwrap(), "pi-job1-1");
    // Deleted by hand: it goes with its last member.
    assert_eq!(named(&with(group(&job, "pi-job1-1", true), vec![runs.clone()])).unwrap(), "pi-job1-1");
    // Resumed while the pods of the earlier start terminate.
    assert_eq!(named(&with(group(&job, "pi-job1-1", true), vec![leaving])).unwrap(), "pi-job1-3");
    // Preempted, all of them, and again: those that come next must not count those that go.
    let mut goes = worker(&job, 0);
    goes.deleting = true;
    assert_eq!(named(&with(group(&job, "pi-job1-1", false), vec![goes.clone()])).unwrap(), "pi-job1-3");
    assert_eq!(named(&with(group(&job, "pi-job1-3", false), vec![goes.clone()])).unwrap(), "pi-job1-3r1");
    assert_eq!(named(&with(group(&job, "pi-job1-3r1", false), vec![goes.clone()])).unwrap(), "pi-job1-3r2");
    assert_eq!(
        named(&with(group(&job, "pi-job1-3r1", false), vec![goes, runs.clone()])).unwrap(),
        "pi-job1-3r1"
    );
    // Started before the operator knew of native gangs.
    assert_eq!(named(&ObservedState { pods: vec![runs], ..ObservedState::default() }), None);
}

#[test]
fn workers_name_their_group_and_a_gated_launcher_does_not() {
    let job = job(2, |_| ());
    let desired = desired_under(&Gang::Native, &job, &ObservedState::default());

    let (kind, group) = desired.pod_group.unwrap();
    let worker: Value = serde_json::from_str(&desired.workers[0].manifest(0)).unwrap();
    assert_eq!(kind, Kind::NativePodGroup);
    assert_eq!(
        group["spec"],
        json!({"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}})
    );
    assert_eq!(group["metadata"]["ownerReferences"][0]["blockOwnerDeletion"], false);
    assert_eq!(worker["spec"]["schedulingGroup"], json!({"podGroupName": group["metadata"]["name"]}));
    assert_eq!(worker["spec"]["schedulerName"], Value::Null);
    let launcher = &desired.launcher["spec"]["template"]["spec"];
    assert_eq!(launcher["schedulingGroup"], Value::Null);
    assert_eq!(launcher["schedulingGates"][0]["name"], "coxswain.dev/workers");
}

#[test]
fn policy_topology_and_claims_become_the_groups() {
    let claims = json!([{"name": "chan", "resourceClaimTemplateName": "imex"}, {"name": "nic"}]);
    let job = job(2, |raw| {
        policy(raw, json!({"priorityClass": "high", "queue": "q"}));
        template(raw, "Worker")["resourceClaims"] = claims.clone();
        raw.metadata.annotations.insert("coxswain.dev/topology".to_owned(), "example.com/rack".to_owned());
        raw.metadata.annotations.insert("coxswain.dev/shared-claims".to_owned(), "chan".to_owned());
        raw.metadata.annotations.insert("coxswain.dev/start-min-workers".to_owned(), "1".to_owned());
    });
    assert_eq!(violations(&job, &Gang::Native), []);

    let desired = desired_under(&Gang::Native, &job, &ObservedState::default());
    let worker: Value = serde_json::from_str(&desired.workers[0].manifest(0)).unwrap();
    assert_eq!(
        desired.pod_group.unwrap().1["spec"],
        json!({
            "schedulingPolicy": {"gang": {"minCount": 1}},
            "priorityClassName": "high",
            "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
            "resourceClaims": [claims[0]],
        })
    );
    assert_eq!(worker["spec"]["priorityClassName"], "high");
    assert_eq!(ignored(&job, &Gang::Native).len(), 1);
}

#[test]
fn a_template_that_names_a_group_keeps_it() {
    let job = job(2, |raw| template(raw, "Worker")["schedulingGroup"] = json!({"podGroupName": "kueue"}));

    let desired = desired_under(&Gang::Native, &job, &ObservedState::default());

    let worker: Value = serde_json::from_str(&desired.workers[0].manifest(0)).unwrap();
    assert_eq!(desired.pod_group, None);
    assert_eq!(worker["spec"]["schedulingGroup"]["podGroupName"], "kueue");
}

#[test]
fn what_no_scheduler_could_place_is_refused_with_the_way_out() {
    let text = |job: &ValidJob, gang: &Gang| {
        violations(job, gang)
            .into_iter()
            .map(|v| format!("{}: {}", v.path, v.text))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let topology = annotated(2, &[("coxswain.dev/topology", "rack")]);
    assert!(text(&topology, &Gang::Off).contains("--gang-scheduling=native"));
    assert!(text(&topology, &Gang::Volcano).contains("highest tier"));
    assert_eq!(text(&annotated(2, &[("coxswain.dev/topology", "2")]), &Gang::Volcano), "");
    assert_eq!(text(&topology, &Gang::Native), "");

    let two = job(2, |raw| {
        policy(raw, json!({"priorityClass": "high"}));
        template(raw, "Worker")["priorityClassName"] = json!("low");
    });
    assert!(
        text(&two, &Gang::Native).contains("priorityClass: is \"high\" and the priorityClassName of Worker")
    );

    let unlike = job(2, |raw| {
        template(raw, "Worker")["priorityClassName"] = json!("low");
        raw.metadata.annotations.insert("coxswain.dev/start-gate".to_owned(), "none".to_owned());
    });
    assert!(text(&unlike, &Gang::Native).contains("must agree"));
    // A launcher behind its gate is no member, and may differ.
    assert_eq!(
        text(&job(2, |raw| template(raw, "Worker")["priorityClassName"] = json!("low")), &Gang::Native),
        ""
    );

    let absent = annotated(2, &[("coxswain.dev/shared-claims", "chan")]);
    assert!(
        text(&absent, &Gang::Native).contains("no entry of spec.resourceClaims of the template of Worker")
    );
}

#[test]
fn where_jobs_may_choose_only_those_are_gangs_that_ask() {
    let (asks, silent) = (annotated(2, &[("coxswain.dev/gang-scheduling", "native")]), annotated(2, &[]));
    let opts_out = annotated(2, &[("coxswain.dev/gang-scheduling", "none")]);
    let is_gang =
        |job: &ValidJob, gang: &Gang| NativeGang::of(job, gang, &ObservedState::default()).is_some();

    assert!(is_gang(&asks, &Gang::NativeByJob));
    assert!(!is_gang(&silent, &Gang::NativeByJob) && !is_gang(&opts_out, &Gang::NativeByJob));
    assert_eq!(violations(&opts_out, &Gang::NativeByJob), []);
    assert_eq!(violations(&asks, &Gang::Native), []);
    for (job, gang) in [(&opts_out, Gang::Native), (&asks, Gang::Off)] {
        let found = violations(job, &gang);
        assert_eq!(found[0].path, "metadata.annotations[coxswain.dev/gang-scheduling]", "{found:?}");
    }
}

#[test]
fn volcano_takes_a_tier() {
    let job = annotated(2, &[("coxswain.dev/topology", "2")]);

    let (_, group) = desired_under(&Gang::Volcano, &job, &ObservedState::default()).pod_group.unwrap();

    assert_eq!(group["spec"]["networkTopology"], json!({"mode": "hard", "highestTierAllowed": 2}));
}

#[test]
fn later_starts_are_greater() {
    let names = ["pi", "pi-12345-2", "pi-12345-3", "pi-12345-3r1", "pi-12345-3r10", "pi-12345-10"];

    assert!(names.map(start).is_sorted(), "{:?}", names.map(start));
}
