//! What a vector expects of a plan, and how a plan differs from it.

use std::collections::BTreeMap;

use coxswain_model::{
    kind::{LAUNCHER, WORKER},
    plan::{Change, EnvValue, Plan, PodField},
    policy::{Grant, Granted},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Everything that is named must be so; the rest may be anything.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// Part of the words of a refusal; then nothing else is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    #[serde(skip_serializing_if = "Role::is_empty")]
    launcher: Role,
    #[serde(skip_serializing_if = "Role::is_empty")]
    worker: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, Option<Text>>,
    #[serde(alias = "wants", skip_serializing_if = "BTreeMap::is_empty")]
    capabilities: BTreeMap<String, Option<Text>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// What one role must have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Role {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, Option<Text>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ports: BTreeMap<String, Option<u16>>,
}

/// A text, wholly or in part. In YAML and JSON: a scalar, `{contains: part}`, `{field: ip}`.
#[derive(Clone, Debug, PartialEq)]
enum Text {
    Is(String),
    Contains(String),
    /// A field of the pod, as the contract spells it.
    Field(String),
}

impl Text {
    fn fits(&self, value: &Found) -> bool {
        match (self, value) {
            (Self::Is(text), Found::Text(found)) => text == found,
            (Self::Contains(part), Found::Text(found)) => found.contains(part.as_str()),
            (Self::Field(name), Found::Field(found)) => name == field(*found),
            _ => false,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Is(text) => format!("{text:?}"),
            Self::Contains(part) => format!("something with {part:?}"),
            Self::Field(name) => format!("the pod's field {name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let part = |key: &str| match value.as_object() {
            Some(object) if object.len() == 1 => object.get(key).and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        match (part("contains"), part("field")) {
            (Some(part), _) => Ok(Self::Contains(part)),
            (_, Some(name)) => Ok(Self::Field(name)),
            _ => text(value).map(Self::Is).map_err(|_: D::Error| {
                serde::de::Error::custom("must be a text, {contains: TEXT}, {field: NAME} or null")
            }),
        }
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(text) => text.serialize(serializer),
            Self::Contains(part) => BTreeMap::from([("contains", part)]).serialize(serializer),
            Self::Field(name) => BTreeMap::from([("field", name)]).serialize(serializer),
        }
    }
}

/// What is there.
enum Found {
    Text(String),
    Field(PodField),
}

impl Found {
    fn of(value: &EnvValue) -> Self {
        match value {
            EnvValue::Literal(text) => Self::Text(text.clone()),
            EnvValue::Field(field) => Self::Field(*field),
        }
    }

    /// Short enough for a line.
    fn shown(&self) -> String {
        const MOST: usize = 400;
        match self {
            Self::Text(text) if text.chars().count() > MOST => {
                format!("{:?}…", text.chars().take(MOST).collect::<String>())
            }
            Self::Text(text) => format!("{text:?}"),
            Self::Field(name) => format!("the pod's field {}", field(*name)),
        }
    }
}

impl Role {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn differences(&self, role: &str, grant: &Grant) -> Vec<String> {
        let found =
            |name: &str| grant.env.iter().find(|env| env.name == name).map(|env| Found::of(&env.value));
        let env = self.env.iter();
        let env = env.filter_map(|(name, text)| {
            differs(&format!("{role}: variable {name}"), text.as_ref(), found(name))
        });
        let number = |name: &str| grant.ports.iter().find(|port| port.name == name).map(|port| port.number);
        let ports = self.ports.iter().filter(|(name, expected)| number(name) != **expected);
        let ports = ports.map(|(name, expected)| {
            let shown = |port: Option<u16>| port.map_or_else(|| "absent".to_owned(), |port| port.to_string());
            format!("{role}: port {name} must be {}, but is {}", shown(*expected), shown(number(name)))
        });
        env.chain(ports).collect()
    }
}

impl Expect {
    /// Every difference in words.
    pub fn differences(&self, plan: &Plan, granted: &Granted) -> Vec<String> {
        let mut found = self.launcher.differences("launcher", granted.of(LAUNCHER));
        found.extend(self.worker.differences("worker", granted.of(WORKER)));
        if let Some(expected) = &self.command {
            let command = granted.launch_command.clone().unwrap_or_default();
            found.extend(words_differ("command", expected, &command));
        }
        if let Some(expected) = &self.prefix {
            found.extend(words_differ("prefix", expected, &granted.prefix_command));
        }
        for (name, expected) in &self.files {
            let mut files = granted.job_files.iter().chain(&granted.everywhere);
            let content = files.find(|file| file.name == *name).map(|file| Found::Text(file.content.clone()));
            found.extend(differs(&format!("file {name}"), expected.as_ref(), content));
        }
        for (kind, expected) in &self.capabilities {
            found.extend(differs(&format!("capability {kind}"), expected.as_ref(), requested(plan, kind)));
        }
        for part in &self.notes {
            if !granted.notes.iter().any(|note| note.text.contains(part.as_str())) {
                found.push(format!("a note with {part:?} must be there, but is not"));
            }
        }
        found
    }
}

/// The parameter of the last capability request of a kind, granted or not.
fn requested(plan: &Plan, kind: &str) -> Option<Found> {
    let parameter = |change: &Change| match change {
        Change::Capability(request) if request.kind == kind => {
            Some(request.parameter.clone().unwrap_or_default())
        }
        _ => None,
    };
    plan.edits.iter().rev().find_map(|edit| parameter(&edit.change)).map(Found::Text)
}

fn differs(what: &str, expected: Option<&Text>, found: Option<Found>) -> Option<String> {
    match (expected, found) {
        (None, None) => None,
        (None, Some(found)) => Some(format!("{what} must be absent, but is {}", found.shown())),
        (Some(text), None) => Some(format!("{what} must be {}, but is absent", text.shown())),
        (Some(text), Some(found)) if text.fits(&found) => None,
        (Some(text), Some(found)) => {
            Some(format!("{what} must be {}, but is {}", text.shown(), found.shown()))
        }
    }
}

fn words_differ(what: &str, expected: &[String], found: &[String]) -> Option<String> {
    (expected != found).then(|| format!("{what} must be {expected:?}, but is {found:?}"))
}

/// As the contract spells it.
pub fn field(field: PodField) -> &'static str {
    match field {
        PodField::Name => "name",
        PodField::Namespace => "namespace",
        PodField::Ip => "ip",
        PodField::NodeName => "node-name",
        PodField::HostIp => "host-ip",
        PodField::ReplicaIndex => "replica-index",
    }
}

/// A scalar as it is written.
pub fn text<E: serde::de::Error>(value: Value) -> Result<String, E> {
    match value {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        other => Err(E::custom(format!("{other} must be a text"))),
    }
}
