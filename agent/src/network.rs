//! The network by which a coordinator is reached: TCP, unless a simulated one takes its place.

use proto::channel::Connection;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::net::TcpStream;

pub type Opening = Pin<Box<dyn Future<Output = io::Result<Box<dyn Connection>>> + Send>>;

#[derive(Clone)]
pub struct Network(Arc<dyn Fn(String) -> Opening + Send + Sync>);

impl Network {
    pub fn by(open: impl Fn(String) -> Opening + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }

    /// `address`: HOST:PORT. Safe to cancel.
    pub async fn connect(&self, address: &str) -> io::Result<Box<dyn Connection>> {
        (self.0)(address.to_owned()).await
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::by(|address| Box::pin(tcp(address)))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

async fn tcp(address: String) -> io::Result<Box<dyn Connection>> {
    let tcp = TcpStream::connect(address).await?;
    // Else small messages wait for others.
    tcp.set_nodelay(true)?;
    Ok(Box::new(tcp))
}
