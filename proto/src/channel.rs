//! A gRPC channel over a connection that the caller has made: through TLS, or through a port-forward.

use hyper_util::rt::TokioIo;
use std::future::{Ready, ready};
use std::io::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

/// Only settings and name of `endpoint` count. Errors: the other end does not speak HTTP/2.
pub async fn over(endpoint: &Endpoint, connection: Box<dyn Connection>) -> Result<Channel, tonic::transport::Error> {
    let mut once = Some(connection);
    let hand_over = service_fn(move |_: Uri| -> Ready<Result<TokioIo<Box<dyn Connection>>, Error>> {
        let connection = once.take().map(TokioIo::new);
        ready(connection.ok_or_else(|| Error::new(ErrorKind::NotConnected, "the connection has ended")))
    });
    endpoint.connect_with_connector(hand_over).await
}
