//! One connection, for the gRPC server: bytes, until it is cut.

use super::ticket::Ticket;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

#[derive(Debug)]
enum Bytes {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

#[derive(Debug)]
pub struct Connection {
    bytes: Bytes,
    ticket: Ticket,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _gone: DropGuard,
}

impl Connection {
    pub(super) fn plain(stream: TcpStream, ticket: Ticket, cut: CancellationToken, gone: DropGuard) -> Self {
        Self::new(Bytes::Plain(stream), ticket, cut, gone)
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>, ticket: Ticket, cut: CancellationToken, gone: DropGuard) -> Self {
        Self::new(Bytes::Tls(Box::new(stream)), ticket, cut, gone)
    }

    fn new(bytes: Bytes, ticket: Ticket, cut: CancellationToken, gone: DropGuard) -> Self {
        Self {
            bytes,
            ticket,
            cut: Box::pin(cut.cancelled_owned()),
            _gone: gone,
        }
    }

    /// An error once it is cut.
    fn ensure_whole(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection was cut",
            )),
            Poll::Pending => Ok(()),
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Ticket;

    fn connect_info(&self) -> Ticket {
        self.ticket.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.ensure_whole(context)?;
        match &mut self.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Bytes::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        self.ensure_whole(context)?;
        match &mut self.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_write(context, from),
            Bytes::Tls(stream) => Pin::new(stream).poll_write(context, from),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.ensure_whole(context)?;
        match &mut self.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_write_vectored(context, from),
            Bytes::Tls(stream) => Pin::new(stream).poll_write_vectored(context, from),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.bytes {
            Bytes::Plain(stream) => stream.is_write_vectored(),
            Bytes::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ensure_whole(context)?;
        match &mut self.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_flush(context),
            Bytes::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.bytes {
            Bytes::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Bytes::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
