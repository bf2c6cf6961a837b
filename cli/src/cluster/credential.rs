//! What a kubeconfig shows to the API server, for showing the same to the coordinator.
//!
//! Owns: taking it out of the kubeconfig, whatever way it is given there: a token, a token file, an exec plugin or a client
//! certificate. Must not: keep or print it.

use crate::failure::Failure;
use coordinator::api::story;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use kube::Config;
use kube::client::{Body, ConfigExt};
use proto::bearer::Bearer;
use rustls::client::ResolvesClientCert;
use secrecy::SecretString;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// An exec plugin has this long for a new token.
const PLUGIN: Duration = Duration::from_secs(60);

/// What a person shows.
#[derive(Clone, Debug)]
pub enum Credential {
    /// A bearer token, for the coordinator and for the API server.
    Token(Bearer, SecretString),
    /// A client certificate.
    Certificate(Arc<dyn ResolvesClientCert>),
}

/// The credential of the kubeconfig's user, as it is valid now. An exec plugin is run once for a token.
///
/// # Errors
/// [`Failure`]: there is none that the coordinator could check, or the plugin failed.
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
        return match Bearer::new(token) {
            Ok(bearer) => Ok(Credential::Token(bearer, token.to_owned().into())),
            Err(why) => Err(cannot(&format!("its token is no token: {why}"))),
        };
    }
    let tls = config.rustls_client_config();
    let resolver = tls.map_err(|error| cannot(&story(&error)))?.client_auth_cert_resolver;
    if resolver.has_certs() {
        return Ok(Credential::Certificate(resolver));
    }
    Err(cannot("it has neither a token nor a client certificate"))
}

/// The `Authorization` header with which the API server is asked; `None` for none.
async fn authorization(config: Config) -> Result<Option<String>, Failure> {
    // An exec plugin is run here, and may wait for the person.
    let layer = tokio::task::spawn_blocking(move || config.auth_layer());
    let layer = layer.await.map_err(|fault| Failure::Failed(fault.to_string()))?;
    let Some(layer) = layer.map_err(|error| cannot(&story(&error)))? else {
        return Ok(None);
    };
    // What the layer adds to a request is taken off it again, instead of being sent.
    let shown = service_fn(|request: Request<Body>| {
        let header = request.headers().get(AUTHORIZATION);
        let text = header.and_then(|value| value.to_str().ok()).map(str::to_owned);
        ready(Ok::<_, BoxError>(Response::new(text)))
    });
    let shown: BoxFuture<'static, Result<Response<Option<String>>, BoxError>> =
        layer.layer(shown).oneshot(Request::new(Body::empty())).boxed();
    match timeout(PLUGIN, shown).await {
        Ok(Ok(response)) => Ok(response.into_body()),
        Ok(Err(error)) => Err(cannot(&error.to_string())),
        Err(_) => Err(cannot("its plugin does not end")),
    }
}

fn cannot(why: &str) -> Failure {
    Failure::Failed(format!(
        "cannot show the credential of this kubeconfig to the coordinator: {why}"
    ))
}
