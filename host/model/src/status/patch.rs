//! The JSON merge patch that turns one status into another.

use serde_json::{Map, Value};

use crate::api::mpijob::JobStatus;

/// What to send to the `status` subresource so that it becomes `new`. Fields that vanish become null, as a
/// merge patch asks for; fields of other writers stay. The list of conditions is replaced as a whole, so the
/// patch must carry the `resourceVersion` that `old` was read at.
pub fn merge_patch(old: &JobStatus, new: &JobStatus) -> Value {
    let value = |status: &JobStatus| serde_json::to_value(status).unwrap_or_default();
    let patch = difference(&value(old), &value(new)).unwrap_or_else(|| Value::Object(Map::new()));
    Value::Object([("status".to_owned(), patch)].into_iter().collect())
}

/// Nothing where both are equal. Going into objects only, as RFC 7386 does.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter_map(|(key, value)| {
        let patch = match old.get(key) {
            Some(before) => difference(before, value)?,
            None => value.clone(),
        };
        Some((key.clone(), patch))
    });
    let patch: Map<String, Value> = gone.chain(changed).collect();
    (!patch.is_empty()).then_some(Value::Object(patch))
}
