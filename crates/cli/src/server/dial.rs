//! Connects to the coordinator by any route.

use super::{CONNECT_TIMEOUT, PROBE_INTERVAL, root_cause};
use crate::cluster::credential::Credential;
use crate::cluster::forward::Forwarded;
use crate::cluster::person::Proof;
use crate::cluster::stored_proof::StoredProof;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use crate::route::Route;
use crate::server_url::ServerUrl;
use agent::Credentials;
use agent::credentials::Files;
use futures::FutureExt;
use futures::future::BoxFuture;
use model::backoff::Backoff;
use proto::bearer::Bearer;
use proto::channel::{self, Connection};
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use trust::{Bundle, client_config};

/// Name inside the connection, whatever the address.
const NAME: &str = "http://skein-coordinator";

const HUNG_UP_RETRY: Backoff = Backoff {
    first: Duration::from_millis(100),
    cap: Duration::from_secs(1),
};

pub struct Opened {
    pub channel: Channel,
    pub bearer: Bearer,
    pub stored: Option<StoredProof>,
}

/// `window`: bytes of one stream under way to us, where the default would hold too long a past.
pub fn open(route: &Route, window: Option<u32>) -> BoxFuture<'_, Result<Opened, Failure>> {
    opened(route, window).boxed()
}

async fn opened(route: &Route, window: Option<u32>) -> Result<Opened, Failure> {
    let with = |channel, bearer| Opened {
        channel,
        bearer,
        stored: None,
    };
    match route {
        Route::Plain(server) => Ok(with(
            over(route, Box::new(tcp(route, server).await?), window).await?,
            Bearer::default(),
        )),
        Route::Files { server, files } | Route::Station { server, files, .. } => {
            let Credentials { tls, bearer } = read(files.clone()).await?;
            let connection = dialled(route, server, &tls).await?;
            Ok(with(over(route, connection, window).await?, bearer))
        }
        Route::Cluster { choice, server } => {
            let cluster = Cluster::of(choice).await.map_err(|why| match (server, why) {
                (Some(server), Failure::Usage(why)) => Failure::Usage(format!(
                    "{why}; or say what to believe and to show at {server} without a kubeconfig: --server-ca with --client-cert and \
                     --client-key, or with --token-file"
                )),
                (_, why) => why,
            })?;
            let (tls, stored) = shown(&cluster).await?;
            let connection = match server {
                Some(server) => dialled(route, server, &tls).await?,
                None => {
                    let Forwarded {
                        connection, trouble, ..
                    } = cluster.forward().await?;
                    tokio::select! {
                        connected = inside_tls(&tls, connection) => connected.map_err(|error| about_tls(route, &error))?,
                        why = trouble => return Err(unreachable(route, why)),
                    }
                }
            };
            let channel = over(route, connection, window).await?;
            Ok(Opened {
                stored,
                ..with(channel, Bearer::default())
            })
        }
    }
}

/// Trusts what the cluster publishes; proves the person with an earlier command's proof if there is one.
async fn shown(cluster: &Cluster) -> Result<(Arc<ClientConfig>, Option<StoredProof>), Failure> {
    let authority = Bundle::from_pem(&cluster.authority().await?);
    let authority =
        authority.map_err(|why| Failure::Failed(format!("ConfigMap {}: {why}", cluster::authority::NAME)))?;
    let tls = |identity| client_config(&authority, identity).map_err(|why| Failure::Failed(why.to_string()));
    match &cluster.credential {
        Credential::Token(_) => {
            let Proof { identity, stored } = cluster.proof().await?;
            Ok((Arc::new(tls(Some(&identity))?), stored))
        }
        Credential::Certificate(resolver) => {
            let mut tls = tls(None)?;
            tls.client_auth_cert_resolver = Arc::clone(resolver);
            Ok((Arc::new(tls), None))
        }
    }
}

async fn read(files: Files) -> Result<Credentials, Failure> {
    let read = tokio::task::spawn_blocking(move || files.read()).await;
    let read = read.map_err(|fault| Failure::Failed(fault.to_string()))?;
    read.map_err(|why| Failure::Failed(why.to_string()))
}

async fn tcp(route: &Route, server: &ServerUrl) -> Result<TcpStream, Failure> {
    let connected = match timeout(CONNECT_TIMEOUT, TcpStream::connect(server.dial())).await {
        Ok(connected) => connected.and_then(|tcp| tcp.set_nodelay(true).map(|()| tcp)),
        Err(_) => return Err(silent(route)),
    };
    connected.map_err(|error| unreachable(route, root_cause(&error)))
}

/// An overloaded coordinator hangs up before it answers, when nothing was asked yet: retries within `CONNECT_TIMEOUT`.
async fn dialled(route: &Route, server: &ServerUrl, tls: &Arc<ClientConfig>) -> Result<Box<dyn Connection>, Failure> {
    let began = Instant::now();
    let mut failures = 0;
    loop {
        let error = match inside_tls(tls, tcp(route, server).await?).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        failures += 1;
        let pause = HUNG_UP_RETRY.delay(failures, rand::random());
        if !is_hung_up(&error) || began.elapsed() + pause >= CONNECT_TIMEOUT {
            return Err(about_tls(route, &error));
        }
        sleep(pause).await;
    }
}

async fn inside_tls<C: Connection + 'static>(
    tls: &Arc<ClientConfig>,
    connection: C,
) -> Result<Box<dyn Connection>, io::Error> {
    let connecting = TlsConnector::from(Arc::clone(tls)).connect(trust::server_name(), connection);
    match timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => Ok(Box::new(connected?)),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, no_answer())),
    }
}

fn is_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}

async fn over(route: &Route, connection: Box<dyn Connection>, window: Option<u32>) -> Result<Channel, Failure> {
    let endpoint = Endpoint::from_static(NAME)
        .http2_keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_INTERVAL)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(window);
    // Catches a listener that never speaks HTTP/2.
    match timeout(CONNECT_TIMEOUT, channel::over(&endpoint, connection)).await {
        Ok(opened) => opened.map_err(|error| unreachable(route, root_cause(&error))),
        Err(_) => Err(silent(route)),
    }
}

fn unreachable(route: &Route, why: String) -> Failure {
    Failure::Unreachable {
        server: route.to_string(),
        why,
        advice: route.advice(),
    }
}

fn silent(route: &Route) -> Failure {
    unreachable(route, no_answer())
}

fn no_answer() -> String {
    format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())
}

fn about_tls(route: &Route, error: &io::Error) -> Failure {
    use rustls::Error as Tls;
    let why = root_cause(error);
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
    match tls {
        Some(Tls::InvalidCertificate(_)) => Failure::Failed(format!(
            "what answers at {route} does not show a certificate of its coordinator ({why}), so nothing was sent; has its authority \
             changed, or this computer's clock?"
        )),
        Some(Tls::InvalidMessage(_)) => unreachable(route, format!("it does not speak TLS ({why})")),
        Some(Tls::AlertReceived(_)) => Failure::Failed(refused(&why)),
        _ => unreachable(route, why),
    }
}

pub(super) fn refused(why: &str) -> String {
    format!(
        "the coordinator does not accept the certificate that was shown ({why}); has it ended, or been revoked, or is the coordinator \
         older than this program?"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;
    use tokio::net::TcpListener;
    use trust::Authorities;

    #[tokio::test]
    async fn a_coordinator_that_hangs_up_before_it_has_answered_is_dialled_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server: ServerUrl = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
        let now = SystemTime::now();
        let believed = Authorities::make(now).unwrap().bundle(now);
        let tls = Arc::new(client_config(&believed, None).unwrap());
        let route = Route::Plain(server.clone());
        let hangs_up = async {
            for _ in 0..3 {
                drop(listener.accept().await.unwrap());
            }
        };
        tokio::select! {
            () = hangs_up => {}
            _ = dialled(&route, &server, &tls) => panic!("it was given up"),
        }
    }
}
