//! TLS configuration of agents and tools.

use crate::bundle::Bundle;
use crate::identity::Identity;
use crate::server::ConfigError;
use crate::{ALPN, SERVER_NAME, provider};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use std::sync::Arc;

/// Connect with [`server_name`] as the name, whatever address was dialled.
pub fn client_config(bundle: &Bundle, identity: Option<&Identity>) -> Result<ClientConfig, ConfigError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(bundle.roots());
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified()))),
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

pub fn server_name() -> ServerName<'static> {
    ServerName::try_from(SERVER_NAME).expect("it is a host name")
}
