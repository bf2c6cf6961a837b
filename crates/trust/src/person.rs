//! A person's end of the proof by request ([`crate::proof`]): the key, the request for it, and the certificate shown.

use crate::identity::{Identity, IdentityError};
use crate::proof::{REQUEST_LIFE, RequestName};
use crate::validity::Validity;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};
use std::time::{Duration, SystemTime};

/// Time before its end at which a request is replaced: as far as clocks of two machines may differ.
const MARGIN: Duration = crate::validity::SKEW;

const SUBJECT: &str = "skein person";

pub struct PersonKey(KeyPair);

#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    #[error("no key or certificate could be made: {0}; this is a fault of the program")]
    Making(#[from] rcgen::Error),
    #[error("the certificate made cannot be used: {0}; this is a fault of the program")]
    Using(#[from] IdentityError),
}

impl PersonKey {
    pub fn make() -> Result<Self, PersonError> {
        Ok(Self(KeyPair::generate()?))
    }

    /// PKCS #10, in PEM.
    pub fn request_pem(&self) -> Result<String, PersonError> {
        Ok(params().serialize_request(&self.0)?.pem()?)
    }

    /// Self-signed; the coordinator goes by the life of the request that it names.
    pub fn identity(&self, request: &RequestName, now: SystemTime) -> Result<Identity, PersonError> {
        let (mut params, life) = (params(), Validity::of(now, REQUEST_LIFE));
        params.not_before = life.not_before.into();
        params.not_after = life.not_after.into();
        params.subject_alt_names = vec![SanType::URI(request.uri().as_str().try_into()?)];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.self_signed(&self.0)?;
        Ok(Identity::from_pem(&certificate.pem(), &self.0.serialize_pem())?)
    }
}

impl std::fmt::Debug for PersonKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PersonKey")
    }
}

fn params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, SUBJECT);
    params
}

/// Whether an earlier [`PersonKey::identity`] may still be shown at `now`; if dated ahead it may not: a clock was set.
pub fn may_be_shown(validity: Validity, now: SystemTime) -> bool {
    let made = validity.not_after.checked_sub(REQUEST_LIFE);
    let until = validity.not_after.checked_sub(MARGIN);
    made.is_some_and(|made| made <= now) && until.is_some_and(|until| now < until)
}

/// True from the second half of its life, so that the next is ready should the API server take no new requests.
pub fn is_due(validity: Validity, now: SystemTime) -> bool {
    let half = validity.not_after.checked_sub(REQUEST_LIFE / 2);
    half.is_none_or(|half| now >= half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::PublicKey;
    use crate::validity::at;

    #[test]
    fn request_and_certificate_have_the_same_key_and_another_one_has_not() {
        let name = RequestName::parse("skein-person-x7k2f").unwrap();
        let (key, other) = (PersonKey::make().unwrap(), PersonKey::make().unwrap());
        let identity = key.identity(&name, SystemTime::now()).unwrap();
        let shown = PublicKey::of_certificate(&identity.chain()[0]).unwrap();
        let asked = |key: &PersonKey| PublicKey::of_request(key.request_pem().unwrap().as_bytes()).unwrap();
        assert_eq!(shown, asked(&key));
        assert_ne!(shown, asked(&other));
    }

    #[test]
    fn it_is_shown_until_shortly_before_its_end_and_not_before_it_was_made() {
        let now = at(1_800_000_000);
        let name = RequestName::parse("a").unwrap();
        let identity = PersonKey::make().unwrap().identity(&name, now).unwrap();
        let second = Duration::from_secs(1);
        let may = |now| may_be_shown(identity.validity(), now);
        assert!(may(now) && may(now + REQUEST_LIFE - MARGIN - second));
        assert!(!may(now + REQUEST_LIFE - MARGIN) && !may(now - second));
        assert!(!may_be_shown(Validity::any_time(), now));
        let due = |now| is_due(identity.validity(), now);
        assert!(!due(now) && !due(now + REQUEST_LIFE / 2 - second) && due(now + REQUEST_LIFE / 2));
    }
}
