//! A gang of Kubernetes' own scheduler: a `PodGroup` of `scheduling.k8s.io/v1beta1`, and the pods that name it.
//!
//! What the scheduler does with it decides the rules here (each was tried on 1.37.1):
//!
//! - A scheduling gate on one member holds the whole group back, so a launcher that waits at its gate, or is made late, is
//!   no member.
//! - Members that terminate count until they are gone, so each start of all pods gets a group of a new name; a worker that
//!   is made anew joins the group of the others.
//! - Members that have ended do not count, so `minCount` never exceeds those that have not.
//! - Members of unlike priority, or of another priority than their group, are never placed.

use serde_json::{Value, json};

use super::{
    gang::Gang,
    overlay::{self, Fields},
    owned,
    pod::Pod,
};
use crate::{
    api::{annotations, labels},
    job::{Group, JobGang, LauncherCreation, ValidJob},
    json::at,
    observed::ObservedState,
    plan::Violation,
};

/// Claims that one group may have.
const MOST_CLAIMS: usize = 4;

/// The gang of one job, for the start that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeGang {
    name: String,
    min_count: u32,
    launcher: bool,
}

impl NativeGang {
    /// The gang, if the job has one: its workers, and a launcher that starts with them. A job without workers needs none;
    /// one whose template names a group has one of somebody else's; and one whose workers were made without a group goes on
    /// without, for a worker that is made anew would wait for members that never come.
    pub fn of(job: &ValidJob, gang: &Gang, observed: &ObservedState) -> Option<Self> {
        let group = observed.pod_group.as_ref();
        let ungrouped = group.is_none() && observed.workers_of(job).next().is_some();
        if !places(gang, job) || job.workers() == 0 || ungrouped || names_a_group(job) {
            return None;
        }
        let launcher = launcher_joins(job);
        // A group that somebody deletes stays for as long as it has members, and takes in those that are made anew.
        let has_members = observed.workers_of(job).any(|pod| !pod.deleting);
        let all_leave = !has_members && observed.workers_of(job).next().is_some();
        let name = match group {
            // Preempted, or deleted, all of them at once: those that come next are a start of their own. Not where the launcher is
            // a member: the pods of its retries name the group that its Job was made with.
            Some(group) if !group.object.deleting && all_leave && !launcher => next_name(job, &group.name),
            Some(group) if !group.object.deleting || has_members => group.name.to_string(),
            _ => name(job),
        };
        Some(Self { name, min_count: min_count(job, observed, launcher), launcher })
    }

    /// Name of the group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Members that start together.
    pub fn min_count(&self) -> u32 {
        self.min_count
    }

    /// The launcher is a member.
    pub fn has_launcher(&self) -> bool {
        self.launcher
    }

    /// Makes a pod a member.
    pub(super) fn join(&self, pod: &mut Pod, job: &ValidJob) {
        overlay::set(&mut pod.spec, "schedulingGroup", json!({"podGroupName": self.name}));
        let class = &job.scheduling_policy().priority_class;
        if !class.is_empty() {
            overlay::set(&mut pod.spec, "priorityClassName", class.as_str());
        }
    }

    /// The group. Its owner need not wait for it: it goes with its last member.
    pub(super) fn manifest(&self, job: &ValidJob) -> Value {
        let mut spec = overlay::fields(json!({"schedulingPolicy": {"gang": {"minCount": self.min_count}}}));
        let class = priority_class(job);
        if !class.is_empty() {
            overlay::set(&mut spec, "priorityClassName", class);
        }
        // One lost pod ends what all of them compute, unless the job is elastic.
        if job.options().start_min_workers.is_none() {
            overlay::set(&mut spec, "disruptionMode", json!({"all": {}}));
        }
        if let Some(key) = &job.options().topology {
            overlay::set(&mut spec, "schedulingConstraints", json!({"topology": [{"key": key}]}));
        }
        let claims = shared_claims(job);
        if !claims.is_empty() {
            overlay::set(&mut spec, "resourceClaims", json!(claims));
        }
        let mut metadata = owned::bare(job, &self.name);
        overlay::set(&mut metadata, "ownerReferences", json!([owner(job)]));
        owned::label(&mut metadata, labels::LABEL_JOB, job.names().job());
        owned::label(&mut metadata, labels::LABEL_JOB_NAME, job.names().job());
        json!({
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": Value::from(spec),
        })
    }
}

/// What of the job no scheduler could place as one gang, or only another scheduler.
pub fn violations(job: &ValidJob, gang: &Gang) -> Vec<Violation> {
    let options = job.options();
    let path = |key: &str| format!("metadata.annotations[{key}]");
    let mut found = Vec::new();
    if *gang == Gang::Native && options.gang == Some(JobGang::Off) {
        let text = "all jobs of this cluster are placed as gangs: remove the annotation, or ask the cluster's administrator \
                    for --gang-scheduling=native-by-job";
        found.push(Violation { path: path(annotations::ANNOTATION_GANG_SCHEDULING), text: text.to_owned() });
    }
    if !places(gang, job) {
        // Volcano has a network topology of its own.
        let volcano = *gang == Gang::Volcano;
        if volcano && options.topology.is_some() && options.topology_tier().is_none() {
            let text = "must be a number under Volcano: the highest tier of its HyperNodes that the gang may span, such as 1";
            found.push(Violation { path: path(annotations::ANNOTATION_TOPOLOGY), text: text.to_owned() });
        }
        let asked = [
            (annotations::ANNOTATION_GANG_SCHEDULING, options.gang == Some(JobGang::Native)),
            (annotations::ANNOTATION_TOPOLOGY, options.topology.is_some() && !volcano),
            (annotations::ANNOTATION_SHARED_CLAIMS, !options.shared_claims.is_empty()),
        ];
        let text = if gang.is_native() {
            "is for gangs, and the job is none: add coxswain.dev/gang-scheduling: native, or remove the annotation"
        } else {
            "needs the gangs of Kubernetes' own scheduler, and this cluster's operator runs without \
             --gang-scheduling=native: remove the annotation, or ask the cluster's administrator"
        };
        let violation = |(key, _)| Violation { path: path(key), text: text.to_owned() };
        found.extend(asked.into_iter().filter(|(_, asked)| *asked).map(violation));
        return found;
    }
    if job.workers() == 0 {
        return found;
    }
    found.extend(unlike_members(job));
    for name in &options.shared_claims {
        let claims: Vec<(&Group, Option<&Value>)> =
            members(job).map(|group| (group, claim(group, name))).collect();
        let text = if let Some((group, _)) = claims.iter().find(|(_, claim)| claim.is_none()) {
            format!(
                "{name:?} is no entry of spec.resourceClaims of the template of {}: all pods of a gang name the claim that \
                 they share",
                group.role().key
            )
        } else if claims.windows(2).any(|pair| matches!(pair, [(_, one), (_, other)] if one != other)) {
            format!("{name:?} is not the same claim in all templates of the gang")
        } else {
            continue;
        };
        found.push(Violation { path: path(annotations::ANNOTATION_SHARED_CLAIMS), text });
    }
    if options.shared_claims.len() > MOST_CLAIMS {
        found.push(Violation {
            path: path(annotations::ANNOTATION_SHARED_CLAIMS),
            text: format!("a gang shares at most {MOST_CLAIMS} claims"),
        });
    }
    found
}

/// What of `spec.runPolicy.schedulingPolicy` has no effect under native gangs.
pub fn ignored(job: &ValidJob, gang: &Gang) -> Vec<String> {
    if !places(gang, job) {
        return Vec::new();
    }
    let policy = job.scheduling_policy();
    let fields = [
        ("queue", !policy.queue.is_empty()),
        ("minResources", policy.min_resources.is_some()),
        ("scheduleTimeoutSeconds", policy.schedule_timeout_seconds.is_some()),
    ];
    let unknown = |field: &str| {
        format!("spec.runPolicy.schedulingPolicy.{field}: Kubernetes' own gang scheduling has no counterpart")
    };
    fields.into_iter().filter(|(_, set)| *set).map(|(field, _)| unknown(field)).collect()
}

/// Kubernetes' own scheduler places this job's pods as a gang, if they make one.
fn places(gang: &Gang, job: &ValidJob) -> bool {
    match gang {
        Gang::Native => true,
        Gang::NativeByJob => job.options().gang == Some(JobGang::Native),
        Gang::Off | Gang::Volcano | Gang::SchedulerPlugins(_) => false,
    }
}

/// `<job>-<5 letters of its uid>-<generation>`, for the first start in that generation. A job that is suspended and resumed has
/// another generation.
fn name(job: &ValidJob) -> String {
    let uid = job.uid().to_string();
    let letters: String = uid.chars().filter(char::is_ascii_alphanumeric).take(5).collect();
    format!("{}-{letters}-{}", job.names().job(), job.generation())
}

/// What is held back at the gate, or made once the others are Ready, cannot be waited for.
fn launcher_joins(job: &ValidJob) -> bool {
    let held = job.options().start_gate || job.launcher_creation() == LauncherCreation::WaitForWorkersReady;
    !held
}

/// The name of the start after the one of that name.
fn next_name(job: &ValidJob, of: &str) -> String {
    let (generation, again) = start(of);
    let name = name(job);
    if i64::try_from(generation) != Ok(job.generation()) {
        return name;
    }
    format!("{name}r{}", again.saturating_add(1))
}

/// Which start of a job the group of that name is for: the job's generation, and how often all pods were replaced in it.
/// Later ones are greater. A name that is none of ours comes before all.
pub fn start(name: &str) -> (u64, u64) {
    let last = name.rsplit('-').next().unwrap_or_default();
    let (generation, again) = last.split_once('r').unwrap_or((last, "0"));
    match (generation.parse(), again.parse()) {
        (Ok(generation), Ok(again)) => (generation, again),
        _ => (0, 0),
    }
}

/// What the job says, within its members; else an elastic job's minimum; else all of them. Never more than those that have
/// not ended.
fn min_count(job: &ValidJob, observed: &ObservedState, launcher: bool) -> u32 {
    let members = job.workers().saturating_add(launcher.into());
    let stated = job.scheduling_policy().min_available.and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    let elastic = job.options().start_min_workers.map(|least| least.min(job.workers()));
    let wanted = stated.or(elastic).unwrap_or(members);
    let ended = observed.wanted_workers_of(job).filter(|pod| pod.is_terminal()).count();
    let remaining = members.saturating_sub(u32::try_from(ended).unwrap_or(u32::MAX));
    wanted.min(remaining).max(1)
}

/// The groups whose pods are members.
fn members(job: &ValidJob) -> impl Iterator<Item = &Group> {
    job.groups().run_by_pods().chain(Some(job.driver()).filter(|_| launcher_joins(job)))
}

/// Somebody else has put the pods into a group: Kueue, or the user.
fn names_a_group(job: &ValidJob) -> bool {
    members(job).any(|group| !at(group.pod_spec(), "/schedulingGroup").is_null())
}

fn class_of(group: &Group) -> &str {
    at(group.pod_spec(), "/priorityClassName").as_str().unwrap_or_default()
}

/// The policy's, else that of the members, which is one.
fn priority_class(job: &ValidJob) -> &str {
    let policy = job.scheduling_policy().priority_class.as_str();
    if policy.is_empty() { members(job).next().map_or("", class_of) } else { policy }
}

/// The scheduler places no member of a group whose members differ in these.
fn unlike_members(job: &ValidJob) -> Vec<Violation> {
    const ALIKE: [&str; 3] = ["priorityClassName", "schedulerName", "preemptionPolicy"];
    let text = |group: &Group, field: &str| {
        at(group.pod_spec(), &format!("/{field}")).as_str().unwrap_or_default().to_owned()
    };
    let policy = &job.scheduling_policy().priority_class;
    let mut found = Vec::new();
    for field in ALIKE {
        let values: Vec<(&Group, String)> = members(job).map(|group| (group, text(group, field))).collect();
        if field == "priorityClassName" && !policy.is_empty() {
            if let Some((group, other)) =
                values.iter().find(|(_, value)| !value.is_empty() && value != policy)
            {
                found.push(Violation {
                    path: "spec.runPolicy.schedulingPolicy.priorityClass".to_owned(),
                    text: format!(
                        "is {policy:?} and the priorityClassName of {} is {other:?}: a gang has one priority, so remove one of \
                         them",
                        group.role().key
                    ),
                });
            }
            continue;
        }
        let unlike = values.windows(2).find_map(|pair| match pair {
            [one, other] if one.1 != other.1 => Some((one, other)),
            _ => None,
        });
        if let Some(((one, value), (other, another))) = unlike {
            found.push(Violation {
                path: job.kind().path(other.role(), &format!("template.spec.{field}")),
                text: format!(
                    "is {another:?} and that of {} is {value:?}: pods of one gang must agree in it; give both the same, or let \
                     the launcher wait at its gate",
                    one.role().key
                ),
            });
        }
    }
    found
}

fn claim<'a>(group: &'a Group, name: &str) -> Option<&'a Value> {
    let claims = at(group.pod_spec(), "/resourceClaims").as_array()?;
    claims.iter().find(|claim| claim.get("name").and_then(Value::as_str) == Some(name))
}

/// As the members' templates have them: the scheduler makes one claim where group and pods say the same.
fn shared_claims(job: &ValidJob) -> Vec<Value> {
    let Some(group) = members(job).next() else { return Vec::new() };
    job.options().shared_claims.iter().filter_map(|name| claim(group, name)).cloned().collect()
}

fn owner(job: &ValidJob) -> Fields {
    let mut reference = overlay::fields(owned::controller(job));
    overlay::set(&mut reference, "blockOwnerDeletion", false);
    reference
}

#[cfg(test)]
mod tests;
