use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    desired::{Desired, WorkerTemplate},
    gate, kind,
    object::{Kind, ObjectName, Uid, Version},
    observed::{LauncherEnd, LauncherGone, ObservedConfig, ObservedObject, ObservedPod, PodPhase},
    phase,
    status::{self, Outcome},
    step::Wave,
    testing::{
        annotated, clean, complete, desired, failed, noon, object, raw, scale, suspend, valid, worker,
    },
};

/// `create Service pi` and the like, in order.
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

/// What a reconcile does.
fn all(job: &ValidJob, observed: &ObservedState) -> Vec<Step> {
    steps(
        job,
        observed,
        phase::of(job, observed),
        &gate::decide(job, observed, noon()),
        &desired(job, observed).into(),
    )
}

/// What an operator does that cannot render the job.
fn blind(job: &ValidJob, observed: &ObservedState) -> Vec<String> {
    brief(&steps(
        job,
        observed,
        phase::of(job, observed),
        &gate::decide(job, observed, noon()),
        &Wanted::Nothing,
    ))
}

fn ended(observed: &mut ObservedState) {
    observed.launcher.as_mut().unwrap().end = Some(LauncherEnd {
        complete: true,
        reason: String::new(),
        message: String::new(),
        time: Some(noon()),
    });
}

#[test]
fn everything_is_created_in_one_pass_pods_last() {
    let steps = all(&annotated(5, &[]), &ObservedState::default());

    assert_eq!(
        brief(&steps),
        [
            "create Service pi",
            "create ConfigMap pi-config",
            "create Secret pi-ssh",
            "create workers [0, 1, 2, 3, 4]",
            "create Job pi-launcher",
        ]
    );
    assert_eq!(steps[2].wave(), Wave::Dependencies);
    assert_eq!(steps[3].wave(), Wave::Pods);
}

#[test]
fn where_nothing_differs_there_is_nothing_to_do() {
    let job = annotated(3, &[]);
    let mut observed = complete(&job);
    observed.pods[3].gate = None;
    assert_eq!(brief(&all(&job, &observed)), [""; 0]);
}

#[test]
fn a_job_without_workers_gets_a_launcher_under_either_creation_policy() {
    for policy in ["AtStartup", "WaitForWorkersReady"] {
        let mut alone = raw(0);
        alone.spec.launcher_creation_policy = Some(policy.to_owned());
        let steps = brief(&all(&valid(&alone), &ObservedState::default()));
        assert_eq!(steps.last().unwrap(), "create Job pi-launcher");
        assert_eq!(steps.len(), 4);
    }
}

#[test]
fn nothing_is_created_beside_any_foreign_object() {
    let job = annotated(8, &[]);
    let others = [
        (Kind::Service, "pi"),
        (Kind::Secret, "pi-ssh"),
        (Kind::ConfigMap, "pi-config"),
        (Kind::ConfigMap, "pi-files"),
        (Kind::Job, "pi-launcher"),
        (Kind::Pod, "pi-worker-7"),
    ];
    for (kind, name) in others {
        for controller in [None, Some(Uid::from("job-0"))] {
            let theirs = ObservedObject { controller: controller.clone(), ..object(&job, "theirs") };
            let config = || Some(ObservedConfig { object: theirs.clone(), ..ObservedConfig::default() });
            let whole = complete(&job);
            let mut observed = ObservedState::default();
            match (kind, name) {
                (Kind::Service, _) => {
                    let service = whole.service.unwrap();
                    observed.service =
                        Some(crate::observed::ObservedService { object: theirs.clone(), ..service });
                }
                (Kind::Secret, _) => {
                    let secret = whole.secret.unwrap();
                    observed.secret =
                        Some(crate::observed::ObservedSecret { object: theirs.clone(), ..secret });
                }
                (Kind::ConfigMap, "pi-config") => observed.config = config(),
                (Kind::ConfigMap, _) => observed.files = config(),
                (Kind::Job, _) => {
                    let launcher = whole.launcher.unwrap();
                    observed.launcher =
                        Some(crate::observed::ObservedLauncher { object: theirs.clone(), ..launcher });
                }
                _ => observed.pods.push(ObservedPod { controller: controller.clone(), ..worker(&job, 7) }),
            }
            let name = ObjectName { kind, name: name.to_owned() };
            assert_eq!(foreign(&job, &observed, Phase::Active), std::slice::from_ref(&name));
            assert_eq!(brief(&all(&job, &observed)), [""; 0], "{name}");
        }
    }
}

#[test]
fn foreign_pods_beyond_the_jobs_size_or_of_a_suspended_job_disturb_nobody() {
    let mut held = raw(2);
    let stranger = ObservedPod { controller: None, ..worker(&valid(&held), 2) };
    let observed = ObservedState { pods: vec![stranger], ..ObservedState::default() };
    assert_eq!(all(&valid(&held), &observed).len(), 5);

    suspend(&mut held, true);
    scale(&mut held, 3);
    assert_eq!(all(&valid(&held), &observed).len(), 4);
}

#[test]
fn a_suspended_job_gets_everything_but_pods() {
    let mut held = raw(2);
    suspend(&mut held, true);
    let steps = all(&valid(&held), &ObservedState::default());

    let expected =
        ["create Service pi", "create ConfigMap pi-config", "create Secret pi-ssh", "create Job pi-launcher"];
    assert_eq!(brief(&steps), expected);
    assert!(matches!(&steps[3], Step::Create { manifest, .. } if manifest["spec"]["suspend"] == true));
}

#[test]
fn a_resumed_job_gets_its_launcher_before_its_workers() {
    let job = annotated(2, &[]);
    let mut observed = complete(&job);
    observed.pods.clear();
    observed.launcher.as_mut().unwrap().suspended = true;
    observed.config.as_mut().unwrap().content =
        crate::desired::content(&desired(&job, &observed).config).map(Into::into);

    assert_eq!(brief(&all(&job, &observed)), ["resume Job pi-launcher", "create workers [0, 1]"]);
}

#[test]
fn surplus_workers_go_the_highest_index_first() {
    let mut raw = raw(4);
    let observed = complete(&valid(&raw));
    scale(&mut raw, 2);
    let steps = brief(&all(&valid(&raw), &observed));

    assert_eq!(steps[..3], ["patch ConfigMap pi-config", "delete Pod pi-worker-3", "delete Pod pi-worker-2"]);
}

#[test]
fn an_object_that_is_being_deleted_is_waited_for_and_pods_wait_with_it() {
    let job = annotated(2, &[]);
    let leaving = ObservedObject { deleting: true, ..object(&job, "config") };
    let mut observed = ObservedState {
        config: Some(ObservedConfig { object: leaving, ..ObservedConfig::default() }),
        ..ObservedState::default()
    };
    assert_eq!(brief(&all(&job, &observed)), ["create Service pi", "create Secret pi-ssh"]);

    observed.config = None;
    assert_eq!(all(&job, &observed).len(), 5);
}

#[test]
fn files_that_change_go_and_come_back_and_never_hold_a_name_twice() {
    let job = annotated(1, &[]);
    let mut observed = complete(&job);
    observed.pods[1].gate = None;
    let files = Some(json!({"metadata": {"annotations": {"coxswain.dev/content": "new"}}}));
    let wanted = Desired { files, ..desired(&job, &observed) }.into();
    let steps =
        |observed: &ObservedState| brief(&steps(&job, observed, Phase::Active, &Gate::NotUsed, &wanted));
    assert_eq!(steps(&observed), ["create ConfigMap pi-files"]);

    let mut files = observed.config.clone().unwrap();
    files.content = Some("old".into());
    observed.files = Some(files.clone());
    assert_eq!(steps(&observed), ["delete ConfigMap pi-files"]);
    files.object.deleting = true;
    observed.files = Some(files.clone());
    assert_eq!(steps(&observed), [""; 0]);
    (files.object.deleting, files.content) = (false, Some("new".into()));
    observed.files = Some(files);
    assert_eq!(steps(&observed), [""; 0]);
}

#[test]
fn without_a_plan_nothing_is_made_but_all_that_ends_a_job_still_works() {
    assert!(blind(&annotated(2, &[]), &ObservedState::default()).is_empty());

    let mut raw = raw(3);
    let mut observed = complete(&valid(&raw));
    scale(&mut raw, 1);
    assert_eq!(
        blind(&valid(&raw), &observed),
        ["delete Pod pi-worker-2", "delete Pod pi-worker-1", "open pi-launcher-a"]
    );

    clean(&mut raw, "Running");
    suspend(&mut raw, true);
    assert_eq!(
        blind(&valid(&raw), &observed),
        [
            "patch Job pi-launcher",
            "delete Pod pi-worker-2",
            "delete Pod pi-worker-1",
            "delete Pod pi-worker-0"
        ]
    );

    suspend(&mut raw, false);
    ended(&mut observed);
    assert!(blind(&valid(&raw), &observed).is_empty(), "first the status says how it ended");
    raw.status = status::next(&valid(&raw), &observed, &Outcome::default(), noon()).status;
    assert_eq!(blind(&valid(&raw), &observed).len(), 3);
}

#[test]
fn what_is_decided_on_a_pods_state_is_deleted_only_in_that_state() {
    for (policy, is_state) in [("Running", true), ("All", false)] {
        let mut raw = raw(2);
        clean(&mut raw, policy);
        let mut observed = complete(&valid(&raw));
        ended(&mut observed);
        let steps = steps(&valid(&raw), &observed, Phase::Finished, &Gate::NotUsed, &Wanted::Nothing);
        let versions: Vec<_> = steps
            .iter()
            .map(|step| match step {
                Step::Delete { version, .. } => version.is_some(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(versions, [is_state, is_state], "{policy}");
    }
}

#[test]
fn nothing_is_made_before_it_is_certain_that_a_launcher_is_gone() {
    let mut raw = raw(2);
    let mut observed = complete(&valid(&raw));
    raw.status = status::next(&valid(&raw), &observed, &Outcome::default(), noon()).status;
    observed.launcher = None;
    let job = valid(&raw);

    assert_eq!(phase::of(&job, &observed), Phase::Active);
    let makes = |step: &Step| matches!(step, Step::Create { .. });
    assert!(!all(&job, &observed).iter().any(makes));
    observed.launcher_gone = LauncherGone::Deleted;
    assert!(all(&job, &observed).iter().any(makes));
    observed.launcher_gone = LauncherGone::Unobserved;
    assert_eq!(phase::of(&job, &observed), Phase::Lost);
    assert!(all(&job, &observed).is_empty());
}

#[test]
fn the_template_of_workers_says_which_is_which() {
    let steps = all(&annotated(2, &[]), &ObservedState::default());
    let template = steps.iter().find_map(|step| match step {
        Step::CreateWorkers { template, .. } => Some(template),
        _ => None,
    });
    let manifest = |template: &WorkerTemplate, index| -> serde_json::Value {
        serde_json::from_str(&template.manifest(index)).unwrap()
    };
    assert_eq!(manifest(template.unwrap(), 1)["metadata"]["name"], "pi-worker-1");
}

/// What becomes of a worker.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Absent,
    Pending,
    Runs,
    Ready,
    Unpublished,
    Deleting,
    Failed,
    Evicted,
    Foreign,
}

const LARGEST: u32 = 5;

fn fate() -> impl Strategy<Value = Fate> {
    use Fate::*;
    prop_oneof![
        1 => Just(Absent),
        1 => Just(Pending),
        1 => Just(Runs),
        4 => Just(Ready),
        1 => Just(Unpublished),
        1 => Just(Deleting),
        1 => Just(Failed),
        1 => Just(Evicted),
        1 => Just(Foreign),
    ]
}

/// A job, and what may be observed of it.
fn view() -> impl Strategy<Value = (ValidJob, ObservedState)> {
    let policy = prop_oneof![Just("None"), Just("Running"), Just("All")];
    let spec = (1..=LARGEST, any::<bool>(), any::<bool>(), any::<bool>(), policy);
    let objects = (0..4_u8, 0..5_u8, 0..3_u8, any::<bool>(), any::<bool>());
    (spec, objects, proptest::collection::vec(fate(), LARGEST as usize)).prop_map(
        |((workers, late, ranks, suspended, policy), (launcher, config, pods, told, gone), fates)| {
            let mut raw = raw(workers);
            raw.spec.launcher_creation_policy = late.then(|| "WaitForWorkersReady".to_owned());
            raw.spec.run_launcher_as_worker = Some(ranks);
            clean(&mut raw, policy);
            let job = valid(&raw);
            let mut observed = complete(&job);
            if told {
                raw.status = status::next(&job, &observed, &Outcome::default(), noon()).status;
            }
            suspend(&mut raw, suspended);
            let launchers = observed.pods.split_off(workers as usize);
            observed.pods =
                fates.iter().zip(0..).filter_map(|(fate, index)| fated(&job, *fate, index)).collect();
            if let Some(Fate::Unpublished) = fates.first() {
                observed.published.remove(&Uid::from("worker-0"));
            }
            observed.pods.extend(launchers.into_iter().take(usize::from(pods > 0)));
            match launcher {
                0 => observed.launcher = None,
                1 => observed.launcher.as_mut().unwrap().suspended = true,
                2 => ended(&mut observed),
                _ => {}
            }
            observed.launcher_gone = if gone { LauncherGone::Deleted } else { LauncherGone::Unknown };
            match config {
                0 => observed.config = None,
                1 => observed.config.as_mut().unwrap().content = Some("old".into()),
                2 => observed.config.as_mut().unwrap().pin = None,
                3 => observed.config.as_mut().unwrap().object.deleting = true,
                _ => {}
            }
            (valid(&raw), observed)
        },
    )
}

fn fated(job: &ValidJob, fate: Fate, index: u32) -> Option<ObservedPod> {
    let pod = worker(job, index);
    match fate {
        Fate::Absent => None,
        Fate::Pending => Some(ObservedPod { phase: PodPhase::Pending, ready: false, ..pod }),
        Fate::Runs => Some(ObservedPod { ready: false, ..pod }),
        Fate::Ready | Fate::Unpublished => Some(pod),
        Fate::Deleting => Some(ObservedPod { deleting: true, ..pod }),
        Fate::Failed => Some(failed(pod, "Error")),
        Fate::Evicted => Some(failed(pod, "Evicted")),
        Fate::Foreign => Some(ObservedPod { controller: None, ..pod }),
    }
}

/// In order of waves, nothing twice or beyond the job's size, and deletes name the very object that is there.
fn check(steps: &[Step], observed: &ObservedState, job: &ValidJob) {
    assert!(steps.is_sorted_by_key(Step::wave), "{steps:?}");
    let mut names = BTreeSet::new();
    let mut make = |name: String| assert!(names.insert(name.clone()), "{name} is created twice");
    for step in steps {
        match step {
            Step::Create { object, .. } | Step::CreateSecret { object, .. } => make(object.to_string()),
            Step::CreateWorkers { indexes, .. } => {
                assert!(!indexes.is_empty() && indexes.len() <= job.workers() as usize);
                for index in indexes {
                    assert!(observed.workers().all(|pod| pod.index != *index), "worker {index} is there");
                    assert!(*index < job.workers());
                    make(format!("worker {index}"));
                }
            }
            Step::Delete { object, uid, .. } if object.kind == Kind::Pod => {
                let pod = observed.workers().find(|pod| pod.uid == *uid).unwrap();
                assert_eq!(
                    (pod.role, job.pod_name(pod.id()).to_string(), pod.controller.as_ref()),
                    (kind::WORKER, object.name.clone(), Some(job.uid()))
                );
            }
            Step::Delete { uid, .. } => assert!(*uid != Uid::default()),
            Step::Patch { version, .. } => assert!(*version != Version::default()),
            Step::Resume { .. } | Step::OpenGate { .. } => {}
        }
    }
}

proptest! {
    #[test]
    fn steps_are_a_function_of_their_arguments_and_in_order((job, observed) in view()) {
        let (phase, gate) = (phase::of(&job, &observed), gate::decide(&job, &observed, noon()));
        let wanted: Wanted = desired(&job, &observed).into();
        let first = steps(&job, &observed, phase, &gate, &wanted);
        check(&first, &observed, &job);
        prop_assert_eq!(&first, &steps(&job, &observed, phase, &gate, &wanted));
        let mut shuffled = observed.clone();
        shuffled.pods.reverse();
        prop_assert_eq!(&first, &steps(&job, &shuffled, phase, &gate, &wanted));
        let blind = steps(&job, &observed, phase, &Gate::NotUsed, &Wanted::Nothing);
        check(&blind, &observed, &job);
        let makes = |step: &Step| {
            matches!(step, Step::Create { .. } | Step::CreateSecret { .. } | Step::CreateWorkers { .. })
        };
        prop_assert!(!blind.iter().any(makes));
    }
}
