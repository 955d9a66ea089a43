//! A word for a key that nobody declared.

use alloc::{string::String, vec::Vec};

use super::Declared;

/// Keys this far from a declared one are taken for slips of the pen.
const SLIP: usize = 3;

/// Names the likely key, or all there are.
pub fn unknown(key: &str, table: &[Declared]) -> String {
    let nearest = table.iter().map(|row| (distance(key, row.key), row.key)).min();
    match nearest {
        Some((steps, likely)) if steps <= SLIP => {
            ["is not a setting; did you mean \"", likely, "\"?"].concat()
        }
        Some(_) => {
            let keys: Vec<&str> = table.iter().map(|row| row.key).collect();
            ["is not a setting; there are: ", &keys.join(", ")].concat()
        }
        None => "is not a setting; the plugin has none".into(),
    }
}

/// Insertions, removals and replacements of bytes from `a` to `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i.saturating_add(1);
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (y, &above) in b.bytes().zip(row.iter().skip(1)) {
            left = (diagonal.saturating_add(usize::from(x != y)))
                .min(above.saturating_add(1))
                .min(left.saturating_add(1));
            diagonal = above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_edits() {
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ssh-args", "ssh-arg"), 1);
    }
}
