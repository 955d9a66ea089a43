//! What the watch on plugin ConfigMaps has reported and nobody has looked at yet. Of each ConfigMap the newest state alone, so
//! that no flood of changes takes more memory than the ConfigMaps do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use coxswain_model::observed::{Uid, Version};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use tokio::sync::Notify;

use coxswain_cluster::{
    kind::Facts,
    metadata::AnyObject,
    watch::{Cut, Folds, Picture},
};

/// What is followed, in log, metrics and `/readyz`.
pub const KIND: &str = "plugin ConfigMap";

/// ConfigMaps, whole.
pub const CONFIG_MAP: Facts =
    Facts { kind: KIND, api_version: "v1", plural: "configmaps", metadata_only: false };

/// See the module. Cheap to clone: all clones are one.
#[derive(Clone, Default)]
pub(super) struct Inbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    /// By name; nothing for one that is no more.
    changed: BTreeMap<String, Option<ConfigMap>>,
    listed: Option<BTreeSet<String>>,
}

/// What has changed.
pub(super) struct News {
    /// ConfigMaps that are, or are other than before.
    pub(super) shown: Vec<ConfigMap>,
    /// Names of those that are no more.
    pub(super) ended: Vec<String>,
    /// A list is complete: the names in it.
    pub(super) listed: Option<BTreeSet<String>>,
}

impl Inbox {
    /// Waits until there are any.
    pub(super) async fn news(&self) -> News {
        self.0.arrived.notified().await;
        let State { changed, listed } = std::mem::take(&mut *self.lock());
        let mut news = News { shown: Vec::new(), ended: Vec::new(), listed };
        for (name, map) in changed {
            match map {
                Some(map) => news.shown.push(map),
                None => news.ended.push(name),
            }
        }
        news
    }

    /// A ConfigMap's newest state: nothing if it is no more. A list that nobody has looked at yet is brought up to date.
    fn put(&self, name: String, map: Option<ConfigMap>, is_listed: bool) {
        let mut state = self.lock();
        if let Some(listed) = state.listed.as_mut().filter(|_| !is_listed) {
            if map.is_some() {
                listed.insert(name.clone());
            } else {
                listed.remove(&name);
            }
        }
        state.changed.insert(name, map);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts what the watch reports into the inbox.
pub(super) struct Folded {
    inbox: Inbox,
    /// Names in the list that is being received.
    listed: BTreeSet<String>,
}

impl Folded {
    pub(super) fn into(inbox: Inbox) -> Self {
        Self { inbox, listed: BTreeSet::new() }
    }

    /// Puts a ConfigMap in, and returns its name. One that cannot be decoded stays as it was.
    fn put(&self, object: &Cut, is_listed: bool) -> Option<String> {
        match serde_json::from_slice::<ConfigMap>(&object.json) {
            Ok(map) => {
                let name = map.name_any();
                self.inbox.put(name.clone(), Some(map), is_listed);
                Some(name)
            }
            Err(error) => {
                let name = name(object);
                tracing::error!(kind = KIND, name, %error, "an object cannot be decoded");
                name
            }
        }
    }
}

fn name(object: &Cut) -> Option<String> {
    AnyObject::read(&object.json.clone().into()).metadata.name
}

impl Folds for Folded {
    /// They are looked at when they change and when somebody takes over; a list of them takes megabytes.
    const IS_CHECKED: bool = false;

    fn listing(&mut self) {
        self.listed.clear();
    }

    fn listed(&mut self, object: &Cut) {
        self.listed.extend(self.put(object, true));
    }

    fn listed_all(&mut self, _: Version) {
        self.inbox.lock().listed = Some(std::mem::take(&mut self.listed));
        self.inbox.0.arrived.notify_one();
    }

    fn shown(&mut self, object: &Cut) {
        if self.put(object, false).is_some() {
            self.inbox.0.arrived.notify_one();
        }
    }

    fn ended(&mut self, object: &Cut) {
        let Some(name) = name(object) else { return };
        self.inbox.put(name, None, false);
        self.inbox.0.arrived.notify_one();
    }

    fn known(_: &Cut) -> Option<(Uid, Version)> {
        None
    }

    fn checking(&mut self, _: bool) {}

    fn check(&mut self, _: &Picture) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn cut(name: &str) -> Cut {
        let json = json!({"metadata": {"name": name}}).to_string().into_bytes();
        Cut { json, ..Cut::default() }
    }

    #[tokio::test]
    async fn a_list_that_nobody_has_looked_at_is_brought_up_to_date() {
        let inbox = Inbox::default();
        let mut watch = Folded::into(inbox.clone());
        watch.listing();
        watch.listed(&cut("stays"));
        watch.listed(&cut("goes"));
        watch.listed_all(Version::default());
        watch.shown(&cut("comes"));
        watch.ended(&cut("goes"));

        let News { shown, ended, listed } = inbox.news().await;

        let names: Vec<String> = shown.iter().map(ResourceExt::name_any).collect();
        assert_eq!((names, ended), (vec!["comes".to_owned(), "stays".to_owned()], vec!["goes".to_owned()]));
        assert_eq!(listed, Some(["comes", "stays"].map(str::to_owned).into()));
    }

    #[tokio::test]
    async fn of_many_changes_the_last_one_is_kept() {
        let inbox = Inbox::default();
        let mut watch = Folded::into(inbox.clone());
        for _ in 0..100 {
            watch.shown(&cut("busy"));
        }
        watch.ended(&cut("busy"));

        let News { shown, ended, listed } = inbox.news().await;

        assert_eq!((shown.len(), ended, listed), (0, vec!["busy".to_owned()], None));
    }

    #[test]
    fn one_that_cannot_be_decoded_is_not_taken_for_gone() {
        let json = json!({"metadata": {"name": "odd"}, "data": 7}).to_string().into_bytes();
        let mut watch = Folded::into(Inbox::default());

        watch.listed(&Cut { json, ..Cut::default() });

        assert_eq!(watch.listed, ["odd".to_owned()].into());
    }
}
