//! Handshakes of both ends in memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use model::ids::NodeName;
use rustls::pki_types::UnixTime;
use rustls::{ClientConfig, ClientConnection, ServerConnection};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use trust::server::Clients;
use trust::{
    Authority, Bundle, Caller, CertificateError, Identity, Peer, PersonKey, PublicKey, RequestName, Server, Validity,
    client_config, server_name,
};

const DAY: Duration = Duration::from_secs(86_400);

fn life() -> Validity {
    Validity::of(SystemTime::now(), DAY)
}

fn over() -> Validity {
    Validity::of(SystemTime::now() - 3 * DAY, DAY)
}

fn authority() -> Authority {
    Authority::make(Validity::any_time()).unwrap()
}

fn agent(node: &str) -> Peer {
    Peer::agent(NodeName::parse(node).unwrap())
}

fn server(ours: &Authority, cluster: Option<&Authority>) -> Server {
    let clients = Clients {
        ours: Some(ours.bundle()),
        cluster: cluster.map(Authority::bundle),
        requesters: false,
    };
    Server::new(ours.server(&[], life()).unwrap(), clients).unwrap()
}

fn shake(client: ClientConfig, server: &Server) -> Result<(ClientConnection, ServerConnection), String> {
    let mut client = ClientConnection::new(Arc::new(client), server_name()).unwrap();
    let mut server = ServerConnection::new(server.config()).unwrap();
    for _ in 0..8 {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut wire = io::Cursor::new(wire);
        while server.read_tls(&mut wire).unwrap() > 0 {
            server
                .process_new_packets()
                .map_err(|error| format!("server: {error}"))?;
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut wire = io::Cursor::new(wire);
        while client.read_tls(&mut wire).unwrap() > 0 {
            client
                .process_new_packets()
                .map_err(|error| format!("client: {error}"))?;
        }
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    Ok((client, server))
}

fn caller(bundle: &Bundle, identity: &Identity, server: &Server) -> Result<Caller, String> {
    let (_, end) = shake(client_config(bundle, Some(identity)).unwrap(), server)?;
    let shown = end.peer_certificates().unwrap();
    server.caller(shown, UnixTime::now()).map_err(|error| error.to_string())
}

#[test]
fn agents_and_operators_are_known_by_their_certificates() {
    let ours = authority();
    let server = server(&ours, None);
    for peer in [agent("node-1"), Peer::operator("ada").unwrap()] {
        let identity = ours.client(&peer, life()).unwrap();
        let Caller::Peer(presented) = caller(&ours.bundle(), &identity, &server).unwrap() else {
            panic!("a peer of ours")
        };
        assert_eq!(presented.peer, peer);
    }
}

#[test]
fn a_caller_without_a_certificate_is_admitted_as_nobody() {
    let ours = authority();
    let server = server(&ours, Some(&authority()));
    let (client, end) = shake(client_config(&ours.bundle(), None).unwrap(), &server).unwrap();
    assert!(end.peer_certificates().is_none());
    assert_eq!(client.alpn_protocol(), Some(trust::ALPN));
    assert!(matches!(
        server.caller(&[], UnixTime::now()),
        Err(CertificateError::Nobody)
    ));
}

#[test]
fn the_cluster_cannot_make_an_agent() {
    let (ours, cluster) = (authority(), authority());
    let server = server(&ours, Some(&cluster));
    // The same words in the certificate, signed by the other authority: a user of Kubernetes by that common name.
    let identity = cluster.client(&agent("node-1"), life()).unwrap();
    let Caller::KubernetesUser { name, groups, .. } = caller(&ours.bundle(), &identity, &server).unwrap() else {
        panic!("no agent")
    };
    assert_eq!(name, "skein://agent/node-1");
    assert!(groups.is_empty());
}

#[test]
fn a_key_named_by_a_request_is_proved_only_where_requests_can_be_asked_about() {
    let (ours, cluster) = (authority(), authority());
    let name = RequestName::parse("skein-person-x7k2f").unwrap();
    let key = PersonKey::make().unwrap();
    let identity = key.identity(&name, SystemTime::now()).unwrap();
    let asked = PublicKey::of_request(key.request_pem().unwrap().as_bytes()).unwrap();
    for (bundles, requesters) in [
        ((Some(ours.bundle()), Some(cluster.bundle())), true),
        ((None, None), true),
        ((Some(ours.bundle()), Some(cluster.bundle())), false),
    ] {
        let clients = Clients {
            ours: bundles.0,
            cluster: bundles.1,
            requesters,
        };
        let server = Server::new(ours.server(&[], life()).unwrap(), clients).unwrap();
        match caller(&ours.bundle(), &identity, &server) {
            Ok(Caller::Requester { request, key }) => {
                assert!(requesters);
                assert_eq!((request, key), (name.clone(), asked.clone()));
            }
            Ok(other) => panic!("{other:?}"),
            Err(why) => assert!(!requesters && why.contains("UnknownIssuer"), "{why}"),
        }
        if requesters {
            // Also when a stranger claims to be an agent.
            let stranger = authority().client(&agent("node-1"), life()).unwrap();
            assert!(caller(&ours.bundle(), &stranger, &server).is_err());
            if server
                .believe(Clients {
                    ours: Some(ours.bundle()),
                    cluster: None,
                    requesters,
                })
                .is_ok()
            {
                let peer = ours.client(&agent("node-1"), life()).unwrap();
                assert!(matches!(caller(&ours.bundle(), &peer, &server), Ok(Caller::Peer(_))));
            }
        }
    }
}

#[test]
fn strangers_and_certificates_that_are_over_or_made_for_servers_are_refused() {
    let ours = authority();
    let server = server(&ours, Some(&authority()));
    let refused = |identity: &Identity| caller(&ours.bundle(), identity, &server).unwrap_err();
    let stranger = authority().client(&agent("node-1"), life()).unwrap();
    assert!(refused(&stranger).contains("UnknownIssuer"), "{}", refused(&stranger));
    let ended = ours.client(&agent("node-1"), over()).unwrap();
    assert!(refused(&ended).contains("xpired"), "{}", refused(&ended));
    let purpose = ours.server(&[], life()).unwrap();
    assert!(
        refused(&purpose).contains("server authentication"),
        "{}",
        refused(&purpose)
    );
}

#[test]
fn a_client_trusts_its_own_authorities_only_and_only_the_coordinators_name() {
    let ours = authority();
    let server = server(&ours, None);
    let refused = shake(client_config(&authority().bundle(), None).unwrap(), &server).unwrap_err();
    assert!(refused.contains("UnknownIssuer"), "{refused}");
    let agent = ours.client(&agent("node-1"), life()).unwrap();
    let clients = Clients {
        ours: None,
        cluster: None,
        requesters: false,
    };
    let posing = Server::new(agent, clients).unwrap();
    assert!(shake(client_config(&ours.bundle(), None).unwrap(), &posing).is_err());
}

#[test]
fn a_new_certificate_and_new_authorities_count_from_the_next_connection_on() {
    let (ours, next) = (authority(), authority());
    let server = server(&ours, None);
    let (mut open, mut end) = shake(client_config(&ours.bundle(), None).unwrap(), &server).unwrap();
    let both = ours.bundle().with(&next.bundle());
    assert!(server.show(next.server(&[], life()).unwrap()).unwrap());
    let clients = Clients {
        ours: Some(both.clone()),
        cluster: None,
        requesters: false,
    };
    assert!(server.believe(clients.clone()).unwrap());
    assert!(!server.believe(clients).unwrap(), "nothing new");

    assert!(shake(client_config(&ours.bundle(), None).unwrap(), &server).is_err());
    for signer in [&ours, &next] {
        let identity = signer.client(&agent("node-1"), life()).unwrap();
        assert!(matches!(caller(&both, &identity, &server), Ok(Caller::Peer(_))));
    }
    // Open connections continue.
    io::Write::write_all(&mut open.writer(), b"report").unwrap();
    let mut wire = Vec::new();
    open.write_tls(&mut wire).unwrap();
    end.read_tls(&mut io::Cursor::new(wire)).unwrap();
    assert_eq!(end.process_new_packets().unwrap().plaintext_bytes_to_read(), 6);
}

#[test]
fn no_session_is_resumed() {
    let ours = authority();
    let server = server(&ours, None);
    let config = client_config(&ours.bundle(), None).unwrap();
    for _ in 0..2 {
        let (client, _) = shake(config.clone(), &server).unwrap();
        assert_eq!(client.handshake_kind(), Some(rustls::HandshakeKind::Full));
    }
}

#[test]
fn a_clock_of_1970_is_no_obstacle_for_certificates_that_are_good_at_any_time() {
    let ours = authority();
    let server = server(&ours, None);
    let identity = ours.client(&agent("node-1"), Validity::any_time()).unwrap();
    let then = UnixTime::since_unix_epoch(Duration::from_secs(1));
    assert!(matches!(server.caller(identity.chain(), then), Ok(Caller::Peer(_))));
}

#[test]
fn files_are_read_as_they_were_written_and_errors_name_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = authority().server(&["10.0.0.1".to_owned()], life()).unwrap();
    std::fs::write(at("tls.crt"), made.certificate_pem()).unwrap();
    std::fs::write(at("tls.key"), made.key_pem()).unwrap();
    assert_eq!(trust::files::identity(&at("tls.crt"), &at("tls.key")).unwrap(), made);
    let missing = trust::files::bundle(&at("ca.crt")).unwrap_err().to_string();
    assert!(missing.contains("ca.crt cannot be read"), "{missing}");
    std::fs::write(at("ca.crt"), "nothing").unwrap();
    assert!(
        trust::files::bundle(&at("ca.crt"))
            .unwrap_err()
            .to_string()
            .contains("no certificate")
    );
    std::fs::write(at("tls.key"), authority().key_pem()).unwrap();
    let strangers = trust::files::identity(&at("tls.crt"), &at("tls.key")).unwrap_err();
    assert!(strangers.to_string().contains("does not belong"), "{strangers}");
}

#[test]
fn a_pair_that_is_replaced_one_file_after_the_other_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["tls.crt", "tls.key"].map(|name| folder.path().join(name));
    let pair = || authority().server(&["10.0.0.1".to_owned()], life()).unwrap();
    let (old, new) = (pair(), pair());
    std::fs::write(&certificate, new.certificate_pem()).unwrap();
    std::fs::write(&key, old.key_pem()).unwrap();
    let read = std::thread::scope(|threads| {
        let reader = threads.spawn(|| trust::files::identity(&certificate, &key));
        std::thread::sleep(Duration::from_millis(150));
        let written = folder.path().join("new.key");
        std::fs::write(&written, new.key_pem()).unwrap();
        std::fs::rename(written, &key).unwrap();
        reader.join().unwrap()
    });
    assert_eq!(read.unwrap(), new);
}
