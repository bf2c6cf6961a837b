//! Certificates: an authority of its own, kept in the data folder, and a serving certificate created at every start.
//! A field laptop may have a clock that shows 1970, so certificates are valid at any time: a client is safe because it
//! trusts this one authority alone, and because its key never leaves the folder. A new one at each start contains the
//! names in use.

use crate::serve::folder::Folder;
use crate::serve::private_file::{self, PrivateFileError};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

const CERTIFICATE_END: &str = "-----END CERTIFICATE-----";

#[derive(Debug)]
pub struct Authority {
    certificate_pem: String,
    key: KeyPair,
}

#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{} is damaged; remove it and start again: a new one is made, and copied kubeconfigs need a new copy", .0.display())]
    Damaged(PathBuf),
    #[error("no certificate for the names {names}: {source}; name hosts and addresses that clients use")]
    Names { names: String, source: rcgen::Error },
    #[error("no certificate could be made: {0}; this is a fault of the program")]
    Making(#[from] rcgen::Error),
    #[error("the certificate cannot be used: {0}; this is a fault of the program")]
    Using(#[from] rustls::Error),
}

impl Authority {
    pub fn open(folder: &Folder) -> Result<Self, AuthorityError> {
        let path = folder.path().join("authority.pem");
        if let Some(text) = private_file::read(&path)? {
            return Self::parse(&text).ok_or(AuthorityError::Damaged(path));
        }
        let key = KeyPair::generate()?;
        let certificate_pem = authority_params().self_signed(&key)?.pem();
        private_file::write(&path, &format!("{certificate_pem}{}", key.serialize_pem()))?;
        Ok(Self { certificate_pem, key })
    }

    fn parse(text: &str) -> Option<Self> {
        let end = text.find(CERTIFICATE_END)? + CERTIFICATE_END.len();
        let (certificate, key) = text.split_at_checked(end)?;
        let authority = Self {
            certificate_pem: format!("{certificate}\n"),
            key: KeyPair::from_pem(key.trim()).ok()?,
        };
        authority.is_whole().then_some(authority)
    }

    fn is_whole(&self) -> bool {
        use rustls::pki_types::pem::PemObject;
        let Ok(certificate) = rustls::pki_types::CertificateDer::from_pem_slice(self.certificate_pem.as_bytes()) else {
            return false;
        };
        let public_key = self.key.public_key_raw();
        let mut roots = rustls::RootCertStore::empty();
        let holds_key = certificate.windows(public_key.len()).any(|part| part == public_key);
        holds_key && roots.add(certificate).is_ok()
    }

    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub fn server_config(&self, names: &[String]) -> Result<Arc<ServerConfig>, AuthorityError> {
        let (certificate, key) = self.serving(names)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn serving(&self, names: &[String]) -> Result<(Certificate, KeyPair), AuthorityError> {
        let names: BTreeSet<String> = names.iter().cloned().collect();
        let names = Vec::from_iter(names);
        let mut params = CertificateParams::new(names.clone()).map_err(|source| AuthorityError::Names {
            names: names.join(", "),
            source,
        })?;
        any_time(&mut params, "embedded API");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &Issuer::new(authority_params(), &self.key))?;
        Ok((certificate, key))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    any_time(&mut params, "embedded API authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

/// Lasts from the first second of a clock that was never set to the last that a certificate can name (RFC 5280,
/// 4.1.2.5).
fn any_time(params: &mut CertificateParams, common_name: &str) {
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(9999, 12, 31);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::folder::scratch as folder;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use std::time::Duration;

    fn trusts(authority: &Authority, presented: &CertificateDer<'_>, name: &str, at: u64) -> bool {
        let mut roots = rustls::RootCertStore::empty();
        let trusted = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let verifier = verifier.build().unwrap();
        verifier.verify_server_cert(presented, &[], &name, &[], at).is_ok()
    }

    #[test]
    fn the_serving_certificate_is_good_for_its_names_at_any_time() {
        let (_directory, folder) = folder();
        let authority = Authority::open(&folder).unwrap();
        let names = ["localhost", "127.0.0.1", "::1"];
        let (serving, _) = authority.serving(&names.map(str::to_owned)).unwrap();
        for at in [0, 1_800_000_000, 32_503_680_000] {
            for name in names {
                assert!(trusts(&authority, serving.der(), name, at), "{name} at {at}");
            }
        }
        assert!(!trusts(&authority, serving.der(), "example.org", 0));
        assert!(!trusts(&authority, serving.der(), "127.0.0.2", 0));
    }

    #[test]
    fn a_client_that_trusts_one_start_trusts_the_next_and_no_other_folder() {
        let ((_a, first), (_b, second)) = (folder(), folder());
        let before = Authority::open(&first).unwrap();
        let names = ["localhost".to_owned()];
        let (again, _) = Authority::open(&first).unwrap().serving(&names).unwrap();
        let (other, _) = Authority::open(&second).unwrap().serving(&names).unwrap();
        assert!(trusts(&before, again.der(), "localhost", 0));
        assert!(!trusts(&before, other.der(), "localhost", 0));
    }

    #[test]
    fn a_damaged_authority_is_reported_and_not_replaced() {
        let ((_a, first), (_b, second)) = (folder(), folder());
        let path = first.path().join("authority.pem");
        Authority::open(&first).unwrap();
        Authority::open(&second).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let other = std::fs::read_to_string(second.path().join("authority.pem")).unwrap();
        let cut = whole.find(CERTIFICATE_END).unwrap();
        let keys_swapped = format!("{}{}", &whole[..cut], &other[other.find(CERTIFICATE_END).unwrap()..]);
        for damaged in ["", &whole[..cut], &whole[..whole.len() - 60], &keys_swapped] {
            private_file::write(&path, damaged).unwrap();
            assert!(matches!(Authority::open(&first), Err(AuthorityError::Damaged(_))));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
        }
    }
}
