//! Guests: plain sockets that send and record bytes.

use super::line::{DEADLINE, ping, v2};
use agent::gcs::{Gcs, Place};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{Duration, Instant, sleep, timeout_at};

enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

pub struct Guest {
    socket: Socket,
    heard: Vec<u8>,
}

pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < DEADLINE, "not in time: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

async fn address(gcs: &Gcs, wanted: impl Fn(&Place) -> bool) -> SocketAddr {
    let find = || gcs.addresses().into_iter().find(|(place, _)| wanted(place));
    until("the place is open", || find().is_some()).await;
    find().unwrap().1
}

impl Guest {
    /// On UDP, unknown until it speaks.
    pub async fn silent(gcs: &Gcs) -> Self {
        let there = address(gcs, |place| matches!(place, Place::Udp(_))).await;
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(there).await.unwrap();
        Self::new(Socket::Udp(socket))
    }

    pub async fn udp(gcs: &Gcs) -> Self {
        let before = gcs.counters().joined;
        let mut guest = Self::silent(gcs).await;
        guest.says(&v2((240, 1), 0, &ping())).await;
        until("it is known", || gcs.counters().joined > before).await;
        guest
    }

    pub async fn tcp(gcs: &Gcs) -> Self {
        let before = gcs.counters().joined;
        let there = address(gcs, |place| matches!(place, Place::Tcp(_))).await;
        let guest = Self::new(Socket::Tcp(TcpStream::connect(there).await.unwrap()));
        until("it is known", || gcs.counters().joined > before).await;
        guest
    }

    const fn new(socket: Socket) -> Self {
        Self {
            socket,
            heard: Vec::new(),
        }
    }

    pub async fn says(&mut self, bytes: &[u8]) {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write_all(bytes).await.unwrap(),
            Socket::Udp(socket) => assert_eq!(socket.send(bytes).await.unwrap(), bytes.len()),
        }
    }

    pub async fn receives(&mut self, what: &str, wanted: &[u8]) {
        let until = Instant::now() + DEADLINE;
        while !has(&self.heard, wanted) {
            let mut buffer = vec![0; 65_536];
            let read = async {
                match &mut self.socket {
                    Socket::Tcp(stream) => stream.read(&mut buffer).await,
                    Socket::Udp(socket) => socket.recv(&mut buffer).await,
                }
            };
            let read = timeout_at(until, read).await;
            let n = read.unwrap_or_else(|_| panic!("not heard in time: {what}")).unwrap();
            assert!(n > 0, "disconnected while waiting for: {what}");
            self.heard.extend_from_slice(&buffer[..n]);
        }
    }

    pub async fn is_hung_up_on(&mut self) {
        let Socket::Tcp(stream) = &mut self.socket else {
            panic!("not connected")
        };
        let read = stream.read_to_end(&mut self.heard);
        let read = timeout_at(Instant::now() + DEADLINE, read)
            .await
            .expect("hung up on in time");
        // Closing a connection with unread bytes resets it.
        drop(read);
    }

    pub fn forgets(&mut self) {
        self.heard.clear();
    }
}

pub fn receives_nothing_of(guest: &Guest, unwanted: &[u8]) {
    assert!(!has(&guest.heard, unwanted));
}

fn has(heard: &[u8], wanted: &[u8]) -> bool {
    heard.windows(wanted.len()).any(|bytes| bytes == wanted)
}
