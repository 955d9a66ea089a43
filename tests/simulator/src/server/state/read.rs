//! Objects and lists as they are, or as they were when the list's first page was read.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Answer, State, metadata};
use crate::server::{
    ask::{Listing, Token},
    kind::Kind,
    status::{self, Refusal},
    store::{Object, text},
};

/// How long etcd, as API servers use it, remembers what a list's first page showed.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(5);

/// What lists with more than a page showed, by path and version.
#[derive(Default)]
pub struct Pages(BTreeMap<(String, u64), (Timestamp, Vec<Object>)>);

impl Pages {
    fn retain(&mut self, now: Timestamp) {
        self.0.retain(|_, (at, _)| now.duration_since(*at) < REMEMBERED);
    }

    /// As a server that is started anew and asks an etcd that was compacted.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl State {
    /// Forgets what watches and lists need to go on.
    pub fn forget(&mut self) {
        self.store.forget();
        self.pages.clear();
    }

    /// Forgets what lists need to go on: their tokens have expired.
    pub fn expire_pages(&mut self) {
        self.pages.clear();
    }

    pub(super) fn read(&self, kind: &'static Kind, namespace: &str, name: &str) -> Result<Value, Refusal> {
        let found = self.store.get(kind, namespace, name);
        found.map(|object| Value::clone(object)).ok_or_else(|| status::not_found(kind, name))
    }

    pub(super) fn list(
        &mut self,
        kind: &'static Kind,
        namespace: Option<&str>,
        listing: &Listing,
        metadata_only: bool,
    ) -> Answer {
        let Listing { selector, limit, token } = listing;
        let path = kind.path(namespace);
        self.pages.retain(self.now);
        let (version, mut all) = match token {
            Some(Token { rv, start }) if *rv >= 0 => {
                let version = u64::try_from(*rv).expect("a version");
                let Some((_, objects)) = self.pages.0.get(&(path.clone(), version)) else {
                    return Err(status::page_expired(Token { rv: -1, start: start.clone() }.text()));
                };
                (version, objects.clone())
            }
            _ => (self.store.version(), self.store.list(kind, namespace).cloned().collect()),
        };
        let whole = all.clone();
        if let Some(token) = token {
            all.retain(|object| key(object) > token.start);
        }
        // A page ends when it is full. Whether more objects follow is known then; whether one of them matches is not.
        let limit = limit.map(|limit| limit.min(self.longest_page));
        let last = limit.and_then(|limit| {
            let matching = all.iter().enumerate().filter(|(_, object)| selector.matches(object));
            matching.map(|(at, _)| at).nth(limit - 1).filter(|at| at + 1 < all.len())
        });
        let mut meta = json!({"resourceVersion": version.to_string()});
        if kind.is_custom {
            meta["continue"] = "".into();
        }
        if let Some(last) = last {
            let rest = all.split_off(last + 1);
            let start = all.last().map(|object| key(object)).unwrap_or_default();
            let rv = i64::try_from(version).expect("a version");
            meta["continue"] = Token { rv, start }.text().into();
            if selector.is_empty() {
                meta["remainingItemCount"] = rest.len().into();
            }
            self.pages.0.entry((path, version)).or_insert((self.now, whole));
        }
        all.retain(|object| selector.matches(object));
        let items: Vec<Value> = all.iter().map(|object| item(kind, object, metadata_only)).collect();
        let (collection, api_version) = if metadata_only {
            ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
        } else {
            (format!("{}List", kind.kind), kind.api_version())
        };
        Ok((200, json!({"kind": collection, "apiVersion": api_version, "metadata": meta, "items": items})))
    }
}

/// In lists, objects of built-in kinds do not say of which kind they are.
fn item(kind: &Kind, object: &Object, metadata_only: bool) -> Value {
    if metadata_only {
        return metadata(object);
    }
    let mut object = Value::clone(object);
    if !kind.is_custom {
        let fields = object.as_object_mut().expect("an object");
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    object
}

fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "namespace"), text(object, "name"))
}
