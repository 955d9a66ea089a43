//! From the contract to the model. Numbers are bounded above what the policy allows, so that for a plan that is merely
//! too big the policy has the word, and only absurd ones break the plugin.

use coxswain_model::plan::{
    CapabilityRequest, Change, Descriptor, Edit, EnvEdit, EnvValue, Failure, File, Note, Place, Plan,
    PodField, Port, SettingKind, Violation,
};

use crate::{
    bindings::v0_1::{coxswain::plugin::types as wit, exports::coxswain::plugin::about},
    fault::Break,
};

/// Edits, files, notes, violations of one answer.
const EDITS: usize = 1024;
const FILES: usize = 64;
const NOTES: usize = 64;
const VIOLATIONS: usize = 256;
/// Words of one command.
const WORDS: usize = 1024;
/// Bytes of a text for people; longer ones are cut.
const TEXT: usize = 1024;

/// An answer and the bytes of text in it.
type Weighed<T> = Result<(T, usize), Break>;

/// A plan, signed by `by`.
pub fn plan(raw: Result<wit::Plan, wit::Failure>, by: &str) -> Weighed<Result<Plan, Failure>> {
    let raw = match raw {
        Ok(plan) => plan,
        Err(refusal) => return Ok((Err(failure(refusal)?), 0)),
    };
    at_most(raw.edits.len(), EDITS, "edits")?;
    at_most(raw.notes.len(), NOTES, "notes")?;
    let edits = raw.edits.into_iter().map(|raw| edit(raw, by)).collect::<Result<Vec<_>, _>>()?;
    let files = all_files(raw.files, by)?;
    let notes = raw.notes.into_iter().map(|raw| note(&raw, by)).collect();
    let bytes = weight(&files).saturating_add(edits.iter().map(edit_weight).sum());
    Ok((Ok(Plan { edits, files, notes }), bytes))
}

/// Files, signed by `by`.
pub fn files(raw: Result<Vec<wit::File>, wit::Failure>, by: &str) -> Weighed<Result<Vec<File>, Failure>> {
    match raw {
        Ok(raw) => {
            let files = all_files(raw, by)?;
            let bytes = weight(&files);
            Ok((Ok(files), bytes))
        }
        Err(refusal) => Ok((Err(failure(refusal)?), 0)),
    }
}

/// Violations of settings.
pub fn violations(raw: Vec<wit::Violation>) -> Weighed<Vec<Violation>> {
    Ok((all_violations(raw)?, 0))
}

/// Who a plugin says it is, as it says it.
pub fn descriptor(raw: about::Descriptor) -> Descriptor {
    let kind = |raw: wit::SettingKind| SettingKind {
        key: raw.key,
        default: raw.default,
        summary: one_line(&raw.summary),
    };
    Descriptor {
        name: raw.name,
        version: raw.version,
        summary: raw.summary,
        serves: raw.serves,
        settings: raw.settings.into_iter().map(kind).collect(),
        reads_env: raw.reads_env,
        writes_env: raw.writes_env,
        reads_annotations: raw.reads_annotations,
    }
}

fn edit(raw: wit::Edit, by: &str) -> Result<Edit, Break> {
    let change = match raw.change {
        wit::Change::Env(env) => Change::Env(EnvEdit {
            name: env.name,
            value: match env.value {
                wit::EnvValue::Literal(text) => EnvValue::Literal(text),
                wit::EnvValue::Field(field) => EnvValue::Field(pod_field(field)),
            },
            force: env.precedence == wit::Precedence::Force,
        }),
        wit::Change::LaunchCommand(words) => {
            at_most(words.len(), WORDS, "words of a command")?;
            Change::LaunchCommand(words)
        }
        wit::Change::PrefixCommand(words) => {
            at_most(words.len(), WORDS, "words of a command")?;
            Change::PrefixCommand(words)
        }
        wit::Change::Port(port) => Change::Port(Port { name: port.name, number: port.number }),
        wit::Change::Want(want) => {
            Change::Capability(CapabilityRequest { kind: want.kind, parameter: want.parameter })
        }
    };
    Ok(Edit { by: by.into(), group: raw.group, change })
}

fn pod_field(field: wit::PodField) -> PodField {
    match field {
        wit::PodField::Name => PodField::Name,
        wit::PodField::Namespace => PodField::Namespace,
        wit::PodField::Ip => PodField::Ip,
        wit::PodField::NodeName => PodField::NodeName,
        wit::PodField::HostIp => PodField::HostIp,
        wit::PodField::ReplicaIndex => PodField::ReplicaIndex,
    }
}

fn all_files(raw: Vec<wit::File>, by: &str) -> Result<Vec<File>, Break> {
    at_most(raw.len(), FILES, "files")?;
    let file = |raw: wit::File| File {
        by: by.into(),
        name: raw.name,
        place: match raw.place {
            wit::Place::Job => Place::Job,
            wit::Place::Everywhere(place) => Place::Everywhere(place),
        },
        executable: raw.executable,
        content: raw.content,
    };
    Ok(raw.into_iter().map(file).collect())
}

fn note(raw: &wit::Note, by: &str) -> Note {
    Note { by: by.into(), warning: raw.level == wit::Level::Warning, text: one_line(&raw.text) }
}

fn failure(raw: wit::Failure) -> Result<Failure, Break> {
    Ok(match raw {
        wit::Failure::Invalid(violations) => Failure::Invalid(all_violations(violations)?),
        wit::Failure::Unsupported(text) => Failure::Unsupported(one_line(&text)),
    })
}

fn all_violations(raw: Vec<wit::Violation>) -> Result<Vec<Violation>, Break> {
    at_most(raw.len(), VIOLATIONS, "violations")?;
    let violation = |raw: wit::Violation| Violation { path: one_line(&raw.path), text: one_line(&raw.text) };
    Ok(raw.into_iter().map(violation).collect())
}

/// Text for events and conditions: no control characters, bounded.
fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT);
    text.split_at_checked(end).map_or(text, |(head, _)| head).replace(char::is_control, " ")
}

fn at_most(count: usize, bound: usize, what: &str) -> Result<(), Break> {
    if count > bound {
        Err(Break::ResultTooLarge(format!("{count} {what}, at most {bound}")))
    } else {
        Ok(())
    }
}

fn weight(files: &[File]) -> usize {
    files.iter().map(|file| file.content.len()).sum()
}

fn edit_weight(edit: &Edit) -> usize {
    match &edit.change {
        Change::Env(EnvEdit { value: EnvValue::Literal(text), name, .. }) => {
            name.len().saturating_add(text.len())
        }
        Change::Env(EnvEdit { name, .. }) => name.len(),
        Change::LaunchCommand(words) | Change::PrefixCommand(words) => words.iter().map(String::len).sum(),
        Change::Port(_) | Change::Capability(_) => 0,
    }
}
