//! Holder, serial number and life of a certificate.

use crate::peer::{BadPeer, Peer};
use crate::proof::{BadProof, PublicKey, RequestName};
use crate::validity::{self, Validity};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::x509::AttributeTypeAndValue;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    Peer(PeerCertificate),
    /// Signed by the cluster's authority for clients: a user of Kubernetes, never an agent.
    KubernetesUser {
        name: String,
        groups: Vec<String>,
        validity: Validity,
    },
    /// Signed by its holder alone; a request to the API server says whose key it is ([`crate::proof`]).
    Requester {
        request: RequestName,
        key: PublicKey,
    },
}

impl Caller {
    /// `None` when the dates in the certificate count for nothing.
    pub const fn validity(&self) -> Option<Validity> {
        match self {
            Self::Peer(PeerCertificate { validity, .. }) | Self::KubernetesUser { validity, .. } => Some(*validity),
            Self::Requester { .. } => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    pub peer: Peer,
    pub serial: String,
    pub validity: Validity,
}

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the certificate is damaged: {0}; have a new one made")]
    Damaged(String),
    #[error("the certificate names neither an agent nor an operator; have one made with `skein enroll`")]
    Nobody,
    #[error("the certificate names more than one holder; have one made with `skein enroll`")]
    Several,
    #[error(transparent)]
    Peer(#[from] BadPeer),
    #[error("the certificate's subject has no common name, so Kubernetes knows no user by it")]
    NoUser,
    #[error("the certificate's subject has a name that is no UTF-8 text; have one made with plain names")]
    Unreadable,
    #[error(transparent)]
    Proof(#[from] BadProof),
    #[error("the certificate is not believed: {0}")]
    Unbelieved(rustls::Error),
}

impl PeerCertificate {
    pub fn read(der: &CertificateDer<'_>) -> Result<Self, CertificateError> {
        let certificate = parse(der)?;
        Ok(Self {
            peer: Peer::parse(only_uri(&certificate)?)?,
            serial: serial(&certificate),
            validity: validity_of(&certificate),
        })
    }
}

pub(crate) fn kubernetes_user(der: &CertificateDer<'_>) -> Result<Caller, CertificateError> {
    let certificate = parse(der)?;
    // The API server also reads older kinds of text; ignoring one would leave another name than it reads.
    let texts = |found: Vec<&AttributeTypeAndValue<'_>>| -> Result<Vec<String>, CertificateError> {
        let text = |value: &&AttributeTypeAndValue<'_>| value.as_str().map(str::to_owned);
        let texts: Result<Vec<String>, _> = found.iter().map(text).collect();
        texts.map_err(|_| CertificateError::Unreadable)
    };
    let names = texts(certificate.subject().iter_common_name().collect())?;
    let groups = texts(certificate.subject().iter_organization().collect())?;
    // As in Go's pkix.Name: the last one counts.
    let name = names.into_iter().next_back().filter(|name| !name.is_empty());
    Ok(Caller::KubernetesUser {
        name: name.ok_or(CertificateError::NoUser)?,
        groups,
        validity: validity_of(&certificate),
    })
}

pub(crate) fn requester(der: &CertificateDer<'_>) -> Result<Caller, CertificateError> {
    let certificate = parse(der)?;
    let request = RequestName::of_uri(only_uri(&certificate)?).ok_or(CertificateError::Nobody)??;
    let key = PublicKey::of_certificate(der)?;
    Ok(Caller::Requester { request, key })
}

fn only_uri<'a>(certificate: &X509Certificate<'a>) -> Result<&'a str, CertificateError> {
    let names = certificate
        .subject_alternative_name()
        .map_err(|error| CertificateError::Damaged(error.to_string()))?;
    let mut uris = names
        .iter()
        .flat_map(|names| names.value.general_names.iter())
        .filter_map(|name| match name {
            GeneralName::URI(uri) => Some(*uri),
            _ => None,
        });
    let uri = uris.next().ok_or(CertificateError::Nobody)?;
    match uris.next() {
        None => Ok(uri),
        Some(_) => Err(CertificateError::Several),
    }
}

pub fn validity(der: &CertificateDer<'_>) -> Result<Validity, CertificateError> {
    Ok(validity_of(&parse(der)?))
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, CertificateError> {
    X509Certificate::from_der(der)
        .map(|(_, certificate)| certificate)
        .map_err(|error| CertificateError::Damaged(error.to_string()))
}

fn serial(certificate: &X509Certificate<'_>) -> String {
    let bytes = certificate.raw_serial();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn validity_of(certificate: &X509Certificate<'_>) -> Validity {
    let at = |time: x509_parser::time::ASN1Time| validity::at(u64::try_from(time.timestamp()).unwrap_or(0));
    Validity {
        not_before: at(certificate.validity().not_before),
        not_after: at(certificate.validity().not_after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, string::BmpString};

    fn user(subject: &[(DnType, DnValue)]) -> Result<(String, Vec<String>), CertificateError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
        let key = KeyPair::generate().unwrap();
        match kubernetes_user(params.self_signed(&key).unwrap().der())? {
            Caller::KubernetesUser { name, groups, .. } => Ok((name, groups)),
            other => panic!("{other:?}"),
        }
    }

    /// The same kind of attribute once more: names differ by how their kind is written.
    fn again(last: u64) -> DnType {
        DnType::CustomDnType(vec![2, 5, 4, last])
    }

    #[test]
    fn a_user_is_the_last_common_name_with_all_organizations_as_groups() {
        let text = |text: &str| DnValue::Utf8String(text.to_owned());
        let subject = [
            (DnType::OrganizationName, text("pilots")),
            (DnType::CommonName, text("first")),
            (again(10), text("auditors")),
            (again(3), text("ada")),
        ];
        let groups = vec!["pilots".to_owned(), "auditors".to_owned()];
        assert_eq!(user(&subject).unwrap(), ("ada".to_owned(), groups));
        assert!(matches!(user(&subject[..1]), Err(CertificateError::NoUser)));
        assert!(matches!(
            user(&[(DnType::CommonName, text(""))]),
            Err(CertificateError::NoUser)
        ));
    }

    #[test]
    fn a_name_that_the_api_server_reads_and_we_do_not_is_refused_and_not_passed_over() {
        let text = |text: &str| DnValue::Utf8String(text.to_owned());
        let wide = |text: &str| DnValue::BmpString(BmpString::try_from(text).unwrap());
        // The API server knows its holder as "visitor".
        let masked = [(DnType::CommonName, text("admin")), (again(3), wide("visitor"))];
        assert!(matches!(user(&masked), Err(CertificateError::Unreadable)));
        let grouped = [(DnType::CommonName, text("ada")), (again(10), wide("auditors"))];
        assert!(matches!(user(&grouped), Err(CertificateError::Unreadable)));
    }
}
