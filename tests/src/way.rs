//! Connections to a coordinator over TLS.

use proto::bearer::Bearer;
use proto::v1::fleet_client::FleetClient;
use proto::v1::uplink_client::UplinkClient;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use trust::{Bundle, Identity};

pub type Calls = InterceptedService<Channel, Bearer>;
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Debug)]
pub struct Way {
    pub address: SocketAddr,
    pub bundle: Bundle,
    pub from: IpAddr,
}

impl Way {
    pub fn new(address: &str, bundle: Bundle) -> Self {
        let address = address.parse().unwrap();
        let from = IpAddr::from([127, 0, 0, 1]);
        Self { address, bundle, from }
    }

    pub fn from(&self, from: [u8; 4]) -> Self {
        let from = IpAddr::from(from);
        Self { from, ..self.clone() }
    }

    pub async fn tcp(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(self.from, 0))?;
        let stream = socket.connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub async fn tls(&self, identity: Option<&Identity>) -> Result<TlsStream<TcpStream>, AnyError> {
        let config = Arc::new(trust::client_config(&self.bundle, identity)?);
        let stream = self.tcp().await?;
        Ok(TlsConnector::from(config).connect(trust::server_name(), stream).await?)
    }

    pub async fn channel(&self, identity: Option<&Identity>) -> Result<Channel, AnyError> {
        let stream = self.tls(identity).await?;
        let endpoint = Endpoint::from_static("http://skein-coordinator");
        Ok(proto::channel::over(&endpoint, Box::new(stream)).await?)
    }

    pub async fn uplink(&self, token: &str) -> Result<UplinkClient<Calls>, AnyError> {
        let channel = self.channel(None).await?;
        Ok(UplinkClient::with_interceptor(channel, bearer(token)))
    }

    pub async fn fleet(&self, token: &str) -> Result<FleetClient<Calls>, AnyError> {
        let channel = self.channel(None).await?;
        Ok(FleetClient::with_interceptor(channel, bearer(token)))
    }
}

pub fn bearer(token: &str) -> Bearer {
    Bearer::new(token).unwrap_or_default()
}
