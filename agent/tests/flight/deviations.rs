//! Vehicles off their place, that do not land when ordered, that refuse to arm though checks pass, and just landed ones.

use super::*;
use model::answer::Answer;
use model::whereabouts::Astray;

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_falls_is_told_within_two_seconds() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!(agent.report().unwrap().astray, None);
        vehicle.see(|w| w.falls = true);
        agent
            .until("fell", 2, |r| matches!(r.astray, Some(Astray::Fell { .. })))
            .await;
        sleep(Duration::from_secs(28)).await;
        assert!(
            matches!(agent.report().unwrap().astray, Some(Astray::Fell { .. })),
            "{kind:?}"
        );
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_somebody_flies_down_in_our_mode_is_told_within_two_seconds() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    sleep(Duration::from_secs(3)).await;
    vehicle.see(|w| {
        w.target = 3.0;
        w.altitude = 3.0;
    });
    agent
        .until("left its height", 2, |r| {
            matches!(r.astray, Some(Astray::Height { .. }))
        })
        .await;
    vehicle.see(|w| {
        w.target = 10.0;
        w.altitude = 10.0;
    });
    agent.until("is back", 3, |r| r.astray.is_none()).await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_landing_that_is_not_answered_is_owed_until_it_begins() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    vehicle.see(|w| w.deaf_to_land = true);
    agent.order(grounded(2)).await;
    agent
        .until("owed", 5, |r| {
            r.owed.as_ref().is_some_and(|owed| owed.answer == Answer::Missing)
        })
        .await;
    vehicle.see(|w| w.deaf_to_land = false);
    agent
        .until("landing", 10, |r| r.owed.is_none() && r.mode.as_deref() == Some("LAND"))
        .await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_arm_is_told_with_the_text_that_follows_although_the_checks_pass() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        vehicle.see(|w| {
            w.refuse_arm = 3;
            w.refuses_with = "Arm: Throttle (RC3) is not neutral";
        });
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent
            .until("refused", 20, |r| {
                r.ready == Some(false) && r.reasons.iter().any(|why| why.text == "Throttle (RC3) is not neutral")
            })
            .await;
        // It stays between the tries, and goes with an accepted one.
        sleep(Duration::from_secs(1)).await;
        assert_eq!(agent.report().unwrap().ready, Some(false));
        agent.until_holding().await;
        assert_ne!(agent.report().unwrap().ready, Some(false), "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_somebody_else_flew_rests_and_is_offered_again_after_a_quiet_time() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.agent();
    agent.connect(Order::unassigned(Term(3))).await;
    agent.until("free", 20, Report::vehicle_free).await;
    vehicle.see(|w| {
        w.custom_mode = 5;
        w.armed = true;
        w.landed = MavLandedState::MAV_LANDED_STATE_IN_AIR;
    });
    sleep(Duration::from_secs(10)).await;
    vehicle.see(|w| {
        w.armed = false;
        w.landed = MavLandedState::MAV_LANDED_STATE_ON_GROUND;
    });
    let landed = Instant::now();
    agent.until_disarmed(5).await;
    assert!(agent.report().is_some_and(|r| r.others_flew && !r.vehicle_free()));
    agent.order(flying(1)).await;
    agent.until_holding_within(120).await;
    let arm = vehicle
        .see(|w| w.received.iter().find(|r| r.command == ARM).map(|r| r.at))
        .unwrap();
    let waited = arm.duration_since(landed).as_secs();
    assert!((59..=64).contains(&waited), "armed after {waited} s");
    agent.kill().await;
}
