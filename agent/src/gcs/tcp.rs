//! Guests by TCP: they connect to us.
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

const TAKES_WITHIN: Duration = Duration::from_secs(5);
/// After a failed accept, such as for want of file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(500);
const AT_ONCE: usize = 4096;
/// After this long without a byte an unfinished frame is suspected to be none.
const SILENCE: Duration = Duration::from_millis(250);

/// Beginnings of what a web page of any site can have a browser send here, before bytes of its own: requests of HTTP, and a TLS record.
const OF_BROWSERS: [&[u8]; 9] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"HEAD ",
    b"DELETE ",
    b"OPTIONS ",
    b"PATCH ",
    b"CONNECT ",
    b"\x16\x03",
];
const MOST_OF_BROWSERS: usize = 8;

/// `None`: it may become one.
fn is_browser(begin: &[u8]) -> Option<bool> {
    if OF_BROWSERS.iter().any(|known| begin.starts_with(known)) {
        return Some(true);
    }
    let may_be = begin.len() < MOST_OF_BROWSERS && OF_BROWSERS.iter().any(|known| known.starts_with(begin));
    (!may_be).then_some(false)
}

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
    // What has come while it is not known yet whether a browser speaks.
    let mut begin = Some(Vec::new());
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
                let came = buffer.get(..n).unwrap_or_default();
                let all = begin.take().map(|mut all: Vec<u8>| {
                    all.extend_from_slice(came);
                    all
                });
                match all.as_deref().map(is_browser) {
                    Some(Some(true)) => return "it speaks HTTP or TLS: a browser is no ground station",
                    Some(None) => {
                        begin = all;
                        continue;
                    }
                    Some(Some(false)) | None => {}
                }
                let wait = guest.receive(all.as_deref().unwrap_or(came)).await;
                if !wait.is_zero() {
                    sleep(wait).await;
                }
            }
            Err(_) => return "the connection broke",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_and_mavlink_are_known_by_their_first_bytes_however_they_are_cut() {
        for request in OF_BROWSERS {
            for cut in 1..request.len() {
                assert_eq!(is_browser(&request[..cut]), None, "{request:?} {cut}");
            }
            assert_eq!(is_browser(&[request, b"/"].concat()), Some(true), "{request:?}");
        }
        for frame in [&[0xFD][..], &[0xFE, 9], b"GETS", b"\x16\x04"] {
            assert_eq!(is_browser(frame), Some(false), "{frame:?}");
        }
    }
}
