//! Patches, applied to an object as it is.

use serde_json::{Map, Value};

use super::status::{self, Refusal};

/// Of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 7386.
    Merge(Value),
    /// RFC 6902.
    Json(Value),
    /// Server-side, by this field manager, with force.
    Apply {
        /// All that it wants to be so.
        object: Value,
        /// Who applies.
        manager: String,
    },
}

/// The object with the patch applied. An apply is given what its manager applied before.
pub fn applied(patch: &Patch, object: &Value, before: Option<&Value>) -> Result<Value, Refusal> {
    let mut object = object.clone();
    match patch {
        Patch::Merge(change) => json_patch::merge(&mut object, change),
        Patch::Json(operations) => {
            let operations: json_patch::Patch = serde_json::from_value(operations.clone())
                .unwrap_or_else(|error| panic!("{operations} is no JSON patch: {error}"));
            json_patch::patch(&mut object, &operations).map_err(|_| status::unprocessable())?;
        }
        Patch::Apply { object: change, .. } => {
            if let Some(before) = before {
                withdraw(&mut object, before, change);
            }
            impose(&mut object, change);
        }
    }
    Ok(object)
}

/// Removes what was applied before and is no more.
fn withdraw(object: &mut Value, before: &Value, now: &Value) {
    let (Value::Object(fields), Value::Object(before)) = (object, before) else { return };
    for (key, earlier) in before {
        match now.get(key) {
            None => {
                fields.remove(key);
            }
            Some(now) => {
                if let Some(field) = fields.get_mut(key) {
                    withdraw(field, earlier, now);
                }
            }
        }
    }
}

/// Sets what is applied. Lists are taken as a whole, which is right for those of ConfigMaps.
fn impose(object: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *object = change.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    for (key, value) in change {
        impose(&mut object[key], value);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_removes_what_is_null() {
        let patch = Patch::Merge(json!({"a": null, "b": {"c": 1}}));
        assert_eq!(
            applied(&patch, &json!({"a": 1, "b": {"d": 2}}), None),
            Ok(json!({"b": {"c": 1, "d": 2}}))
        );
    }

    #[test]
    fn a_json_patch_whose_test_fails_changes_nothing() {
        let patch = Patch::Json(json!([
            {"op": "remove", "path": "/gates/0"},
            {"op": "test", "path": "/version", "value": "2"},
        ]));
        let refused = applied(&patch, &json!({"version": "1", "gates": ["a"]}), None).unwrap_err();

        assert_eq!((refused.code, refused.reason), (422, "Invalid"));
    }

    #[test]
    fn an_apply_removes_what_its_manager_applied_before_and_nothing_else() {
        let patch = |data: Value| Patch::Apply { object: json!({ "data": data }), manager: "me".into() };
        let before = json!({"data": {"mine": "1", "also": "1"}});
        let object = json!({"data": {"mine": "1", "also": "1", "theirs": "1"}});

        let after = applied(&patch(json!({"mine": "2"})), &object, Some(&before)).unwrap();

        assert_eq!(after, json!({"data": {"mine": "2", "theirs": "1"}}));
    }
}
