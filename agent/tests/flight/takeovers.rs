//! A pilot, a ground station or the autopilot takes over in flight: counted once, left alone, and resumed by order.

use super::*;

fn resumed(order: Order, resume_after: u32) -> Order {
    match order {
        Order::Assigned(a) => Order::Assigned(Assignment { resume_after, ..a }),
        none @ Order::Unassigned { .. } => none,
    }
}

/// LOITER, or PX4's Position.
const fn pilots(kind: Kind) -> u32 {
    match kind {
        Kind::ArduCopter => 5,
        Kind::Px4 => 0x0003_0000,
    }
}

const fn home(kind: Kind) -> u32 {
    match kind {
        Kind::ArduCopter => 6,
        Kind::Px4 => 0x0504_0000,
    }
}

const fn ours(kind: Kind) -> u32 {
    match kind {
        Kind::ArduCopter => 4,
        Kind::Px4 => 0x0304_0000,
    }
}

const OTHER: Activity = Activity::HandsOff(HandsOff::OtherMode);
const WAITS: Activity = Activity::HandsOff(HandsOff::TakenOver);

fn taken(agent: &Agent) -> u32 {
    agent.report().unwrap().takeovers
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_a_pilot_gave_back_is_sent_nothing_until_a_resume() {
    for kind in BOTH {
        for mode in [pilots(kind), home(kind)] {
            let vehicle = Vehicle::new(kind);
            let agent = vehicle.flown().await;
            assert_eq!(taken(&agent), 0, "a flight of our own is no takeover");
            let before = vehicle.see(|w| {
                w.custom_mode = mode;
                w.steps().len()
            });
            agent
                .until("hands off", 10, |r| r.activity == OTHER && r.takeovers == 1)
                .await;
            vehicle.see(|w| w.custom_mode = ours(kind));
            agent.until("waiting", 10, |r| r.activity == WAITS).await;
            // Not even a ground order moves it: somebody steers it.
            agent.order(grounded(2)).await;
            sleep(Duration::from_secs(30)).await;
            assert_eq!(vehicle.see(|w| w.steps().len()), before, "{kind:?}");
            assert_eq!(taken(&agent), 1);
            agent.order(resumed(grounded(3), 1)).await;
            agent
                .until("landed", 60, |r| r.held.as_ref().is_some_and(|h| h.settled))
                .await;
            assert_eq!((vehicle.see(|w| w.count(LAND)), taken(&agent)), (1, 1));
            agent.kill().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_word_to_go_on_counts_for_the_takeovers_before_it_and_for_none_after() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    for round in 1..=3 {
        vehicle.see(|w| w.custom_mode = pilots(Kind::ArduCopter));
        agent.until("hands off", 10, |r| r.takeovers == round).await;
        vehicle.see(|w| w.custom_mode = ours(Kind::ArduCopter));
        agent.until("waiting", 10, |r| r.activity == WAITS).await;
        agent.order(resumed(flying(1), round)).await;
        agent.until("holding", 10, |r| r.activity == Activity::Holding).await;
        // A repeated or early resume changes nothing.
        agent.order(resumed(flying(1), round)).await;
    }
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_restarts_keeps_its_count_and_finds_out_what_it_missed() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        vehicle.see(|w| w.custom_mode = pilots(kind));
        agent.until("hands off", 10, |r| r.takeovers == 1).await;
        agent.kill().await;
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent.until("hands off still", 20, |r| r.activity == OTHER).await;
        sleep(Duration::from_secs(20)).await;
        assert_eq!(taken(&agent), 1, "{kind:?}: the same pilot");
        vehicle.see(|w| w.custom_mode = ours(kind));
        agent.until("waiting", 10, |r| r.activity == WAITS).await;
        agent.order(resumed(flying(1), 1)).await;
        agent.until("holding", 10, |r| r.activity == Activity::Holding).await;
        agent.kill().await;
        vehicle.see(|w| w.custom_mode = pilots(kind));
        let agent = vehicle.agent();
        agent.connect(resumed(flying(1), 1)).await;
        agent
            .until("another takeover", 20, |r| r.activity == OTHER && r.takeovers == 2)
            .await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn landings_of_ours_are_no_takeovers_however_they_are_interrupted() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.terminate.cancel();
        agent
            .until("landing", 20, |r| {
                r.truth == FlightTruth::Airborne(Airborne::Landing) && r.activity == Activity::Landing
            })
            .await;
        agent.kill().await;
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent.until_disarmed(60).await;
        assert_eq!(taken(&agent), 0, "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_a_pilot_landed_stays_down_over_a_ground_order_and_its_release() {
    let kind = Kind::ArduCopter;
    let vehicle = Vehicle::new(kind);
    let agent = vehicle.flown().await;
    vehicle.see(|w| w.custom_mode = 9);
    let over = Activity::HandsOff(HandsOff::FlightOver);
    agent
        .until("over", 60, |r| r.activity == over && r.takeovers == 1)
        .await;
    agent.order(grounded(2)).await;
    agent
        .until("grounded", 10, |r| r.held.as_ref().is_some_and(|h| h.grounded))
        .await;
    agent.order(flying(3)).await;
    agent.until("waiting", 10, |r| r.activity == WAITS).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 1);
    agent.order(resumed(flying(4), 1)).await;
    agent.until_holding().await;
    agent.kill().await;
}
