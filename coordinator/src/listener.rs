//! A TCP port on all addresses, of a computer that has IPv4, IPv6 or both.

use nix::errno::Errno;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::TcpListener;

/// `[::]` is every address of both families, also on a computer without IPv6.
pub async fn bind(listen: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(listen).await {
        Err(error) if listen.ip() == Ipv6Addr::UNSPECIFIED && is_without_ipv6(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, listen.port())).await
        }
        bound => bound,
    }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EAFNOSUPPORT | Errno::EADDRNOTAVAIL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn every_address_is_reached_by_both_families() {
        let listener = bind("[::]:0".parse().unwrap()).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        if listener.local_addr().unwrap().is_ipv6() {
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await.unwrap();
        }
    }

    #[test]
    fn only_a_system_without_ipv6_is_taken_for_one() {
        for (errno, without) in [
            (Errno::EAFNOSUPPORT, true),
            (Errno::EADDRNOTAVAIL, true),
            (Errno::EADDRINUSE, false),
            (Errno::EACCES, false),
        ] {
            assert_eq!(is_without_ipv6(&io::Error::from(errno)), without, "{errno}");
        }
    }
}
