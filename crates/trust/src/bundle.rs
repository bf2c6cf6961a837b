//! Certificates of the authorities that one end believes; never empty.

use pem::{EncodeConfig, LineEnding, Pem};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    certificates: Vec<CertificateDer<'static>>,
    pem: String,
}

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error(
        "there is no certificate in it; give the PEM text of the authority, `-----BEGIN CERTIFICATE-----` and so on"
    )]
    Empty,
    #[error("certificate {0} of it is damaged ({1}); copy the authority's file again")]
    Damaged(usize, String),
}

impl Bundle {
    /// Reads one or more certificates; other PEM sections and text between them are ignored.
    pub fn from_pem(text: &str) -> Result<Self, BundleError> {
        let mut certificates: Vec<CertificateDer<'static>> = Vec::new();
        for part in CertificateDer::pem_slice_iter(text.as_bytes()) {
            let place = certificates.len() + 1;
            let certificate = part.map_err(|error| BundleError::Damaged(place, error.to_string()))?;
            RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|error| BundleError::Damaged(place, error.to_string()))?;
            if !certificates.contains(&certificate) {
                certificates.push(certificate);
            }
        }
        Self::of(certificates).ok_or(BundleError::Empty)
    }

    fn of(certificates: Vec<CertificateDer<'static>>) -> Option<Self> {
        if certificates.is_empty() {
            return None;
        }
        let sections: Vec<Pem> = certificates
            .iter()
            .map(|der| Pem::new("CERTIFICATE", der.to_vec()))
            .collect();
        let pem = pem::encode_many_config(&sections, EncodeConfig::new().set_line_ending(LineEnding::LF));
        Some(Self { certificates, pem })
    }

    pub fn with(&self, other: &Self) -> Self {
        let more = other.certificates.iter().filter(|one| !self.certificates.contains(one));
        let certificates = self.certificates.iter().chain(more).cloned().collect();
        Self::of(certificates).unwrap_or_else(|| self.clone())
    }

    pub fn to_pem(&self) -> &str {
        &self.pem
    }

    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    pub fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.certificates.iter().cloned());
        roots
    }
}
