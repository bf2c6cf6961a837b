//! Tokens, valid and invalid.

use crate::SYSTEM;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use testkit::ControlPlane;

pub const AUDIENCE: &str = "skein-coordinator";

pub fn of_agent(plane: &ControlPlane, node: &str) -> String {
    make(
        plane,
        "skein-agent",
        &[
            "--audience",
            AUDIENCE,
            "--bound-object-kind",
            "Node",
            "--bound-object-name",
            node,
        ],
    )
}

pub fn make(plane: &ControlPlane, account: &str, flags: &[&str]) -> String {
    let mut args = vec!["create", "token", account, "-n", SYSTEM];
    args.extend_from_slice(flags);
    plane.kubectl().run(args).unwrap().trim().to_owned()
}

pub fn forged(plane: &ControlPlane, token: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut parts = token.split('.');
    let (header, claims) = (parts.next().unwrap(), parts.next().unwrap());
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    change(&mut claims);
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let key = plane.scratch().path().join("service-accounts.pem");
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let key = rustls::crypto::aws_lc_rs::sign::any_ecdsa_type(&key).unwrap();
    let signer = key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]).unwrap();
    let signature = signer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(raw(&signature)))
}

/// Two numbers of 32 bytes each (RFC 7518, 3.4), from DER.
fn raw(der: &[u8]) -> Vec<u8> {
    let number = |at: usize| {
        let length = usize::from(der[at + 1]);
        let bytes = &der[at + 2..at + 2 + length];
        let bytes = &bytes[bytes.len().saturating_sub(32)..];
        let mut whole = vec![0; 32 - bytes.len()];
        whole.extend_from_slice(bytes);
        (whole, at + 2 + length)
    };
    let (mut first, next) = number(2);
    first.extend(number(next).0);
    first
}
