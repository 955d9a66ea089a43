use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::kind::WORKER;

/// The obvious rendering: the three fields set in the parsed manifest.
fn plain(pod: &Value, prefix: &str, shift: u32, index: u32) -> Value {
    let mut pod = pod.clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!(format!("{prefix}{index}"));
    pod["metadata"]["labels"][labels::LABEL_REPLICA_INDEX] = json!((index + shift).to_string());
    pod["spec"]["hostname"] = json!(format!("{prefix}{index}"));
    pod
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just("pi-worker-".to_owned()),
        Just(r#"","labels":{"x":""#.to_owned()),
        Just("}}\\\"".to_owned()),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(text(), tree(), 0..4).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #[test]
    fn a_worker_made_of_the_template_equals_the_plain_rendering(
        metadata in object(), labels in object(), spec in object(), shift in 0..2_u32, index in 0..100_000_u32,
    ) {
        let mut pod = json!({"metadata": metadata, "spec": spec});
        pod["metadata"]["labels"] = Value::from(labels);

        let made = WorkerTemplate::new(pod.clone(), WORKER, "pi-worker-".to_owned(), shift).manifest(index);

        prop_assert_eq!(
            serde_json::from_str::<Value>(&made).unwrap(),
            plain(&pod, "pi-worker-", shift, index)
        );
    }
}

#[test]
fn names_that_the_user_put_into_the_template_are_replaced() {
    let pod = json!({
        "metadata": {"name": "mine", "labels": {labels::LABEL_REPLICA_INDEX: "7"}},
        "spec": {"hostname": "mine"},
    });

    let made = WorkerTemplate::new(pod.clone(), WORKER, "pi-worker-".to_owned(), 1).manifest(4);

    assert_eq!(serde_json::from_str::<Value>(&made).unwrap(), plain(&pod, "pi-worker-", 1, 4));
    assert_eq!(made.matches("hostname").count(), 1);
}
