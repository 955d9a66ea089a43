//! The server's memory, and what each verb does to it. No time passes here: a request has its effect at one moment.

mod create;
mod delete;
mod read;
mod update;

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use serde_json::{Value, json};

use self::read::Pages;
use super::{
    ask::{Ask, Verb},
    kind::Kind,
    status::Refusal,
    store::Store,
};
use crate::dice;

/// HTTP status and body.
pub type Answer = Result<(u16, Value), Refusal>;

/// See the module.
pub struct State {
    /// What exists.
    pub store: Store,
    /// The server's clock.
    pub now: Timestamp,
    /// Of uids and generated names.
    pub seed: u64,
    /// Objects of a kind (its plural) that a namespace may have.
    pub quotas: BTreeMap<(String, &'static str), u64>,
    /// Objects that nobody may create, by kind and name, and what whoever tries is told.
    pub denials: BTreeMap<(&'static str, String), Refusal>,
    /// Objects on a page at most, whatever is asked for: with few, lists of many pages are short.
    pub longest_page: usize,
    pages: Pages,
    /// What was applied last, by manager and uid.
    applied: HashMap<(String, String), Value>,
}

impl State {
    /// With this history, at this time, with nothing in it.
    pub fn new(history: usize, now: Timestamp, seed: u64) -> Self {
        Self {
            store: Store::new(history),
            now,
            seed,
            quotas: BTreeMap::new(),
            denials: BTreeMap::new(),
            longest_page: usize::MAX,
            pages: Pages::default(),
            applied: HashMap::new(),
        }
    }

    /// Carries a request out, other than a watch.
    pub fn carry_out(&mut self, ask: &Ask) -> Answer {
        let Ask { target, verb, metadata_only } = ask;
        let (kind, namespace) = (target.kind, target.namespace.as_deref());
        let place = namespace.unwrap_or_default();
        let name = target.name.as_deref().unwrap_or_default();
        let answer = match verb {
            Verb::Get => self.read(kind, place, name).map(|object| (200, object)),
            Verb::List(listing) => return self.list(kind, namespace, listing, *metadata_only),
            Verb::Watch(_) => panic!("a watch has no single answer"),
            Verb::Create(object) => self.create(kind, place, object.clone()),
            Verb::Update(object) => self.update(kind, place, name, object.clone(), target.is_status),
            Verb::Patch(patch) => self.patch(kind, place, name, patch, target.is_status),
            Verb::Delete(options) => self.delete(kind, place, name, options),
        };
        answer.map(|(code, body)| (code, if *metadata_only { metadata(&body) } else { body }))
    }

    /// Kubernetes' `Time` knows no fractions of seconds.
    pub fn time(&self) -> Value {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
    }

    fn uid(&mut self) -> String {
        let number = self.store.next_uid().to_string();
        let (high, low) =
            (dice::hash(self.seed, &["uid", &number]), dice::hash(self.seed, &["uid", "low", &number]));
        let hex = format!("{high:016x}{low:016x}");
        format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }

    /// Five letters as the API server makes them.
    fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let number = self.store.next_uid().to_string();
        let mut rest = dice::hash(self.seed, &["suffix", &number]);
        let mut letter = || {
            let letter = LETTERS[usize::try_from(rest % LETTERS.len() as u64).expect("a small number")];
            rest /= LETTERS.len() as u64;
            char::from(letter)
        };
        (0..5).map(|_| letter()).collect()
    }
}

/// Metadata alone, but for what is no object.
pub fn metadata(object: &Value) -> Value {
    if object["kind"] == "Status" {
        return object.clone();
    }
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn whole(kind: &Kind, mut object: Value) -> Value {
    object["apiVersion"] = kind.api_version().into();
    object["kind"] = kind.kind.into();
    object
}
