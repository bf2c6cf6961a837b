//! Certificates and keys of the uplink: making them, trusting them, and naming the holder of one.
//!
//! Owns: our certificate authorities and when they change, TLS configurations of both ends, the list of certificates
//! that count. Must not: open sockets, know Kubernetes, gRPC or MAVLink, or read a clock: time is a parameter.
//!
//! TLS 1.3, HTTP/2 and elliptic keys (P-256) only; no resumed sessions: each connection is checked by what is true now.
//! ```text
//! Authorities ── signer ──► Authority ── server ──► Identity ──► Server   (the coordinator's end)
//!      │                        └─────── client ──► Identity ──► client_config   (agents and tools)
//!      └─────── bundle ──► Bundle: whom the other end trusts
//! ```

pub mod authorities;
pub mod authority;
pub mod bundle;
pub mod certificate;
pub mod client;
pub mod enrolled;
pub mod files;
pub mod identity;
pub mod peer;
pub mod person;
pub mod proof;
pub mod server;
pub mod validity;

pub use authorities::Authorities;
pub use authority::{Authority, AuthorityError};
pub use bundle::{Bundle, BundleError};
pub use certificate::{Caller, CertificateError, PeerCertificate};
pub use client::{client_config, server_name};
pub use enrolled::Enrolled;
pub use identity::{Identity, IdentityError};
pub use peer::Peer;
pub use person::PersonKey;
pub use proof::{PublicKey, RequestName};
pub use server::{ConfigError, Server};
pub use validity::Validity;

/// Checked by each client in the coordinator's certificate, whatever address it dialled (port-forward, IP, gateway).
pub const SERVER_NAME: &str = "skein-coordinator";

/// RFC 7301; gRPC is HTTP/2.
pub const ALPN: &[u8] = b"h2";

fn provider() -> std::sync::Arc<rustls::crypto::CryptoProvider> {
    std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}
