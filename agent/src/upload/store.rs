//! The object store, by the agent's settings: its address, whom to believe, what to show it.

use super::flags::Config;
use super::http::{Line, Pace};
use object_store::RetryConfig;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trust::files::{self, FileError};

#[derive(Debug, thiserror::Error)]
pub(super) enum NoStore {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("no {0} in the environment; set it, or SKEIN_UPLOAD_CREDENTIALS to the folder of a mounted Secret")]
    NoCredential(&'static str),
    #[error("this system has no certificate authorities; set SKEIN_UPLOAD_CA to a file with that of the store")]
    NoAuthorities,
    #[error("no TLS: {0}")]
    Tls(#[from] rustls::Error),
    #[error("{0}")]
    Setting(object_store::Error),
}

/// Blocks while it reads files.
pub(super) fn open(config: &Config, pace: &Pace) -> Result<AmazonS3, NoStore> {
    let secure = config.endpoint.starts_with("https://");
    let tls = if secure { Some(Arc::new(tls(config)?)) } else { None };
    let endpoint = if config.virtual_host {
        config.endpoint.replacen("://", &format!("://{}.", config.bucket), 1)
    } else {
        config.endpoint.clone()
    };
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_bucket_name(&config.bucket)
        .with_region(&config.region)
        .with_virtual_hosted_style_request(config.virtual_host)
        .with_allow_http(!secure)
        .with_access_key_id(credential(config, "AWS_ACCESS_KEY_ID")?)
        .with_secret_access_key(credential(config, "AWS_SECRET_ACCESS_KEY")?)
        // The uploader tries again, with a back-off of its own.
        .with_retry(RetryConfig {
            max_retries: 0,
            retry_timeout: Duration::from_secs(1),
            ..RetryConfig::default()
        })
        .with_http_connector(Line {
            tls,
            pace: pace.clone(),
        });
    match credential(config, "AWS_SESSION_TOKEN") {
        Ok(token) => builder = builder.with_token(token),
        Err(NoStore::NoCredential(_)) => {}
        Err(NoStore::File(FileError::Unread { source, .. })) if source.kind() == io::ErrorKind::NotFound => {}
        Err(other) => return Err(other),
    }
    builder.build().map_err(NoStore::Setting)
}

fn credential(config: &Config, name: &'static str) -> Result<String, NoStore> {
    let text = match &config.credentials {
        Some(folder) => files::text(&folder.join(name))?,
        None => std::env::var(name).unwrap_or_default(),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(NoStore::NoCredential(name));
    }
    Ok(text.to_owned())
}

fn tls(config: &Config) -> Result<ClientConfig, NoStore> {
    let roots = match &config.authorities {
        Some(file) => authorities(file)?,
        None => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots
        }
    };
    if roots.is_empty() {
        return Err(NoStore::NoAuthorities);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(tls)
}

fn authorities(file: &Path) -> Result<RootCertStore, NoStore> {
    Ok(files::bundle(file)?.roots())
}
