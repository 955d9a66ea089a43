//! What one pod needs of a node, as the scheduler counts it: containers together, or an init container that needs more
//! than they do; sidecars beside both; the pod's own resources in place of the containers'; the overhead on top.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{json::at, quantity::Quantity};

/// Amounts by resource.
pub(super) type Resources = BTreeMap<String, Quantity>;

/// The needs of a pod with this spec. The MPI Operator 0.8.2 counts the containers alone.
pub(super) fn of(pod_spec: &Value) -> Resources {
    let mut total = Resources::new();
    for container in list(pod_spec, "/containers") {
        add(&mut total, &requested(at(container, "/resources")));
    }
    let (mut sidecars, mut highest) = (Resources::new(), Resources::new());
    for container in list(pod_spec, "/initContainers") {
        let mut needs = requested(at(container, "/resources"));
        if at(container, "/restartPolicy") == "Always" {
            add(&mut total, &needs);
            add(&mut sidecars, &needs);
            needs = sidecars.clone();
        } else {
            // It runs beside the sidecars that were started before it.
            add(&mut needs, &sidecars);
        }
        raise(&mut highest, needs);
    }
    raise(&mut total, highest);
    total.extend(requested(at(pod_spec, "/resources")));
    add(&mut total, &read(at(pod_spec, "/overhead")));
    total
}

/// Adds `more` to `total`.
pub(super) fn add(total: &mut Resources, more: &Resources) {
    for (name, need) in more {
        let sum = total.entry(name.clone()).or_default();
        *sum = sum.plus(*need);
    }
}

/// Raises `total` to `least` where it is lower.
fn raise(total: &mut Resources, least: Resources) {
    for (name, need) in least {
        let sum = total.entry(name).or_insert(need);
        *sum = sum.max(need);
    }
}

/// Requests, or limits where nothing is requested.
fn requested(resources: &Value) -> Resources {
    let mut needs = read(at(resources, "/limits"));
    needs.extend(read(at(resources, "/requests")));
    needs
}

fn read(amounts: &Value) -> Resources {
    let amounts = amounts.as_object().into_iter().flatten();
    amounts.filter_map(|(name, value)| Some((name.clone(), Quantity::read(value)?))).collect()
}

fn list<'a>(pod_spec: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    at(pod_spec, pointer).as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cpu(spec: &Value) -> String {
        of(spec).get("cpu").map(ToString::to_string).unwrap_or_default()
    }

    fn requests(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn an_init_container_counts_where_it_needs_more_than_what_runs_later() {
        let spec = |init: &str| json!({"initContainers": [requests(init)], "containers": [requests("2"), requests("1")]});

        assert_eq!(cpu(&spec("2")), "3");
        assert_eq!(cpu(&spec("5")), "5");
    }

    #[test]
    fn sidecars_count_beside_the_containers_and_beside_what_starts_after_them() {
        let containers = json!([requests("1")]);
        let spec = |init: Value| json!({"initContainers": init, "containers": containers});

        assert_eq!(cpu(&spec(json!([sidecar("2")]))), "3");
        assert_eq!(cpu(&spec(json!([sidecar("2"), requests("4")]))), "6");
        assert_eq!(cpu(&spec(json!([requests("4"), sidecar("2")]))), "4");
    }

    #[test]
    fn the_pods_own_resources_stand_for_the_containers_and_overhead_comes_on_top() {
        let spec = json!({
            "resources": {"requests": {"cpu": "8"}},
            "overhead": {"cpu": "250m"},
            "containers": [requests("1")],
        });

        assert_eq!(cpu(&spec), "8250m");
    }
}
