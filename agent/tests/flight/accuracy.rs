//! Position accuracy by the autopilot's account, and a home that is elsewhere.

use super::*;
use model::accuracy::Accuracy;
use model::vehicle::{ArmingReason, ReasonClass};

#[tokio::test(start_paused = true)]
async fn the_accuracy_of_the_receiver_reaches_the_report_as_it_changes() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        vehicle.see(|w| w.accuracy_mm = [900, 1780]);
        let agent = vehicle.agent();
        let reported = |horizontal, vertical| move |r: &Report| r.accuracy == Accuracy::of_meters(horizontal, vertical);
        agent.until("0.9 m and 1.78 m", 20, reported(0.9, 1.78)).await;
        vehicle.see(|w| w.accuracy_mm = [6400, 0]);
        agent.until("6.4 m, and no altitude", 20, reported(6.4, 0.0)).await;
        // A MAVLink 1 receiver, or an unknown accuracy.
        vehicle.see(|w| w.accuracy_mm = [0, 0]);
        agent.until("not known", 20, reported(0.0, 0.0)).await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_whose_home_is_elsewhere_at_boot_is_not_armed_until_home_is_where_it_is() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        // 64 m to the north.
        vehicle.see(|w| w.home_north_e7 = 5760);
        let agent = vehicle.agent();
        agent.until("where home is", 20, |r| r.home.is_some()).await;
        agent.connect(flying(1)).await;
        agent
            .until("a reason", 20, |r| {
                let ours = |reason: &&ArmingReason| {
                    reason
                        .text
                        .starts_with("its home position is not where the vehicle is, but 64 m north: ")
                };
                let reason = r.reasons.iter().find(ours);
                reason.is_some_and(|reason| reason.class == ReasonClass::NeedsHuman) && r.ready == Some(false)
            })
            .await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 0, "{kind:?}");
        // The message of a person's new home is lost: the agent asks again.
        vehicle.see(|w| w.home_north_e7 = 0);
        agent.until_holding().await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 1, "{kind:?}");
        agent.kill().await;
    }
}
