//! Certificate of one end, those between it and its authority, and the key.

use crate::certificate::{self, CertificateError};
use crate::provider;
use crate::validity::Validity;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;

#[derive(Clone)]
pub struct Identity {
    certificate_pem: String,
    key_pem: String,
    certified: Arc<CertifiedKey>,
    validity: Validity,
}

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("there is no certificate in it ({0}); give the PEM text, `-----BEGIN CERTIFICATE-----` and so on")]
    NoCertificate(String),
    #[error("there is no private key in it ({0}); give the PEM text, `-----BEGIN PRIVATE KEY-----` and so on")]
    NoKey(String),
    #[error("the key does not belong to the certificate ({0}); give the pair that was made together")]
    Strangers(rustls::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

impl Identity {
    /// The holder's certificate comes first, then those between it and its authority.
    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, IdentityError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate_pem.as_bytes()).collect();
        let chain = chain.map_err(|error| IdentityError::NoCertificate(error.to_string()))?;
        let first = chain
            .first()
            .ok_or_else(|| IdentityError::NoCertificate("the text holds none".to_owned()))?;
        let validity = certificate::validity(first)?;
        let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
            .map_err(|error| IdentityError::NoKey(error.to_string()))?;
        let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(IdentityError::Strangers)?;
        Ok(Self {
            certificate_pem: certificate_pem.to_owned(),
            key_pem: key_pem.to_owned(),
            certified: Arc::new(certified),
            validity,
        })
    }

    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Secret.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    pub const fn validity(&self) -> Validity {
        self.validity
    }

    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.certified.cert
    }

    pub fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.certified)
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.chain() == other.chain()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("validity", &self.validity)
            .finish_non_exhaustive()
    }
}
