//! A program that flies a vehicle by fast set-points, through the hub of its agent, and ends with its agent.

use crate::vehicle::{Spot, Vehicle};
use agent::gcs::counters::Counters;
use agent::gcs::guest::GuestAdmission;
use agent::gcs::hub::{Hub, Out, write_out};
use agent::gcs::lease::Lease;
use agent::gcs::switch::{Policy, Rights};
use agent_testkit::autopilot::{self, Kind};
use link::LinkHandle;
use link::dialect::{
    COMMAND_LONG_DATA, HEARTBEAT_DATA, MavAutopilot, MavCmd, MavFrame, MavMessage, MavType, PositionTargetTypemask,
    SET_POSITION_TARGET_GLOBAL_INT_DATA, SET_POSITION_TARGET_LOCAL_NED_DATA,
};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::interval;

const SAYS: Duration = Duration::from_millis(100);
const ASKS: Duration = Duration::from_secs(1);
/// System and component.
const WHO: (u8, u8) = (245, 190);
/// PX4's OFFBOARD.
const OFFBOARD: u32 = 0x0006_0000;
/// Ignored parts of a set-point: all but velocities, and all but the place.
const VELOCITIES: u16 = 0x0DC7;
const PLACES: u16 = 0x0DF8;
/// Over ground and upright, meters per second.
const FAST: Range<f64> = 3.0..8.0;
const UPRIGHT: Range<f64> = -1.5..1.5;
const SLOW: f64 = 2.0;
/// Within this share of the radius from the edge it comes back no faster, meters per second, or it is taken back at
/// once.
const NEAR: f64 = 0.5;
const BACK: f64 = 3.5;
/// Seconds of one activity, and at most of one that keeps it inside.
const GOES_ON: Range<f64> = 1.0..6.0;
const TURNS: f64 = 2.5;
const SILENT: Range<f64> = 0.3..7.0;
const TAPPED: usize = 1024;
const FROM_GUESTS: usize = 64;
const BYTES_PER_SECOND: u32 = 46_080;
/// Makes its random numbers differ from those of the world.
const OTHER: u64 = 0x0B0A_4D00;

/// An upright cylinder, by true places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    pub middle: Spot,
    pub radius: f64,
    pub below: f64,
    pub above: f64,
}

impl Volume {
    /// Meters inside, over ground and in altitude; negative: outside.
    pub fn depth(&self, at: Spot) -> (f64, f64) {
        let up = at.up - self.middle.up;
        (
            self.radius - self.middle.over_ground(at),
            f64::min(self.above - up, self.below + up),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Silent,
    Beats,
    /// Velocities, meters per second east, north and up.
    Flies([f64; 3]),
    GoesTo(Spot),
}

#[derive(Debug)]
struct Mind {
    rng: StdRng,
    does: Does,
    until: Duration,
    asked_at: Option<Duration>,
    is_calm: bool,
}

/// Cheap to clone; clones share state.
#[derive(Clone)]
pub struct Program {
    pub volume: Volume,
    pub kind: Kind,
    vehicle: Vehicle,
    mind: Arc<Mutex<Mind>>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mind = self.mind.lock().unwrap();
        write!(f, "{:.1?} until {:.1?} in {:?}", mind.does, mind.until, self.volume)
    }
}

impl Mind {
    fn decide(&mut self, volume: &Volume, at: Spot, now: Duration) {
        let rng = &mut self.rng;
        let course = rng.random_range(0.0..std::f64::consts::TAU);
        let (fast, climb) = (rng.random_range(FAST), rng.random_range(UPRIGHT));
        let ahead = |course: f64, speed: f64| [speed * course.sin(), speed * course.cos(), climb];
        let beside = |share: f64| Spot {
            east: volume.middle.east + volume.radius * share * course.sin(),
            north: volume.middle.north + volume.radius * share * course.cos(),
            up: volume.middle.up + climb,
        };
        let back = (volume.middle.east - at.east).atan2(volume.middle.north - at.north);
        let (wide, high) = volume.depth(at);
        let mut seconds = rng.random_range(GOES_ON);
        self.does = match rng.random_range(0..16) {
            0 => {
                seconds = rng.random_range(SILENT);
                Does::Silent
            }
            1 => Does::Beats,
            2 | 3 => Does::GoesTo(beside(rng.random_range(0.0..0.7))),
            4 => Does::GoesTo(beside(rng.random_range(0.8..1.5))),
            5 => Does::Flies(ahead(course, fast)),
            6 => Does::Flies(ahead(back + std::f64::consts::PI, fast)),
            _ => {
                seconds = seconds.min(TURNS);
                let speed = if wide < volume.radius * NEAR {
                    fast.min(BACK)
                } else {
                    fast
                };
                let mut velocity = ahead(back + rng.random_range(-0.4..0.4), speed);
                if high < volume.below.min(volume.above) * NEAR {
                    velocity[2] = (volume.middle.up - at.up).clamp(-1.0, 1.0);
                }
                Does::Flies(velocity)
            }
        };
        self.until = now + Duration::from_secs_f64(seconds);
    }

    fn go_slowly(&mut self, volume: &Volume, at: Spot, now: Duration) {
        let beside = if (now.as_secs() / 8).is_multiple_of(2) {
            6.0
        } else {
            -6.0
        };
        let (east, north) = (volume.middle.east + beside - at.east, volume.middle.north - at.north);
        let speed = SLOW.min(east.hypot(north) / 2.0);
        let course = east.atan2(north);
        let climb = ((volume.middle.up - at.up) / 3.0).clamp(-1.0, 1.0);
        self.does = Does::Flies([speed * course.sin(), speed * course.cos(), climb]);
        self.until = now;
    }
}

impl Program {
    pub fn new(volume: Volume, kind: Kind, vehicle: Vehicle, seed: u64) -> Self {
        Self {
            volume,
            kind,
            vehicle,
            mind: Arc::new(Mutex::new(Mind {
                rng: StdRng::seed_from_u64(seed ^ OTHER),
                does: Does::Silent,
                until: Duration::ZERO,
                asked_at: None,
                is_calm: false,
            })),
        }
    }

    pub fn calm(&self) {
        self.mind.lock().unwrap().is_calm = true;
    }

    /// Requested speed over ground and upright, meters per second.
    pub fn asked(&self) -> (f64, f64) {
        match self.mind.lock().unwrap().does {
            Does::Flies([east, north, up]) => (east.hypot(north), up.abs()),
            Does::Silent | Does::Beats | Does::GoesTo(_) => (0.0, 0.0),
        }
    }

    /// Lives as long as its agent, and speaks through the agent's hub.
    pub async fn run(self, link: LinkHandle, lease: Lease) {
        let policy = Policy {
            read_only: false,
            pass_heartbeats: false,
        };
        let counters: Arc<Counters> = Arc::default();
        let out = Arc::new(Out::new(BYTES_PER_SECOND).leasing(lease.clone()));
        let (to_hub, from_guests) = mpsc::channel(FROM_GUESTS);
        let programs = GuestAdmission::new(to_hub, Arc::clone(&counters)).apart(1, Rights::Control);
        let hub = Hub::new(policy, lease, Arc::clone(&out), Arc::clone(&counters));
        let tap = link.tap(TAPPED);
        tokio::select! {
            () = hub.run(tap, from_guests) => {}
            () = write_out(out, link, counters) => {}
            () = self.talk(&programs) => {}
        }
    }

    async fn talk(&self, programs: &GuestAdmission) {
        let Some(mut guest) = programs.admit("program".to_owned(), Arc::default()).await else {
            return;
        };
        let mut tick = interval(SAYS);
        loop {
            tick.tick().await;
            for message in self.says() {
                guest.receive(&bytes(&message)).await;
            }
        }
    }

    fn says(&self) -> Vec<MavMessage> {
        let Some((at, home)) = self.vehicle.spot() else {
            return Vec::new();
        };
        let (mode, now) = (self.vehicle.mode(), turmoil::sim_elapsed().unwrap_or_default());
        let mut mind = self.mind.lock().unwrap();
        if mind.is_calm {
            mind.go_slowly(&self.volume, at, now);
        } else if now >= mind.until {
            mind.decide(&self.volume, at, now);
        }
        let mut all: Vec<MavMessage> = match mind.does {
            Does::Silent => return Vec::new(),
            Does::Beats => Vec::new(),
            Does::Flies(velocity) => vec![by_velocity(velocity)],
            Does::GoesTo(place) => vec![to_place(place, home)],
        };
        if mind.asked_at.is_none_or(|then| now >= then + ASKS) {
            mind.asked_at = Some(now);
            let wants_mode = self.kind == Kind::Px4 && mode != OFFBOARD && !all.is_empty();
            all.push(beat());
            if wants_mode {
                all.push(offboard());
            }
        }
        all
    }
}

fn by_velocity([east, north, up]: [f64; 3]) -> MavMessage {
    MavMessage::SET_POSITION_TARGET_LOCAL_NED(SET_POSITION_TARGET_LOCAL_NED_DATA {
        vx: north as f32,
        vy: east as f32,
        vz: -up as f32,
        type_mask: PositionTargetTypemask::from_bits_truncate(VELOCITIES),
        target_system: autopilot::SYSTEM,
        target_component: 1,
        coordinate_frame: MavFrame::MAV_FRAME_LOCAL_NED,
        ..SET_POSITION_TARGET_LOCAL_NED_DATA::default()
    })
}

#[allow(deprecated, reason = "programs still send what is old")]
fn to_place(place: Spot, home: Spot) -> MavMessage {
    let (latitude, longitude) = place.degrees();
    let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
    MavMessage::SET_POSITION_TARGET_GLOBAL_INT(SET_POSITION_TARGET_GLOBAL_INT_DATA {
        lat_int: e7(latitude),
        lon_int: e7(longitude),
        alt: (place.up - home.up) as f32,
        type_mask: PositionTargetTypemask::from_bits_truncate(PLACES),
        target_system: autopilot::SYSTEM,
        target_component: 1,
        coordinate_frame: MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
        ..SET_POSITION_TARGET_GLOBAL_INT_DATA::default()
    })
}

fn beat() -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GCS,
        autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
        mavlink_version: 3,
        ..HEARTBEAT_DATA::default()
    })
}

fn offboard() -> MavMessage {
    MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
        param1: 1.0,
        param2: 6.0,
        command: MavCmd::MAV_CMD_DO_SET_MODE,
        target_system: autopilot::SYSTEM,
        target_component: 1,
        ..COMMAND_LONG_DATA::default()
    })
}

fn bytes(message: &MavMessage) -> Vec<u8> {
    let header = MavHeader {
        system_id: u32::from(WHO.0),
        component_id: WHO.1,
        sequence: 0,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    raw.raw_bytes().to_vec()
}
