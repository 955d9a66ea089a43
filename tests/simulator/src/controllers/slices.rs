//! `EndpointSlice`s: which pods of a Service have an address.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Actor, Key,
    inside::{Inside, has_ended, is_ending},
};
use crate::{
    holds::{AGAIN, Holds},
    plan::Held,
    server::{
        ask::Propagation,
        kind::{ENDPOINT_SLICE, POD, SERVICE},
        store::{Change, Object, text},
    },
};

const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// One slice a Service: jobs of the simulator are smaller than what fills one.
#[derive(Default)]
pub struct Slices {
    /// What is not done for now.
    pub holds: Holds,
}

impl Actor for Slices {
    fn name(&self) -> &'static str {
        "endpointslice-controller"
    }

    fn delay(&self) -> (Duration, Duration) {
        (Duration::from_millis(20), Duration::from_millis(1500))
    }

    fn wakes(&self, inside: &Inside, change: &Change) -> Vec<Key> {
        let object = change.object();
        if change.kind == &SERVICE {
            return vec![Key::of(&SERVICE, object)];
        }
        if change.kind != &POD {
            return Vec::new();
        }
        let services = inside.all(&SERVICE, text(object, "namespace"));
        let states: Vec<&Object> = change.before.iter().chain(&change.after).collect();
        let concerns = |service: &&Object| states.iter().any(|pod| selects(service, pod));
        services.iter().filter(concerns).map(|service| Key::of(&SERVICE, service)).collect()
    }

    fn look(&self, inside: &Inside, key: &Key) -> Option<Duration> {
        let service = inside.get(&SERVICE, &key.namespace, &key.name)?;
        let mut slices = inside.all(&ENDPOINT_SLICE, &key.namespace);
        slices.retain(|slice| slice["metadata"]["labels"][SERVICE_NAME] == key.name.as_str());
        let is_of =
            |slice: &Object| slice["metadata"]["ownerReferences"][0]["uid"] == service["metadata"]["uid"];
        for other in slices.iter().filter(|slice| !is_of(slice)) {
            let _ = inside.delete(&ENDPOINT_SLICE, other, Propagation::Background, None);
        }
        slices.retain(is_of);
        let mut pods = inside.all(&POD, &key.namespace);
        let all = pods.len();
        pods.retain(|pod| !self.holds.is_held(Held::Publication, text(pod, "name")));
        let again = (pods.len() < all).then_some(AGAIN);
        let endpoints: Vec<Value> = pods
            .iter()
            .filter(|pod| selects(&service, pod))
            .filter_map(|pod| endpoint(&service, pod))
            .collect();
        let labels = labels(&service);
        match slices.first() {
            Some(slice)
                if slice["endpoints"] == json!(endpoints) && slice["metadata"]["labels"] == labels => {}
            Some(slice) => {
                let change = json!({"metadata": {"labels": labels}, "endpoints": endpoints});
                let _ = inside.patch(&ENDPOINT_SLICE, slice, change);
            }
            None => {
                let _ = inside.create(&ENDPOINT_SLICE, &key.namespace, slice(&service, &labels, &endpoints));
            }
        }
        again
    }
}

fn selects(service: &Object, pod: &Object) -> bool {
    let Some(selector) = service["spec"]["selector"].as_object() else { return false };
    selector.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value))
}

/// Of a pod that has an address.
fn endpoint(service: &Object, pod: &Object) -> Option<Value> {
    let address = pod["status"]["podIP"].as_str()?;
    if has_ended(pod) {
        return None;
    }
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut conditions = conditions.into_iter().filter(|condition| condition["type"] == "Ready");
    let is_ready = conditions.any(|condition| condition["status"] == "True") && !is_ending(pod);
    let publishes = service["spec"]["publishNotReadyAddresses"] == true;
    let mut endpoint = json!({
        "addresses": [address],
        "conditions": {"ready": is_ready || publishes, "serving": is_ready, "terminating": is_ending(pod)},
        "targetRef": {
            "kind": "Pod",
            "namespace": text(pod, "namespace"),
            "name": text(pod, "name"),
            "uid": text(pod, "uid"),
        },
    });
    if pod["spec"]["subdomain"] == text(service, "name") && !pod["spec"]["hostname"].is_null() {
        endpoint["hostname"] = pod["spec"]["hostname"].clone();
    }
    Some(endpoint)
}

fn labels(service: &Object) -> Value {
    let mut labels = service["metadata"]["labels"].clone();
    labels[SERVICE_NAME] = text(service, "name").into();
    labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io".into();
    labels
}

fn slice(service: &Object, labels: &Value, endpoints: &[Value]) -> Value {
    json!({
        "metadata": {
            "generateName": format!("{}-", text(service, "name")),
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "Service",
                "name": text(service, "name"),
                "uid": text(service, "uid"),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [],
    })
}
