//! Signatures of plugins: which key has signed a component under a name.
//!
//! What is signed is ed25519 over the bytes `coxswain plugin v1\nNAME\nDIGEST\n`, where the digest is the component's
//! sha256 in hex: a component that is signed as one plugin cannot be put in the place of another. A ConfigMap carries
//! lines `KEYID SIGNATURE` (base64), one for each key that signed. Keys are PEM files as `openssl genpkey -algorithm
//! ed25519` and `openssl pkey -pubout` write them. Values in, values out; nothing is read from files here.

use std::{collections::BTreeMap, fmt::Write as _};

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use coxswain_model::pin::Digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, pem::PemObject};
use sha2::{Digest as _, Sha256};

/// What comes before the 32 bytes of every ed25519 public key: algorithm and lengths (RFC 8410, section 4).
const PUBLIC_KEY_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// Bytes of the key's sha256 in its id.
const ID_BYTES: usize = 8;

/// Public keys that an administrator trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// The raw 32 bytes, by key id.
    by_id: BTreeMap<String, Vec<u8>>,
}

impl Keys {
    /// Reads one or several public keys in PEM. Text between them is ignored.
    pub fn parse(pem: &str) -> Result<Self> {
        let mut by_id = BTreeMap::new();
        for key in SubjectPublicKeyInfoDer::pem_slice_iter(pem.as_bytes()) {
            let key = key.map_err(|error| anyhow::anyhow!("reading a public key as PEM: {error}"))?;
            let Some(raw) = key.strip_prefix(&PUBLIC_KEY_PREFIX) else {
                bail!("a public key is not ed25519: `openssl genpkey -algorithm ed25519` makes one that is");
            };
            ensure!(raw.len() == 32, "an ed25519 public key has 32 bytes, not {}", raw.len());
            by_id.insert(id(raw), raw.to_vec());
        }
        ensure!(
            !by_id.is_empty(),
            "there is no public key in it: `openssl pkey -in KEYFILE -pubout` prints one"
        );
        Ok(Self { by_id })
    }

    /// The ids of all keys.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().map(String::as_str)
    }

    /// The id of the key that signed the component `digest` under `name`, by the lines of `data.signature`. One
    /// good line is enough; lines of unknown keys are other people's.
    ///
    /// # Errors
    ///
    /// Why none does, in words for whoever signed.
    pub fn verify(&self, name: &str, digest: &Digest, signature: &str) -> Result<String, String> {
        let message = message(name, digest);
        let (mut strangers, mut wrong) = (Vec::new(), Vec::new());
        for line in signature.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some((id, encoded)) = line.split_once(char::is_whitespace) else {
                wrong.push(format!("a line must read `KEYID SIGNATURE`: {line:?}"));
                continue;
            };
            let Some(raw) = self.by_id.get(id) else {
                strangers.push(id);
                continue;
            };
            let key = UnparsedPublicKey::new(&ED25519, raw);
            match STANDARD.decode(encoded.trim()) {
                Err(_) => wrong.push(format!("the signature of key {id} is not base64")),
                Ok(signature) if key.verify(message.as_bytes(), &signature).is_ok() => {
                    return Ok(id.to_owned());
                }
                Ok(_) => wrong.push(format!(
                    "key {id} did not sign sha256:{} as plugin {name}: sign these bytes under this name",
                    digest.short()
                )),
            }
        }
        let known = self.ids().collect::<Vec<_>>().join(", ");
        if !strangers.is_empty() {
            let strangers = strangers.join(", ");
            wrong.push(format!("key {strangers} is not trusted; trusted keys are {known}"));
        }
        Err(match wrong.as_slice() {
            [] => format!("it is not signed; data.signature must hold a line of one of the keys {known}"),
            wrong => format!("data.signature: {}", wrong.join("; ")),
        })
    }
}

/// The line of `data.signature` by which the key `private_pem` signs the component `digest` under `name`.
pub fn sign(private_pem: &str, name: &str, digest: &Digest) -> Result<String> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(private_pem.as_bytes())
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context(
            "reading the private key as PEM (PKCS #8, as `openssl genpkey -algorithm ed25519` makes it)",
        )?;
    // "Maybe unchecked": OpenSSL does not write the public half beside the private one.
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der())
        .map_err(|why| anyhow::anyhow!("the private key is no ed25519 key: {why}"))?;
    let signature = pair.sign(message(name, digest).as_bytes());
    Ok(format!("{} {}", id(pair.public_key().as_ref()), STANDARD.encode(signature)))
}

fn message(name: &str, digest: &Digest) -> String {
    format!("coxswain plugin v1\n{name}\n{digest}\n")
}

/// The first 16 hex digits of the sha256 of a raw public key.
fn id(raw: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(raw).iter().take(ID_BYTES) {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made for this test by `openssl genpkey -algorithm ed25519`, and by `openssl pkey -pubout` of it.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIACjWd/n/nDTXHaqvi6SWdl8ZAcujw4gp1ulfIWdg8GK
-----END PRIVATE KEY-----
";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAzzlKWmxHpoSn1cm31JprQS+TmN06dHP6ADuahGwfxoQ=
-----END PUBLIC KEY-----
";
    const ID: &str = "84146a407009b629";
    /// `openssl pkeyutl -sign -rawin` of `openmpi` and the digest of `abc`.
    const OPENSSL: &str =
        "OD3a6zG3kbNlPfnUCy+jzawUypbU/yRzLA+zRC8SmEJQjbrwizRs63b31e3FbDSgFnQwf4exLK7PTGOB2PvTDw==";

    fn other_public() -> String {
        let raw = [7; 32];
        let der = [PUBLIC_KEY_PREFIX.as_slice(), &raw].concat();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
    }

    #[test]
    fn openssl_and_this_program_make_the_same_signature() {
        let line = sign(PRIVATE, "openmpi", &Digest::of(b"abc")).unwrap();

        assert_eq!(line, format!("{ID} {OPENSSL}"));
    }

    #[test]
    fn a_signature_is_good_for_one_name_and_one_digest() {
        let keys = Keys::parse(PUBLIC).unwrap();
        let digest = Digest::of(b"abc");
        let line = sign(PRIVATE, "openmpi", &digest).unwrap();

        assert_eq!(keys.verify("openmpi", &digest, &format!("{line}\n")), Ok(ID.to_owned()));
        for (name, digest) in [("mpich", Digest::of(b"abc")), ("openmpi", Digest::of(b"abd"))] {
            let why = keys.verify(name, &digest, &line).unwrap_err();
            assert!(why.contains("did not sign"), "{why}");
        }
    }

    #[test]
    fn one_line_of_a_trusted_key_is_enough_and_strangers_alone_are_not() {
        let digest = Digest::of(b"abc");
        let line = sign(PRIVATE, "x", &digest).unwrap();
        let both = format!("0123456789abcdef AAAA\n{line}");
        let keys = Keys::parse(&format!("# ours\n{PUBLIC}\nand another\n{}", other_public())).unwrap();
        let others = Keys::parse(&other_public()).unwrap();

        assert_eq!(keys.ids().count(), 2);
        assert_eq!(keys.verify("x", &digest, &both), Ok(ID.to_owned()));
        let after_a_wrong_one = format!("{ID} AAAA\n{line}");
        assert_eq!(keys.verify("x", &digest, &after_a_wrong_one), Ok(ID.to_owned()));
        let why = others.verify("x", &digest, &both).unwrap_err();
        assert!(why.contains(ID) && why.contains("not trusted"), "{why}");
    }

    #[test]
    fn what_is_no_signature_says_what_one_is() {
        let keys = Keys::parse(PUBLIC).unwrap();
        let verify = |text: &str| keys.verify("x", &Digest::of(b""), text).unwrap_err();

        assert!(verify("").contains("not signed"));
        assert!(verify("abc").contains("KEYID SIGNATURE"));
        assert!(verify(&format!("{ID} ?")).contains("not base64"));
        assert!(verify(&format!("{ID} AAAA")).contains("did not sign"));
    }

    #[test]
    fn keys_of_the_wrong_kind_say_what_the_right_one_is() {
        let wrong = |pem: &str| format!("{:#}", Keys::parse(pem).unwrap_err());

        assert!(wrong(PRIVATE).contains("-pubout"));
        assert!(
            wrong("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").contains("not ed25519")
        );
        assert!(format!("{:#}", sign(PUBLIC, "x", &Digest::of(b"")).unwrap_err()).contains("PKCS #8"));
    }
}
