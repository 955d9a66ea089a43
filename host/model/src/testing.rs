//! Jobs and what is observed of them, for the tests of this crate.

use coxswain_test_support::job::Job;
use jiff::Timestamp;

use crate::{
    api::{MpiJob, annotations},
    desired::{self, Desired, Gang, content},
    job::{ValidJob, Verdict},
    kind,
    object::{Kind, Uid, Version},
    observed::{
        ObservedConfig, ObservedLauncher, ObservedNativeGang, ObservedObject, ObservedPod, ObservedPodGroup,
        ObservedSecret, ObservedService, ObservedState, PodFailure, PodPhase,
    },
    pin::{Digest, Pin, PinnedPlugin},
    plan::{File, Place},
    policy::Granted,
};

/// When everything of [`complete`] was made.
pub fn noon() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// `team-a/pi` with that many workers; none means no `Worker` block at all.
pub fn raw(workers: u32) -> MpiJob {
    Job::new("pi", workers).stored("team-a", "job-1").read()
}

/// The job as it is read.
pub fn valid(raw: &MpiJob) -> ValidJob {
    match ValidJob::parse(raw, None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

/// A job of that many workers with these annotations.
pub fn annotated(workers: u32, annotations: &[(&str, &str)]) -> ValidJob {
    let mut raw = raw(workers);
    for (key, value) in annotations {
        raw.metadata.annotations.insert((*key).to_owned(), (*value).to_owned());
    }
    valid(&raw)
}

/// A job as it is written, as it is read.
pub fn parsed(job: &Job) -> ValidJob {
    valid(&job.read())
}

/// Changes the number of workers.
pub fn scale(raw: &mut MpiJob, workers: u32) {
    let specs = raw.spec.mpi_replica_specs.as_mut().unwrap();
    specs.get_mut("Worker").unwrap().as_mut().unwrap().replicas = Some(workers.try_into().unwrap());
}

/// Sets `spec.runPolicy.suspend`.
pub fn suspend(raw: &mut MpiJob, suspended: bool) {
    raw.spec.run_policy.as_mut().unwrap().suspend = Some(suspended);
}

/// Sets `spec.runPolicy.cleanPodPolicy`.
pub fn clean(raw: &mut MpiJob, policy: &str) {
    raw.spec.run_policy.as_mut().unwrap().clean_pod_policy = Some(policy.to_owned());
}

/// What a plugin would have made of the job: a hostfile that follows the spec, a script that follows the pods.
fn granted(job: &ValidJob, observed: &ObservedState) -> Granted {
    let host = |index| job.names().fqdn(&job.names().pod("worker", index));
    let hosts: Vec<String> = (0..job.workers()).map(|index| format!("{} slots=1\n", host(index))).collect();
    let running = observed.workers_of(job).filter(|pod| pod.phase == PodPhase::Running);
    let echos: Vec<String> = running.map(|pod| format!("echo {}\n", host(pod.index))).collect();
    let file = |name: &str, content: String| File {
        by: "openmpi".to_owned(),
        name: name.to_owned(),
        place: Place::Job,
        executable: false,
        content,
    };
    Granted {
        job_files: vec![
            file("hostfile", hosts.concat()),
            file("discover_hosts.sh", format!("#!/bin/sh\n{}", echos.concat())),
        ],
        ..Granted::default()
    }
}

/// What pins every job here.
fn pin() -> Pin {
    let launcher =
        PinnedPlugin { name: "openmpi".into(), digest: Digest::of(b"openmpi"), settings: [].into() };
    Pin { launcher, tuners: vec![], cluster_domain: None, claims: [].into() }
}

/// Everything that should exist of a job where gangs are scheduled so.
pub fn desired_under(gang: &Gang, job: &ValidJob, observed: &ObservedState) -> Desired {
    desired::objects(job, &granted(job, observed), &pin(), gang, &[].into(), observed)
}

/// Everything that should exist of a job.
pub fn desired(job: &ValidJob, observed: &ObservedState) -> Desired {
    desired_under(&Gang::Off, job, observed)
}

/// A gang of the job's under Kubernetes' own scheduler, before the scheduler has looked at it.
pub fn native_group(job: &ValidJob, name: &str, min_count: u32, deleting: bool) -> ObservedPodGroup {
    ObservedPodGroup {
        kind: Kind::NativePodGroup,
        name: name.into(),
        object: ObservedObject { deleting, ..object(job, "group") },
        content: None,
        resources: Vec::new(),
        native: Some(Box::new(ObservedNativeGang { min_count, ..ObservedNativeGang::default() })),
    }
}

/// An object of the job.
pub fn object(job: &ValidJob, uid: &str) -> ObservedObject {
    ObservedObject {
        uid: Uid::from(uid),
        version: Version(7),
        controller: Some(job.uid().clone()),
        deleting: false,
    }
}

/// A worker that runs and is Ready.
pub fn worker(job: &ValidJob, index: u32) -> ObservedPod {
    ObservedPod {
        role: kind::WORKER,
        index,
        name: "".into(),
        uid: Uid::from(&*format!("worker-{index}")),
        version: Version(u64::from(index)),
        controller: Some(job.uid().clone()),
        created: noon(),
        phase: PodPhase::Running,
        ready: true,
        deleting: false,
        gate: None,
        attempt: None,
        failure: None,
        blocker: None,
    }
}

/// A pod of the launcher Job of [`complete`], behind its gate.
pub fn launcher_pod(name: &str) -> ObservedPod {
    ObservedPod {
        role: kind::LAUNCHER,
        index: 0,
        name: name.into(),
        uid: Uid::from(name),
        version: Version(5),
        controller: Some(Uid::from("launcher")),
        created: noon(),
        phase: PodPhase::Pending,
        ready: false,
        deleting: false,
        gate: Some(0),
        attempt: None,
        failure: None,
        blocker: None,
    }
}

/// The pod has ended like this.
pub fn failed(pod: ObservedPod, reason: &str) -> ObservedPod {
    let failure = PodFailure { reason: reason.to_owned(), ..PodFailure::default() };
    ObservedPod { phase: PodPhase::Failed, ready: false, failure: Some(Box::new(failure)), ..pod }
}

/// All objects of the job, as they should be: its workers run and are known to DNS, its launcher waits behind its gate.
pub fn complete(job: &ValidJob) -> ObservedState {
    let running = (0..job.workers()).map(|index| worker(job, index));
    let pods: Vec<ObservedPod> = running.chain([launcher_pod("pi-launcher-a")]).collect();
    let published = pods.iter().map(|pod| pod.uid.clone()).collect();
    let launcher = ObservedLauncher {
        object: object(job, "launcher"),
        pin: Some(pin().to_annotation().into()),
        suspended: false,
        started: true,
        failed: 0,
        end: None,
    };
    let service = ObservedService {
        object: object(job, "service"),
        selects_job: true,
        extra_selectors: vec![],
        publishes_not_ready: true,
    };
    let mut observed = ObservedState {
        service: Some(service),
        secret: Some(ObservedSecret { object: object(job, "secret"), has_known_hosts: false }),
        launcher: Some(launcher),
        pods,
        published,
        ..ObservedState::default()
    };
    let wanted = desired(job, &observed);
    let service = observed.service.as_mut().unwrap();
    service.publishes_not_ready = wanted.service["spec"]["publishNotReadyAddresses"] == true;
    observed.config = Some(ObservedConfig {
        object: object(job, "config"),
        content: content(&wanted.config).map(Into::into),
        pin: wanted.config["metadata"]["annotations"][annotations::ANNOTATION_PIN].as_str().map(Into::into),
    });
    observed
}
