//! Free loopback ports.
//!
//! Owns: picking them. Must not: promise that they stay free: another process may take one between the pick and
//! its use, so whoever starts a server on one tries again when the bind fails.

use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// A TCP port of 127.0.0.1 that nobody listens on at this moment.
pub fn free_tcp_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// `count` different free TCP ports of 127.0.0.1.
pub fn free_tcp_ports(count: usize) -> io::Result<Vec<u16>> {
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<io::Result<_>>()?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// A UDP port of 127.0.0.1 that nobody uses at this moment.
pub fn free_udp_port() -> io::Result<u16> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
