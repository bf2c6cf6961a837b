//! Listening TCP port with one client at a time, like that of ArduPilot SITL.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::out_buffer::OutBuffer;

const WAITING: u32 = 16;

/// Drops frames without a client.
pub(super) struct TcpLink {
    listener: Option<TcpListener>,
    address: SocketAddr,
    client: Option<TcpStream>,
    out: OutBuffer,
}

impl TcpLink {
    pub(super) fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = listen(address)?;
        let address = listener.local_addr().context("the listener has no address")?;
        Ok(Self {
            listener: Some(listener),
            address,
            client: None,
            out: OutBuffer::default(),
        })
    }

    pub(super) fn endpoint(&self) -> String {
        format!("tcp:{}", self.address)
    }

    pub(super) async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(listener) = &self.listener else {
            return std::future::pending().await;
        };
        let Some(client) = &self.client else {
            let (client, _) = listener.accept().await?;
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
        if self.client.is_some() && !self.out.push(frame) {
            self.flush();
            self.out.push(frame);
        }
    }

    pub(super) fn flush(&mut self) {
        let Some(client) = &self.client else { return };
        // The reading side detects a broken connection.
        let _ = self.out.flush(|bytes: &[u8]| client.try_write(bytes));
    }

    pub(super) fn drop_client(&mut self) {
        self.client = None;
        self.out.clear();
    }

    pub(super) fn hang_up(&mut self) {
        self.drop_client();
        self.listener = None;
    }

    pub(super) fn come_back(&mut self) -> anyhow::Result<()> {
        if self.listener.is_none() {
            self.listener = Some(listen(self.address)?);
        }
        Ok(())
    }
}

fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let opened = socket.and_then(|socket| {
        // Connections of the last run, or from before a hang-up, may still exist.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(WAITING)
    });
    opened.with_context(|| format!("cannot listen on {address}; is another simulator running? choose another port"))
}
