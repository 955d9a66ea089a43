//! `Uid`: which object, of all that ever had its name.

use std::fmt;

use uuid::{Uuid, fmt::Hyphenated};

/// Identity of an object for its whole life. In goes `metadata.uid` of any text, and the same text comes out.
///
/// Kubernetes gives UUIDs. They are kept as 16 bytes: as texts, those of 20,000 pods and their owners take 2 MB.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid(Kept);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kept {
    Uuid(Uuid),
    /// Something else, or a UUID in another spelling than Kubernetes'.
    Text(Box<str>),
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        let uuid = Uuid::try_parse(text).ok();
        let canonical = uuid.filter(|uuid| {
            let mut room = [0; Hyphenated::LENGTH];
            uuid.hyphenated().encode_lower(&mut room) == text
        });
        Self(canonical.map_or_else(|| Kept::Text(text.into()), Kept::Uuid))
    }
}

impl Default for Uid {
    /// Of no object.
    fn default() -> Self {
        Self(Kept::Text(Box::default()))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kept::Uuid(uuid) => uuid.hyphenated().fmt(f),
            Kept::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_out_as_it_went_in(text in "\\PC{0,40}|[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}") {
            prop_assert_eq!(Uid::from(text.as_str()).to_string(), text);
        }
    }

    #[test]
    fn spellings_of_one_uuid_are_different_texts() {
        let canonical = Uid::from("6ba7b810-9dad-41d1-80b4-00c04fd430c8");
        assert!(matches!(canonical, Uid(Kept::Uuid(_))));
        for other in ["6BA7B810-9DAD-41D1-80B4-00C04FD430C8", "6ba7b8109dad41d180b400c04fd430c8"] {
            assert_ne!(Uid::from(other), canonical);
        }
    }

    #[test]
    fn a_uuid_needs_no_heap() {
        assert_eq!(size_of::<Option<Uid>>(), 24);
    }
}
