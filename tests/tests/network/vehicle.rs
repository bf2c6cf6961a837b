//! The vehicle of a node: a scripted autopilot, which stays above its home, or one of the simulator, which flies.

use crate::wire::RulesWire;
use agent_testkit::autopilot;
use link::decode::decode;
use link::dialect::{MavCmd, MavMessage};
use link::framing::Framer;
use sitl::faults::{Around, ModeNumber, Script, Sudden, What};
use sitl::model::{Autopilot, Fault, GpsError, Neu, Port, VehicleConfig, Wgs84, Wind};
use sitl::wire::PlanItem;
use sitl::wired::{Event, WiredVehicle};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::interval;

const STEP: Duration = Duration::from_millis(20);
/// It was switched on so long before the run that it is ready.
const BOOT: Duration = Duration::from_secs(60);
const CENTER: Wgs84 = Wgs84 {
    lat_deg: 47.397_742,
    lon_deg: 8.545_594,
    amsl_m: 488.0,
};

/// A true place, meters east and north of where the runs take place, and above the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    pub east: f64,
    pub north: f64,
    pub up: f64,
}

impl Spot {
    pub fn over_ground(self, other: Self) -> f64 {
        (self.east - other.east).hypot(self.north - other.north)
    }

    /// Latitude and longitude, degrees.
    pub fn degrees(self) -> (f64, f64) {
        let place = self.on_earth();
        (place.lat_deg, place.lon_deg)
    }

    pub fn at_degrees(lat_deg: f64, lon_deg: f64) -> Self {
        Self::of(Wgs84 {
            lat_deg,
            lon_deg,
            ..CENTER
        })
    }

    /// Meters above mean sea level.
    pub const fn amsl(self) -> f64 {
        CENTER.amsl_m + self.up
    }

    fn on_earth(self) -> Wgs84 {
        let place = CENTER.offset_meters(self.north, self.east);
        Wgs84 {
            amsl_m: CENTER.amsl_m + self.up,
            ..place
        }
    }

    fn of(place: Wgs84) -> Self {
        let local = CENTER.to_local(place);
        Self {
            east: local.east,
            north: local.north,
            up: local.up,
        }
    }
}

/// Cheap to clone; clones share state.
#[derive(Clone)]
pub enum Vehicle {
    Scripted(autopilot::Shared),
    Simulated(Arc<Mutex<Simulated>>),
}

pub struct Simulated {
    wired: WiredVehicle,
    home: Spot,
    framer: Framer,
    received: Vec<MavCmd>,
    rules: RulesWire,
}

impl Vehicle {
    pub fn simulated(kind: autopilot::Kind, home: Spot) -> Self {
        Self::with_gps(kind, home, GpsError::default())
    }

    pub fn with_gps(kind: autopilot::Kind, home: Spot, gps: GpsError) -> Self {
        let autopilot = match kind {
            autopilot::Kind::Px4 => Autopilot::Px4,
            autopilot::Kind::ArduCopter => Autopilot::ArduPilot,
        };
        let config = VehicleConfig {
            battery_percent_per_minute: 0.0,
            port: Port::Network,
            gps,
            ..VehicleConfig::new(autopilot, autopilot::SYSTEM, home.on_earth())
        };
        let mut wired = WiredVehicle::with_faults(config, &Script::default(), "", 0.0);
        wired.step(BOOT);
        Self::Simulated(Arc::new(Mutex::new(Simulated {
            wired,
            home,
            framer: Framer::default(),
            received: Vec::new(),
            rules: RulesWire::default(),
        })))
    }

    pub async fn run(self, lines: mpsc::Receiver<DuplexStream>) {
        match self {
            Self::Scripted(world) => autopilot::run(world, lines).await,
            Self::Simulated(simulated) => run(simulated, lines).await,
        }
    }

    /// Whether its arming checks pass. A simulated one loses its position for that, and only on the ground.
    pub fn set_ready(&self, ready: bool) {
        match self {
            Self::Scripted(world) => world.lock().unwrap().ready = ready,
            Self::Simulated(one) => {
                let mut one = one.lock().unwrap();
                let vehicle = one.wired.vehicle_mut();
                if ready {
                    vehicle.suffer(Fault::GpsBack);
                } else if !vehicle.truth().armed {
                    vehicle.suffer(Fault::GpsLost);
                }
            }
        }
    }

    pub fn armed(&self) -> bool {
        match self {
            Self::Scripted(world) => world.lock().unwrap().armed,
            Self::Simulated(one) => one.lock().unwrap().wired.vehicle().truth().armed,
        }
    }

    pub fn mode(&self) -> u32 {
        match self {
            Self::Scripted(world) => world.lock().unwrap().custom_mode,
            Self::Simulated(one) => one.lock().unwrap().wired.vehicle().truth().custom_mode,
        }
    }

    /// Above the ground, meters.
    pub fn height(&self) -> f64 {
        match self {
            Self::Scripted(world) => f64::from(world.lock().unwrap().altitude),
            Self::Simulated(one) => one.lock().unwrap().wired.vehicle().truth().height_m,
        }
    }

    /// Its true place, and that from which it was switched on; `None` for one that does not move.
    pub fn spot(&self) -> Option<(Spot, Spot)> {
        match self {
            Self::Scripted(_) => None,
            Self::Simulated(one) => {
                let one = one.lock().unwrap();
                Some((Spot::of(one.wired.vehicle().truth().place), one.home))
            }
        }
    }

    /// A person carries it back to where it was switched on, if it is on the ground with its motors off.
    pub fn carry_home(&self) {
        if let Self::Simulated(one) = self {
            let mut one = one.lock().unwrap();
            let home = one.home.on_earth();
            one.wired.vehicle_mut().carry(home);
        }
    }

    /// A pilot takes it over in the air, or has it, and flies it by stick to `to`.
    pub fn fly_by_stick(&self, to: Spot) {
        if let Self::Simulated(one) = self {
            one.lock().unwrap().wired.vehicle_mut().fly_by_stick(to.on_earth());
        }
    }

    pub fn change_mode(&self, mode: ModeNumber) {
        if let Self::Simulated(one) = self {
            one.lock().unwrap().wired.inject(What::Sudden(Sudden::Mode(mode)));
        }
    }

    /// Its receiver reports an aircraft that hovers at `aircraft`, for this long. A scripted one has no receiver.
    pub fn show_aircraft(&self, aircraft: Spot, stays: Duration) {
        if let Self::Simulated(one) = self {
            let mut one = one.lock().unwrap();
            let from_home = Neu {
                north: aircraft.north - one.home.north,
                east: aircraft.east - one.home.east,
                up: aircraft.up - one.home.up,
            };
            let aircraft = What::Around(Around::Aircraft(from_home), Some(stays.as_secs_f64()));
            one.wired.inject(aircraft);
        }
    }

    /// The wind blows, and its estimated place wanders by as much as `fleet` expects. A scripted one stays where it is.
    pub fn is_out_in_the_weather(&self, wind: Wind, drift_m: f64) {
        if let Self::Simulated(one) = self {
            one.lock().unwrap().wired.vehicle_mut().set_weather(wind, drift_m);
        }
    }

    /// Percent. A scripted one has no battery.
    pub fn set_battery(&self, percent: f64) {
        if let Self::Simulated(one) = self {
            one.lock().unwrap().wired.vehicle_mut().set_battery(percent);
        }
    }

    /// The items of a complete fence on it; `None` while a part is missing. A scripted one has none.
    pub fn fence(&self) -> Option<Vec<PlanItem>> {
        match self {
            Self::Scripted(_) => Some(Vec::new()),
            Self::Simulated(one) => one.lock().unwrap().wired.vehicle().fence(),
        }
    }

    pub fn parameter(&self, name: &str) -> Option<f32> {
        match self {
            Self::Scripted(_) => None,
            Self::Simulated(one) => one.lock().unwrap().wired.vehicle().parameter(name),
        }
    }

    /// A simulated one takes care of itself when its battery is low or its ground station is gone.
    pub fn set_failsafes(&self) {
        let Self::Simulated(one) = self else { return };
        let mut one = one.lock().unwrap();
        for (name, value) in [
            ("FS_GCS_ENABLE", 1.0),
            ("BATT_FS_LOW_ACT", 2.0),
            ("NAV_DLL_ACT", 2.0),
            ("COM_LOW_BAT_ACT", 3.0),
        ] {
            one.wired.vehicle_mut().write_parameter(name, value);
        }
    }

    /// A simulated one returns only when its ground station is away for so long, seconds.
    pub fn waits_for_its_ground_station(&self, seconds: f32) {
        let Self::Simulated(one) = self else { return };
        let mut one = one.lock().unwrap();
        for name in ["FS_GCS_TIMEOUT", "COM_DL_LOSS_T"] {
            one.wired.vehicle_mut().write_parameter(name, seconds);
        }
    }

    pub fn make_read_only(&self, name: &str) {
        if let Self::Simulated(one) = self {
            one.lock().unwrap().wired.vehicle_mut().make_read_only(name);
        }
    }

    pub fn rules_wire(&self) -> RulesWire {
        match self {
            Self::Scripted(_) => RulesWire::default(),
            Self::Simulated(one) => one.lock().unwrap().rules.clone(),
        }
    }

    pub fn commands(&self, known: usize) -> Vec<MavCmd> {
        match self {
            Self::Scripted(world) => {
                let world = world.lock().unwrap();
                let new = world.received.iter().skip(known);
                new.map(|received| received.command).collect()
            }
            Self::Simulated(one) => one.lock().unwrap().received.iter().skip(known).copied().collect(),
        }
    }
}

impl Simulated {
    fn receive(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.framer.push(bytes);
        while let Some(frame) = self.framer.next_frame() {
            match decode(&frame) {
                Ok((_, MavMessage::COMMAND_LONG(m))) => self.received.push(m.command),
                Ok((_, MavMessage::COMMAND_INT(m))) => self.received.push(m.command),
                Ok((_, message)) => self.rules.take_in(&message),
                Err(_) => {}
            }
        }
        self.wired.receive(bytes)
    }
}

async fn run(simulated: Arc<Mutex<Simulated>>, mut lines: mpsc::Receiver<DuplexStream>) {
    let mut line: Option<DuplexStream> = None;
    let mut tick = interval(STEP);
    let mut buffer = [0; 2048];
    loop {
        let events = tokio::select! {
            new = lines.recv() => match new {
                Some(new) => {
                    line = Some(new);
                    simulated.lock().unwrap().framer = Framer::default();
                    continue;
                }
                None => return,
            },
            read = async { match line.as_mut() {
                Some(line) => line.read(&mut buffer).await,
                None => std::future::pending().await,
            }} => match read {
                Ok(0) | Err(_) => { line = None; continue; }
                Ok(n) => simulated.lock().unwrap().receive(&buffer[..n]),
            },
            _ = tick.tick() => simulated.lock().unwrap().wired.step(STEP),
        };
        let Some(line) = line.as_mut() else { continue };
        for event in events {
            if let Event::Sent(bytes) | Event::Bytes(bytes) = event
                && line.write_all(&bytes).await.is_err()
            {
                break;
            }
        }
    }
}
