//! Bounds on everything of a job that its user can make large. All are checked by arithmetic, before anything is built
//! in proportion to a number or a list of the user's.
//!
//! The API server bounds less than one might think: a count may be two billion, and one object 1.5 MiB.

use std::io;

use serde::Serialize;
use serde_json::Value;

use super::{claims, group::Group, groups::Groups, options::JobOptions, violation::FieldError};
use crate::{
    api::{
        MpiJob,
        annotations::{ANNOTATION_SETTING_SUFFIX, ANNOTATION_TUNERS},
        mpijob::JobStatus,
    },
    json::at,
    names::worker_hosts_len,
};

/// Most bytes of the files of one ConfigMap. The API server takes 1 MiB of data; the rest is for keys, the pin and
/// what will be added.
pub(crate) const CONFIG_MAP: usize = 900 << 10;
/// Most ranks of a job: MPI counts them in an `int`.
const RANKS: u32 = i32::MAX.cast_unsigned();
/// Most bytes of a pod template as JSON. A pod takes its template and again as much for the API server's notes of who set
/// which field; etcd takes 1.5 MiB.
const TEMPLATE: usize = 512 << 10;
/// Most containers of a pod, init containers included: far more than a kubelet starts in any reasonable time.
const CONTAINERS: usize = 256;
/// Most variables of a container.
const VARIABLES: usize = 4096;
/// Most bytes of the settings that a job gives to plugins: half of its pin ([`crate::pin::MOST`]), in which they stand
/// beside those of the administrator.
const SETTINGS: usize = 8 << 10;
/// Most tuners that a job names.
const TUNERS: usize = 32;
/// Most conditions of a status. Ours are nine.
const CONDITIONS: usize = 64;
/// Most bytes of a status as JSON.
const STATUS: usize = 256 << 10;

/// What the rest of the job says of how large it is.
pub(super) struct Counts<'a> {
    /// Ranks on each host.
    pub slots: u32,
    /// As parsed.
    pub groups: &'a Groups,
}

/// What no count has to be known for.
pub(super) fn check(options: &JobOptions, status: Option<&JobStatus>, errors: &mut Vec<FieldError>) {
    let tuners = options.tuners.len();
    if tuners > TUNERS {
        let path = format!("metadata.annotations[{ANNOTATION_TUNERS}]");
        errors.push(FieldError::too_many(path, tuners, TUNERS, "name those that the job needs"));
    }
    let of_plugin = options.settings.values().flatten();
    let settings: usize = of_plugin.map(|(key, value)| key.len() + value.len()).sum();
    if settings > SETTINGS {
        let path = format!("metadata.annotations[PLUGIN{ANNOTATION_SETTING_SUFFIX}/KEY]");
        errors.push(FieldError::too_large(
            path,
            settings,
            SETTINGS,
            "shorten the settings, or put them into a file of the image",
        ));
    }
    let Some(status) = status else { return };
    let conditions = status.conditions.len();
    if conditions > CONDITIONS {
        let advice = "take those out that the operator did not write";
        errors.push(FieldError::too_many("status.conditions", conditions, CONDITIONS, advice));
    }
    let bytes = length(status);
    if bytes > STATUS {
        errors.push(FieldError::too_large(
            "status",
            bytes,
            STATUS,
            "take out what the operator did not write",
        ));
    }
}

/// Counts and templates.
pub(super) fn check_counts(
    raw: &MpiJob,
    cluster_domain: Option<&str>,
    counts: &Counts<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Counts { slots, groups } = *counts;
    let (workers, hosts) = (groups.pods(), groups.rank_hosts());
    if slots.checked_mul(hosts).is_none_or(|ranks| ranks > RANKS) {
        let most = RANKS.checked_div(hosts).unwrap_or(RANKS);
        let detail =
            format!("must be at most {most} on {hosts} hosts: MPI counts no more than {RANKS} ranks");
        errors.push(FieldError::invalid_number("spec.slotsPerWorker", slots.into(), &detail));
    }
    let lists = HostLists { raw, cluster_domain, slots };
    if lists.shortest(workers) > room() {
        let fit = lists.fitting(workers);
        let detail = format!(
            "host list and script of so many workers take more than {} KiB, which no ConfigMap holds: must be at most \
             {fit}",
            CONFIG_MAP >> 10
        );
        errors.push(FieldError::invalid_number(
            "spec.mpiReplicaSpecs[Worker].replicas",
            workers.into(),
            &detail,
        ));
    }
    for group in groups.all() {
        template(&groups.kind.path(group.role, "template"), group, errors);
    }
}

fn room() -> u64 {
    u64::try_from(CONFIG_MAP).unwrap_or(u64::MAX)
}

/// What the host list and the script that prints the running hosts come to.
struct HostLists<'a> {
    raw: &'a MpiJob,
    cluster_domain: Option<&'a str>,
    slots: u32,
}

impl HostLists<'_> {
    /// As the launchers want it that want the least: `host:N`. What a plugin adds, the policy counts when it is
    /// rendered.
    fn shortest(&self, workers: u32) -> u64 {
        self.bytes(workers, ":\n".len())
    }

    /// The largest number of workers below `workers` that fit whatever implementation the job names: `host slots=N` is
    /// the longest line.
    fn fitting(&self, workers: u32) -> u32 {
        let fits = |count: u32| self.bytes(count, " slots=\n".len()) <= room();
        let (mut fit, mut beyond) = (0, workers);
        while beyond.saturating_sub(fit) > 1 {
            let middle = fit.midpoint(beyond);
            if fits(middle) { fit = middle } else { beyond = middle }
        }
        fit
    }

    /// The script has `echo host:N`.
    fn bytes(&self, workers: u32, list: usize) -> u64 {
        let metadata = &self.raw.metadata;
        let names = worker_hosts_len(&metadata.name, &metadata.namespace, self.cluster_domain, workers);
        let slots = self.slots.checked_ilog10().unwrap_or(0).saturating_add(1);
        let others = u64::try_from(list + "echo :\n".len()).unwrap_or(u64::MAX);
        let line = others.saturating_add(u64::from(slots).saturating_mul(2));
        names.saturating_mul(2).saturating_add(line.saturating_mul(workers.into()))
    }
}

fn template(path: &str, group: &Group, errors: &mut Vec<FieldError>) {
    let bytes = length(&group.template);
    if bytes > TEMPLATE {
        let advice = "put what is large into a ConfigMap, a volume or the image";
        errors.push(FieldError::too_large(path, bytes, TEMPLATE, advice));
        return;
    }
    let spec = group.pod_spec();
    let lists = ["initContainers", "containers"].map(|list| (list, items(spec, list)));
    let containers: usize = lists.iter().map(|(_, containers)| containers.len()).sum();
    if containers > CONTAINERS {
        let path = format!("{path}.spec.containers");
        errors.push(FieldError::too_many(
            path,
            containers,
            CONTAINERS,
            "run more in each of them, init containers included",
        ));
        return;
    }
    for (list, containers) in lists {
        for (position, container) in containers.iter().enumerate() {
            let variables = items(container, "env").len();
            if variables > VARIABLES {
                let path = format!("{path}.spec.{list}[{position}].env");
                errors.push(FieldError::too_many(
                    path,
                    variables,
                    VARIABLES,
                    "put them into a ConfigMap and name it in envFrom",
                ));
            }
        }
    }
    claims::check(&format!("{path}.spec.resourceClaims"), spec, errors);
}

fn items<'a>(parent: &'a Value, list: &str) -> &'a [Value] {
    at(parent, &format!("/{list}")).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Bytes of a value as JSON, which is not kept.
fn length(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(text.len());
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What was read as JSON can be written as JSON, and counting does not fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests;
