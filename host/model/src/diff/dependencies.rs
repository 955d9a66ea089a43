//! What pods refer to: Service, ConfigMaps, Secret, `PodGroup`.

use serde_json::{Map, Value, json};

use super::ownership::{Held, held};
use crate::{
    api::annotations,
    desired::{Desired, content},
    job::ValidJob,
    json::at,
    object::{Kind, ObjectName},
    observed::{ObservedConfig, ObservedObject, ObservedPodGroup, ObservedService, ObservedState},
    step::{Step, Wave},
};

/// Optional fields of a `PodGroup`'s spec that we own, of either kind: a patch takes away those that are not
/// wanted any more.
const POD_GROUP_FIELDS: [&str; 6] =
    ["minMember", "queue", "priorityClassName", "minResources", "scheduleTimeoutSeconds", "networkTopology"];

/// Brings Service, ConfigMaps and Secret into being and into shape.
pub fn steps(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Vec<Step> {
    let names = job.names();
    let mut steps = Vec::new();
    steps.extend(service(job, observed, &desired.service));
    steps.extend(config(job, observed, &desired.config));
    if let Held::Free = held(job, observed.secret.as_ref(), |secret| &secret.object) {
        let object = ObjectName { kind: Kind::Secret, name: names.secret() };
        steps.push(Step::CreateSecret { object, manifest: desired.secret.clone() });
    }
    steps.extend(desired.files.as_ref().and_then(|files| self::files(job, observed, files)));
    steps
}

/// Brings the ConfigMap that follows the pods into being and into shape.
pub fn config(job: &ValidJob, observed: &ObservedState, wanted: &Value) -> Option<Step> {
    let name = job.names().config();
    match held(job, observed.config.as_ref(), |config| &config.object) {
        Held::Free => Some(create(Kind::ConfigMap, name, wanted)),
        Held::Ours(config) => config_patch(name, config, wanted),
        Held::Taken => None,
    }
}

/// Brings the `PodGroup` into being and into shape, if gangs are scheduled.
pub fn pod_group(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Vec<Step> {
    let Some((kind, wanted)) = desired.pod_group.as_ref() else { return Vec::new() };
    let name = at(wanted, "/metadata/name").as_str().unwrap_or_default();
    // A native gang of an earlier start goes with its last pods, and is in nobody's way meanwhile.
    let (group, earlier) = match observed.pod_group.as_ref() {
        Some(group) if *group.name == *name => (Some(group), None),
        other => (None, other),
    };
    let earlier = match held(job, earlier, |group| &group.object) {
        Held::Ours(group) => Some(Step::Delete {
            object: ObjectName { kind: group.kind, name: group.name.to_string() },
            uid: group.object.uid.clone(),
            version: None,
        }),
        Held::Free | Held::Taken => None,
    };
    let shaped = match held(job, group, |group| &group.object) {
        Held::Free => Some(create(*kind, name.to_owned(), wanted)),
        Held::Ours(group) if *kind == Kind::NativePodGroup => min_count_patch(group, wanted),
        Held::Ours(group) => pod_group_patch(name.to_owned(), group, wanted),
        Held::Taken => None,
    };
    shaped.into_iter().chain(earlier).collect()
}

/// Something that pods mount or refer to is being deleted and not yet gone.
pub fn are_leaving(observed: &ObservedState) -> bool {
    let objects = [
        observed.service.as_ref().map(|service| &service.object),
        observed.config.as_ref().map(|config| &config.object),
        observed.files.as_ref().map(|files| &files.object),
        observed.secret.as_ref().map(|secret| &secret.object),
        // A native one takes in members until the last of them is gone.
        observed.pod_group.as_ref().filter(|group| group.native.is_none()).map(|group| &group.object),
    ];
    objects.into_iter().flatten().any(|object| object.deleting)
}

fn service(job: &ValidJob, observed: &ObservedState, wanted: &Value) -> Option<Step> {
    let name = job.names().job().to_owned();
    match held(job, observed.service.as_ref(), |service| &service.object) {
        Held::Free => Some(create(Kind::Service, name, wanted)),
        Held::Ours(service) => service_patch(name, service, wanted),
        Held::Taken => None,
    }
}

/// Only the two fields that we own; whatever else a cluster puts into a Service stays.
fn service_patch(name: String, observed: &ObservedService, wanted: &Value) -> Option<Step> {
    let publishes = at(wanted, "/spec/publishNotReadyAddresses").as_bool().unwrap_or(false);
    if observed.selects_job && observed.publishes_not_ready == publishes {
        return None;
    }
    let selector = replacing(at(wanted, "/spec/selector"), &observed.extra_selectors);
    let patch = json!({"spec": {"selector": selector, "publishNotReadyAddresses": publishes}});
    Some(self::patch(Kind::Service, name, &observed.object, patch))
}

/// The pin is written along: whoever removed it from here has not removed it from the launcher Job.
fn config_patch(name: String, observed: &ObservedConfig, wanted: &Value) -> Option<Step> {
    let annotations = at(wanted, "/metadata/annotations");
    let wants = |key: &str| annotations.get(key).and_then(Value::as_str);
    let same = observed.content.as_deref() == wants(annotations::ANNOTATION_CONTENT)
        && observed.pin.as_deref() == wants(annotations::ANNOTATION_PIN);
    let patch = json!({"metadata": {"annotations": annotations}, "data": at(wanted, "/data")});
    (!same).then(|| self::patch(Kind::ConfigMap, name, &observed.object, patch))
}

/// The files are immutable. Where a change of the spec changes them, the object goes and comes back in the
/// next reconcile; pods that run keep what they mounted.
fn files(job: &ValidJob, observed: &ObservedState, wanted: &Value) -> Option<Step> {
    let name = job.names().files();
    match held(job, observed.files.as_ref(), |files| &files.object) {
        Held::Free => Some(create(Kind::ConfigMap, name, wanted)),
        Held::Ours(files) if files.content.as_deref() != content(wanted) => Some(Step::Delete {
            object: ObjectName { kind: Kind::ConfigMap, name },
            uid: files.object.uid.clone(),
            version: None,
        }),
        Held::Ours(_) | Held::Taken => None,
    }
}

fn pod_group_patch(name: String, observed: &ObservedPodGroup, wanted: &Value) -> Option<Step> {
    if observed.content.as_deref() == content(wanted) {
        return None;
    }
    let mut spec: Map<String, Value> = at(wanted, "/spec").as_object().cloned().unwrap_or_default();
    for field in POD_GROUP_FIELDS {
        let value = spec.entry(field).or_insert(Value::Null);
        if field == "minResources" && value.is_object() {
            *value = replacing(value, &observed.resources);
        }
    }
    let annotations = json!({annotations::ANNOTATION_CONTENT: content(wanted)});
    let patch = json!({"metadata": {"annotations": annotations}, "spec": spec});
    Some(self::patch(observed.kind, name, &observed.object, patch))
}

/// The only field that Kubernetes lets be changed.
fn min_count_patch(observed: &ObservedPodGroup, wanted: &Value) -> Option<Step> {
    let wanted = at(wanted, "/spec/schedulingPolicy/gang/minCount");
    let same = observed.native.as_ref().is_some_and(|gang| wanted.as_u64() == Some(gang.min_count.into()));
    let patch = json!({"spec": {"schedulingPolicy": {"gang": {"minCount": wanted}}}});
    (!same).then(|| self::patch(observed.kind, observed.name.to_string(), &observed.object, patch))
}

/// `wanted` as the merge patch of a map that has the keys `present`: those not wanted become null.
fn replacing(wanted: &Value, present: &[Box<str>]) -> Value {
    let mut map = wanted.as_object().cloned().unwrap_or_default();
    for key in present {
        map.entry(&**key).or_insert(Value::Null);
    }
    Value::Object(map)
}

fn create(kind: Kind, name: String, manifest: &Value) -> Step {
    Step::Create { object: ObjectName { kind, name }, manifest: manifest.clone(), wave: Wave::Dependencies }
}

fn patch(kind: Kind, name: String, observed: &ObservedObject, patch: Value) -> Step {
    Step::Patch {
        object: ObjectName { kind, name },
        uid: observed.uid.clone(),
        version: observed.version,
        patch,
        subresource: None,
        wave: Wave::Dependencies,
    }
}
