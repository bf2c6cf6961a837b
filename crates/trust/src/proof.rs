//! Proof of a person of a cluster without handing over a secret: a key, and a request to the API server that names it.
//!
//! The API server writes into a CertificateSigningRequest who asked: "this public key is this person". The TLS
//! handshake proves that the caller holds the key. Nothing is ever signed, and the proof is of no use to the other end.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use rustls::server::ParsedCertificate;
use std::fmt;
use std::time::Duration;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

/// A signer that signs nothing.
pub const SIGNER: &str = "skein.dev/person";

pub const REQUEST_LIFE: Duration = Duration::from_secs(3600);

const REQUEST: &str = "skein://request/";

/// Bytes; RSA of 8,192 bits has about 1,100.
const LONGEST_KEY: usize = 2048;

/// Bytes of PEM.
const LONGEST_REQUEST: usize = 16 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadProof {
    #[error("{0:?} names no request: it must be {REQUEST}NAME")]
    Name(String),
    #[error("it holds no certificate request that can be read")]
    Request,
    #[error("its key is longer than {LONGEST_KEY} bytes, or cannot be read")]
    Key,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestName(String);

impl RequestName {
    pub fn parse(name: &str) -> Result<Self, BadProof> {
        let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let fine = name.len() <= 253
            && name.starts_with(part)
            && name.ends_with(part)
            && name.chars().all(|c| part(c) || c == '-' || c == '.');
        fine.then(|| Self(name.to_owned()))
            .ok_or_else(|| BadProof::Name(shortened(name)))
    }

    pub(crate) fn of_uri(uri: &str) -> Option<Result<Self, BadProof>> {
        uri.strip_prefix(REQUEST).map(Self::parse)
    }

    pub fn uri(&self) -> String {
        format!("{REQUEST}{self}")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The public half of a key (SubjectPublicKeyInfo, RFC 5280, 4.1.2.7).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Read as the TLS handshake reads it, so that the verified key is the compared one.
    pub(crate) fn of_certificate(certificate: &CertificateDer<'_>) -> Result<Self, BadProof> {
        let parsed = ParsedCertificate::try_from(certificate).map_err(|_| BadProof::Key)?;
        Self::new(&parsed.subject_public_key_info())
    }

    /// Reads PKCS #10 in PEM.
    pub fn of_request(pem: &[u8]) -> Result<Self, BadProof> {
        if pem.len() > LONGEST_REQUEST {
            return Err(BadProof::Request);
        }
        let der = CertificateSigningRequestDer::from_pem_slice(pem).map_err(|_| BadProof::Request)?;
        let (_, request) = X509CertificationRequest::from_der(&der).map_err(|_| BadProof::Request)?;
        Self::new(request.certification_request_info.subject_pki.raw)
    }

    fn new(der: &[u8]) -> Result<Self, BadProof> {
        match der.len() {
            1..=LONGEST_KEY => Ok(Self(der.to_vec())),
            _ => Err(BadProof::Key),
        }
    }

    pub fn as_der(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_named_as_objects_are_and_no_name_leads_elsewhere() {
        for name in ["skein-person-x7k2f", "a", "0.a"] {
            let read = RequestName::parse(name).unwrap();
            assert_eq!(RequestName::of_uri(&read.uri()), Some(Ok(read)));
        }
        let long = "a".repeat(254);
        for bad in [
            "", "A", "a/b", "../a", "a/../b", "-a", "a-", ".a", "a b", "a?b", "a%2fb", "a\n", &long,
        ] {
            assert!(RequestName::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(RequestName::of_uri("skein://agent/a"), None);
    }

    #[test]
    fn what_is_no_request_has_no_key() {
        let empty = "-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n";
        let long = "x".repeat(LONGEST_REQUEST + 1);
        for bad in ["", "text", empty, &long] {
            assert_eq!(PublicKey::of_request(bad.as_bytes()), Err(BadProof::Request), "{bad}");
        }
    }
}
