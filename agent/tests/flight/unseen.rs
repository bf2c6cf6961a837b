//! Flights that no agent observes: line, agent or computer fails at the moment when the motors draw most.

use super::*;

/// From the takeoff command to the first movement of ArduCopter.
const SPOOLS_UP: Duration = Duration::from_secs(3);

const OVER: Activity = Activity::HandsOff(HandsOff::FlightOver);

impl Vehicle {
    /// Just commanded to take off: its motors run on the ground.
    async fn lifting(kind: Kind) -> (Self, Agent) {
        let vehicle = Self::new(kind);
        vehicle.see(|w| w.lifts_off_after = SPOOLS_UP);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        let began = Instant::now();
        while vehicle.see(|w| w.count(TAKEOFF)) == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "no takeoff command");
            sleep(Duration::from_millis(20)).await;
        }
        let stands = |r: &Report| r.truth == FlightTruth::ArmedOnGround;
        agent.until("armed, on the ground", 1, stands).await;
        (vehicle, agent)
    }

    async fn flies_and_lands_by_itself(&self) {
        sleep(Duration::from_secs(10)).await;
        let height = self.see(|w| {
            w.custom_mode = if w.kind == Kind::Px4 { 0x0604_0000 } else { 9 };
            w.altitude
        });
        assert!(height > 5.0, "it is at {height} m");
        let began = Instant::now();
        while self.see(|w| w.armed) {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not come down");
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn stays_down_for_a_person(&self, agent: &Agent) {
        agent.until("over", 30, |r| r.activity == OVER).await;
        sleep(Duration::from_secs(60)).await;
        let kind = self.see(|w| w.kind);
        assert_eq!(self.see(|w| w.count(ARM)), 1, "{kind:?}");
        let report = agent.report().unwrap();
        assert!(report.activity == OVER && report.stand_down.is_some(), "{report:#?}");
        agent.order(grounded(2)).await;
        agent.order(flying(3)).await;
        agent.until_holding().await;
        assert_eq!(self.see(|w| w.count(ARM)), 2, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_flew_and_landed_without_its_agent_is_not_armed_by_the_next() {
    for kind in BOTH {
        let (vehicle, agent) = Vehicle::lifting(kind).await;
        agent.kill().await;
        vehicle.flies_and_lands_by_itself().await;
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        vehicle.stays_down_for_a_person(&agent).await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nor_is_one_whose_line_was_down_from_its_liftoff_to_its_landing() {
    for kind in BOTH {
        let (vehicle, agent) = Vehicle::lifting(kind).await;
        vehicle.unplug().await;
        vehicle.flies_and_lands_by_itself().await;
        vehicle.plugged.store(true, Ordering::SeqCst);
        vehicle.stays_down_for_a_person(&agent).await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nor_one_whose_flight_could_not_be_written_to_a_full_disk() {
    for kind in BOTH {
        let (vehicle, agent) = Vehicle::lifting(kind).await;
        let obstacle = vehicle.dir.path().join("state.json.new");
        std::fs::create_dir(&obstacle).unwrap();
        agent.until_holding().await;
        agent.kill().await;
        vehicle.flies_and_lands_by_itself().await;
        std::fs::remove_dir(obstacle).unwrap();
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        vehicle.stays_down_for_a_person(&agent).await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeoff_that_was_watched_and_never_lifts_is_tried_again() {
    for kind in BOTH {
        let (vehicle, agent) = Vehicle::lifting(kind).await;
        vehicle.see(|w| w.never_lifts());
        agent.until_disarmed(30).await;
        agent.until_holding().await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 2, "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_agent_lets_a_vehicle_rest_that_its_forerunner_has_just_landed() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.terminate.cancel();
        assert_eq!(agent.life.await.unwrap(), Ending::Landed);
        let landed = Instant::now();
        let agent = vehicle.flown().await;
        let last = vehicle.see(|w| w.received.iter().rev().find(|r| r.command == ARM).map(|r| r.at));
        let rested = last.unwrap().duration_since(landed);
        assert!(rested >= Duration::from_secs(5), "{kind:?}: {rested:?}");
        assert_eq!(vehicle.see(|w| w.count(ARM)), 2, "{kind:?}");
        agent.kill().await;
    }
}
