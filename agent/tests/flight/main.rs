//! The agent flown against a scripted autopilot in paused time: pilot, shell, link and disk together.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod accuracy;
mod autopilot_failsafes;
mod deviations;
mod full_disk;
mod ground_orders;
mod kills;
mod takeovers;
mod unseen;
mod untaken;

use agent::clock::Clock;
use agent::pilot::Pilot;
use agent::shell::{Blocking, Ending, Wiring, fly};
use agent::state_file::Store;
use agent::uplink::{FromUplink, Outward};
use agent_testkit::autopilot::{self, HOME_AMSL, Kind, Shared, World};
use agent_testkit::orders::assignment;
use futures::future::BoxFuture;
use link::dialect::{MavCmd, MavLandedState};
use link::transport::{OpenError, Opener, Wire};
use link::{Link, LinkHandle};
use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy, OnCoordinatorLoss, Order};
use model::ids::{DroneUid, NodeName, Term};
use model::report::{Activity, HandsOff, Report};
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, FlightTruth};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const TAKEOFF: MavCmd = MavCmd::MAV_CMD_NAV_TAKEOFF;
const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;
const BOTH: [Kind; 2] = [Kind::ArduCopter, Kind::Px4];

struct Plug {
    to_autopilot: mpsc::Sender<DuplexStream>,
    plugged: Arc<AtomicBool>,
    /// Seed of a noisy line: one byte in 333 is lost, one in 1000 changed, both ways.
    noise: Option<u64>,
}

impl Opener for Plug {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(async {
            if !self.plugged.load(Ordering::SeqCst) {
                return Err(OpenError::Missing("/dev/test".into()));
            }
            let (near, far) = duplex(8192);
            let far = match self.noise {
                None => far,
                Some(seed) => noisy(far, seed),
            };
            let _ = self.to_autopilot.send(far).await;
            Ok(Wire::stream(near))
        })
    }
}

fn noisy(near: DuplexStream, seed: u64) -> DuplexStream {
    let (middle, far) = duplex(8192);
    let (near_out, near_in) = tokio::io::split(near);
    let (far_out, far_in) = tokio::io::split(middle);
    tokio::spawn(spoil(near_out, far_in, seed));
    tokio::spawn(spoil(far_out, near_in, seed + 1));
    far
}

async fn spoil(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut buffer = [0; 512];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        let mut bytes: Vec<u8> = buffer[..n]
            .iter()
            .copied()
            .filter(|_| !rng.random_ratio(1, 333))
            .collect();
        bytes
            .iter_mut()
            .filter(|_| rng.random_ratio(1, 1000))
            .for_each(|b| *b ^= 0x55);
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Outlives agents.
struct Vehicle {
    world: Shared,
    to_autopilot: mpsc::Sender<DuplexStream>,
    plugged: Arc<AtomicBool>,
    noise: Option<u64>,
    dir: TempDir,
}

impl Vehicle {
    fn new(kind: Kind) -> Self {
        let world = autopilot::world(kind);
        let (to_autopilot, lines) = mpsc::channel(4);
        tokio::spawn(autopilot::run(Arc::clone(&world), lines));
        Self {
            world,
            to_autopilot,
            plugged: Arc::new(AtomicBool::new(true)),
            noise: None,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn see<T>(&self, look: impl FnOnce(&mut World) -> T) -> T {
        look(&mut self.world.lock().unwrap())
    }

    async fn unplug(&self) {
        self.plugged.store(false, Ordering::SeqCst);
        // A dead line makes the autopilot drop its end.
        let (near, far) = duplex(1);
        drop(near);
        self.to_autopilot.send(far).await.unwrap();
    }

    async fn flown(&self) -> Agent {
        let agent = self.agent();
        agent.connect(flying(1)).await;
        agent.until_holding().await;
        agent
    }

    fn agent(&self) -> Agent {
        Agent::start(self, self.dir.path(), Duration::from_secs(280))
    }
}

struct Agent {
    orders: mpsc::Sender<FromUplink>,
    reports: watch::Receiver<Outward>,
    terminate: CancellationToken,
    life: JoinHandle<Ending>,
    wire: LinkHandle,
    _link: Link,
}

impl Agent {
    fn start(vehicle: &Vehicle, dir: &Path, landing_timeout: Duration) -> Self {
        Self::start_held_up(vehicle, dir, landing_timeout, Duration::ZERO)
    }

    /// Its link opens at once, but it receives only after `held_up`.
    fn start_held_up(vehicle: &Vehicle, dir: &Path, landing_timeout: Duration, held_up: Duration) -> Self {
        let node = NodeName::parse("pine").unwrap();
        let (store, state) = Store::open(dir, &node).unwrap();
        let plug = Plug {
            to_autopilot: vehicle.to_autopilot.clone(),
            plugged: Arc::clone(&vehicle.plugged),
            noise: vehicle.noise,
        };
        let (link, handle, events) = Link::over(plug, "test");
        let (orders_tx, orders) = mpsc::channel(16);
        let (reports, reports_rx) = watch::channel(Outward::default());
        let terminate = CancellationToken::new();
        let clock = Clock::start();
        let pilot = Pilot::new(node, state, clock.now());
        let wiring = Wiring {
            link: handle.clone(),
            lease: agent::gcs::lease::Lease::default(),
            events,
            orders,
            reports,
            terminate: terminate.clone(),
            landing_timeout,
            clock,
            uploads: None,
            traces: agent::Traces::default(),
            blocking: Blocking::Thread,
        };
        let life = tokio::spawn(async move {
            if !held_up.is_zero() {
                sleep(held_up).await;
            }
            Box::pin(fly(pilot, wiring, Arc::new(store), CancellationToken::new())).await
        });
        Self {
            orders: orders_tx,
            reports: reports_rx,
            terminate,
            life,
            wire: handle,
            _link: link,
        }
    }

    async fn order(&self, order: Order) {
        self.orders.send(FromUplink::Order(Box::new(order))).await.unwrap();
    }

    async fn connect(&self, order: Order) {
        self.orders.send(FromUplink::Opened).await.unwrap();
        self.order(order).await;
    }

    fn report(&self) -> Option<Report> {
        self.reports.borrow().report.clone()
    }

    async fn until(&self, what: &str, within_s: u64, holds: impl Fn(&Report) -> bool) {
        let began = Instant::now();
        while !self.report().is_some_and(|r| holds(&r)) {
            assert!(
                began.elapsed().as_secs() < within_s,
                "not within {within_s} s: {what}; {:#?}",
                self.report()
            );
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn until_holding(&self) {
        self.until_holding_within(60).await;
    }

    async fn until_holding_within(&self, seconds: u64) {
        let up = FlightTruth::Airborne(Airborne::InAir);
        self.until("holding in the air", seconds, |r| {
            r.truth == up && r.activity == Activity::Holding
        })
        .await;
    }

    async fn until_disarmed(&self, seconds: u64) {
        self.until("disarmed", seconds, |r| r.truth == FlightTruth::Disarmed)
            .await;
    }

    async fn kill(self) {
        self.life.abort();
        let _ = self.life.await;
    }
}

fn flying(generation: i64) -> Order {
    Order::Assigned(assignment(generation, FLY))
}

/// Lands 20 s after the loss of the coordinator.
fn watched(term: u64) -> Order {
    Order::Assigned(Assignment {
        term: Term(term),
        failsafe: Failsafe {
            on_coordinator_loss: OnCoordinatorLoss::Land,
            after: Duration::from_secs(20),
            ..Failsafe::default()
        },
        ..assignment(1, FLY)
    })
}

fn grounded(generation: i64) -> Order {
    Order::Assigned(assignment(
        generation,
        Desired::Grounded {
            why: GroundedWhy::Ordered,
        },
    ))
}

#[tokio::test(start_paused = true)]
async fn an_order_to_fly_takes_the_vehicle_up_and_an_order_to_land_brings_it_down() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        vehicle.see(|w| {
            assert_eq!(w.count(ARM), 1, "{kind:?}");
            let takeoff = w.received.iter().find(|r| r.command == TAKEOFF).unwrap();
            let height = if kind == Kind::Px4 { HOME_AMSL + 10.0 } else { 10.0 };
            assert!(
                takeoff.int && (takeoff.z - height).abs() < 0.01,
                "{kind:?}: {takeoff:?}"
            );
            assert!((w.altitude - 10.0).abs() < 0.2);
        });
        let report = agent.report().unwrap();
        assert_eq!(report.identity.unwrap().firmware.as_deref(), Some("4.7.0-dev"));
        assert_eq!(report.held.map(|h| (h.grounded, h.settled)), Some((false, false)));
        let steps = vehicle.see(|w| w.steps().len());
        sleep(Duration::from_secs(60)).await;
        assert_eq!(vehicle.see(|w| w.steps().len()), steps);
        agent.order(grounded(2)).await;
        agent
            .until("landed", 60, |r| {
                r.held.as_ref().is_some_and(|h| h.grounded && h.settled)
            })
            .await;
        assert_eq!(vehicle.see(|w| (w.count(LAND), w.armed)), (1, false), "{kind:?}");
        agent.order(flying(3)).await;
        agent.until_holding().await;
        assert_eq!(vehicle.see(|w| w.strange_senders), 0);
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_arm_command_follows_the_order_at_once_when_the_vehicle_is_ready() {
    for kind in BOTH {
        arms_at_once(kind).await;
    }
}

/// ArduCopter is in STABILIZE: its mode is set and its arming checks are asked for first.
async fn arms_at_once(kind: Kind) {
    let vehicle = Vehicle::new(kind);
    let agent = vehicle.agent();
    agent
        .until("ready", 20, |r| {
            r.ready == Some(true) && r.truth == FlightTruth::Disarmed
        })
        .await;
    sleep(Duration::from_secs(5)).await;
    let ordered = Instant::now();
    agent.connect(flying(1)).await;
    agent.until("armed", 5, |r| r.truth == FlightTruth::ArmedOnGround).await;
    let at = vehicle
        .see(|w| w.received.iter().find(|r| r.command == ARM).map(|r| r.at))
        .unwrap();
    assert!(
        at.duration_since(ordered) < Duration::from_millis(50),
        "{:?}",
        at.duration_since(ordered)
    );
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_battery_at_its_reserve_ends_the_flight_and_begins_no_other() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        vehicle.see(|w| w.remaining = 15);
        // Above its home it lands where it is.
        agent
            .until("low battery", 30, |r| r.activity == Activity::LowBattery)
            .await;
        agent
            .until("down and staying there", 90, |r| {
                r.activity == Activity::HandsOff(HandsOff::FlightOver)
            })
            .await;
        let returns = vehicle.see(|w| w.count(MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH));
        assert_eq!((returns, vehicle.see(|w| w.count(LAND))), (0, 1), "{kind:?}");
        // Nor does a new order lift it before the battery is changed.
        agent.order(grounded(2)).await;
        agent.order(flying(3)).await;
        agent.until("refused", 30, |r| r.activity == Activity::NotArmable).await;
        let report = agent.report().unwrap();
        assert_eq!(report.ready, Some(false));
        assert!(
            report.reasons[0].text.contains("battery at 15 %"),
            "{:?}",
            report.reasons
        );
        vehicle.see(|w| w.remaining = 100);
        agent.until_holding().await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_arm_is_tried_again_one_frame_each_time_and_the_reason_is_told() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        vehicle.see(|w| w.refuse_arm = 3);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        let reason = |r: &Report| r.reasons.iter().any(|r| r.text == "Compass not healthy");
        agent
            .until("not armable, with the reason", 30, |r| {
                r.activity == Activity::NotArmable && reason(r)
            })
            .await;
        agent.until_holding().await;
        assert_eq!(
            vehicle.see(|w| w.count(ARM)),
            4,
            "{kind:?}: three refused, one accepted"
        );
        assert!(vehicle.see(|w| {
            w.received
                .iter()
                .filter(|r| r.command == ARM)
                .all(|r| r.confirmation == 0)
        }));
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_is_not_ready_is_asked_why_and_not_armed() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    vehicle.see(|w| w.ready = false);
    let agent = vehicle.agent();
    agent.connect(flying(1)).await;
    agent
        .until("the reason", 30, |r| {
            r.reasons.iter().any(|r| r.text == "Need Position Estimate")
        })
        .await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 0);
    vehicle.see(|w| w.ready = true);
    agent.until_holding().await;
    assert!(agent.report().unwrap().reasons.is_empty());
    agent.kill().await;
}

/// Like ArduCopter at a cold boot: the checks pass without a position in STABILIZE, but not in GUIDED.
#[tokio::test(start_paused = true)]
async fn a_vehicle_is_not_armed_for_what_the_checks_of_the_mode_before_said() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    vehicle.see(|w| (w.ready, w.ready_before) = (false, Some(true)));
    let agent = vehicle.agent();
    agent.connect(flying(1)).await;
    sleep(Duration::from_secs(60)).await;
    vehicle.see(|w| {
        assert_eq!((w.ready_before, w.count(ARM)), (None, 0));
        w.ready = true;
    });
    agent.until_holding().await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 1);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_takeoff_whose_answer_is_lost_is_judged_by_the_climb() {
    for kind in BOTH {
        // One lifts off before the command is repeated; the other climbs already when it refuses the repetition.
        for (lifts_off_after, takeoffs) in [(1, 1), (3, 2)] {
            let vehicle = Vehicle::new(kind);
            vehicle.see(|w| {
                w.lose_takeoff_acks = 1;
                w.lifts_off_after = Duration::from_secs(lifts_off_after);
            });
            let agent = vehicle.flown().await;
            vehicle.see(|w| {
                let sent = (w.count(ARM), w.count(TAKEOFF), w.count(LAND));
                assert_eq!(sent, (1, takeoffs, 0), "{kind:?}, lifts off after {lifts_off_after} s");
            });
            agent.kill().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_autopilot_that_answers_nothing_is_armed_once_and_flown_by_what_it_does() {
    let vehicle = Vehicle::new(Kind::Px4);
    vehicle.see(|w| w.mute_acks = true);
    let agent = vehicle.flown().await;
    // Not armed before its altitude was known, nor a second time.
    assert_eq!(vehicle.see(|w| w.count(ARM)), 1);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_restarts_in_mid_flight_adopts_its_vehicle_and_commands_nothing() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.kill().await;
        let before = vehicle.see(|w| w.steps().len());
        let agent = vehicle.agent();
        agent.until_holding().await;
        let held = agent.report().unwrap().held.unwrap();
        assert_eq!((held.uid, held.generation), (DroneUid("u-1".into()), 1));
        agent.connect(flying(1)).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(vehicle.see(|w| w.steps().len()), before, "{kind:?}");
        agent.order(grounded(2)).await;
        agent
            .until("landed", 60, |r| r.held.as_ref().is_some_and(|h| h.settled))
            .await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_remembered_order_alone_never_lifts_a_vehicle_off() {
    let vehicle = Vehicle::new(Kind::Px4);
    vehicle.see(|w| w.ready = false);
    let agent = vehicle.agent();
    agent.connect(flying(1)).await;
    agent.until("held", 20, |r| r.held.is_some()).await;
    agent.kill().await;
    vehicle.see(|w| w.ready = true);
    let agent = vehicle.agent();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 0);
    agent.connect(flying(1)).await;
    agent.until_holding().await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_came_down_by_itself_stays_down_even_after_a_restart() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    vehicle.see(|w| w.custom_mode = 9);
    agent
        .until("over", 60, |r| r.activity == Activity::HandsOff(HandsOff::FlightOver))
        .await;
    agent.kill().await;
    let agent = vehicle.agent();
    agent.connect(flying(1)).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(vehicle.see(|w| w.count(ARM)), 1);
    assert_eq!(
        agent.report().unwrap().activity,
        Activity::HandsOff(HandsOff::FlightOver)
    );
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_asked_to_end_lands_first_and_takes_off_again_in_its_next_life() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.terminate.cancel();
        let ending = agent.life.await.unwrap();
        assert_eq!(ending, Ending::Landed);
        vehicle.see(|w| {
            assert_eq!((w.armed, w.landed), (false, MavLandedState::MAV_LANDED_STATE_ON_GROUND));
            assert_eq!(w.count(LAND), 1);
        });
        let last = agent.reports.borrow().report.clone().unwrap();
        assert!(last.terminating && last.truth == FlightTruth::Disarmed);
        let agent = vehicle.flown().await;
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_asked_to_end_in_the_climb_lands_too() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.agent();
        agent.connect(flying(1)).await;
        agent
            .until("climbing", 60, |r| {
                r.truth == FlightTruth::Airborne(Airborne::TakingOff)
            })
            .await;
        agent.terminate.cancel();
        assert_eq!(agent.life.await.unwrap(), Ending::Landed);
        assert!(!vehicle.see(|w| w.armed));
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_vehicle_does_not_come_down_ends_after_its_time_and_says_so() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = Agent::start(&vehicle, vehicle.dir.path(), Duration::from_secs(30));
    agent.connect(flying(1)).await;
    agent.until_holding().await;
    vehicle.unplug().await;
    let asked = Instant::now();
    agent.terminate.cancel();
    assert_eq!(agent.life.await.unwrap(), Ending::NotLanded);
    assert!((29..=31).contains(&asked.elapsed().as_secs()));
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_an_assignment_or_a_flight_ends_at_once() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.until("heard", 20, |r| r.link_alive).await;
    let asked = Instant::now();
    agent.terminate.cancel();
    assert_eq!(agent.life.await.unwrap(), Ending::Landed);
    assert!(asked.elapsed() < Duration::from_secs(1));
    assert!(vehicle.see(|w| w.steps().is_empty()));
}

#[tokio::test(start_paused = true)]
async fn no_arm_command_comes_out_of_a_link_that_was_down() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.agent();
        agent.until("ready", 20, |r| r.ready == Some(true)).await;
        vehicle.unplug().await;
        agent.connect(flying(1)).await;
        sleep(Duration::from_secs(3)).await;
        agent.order(grounded(2)).await;
        sleep(Duration::from_secs(3)).await;
        vehicle.plugged.store(true, Ordering::SeqCst);
        agent.until("heard again", 20, |r| r.ready == Some(true)).await;
        sleep(Duration::from_secs(20)).await;
        assert_eq!(vehicle.see(|w| w.count(ARM)), 0, "{kind:?}");
        agent.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_autopilot_that_reboots_is_asked_for_its_messages_again() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.agent();
    agent
        .until("known", 20, |r| {
            r.position.is_some() && r.truth == FlightTruth::Disarmed
        })
        .await;
    sleep(Duration::from_secs(30)).await;
    vehicle.see(|w| w.reboot = true);
    agent.until("lost", 20, |r| r.truth != FlightTruth::Disarmed).await;
    agent
        .until("known again", 20, |r| {
            r.truth == FlightTruth::Disarmed && r.ready.is_some()
        })
        .await;
    assert!(vehicle.see(|w| w.steps().is_empty()), "requests only");
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_pilot_who_takes_over_is_left_alone() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    let before = vehicle.see(|w| {
        w.custom_mode = 5;
        w.steps().len()
    });
    agent
        .until("hands off", 10, |r| {
            r.activity == Activity::HandsOff(HandsOff::OtherMode)
        })
        .await;
    agent.order(grounded(2)).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(vehicle.see(|w| w.steps().len()), before);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_coordinator_lets_the_vehicle_land_when_the_drone_says_so() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.connect(watched(3)).await;
    agent.until_holding().await;
    agent.orders.send(FromUplink::Closed).await.unwrap();
    sleep(Duration::from_secs(15)).await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 0);
    agent.until_disarmed(60).await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 1);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_deposed_coordinator_moves_nothing() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.connect(grounded(1)).await;
    agent
        .until("held", 20, |r| r.held.is_some() && r.truth == FlightTruth::Disarmed)
        .await;
    let old = Assignment {
        term: Term(2),
        ..assignment(9, FLY)
    };
    agent.order(Order::Assigned(old)).await;
    sleep(Duration::from_secs(30)).await;
    assert!(vehicle.see(|w| w.steps().is_empty()));
    assert!(agent.report().unwrap().held.unwrap().grounded);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_line_that_loses_bytes_delays_a_flight_but_does_not_prevent_it() {
    for seed in 0..6 {
        for kind in BOTH {
            let mut vehicle = Vehicle::new(kind);
            vehicle.noise = Some(seed * 100);
            let agent = vehicle.agent();
            agent.connect(flying(1)).await;
            agent.until("holding", 300, |r| r.activity == Activity::Holding).await;
            let (height, arms) = vehicle.see(|w| (w.altitude, w.count(ARM)));
            assert!(
                (height - 10.0).abs() < 0.2 && arms <= 5,
                "{kind:?} seed {seed}: {height} m, {arms} arm commands"
            );
            agent.order(grounded(2)).await;
            agent
                .until("landed", 120, |r| {
                    r.held.as_ref().is_some_and(|h| h.grounded && h.settled)
                })
                .await;
            assert!(!vehicle.see(|w| w.armed));
            assert!(agent.wire.counters().skipped > 0, "the line was noisy");
            agent.kill().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_lets_the_vehicle_land_but_not_take_off() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.flown().await;
    // A folder takes the place of the new file: nothing can be written.
    std::fs::create_dir(vehicle.dir.path().join("state.json.new")).unwrap();
    agent.order(grounded(2)).await;
    agent
        .until("down", 60, |r| r.held.as_ref().is_some_and(|h| h.grounded && h.settled))
        .await;
    agent.order(flying(3)).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(
        vehicle.see(|w| w.count(ARM)),
        1,
        "an order that would be forgotten is not flown"
    );
    let report = agent.report().unwrap();
    let why = "cannot write its state directory (Is a directory";
    assert!(
        report.ready == Some(false) && report.reasons.iter().any(|reason| reason.text.contains(why)),
        "{report:#?}"
    );
    std::fs::remove_dir(vehicle.dir.path().join("state.json.new")).unwrap();
    // The coordinator repeats what the agent does not hold; the disk is tried again only now and then.
    let generation = |agent: &Agent| agent.report().and_then(|r| r.held).map(|held| held.generation);
    for _ in 0..10 {
        agent.order(flying(3)).await;
        sleep(Duration::from_secs(1)).await;
        if generation(&agent) == Some(3) {
            break;
        }
    }
    agent.until_holding().await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn another_drones_order_is_refused_while_the_vehicle_flies() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    let desired = Desired::Grounded {
        why: GroundedWhy::Deleted,
    };
    agent
        .order(Order::Assigned(Assignment {
            uid: DroneUid("u-2".into()),
            ..assignment(1, desired)
        }))
        .await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(vehicle.see(|w| w.count(LAND)), 0);
    assert_eq!(agent.report().unwrap().held.unwrap().uid, DroneUid("u-1".into()));
    agent.order(Order::unassigned(Term(3))).await;
    agent.until_disarmed(60).await;
    agent.order(Order::unassigned(Term(3))).await;
    agent.until("free", 10, |r| r.held.is_none()).await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_order_refused_for_another_drone_deposes_the_older_also_after_a_restart() {
    let vehicle = Vehicle::new(Kind::ArduCopter);
    let agent = vehicle.flown().await;
    let newer = Assignment {
        term: Term(5),
        uid: DroneUid("u-2".into()),
        ..assignment(
            1,
            Desired::Grounded {
                why: GroundedWhy::Deleted,
            },
        )
    };
    agent.order(Order::Assigned(newer)).await;
    sleep(Duration::from_secs(2)).await;
    agent.kill().await;
    let agent = vehicle.agent();
    agent.connect(grounded(2)).await;
    agent.until_holding().await;
    sleep(Duration::from_secs(10)).await;
    let held = agent.report().unwrap().held.unwrap();
    assert_eq!(
        (held.uid, held.term, held.grounded),
        (DroneUid("u-1".into()), Term(3), false)
    );
    assert_eq!(vehicle.see(|w| w.count(LAND)), 0);
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_memory_sends_a_flying_vehicle_nothing_until_it_knows_its_drone() {
    for kind in BOTH {
        let vehicle = Vehicle::new(kind);
        let agent = vehicle.flown().await;
        agent.kill().await;
        let before = vehicle.see(|w| w.steps().len());
        let empty = tempfile::tempdir().unwrap();
        let agent = Agent::start(&vehicle, empty.path(), Duration::from_secs(280));
        // Nobody knows whose it is, so it may be a pilot's.
        agent.connect(Order::unassigned(Term(3))).await;
        agent
            .until("heard", 20, |r| r.truth == FlightTruth::Airborne(Airborne::InAir))
            .await;
        sleep(Duration::from_secs(30)).await;
        assert!(agent.report().unwrap().held.is_none());
        agent.order(flying(1)).await;
        agent.until_holding().await;
        assert_eq!(vehicle.see(|w| w.steps().len()), before, "{kind:?}");
        agent.terminate.cancel();
        assert_eq!(agent.life.await.unwrap(), Ending::Landed);
        assert!(!vehicle.see(|w| w.armed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_only_opens_streams_does_not_put_off_the_failsafe() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.connect(watched(3)).await;
    agent.until_holding().await;
    for _ in 0..30 {
        agent.orders.send(FromUplink::Closed).await.unwrap();
        agent.orders.send(FromUplink::Opened).await.unwrap();
        sleep(Duration::from_secs(1)).await;
    }
    agent.until_disarmed(60).await;
    agent.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_uplink_is_gone_for_good_ends_loudly() {
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.until("heard", 20, |r| r.link_alive).await;
    drop(agent.orders);
    assert_eq!(agent.life.await.unwrap(), Ending::NotLanded);
}

#[tokio::test(start_paused = true)]
async fn what_waited_while_the_agent_was_held_up_does_not_pass_for_fresh() {
    let vehicle = Vehicle::new(Kind::Px4);
    let held_up = Duration::from_secs(30);
    let agent = Agent::start_held_up(&vehicle, vehicle.dir.path(), Duration::from_secs(280), held_up);
    sleep(Duration::from_secs(10)).await;
    vehicle.unplug().await;
    agent.until("a first report", 40, |_| true).await;
    let reports = agent.reports.clone();
    assert!(!reports.borrow().report.as_ref().unwrap().link_alive);
    agent.kill().await;
}

/// Frees the writer of this pipe when dropped, so that a failing test ends too.
struct Answers(std::path::PathBuf);

impl Drop for Answers {
    fn drop(&mut self) {
        let reader = std::fs::File::options().read(true).write(true).open(&self.0);
        let _ = std::fs::remove_file(&self.0);
        // Open long enough for the writer.
        std::thread::sleep(Duration::from_millis(200));
        drop(reader);
    }
}

#[tokio::test]
async fn a_disk_that_does_not_answer_holds_up_neither_reports_nor_a_landing() {
    use nix::sys::stat::Mode;
    let vehicle = Vehicle::new(Kind::Px4);
    let agent = vehicle.agent();
    agent.until("heard", 20, |r| r.link_alive).await;
    // The open of the new file waits for a reader.
    let hung = vehicle.dir.path().join("state.json.new");
    nix::unistd::mkfifo(&hung, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let answers = Answers(hung);
    agent.order(flying(1)).await;
    sleep(Duration::from_secs(2)).await;
    assert!(
        agent.report().unwrap().held.is_none(),
        "an order that may be forgotten is not flown"
    );
    agent.order(grounded(2)).await;
    agent
        .until("held", 5, |r| r.held.as_ref().is_some_and(|h| h.grounded))
        .await;
    agent.until("still heard", 5, |r| r.link_alive).await;
    drop(answers);
    agent.kill().await;
}
