//! What stands around the objects: a page's tokens, an event's type, a refusal.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};

use super::cut::{Cut, Piece};

/// The end of a page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Page {
    /// Of the list.
    pub metadata: ListMeta,
}

/// `metadata` of a list, and of a Status that refuses one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The state of the cluster that the list shows.
    pub resource_version: String,
    /// Where the next page begins; empty on the last one.
    #[serde(rename = "continue")]
    pub token: String,
}

/// A refusal in the API server's form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// HTTP status.
    pub code: u16,
    /// Such as `Expired`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// May bring a token to go on with where the old one has expired.
    pub metadata: ListMeta,
    /// May say for how long to stay away.
    pub details: Details,
}

/// `details` of a Status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// 0 for no word on it.
    pub retry_after_seconds: u64,
    /// More exact reasons.
    pub causes: Vec<Cause>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// Such as `ResourceVersionTooLarge`.
    pub reason: String,
}

impl Status {
    /// The version or token that was asked for leads nowhere any more (or not yet: the cluster was restored from a
    /// backup): only a new list helps.
    pub fn is_expired(&self) -> bool {
        self.code == 410
            || matches!(&*self.reason, "Expired" | "Gone")
            || self.details.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
    }
}

/// What a watch reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An object is, or is other than before.
    Shown(Cut),
    /// An object is no more.
    Ended(Cut),
    /// Nothing has changed up to this version.
    Bookmark,
    /// The watch ends, and why.
    Error(Status),
    /// Of a type that is not known.
    Other,
}

/// Puts events together from the pieces of a stream.
#[derive(Debug, Default)]
pub struct Events {
    object: Option<Cut>,
}

impl Events {
    /// An event with the version of its object, once it is whole.
    pub fn piece(&mut self, piece: Piece) -> Option<(Event, Option<String>)> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Line {
            #[serde(rename = "type")]
            kind: String,
        }
        match piece {
            Piece::Object(cut) => {
                self.object = Some(cut);
                None
            }
            Piece::Around(json) => {
                let line: Line = serde_json::from_slice(&json).unwrap_or_default();
                let object = self.object.take();
                Some(event(&line.kind, object, &json))
            }
        }
    }
}

fn event(kind: &str, object: Option<Cut>, around: &[u8]) -> (Event, Option<String>) {
    let Some(object) = object else {
        // A Status without an event around it.
        let status: Status = serde_json::from_slice(around).unwrap_or_default();
        let event = if status.code == 0 { Event::Other } else { Event::Error(status) };
        return (event, None);
    };
    if kind == "ERROR" {
        return (Event::Error(serde_json::from_slice(&object.json).unwrap_or_default()), None);
    }
    let version = version(&object.json);
    let event = match kind {
        "ADDED" | "MODIFIED" => Event::Shown(object),
        "DELETED" => Event::Ended(object),
        "BOOKMARK" => Event::Bookmark,
        _ => Event::Other,
    };
    (event, version)
}

/// `metadata.resourceVersion`, whatever else the object holds. It stands near the beginning, and nothing behind it is looked
/// at: the whole object is read but once, for its row.
fn version(json: &[u8]) -> Option<String> {
    let mut version = None;
    let at = At { path: &["metadata", "resourceVersion"], found: &mut version };
    // An error is also how it ends early.
    let _ = at.deserialize(&mut serde_json::Deserializer::from_slice(json));
    version.filter(|version| !version.is_empty())
}

/// A text at the end of a path of keys.
struct At<'a> {
    path: &'static [&'static str],
    found: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            *self.found = Some(String::deserialize(from)?);
            return Err(D::Error::custom("found"));
        }
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((key, path)) = self.path.split_first() else { return Ok(()) };
        while let Some(is_it) = map.next_key_seed(Is(key))? {
            if is_it {
                map.next_value_seed(At { path, found: &mut *self.found })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Whether a key is this one.
struct Is(&'static str);

impl<'de> DeserializeSeed<'de> for Is {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reported(kind: &str, object: &Value) -> (Event, Option<String>) {
        let mut events = Events::default();
        let cut = Cut { json: object.to_string().into_bytes(), ..Cut::default() };
        assert_eq!(events.piece(Piece::Object(cut)), None);
        events.piece(Piece::Around(json!({"type": kind, "object": null}).to_string().into_bytes())).unwrap()
    }

    #[test]
    fn events_are_known_by_their_type_and_move_the_version() {
        let object = json!({"metadata": {"name": "a", "resourceVersion": "7"}});

        assert!(matches!(reported("ADDED", &object), (Event::Shown(_), Some(version)) if version == "7"));
        assert!(matches!(reported("DELETED", &object), (Event::Ended(_), Some(version)) if version == "7"));
        assert_eq!(reported("BOOKMARK", &object), (Event::Bookmark, Some("7".to_owned())));
        assert_eq!(reported("NEWS", &object).0, Event::Other);
    }

    #[test]
    fn an_object_that_nobody_can_decode_still_has_a_version() {
        let deep = format!(
            r#"{{"spec":{}{},"metadata":{{"resourceVersion":"9"}}}}"#,
            "[".repeat(10_000),
            "]".repeat(10_000)
        );

        assert_eq!(version(deep.as_bytes()).as_deref(), Some("9"));
    }

    #[test]
    fn the_version_is_that_of_the_object_and_of_nothing_in_it() {
        let of = |json: &str| version(json.as_bytes());

        let nested = r#"{"spec":{"metadata":{"resourceVersion":"1"}},"metadata":{"labels":{"resourceVersion":"2"},
            "resourceVersion":"3","x":0},"x":1}"#;
        assert_eq!(of(nested).as_deref(), Some("3"));
        assert_eq!(of(r#"{"metadata":{"resource\u0056ersion":"4"}}"#).as_deref(), Some("4"));
        for without in [
            r#"{"metadata":{"resourceVersion":""}}"#,
            r#"{"metadata":null}"#,
            "{}",
            "null",
            r#"{"metadata":{"#,
        ] {
            assert_eq!(of(without), None, "{without}");
        }
    }

    #[test]
    fn an_expired_version_is_known_in_every_form() {
        let reported = |status: Value| match reported("ERROR", &status) {
            (Event::Error(status), None) => status.is_expired(),
            other => panic!("{other:?}"),
        };

        assert!(reported(json!({"kind": "Status", "code": 410})));
        assert!(reported(json!({"kind": "Status", "reason": "Expired"})));
        let early = json!({"causes": [{"reason": "ResourceVersionTooLarge"}]});
        assert!(reported(json!({"kind": "Status", "code": 504, "details": early})));
        assert!(!reported(json!({"kind": "Status", "code": 500})));
    }
}
