//! Jobs of a kind with several groups of workers: each group is created, scaled, waited for, counted and granted to by itself.

use jiff::ToSpan as _;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{
    api::MpiJob,
    diff,
    gate::{self, Gate, Missing},
    job::{ValidJob, Verdict},
    kind::{
        PodId, WORKER,
        three_roles::{SERVER, THREE_ROLES},
    },
    object::Uid,
    observed::{LauncherEnd, ObservedPod, ObservedState, PodFailure, PodPhase},
    phase::Phase,
    plan::{Change, Descriptor, Edit, Plan, Port},
    policy::{self, ClusterPolicy},
    status::{self, Outcome, StatusUpdate},
    step::Step,
    testing::{complete, desired, noon, raw, worker},
};

/// Three workers and two servers.
fn three_and_two() -> MpiJob {
    let mut raw = raw(3);
    let specs = raw.spec.mpi_replica_specs.as_mut().unwrap();
    let mut server = specs["Worker"].clone();
    server.as_mut().unwrap().replicas = Some(2);
    specs.insert("Server".to_owned(), server);
    raw.metadata.generation = 1;
    raw
}

fn valid(raw: &MpiJob) -> ValidJob {
    match ValidJob::parse_as(&THREE_ROLES, raw, None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

/// Everything of it runs but the launcher, which waits behind its gate.
fn observed(job: &ValidJob) -> ObservedState {
    let mut observed = complete(job);
    observed.pods.retain(|pod| pod.role.is_driver());
    for group in job.groups().run_by_pods() {
        for index in 0..group.replicas() {
            let uid = Uid::from(&*format!("{}-{index}", group.role().name));
            observed.published.insert(uid.clone());
            observed.pods.push(ObservedPod { role: group.id(), uid, ..worker(job, index) });
        }
    }
    observed
}

fn pod(observed: &mut ObservedState, id: PodId) -> &mut ObservedPod {
    observed.pods.iter_mut().find(|pod| pod.id() == id).unwrap()
}

fn server(index: u32) -> PodId {
    PodId { role: SERVER, index }
}

fn steps(job: &ValidJob, observed: &ObservedState) -> Vec<Step> {
    diff::steps(job, observed, Phase::Active, &Gate::NotUsed, &desired(job, observed).into())
}

/// Names of the workers that would be created.
fn created(steps: &[Step]) -> Vec<String> {
    let names = |step: &Step| match step {
        Step::CreateWorkers { template, indexes } => {
            indexes.iter().map(|index| template.object(*index).name).collect()
        }
        _ => Vec::new(),
    };
    steps.iter().flat_map(names).collect()
}

fn told(raw: &MpiJob, observed: &ObservedState) -> StatusUpdate {
    status::next(&valid(raw), observed, &Outcome::default(), noon())
}

#[test]
fn each_group_gets_its_own_pods_under_names_of_its_role() {
    let job = valid(&three_and_two());
    assert_eq!(
        created(&steps(&job, &ObservedState::default())),
        ["pi-worker-0", "pi-worker-1", "pi-worker-2", "pi-server-0", "pi-server-1"]
    );

    let mut observed = observed(&job);
    observed.pods.retain(|pod| pod.id() != server(1));

    let steps = steps(&job, &observed);
    assert_eq!(created(&steps), ["pi-server-1"], "worker 1 does not hold its name");
    let Some(Step::CreateWorkers { template, .. }) = steps.last() else { panic!("{steps:?}") };
    let manifest: serde_json::Value = serde_json::from_str(&template.manifest(1)).unwrap();
    assert_eq!(manifest["metadata"]["labels"]["training.kubeflow.org/job-role"], "server");
    assert_eq!(manifest["spec"]["restartPolicy"], "OnFailure");
}

#[test]
fn a_group_shrinks_by_its_own_size() {
    let job = valid(&three_and_two());
    let mut observed = observed(&job);
    observed.pods.push(ObservedPod { role: SERVER, ..worker(&job, 2) });

    let steps = steps(&job, &observed);

    let deleted: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Delete { object, .. } => Some(object.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deleted, ["pi-server-2"], "worker 2 stays");
}

#[test]
fn the_driver_waits_for_every_group() {
    let job = valid(&three_and_two());
    let mut observed = observed(&job);
    assert!(matches!(gate::decide(&job, &observed, noon()), Gate::Open { .. }));

    pod(&mut observed, server(1)).ready = false;

    let Gate::Closed { waiting_for, .. } = gate::decide(&job, &observed, noon()) else { panic!("it opens") };
    assert_eq!(waiting_for, Missing { sample: vec![server(1)], count: 1 });
    assert!(!gate::is_launcher_due(&job, &observed));
}

#[test]
fn a_job_runs_once_all_groups_do_and_each_is_counted_under_its_key() {
    let raw = three_and_two();
    let mut observed = observed(&valid(&raw));
    let launcher = observed.pods.iter_mut().find(|pod| pod.role.is_driver()).unwrap();
    (launcher.phase, launcher.gate) = (PodPhase::Running, None);
    pod(&mut observed, server(0)).phase = PodPhase::Pending;
    let status = told(&raw, &observed).status.unwrap();
    assert_eq!(
        json!(status.replica_statuses),
        json!({"Launcher": {"active": 1}, "Worker": {"active": 3}, "Server": {"active": 1}})
    );
    assert!(!status::condition::is_true(&status, status::condition::RUNNING));

    pod(&mut observed, server(0)).phase = PodPhase::Running;

    let update = told(&raw, &observed);
    assert!(status::condition::is_true(&update.status.unwrap(), status::condition::RUNNING));
    let last = update.events.last().unwrap();
    assert_eq!(
        (last.reason.as_str(), last.message.as_str()),
        ("ServedJobRunning", "ServedJob team-a/pi is running")
    );
}

#[test]
fn a_pod_of_any_group_that_is_lost_fails_the_job() {
    let mut raw = three_and_two();
    let mut observed = observed(&valid(&raw));
    let launcher = observed.pods.iter_mut().find(|pod| pod.role.is_driver()).unwrap();
    (launcher.phase, launcher.gate) = (PodPhase::Running, None);
    raw.status = told(&raw, &observed).status;
    let ended = noon() + 60.seconds();
    let end =
        LauncherEnd { complete: true, reason: String::new(), message: String::new(), time: Some(ended) };
    observed.launcher.as_mut().unwrap().end = Some(end);
    let failed = pod(&mut observed, server(1));
    failed.phase = PodPhase::Failed;
    let finished = Some(noon() + 50.seconds());
    failed.failure = Some(Box::new(PodFailure { finished, ..PodFailure::default() }));

    let update = status::next(&valid(&raw), &observed, &Outcome::default(), ended + 9.seconds());

    let said = update.events.last().unwrap();
    assert_eq!(said.reason, "WorkerLost");
    assert!(said.message.contains("pi-server-1 failed 10 s before"), "{}", said.message);
}

#[test]
fn a_plan_is_granted_to_the_group_that_it_names() {
    let job = valid(&three_and_two());
    let port = Change::Port(Port { name: "serve".to_owned(), number: 4000 });
    let plan = |group: &str| {
        let edit = Edit { by: "mpi".to_owned(), group: Some(group.to_owned()), change: port.clone() };
        let plan = Plan { edits: vec![edit], ..Plan::default() };
        let plugin = Descriptor { name: "mpi".to_owned(), ..Descriptor::default() };
        policy::grant(&job, &plan, &[&plugin], &ClusterPolicy::default())
    };

    let granted = plan("server").unwrap();
    assert_eq!((granted.of(SERVER).ports.len(), granted.of(WORKER).ports.len()), (1, 0));

    let refused = plan("ps").unwrap_err();
    let text = r#"unknown group "ps": the groups are "launcher" and "worker" and "server""#;
    assert_eq!(refused[0].text, text);
}
