//! Certificate authority of our own: a certificate and its key.

use crate::SERVER_NAME;
use crate::bundle::{Bundle, BundleError};
use crate::certificate::{self, CertificateError};
use crate::identity::{Identity, IdentityError};
use crate::peer::Peer;
use crate::validity::Validity;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::sync::Arc;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Clone)]
pub struct Authority {
    certificate_pem: String,
    certificate: CertificateDer<'static>,
    bundle: Bundle,
    issuer: Arc<Issuer<'static, KeyPair>>,
    validity: Validity,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("the authority's key is damaged: {0}; put back the copy that was saved")]
    Key(rcgen::Error),
    #[error("the authority's certificate is damaged: {0}; put back the copy that was saved")]
    Damaged(String),
    #[error("the authority's key does not belong to its certificate; put back the copies that were saved together")]
    Strangers,
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(
        "the authority is not good at the time that this computer's clock says, so nothing that it signs now would be; set the clock"
    )]
    Clock,
    #[error("no certificate for the names {names}: {source}; name hosts and addresses")]
    Names { names: String, source: rcgen::Error },
    #[error("no certificate could be made: {0}; this is a fault of the program")]
    Making(#[from] rcgen::Error),
    #[error("the certificate made cannot be used: {0}; this is a fault of the program")]
    Using(#[from] IdentityError),
}

impl Authority {
    pub fn make(validity: Validity) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        set_life(&mut params, validity);
        // Authorities are told apart by name, so each has its own.
        let mark: String = key
            .public_key_raw()
            .iter()
            .rev()
            .take(4)
            .map(|b| format!("{b:02x}"))
            .collect();
        params.distinguished_name = named(&format!("skein authority {mark}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key)?.pem();
        Self::from_pem(&pem, &key.serialize_pem())
    }

    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, AuthorityError> {
        let damaged = |error: BundleError| AuthorityError::Damaged(error.to_string());
        let bundle = Bundle::from_pem(certificate_pem).map_err(damaged)?;
        let certificate = match bundle.certificates() {
            [one] => one.clone(),
            _ => return Err(AuthorityError::Damaged("it is more than one".to_owned())),
        };
        let key = KeyPair::from_pem(key_pem.trim()).map_err(AuthorityError::Key)?;
        Identity::from_pem(bundle.to_pem(), key_pem).map_err(|error| match error {
            IdentityError::Strangers(_) => AuthorityError::Strangers,
            other => AuthorityError::Using(other),
        })?;
        let issuer =
            Issuer::from_ca_cert_der(&certificate, key).map_err(|error| AuthorityError::Damaged(error.to_string()))?;
        Ok(Self {
            certificate_pem: bundle.to_pem().to_owned(),
            validity: certificate::validity(&certificate)?,
            certificate,
            bundle,
            issuer: Arc::new(issuer),
        })
    }

    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Secret.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub fn bundle(&self) -> Bundle {
        self.bundle.clone()
    }

    pub fn has_signed(&self, chain: &[CertificateDer<'_>]) -> bool {
        let signed = || {
            let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
            let (_, signer) = X509Certificate::from_der(&self.certificate).ok()?;
            Some(certificate.issuer() == signer.subject())
        };
        signed().unwrap_or(false)
    }

    pub const fn validity(&self) -> Validity {
        self.validity
    }

    /// Certificate for [`SERVER_NAME`] and `names` (hosts, addresses); ends with the authority at the latest.
    pub fn server(&self, names: &[String], validity: Validity) -> Result<Identity, AuthorityError> {
        let mut all = vec![SERVER_NAME.to_owned()];
        all.extend(names.iter().filter(|name| *name != SERVER_NAME).cloned());
        let params = CertificateParams::new(all.clone());
        let mut params = params.map_err(|source| AuthorityError::Names {
            names: all.join(", "),
            source,
        })?;
        params.distinguished_name = named(SERVER_NAME);
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth, validity)
    }

    /// Ends with the authority at the latest.
    pub fn client(&self, peer: &Peer, validity: Validity) -> Result<Identity, AuthorityError> {
        let mut params = CertificateParams::default();
        let uri = peer.to_string();
        params.distinguished_name = named(&uri);
        params.subject_alt_names = vec![SanType::URI(uri.as_str().try_into()?)];
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth, validity)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        purpose: ExtendedKeyUsagePurpose,
        validity: Validity,
    ) -> Result<Identity, AuthorityError> {
        set_life(&mut params, validity.within(self.validity));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, self.issuer.as_ref())?;
        Ok(Identity::from_pem(&certificate.pem(), &key.serialize_pem())?)
    }
}

fn set_life(params: &mut CertificateParams, validity: Validity) {
    params.not_before = validity.not_before.into();
    params.not_after = validity.not_after.into();
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

impl PartialEq for Authority {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("validity", &self.validity)
            .finish_non_exhaustive()
    }
}
