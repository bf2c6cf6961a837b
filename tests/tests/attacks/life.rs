//! Sessions and coordinators whose time is over.

use crate::place::{PATIENCE, Place, until};
use futures::StreamExt;
use proto::v1;
use proto::v1::from_agent::Message;
use skein_tests::session::{Stream, from, report};
use skein_tests::tokens;
use std::time::{Duration, Instant};
use testkit::process::Signal;
use tonic::{Code, Status};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_its_credentials_again_and_the_agent_never_counts_as_gone() {
    let place = Place::with(&["--session-life", "3"]);
    let person = {
        place.kubectl([
            "create",
            "clusterrolebinding",
            "watcher",
            "--clusterrole=cluster-admin",
            "--serviceaccount=default:default",
        ]);
        place
            .kubectl(["create", "token", "default", "-n", "default"])
            .trim()
            .to_owned()
    };
    let token = tokens::of_agent(place.plane, "a");
    let mut stream = Stream::open(&place.way, &token, "a").await.unwrap();
    stream.until_ordered().await.unwrap();
    let mut fleet = place.way.fleet(&person).await.unwrap();
    let mut connected = async || {
        let listed = fleet.list(v1::ListRequest::default()).await.unwrap().into_inner();
        listed
            .vehicles
            .iter()
            .any(|vehicle| vehicle.node == "a" && vehicle.agent_connected)
    };
    let mut ended = 0;
    for number in 2..60_u64 {
        let heard = tokio::time::timeout(Duration::from_millis(200), stream.from.message()).await;
        assert!(connected().await, "the agent counts as gone");
        match heard {
            Err(_) | Ok(Ok(Some(_))) => stream.to.try_send(report(number * 200)).unwrap(),
            Ok(Err(status)) => {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                assert!(status.message().contains("shown again"), "{status}");
                ended += 1;
                stream = Stream::open(&place.way, &token, "a").await.unwrap();
                stream.until_ordered().await.unwrap();
            }
            Ok(Ok(None)) => panic!("it was closed without a word"),
        }
    }
    assert!(ended >= 2, "{ended}");
    place.kubectl(["delete", "clusterrolebinding", "watcher"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_no_session_has_to_show_its_credentials_again() {
    let place = Place::with(&["--session-life", "3"]);
    let token = tokens::of_agent(place.plane, "a");
    let mut stream = Stream::open(&place.way, &token, "a").await.unwrap();
    stream.until_ordered().await.unwrap();
    place.plane.api_server().pause().unwrap();
    let (begun, mut number, mut ended) = (Instant::now(), 2_u64, None);
    while begun.elapsed() < Duration::from_secs(15) && ended.is_none() {
        match tokio::time::timeout(Duration::from_millis(200), stream.from.message()).await {
            Err(_) | Ok(Ok(Some(_))) => stream.to.try_send(report(number * 200)).unwrap(),
            Ok(other) => ended = Some(other),
        }
        number += 1;
    }
    place.plane.api_server().signal(Signal::SIGCONT).unwrap();
    assert!(ended.is_none(), "the agent lost its coordinator: {ended:?}");
}

async fn status_after_a_later_term(place: &Place, node: &str) -> Status {
    let token = tokens::of_agent(place.plane, node);
    until("an answer of the coordinator", async || {
        let mut client = place.way.uplink(&token).await.map_err(|error| error.to_string())?;
        let hello = from(Message::Hello(v1::Hello {
            node: node.into(),
            highest_term: 1_000_000,
            ..v1::Hello::default()
        }));
        let stream = futures::stream::iter([hello]).chain(futures::stream::pending());
        match client.session(stream).await {
            Err(status) if status.message().contains("does not know the fleet") => Err(status.to_string()),
            Err(status) => Ok(status),
            Ok(response) => match response.into_inner().message().await {
                Ok(order) => panic!("it was sent {order:?}"),
                Err(status) => Ok(status),
            },
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposed_coordinator_ends_but_one_captured_agent_deposes_nobody() {
    let place = Place::new();
    let bystander = place.bystander().await;
    for _ in 0..5 {
        let status = status_after_a_later_term(&place, "a").await;
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    }
    bystander.stays_unharmed().await;
    let status = status_after_a_later_term(&place, "b").await;
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    place.coordinator.ensure_running().unwrap();
    // Three agents report the same: the Lease must have been lost.
    let status = status_after_a_later_term(&place, "bystander").await;
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    place.until_logged(&["deposed"]);
    assert!(!place.coordinator.wait_for_exit(PATIENCE).unwrap().success());
}
