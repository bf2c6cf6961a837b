//! Opening one connection to the coordinator: TCP, then TLS where it is asked for.

use crate::coordinator::{Coordinator, Security};
use crate::credentials::{CredentialError, Credentials, Reader};
use proto::bearer::Bearer;
use proto::channel::{self, Connection};
use std::error::Error;
use std::io;
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Two round trips; a radio may take a second for each, and a board that is busy another for its part.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(2);
const PONG_WITHIN: Duration = Duration::from_secs(5);

/// The address says where the coordinator is.
const NAME: &str = "http://skein-coordinator";

#[derive(Debug, thiserror::Error)]
pub enum CannotDial {
    #[error("no credentials: {0}")]
    Credentials(#[from] CredentialError),
    #[error("no answer to the connection")]
    Silent,
    #[error("{}", root_cause(.0))]
    Refused(io::Error),
    #[error("{}", about_tls(.0))]
    Tls(io::Error),
    #[error("the coordinator does not answer in TLS; is that its port?")]
    NoTls,
    #[error("{}", root_cause(.0))]
    Http(tonic::transport::Error),
}

/// The bearer goes with each call on the channel.
pub async fn open(coordinator: &Coordinator, reader: &mut Reader) -> Result<(Channel, Bearer), CannotDial> {
    let credentials = match &coordinator.security {
        Security::Plain => None,
        Security::Files(files) => Some(reader.read(files).await?),
        Security::Held(credentials) => Some(credentials.clone()),
    };
    let tcp = timeout(CONNECT_WITHIN, coordinator.network.connect(&coordinator.dial)).await;
    let tcp = tcp.map_err(|_| CannotDial::Silent)?.map_err(CannotDial::Refused)?;
    let (connection, bearer): (Box<dyn Connection>, _) = match credentials {
        None => (tcp, Bearer::default()),
        Some(Credentials { tls, bearer }) => {
            let connecting = TlsConnector::from(tls).connect(trust::server_name(), tcp);
            let connected = timeout(HANDSHAKE_WITHIN, connecting).await;
            (
                Box::new(connected.map_err(|_| CannotDial::NoTls)?.map_err(CannotDial::Tls)?),
                bearer,
            )
        }
    };
    let endpoint = Endpoint::from_static(NAME)
        .http2_keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_WITHIN)
        .keep_alive_while_idle(true);
    let opened = timeout(CONNECT_WITHIN, channel::over(&endpoint, connection)).await;
    let channel = opened.map_err(|_| CannotDial::Silent)?.map_err(CannotDial::Http)?;
    Ok((channel, bearer))
}

fn about_tls(error: &io::Error) -> String {
    use rustls::{CertificateError, Error as Tls};
    let why = root_cause(error);
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
    match tls {
        Some(Tls::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "the coordinator's certificate is not of the authority that this agent trusts (SKEIN_COORDINATOR_CA): copy its ca.crt \
             again, or this is not the coordinator"
                .to_owned()
        }
        Some(Tls::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => format!("the coordinator's certificate is not good at this time ({why}): check this computer's clock"),
        Some(Tls::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "what answers is not a coordinator: its certificate is for another name".to_owned(),
        Some(Tls::InvalidMessage(_)) => {
            format!("what answers does not speak TLS ({why}); is that the coordinator's port?")
        }
        Some(Tls::AlertReceived(_)) => refused(&why),
        _ => format!("no TLS: {why}"),
    }
}

/// The coordinator ended the handshake, or the connection right after it.
pub fn refused(why: &str) -> String {
    format!("the coordinator refuses what this agent shows ({why}); make a new certificate with `skein enroll`")
}

/// The innermost reason, such as "Connection refused".
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
