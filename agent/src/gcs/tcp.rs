//! Guests by TCP: they connect to us.
//!
//! Owns: the connections of one listener. Must not: wait for one guest because of another.
//!
//! A guest that does not take what is sent to it is disconnected: on TCP it would otherwise see an ever older past.

use super::guest::{Guest, GuestAdmission};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{Instrument, debug};

/// A guest that has taken nothing for this long is too slow.
const TAKES_WITHIN: Duration = Duration::from_secs(5);
/// After a failed accept, such as for want of file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 4096;
/// After this long without a byte an unfinished frame is suspected to be none.
const SILENCE: Duration = Duration::from_millis(250);

/// Serves guests for ever.
pub async fn serve(listener: TcpListener, admission: GuestAdmission) -> Infallible {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    guests.spawn(receive(stream, peer, admission.clone()).in_current_span());
                }
                Err(error) => {
                    debug!(%error, "a connection was not accepted");
                    sleep(ACCEPT_AGAIN).await;
                }
            },
            Some(_) = guests.join_next() => {}
        }
    }
}

async fn receive(stream: TcpStream, peer: SocketAddr, admission: GuestAdmission) {
    // Frames are small and wanted at once; where that cannot be set they come a little later.
    let _ = stream.set_nodelay(true);
    let Some(mut guest) = admission.admit(format!("tcp:{peer}"), Arc::default()).await else {
        return;
    };
    let queue = guest.queue.clone();
    let (reader, writer) = stream.into_split();
    let speak = async {
        let mut writer: OwnedWriteHalf = writer;
        let mut buffer = Vec::with_capacity(AT_ONCE);
        loop {
            queue.filled(&mut buffer, AT_ONCE).await;
            match timeout(TAKES_WITHIN, writer.write_all(&buffer)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return "the connection broke",
                Err(_) => {
                    admission.counters().too_slow(1);
                    return "it does not read what it is sent";
                }
            }
        }
    };
    let why = tokio::select! {
        why = listen(reader, &mut guest) => why,
        why = speak => why,
    };
    guest.leave(why).await;
}

async fn listen(mut reader: OwnedReadHalf, guest: &mut Guest) -> &'static str {
    let mut buffer = vec![0; AT_ONCE];
    loop {
        let read = tokio::select! {
            read = reader.read(&mut buffer) => read,
            () = sleep(SILENCE), if guest.is_unfinished() => {
                guest.falls_silent().await;
                // What is unfinished still is read again when there is more of it.
                reader.read(&mut buffer).await
            }
        };
        match read {
            Ok(0) => return "it hung up",
            Ok(n) => {
                let wait = guest.receive(buffer.get(..n).unwrap_or_default()).await;
                if !wait.is_zero() {
                    sleep(wait).await;
                }
            }
            Err(_) => return "the connection broke",
        }
    }
}
