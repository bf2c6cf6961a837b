//! What a certificate says: whose it is, its serial number, its life.

use crate::peer::{BadPeer, Peer};
use crate::proof::{BadProof, PublicKey, RequestName};
use crate::validity::{self, Validity};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::x509::AttributeTypeAndValue;

/// The holder of a client certificate that was shown and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It was signed by an authority of ours.
    Peer(PeerCertificate),
    /// It was signed by the cluster's authority for clients: a user of Kubernetes, never an agent.
    KubernetesUser {
        name: String,
        /// The user's groups: the subject's organizations.
        groups: Vec<String>,
        validity: Validity,
    },
    /// Nobody signed it but its holder, who has this key, and says that a request to the API server names it
    /// ([`crate::proof`]). Whose key it is, if a person's, only that request says.
    Requester {
        request: RequestName,
        /// The key, proved by the handshake.
        key: PublicKey,
    },
}

impl Caller {
    /// From when to when the certificate is good that was shown; `None` when what it says of that counts for nothing.
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
    /// A user's certificate with a name that others may read as another.
    #[error("the certificate's subject has a name that is no UTF-8 text; have one made with plain names")]
    Unreadable,
    /// A certificate that only its holder has signed names no request, or its key cannot be used.
    #[error(transparent)]
    Proof(#[from] BadProof),
    /// No authority that is believed has signed it.
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

/// Common name and organizations, as the API server reads them.
pub(crate) fn kubernetes_user(der: &CertificateDer<'_>) -> Result<Caller, CertificateError> {
    let certificate = parse(der)?;
    // The API server reads some older kinds of text, too. To pass one over would leave another name than the one that it reads.
    let texts = |found: Vec<&AttributeTypeAndValue<'_>>| -> Result<Vec<String>, CertificateError> {
        let text = |value: &&AttributeTypeAndValue<'_>| value.as_str().map(str::to_owned);
        let texts: Result<Vec<String>, _> = found.iter().map(text).collect();
        texts.map_err(|_| CertificateError::Unreadable)
    };
    let names = texts(certificate.subject().iter_common_name().collect())?;
    let groups = texts(certificate.subject().iter_organization().collect())?;
    // As Go's pkix.Name has it: the last one counts.
    let name = names.into_iter().next_back().filter(|name| !name.is_empty());
    Ok(Caller::KubernetesUser {
        name: name.ok_or(CertificateError::NoUser)?,
        groups,
        validity: validity_of(&certificate),
    })
}

/// Who shows a certificate that nobody but its holder need have signed: the request that it names, and its key.
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

    /// Reads a certificate with this subject, with attributes in this order.
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
