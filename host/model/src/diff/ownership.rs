//! Whose an object is: ours to change, somebody else's, or on its way out.

use crate::{
    job::ValidJob,
    object::{Kind, ObjectName, Uid},
    observed::{ObservedObject, ObservedState},
    phase::Phase,
};

/// Foreign objects that are named at most; the first one stops the job already.
const SAMPLE: usize = 8;

/// What holds a name that we need.
#[derive(Clone, Copy, Debug)]
pub enum Held<'a, T> {
    /// Nothing: create.
    Free,
    /// This very job's: keep in shape.
    Ours(&'a T),
    /// Somebody else's, or being deleted: not to be touched.
    Taken,
}

/// Sorts what was observed under one of our names.
pub fn held<'a, T>(
    job: &ValidJob,
    found: Option<&'a T>,
    object: impl FnOnce(&'a T) -> &'a ObservedObject,
) -> Held<'a, T> {
    let Some(found) = found else { return Held::Free };
    let object = object(found);
    if object.is_controlled_by(job.uid()) && !object.deleting { Held::Ours(found) } else { Held::Taken }
}

/// Objects under names that the job needs, which belong to somebody else and stay: the first few, sorted.
/// Objects that are being deleted are waited for and not named.
pub fn foreign(job: &ValidJob, observed: &ObservedState, phase: Phase) -> Vec<ObjectName> {
    let (objects, pods) = match phase {
        Phase::Active => (true, true),
        Phase::Suspended => (true, false),
        Phase::Ended | Phase::Evicted { .. } | Phase::Lost | Phase::Finished => (false, false),
    };
    let mut found = Vec::new();
    if objects {
        found.extend(named(job, observed).into_iter().filter_map(|(kind, name, object)| {
            is_foreign(job.uid(), object?).then_some(ObjectName { kind, name })
        }));
    }
    if pods {
        let workers = observed.workers().filter(|pod| job.wants(pod.id()) && !pod.deleting);
        let foreign = workers.filter(|pod| pod.controller.as_ref() != Some(job.uid()));
        found.extend(foreign.map(|pod| job.pod_name(pod.id()).into()).take(SAMPLE));
        found.extend(observed.pod_group.as_ref().and_then(|group| {
            let name = group.name.to_string();
            is_foreign(job.uid(), &group.object).then_some(ObjectName { kind: group.kind, name })
        }));
    }
    found.sort();
    found
}

/// Everything but pods and `PodGroup`. A launcher Job's name matters even where it is not created yet.
fn named<'a>(job: &ValidJob, observed: &'a ObservedState) -> [(Kind, String, Option<&'a ObservedObject>); 5] {
    let names = job.names();
    [
        (Kind::Service, names.job().to_owned(), observed.service.as_ref().map(|service| &service.object)),
        (Kind::ConfigMap, names.config(), observed.config.as_ref().map(|config| &config.object)),
        (Kind::ConfigMap, names.files(), observed.files.as_ref().map(|files| &files.object)),
        (Kind::Secret, names.secret(), observed.secret.as_ref().map(|secret| &secret.object)),
        (
            Kind::Job,
            names.launcher().to_string(),
            observed.launcher.as_ref().map(|launcher| &launcher.object),
        ),
    ]
}

fn is_foreign(owner: &Uid, object: &ObservedObject) -> bool {
    !object.is_controlled_by(owner) && !object.deleting
}
