//! A raw job to a valid one, or to what is wrong with it.

use super::{
    options::JobOptions,
    replica::{Replica, RestartPolicy},
    run_policy::{CleanPodPolicy, Limits, natural},
    sizes::{self, Counts},
    valid_job::{LauncherCreation, ValidJob},
    violation::FieldError,
};
use crate::{
    api::{
        MpiJob,
        mpijob::{ReplicaSpec, RunPolicy},
        resource, volumes,
    },
    json::at,
    names::{Names, WorkerName},
    object::{Uid, Version},
};

/// What parsing made of a raw job.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// To be worked on.
    Valid(Box<ValidJob>),
    /// The user has to change something: condition and event, no retries.
    Invalid(Vec<FieldError>),
    /// Being deleted, or managed by another controller: not to be touched, not even its status.
    NotOurs,
}

impl ValidJob {
    /// Reads a raw job. `cluster_domain` is the operator's; a pinned job gets its own back by
    /// [`ValidJob::under_domain`].
    pub fn parse(raw: &MpiJob, cluster_domain: Option<&str>) -> Verdict {
        let policy = raw.spec.run_policy.clone().unwrap_or_default();
        let foreign = policy.managed_by.as_deref().is_some_and(|by| by != resource::MANAGED_BY_US);
        if foreign || raw.metadata.deletion_timestamp.is_some() {
            return Verdict::NotOurs;
        }
        let mut errors = Vec::new();
        name(raw, &mut errors);
        let replicas = replicas(raw, &mut errors);
        let slots =
            natural("spec.slotsPerWorker", i64::from(raw.spec.slots_per_worker.unwrap_or(1)), &mut errors);
        let clean = CleanPodPolicy::parse(&policy, &mut errors);
        let limits = Limits::parse(&policy, &mut errors);
        let options = JobOptions::parse(&raw.metadata.annotations).unwrap_or_else(|mut more| {
            errors.append(&mut more);
            JobOptions::default()
        });
        sizes::check(&options, raw.status.as_ref(), &mut errors);
        if let (Some((launcher, worker)), Some(slots)) = (&replicas, slots) {
            let launcher_runs_ranks = raw.spec.run_launcher_as_worker.unwrap_or(false);
            let counts = Counts { slots, launcher_runs_ranks, launcher, worker: worker.as_ref() };
            sizes::check_counts(raw, cluster_domain, &counts, &mut errors);
        }
        match (replicas, clean, slots) {
            (Some((launcher, worker)), Some(clean_pod_policy), Some(slots)) if errors.is_empty() => {
                let parts = Parts { launcher, worker, clean_pod_policy, slots, limits, options };
                Verdict::Valid(Box::new(Self::assemble(raw, policy, parts, cluster_domain)))
            }
            _ => Verdict::Invalid(errors),
        }
    }

    fn assemble(raw: &MpiJob, policy: RunPolicy, parts: Parts, cluster_domain: Option<&str>) -> Self {
        let spec = &raw.spec;
        let creation = match spec.launcher_creation_policy.as_deref() {
            None | Some("" | "AtStartup") => LauncherCreation::AtStartup,
            Some(_) => LauncherCreation::WaitForWorkersReady,
        };
        let text = |value: &Option<String>, default: &str| {
            value.clone().filter(|v| !v.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Self {
            names: Names::new(&raw.metadata.name, &raw.metadata.namespace, cluster_domain),
            uid: Uid::from(raw.metadata.uid.as_str()),
            version: Version::from(raw.metadata.resource_version.as_str()),
            generation: raw.metadata.generation,
            slots: parts.slots,
            implementation: text(&spec.mpi_implementation, "OpenMPI"),
            launcher_runs_ranks: spec.run_launcher_as_worker.unwrap_or(false),
            ssh_mount_path: text(&spec.ssh_auth_mount_path, volumes::ROOT_SSH_PATH),
            launcher_creation: creation,
            launcher: parts.launcher,
            worker: parts.worker,
            clean_pod_policy: parts.clean_pod_policy,
            ttl_seconds_after_finished: parts.limits.ttl,
            active_deadline_seconds: parts.limits.active_deadline,
            backoff_limit: parts.limits.backoff,
            scheduling_policy: policy.scheduling_policy.unwrap_or_default(),
            suspended: policy.suspend.unwrap_or(false),
            options: parts.options,
            annotations: raw.metadata.annotations.clone(),
            status: raw.status.clone().unwrap_or_default(),
        }
    }
}

struct Parts {
    launcher: Replica,
    worker: Option<Replica>,
    clean_pod_policy: CleanPodPolicy,
    slots: u32,
    limits: Limits,
    options: JobOptions,
}

/// The longest host name of the job must be a DNS label.
fn name(raw: &MpiJob, errors: &mut Vec<FieldError>) {
    let workers = raw.spec.mpi_replica_specs.as_ref().and_then(|specs| specs.get("Worker"));
    let replicas = workers.and_then(Option::as_ref).and_then(|spec| spec.replicas).unwrap_or(0);
    let last = u32::try_from(replicas).unwrap_or(0).saturating_sub(1);
    if let Err(invalid) = WorkerName::new(&raw.metadata.name, last) {
        let detail = format!("will not able to create pod and service with {invalid}");
        errors.push(FieldError::invalid("metadata.name", &raw.metadata.name, detail));
    }
}

fn replicas(raw: &MpiJob, errors: &mut Vec<FieldError>) -> Option<(Replica, Option<Replica>)> {
    const PATH: &str = "spec.mpiReplicaSpecs";
    let Some(specs) = &raw.spec.mpi_replica_specs else {
        errors.push(FieldError::required(PATH, "must have replica specs"));
        return None;
    };
    let spec = |key: &str| specs.get(key).and_then(Option::as_ref);
    let launcher = if let Some(launcher) = spec("Launcher") {
        replica(&format!("{PATH}[Launcher]"), launcher, &LAUNCHER_RULES, errors)
    } else {
        errors.push(FieldError::required(format!("{PATH}[Launcher]"), "must have Launcher replica spec"));
        None
    };
    let worker =
        spec("Worker").map(|worker| replica(&format!("{PATH}[Worker]"), worker, &WORKER_RULES, errors));
    match worker {
        None => Some((launcher?, None)),
        Some(worker) => Some((launcher?, Some(worker?))),
    }
}

/// How one role differs from the other in defaults and in the count that it allows.
struct Rules {
    default_replicas: i32,
    default_restart: RestartPolicy,
    allows: fn(i32) -> bool,
    otherwise: &'static str,
}

const LAUNCHER_RULES: Rules = Rules {
    default_replicas: 1,
    default_restart: RestartPolicy::OnFailure,
    allows: |n| n == 1,
    otherwise: "must be 1",
};

/// A Worker block without `replicas` counts as 0 and is refused, as in the MPI Operator.
const WORKER_RULES: Rules = Rules {
    default_replicas: 0,
    default_restart: RestartPolicy::Never,
    allows: |n| n >= 1,
    otherwise: "must be greater than or equal to 1",
};

fn replica(path: &str, spec: &ReplicaSpec, rules: &Rules, errors: &mut Vec<FieldError>) -> Option<Replica> {
    let before = errors.len();
    let restart_policy = match spec.restart_policy.as_deref() {
        None | Some("") => rules.default_restart,
        Some("Never") => RestartPolicy::Never,
        Some("OnFailure") => RestartPolicy::OnFailure,
        Some(other) => {
            let path = format!("{path}.restartPolicy");
            errors.push(FieldError::not_supported(path, other, ["Never", "OnFailure"]));
            rules.default_restart
        }
    };
    let containers = at(&spec.template, "/spec/containers").as_array();
    if containers.is_none_or(Vec::is_empty) {
        let path = format!("{path}.template.spec.containers");
        errors.push(FieldError::required(path, "must define at least one container"));
    }
    let replicas = spec.replicas.unwrap_or(rules.default_replicas);
    if !(rules.allows)(replicas) {
        let path = format!("{path}.replicas");
        errors.push(FieldError::invalid_number(path, i64::from(replicas), rules.otherwise));
    }
    let replicas = u32::try_from(replicas).ok()?;
    let template = spec.template.clone();
    (errors.len() == before).then_some(Replica { replicas, template, restart_policy })
}
