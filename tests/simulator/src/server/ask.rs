//! A request, read. A parameter or header that is not known ends the run.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    patch::Patch,
    path::{self, Target},
    selector::Selector,
};

/// As it came.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Verb.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// `Accept`.
    pub accept: String,
    /// `Content-Type`.
    pub content: String,
    /// JSON, or nothing.
    pub body: Vec<u8>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// About what.
    pub target: Target,
    /// What to do with it.
    pub verb: Verb,
    /// The answer is to show metadata alone.
    pub metadata_only: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// Show one.
    Get,
    /// Show all.
    List(Listing),
    /// Tell what happens to them.
    Watch(Watching),
    /// Make one.
    Create(Value),
    /// Replace it.
    Update(Value),
    /// Change it.
    Patch(Patch),
    /// Remove it.
    Delete(Options),
}

/// Which, and how many at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Of these.
    pub selector: Selector,
    /// A page of so many.
    pub limit: Option<usize>,
    /// The page after another one.
    pub token: Option<Token>,
}

/// Where a page begins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Token {
    /// The version that the first page showed; -1 if the list may show two moments.
    pub rv: i64,
    /// `namespace/name` of the last object of the page before.
    pub start: String,
}

impl Token {
    /// As clients see it.
    pub fn text(&self) -> String {
        BASE64_STANDARD.encode(serde_json::to_vec(self).expect("a number and a text"))
    }
}

/// From when, of which, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Watching {
    /// Of these.
    pub selector: Selector,
    /// What happens after this version.
    pub version: u64,
    /// Ends then.
    pub time: Duration,
    /// Tells of versions at which nothing happened.
    pub bookmarks: bool,
}

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Only this one.
    pub uid: Option<String>,
    /// Only as it was at this version.
    pub version: Option<String>,
    /// What becomes of what it owns.
    pub propagation: Propagation,
    /// `gracePeriodSeconds`.
    pub grace: Option<i64>,
}

/// What becomes of what the object owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Propagation {
    /// It goes afterwards.
    #[default]
    Background,
    /// It goes first.
    Foreground,
    /// It stays.
    Orphan,
}

/// What the request asks for; nothing where a server has no such path.
pub fn read(raw: &Raw) -> Option<Ask> {
    let (path, query) = raw.uri.split_once('?').unwrap_or((&raw.uri, ""));
    let target = path::parse(path)?;
    let mut query = Query::parse(query);
    let metadata_only = raw.accept.contains(";as=PartialObjectMetadata");
    let known = ["", "*/*", "application/json"].contains(&raw.accept.as_str()) || metadata_only;
    assert!(known, "the simulated API server does not know the accepted type {:?}", raw.accept);
    let verb = match (&raw.method, target.name.is_some()) {
        (&Method::GET, true) => Verb::Get,
        (&Method::GET, false) if query.take("watch").as_deref() == Some("true") => {
            Verb::Watch(query.watching())
        }
        (&Method::GET, false) => Verb::List(query.listing()),
        (&Method::POST, false) => {
            let validation = query.take("fieldValidation");
            assert!(validation.is_none_or(|validation| validation == "Strict"), "{}", raw.uri);
            Verb::Create(raw.json())
        }
        (&Method::PUT, true) => Verb::Update(raw.json()),
        (&Method::PATCH, true) => Verb::Patch(query.patch(raw)),
        (&Method::DELETE, true) => Verb::Delete(options(raw)),
        _ => panic!("the simulated API server does not know {} {}", raw.method, raw.uri),
    };
    assert!(query.0.is_empty(), "the simulated API server does not know {:?} of {}", query.0, raw.uri);
    Some(Ask { target, verb, metadata_only })
}

impl Raw {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} {}: {error}", self.method, self.uri))
    }
}

fn options(raw: &Raw) -> Options {
    let body = if raw.body.is_empty() { Value::Null } else { raw.json() };
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let propagation = match text("/propagationPolicy").as_deref() {
        None | Some("Background") => Propagation::Background,
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        other => panic!("the simulated API server does not know the propagation {other:?}"),
    };
    let grace = body.get("gracePeriodSeconds").and_then(Value::as_i64);
    Options {
        uid: text("/preconditions/uid"),
        version: text("/preconditions/resourceVersion"),
        propagation,
        grace,
    }
}

/// What stands behind the question mark.
struct Query(Vec<(String, String)>);

impl Query {
    fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), decoded(value))
        };
        Self(text.split('&').filter(|pair| !pair.is_empty()).map(pair).collect())
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|(other, _)| other == key)?;
        Some(self.0.remove(at).1)
    }

    fn selector(&mut self) -> Selector {
        Selector::parse(&self.take("labelSelector").unwrap_or_default())
    }

    fn listing(&mut self) -> Listing {
        Listing {
            selector: self.selector(),
            limit: self.take("limit").map(|limit| limit.parse().expect("a number of objects")),
            token: self.take("continue").map(|token| {
                let bytes = BASE64_STANDARD.decode(token).expect("a token of ours");
                serde_json::from_slice(&bytes).expect("a token of ours")
            }),
        }
    }

    fn watching(&mut self) -> Watching {
        let seconds = self.take("timeoutSeconds").map_or(1800, |seconds| seconds.parse().expect("seconds"));
        Watching {
            selector: self.selector(),
            version: self
                .take("resourceVersion")
                .expect("a watch begins somewhere")
                .parse()
                .expect("a version"),
            time: Duration::from_secs(seconds),
            bookmarks: self.take("allowWatchBookmarks").as_deref() == Some("true"),
        }
    }

    fn patch(&mut self, raw: &Raw) -> Patch {
        match raw.content.as_str() {
            "application/merge-patch+json" => Patch::Merge(raw.json()),
            "application/json-patch+json" => Patch::Json(raw.json()),
            "application/apply-patch+yaml" => {
                assert_eq!(
                    self.take("force").as_deref(),
                    Some("true"),
                    "an apply without force is not known"
                );
                let manager = self.take("fieldManager").expect("who applies says so");
                Patch::Apply { object: raw.json(), manager }
            }
            other => panic!("the simulated API server does not know the patch type {other:?}"),
        }
    }
}

/// Of a query's value.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex =
            || std::str::from_utf8(after.get(..2)?).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (byte, hex()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).expect("a query is text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(uri: &str) -> Raw {
        let (accept, content) = (String::new(), String::new());
        Raw { method: Method::GET, uri: uri.to_owned(), accept, content, body: Vec::new() }
    }

    #[test]
    fn a_list_has_a_selector_and_a_place_to_go_on_from() {
        let token = Token { rv: 7, start: "a/b".to_owned() };
        let uri = format!("/api/v1/pods?&labelSelector=a.b%2Fc%3Dd&limit=3&continue={}", token.text());
        let Some(Ask { verb: Verb::List(list), .. }) = read(&get(&uri)) else { panic!("a list") };

        assert_eq!(
            list,
            Listing { selector: Selector::parse("a.b/c=d"), limit: Some(3), token: Some(token) }
        );
    }

    #[test]
    #[should_panic(expected = "does not know")]
    fn a_parameter_that_is_not_known_ends_the_run() {
        read(&get("/api/v1/pods?fieldSelector=a"));
    }
}
