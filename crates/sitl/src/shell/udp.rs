//! Datagrams to a ground station's port, as PX4 SITL sends them to 14540.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use tokio::net::UdpSocket;

pub(super) struct UdpLink {
    socket: UdpSocket,
    configured: SocketAddr,
    peer: Option<SocketAddr>,
    up: bool,
}

impl UdpLink {
    pub(super) async fn open(configured: SocketAddr) -> anyhow::Result<Self> {
        let any: SocketAddr = match configured {
            SocketAddr::V4(address) if address.ip().is_loopback() => ([127, 0, 0, 1], 0).into(),
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any).await.context("cannot open a UDP socket")?;
        Ok(Self {
            socket,
            configured,
            peer: None,
            up: true,
        })
    }

    pub(super) fn endpoint(&self) -> String {
        format!("udp:{}", self.configured)
    }

    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.socket.recv_from(buffer).await {
            Ok(_) if !self.up => Ok(0),
            Ok((len, from)) if from == *self.peer.get_or_insert(from) => Ok(len),
            Ok(_) => Ok(0),
            // No program listens there yet; the socket reports it on the next read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(0),
            Err(error) => Err(error),
        }
    }

    pub(super) fn send(&mut self, frame: &[u8]) {
        if !self.up {
            return;
        }
        // A datagram that cannot be sent now is lost, as on a radio.
        let _ = self.socket.try_send_to(frame, self.peer.unwrap_or(self.configured));
    }

    pub(super) fn forget_peer(&mut self) {
        self.peer = None;
    }

    pub(super) fn set_up(&mut self, up: bool) {
        self.up = up;
    }
}
