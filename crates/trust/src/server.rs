//! The coordinator's end: its certificate, whom it trusts, and who has called.

use crate::bundle::Bundle;
use crate::certificate::{self, Caller, CertificateError, PeerCertificate};
use crate::identity::Identity;
use crate::{ALPN, provider};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("no TLS configuration could be made: {0}; this is a fault of the program")]
    Tls(#[from] rustls::Error),
    #[error("the authorities cannot be used to check clients: {0}; give them again")]
    Clients(#[from] VerifierBuilderError),
}

/// Authorities trusted when a client shows a certificate; showing one is never a duty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    pub ours: Option<Bundle>,
    pub cluster: Option<Bundle>,
    /// Whether a self-signed certificate that names a request to the API server proves its key ([`crate::proof`]).
    pub requesters: bool,
}

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Server {
    now: Arc<RwLock<Now>>,
}

#[derive(Clone, Debug)]
struct Now {
    identity: Identity,
    clients: Clients,
    verifier: Arc<Verifier>,
    config: Arc<ServerConfig>,
}

impl Server {
    pub fn new(identity: Identity, clients: Clients) -> Result<Self, ConfigError> {
        let now = Now::new(identity, clients)?;
        Ok(Self {
            now: Arc::new(RwLock::new(now)),
        })
    }

    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.read().config)
    }

    pub fn identity(&self) -> Identity {
        self.read().identity.clone()
    }

    /// Shows `identity` from the next connection on; returns whether it changed. On an error nothing changes.
    pub fn show(&self, identity: Identity) -> Result<bool, ConfigError> {
        let clients = self.read().clients.clone();
        self.change(identity, clients)
    }

    /// Believes `clients` from the next connection on; returns whether they changed. On an error nothing changes.
    pub fn believe(&self, clients: Clients) -> Result<bool, ConfigError> {
        let identity = self.read().identity.clone();
        self.change(identity, clients)
    }

    fn change(&self, identity: Identity, clients: Clients) -> Result<bool, ConfigError> {
        {
            let now = self.read();
            if now.identity == identity && now.clients == clients {
                return Ok(false);
            }
        }
        let next = Now::new(identity, clients)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(true)
    }

    /// Holder of these certificates, its own first; the signer of the first decides the kind of caller. Errors: no
    /// authority trusted now has signed it, or it names no holder.
    pub fn caller(&self, shown: &[CertificateDer<'_>], now: UnixTime) -> Result<Caller, CertificateError> {
        let (first, between) = shown.split_first().ok_or(CertificateError::Nobody)?;
        let verifier = Arc::clone(&self.read().verifier);
        match verifier.verify(first, between, now) {
            Ok(Signer::Ours) => PeerCertificate::read(first).map(Caller::Peer),
            Ok(Signer::Cluster) => certificate::kubernetes_user(first),
            Ok(Signer::Holder) => certificate::requester(first),
            Err(error) => Err(CertificateError::Unbelieved(error)),
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Now> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    fn new(identity: Identity, clients: Clients) -> Result<Self, ConfigError> {
        let verifier = Arc::new(Verifier::new(&clients)?);
        let builder =
            ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&rustls::version::TLS13])?;
        let builder = if verifier.is_idle() {
            builder.with_no_client_auth()
        } else {
            builder.with_client_cert_verifier(Arc::clone(&verifier) as Arc<dyn ClientCertVerifier>)
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified())));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A resumed session would bring back a certificate that no longer counts.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self {
            identity,
            clients,
            verifier,
            config: Arc::new(config),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signer {
    Ours,
    Cluster,
    Holder,
}

#[derive(Debug)]
struct Verifier {
    ours: Option<Arc<dyn ClientCertVerifier>>,
    cluster: Option<Arc<dyn ClientCertVerifier>>,
    requesters: bool,
    /// The handshake proves that the caller has the key of its certificate, whichever authority signed that.
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(clients: &Clients) -> Result<Self, ConfigError> {
        let one = |bundle: Option<&Bundle>| {
            bundle
                .map(|bundle| {
                    WebPkiClientVerifier::builder_with_provider(Arc::new(bundle.roots()), provider())
                        .allow_unauthenticated()
                        .clear_root_hint_subjects()
                        .build()
                })
                .transpose()
        };
        Ok(Self {
            ours: one(clients.ours.as_ref())?,
            cluster: one(clients.cluster.as_ref())?,
            requesters: clients.requesters,
            algorithms: provider().signature_verification_algorithms,
        })
    }

    fn is_idle(&self) -> bool {
        self.ours.is_none() && self.cluster.is_none() && !self.requesters
    }

    fn verify(
        &self,
        first: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<Signer, rustls::Error> {
        let verify = |verifier: &Option<Arc<dyn ClientCertVerifier>>| {
            verifier
                .as_ref()
                .map(|verifier| verifier.verify_client_cert(first, between, now))
        };
        let unknown = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        match (verify(&self.ours), verify(&self.cluster)) {
            (Some(Ok(_)), _) => Ok(Signer::Ours),
            (_, Some(Ok(_))) => Ok(Signer::Cluster),
            _ if self.requesters && certificate::requester(first).is_ok() => Ok(Signer::Holder),
            // For a certificate that we did not sign, the other's reason says more.
            (Some(Err(ours)), Some(Err(theirs))) => Err(if ours == unknown() { theirs } else { ours }),
            (Some(Err(error)), None) | (None, Some(Err(error))) => Err(error),
            (None, None) => Err(unknown()),
        }
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        first: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.verify(first, between, now)
            .map(|_| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
