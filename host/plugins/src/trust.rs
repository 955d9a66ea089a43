//! Whether a trusted key has signed a component: `--plugin-signatures` and `--plugin-keys`.

use anyhow::{Context as _, Result, bail};

use crate::{signature::Keys, source::Candidate};

/// Whether components must be verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// Nobody looks at them.
    #[default]
    Off,
    /// A plugin that nobody trusted has signed serves; the event says so.
    Warn,
    /// It does not serve.
    Require,
}

impl Signatures {
    /// Each there is.
    pub const ALL: [Self; 3] = [Self::Off, Self::Warn, Self::Require];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Require => "require",
        }
    }

    /// What it means, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Off => "Nobody looks at them",
            Self::Warn => "A plugin that nobody trusted has signed serves; the event says so",
            Self::Require => "It does not serve",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }
}

/// Whose word counts, and for what. The image's components need nobody's: whoever trusts the operator trusts its image.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    mode: Signatures,
    keys: Keys,
}

/// By which key a component that may serve was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Nobody asks.
    Unasked,
    /// The id of the key.
    By(String),
    /// Nobody, and why that is so.
    Not(String),
}

impl Trust {
    /// Reads the keys, PEM, where they are needed.
    pub fn new(mode: Signatures, keys: Option<&str>) -> Result<Self> {
        let keys = match (mode, keys) {
            (Signatures::Off, _) => Keys::default(),
            (_, Some(pem)) => Keys::parse(pem).context("reading --plugin-keys")?,
            (_, None) => bail!("--plugin-signatures needs --plugin-keys, a file of public keys"),
        };
        Ok(Self { mode, keys })
    }

    /// Verifies a component that comes from a ConfigMap.
    ///
    /// # Errors
    ///
    /// Nobody does, and somebody has to.
    pub fn verify(&self, candidate: &Candidate) -> Result<Verified, String> {
        if self.mode == Signatures::Off {
            return Ok(Verified::Unasked);
        }
        let signature = candidate.signature.as_deref().unwrap_or_default();
        match (self.keys.verify(&candidate.name, &candidate.digest, signature), self.mode) {
            (Ok(key), _) => Ok(Verified::By(key)),
            (Err(why), Signatures::Require) => Err(why),
            (Err(why), _) => Ok(Verified::Not(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAzzlKWmxHpoSn1cm31JprQS+TmN06dHP6ADuahGwfxoQ=
-----END PUBLIC KEY-----
";

    fn unsigned() -> Candidate {
        Candidate::of("x", b"abc".to_vec())
    }

    #[test]
    fn an_unsigned_component_serves_unless_signatures_are_required() {
        let verified = |mode| Trust::new(mode, Some(PUBLIC)).unwrap().verify(&unsigned());

        assert_eq!(verified(Signatures::Off), Ok(Verified::Unasked));
        assert!(matches!(verified(Signatures::Warn), Ok(Verified::Not(why)) if why.contains("not signed")));
        assert!(verified(Signatures::Require).is_err_and(|why| why.contains("not signed")));
    }

    #[test]
    fn signatures_without_keys_are_a_mistake_of_the_flags() {
        let wrong = Trust::new(Signatures::Require, None).unwrap_err();

        assert!(wrong.to_string().contains("--plugin-keys"), "{wrong}");
        assert!(Trust::new(Signatures::Off, None).is_ok());
    }
}
