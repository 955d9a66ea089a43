//! The ssh key pair of a job: P-521 and SEC1 PEM, as the MPI Operator makes it, so that images built for it read
//! it. Making one takes about a millisecond of computing.

use anyhow::Context;
use coxswain_model::desired::secret::KeyPair;
use sec1::{
    EcParameters, EcPrivateKey,
    der::{EncodePem, asn1::ObjectIdentifier, pem::LineEnding},
};
use ssh_key::{
    EcdsaCurve, PublicKey,
    private::EcdsaKeypair,
    public::{EcdsaPublicKey, KeyData},
    rand_core::OsRng,
};

/// Curve secp521r1 in the key's own words; OpenSSL does not read a key that leaves them out.
const SECP521R1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");

/// A new pair from the system's random numbers.
pub fn pair() -> anyhow::Result<KeyPair> {
    let pair = EcdsaKeypair::random(&mut OsRng, EcdsaCurve::NistP521).context("making an ssh key pair")?;
    let private = EcPrivateKey {
        private_key: pair.private_key_bytes(),
        parameters: Some(EcParameters::NamedCurve(SECP521R1)),
        public_key: Some(pair.public_key_bytes()),
    };
    let private_pem =
        private.to_pem(LineEnding::LF).context("encoding the private half of an ssh key pair")?;
    let public = PublicKey::new(KeyData::Ecdsa(EcdsaPublicKey::from(&pair)), "");
    let public_line = public.to_openssh().context("encoding the public half of an ssh key pair")?;
    Ok(KeyPair { private_pem, public_line: format!("{}\n", public_line.trim_end()) })
}

#[cfg(test)]
mod tests {
    use sec1::der::Decode;

    use super::*;

    #[test]
    fn a_pair_reads_as_openssl_and_openssh_write_theirs() {
        let pair = pair().unwrap();
        let (label, der) = sec1::der::pem::decode_vec(pair.private_pem.as_bytes()).unwrap();
        let private = EcPrivateKey::from_der(&der).unwrap();
        let public: PublicKey = pair.public_line.parse().unwrap();

        assert_eq!(label, "EC PRIVATE KEY");
        assert_eq!(private.parameters, Some(EcParameters::NamedCurve(SECP521R1)));
        assert_eq!(private.public_key, public.key_data().ecdsa().map(EcdsaPublicKey::as_sec1_bytes));
        assert!(pair.public_line.starts_with("ecdsa-sha2-nistp521 ") && pair.public_line.ends_with('\n'));
        assert_eq!(pair.public_line.split_whitespace().count(), 2, "no comment");
    }
}
