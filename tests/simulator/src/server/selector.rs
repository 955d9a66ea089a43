//! Label selectors.

use serde_json::Value;

/// What a request wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Has(String),
    Is(String, String),
}

impl Selector {
    /// The two forms that are asked for: a label that is there, and one with a value.
    pub fn parse(text: &str) -> Self {
        let term = |text: &str| {
            if let Some((key, value)) = text.split_once('=') {
                return Term::Is(key.to_owned(), value.trim_start_matches('=').to_owned());
            }
            let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c));
            assert!(plain, "the simulated API server does not know the selector {text:?}");
            Term::Has(text.to_owned())
        };
        Self(text.split(',').filter(|text| !text.is_empty()).map(term).collect())
    }

    /// Everything matches.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object has the labels.
    pub fn matches(&self, object: &Value) -> bool {
        let label = |key: &str| object["metadata"]["labels"].get(key).and_then(Value::as_str);
        self.0.iter().all(|term| match term {
            Term::Has(key) => label(key).is_some(),
            Term::Is(key, value) => label(key) == Some(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_there_or_have_a_value() {
        let object = json!({"metadata": {"labels": {"a/b": "1", "c": ""}}});

        assert!(Selector::parse("a/b,c").matches(&object));
        assert!(Selector::parse("a/b=1").matches(&object) && Selector::parse("").matches(&object));
        assert!(!Selector::parse("a/b=2").matches(&object) && !Selector::parse("d").matches(&object));
    }
}
