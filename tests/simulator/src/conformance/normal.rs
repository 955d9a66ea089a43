//! What of an answer is compared, with names in the place of what differs from run to run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Values that were kept, by name.
#[derive(Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// From now on the value goes under this name.
    pub fn keep(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// The text with values in the place of `$name`.
    pub fn fill(&self, text: &str) -> String {
        // Longer names first, as one may begin with another one.
        self.0
            .iter()
            .rev()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    fn of(&self, value: &str) -> Option<String> {
        // A value that was kept twice goes under the first name.
        self.0.iter().find(|(_, kept)| *kept == value).map(|(name, _)| format!("${name}"))
    }

    /// With names in the place of values, and marks in the place of what nobody knows beforehand.
    pub fn normal(&self, pointer: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(pointer, text).into(),
            Value::Array(values) => values.iter().map(|value| self.normal(pointer, value)).collect(),
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| {
                    (key.clone(), self.normal(&format!("{pointer}/{key}"), value))
                };
                fields
                    .iter()
                    .filter(|(key, _)| *key != "managedFields")
                    .map(field)
                    .collect::<Map<_, _>>()
                    .into()
            }
            other => other.clone(),
        }
    }

    fn text(&self, pointer: &str, text: &str) -> String {
        if let Some(name) = self.of(text).filter(|_| text.len() > 2) {
            return name;
        }
        if pointer.ends_with("/continue") && !text.is_empty() {
            return "<token>".to_owned();
        }
        if pointer.ends_with("/resourceVersion") && text.parse::<u64>().is_ok() {
            return "<version>".to_owned();
        }
        let words: Vec<String> = text.split(' ').map(|word| self.word(word)).collect();
        let text = words.join(" ");
        let text = without_object(&text);
        if text.contains("resource version") || text.contains("ResourceVersion in") {
            without_digits(&text)
        } else {
            text
        }
    }

    /// Within messages, values stand in quotes, in parentheses and before commas.
    fn word(&self, word: &str) -> String {
        let is_around = |c: char| "\"'(),.;:".contains(c);
        let bare = word.trim_matches(is_around);
        let name = self.of(bare).filter(|_| bare.len() > 2);
        let mark = name.or_else(|| mark(bare).map(str::to_owned));
        mark.map_or_else(|| word.to_owned(), |mark| word.replace(bare, &mark))
    }
}

fn mark(word: &str) -> Option<&'static str> {
    let dashes: Vec<usize> = word.match_indices('-').map(|(at, _)| at).collect();
    let is_hex = word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if word.len() == 36 && dashes == [8, 13, 18, 23] && is_hex {
        return Some("<uid>");
    }
    let is_time = word.len() >= 20 && word.ends_with('Z') && dashes == [4, 7] && word.as_bytes()[10] == b'T';
    is_time.then_some("<time>")
}

/// Go's notation of a whole template differs with every version of Kubernetes.
fn without_object(text: &str) -> String {
    match (text.find("Invalid value: {"), text.rfind("}: field is immutable")) {
        (Some(from), Some(to)) => format!("{}Invalid value: {{}}{}", &text[..from], &text[to + 1..]),
        _ => text.to_owned(),
    }
}

fn without_digits(text: &str) -> String {
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            c if !c.is_ascii_digit() => kept.push(c),
            _ if kept.ends_with('N') => {}
            _ => kept.push('N'),
        }
    }
    kept
}

/// What is compared of an answer.
pub fn answer(names: &Names, code: u16, body: &[u8], show: &[String]) -> Value {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return json!({"code": code, "text": String::from_utf8_lossy(body)});
    };
    let mut compared = json!({"code": code, "kind": body["kind"]});
    if body["kind"] == "Status" {
        for field in ["status", "reason", "message", "details"] {
            if !body[field].is_null() {
                compared[field] = names.normal(field, &body[field]);
            }
        }
    }
    let shown = shown(names, &body, show);
    if !shown.is_empty() {
        compared["shown"] = shown.into();
    }
    compared
}

/// What is compared of a watch's event.
pub fn event(names: &Names, event: &Value, show: &[String]) -> Value {
    let object = &event["object"];
    let mut compared = json!({"type": event["type"], "kind": object["kind"]});
    if object["kind"] == "Status" {
        for field in ["code", "reason", "message"] {
            compared[field] = names.normal(field, &object[field]);
        }
    }
    let shown = shown(names, object, show);
    if !shown.is_empty() {
        compared["shown"] = shown.into();
    }
    compared
}

fn shown(names: &Names, body: &Value, show: &[String]) -> Map<String, Value> {
    let part = |pointer: &String| {
        let part = body.pointer(pointer).cloned().unwrap_or_default();
        (pointer.clone(), names.normal(pointer, &part))
    };
    show.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_goes_under_names() {
        let mut names = Names::default();
        names.keep("uid", "0a6ce13e-1111-4222-8333-0123456789ab");

        let message = json!(
            "the UID (0a6ce13e-1111-4222-8333-0123456789ab) is not 0a6ce13e-1111-4222-8333-0123456789ac."
        );
        assert_eq!(names.normal("/message", &message), "the UID ($uid) is not <uid>.");
        assert_eq!(names.normal("/metadata/resourceVersion", &json!("123")), "<version>");
        assert_eq!(names.normal("/x", &json!("2026-01-02T03:04:05Z")), "<time>");
        assert_eq!(
            names.normal("/m", &json!("too old resource version: 1 (234)")),
            "too old resource version: N (N)"
        );
        assert_eq!(names.fill("/pods?x=$uid"), "/pods?x=0a6ce13e-1111-4222-8333-0123456789ab");
    }
}
