//! Words as a POSIX shell reads and writes them.

use alloc::{string::String, vec::Vec};

/// `word` so that a shell reads it back as one word. Plain words stay as they are.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    let mut quoted = String::with_capacity(word.len().saturating_add(2));
    quoted.push('\'');
    quoted.push_str(&word.replace('\'', r"'\''"));
    quoted.push('\'');
    quoted
}

/// Splits `text` into words: blanks separate, single quotes keep everything, double quotes and backslashes work as in a
/// shell. Nothing is expanded.
///
/// # Errors
///
/// What is wrong, in words: a quote that is not closed, a backslash at the end.
pub fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c.is_ascii_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match c {
            '\\' => word.push(chars.next().ok_or("ends in a backslash")?),
            '\'' => loop {
                match chars.next().ok_or("has a single quote that is not closed")? {
                    '\'' => break,
                    inner => word.push(inner),
                }
            },
            '"' => loop {
                match chars.next().ok_or(UNCLOSED)? {
                    '"' => break,
                    '\\' => match chars.next().ok_or(UNCLOSED)? {
                        escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                        other => word.extend(['\\', other]),
                    },
                    inner => word.push(inner),
                }
            },
            plain => word.push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

const UNCLOSED: &str = "has a double quote that is not closed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_read_back_as_they_were() {
        for word in ["", "a", "a b", "it's", "$HOME", "a\nb", "\"", "-x", "ü"] {
            assert_eq!(split(&quote(word)).unwrap(), [word], "{word:?}");
        }
        assert_eq!(quote("/app/pi"), "/app/pi");
    }

    #[test]
    fn words_split_as_in_a_shell() {
        assert_eq!(split("").unwrap(), Vec::<String>::new());
        assert_eq!(split(" --bind-to  none ").unwrap(), ["--bind-to", "none"]);
        assert_eq!(split(r#"-x "A=b c" 'd e'f \g"#).unwrap(), ["-x", "A=b c", "d ef", "g"]);
        assert_eq!(split("''").unwrap(), [""]);
    }

    #[test]
    fn open_quotes_are_errors() {
        assert!(split("'a").is_err());
        assert!(split("\"a").is_err());
        assert!(split("a\\").is_err());
    }
}
