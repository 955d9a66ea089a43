//! Where a job must be in the end, by what its spec says and how its launchers end: from what the MPI Operator does
//! (`upstream-behaviour.md`) and what users were promised, and not from the operator's own model.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    fleet::Fleet,
    network::Network,
    plan::{Fault, Plan, WriteFault},
    server::{
        kind::{EVENT, JOB, LEASE, MPI_JOB, POD},
        store::{Object, text},
    },
    users::{OTHERS, TEAM},
};

/// What the names of team B's jobs begin with that nobody can run.
const HOSTILE: &str = "hostile-";

/// What is wrong with where the jobs are.
pub fn check(plan: &Plan, network: &Network) -> Vec<String> {
    let jobs = network.server.all(&MPI_JOB, Some(TEAM));
    let mut wrong: Vec<String> = jobs.iter().flat_map(|job| of(plan, network, job)).collect();
    wrong.extend(unnamed(network));
    let alive: Vec<&str> = jobs.iter().map(|job| text(job, "uid")).collect();
    for kind in [&POD, &JOB] {
        for object in network.server.all(kind, Some(TEAM)) {
            let owner = object["metadata"]["ownerReferences"][0].clone();
            let is_left =
                owner["kind"] == "MPIJob" && !alive.contains(&owner["uid"].as_str().unwrap_or_default());
            if is_left {
                wrong.push(format!("{} {} is left of a job that is gone", kind.kind, text(&object, "name")));
            }
        }
    }
    wrong
}

/// Team B's jobs that nobody can run, and of which nobody says so.
fn unnamed(network: &Network) -> Vec<String> {
    let jobs = network.server.all(&MPI_JOB, Some(OTHERS));
    let events = network.server.all(&EVENT, Some(OTHERS));
    let is_told = |job: &&Object| {
        let warns = |event: &&Object| {
            event["type"] == "Warning" && event["involvedObject"]["uid"] == job["metadata"]["uid"]
        };
        events.iter().any(|event| warns(&event))
    };
    let hostile = jobs.iter().filter(|job| text(job, "name").starts_with(HOSTILE));
    hostile
        .filter(|job| !is_told(job))
        .map(|job| {
            format!("{}: nobody says what keeps it; its status is {}", text(job, "name"), job["status"])
        })
        .collect()
}

/// What is wrong with what replicas answer on `/readyz` in the end.
pub fn readiness(plan: &Plan, fleet: &Fleet) -> Vec<String> {
    let mut wrong = Vec::new();
    for (replica, unsynced) in fleet.unready() {
        match (is_cut_off(plan, replica), unsynced.as_slice()) {
            (true, []) => wrong.push(format!("replica {replica} is ready, and nothing reaches it")),
            (false, [_, ..]) if is_calm(plan) => {
                wrong.push(format!("replica {replica} is not ready in the end: {unsynced:?}"));
            }
            _ => {}
        }
    }
    wrong
}

/// Nothing reaches this replica, to the end.
pub fn is_cut_off(plan: &Plan, replica: usize) -> bool {
    let is = |fault: &Fault| {
        matches!(fault, Fault::CutOff { replica: other, to_seconds, .. }
            if *other == replica && *to_seconds >= plan.horizon_seconds)
    };
    plan.faults.iter().any(is)
}

/// L3: in the end a process that runs holds the lease, and has renewed it within its 15 s.
pub fn nobody_leads(plan: &Plan, network: &Network, fleet: &Fleet) -> Option<String> {
    let lease = network.server.get(&LEASE, "mpi-operator", "mpi-operator");
    let spec = lease.map(|lease| lease["spec"].clone()).unwrap_or_default();
    let holder = spec["holderIdentity"].as_str().unwrap_or_default();
    let renewed: Option<Timestamp> = spec["renewTime"].as_str().and_then(|time| time.parse().ok());
    let is_fresh = renewed.is_some_and(|time| fleet.now(holder).duration_since(time).as_secs() <= 15);
    let leads = is_fresh && fleet.runs(holder);
    (is_calm(plan) && !leads).then(|| format!("nobody leads in the end: {spec}"))
}

/// What went wrong is over for so long that somebody can lead again.
fn is_calm(plan: &Plan) -> bool {
    let is_over = |seconds: u64| seconds + 90 < plan.horizon_seconds;
    plan.faults.iter().all(|fault| match fault {
        Fault::Kill { at_seconds, .. } | Fault::Stop { at_seconds, .. } | Fault::Restart { at_seconds } => {
            is_over(*at_seconds)
        }
        Fault::Freeze { at_seconds, seconds, .. } => is_over(at_seconds + seconds),
        Fault::CutOff { replica, .. } if is_cut_off(plan, *replica) => plan.replicas > 1,
        Fault::Brownout { to_seconds, .. }
        | Fault::Throttled { to_seconds, .. }
        | Fault::CutOff { to_seconds, .. }
        | Fault::SlowLease { to_seconds, .. } => is_over(*to_seconds),
        _ => true,
    })
}

fn of(plan: &Plan, network: &Network, job: &Object) -> Vec<String> {
    let name = text(job, "name");
    let policy = &job["spec"]["runPolicy"];
    let is = |kind: &str| has_condition(job, kind, "True");
    let pods = network.server.all(&POD, Some(TEAM));
    // What somebody has given other labels, or taken away from the job, is the job's no more.
    let of_job = |pod: &&Object| {
        pod["metadata"]["labels"]["training.kubeflow.org/job-name"] == name
            && pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    };
    let role = |pod: &Object, role: &str| pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == role;
    let workers: Vec<&Object> = pods.iter().filter(of_job).filter(|pod| role(pod, "worker")).collect();
    // Policy Running keeps what has ended.
    let keeps = policy["cleanPodPolicy"] == "Running";
    let left: Vec<&&Object> = workers.iter().filter(|pod| !(keeps && has_ended_pod(pod))).collect();
    let launchers = network.server.all(&JOB, Some(TEAM));
    let launchers: Vec<&Object> =
        launchers.iter().filter(|launcher| text(launcher, "name") == format!("{name}-launcher")).collect();
    let replicas = job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"].as_u64().unwrap_or(0);

    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(format!("{name}: {what}; its status is {}", job["status"]));
        }
    };
    if policy["managedBy"].as_str().is_some_and(|by| by != "kubeflow.org/mpi-operator") {
        must(
            workers.is_empty() && launchers.is_empty(),
            "it is another controller's, and has objects".to_owned(),
        );
        return wrong;
    }
    let has_ended = is("Succeeded") || is("Failed");
    if policy["suspend"] == true && !has_ended {
        must(is("Suspended"), "it is suspended and does not say so".to_owned());
        must(left.is_empty(), format!("it is suspended and has {} workers", left.len()));
        return wrong;
    }
    if plan.is_open {
        wrong.extend(open_end(job, launchers.first().copied(), left.len()));
        return wrong;
    }
    let expires = !policy["ttlSecondsAfterFinished"].is_null();
    if expires && plan.faults.iter().any(hides_the_launcher) {
        must(is("Succeeded") || is("Failed"), "it must have ended".to_owned());
        return wrong;
    }
    let succeeds = succeeds(plan, policy);
    must(
        is("Succeeded") == succeeds,
        format!("it must have {}", if succeeds { "succeeded" } else { "failed" }),
    );
    must(is("Failed") != succeeds, "it must not have both ends, or none".to_owned());
    must(!is("Running"), "it has ended and runs".to_owned());
    must(job["status"]["completionTime"].is_string(), "it has ended and has no completionTime".to_owned());
    let (count, kept) = (workers.len() as u64, kept(policy, replicas));
    let may_differ = kept > 0 && may_come_early(plan, policy);
    must(may_differ || count == kept, format!("{count} workers are there, and {kept} should be"));
    must(launchers.len() == usize::from(!expires), format!("there are {} launcher Jobs", launchers.len()));
    wrong
}

/// How many workers stay.
fn kept(policy: &Value, replicas: u64) -> u64 {
    match policy["cleanPodPolicy"].as_str() {
        Some("All" | "Running") => 0,
        _ => replicas,
    }
}

/// A change, or an end, may have come before everything was made when something went wrong.
fn may_come_early(plan: &Plan, policy: &Value) -> bool {
    let has_deadline = !policy["activeDeadlineSeconds"].is_null();
    !plan.faults.is_empty() && (plan.users.len() > 1 || has_deadline)
}

/// How a launcher Job ended that is gone at once is seen by nobody who is away meanwhile, or whose watch lags for longer than
/// it believes in its own writes; and one whose POST takes effect half a minute after it was given up comes when everything
/// is over. Such a job has failed, and says why.
fn hides_the_launcher(fault: &Fault) -> bool {
    match fault {
        Fault::Stale { kind, seconds, .. } => kind == JOB.kind && *seconds > 30,
        Fault::Write { how, .. } => matches!(
            how,
            WriteFault::Late
                | WriteFault::CrashBefore
                | WriteFault::CrashAfter
                | WriteFault::Stop
                | WriteFault::LeaseLost
        ),
        Fault::Gap { .. }
        | Fault::Restart { .. }
        | Fault::Quota { .. }
        | Fault::Webhook { .. }
        | Fault::Pages { .. } => false,
        Fault::Brownout { .. }
        | Fault::Throttled { .. }
        | Fault::CutOff { .. }
        | Fault::BlackHole { .. }
        | Fault::SlowLease { .. }
        | Fault::Freeze { .. }
        | Fault::Kill { .. }
        | Fault::Stop { .. } => true,
    }
}

/// Which of the ends it is, its pods decide as much as its spec; that there is one, nothing of what happens.
fn open_end(job: &Object, launcher: Option<&Object>, left: usize) -> Vec<String> {
    let is = |kind: &str| has_condition(job, kind, "True");
    let has_ended = is("Succeeded") || is("Failed");
    let has_succeeded = launcher.is_none_or(|launcher| has_condition(launcher, "Complete", "True"));
    let keeps_all = matches!(job["spec"]["runPolicy"]["cleanPodPolicy"].as_str(), None | Some("None"));
    let rules = [
        (has_ended || has_condition(job, "Accepted", "False"), "must have ended, or say what keeps it"),
        (!has_ended || !is("Running"), "has ended and runs"),
        (!has_ended || job["status"]["completionTime"].is_string(), "has ended and has no completionTime"),
        (!is("Succeeded") || has_succeeded, "has succeeded, and its launcher has not"),
        (!has_ended || keeps_all || left == 0, "has workers left that run"),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    broken
        .map(|(_, what)| format!("{}: it {what}; its status is {}", text(job, "name"), job["status"]))
        .collect()
}

fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == status)
}

fn has_ended_pod(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// One launcher within the limit succeeds.
fn succeeds(plan: &Plan, policy: &Value) -> bool {
    let attempts = policy["backoffLimit"].as_u64().unwrap_or(6) + 1;
    let within_time = policy["activeDeadlineSeconds"].as_u64().is_none_or(|limit| plan.runs_seconds < limit);
    let code = |attempt: u64| {
        let at = usize::try_from(attempt).unwrap_or(usize::MAX);
        plan.exits.get(at).or(plan.exits.last()).copied().unwrap_or(0)
    };
    within_time && (0..attempts).any(|attempt| code(attempt) == 0)
}
