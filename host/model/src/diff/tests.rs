use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    desired::{Desired, WorkerTemplate},
    gate,
    object::{Kind, ObjectName, Uid, Version},
    phase,
    seen::{ConfigSeen, LauncherEnd, LauncherGone, ObjectSeen, PodPhase, PodSeen, Role},
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
fn all(job: &ValidJob, seen: &Seen) -> Vec<Step> {
    steps(job, seen, phase::of(job, seen), &gate::decide(job, seen, noon()), &desired(job, seen).into())
}

/// What an operator does that cannot render the job.
fn blind(job: &ValidJob, seen: &Seen) -> Vec<String> {
    brief(&steps(job, seen, phase::of(job, seen), &gate::decide(job, seen, noon()), &Wanted::Nothing))
}

fn ended(seen: &mut Seen) {
    seen.launcher.as_mut().unwrap().end = Some(LauncherEnd {
        complete: true,
        reason: String::new(),
        message: String::new(),
        time: Some(noon()),
    });
}

#[test]
fn everything_is_created_in_one_pass_pods_last() {
    let steps = all(&annotated(5, &[]), &Seen::default());

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
    let mut seen = complete(&job);
    seen.pods[3].gate = None;
    assert_eq!(brief(&all(&job, &seen)), [""; 0]);
}

#[test]
fn a_job_without_workers_gets_a_launcher_under_either_creation_policy() {
    for policy in ["AtStartup", "WaitForWorkersReady"] {
        let mut alone = raw(0);
        alone.spec.launcher_creation_policy = Some(policy.to_owned());
        let steps = brief(&all(&valid(&alone), &Seen::default()));
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
            let theirs = ObjectSeen { controller: controller.clone(), ..object(&job, "theirs") };
            let config = || Some(ConfigSeen { object: theirs.clone(), ..ConfigSeen::default() });
            let whole = complete(&job);
            let mut seen = Seen::default();
            match (kind, name) {
                (Kind::Service, _) => {
                    let service = whole.service.unwrap();
                    seen.service = Some(crate::seen::ServiceSeen { object: theirs.clone(), ..service });
                }
                (Kind::Secret, _) => {
                    let secret = whole.secret.unwrap();
                    seen.secret = Some(crate::seen::SecretSeen { object: theirs.clone(), ..secret });
                }
                (Kind::ConfigMap, "pi-config") => seen.config = config(),
                (Kind::ConfigMap, _) => seen.files = config(),
                (Kind::Job, _) => {
                    let launcher = whole.launcher.unwrap();
                    seen.launcher = Some(crate::seen::LauncherSeen { object: theirs.clone(), ..launcher });
                }
                _ => seen.pods.push(PodSeen { controller: controller.clone(), ..worker(&job, 7) }),
            }
            let name = ObjectName { kind, name: name.to_owned() };
            assert_eq!(foreign(&job, &seen, Phase::Active), std::slice::from_ref(&name));
            assert_eq!(brief(&all(&job, &seen)), [""; 0], "{name}");
        }
    }
}

#[test]
fn foreign_pods_beyond_the_jobs_size_or_of_a_suspended_job_disturb_nobody() {
    let mut held = raw(2);
    let stranger = PodSeen { controller: None, ..worker(&valid(&held), 2) };
    let seen = Seen { pods: vec![stranger], ..Seen::default() };
    assert_eq!(all(&valid(&held), &seen).len(), 5);

    suspend(&mut held, true);
    scale(&mut held, 3);
    assert_eq!(all(&valid(&held), &seen).len(), 4);
}

#[test]
fn a_suspended_job_gets_everything_but_pods() {
    let mut held = raw(2);
    suspend(&mut held, true);
    let steps = all(&valid(&held), &Seen::default());

    let expected =
        ["create Service pi", "create ConfigMap pi-config", "create Secret pi-ssh", "create Job pi-launcher"];
    assert_eq!(brief(&steps), expected);
    assert!(matches!(&steps[3], Step::Create { manifest, .. } if manifest["spec"]["suspend"] == true));
}

#[test]
fn a_resumed_job_gets_its_launcher_before_its_workers() {
    let job = annotated(2, &[]);
    let mut seen = complete(&job);
    seen.pods.clear();
    seen.launcher.as_mut().unwrap().suspended = true;
    seen.config.as_mut().unwrap().content =
        crate::desired::content(&desired(&job, &seen).config).map(Into::into);

    assert_eq!(brief(&all(&job, &seen)), ["resume Job pi-launcher", "create workers [0, 1]"]);
}

#[test]
fn surplus_workers_go_the_highest_index_first() {
    let mut raw = raw(4);
    let seen = complete(&valid(&raw));
    scale(&mut raw, 2);
    let steps = brief(&all(&valid(&raw), &seen));

    assert_eq!(steps[..3], ["patch ConfigMap pi-config", "delete Pod pi-worker-3", "delete Pod pi-worker-2"]);
}

#[test]
fn an_object_that_is_being_deleted_is_waited_for_and_pods_wait_with_it() {
    let job = annotated(2, &[]);
    let leaving = ObjectSeen { deleting: true, ..object(&job, "config") };
    let mut seen =
        Seen { config: Some(ConfigSeen { object: leaving, ..ConfigSeen::default() }), ..Seen::default() };
    assert_eq!(brief(&all(&job, &seen)), ["create Service pi", "create Secret pi-ssh"]);

    seen.config = None;
    assert_eq!(all(&job, &seen).len(), 5);
}

#[test]
fn files_that_change_go_and_come_back_and_never_hold_a_name_twice() {
    let job = annotated(1, &[]);
    let mut seen = complete(&job);
    seen.pods[1].gate = None;
    let files = Some(json!({"metadata": {"annotations": {"coxswain.dev/content": "new"}}}));
    let wanted = Desired { files, ..desired(&job, &seen) }.into();
    let steps = |seen: &Seen| brief(&steps(&job, seen, Phase::Active, &Gate::NotUsed, &wanted));
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
    assert!(blind(&annotated(2, &[]), &Seen::default()).is_empty());

    let mut raw = raw(3);
    let mut seen = complete(&valid(&raw));
    scale(&mut raw, 1);
    assert_eq!(
        blind(&valid(&raw), &seen),
        ["delete Pod pi-worker-2", "delete Pod pi-worker-1", "open pi-launcher-a"]
    );

    clean(&mut raw, "Running");
    suspend(&mut raw, true);
    assert_eq!(
        blind(&valid(&raw), &seen),
        [
            "patch Job pi-launcher",
            "delete Pod pi-worker-2",
            "delete Pod pi-worker-1",
            "delete Pod pi-worker-0"
        ]
    );

    suspend(&mut raw, false);
    ended(&mut seen);
    assert!(blind(&valid(&raw), &seen).is_empty(), "first the status says how it ended");
    raw.status = status::next(&valid(&raw), &seen, &Outcome::default(), noon()).status;
    assert_eq!(blind(&valid(&raw), &seen).len(), 3);
}

#[test]
fn what_is_decided_on_a_pods_state_is_deleted_only_in_that_state() {
    for (policy, is_state) in [("Running", true), ("All", false)] {
        let mut raw = raw(2);
        clean(&mut raw, policy);
        let mut seen = complete(&valid(&raw));
        ended(&mut seen);
        let steps = steps(&valid(&raw), &seen, Phase::Finished, &Gate::NotUsed, &Wanted::Nothing);
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
    let mut seen = complete(&valid(&raw));
    raw.status = status::next(&valid(&raw), &seen, &Outcome::default(), noon()).status;
    seen.launcher = None;
    let job = valid(&raw);

    assert_eq!(phase::of(&job, &seen), Phase::Active);
    let makes = |step: &Step| matches!(step, Step::Create { .. });
    assert!(!all(&job, &seen).iter().any(makes));
    seen.launcher_gone = LauncherGone::Deleted;
    assert!(all(&job, &seen).iter().any(makes));
    seen.launcher_gone = LauncherGone::Unseen;
    assert_eq!(phase::of(&job, &seen), Phase::Lost);
    assert!(all(&job, &seen).is_empty());
}

#[test]
fn the_template_of_workers_says_which_is_which() {
    let steps = all(&annotated(2, &[]), &Seen::default());
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

/// A job, and what may be seen of it.
fn view() -> impl Strategy<Value = (ValidJob, Seen)> {
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
            let mut seen = complete(&job);
            if told {
                raw.status = status::next(&job, &seen, &Outcome::default(), noon()).status;
            }
            suspend(&mut raw, suspended);
            let launchers = seen.pods.split_off(workers as usize);
            seen.pods = fates.iter().zip(0..).filter_map(|(fate, index)| fated(&job, *fate, index)).collect();
            if let Some(Fate::Unpublished) = fates.first() {
                seen.published.remove(&Uid::from("worker-0"));
            }
            seen.pods.extend(launchers.into_iter().take(usize::from(pods > 0)));
            match launcher {
                0 => seen.launcher = None,
                1 => seen.launcher.as_mut().unwrap().suspended = true,
                2 => ended(&mut seen),
                _ => {}
            }
            seen.launcher_gone = if gone { LauncherGone::Deleted } else { LauncherGone::Unknown };
            match config {
                0 => seen.config = None,
                1 => seen.config.as_mut().unwrap().content = Some("old".into()),
                2 => seen.config.as_mut().unwrap().pin = None,
                3 => seen.config.as_mut().unwrap().object.deleting = true,
                _ => {}
            }
            (valid(&raw), seen)
        },
    )
}

fn fated(job: &ValidJob, fate: Fate, index: u32) -> Option<PodSeen> {
    let pod = worker(job, index);
    match fate {
        Fate::Absent => None,
        Fate::Pending => Some(PodSeen { phase: PodPhase::Pending, ready: false, ..pod }),
        Fate::Runs => Some(PodSeen { ready: false, ..pod }),
        Fate::Ready | Fate::Unpublished => Some(pod),
        Fate::Deleting => Some(PodSeen { deleting: true, ..pod }),
        Fate::Failed => Some(failed(pod, "Error")),
        Fate::Evicted => Some(failed(pod, "Evicted")),
        Fate::Foreign => Some(PodSeen { controller: None, ..pod }),
    }
}

/// In order of waves, nothing twice or beyond the job's size, and deletes name the very object that is there.
fn check(steps: &[Step], seen: &Seen, job: &ValidJob) {
    assert!(steps.is_sorted_by_key(Step::wave), "{steps:?}");
    let mut names = BTreeSet::new();
    let mut make = |name: String| assert!(names.insert(name.clone()), "{name} is created twice");
    for step in steps {
        match step {
            Step::Create { object, .. } | Step::CreateSecret { object, .. } => make(object.to_string()),
            Step::CreateWorkers { indexes, .. } => {
                assert!(!indexes.is_empty() && indexes.len() <= job.workers() as usize);
                for index in indexes {
                    assert!(seen.workers().all(|pod| pod.index != *index), "worker {index} is there");
                    assert!(*index < job.workers());
                    make(format!("worker {index}"));
                }
            }
            Step::Delete { object, uid, .. } if object.kind == Kind::Pod => {
                let pod = seen.workers().find(|pod| pod.uid == *uid).unwrap();
                assert_eq!(
                    (pod.role, pod.name(job.names()), pod.controller.as_ref()),
                    (Role::Worker, object.name.clone(), Some(job.uid()))
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
    fn steps_are_a_function_of_their_arguments_and_in_order((job, seen) in view()) {
        let (phase, gate) = (phase::of(&job, &seen), gate::decide(&job, &seen, noon()));
        let wanted: Wanted = desired(&job, &seen).into();
        let first = steps(&job, &seen, phase, &gate, &wanted);
        check(&first, &seen, &job);
        prop_assert_eq!(&first, &steps(&job, &seen, phase, &gate, &wanted));
        let mut shuffled = seen.clone();
        shuffled.pods.reverse();
        prop_assert_eq!(&first, &steps(&job, &shuffled, phase, &gate, &wanted));
        let blind = steps(&job, &seen, phase, &Gate::NotUsed, &Wanted::Nothing);
        check(&blind, &seen, &job);
        let makes = |step: &Step| {
            matches!(step, Step::Create { .. } | Step::CreateSecret { .. } | Step::CreateWorkers { .. })
        };
        prop_assert!(!blind.iter().any(makes));
    }
}
