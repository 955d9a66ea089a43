//! A raw job to a valid one, or to what is wrong with it.

use super::{
    group::Group,
    groups::Groups,
    options::JobOptions,
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
    kind::{JobKind, MPI_JOB, RestartPolicy, Role},
    names::{Names, PodName},
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
        Self::parse_as(&MPI_JOB, raw, cluster_domain)
    }

    /// The same of a job of any kind.
    pub(crate) fn parse_as(kind: &'static JobKind, raw: &MpiJob, cluster_domain: Option<&str>) -> Verdict {
        let policy = raw.spec.run_policy.clone().unwrap_or_default();
        let foreign = policy.managed_by.as_deref().is_some_and(|by| by != resource::MANAGED_BY_US);
        if foreign || raw.metadata.deletion_timestamp.is_some() {
            return Verdict::NotOurs;
        }
        let mut errors = Vec::new();
        name(kind, raw, &mut errors);
        let groups = groups(kind, raw, &mut errors);
        let slots =
            natural("spec.slotsPerWorker", i64::from(raw.spec.slots_per_worker.unwrap_or(1)), &mut errors);
        let clean = CleanPodPolicy::parse(&policy, &mut errors);
        let limits = Limits::parse(&policy, &mut errors);
        let options = JobOptions::parse(&raw.metadata.annotations).unwrap_or_else(|mut more| {
            errors.append(&mut more);
            JobOptions::default()
        });
        sizes::check(&options, raw.status.as_ref(), &mut errors);
        if let (Some(groups), Some(slots)) = (&groups, slots) {
            sizes::check_counts(raw, cluster_domain, &Counts { slots, groups }, &mut errors);
        }
        match (groups, clean, slots) {
            (Some(groups), Some(clean_pod_policy), Some(slots)) if errors.is_empty() => {
                let parts = Parts { groups, clean_pod_policy, slots, limits, options };
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
            ssh_mount_path: text(&spec.ssh_auth_mount_path, volumes::ROOT_SSH_PATH),
            launcher_creation: creation,
            groups: parts.groups,
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
    groups: Groups,
    clean_pod_policy: CleanPodPolicy,
    slots: u32,
    limits: Limits,
    options: JobOptions,
}

/// The longest host name of each group must be a DNS label, also of one that the job does not have.
fn name(kind: &JobKind, raw: &MpiJob, errors: &mut Vec<FieldError>) {
    for role in kind.run_by_pods() {
        let spec = raw.spec.mpi_replica_specs.as_ref().and_then(|specs| specs.get(role.key)?.as_ref());
        let replicas = spec.and_then(|spec| spec.replicas).unwrap_or(0);
        let last = u32::try_from(replicas).unwrap_or(0).saturating_sub(1);
        if let Err(invalid) = PodName::new(&raw.metadata.name, role.name, last) {
            let detail = format!("will not able to create pod and service with {invalid}");
            errors.push(FieldError::invalid("metadata.name", &raw.metadata.name, detail));
        }
    }
}

fn groups(kind: &'static JobKind, raw: &MpiJob, errors: &mut Vec<FieldError>) -> Option<Groups> {
    let Some(specs) = &raw.spec.mpi_replica_specs else {
        errors.push(FieldError::required(kind.replica_specs, "must have replica specs"));
        return None;
    };
    let spec = |role: &Role| specs.get(role.key).and_then(Option::as_ref);
    let driver = kind.driver();
    let driver = if let Some(spec) = spec(driver) {
        let runs_ranks = raw.spec.run_launcher_as_worker.unwrap_or(false);
        group(kind, driver, spec, runs_ranks, errors)
    } else {
        let (path, key) = (format!("{}[{}]", kind.replica_specs, driver.key), driver.key);
        errors.push(FieldError::required(path, &format!("must have {key} replica spec")));
        None
    };
    let others = kind.others().iter();
    let others = others.filter_map(|role| Some(group(kind, role, spec(role)?, true, errors)));
    let others: Vec<Option<Group>> = others.collect();
    Some(Groups { kind, driver: driver?, others: others.into_iter().collect::<Option<_>>()? })
}

fn group(
    kind: &JobKind,
    role: &'static Role,
    spec: &ReplicaSpec,
    runs_ranks: bool,
    errors: &mut Vec<FieldError>,
) -> Option<Group> {
    let before = errors.len();
    let path = |field: &str| kind.path(role, field);
    let restart_policy = match spec.restart_policy.as_deref() {
        None | Some("") => role.default_restart,
        Some(given) => {
            RestartPolicy::ALL.into_iter().find(|policy| policy.as_str() == given).unwrap_or_else(|| {
                let supported = RestartPolicy::ALL.map(RestartPolicy::as_str);
                errors.push(FieldError::not_supported(path("restartPolicy"), given, supported));
                role.default_restart
            })
        }
    };
    let containers = at(&spec.template, "/spec/containers").as_array();
    if containers.is_none_or(Vec::is_empty) {
        let path = path("template.spec.containers");
        errors.push(FieldError::required(path, "must define at least one container"));
    }
    let replicas = spec.replicas.unwrap_or(role.default_replicas);
    if let Some(violation) = role.replicas.violation(replicas) {
        errors.push(FieldError::invalid_number(path("replicas"), i64::from(replicas), &violation));
    }
    let replicas = u32::try_from(replicas).ok()?;
    let template = spec.template.clone();
    (errors.len() == before).then_some(Group { role, replicas, template, restart_policy, runs_ranks })
}
