//! Admission with small limits, over real connections.

use super::*;
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_stream::StreamExt;
use trust::server::Clients;
use trust::{Authority, Validity};

struct Field {
    authority: Authority,
    address: SocketAddr,
    incoming: ReceiverStream<io::Result<Connection>>,
    admission: Admission,
    _ending: tokio_util::sync::DropGuard,
}

async fn field(limits: Limits) -> Field {
    let authority = Authority::make(Validity::any_time()).unwrap();
    let identity = authority
        .server(&[], Validity::of(SystemTime::now(), Duration::from_secs(3600)))
        .unwrap();
    let clients = Clients {
        ours: None,
        cluster: None,
        requesters: false,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let ending = CancellationToken::new();
    let admission = Admission::new(
        Some(trust::Server::new(identity, clients).unwrap()),
        limits,
        Arc::default(),
    );
    Field {
        authority,
        address,
        incoming: admission.open(listener, ending.clone()),
        admission,
        _ending: ending.drop_guard(),
    }
}

impl Field {
    async fn shaken(&self) -> tokio_rustls::client::TlsStream<TcpStream> {
        let config = trust::client_config(&self.authority.bundle(), None).unwrap();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(trust::server_name(), stream).await.unwrap()
    }
}

async fn is_cut(stream: &mut (impl AsyncReadExt + Unpin)) {
    let mut byte = [0];
    let read = timeout(Duration::from_secs(10), stream.read(&mut byte)).await;
    assert!(matches!(read.unwrap(), Ok(0) | Err(_)));
}

const SMALL: Limits = Limits {
    strangers: 3,
    strangers_per_neighbor: 2,
    time: Duration::ZERO,
    named: 10,
    per_name: 2,
    handshake: Duration::from_millis(300),
    proof: Duration::from_millis(300),
    ..LIMITS
};

#[tokio::test]
async fn a_connection_that_proves_something_stays_and_one_that_does_not_is_cut() {
    let mut field = field(SMALL).await;
    let (mut mute, mut proven) = (field.shaken().await, field.shaken().await);
    let mut taken = vec![];
    for _ in 0..2 {
        taken.push(field.incoming.next().await.unwrap().unwrap());
    }
    use tonic::transport::server::Connected;
    taken[1].connect_info().prove("agent a");
    assert_eq!(field.admission.0.named.taken(), 1);
    // A cut connection ends for the server, and so for the other end.
    let mut first = taken.remove(0);
    assert!(first.read(&mut [0]).await.is_err());
    drop(first);
    is_cut(&mut mute).await;
    proven.write_all(b"x").await.unwrap();
    assert_eq!(taken[0].read(&mut [0]).await.unwrap(), 1);
    assert_eq!(field.admission.0.stranger_limits.strangers(), 0);
}

#[tokio::test]
async fn of_too_many_strangers_the_oldest_goes_and_of_one_name_as_well() {
    let mut field = field(Limits {
        proof: Duration::from_secs(60),
        ..SMALL
    })
    .await;
    use tonic::transport::server::Connected;
    let mut ends = vec![];
    let mut taken = vec![];
    for _ in 0..3 {
        ends.push(field.shaken().await);
        taken.push(field.incoming.next().await.unwrap().unwrap());
    }
    assert!(taken[0].read(&mut [0]).await.is_err(), "the oldest stranger");
    for connection in &taken[1..] {
        connection.connect_info().prove("agent a");
    }
    ends.push(field.shaken().await);
    let third = field.incoming.next().await.unwrap().unwrap();
    third.connect_info().prove("agent a");
    assert!(taken[1].read(&mut [0]).await.is_err(), "the oldest of that name");
    ends[2].write_all(b"x").await.unwrap();
    assert_eq!(taken[2].read(&mut [0]).await.unwrap(), 1);
}

#[tokio::test]
async fn who_shakes_no_hand_or_speaks_plain_text_is_not_let_in() {
    let mut field = field(SMALL).await;
    let mut silent = TcpStream::connect(field.address).await.unwrap();
    let mut plain = TcpStream::connect(field.address).await.unwrap();
    plain.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    is_cut(&mut silent).await;
    is_cut(&mut plain).await;
    assert!(timeout(Duration::from_millis(50), field.incoming.next()).await.is_err());
}
