//! Free loopback ports, below those that the kernel gives to clients, so that no connection takes one between the pick
//! and its use. While a process that has picked a port lives, it holds the lock of a file named after the port.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

const FIRST: u16 = 12_000;

/// Linux gives clients ports from 32,768 up.
const COUNT: u16 = 18_000;

/// Held until this process ends.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

pub fn free_tcp_port() -> io::Result<u16> {
    pick(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

pub fn free_tcp_ports(count: usize) -> io::Result<Vec<u16>> {
    (0..count).map(|_| free_tcp_port()).collect()
}

pub fn free_udp_port() -> io::Result<u16> {
    pick(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}

fn pick(free: impl Fn(u16) -> bool) -> io::Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Each process begins at another port, and continues from there.
    let begin = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap_or(0);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (begin + step) % COUNT;
        if let Some(lock) = lock(port)?
            && free(port)
        {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
            return Ok(port);
        }
    }
    Err(io::Error::other(
        "no loopback port is free; end what listens on ports 12000 to 29999",
    ))
}

/// `None` while another process holds it.
fn lock(port: u16) -> io::Result<Option<File>> {
    let folder = std::env::temp_dir().join(format!("skein-test-ports-{}", nix::unistd::getuid()));
    std::fs::create_dir_all(&folder)?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(port.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_picked_once_also_by_two_processes() {
        let first = free_tcp_port().unwrap();
        assert!(
            lock(first).unwrap().is_none(),
            "another open file does not get its lock"
        );
        let more = free_tcp_ports(3).unwrap();
        assert!(!more.contains(&first), "{first} again in {more:?}");
        assert_ne!(free_udp_port().unwrap(), first);
    }
}
