//! Sessions of agents, as sentences about one node.

use super::*;
use crate::cluster::world::Wakes;
use crate::controllers::facts::tests::holding;
use model::ids::Term;
use model::traffic::Aircraft;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Volts, Wgs84};
use model::vehicle::{Airborne, Charge, FlightTruth, Position};

fn node() -> NodeName {
    NodeName::parse("n").unwrap()
}

fn sessions() -> Sessions {
    let wakes = Wakes::default();
    Sessions::new(Arc::new(World::new(wakes.clone())), wakes.nodes, Metrics::default())
}

fn report() -> Report {
    Report {
        link_alive: true,
        truth: FlightTruth::Disarmed,
        ..Report::of_nothing(node())
    }
}

#[tokio::test]
async fn a_newer_session_of_a_node_ends_the_older_and_the_older_cannot_close_it() {
    let sessions = sessions();
    let first = sessions.open(&node(), 1).unwrap();
    let second = sessions.open(&node(), 1).unwrap();
    assert!(first.replaced.is_cancelled() && !second.replaced.is_cancelled());
    sessions.report(&node(), first.epoch, report());
    assert!(
        sessions.agent(&node()).unwrap().report.is_none(),
        "a late report of the old session counts for nothing"
    );
    sessions.close(&node(), first.epoch);
    assert!(sessions.snapshot(&node()).connected);
    sessions.close(&node(), second.epoch);
    assert!(!sessions.snapshot(&node()).connected);
}

#[tokio::test(start_paused = true)]
async fn of_two_agents_that_claim_one_node_the_first_is_accepted() {
    let sessions = sessions();
    let first = sessions.open(&node(), 1).unwrap();
    assert_eq!(sessions.open(&node(), 2).unwrap_err(), NotOpened::Taken);
    for _ in 0..5 {
        tokio::time::advance(Duration::from_secs(2)).await;
        sessions.report(&node(), first.epoch, report());
        assert_eq!(sessions.open(&node(), 2).unwrap_err(), NotOpened::Taken);
    }
    assert!(!first.replaced.is_cancelled());
    // It has hung up, or has not been heard for too long to be alive.
    tokio::time::advance(Duration::from_secs(3)).await;
    let second = sessions.open(&node(), 2).unwrap();
    assert!(first.replaced.is_cancelled());
    sessions.close(&node(), second.epoch);
    assert!(sessions.open(&node(), 3).is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_shows_credentials_again_stays_connected_and_another_life_begins_anew() {
    let sessions = sessions();
    let connected_for = |sessions: &Sessions| sessions.agent(&node()).map(|agent| agent.connected_for);
    let opened = sessions.open(&node(), 1).unwrap();
    sessions.report(&node(), opened.epoch, report());
    tokio::time::advance(Duration::from_secs(10)).await;
    let again = sessions.open(&node(), 1).unwrap();
    assert_eq!(connected_for(&sessions), Some(Duration::from_secs(10)));
    let agent = sessions.agent(&node()).unwrap();
    assert!(agent.report.is_none(), "what it said before is not of this session");
    sessions.close(&node(), again.epoch);
    assert_eq!(connected_for(&sessions), None);
    let _new = sessions.open(&node(), 2).unwrap();
    assert_eq!(connected_for(&sessions), Some(Duration::ZERO));
}

#[tokio::test]
async fn nothing_is_concluded_from_a_report_of_an_earlier_session() {
    let sessions = sessions();
    let first = sessions.open(&node(), 1).unwrap();
    sessions.report(&node(), first.epoch, report());
    assert!(sessions.current(&node()).is_some());
    let _second = sessions.open(&node(), 1).unwrap();
    assert!(sessions.current(&node()).is_none());
    assert!(
        sessions.snapshot(&node()).report.is_some(),
        "it is still shown to people"
    );
}

#[tokio::test]
async fn position_and_small_battery_changes_are_not_significant() {
    let position = Position {
        at: Wgs84 {
            latitude_deg: 1.0,
            longitude_deg: 2.0,
        },
        amsl: AltitudeAmsl(1.0),
        above_home: AltitudeAboveHome(0.0),
    };
    let with = |percent: u8| Report {
        battery: Some(Battery {
            charge: Charge::Unknown,
            remaining: Percent::new(percent),
            voltage: Some(Volts(12.1)),
        }),
        position: Some(position),
        ..report()
    };
    assert_eq!(
        significant(&with(88)),
        significant(&Report {
            position: None,
            heading: Some(Heading(90.0)),
            ..with(81)
        })
    );
    assert_ne!(significant(&with(80)), significant(&with(79)));
}

#[tokio::test]
async fn an_order_to_stop_motors_is_for_the_stream_that_is_open_now_and_goes_with_it() {
    let sessions = sessions();
    let shot = |nonce| {
        let (answer, answered) = oneshot::channel();
        let uid = DroneUid("u".into());
        let until = Instant::now();
        (
            KillShot {
                nonce,
                uid,
                until,
                answer,
            },
            answered,
        )
    };
    assert!(!sessions.kill(&node(), shot(1).0), "nobody is there");
    let mut first = sessions.open(&node(), 1).unwrap();
    assert!(!sessions.kill(&node(), shot(2).0), "nothing was heard on it yet");
    sessions.report(&node(), first.epoch, report());
    assert!(sessions.kill(&node(), shot(3).0));
    assert!(!sessions.kill(&node(), shot(4).0), "one at a time");
    assert_eq!(first.kills.recv().await.map(|shot| shot.nonce), Some(3));
    let (left_over, answered) = shot(5);
    assert!(sessions.kill(&node(), left_over));
    let mut second = sessions.open(&node(), 1).unwrap();
    drop(first);
    assert!(answered.await.is_err(), "its stream is gone");
    assert!(second.kills.try_recv().is_err());
}

#[tokio::test]
async fn a_ground_order_that_an_agent_keeps_or_drops_has_its_order_reconciled() {
    let wakes = Wakes::default();
    let sessions = Sessions::new(
        Arc::new(World::new(wakes.clone())),
        Arc::clone(&wakes.nodes),
        Metrics::default(),
    );
    let opened = sessions.open(&node(), 1).unwrap();
    let mut woken = Box::pin(wakes.nodes.stream());
    let kept = |id: Option<u64>| Report {
        ground_latch: id.map(model::ground::GroundOrderId),
        ..report()
    };
    for id in [None, Some(7), None] {
        sessions.report(&node(), opened.epoch, kept(id));
        assert_eq!(futures::StreamExt::next(&mut woken).await, Some(node()), "{id:?}");
    }
}

#[tokio::test]
async fn an_order_is_sent_once_until_it_changes() {
    let sessions = sessions();
    let order = Order::unassigned(Term(1));
    assert!(!sessions.send(&node(), &order), "no agent is connected");
    let _session = sessions.open(&node(), 1).unwrap();
    assert!(sessions.send(&node(), &order));
    assert!(!sessions.send(&node(), &order));
    assert!(sessions.send(&node(), &Order::unassigned(Term(2))));
}

#[tokio::test(start_paused = true)]
async fn a_report_came_when_it_came_whenever_that_is_asked() {
    let sessions = sessions();
    let opened = sessions.open(&node(), 1).unwrap();
    assert!(sessions.received(&node()).is_none());
    let came = Instant::now();
    sessions.report(&node(), opened.epoch, report());
    for _ in 0..3 {
        assert_eq!(sessions.received(&node()).map(|(_, at)| at), Some(came));
        tokio::time::advance(Duration::from_millis(700)).await;
    }
    sessions.report(&node(), opened.epoch, report());
    let next = sessions.received(&node()).map(|(_, at)| at.duration_since(came));
    assert_eq!(next, Some(Duration::from_millis(2100)));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_lay_in_a_buffer_is_as_old_as_it_is_in_a_new_session_too() {
    let sessions = sessions();
    let second = Duration::from_secs(1);
    let age = |epoch, made: u32| {
        let report = Report {
            made: Moment::at(second * (500 + made)),
            ..report()
        };
        sessions.report(&node(), epoch, report);
        sessions.agent(&node()).unwrap().report.unwrap().1
    };
    let called = Instant::now();
    tokio::time::advance(second).await;
    let opened = sessions.open_since(&node(), 1, called).unwrap();
    tokio::time::advance(second * 3).await;
    assert_eq!(age(opened.epoch, 0), second * 4, "it may be as old as its stream");
    assert_eq!(age(opened.epoch, 4), Duration::ZERO);
    tokio::time::advance(second * 8).await;
    assert_eq!(age(opened.epoch, 5), second * 7);
    assert_eq!(sessions.received(&node()).map(|(_, at)| at.elapsed()), Some(second * 7));
    assert_eq!(age(opened.epoch, 12), Duration::ZERO);
    let again = sessions.open(&node(), 1).unwrap();
    tokio::time::advance(second * 2).await;
    assert_eq!(age(again.epoch, 12), second * 2);
}

#[tokio::test]
async fn a_drone_has_the_node_whose_agent_serves_it_and_none_that_it_merely_names() {
    let sessions = sessions();
    let named = |name: &str| {
        let mut drone = Drone::new(name, crds::DroneSpec::default());
        drone.spec.node_name = Some("n".to_owned());
        drone.metadata.uid = Some(name.to_owned());
        drone
    };
    let opened = sessions.open(&node(), 1).unwrap();
    let held = holding("a");
    let holds = Report {
        held: Some(held),
        ..report()
    };
    sessions.report(&node(), opened.epoch, holds);
    assert_eq!(sessions.node_of(&named("a")), Some(node()));
    assert_eq!(sessions.node_of(&named("b")), None);
}

#[tokio::test]
async fn who_is_away_or_names_aircraft_is_known_by_the_last_report() {
    let sessions = sessions();
    let opened = sessions.open(&node(), 1).unwrap();
    let at = Wgs84 {
        latitude_deg: 47.0,
        longitude_deg: 8.0,
    };
    let away = Report {
        truth: FlightTruth::Airborne(Airborne::InAir),
        position: Some(Position {
            at,
            amsl: AltitudeAmsl(500.0),
            above_home: AltitudeAboveHome(20.0),
        }),
        traffic: vec![Aircraft {
            icao: 7,
            at,
            altitude: None,
            velocity: None,
            climb: None,
            may_be_uncrewed: false,
            seen: Moment::default(),
        }],
        ..report()
    };
    let known = || (sessions.has_one_away(), sessions.with_traffic().len());
    assert_eq!(known(), (false, 0));
    sessions.report(&node(), opened.epoch, away.clone());
    assert_eq!(known(), (true, 1));
    sessions.report(&node(), opened.epoch, report());
    assert_eq!(known(), (false, 0));
    sessions.report(&node(), opened.epoch, away);
    let again = sessions.open(&node(), 1).unwrap();
    assert_eq!(known(), (true, 0), "what it heard before is not of this session");
    sessions.close(&node(), again.epoch);
    assert_eq!(known(), (false, 0), "no Drone is on its node, and it is forgotten");
}
