//! Client certificates of people: signed by the authority of a cluster's user certificates.

use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use std::time::{Duration, SystemTime};
use trust::{Authority, Identity, Validity};

const DAY: Duration = Duration::from_secs(86_400);

pub struct Person {
    subject: DistinguishedName,
    life: Validity,
    purpose: ExtendedKeyUsagePurpose,
    uri: Option<String>,
}

/// Two groups at most; valid for a day.
pub fn person(name: &str, groups: &[&str]) -> Person {
    let mut subject = DistinguishedName::new();
    // The library distinguishes attributes by how their kind is written.
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    assert!(groups.len() <= kinds.len());
    for (kind, group) in kinds.into_iter().zip(groups) {
        subject.push(kind, *group);
    }
    subject.push(DnType::CommonName, name);
    Person {
        subject,
        life: Validity::of(SystemTime::now(), DAY),
        purpose: ExtendedKeyUsagePurpose::ClientAuth,
        uri: None,
    }
}

impl Person {
    pub fn life(mut self, life: Validity) -> Self {
        self.life = life;
        self
    }

    pub fn for_servers(mut self) -> Self {
        self.purpose = ExtendedKeyUsagePurpose::ServerAuth;
        self
    }

    pub fn uri(mut self, uri: &str) -> Self {
        self.uri = Some(uri.to_owned());
        self
    }

    /// Adds a second common name, of any kind of text.
    pub fn also_named(mut self, name: impl Into<DnValue>) -> Self {
        self.subject.push(DnType::CustomDnType(vec![2, 5, 4, 3]), name);
        self
    }

    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = self.subject.clone();
        params.not_before = self.life.not_before.into();
        params.not_after = self.life.not_after.into();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![self.purpose.clone()];
        let uri = self.uri.as_deref().map(|uri| SanType::URI(uri.try_into().unwrap()));
        params.subject_alt_names = uri.into_iter().collect();
        params
    }

    /// PKCS #10, as PEM; the key is of the kind that many clusters still use.
    pub fn request(&self) -> (String, String) {
        let key = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = self.subject.clone();
        let request = params.serialize_request(&key).unwrap();
        (request.pem().unwrap(), key.serialize_pem())
    }
}

pub struct ClusterAuthority(Authority);

impl ClusterAuthority {
    pub fn make() -> Self {
        Self(Authority::make(Validity::of(SystemTime::now() - 30 * DAY, 365 * DAY)).unwrap())
    }

    pub fn certificate_pem(&self) -> &str {
        self.0.certificate_pem()
    }

    pub fn key_pem(&self) -> String {
        self.0.key_pem()
    }

    pub fn sign(&self, person: &Person) -> Identity {
        let key = KeyPair::from_pem(&self.key_pem()).unwrap();
        let issuer = Issuer::from_ca_cert_pem(self.certificate_pem(), key).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = person.params().signed_by(&key, &issuer).unwrap();
        Identity::from_pem(&certificate.pem(), &key.serialize_pem()).unwrap()
    }
}
