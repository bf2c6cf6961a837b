//! A listening TCP port with one client at a time, as ArduPilot SITL has it.
//!
//! Owns: the listener and the present client. Must not: wait for a reader.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use tokio::net::{TcpListener, TcpStream};

use super::out_buffer::OutBuffer;

/// See the module text. Without a client, frames are dropped.
pub(super) struct TcpLink {
    listener: TcpListener,
    address: SocketAddr,
    client: Option<TcpStream>,
    out: OutBuffer,
}

impl TcpLink {
    pub(super) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; is another simulator running? choose another port")
        })?;
        let address = listener.local_addr().context("the listener has no address")?;
        Ok(Self {
            listener,
            address,
            client: None,
            out: OutBuffer::default(),
        })
    }

    pub(super) fn endpoint(&self) -> String {
        format!("tcp:{}", self.address)
    }

    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(client) = &self.client else {
            let (client, _) = self.listener.accept().await?;
            client.set_nodelay(true)?;
            self.out.clear();
            self.client = Some(client);
            return Ok(0);
        };
        let gone = loop {
            client.readable().await?;
            match client.try_read(buffer) {
                Ok(0) => break true,
                Ok(len) => return Ok(len),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break true,
            }
        };
        if gone {
            self.client = None;
        }
        Ok(0)
    }

    pub(super) fn send(&mut self, frame: &[u8]) {
        let Some(client) = &self.client else { return };
        let mut write = |bytes: &[u8]| client.try_write(bytes);
        // A broken connection is noticed by the reading side.
        let _ = self.out.flush(&mut write);
        self.out.push(frame);
        let _ = self.out.flush(&mut write);
    }

    pub(super) fn hang_up(&mut self) {
        self.client = None;
        self.out.clear();
    }
}
