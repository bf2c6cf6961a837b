//! Connections of fake agents: plain text that several may share, or TLS with a token each, as in a cluster.

use agent::coordinator::Coordinator;
use agent::credentials::{Credentials, Reader};
use agent::dial;
use agent::network::Network;
use anyhow::Context;
use proto::bearer::Bearer;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpSocket;
use tonic::transport::{Channel, Endpoint};
use trust::Bundle;

pub const AUTHORITY: &str = "ca.crt";
pub const TOKENS: &str = "tokens";

/// Agents from one address, as the coordinator limits the connection rate of each.
const BEHIND_ONE_ADDRESS: usize = 50;

#[derive(Clone)]
pub enum Way {
    Plain(Channel),
    Secured(Box<Coordinator>),
}

impl Way {
    pub fn plain(server: &str) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{server}"))?
            .connect_timeout(Duration::from_secs(5))
            .tcp_nodelay(true)
            .http2_keep_alive_interval(Duration::from_secs(2))
            .keep_alive_timeout(Duration::from_secs(5));
        Ok(Self::Plain(endpoint.connect_lazy()))
    }

    pub async fn open(&self) -> anyhow::Result<(Channel, Bearer)> {
        match self {
            Self::Plain(channel) => Ok((channel.clone(), Bearer::default())),
            Self::Secured(coordinator) => Ok(dial::open(coordinator, &mut Reader::default()).await?),
        }
    }
}

pub fn secured(server: &str, count: usize, folder: &Path) -> anyhow::Result<Vec<Way>> {
    let bundle = Bundle::from_pem(&std::fs::read_to_string(folder.join(AUTHORITY))?)?;
    let tls = Arc::new(trust::client_config(&bundle, None)?);
    let tokens = std::fs::read_to_string(folder.join(TOKENS))?;
    let ways = tokens.lines().take(count).enumerate().map(|(number, token)| {
        let bearer = Bearer::new(token)?;
        let credentials = Credentials {
            tls: Arc::clone(&tls),
            bearer,
        };
        let mut coordinator = Coordinator::held(server.to_owned(), credentials);
        let host = u32::try_from(number / BEHIND_ONE_ADDRESS)?;
        let from = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + host);
        coordinator.network = Network::by(move |address| Box::pin(connect(from, address)));
        Ok(Way::Secured(Box::new(coordinator)))
    });
    let ways: Vec<Way> = ways.collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(ways.len() == count, "{} tokens for {count} agents", ways.len());
    Ok(ways)
}

async fn connect(from: Ipv4Addr, address: String) -> std::io::Result<Box<dyn proto::channel::Connection>> {
    let to: SocketAddr = address.parse().map_err(std::io::Error::other)?;
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

pub fn write(folder: &Path, bundle: &str, tokens: &[String]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(AUTHORITY), bundle).context("cannot write the authority")?;
    std::fs::write(folder.join(TOKENS), tokens.join("\n")).context("cannot write the tokens")?;
    Ok(())
}
