//! One vehicle's link, on any carrier.

use std::io;

use super::pty::PtyLink;
use super::tcp::TcpLink;
use super::udp::UdpLink;
use crate::faults::LinkChange;

pub(super) enum Link {
    Pty(PtyLink),
    Udp(UdpLink),
    Tcp(TcpLink),
    Nowhere,
}

impl Link {
    /// 0: no bytes, but something changed. Safe to cancel.
    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pty(link) => link.receive(buffer).await,
            Self::Udp(link) => link.receive(buffer).await,
            Self::Tcp(link) => link.receive(buffer).await,
            Self::Nowhere => std::future::pending().await,
        }
    }

    /// Goes out with the next [`Self::flush`] or soon after; dropped otherwise.
    pub(super) fn send(&mut self, frame: &[u8]) {
        match self {
            Self::Pty(link) => link.send(frame),
            Self::Udp(link) => link.send(frame),
            Self::Tcp(link) => link.send(frame),
            Self::Nowhere => {}
        }
    }

    pub(super) fn flush(&mut self) {
        match self {
            Self::Pty(link) => link.flush(),
            Self::Tcp(link) => link.flush(),
            Self::Udp(_) | Self::Nowhere => {}
        }
    }

    /// Errors: it cannot be opened again.
    pub(super) fn change(&mut self, change: LinkChange) -> anyhow::Result<()> {
        match (self, change) {
            (Self::Nowhere, _) | (Self::Pty(_), LinkChange::PowerCycle) => {}
            (Self::Pty(link), LinkChange::HangUp) => link.hang_up(),
            (Self::Pty(link), LinkChange::Back) => link.come_back()?,
            (Self::Udp(link), LinkChange::PowerCycle) => link.forget_peer(),
            (Self::Udp(link), change) => link.set_up(change == LinkChange::Back),
            (Self::Tcp(link), LinkChange::PowerCycle) => link.drop_client(),
            (Self::Tcp(link), LinkChange::HangUp) => link.hang_up(),
            (Self::Tcp(link), LinkChange::Back) => link.come_back()?,
        }
        Ok(())
    }

    pub(super) fn endpoint(&self) -> String {
        match self {
            Self::Pty(link) => link.endpoint(),
            Self::Udp(link) => link.endpoint(),
            Self::Tcp(link) => link.endpoint(),
            Self::Nowhere => "none".to_owned(),
        }
    }
}
