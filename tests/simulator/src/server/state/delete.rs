//! The end of objects: at once, after their finalizers, or after a pod's grace.

use jiff::SignedDuration;
use serde_json::Value;

use super::{Answer, State};
use crate::server::{
    ask::{Options, Propagation},
    kind::{Kind, NAMESPACE, POD},
    status,
    store::text,
};

impl State {
    /// DELETE.
    pub(super) fn delete(
        &mut self,
        kind: &'static Kind,
        namespace: &str,
        name: &str,
        options: &Options,
    ) -> Answer {
        let Some(old) = self.store.get(kind, namespace, name).cloned() else {
            return Err(status::not_found(kind, name));
        };
        for (what, asked, is) in [
            ("UID", &options.uid, text(&old, "uid")),
            ("ResourceVersion", &options.version, text(&old, "resourceVersion")),
        ] {
            if let Some(asked) = asked.as_deref().filter(|asked| *asked != is) {
                return Err(status::not_deleted(kind, name, what, asked, is));
            }
        }
        let mut object = Value::clone(&old);
        add_finalizer(&mut object, options.propagation);
        if kind == &NAMESPACE {
            // Its content goes first; whoever empties it removes this.
            object["spec"]["finalizers"] = serde_json::json!(["kubernetes"]);
            object["status"]["phase"] = "Terminating".into();
        }
        let grace = if kind == &POD { grace(&old, options) } else { 0 };
        let waits = grace > 0
            || kind == &NAMESPACE
            || object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        let is_ending = !old["metadata"]["deletionTimestamp"].is_null();
        if kind == &POD || waits {
            let shortens =
                is_ending && grace < old["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            if !is_ending || shortens {
                self.mark(&mut object, grace, is_ending);
            }
            if object != *old {
                object = Value::clone(&self.store.put(kind, object));
            }
            let left = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            if waits || left > 0 {
                return Ok((200, object));
            }
        }
        let last = self.store.remove(kind, namespace, name).expect("it was there");
        if kind.returns_deleted {
            return Ok((200, last));
        }
        Ok((200, status::deleted(kind, name, &last["metadata"]["uid"])))
    }

    /// From now on it ends.
    fn mark(&self, object: &mut Value, grace: i64, is_ending: bool) {
        let end = self.now.checked_add(SignedDuration::from_secs(grace)).expect("a time of this age");
        let meta = &mut object["metadata"];
        meta["deletionTimestamp"] = end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
        meta["deletionGracePeriodSeconds"] = grace.into();
        if let Some(generation) = meta["generation"].as_i64().filter(|_| !is_ending) {
            meta["generation"] = (generation + 1).into();
        }
    }
}

fn add_finalizer(object: &mut Value, propagation: Propagation) {
    let finalizer = match propagation {
        Propagation::Background => return,
        Propagation::Foreground => "foregroundDeletion",
        Propagation::Orphan => "orphan",
    };
    let finalizers = &mut object["metadata"]["finalizers"];
    let mut all = finalizers.as_array().cloned().unwrap_or_default();
    if all.iter().all(|other| other != finalizer) {
        all.push(finalizer.into());
    }
    *finalizers = all.into();
}

/// Seconds that the kubelet has; none if it has not heard of the pod, or the pod has ended.
fn grace(pod: &Value, options: &Options) -> i64 {
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if pod["spec"]["nodeName"].is_null() || has_ended {
        return 0;
    }
    let own = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    let asked = options.grace.unwrap_or(own);
    if asked < 0 { 1 } else { asked }
}
