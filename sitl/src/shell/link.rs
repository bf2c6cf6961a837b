//! One vehicle's link, whatever carries it.
//!
//! Owns: the choice between carriers and what they have in common. Must not: look into frames.

use std::io;

use super::pty::PtyLink;
use super::tcp::TcpLink;
use super::udp::UdpLink;

/// See the module text.
pub(super) enum Link {
    /// A pseudo-terminal.
    Pty(PtyLink),
    /// Datagrams.
    Udp(UdpLink),
    /// A listening socket and its client.
    Tcp(TcpLink),
}

impl Link {
    /// Waits for bytes from the peer; 0 when none came but something changed. Safe to cancel.
    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pty(link) => link.receive(buffer).await,
            Self::Udp(link) => link.receive(buffer).await,
            Self::Tcp(link) => link.receive(buffer).await,
        }
    }

    /// Sends a frame if it can go now or soon; drops it otherwise.
    pub(super) fn send(&mut self, frame: &[u8]) {
        match self {
            Self::Pty(link) => link.send(frame),
            Self::Udp(link) => link.send(frame),
            Self::Tcp(link) => link.send(frame),
        }
    }

    /// The vehicle lost power for a moment: connections end.
    pub(super) fn power_cycle(&mut self) {
        match self {
            Self::Pty(_) => {}
            Self::Udp(link) => link.forget_peer(),
            Self::Tcp(link) => link.hang_up(),
        }
    }

    /// What a client opens.
    pub(super) fn endpoint(&self) -> String {
        match self {
            Self::Pty(link) => link.endpoint(),
            Self::Udp(link) => link.endpoint(),
            Self::Tcp(link) => link.endpoint(),
        }
    }
}
