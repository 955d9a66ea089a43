//! What a plugin says of itself, and whether that can be.

use coxswain_model::{plan::Descriptor, view::Setting};

use crate::{
    bindings::v0_1::DescribesPre,
    call::{Caller, Function, Limits},
    convert,
    fault::Refused,
    plugin::Loaded,
};

/// Entries of each list of a descriptor.
const ENTRIES: usize = 64;
/// Bytes of a prefix, a key, a flavor. Names of variables have at most 128.
const WORD: usize = 128;
/// Bytes of a summary or a default.
const LINE: usize = 1024;

/// Asks for the descriptor.
pub fn ask(caller: &Caller, describes: &DescribesPre<Limits>) -> Result<Descriptor, Refused> {
    let enter = |store: &mut wasmtime::Store<Limits>| {
        describes.instantiate(&mut *store)?.coxswain_plugin_about().call_describe(store)
    };
    caller.run(Function::Describe, 0, enter, |raw| Ok((convert::descriptor(raw), 0))).map_err(Refused::Broke)
}

/// Checks the descriptor against itself, the name and the exports.
pub fn check(loaded: &Loaded) -> Result<(), Refused> {
    let described = &loaded.descriptor;
    let mut wrong = identity(described, &loaded.caller.name);
    wrong.extend(lists(described));
    if loaded.launches.is_none() && loaded.tunes.is_none() {
        wrong.push("it exports neither launcher nor tuner, so it has nothing to do".into());
    }
    if loaded.launches.is_some() && described.serves.is_empty() {
        wrong.push("a launcher must name the implementations that it serves".into());
    }
    if wrong.is_empty() {
        wrong.extend(defaults(loaded)?);
    }
    if wrong.is_empty() { Ok(()) } else { Err(Refused::Misdescribed(wrong)) }
}

fn identity(described: &Descriptor, name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if described.name != name {
        wrong.push(format!("it calls itself {:?} and is loaded as {name:?}", clip(&described.name)));
    }
    if !is_version(&described.version) {
        wrong.push(format!("its version {:?} is not of the form 1.2.3", clip(&described.version)));
    }
    if described.summary.len() > LINE || described.summary.chars().any(char::is_control) {
        wrong.push(format!("its summary must be one line of at most {LINE} bytes"));
    }
    wrong
}

fn lists(described: &Descriptor) -> Vec<String> {
    let mut wrong = Vec::new();
    let Descriptor { serves, settings, reads_env, writes_env, reads_annotations, .. } = described;
    for (list, what, right) in [
        (serves, "serves", is_word as fn(&str) -> bool),
        (reads_env, "reads-env", is_variable),
        (writes_env, "writes-env", is_variable),
        (reads_annotations, "reads-annotations", is_word),
    ] {
        if list.len() > ENTRIES {
            wrong.push(format!("{what} has {} entries, at most {ENTRIES} are allowed", list.len()));
        } else if let Some(entry) = list.iter().find(|entry| !right(entry)) {
            wrong.push(format!("{what} has an entry {:?} that cannot be one", clip(entry)));
        }
    }
    if settings.len() > ENTRIES {
        wrong.push(format!("it declares {} settings, at most {ENTRIES} are allowed", settings.len()));
    } else {
        for (at, setting) in settings.iter().enumerate() {
            let default = setting.default.as_deref().unwrap_or_default();
            if !is_key(&setting.key) || default.len() > LINE || setting.summary.len() > LINE {
                wrong.push(format!(
                    "its setting {:?} has a key, default or summary that cannot be",
                    clip(&setting.key)
                ));
            }
            if settings.iter().take(at).any(|earlier| earlier.key == setting.key) {
                wrong.push(format!("it declares the setting {:?} twice", clip(&setting.key)));
            }
        }
    }
    wrong
}

/// A plugin must accept its own defaults.
fn defaults(loaded: &Loaded) -> Result<Vec<String>, Refused> {
    let declared = loaded.descriptor.settings.iter();
    let mut settings: Vec<Setting> = declared
        .filter_map(|kind| kind.default.clone().map(|value| Setting { key: kind.key.clone(), value }))
        .collect();
    settings.sort();
    let violations = loaded.check_settings(&settings).map_err(Refused::Broke)?;
    Ok(violations
        .into_iter()
        .map(|v| format!("it refuses its own default of {:?}: {}", v.path, v.text))
        .collect())
}

/// Three numbers; whatever semantic versioning allows behind them.
fn is_version(text: &str) -> bool {
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let is_number =
        |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit());
    text.len() <= WORD
        && is_word(text)
        && numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
}

/// Non-empty printable ASCII without blanks.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= WORD && text.bytes().all(|b| b.is_ascii_graphic())
}

/// The beginning of an environment variable's name.
fn is_variable(text: &str) -> bool {
    let first = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    is_word(text)
        && text.bytes().next().is_some_and(first)
        && text.bytes().all(|b| first(b) || b.is_ascii_digit())
}

/// What fits the name part of an annotation: 63 of letters, digits, `-`, `_`, `.`.
fn is_key(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.len() <= 63 && edge(text.bytes().next()) && edge(text.bytes().last()) && text.bytes().all(inner)
}

fn clip(text: &str) -> String {
    text.chars().take(WORD).collect()
}
