//! Laying our fields over a user's JSON: small pure functions that keep every field that they do not know.

use serde_json::{Map, Value};

/// The fields of a JSON object.
pub(super) type Fields = Map<String, Value>;

/// The fields of an object; anything else has none.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

/// The elements of a list; anything else has none.
fn elements(value: Value) -> Vec<Value> {
    match value {
        Value::Array(elements) => elements,
        _ => Vec::new(),
    }
}

fn taken(parent: &mut Fields, key: &str) -> Value {
    parent.get_mut(key).map(Value::take).unwrap_or_default()
}

/// Sets one field.
pub(super) fn set(parent: &mut Fields, key: &str, value: impl Into<Value>) {
    parent.insert(key.to_owned(), value.into());
}

/// Changes the object at `key`, which is made if it is absent.
pub(super) fn edit(parent: &mut Fields, key: &str, change: impl FnOnce(&mut Fields)) {
    let mut child = fields(taken(parent, key));
    change(&mut child);
    set(parent, key, child);
}

/// Changes the first object of the list at `key`; an empty list stays as it is.
pub(super) fn edit_first(parent: &mut Fields, key: &str, change: impl FnOnce(&mut Fields)) {
    let first = parent.get_mut(key).and_then(Value::as_array_mut).and_then(|list| list.first_mut());
    if let Some(first) = first.and_then(Value::as_object_mut) {
        change(first);
    }
}

/// Appends to the list at `key`, which is made if there is anything to append.
pub(super) fn append(parent: &mut Fields, key: &str, more: impl IntoIterator<Item = Value>) {
    let mut more = more.into_iter().peekable();
    if more.peek().is_some() {
        let mut list = elements(taken(parent, key));
        list.extend(more);
        set(parent, key, list);
    }
}

/// Puts `first` before the elements of the list at `key`.
pub(super) fn prepend(parent: &mut Fields, key: &str, first: Value) {
    let mut list = vec![first];
    list.extend(elements(taken(parent, key)));
    set(parent, key, list);
}

/// The list at `key` is absent or empty.
pub(super) fn is_empty(parent: &Fields, key: &str) -> bool {
    parent.get(key).and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// The list of objects at `key` has one whose `field` is `value`.
pub(super) fn lists(parent: &Fields, key: &str, field: &str, value: impl Into<Value>) -> bool {
    let value = value.into();
    let list = parent.get(key).and_then(Value::as_array);
    list.is_some_and(|list| list.iter().any(|one| one.get(field) == Some(&value)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_overlay_does_not_know_stays() {
        let mut pod =
            fields(json!({"spec": {"future": {"a": [1]}, "volumes": [{"name": "mine"}]}, "x": null}));

        edit(&mut pod, "spec", |spec| append(spec, "volumes", [json!({"name": "ours"})]));
        edit(&mut pod, "metadata", |metadata| set(metadata, "name", "pi"));

        assert_eq!(
            Value::from(pod),
            json!({
                "metadata": {"name": "pi"},
                "spec": {"future": {"a": [1]}, "volumes": [{"name": "mine"}, {"name": "ours"}]},
                "x": null,
            })
        );
    }

    #[test]
    fn null_counts_as_absent_and_nothing_appended_makes_no_list() {
        let mut pod = fields(json!({"volumes": null, "metadata": null}));

        append(&mut pod, "env", []);
        append(&mut pod, "volumes", [json!(1)]);
        prepend(&mut pod, "volumes", json!(0));
        edit(&mut pod, "metadata", |_| ());
        edit_first(&mut pod, "containers", |_| panic!("there is none"));

        assert_eq!(Value::from(pod), json!({"volumes": [0, 1], "metadata": {}}));
    }

    #[test]
    fn a_list_is_searched_by_a_field() {
        let container = fields(json!({"env": [{"name": "A"}, 1], "ports": [{"containerPort": 22}]}));

        assert!(lists(&container, "env", "name", "A"));
        assert!(lists(&container, "ports", "containerPort", 22));
        assert!(!lists(&container, "env", "name", "B"));
        assert!(!lists(&container, "volumes", "name", "A"));
        assert!(is_empty(&container, "args"));
        assert!(!is_empty(&container, "env"));
    }
}
