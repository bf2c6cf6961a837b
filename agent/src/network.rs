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
    let tcp = match bracketed(&address) {
        Some(at) => TcpStream::connect(at).await?,
        None => TcpStream::connect(&address).await?,
    };
    // Else small messages wait for others.
    tcp.set_nodelay(true)?;
    Ok(Box::new(tcp))
}

/// The inside of the brackets of an IPv6 address, and its port. With a zone, such as `fe80::1%eth0`, it is found without brackets only.
fn bracketed(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[')?.strip_suffix(']')?;
    Some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;
    use tokio::net::TcpListener;

    #[test]
    fn an_address_of_a_zone_is_looked_up_without_its_brackets() {
        assert_eq!(bracketed("[fe80::1%eth0]:50051"), Some(("fe80::1%eth0", 50051)));
        assert_eq!(bracketed("[::1]:1"), Some(("::1", 1)));
        for other in [
            "10.0.0.2:50051",
            "pine.local:50051",
            "[::1]",
            "[::1]:x",
            "fe80::1:50051",
        ] {
            assert_eq!(bracketed(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn an_address_in_brackets_is_reached() {
        let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else {
            // A system without IPv6.
            return;
        };
        let port = listener.local_addr().unwrap().port();
        for address in [format!("[::1]:{port}"), format!("[::1%1]:{port}")] {
            assert!(tcp(address.clone()).await.is_ok(), "{address}");
        }
    }
}
