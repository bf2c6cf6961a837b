//! A captured agent that lies about its vehicle, within the threat model, and a person's reaction. All others keep
//! apart by their true places, and their orders go on, as in any other world.
//!
//! | lie | promised |
//! |---|---|
//! | home and place far away | it moves nobody else: it is not ended |
//! | a place in the air where others fly, and another home on the field | others wait, and say for which, until a person turns it off and lets go of it |
//! | an aircraft over the field | others wait until that was not reported for a while |
//!
//! A person lets go of one that serves a Drone by deleting that and releasing it by force, and declares any other down.

use super::{DRONES, Wild};
use crate::node::Node;
use crate::vehicle::Spot;
use crate::world::Run;
use agent::coordinator::Coordinator;
use agent::logs::LogDesk;
use agent::uplink::{Outward, Uplink};
use http::Method;
use model::ids::NodeName;
use model::report::Report;
use model::route_order::Waypoint;
use model::time::Moment;
use model::traffic::{Aircraft, Altitude};
use model::units::{AltitudeAboveHome, AltitudeAmsl, ComponentId, SystemId, Wgs84};
use model::vehicle::{Airborne, Autopilot, FlightTruth, HardwareUid, Identity, Position};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

/// The first of the nodes with captured agents.
pub const NAME: &str = "captured-0";
const SHARE: f64 = 0.75;
/// Seconds until another lie.
const LASTS: Range<f64> = 15.0..40.0;
const REPORTS: Duration = Duration::from_millis(500);
/// Shares of its lies with an aircraft, and with a vehicle in the air.
const TELLS: f64 = 0.3;
const FLIES: f64 = 0.6;
/// Largest distance from another vehicle, east and north, and altitude, meters.
const BESIDE: f64 = 25.0;
const UP: Range<f64> = 4.0..60.0;
/// False homes, to the side of all others, meters east and north, and errors of altitude.
const HOMES: [(f64, f64); 3] = [(110.0, -60.0), (-110.0, 60.0), (125.0, 70.0)];
const DATUM: Range<f64> = -8.0..8.0;
/// Meters west and north.
const AFAR: Range<f64> = 9_000.0..13_000.0;
/// Hardware, and address of its aircraft: no others'.
const HARDWARE: HardwareUid = HardwareUid::Short(0x00C0_FFEE);
const ICAO: u32 = 0x00AB_CDEF;
/// Its Drone, and the time until it lies, so that it is bound before.
const DRONE: &str = "captured";
const HONEST: Duration = Duration::from_secs(30);
/// Now, by the clock of the coordinators, which stands still.
const EPOCH: &str = "1970-01-01T00:00:00Z";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tale {
    Afar,
    Among,
    Aircraft,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lie {
    at: Spot,
    home: Spot,
    flies: bool,
    aircraft: Option<Spot>,
}

pub struct Liar {
    tale: Tale,
    pub lie: Arc<Mutex<Lie>>,
    next: Duration,
    told: u32,
    is_off: bool,
    /// In half of the worlds where it is ended.
    serves: bool,
}

const fn ground(east: f64, north: f64) -> Spot {
    Spot { east, north, up: 0.0 }
}

impl Liar {
    pub fn of_world(rng: &mut StdRng, seed: u64) -> Option<Self> {
        let tale = [Tale::Afar, Tale::Among, Tale::Aircraft][rng.random_range(0..3)];
        let lies = rng.random_bool(SHARE);
        let (east, north) = HOMES[rng.random_range(0..HOMES.len())];
        let home = ground(east, north);
        let lie = Lie {
            at: home,
            home,
            flies: false,
            aircraft: None,
        };
        let liar = Self {
            tale,
            lie: Arc::new(Mutex::new(lie)),
            next: Duration::ZERO,
            told: 0,
            is_off: false,
            serves: tale != Tale::Afar && seed.is_multiple_of(2),
        };
        lies.then_some(liar)
    }

    pub fn account(&self) -> String {
        let whose = if self.serves { "with" } else { "without" };
        format!("{} lies of one captured {whose} a Drone ({:?})", self.told, self.tale)
    }

    fn another(&self, fly: &[Spot], rng: &mut StdRng) -> Lie {
        let (east, north) = HOMES[rng.random_range(0..HOMES.len())];
        let on_field = ground(east, north);
        let flies = rng.random_bool(FLIES);
        match self.tale {
            Tale::Afar => {
                let home = ground(-rng.random_range(AFAR), rng.random_range(AFAR));
                let up = if flies { rng.random_range(UP) } else { 0.0 };
                Lie {
                    at: Spot { up, ..home },
                    home,
                    flies,
                    aircraft: None,
                }
            }
            Tale::Among => {
                let home = Spot {
                    up: rng.random_range(DATUM),
                    ..on_field
                };
                let near = match fly.is_empty() {
                    true => on_field,
                    false => fly[rng.random_range(0..fly.len())],
                };
                let there = Spot {
                    east: near.east + rng.random_range(-BESIDE..BESIDE),
                    north: near.north + rng.random_range(-BESIDE..BESIDE),
                    up: rng.random_range(UP),
                };
                Lie {
                    at: if flies { there } else { home },
                    home,
                    flies,
                    aircraft: None,
                }
            }
            Tale::Aircraft => {
                let aircraft = Spot {
                    east: rng.random_range(-60.0..120.0),
                    north: rng.random_range(-60.0..120.0),
                    up: rng.random_range(0.0..100.0),
                };
                Lie {
                    at: on_field,
                    home: on_field,
                    flies: false,
                    aircraft: rng.random_bool(TELLS).then_some(aircraft),
                }
            }
        }
    }
}

fn on_earth(spot: Spot) -> Wgs84 {
    let (latitude_deg, longitude_deg) = spot.degrees();
    Wgs84 {
        latitude_deg,
        longitude_deg,
    }
}

fn report(node: &NodeName, lie: &Lie, now: Duration) -> Report {
    let made = Moment::at(now);
    let aircraft = lie.aircraft.map(|spot| Aircraft {
        icao: ICAO,
        at: on_earth(spot),
        altitude: Some(Altitude::Satellite(AltitudeAmsl(spot.amsl()))),
        velocity: Some([0.0, 0.0]),
        climb: Some(0.0),
        may_be_uncrewed: false,
        seen: made,
    });
    Report {
        made,
        link_alive: true,
        identity: Some(Identity {
            autopilot: Autopilot::Px4,
            system: SystemId(7),
            component: ComponentId(1),
            firmware: None,
            hardware: Some(HARDWARE),
        }),
        truth: match lie.flies {
            true => FlightTruth::Airborne(Airborne::InAir),
            false => FlightTruth::Disarmed,
        },
        ready: Some(true),
        position: Some(Position {
            at: on_earth(lie.at),
            amsl: AltitudeAmsl(lie.at.amsl()),
            above_home: AltitudeAboveHome(lie.at.up - lie.home.up),
        }),
        position_at: Some(made),
        home: Some(Waypoint {
            at: on_earth(lie.home),
            amsl: AltitudeAmsl(lie.home.amsl()),
        }),
        return_height: Some(AltitudeAboveHome(30.0)),
        others_flew: lie.flies,
        traffic: aircraft.into_iter().collect(),
        ..Report::of_nothing(node.clone())
    }
}

/// Reports the present `lie`, and follows no order. It uses the network of the node `like`.
pub async fn live(like: Node, lie: Arc<Mutex<Lie>>) -> turmoil::Result {
    let node = NodeName::parse(NAME)?;
    let mut coordinator = Coordinator::plain("http://127.0.0.1:50051")?;
    coordinator.network = like.network();
    let (reports, outward) = watch::channel(Outward::default());
    let (pilot, mut ignored) = mpsc::channel(16);
    let uplink = Uplink {
        coordinator,
        node: node.clone(),
        life: like.rng.lock().unwrap().random(),
        outward,
        pilot,
        guests: mpsc::channel(1).0,
        logs: LogDesk::default(),
        farewell: CancellationToken::new(),
    };
    tokio::spawn(uplink.keep());
    let mut tick = interval(REPORTS);
    loop {
        tokio::select! {
            word = ignored.recv() => {
                if word.is_none() {
                    return Err(format!("{NAME} ended by itself").into());
                }
            }
            _ = tick.tick() => {
                let now = turmoil::sim_elapsed().unwrap_or_default();
                let told = *lie.lock().unwrap();
                reports.send_replace(Outward { report: Some(report(&node, &told, now)), ..Outward::default() });
            }
        }
    }
}

impl Run<'_> {
    pub(super) fn let_the_liar_speak(&mut self, wild: &mut Wild) {
        let now = self.sim.elapsed();
        let Some(liar) = wild.liar.as_mut().filter(|liar| !liar.is_off && liar.next <= now) else {
            return;
        };
        let here = self.nodes.iter().filter(|node| self.kind_of(node.number) != "far");
        let spots = here.filter_map(|node| node.vehicle.spot());
        let fly: Vec<Spot> = spots.map(|(at, _)| at).filter(|at| at.up > UP.start).collect();
        let lie = liar.another(&fly, &mut wild.rng);
        *liar.lie.lock().unwrap() = lie;
        liar.told += 1;
        liar.next = now + Duration::from_secs_f64(wild.rng.random_range(LASTS));
        self.tell(&format!("{NAME} lies: {lie:.1?}"));
    }

    pub(super) fn ask_for_the_captured_one(&self, wild: &mut Wild) {
        let Some(liar) = wild.liar.as_mut().filter(|liar| liar.serves) else {
            return;
        };
        liar.next = self.sim.elapsed() + HONEST;
        let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": DRONE},
            "spec": {"nodeName": NAME}});
        self.ask(Method::POST, DRONES, &drone);
    }

    /// A person turns it off and lets go of its vehicle, where others wait for it. One that is far away may go on.
    pub(super) fn silence_the_liar(&mut self, wild: &mut Wild) {
        let Some(liar) = wild.liar.as_mut().filter(|liar| !liar.is_off) else {
            return;
        };
        if liar.tale == Tale::Afar {
            return;
        }
        liar.is_off = true;
        self.tell(&format!("a person turns {NAME} off"));
        self.sim.crash(NAME);
        if self.release_the_captured_one() {
            return;
        }
        self.tell(&format!("a person declares {NAME} down"));
        let down = json!({"metadata": {"annotations": {crds::labels::VEHICLE_IS_DOWN: EPOCH}}});
        self.ask(Method::PATCH, &format!("/api/v1/nodes/{NAME}"), &down);
    }

    /// Deletes its Drone. One that its vehicle serves is released by force: the agent takes no order to land. Whether there was such a one.
    fn release_the_captured_one(&mut self) -> bool {
        let path = format!("{DRONES}/{DRONE}");
        let drone = self.ask(Method::GET, &path, &Value::Null);
        if drone["kind"] != "Drone" {
            return false;
        }
        self.ask(Method::DELETE, &path, &Value::Null);
        if !drone["status"]["nodeName"].is_string() {
            return false;
        }
        self.tell(&format!("a person deletes Drone {DRONE} and releases it by force"));
        let forced = json!({"metadata": {"annotations": {crds::labels::FORCE_RELEASE: drone["metadata"]["uid"]}}});
        self.ask(Method::PATCH, &path, &forced);
        true
    }
}
