//! Agents that start without a writable disk: they serve the vehicle of their state, and arm nothing.

use super::*;
use std::path::PathBuf;

/// A folder in the place of the new file: permissions would not stop root.
fn fill(vehicle: &Vehicle) -> PathBuf {
    let place = vehicle.dir.path().join("state.json.new");
    std::fs::create_dir(&place).unwrap();
    place
}

fn cannot_write(agent: &Agent) -> bool {
    let report = agent.report().unwrap();
    let why = "cannot write its state directory (Is a directory";
    report.ready != Some(true) && report.reasons.iter().any(|reason| reason.text.contains(why))
}

#[tokio::test(start_paused = true)]
async fn an_agent_restarted_on_a_full_disk_in_flight_lands_its_vehicle_and_never_arms_it() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.kill().await;
        let before = vehicle.see(|w| w.steps().len());
        let obstacle = fill(&vehicle);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent.until_holding().await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(vehicle.see(|w| w.steps().len()), before, "{kind:?}: adopted");
        agent.order(grounded(2)).await;
        agent
            .until("down", 60, |r| r.held.as_ref().is_some_and(|h| h.grounded && h.settled))
            .await;
        assert_eq!(vehicle.see(|w| w.count(LAND)), 1, "{kind:?}");
        agent.order(flying(3)).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 1, "{kind:?}: not armed again");
        assert!(cannot_write(&agent), "{:#?}", agent.report());
        std::fs::remove_dir(obstacle).unwrap();
        // The disk is tried again only now and then.
        sleep(Duration::from_secs(3)).await;
        agent.order(flying(3)).await;
        agent.until_holding().await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 2, "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_flight_order_held_before_a_restart_arms_nothing_until_the_disk_is_written() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        vehicle.see(|w| w.ready = false);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent.until("held", 20, |r| r.held.is_some()).await;
        // The file has all that is known on the ground, so the next agent has nothing else to write.
        sleep(Duration::from_secs(20)).await;
        agent.kill().await;
        let obstacle = fill(&vehicle);
        vehicle.see(|w| w.ready = true);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 0, "{kind:?}");
        assert!(cannot_write(&agent), "{:#?}", agent.report());
        std::fs::remove_dir(obstacle).unwrap();
        agent.until_holding_within(120).await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 1, "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_restarts_on_a_full_disk_still_has_its_failsafe() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.connect(watched(3)).await;
    agent.until_holding().await;
    agent.kill().await;
    fill(&vehicle);
    let agent = vehicle.agent();
    agent.until_holding().await;
    agent.until_disarmed(90).await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 1, "without any coordinator");
    agent.kill().await;
}
