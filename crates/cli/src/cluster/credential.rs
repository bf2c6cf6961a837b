//! The credential of a kubeconfig: a token, a token file or a client certificate; [`super::plugin`] has put an exec
//! plugin's answer there. Must not: keep or print it, or show a token to anything but the API server.

use crate::failure::Failure;
use coordinator::cluster::api::error_chain;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use kube::Config;
use kube::client::{Body, ConfigExt};
use rustls::client::ResolvesClientCert;
use secrecy::SecretString;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tower::{BoxError, Layer, ServiceExt, service_fn};

pub(super) const LOGIN_PROGRAM_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub enum Credential {
    Token(SecretString),
    /// For both ends: the handshake proves its key and reveals nothing.
    Certificate(Arc<dyn ResolvesClientCert>),
}

/// Reads the credential valid now. Errors: none that the coordinator could check, or a failed login program.
pub async fn of(config: &Config) -> Result<Credential, Failure> {
    let user = &config.auth_info;
    if user.impersonate.is_some() || user.impersonate_groups.is_some() {
        return Err(Failure::Usage(
            "this kubeconfig acts as somebody else (`as`), which the coordinator cannot check; use a context that does not"
                .to_owned(),
        ));
    }
    if let Some(header) = authorization(config.clone()).await? {
        let token = header.strip_prefix("Bearer ").ok_or_else(|| {
            Failure::Usage(
                "this kubeconfig has a user name and a password, which the coordinator does not take".to_owned(),
            )
        })?;
        if token.trim().is_empty() {
            return Err(cannot("its token is empty"));
        }
        return Ok(Credential::Token(token.to_owned().into()));
    }
    let tls = config.rustls_client_config();
    let resolver = tls
        .map_err(|error| cannot(&error_chain(&error)))?
        .client_auth_cert_resolver;
    if resolver.has_certs() {
        return Ok(Credential::Certificate(resolver));
    }
    Err(cannot("it has neither a token nor a client certificate"))
}

async fn authorization(config: Config) -> Result<Option<String>, Failure> {
    // Runs a login program (`auth-provider`), which may wait for the person.
    let layer = tokio::task::spawn_blocking(move || config.auth_layer());
    let layer = layer.await.map_err(|fault| Failure::Failed(fault.to_string()))?;
    let Some(layer) = layer.map_err(|error| cannot(&error_chain(&error)))? else {
        return Ok(None);
    };
    // Catches the header that the layer adds to a request, which is never sent.
    let shown = service_fn(|request: Request<Body>| {
        let header = request.headers().get(AUTHORIZATION);
        let text = header.and_then(|value| value.to_str().ok()).map(str::to_owned);
        ready(Ok::<_, BoxError>(Response::new(text)))
    });
    let shown: BoxFuture<'static, Result<Response<Option<String>>, BoxError>> =
        layer.layer(shown).oneshot(Request::new(Body::empty())).boxed();
    match timeout(LOGIN_PROGRAM_TIMEOUT, shown).await {
        Ok(Ok(response)) => Ok(response.into_body()),
        Ok(Err(error)) => Err(cannot(&error.to_string())),
        Err(_) => Err(cannot("its plugin does not end")),
    }
}

pub(super) fn cannot(why: &str) -> Failure {
    Failure::Failed(format!(
        "cannot show the coordinator who the user of this kubeconfig is: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use std::time::SystemTime;
    use trust::{Authority, Peer, Validity};

    fn config() -> Config {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Config::new(http::Uri::from_static("https://127.0.0.1:1"))
    }

    fn error(failure: Result<Credential, Failure>) -> String {
        failure.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_token_is_taken_whether_it_is_in_the_kubeconfig_or_in_a_file() {
        let mut inline = config();
        inline.auth_info.token = Some("abc".to_owned().into());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "abc").unwrap();
        let mut file = config();
        file.auth_info.token_file = Some(path.display().to_string());
        for config in [inline, file] {
            match of(&config).await.unwrap() {
                Credential::Token(token) => assert_eq!(token.expose_secret(), "abc"),
                other @ Credential::Certificate(_) => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_client_certificate_is_shown_where_there_is_no_token() {
        let life = Validity::of(SystemTime::now(), Duration::from_secs(60));
        let authority = Authority::make(life).unwrap();
        let identity = authority.client(&Peer::operator("ada").unwrap(), life).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Some(path.display().to_string())
        };
        let mut config = config();
        config.root_cert = Some(vec![authority.bundle().certificates()[0].to_vec()]);
        config.auth_info.client_certificate = file("crt", identity.certificate_pem());
        config.auth_info.client_key = file("key", identity.key_pem());
        match of(&config).await.unwrap() {
            Credential::Certificate(resolver) => assert!(resolver.has_certs()),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_the_coordinator_could_not_check_is_refused_before_anything_is_sent() {
        assert!(error(of(&config()).await).contains("neither a token nor a client certificate"));
        let mut empty = config();
        empty.auth_info.token = Some(String::new().into());
        assert!(error(of(&empty).await).contains("its token is empty"));
        let mut password = config();
        password.auth_info.username = Some("ada".to_owned());
        password.auth_info.password = Some("secret".to_owned().into());
        assert!(error(of(&password).await).contains("a user name and a password"));
        let mut other = config();
        other.auth_info.token = Some("abc".to_owned().into());
        other.auth_info.impersonate = Some("bob".to_owned());
        assert!(error(of(&other).await).contains("acts as somebody else"));
    }
}
