//! Agents outside the cluster: certificates of ours, their list, and their removal from it.

use crate::place::{Place, SYSTEM, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use model::ids::NodeName;
use proto::v1;
use proto::v1::uplink_client::UplinkClient;
use skein_tests::session::{assert_refused, hello, report};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use tonic::{Code, Status};
use trust::{Authorities, Enrolled, Identity, Peer, Validity};

const DAY: Duration = Duration::from_secs(86_400);

fn agent(node: &str) -> Peer {
    Peer::agent(NodeName::parse(node).unwrap())
}

pub fn authorities(place: &Place) -> Authorities {
    let secret = place
        .plane
        .kubectl()
        .json(["get", "secret", "skein-ca", "-n", SYSTEM])
        .unwrap();
    let text = STANDARD
        .decode(secret["data"]["authorities.pem"].as_str().unwrap())
        .unwrap();
    Authorities::from_pem(&String::from_utf8(text).unwrap()).unwrap()
}

pub fn write_list(place: &Place, data: &BTreeMap<String, String>) {
    let map = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "skein-enrolled", "namespace": SYSTEM}, "data": data,
    });
    let _ = place.plane.kubectl().run([
        "delete",
        "configmap",
        "skein-enrolled",
        "-n",
        SYSTEM,
        "--ignore-not-found",
    ]);
    place
        .plane
        .kubectl()
        .run_with(["create", "-f", "-"], &map.to_string())
        .unwrap();
}

async fn open(place: &Place, identity: &Identity, node: &str) -> Result<tonic::Streaming<v1::ToAgent>, Status> {
    let channel = place.way.channel(Some(identity)).await;
    let channel = channel.map_err(|error| Status::unknown(error.to_string()))?;
    let first = futures::stream::iter([hello(node), report(1)]);
    let reports = futures::stream::unfold(2_u64, |number| async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        Some((report(number * 500), number + 1))
    });
    let stream = first.chain(reports);
    UplinkClient::new(channel)
        .session(stream)
        .await
        .map(tonic::Response::into_inner)
}

async fn ending(mut stream: tonic::Streaming<v1::ToAgent>) -> Status {
    loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return Status::ok("closed"),
            Err(status) => return status,
        }
    }
}

pub async fn refused(place: &Place, identity: &Identity, node: &str) -> Status {
    match open(place, identity, node).await {
        Err(status) => status,
        Ok(stream) => ending(stream).await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_speaks_for_its_own_node_until_it_is_revoked() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let (now, authorities) = (SystemTime::now(), authorities(&place));
    let mut list = Enrolled::default();
    let life = Validity::of(now, DAY);
    let good = list.issue(authorities.signer(now), &agent("a"), life, now).unwrap();
    let unlisted = authorities.signer(now).client(&agent("a"), life).unwrap();
    write_list(&place, &list.to_map());
    let mut stream = until("the list to be read", async || {
        let mut stream = open(&place, &good, "a").await.map_err(|status| status.to_string())?;
        let first = stream.message().await.map_err(|status| status.to_string())?;
        first.map(|_| stream).ok_or_else(|| "closed".to_owned())
    })
    .await;

    let status = refused(&place, &good, "b").await;
    assert_refused(&status, Code::PermissionDenied, "those of node a");
    let status = refused(&place, &unlisted, "a").await;
    assert_refused(&status, Code::Unauthenticated, "skein://agent/a is not on the list");
    place.until_logged(&["call refused", "skein://agent/a is not on the list"]);
    let stranger = trust::Authority::make(life).unwrap().client(&agent("a"), life).unwrap();
    refused(&place, &stranger, "a").await;
    place.until_logged(&["connection refused", "UnknownIssuer"]);
    let operator = list.issue(authorities.signer(now), &Peer::operator("ada").unwrap(), life, now);
    let status = refused(&place, &operator.unwrap(), "a").await;
    assert_ne!(status.code(), Code::Ok);

    write_list(&place, &BTreeMap::from([("agent.a".to_owned(), "damaged".to_owned())]));
    place.until_logged(&["stay as they are", "damaged"]);
    assert!(
        tokio::time::timeout(Duration::from_secs(2), stream.message())
            .await
            .is_err()
    );
    list.revoke(&agent("a"));
    write_list(&place, &list.to_map());
    let status = tokio::time::timeout(Duration::from_secs(40), ending(stream))
        .await
        .unwrap();
    assert_refused(&status, Code::Unauthenticated, "revoked");
    place.until_logged(&["agent disconnected", "revoked"]);
    let status = refused(&place, &good, "a").await;
    assert_refused(&status, Code::Unauthenticated, "not on the list");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_certificate_of_the_coordinator_is_shown_without_a_stream_being_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let authority = trust::Authority::make(Validity::of(SystemTime::now(), 10 * DAY)).unwrap();
    let write = |identity: &Identity| {
        std::fs::write(at("tls.crt"), identity.certificate_pem()).unwrap();
        std::fs::write(at("tls.key"), identity.key_pem()).unwrap();
    };
    let make = || authority.server(&[], Validity::of(SystemTime::now(), DAY)).unwrap();
    let (first, second) = (make(), make());
    std::fs::write(at("ca.crt"), authority.certificate_pem()).unwrap();
    write(&first);
    let place = Place::with(&["--tls-dir", folder.path().to_str().unwrap()]);
    let mut way = place.way.clone();
    way.bundle = authority.bundle();
    let token = skein_tests::tokens::of_agent(place.plane, "bystander");
    let bystander = skein_tests::session::Bystander::start(way.clone(), &token).await;
    let shown = async || {
        let stream = way.tls(None).await.map_err(|error| error.to_string())?;
        let (_, session) = stream.get_ref();
        Ok::<_, String>(session.peer_certificates().unwrap()[0].clone())
    };
    assert_eq!(shown().await.unwrap(), first.chain()[0]);
    std::fs::write(at("tls.crt"), second.certificate_pem()).unwrap();
    place.until_logged(&["stay as they are", "does not belong to the certificate"]);
    assert_eq!(shown().await.unwrap(), first.chain()[0]);
    write(&second);
    until("the other certificate", async || {
        let now = shown().await?;
        (now == second.chain()[0])
            .then_some(())
            .ok_or_else(|| "the first".to_owned())
    })
    .await;
    bystander.stays_unharmed().await;
}
