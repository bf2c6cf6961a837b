//! The ArduCopter profile (4.7-dev), from recordings of the real one.
//! Owns: its state, its schedule and the verbs that change it. Must not: share decisions with the PX4 profile.

mod arming;
mod auto;
mod battery_watch;
mod boot;
mod checks;
mod commands;
mod failsafes;
mod fence_watch;
mod flight;
mod gcs_watch;
mod guided;
mod mission_run;
mod mode_change;
mod modes;
mod other_commands;
mod params;
mod plan_rules;
mod position_watch;
mod remote_id;
mod reports;
mod requests;
mod transmitter;

use std::collections::BTreeSet;

use mavlink::dialects::ardupilotmega::MavSeverity;

pub(super) use params::params;

use self::battery_watch::BatteryWatch;
use self::fence_watch::FenceWatch;
use self::flight::{Flight, Outcome, Speeds};
use self::gcs_watch::GcsWatch;
use self::mission_run::MissionRun;
use self::position_watch::PositionWatch;
use self::remote_id::RemoteId;
use self::transmitter::Transmitter;
use super::core::Core;
use super::geo::{Neu, Wgs84};
use super::pilot::{Fault, Pilot};
use super::plan::{PlanKind, Plans};
use super::telemetry::id;
use crate::wire::{Incoming, PlanItem};

/// Delay after lift-off until the compasses are aligned again.
const YAW_ALIGNED_S: f64 = 2.16;
const FIRST_STREAM_HEARTBEAT_S: f64 = 1.02;

pub(super) struct ArduPilot {
    mode: u32,
    announced_mode: u32,
    armed_s: Option<f64>,
    /// Motors may leave idle: a takeoff was accepted or a mission started.
    auto_armed: bool,
    flight: Flight,
    /// Continues after a pause in GUIDED; orders meanwhile are accepted and wait.
    held: Option<Flight>,
    speeds: Speeds,
    idle_since_s: f64,
    home: Option<Wgs84>,
    origin: Option<Wgs84>,
    home_set_us: u64,
    prearm_ok: bool,
    prearm_got_worse: bool,
    next_prearm_text: u32,
    checks_run: u32,
    boot_beats: u32,
    texts_said: usize,
    initialized: bool,
    watch: BatteryWatch,
    gcs: GcsWatch,
    position: PositionWatch,
    fence: FenceWatch,
    remote_id: RemoteId,
    plans: Plans,
    run: MissionRun,
    listing: Option<usize>,
    yaw_text_s: Option<f64>,
    transmitter: Transmitter,
    /// Components of its own system that sent to it: commands to them are theirs.
    components: BTreeSet<u8>,
}

impl ArduPilot {
    pub(super) fn new(core: &mut Core) -> Self {
        core.streams.every(id::HEARTBEAT, 1.0, FIRST_STREAM_HEARTBEAT_S);
        core.streams.every(id::TIMESYNC, 10.0, 10.0);
        let mut fence = FenceWatch::default();
        fence.follow_parameters(core);
        Self {
            mode: modes::STABILIZE,
            announced_mode: modes::STABILIZE,
            armed_s: None,
            auto_armed: false,
            flight: Flight::Landed,
            held: None,
            speeds: Speeds::default(),
            idle_since_s: 0.0,
            home: None,
            origin: None,
            home_set_us: 0,
            prearm_ok: false,
            prearm_got_worse: false,
            next_prearm_text: arming::FIRST_TEXT,
            checks_run: 0,
            boot_beats: 0,
            texts_said: 0,
            initialized: false,
            watch: BatteryWatch::new(),
            gcs: GcsWatch::default(),
            position: PositionWatch::default(),
            fence,
            remote_id: RemoteId::default(),
            plans: Plans::new(&plan_rules::RULES),
            run: MissionRun::default(),
            listing: None,
            yaw_text_s: None,
            transmitter: Transmitter::default(),
            components: BTreeSet::new(),
        }
    }

    fn landed(&self, core: &Core) -> bool {
        self.flight.landed(core.uptime_s)
    }

    fn home_local(&self, core: &Core) -> Neu {
        self.home.map_or(Neu::default(), |home| core.config.home.to_local(home))
    }

    fn flight_step(&mut self, core: &mut Core, dt_s: f64) {
        let home = self.home_local(core);
        if let Flight::Steered { wanted, until_s, .. } = self.flight {
            let allowed = self.fence.slowed(core, self.home, wanted);
            self.flight = Flight::Steered {
                wanted,
                allowed,
                until_s,
            };
        }
        let was_spooling = matches!(self.flight, Flight::Spooling { .. });
        let outcome = self.flight.step(
            &mut core.airframe,
            (&core.params, self.speeds),
            home,
            core.uptime_s,
            dt_s,
        );
        if was_spooling && matches!(self.flight, Flight::Climbing { .. }) {
            self.yaw_text_s = Some(core.uptime_s + YAW_ALIGNED_S);
        }
        if self.yaw_text_s.is_some_and(|at| core.uptime_s >= at) {
            self.yaw_text_s = None;
            for imu in [0, 1] {
                let text = format!("EKF3 IMU{imu} MAG0 in-flight yaw alignment complete");
                self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
            }
        }
        match outcome {
            Outcome::Nothing => {}
            Outcome::HitGround(mm_s) => {
                let text = format!("SIM Hit ground at {:.6} m/s", f64::from(mm_s) / 1000.0);
                self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
            }
            Outcome::Crashed => {
                let text = "Crash: Disarming: AngErr=90>30, Accel=0.0<3.0";
                self.text(core, MavSeverity::MAV_SEVERITY_EMERGENCY, text);
                self.disarm(core);
            }
            Outcome::LandedForGood => {
                self.auto_step(core, outcome);
                if self.armed_s.is_some() {
                    self.disarm(core);
                }
            }
        }
        if self.armed_s.is_none() {
            return;
        }
        core.battery.drain(dt_s);
        if !matches!(self.flight, Flight::Landed) {
            self.idle_since_s = core.uptime_s;
            return;
        }
        let mut delay_s = f64::from(core.params.get("DISARM_DELAY"));
        // It waits for a peer's takeoff.
        if self.armed_s == Some(self.idle_since_s) {
            delay_s *= core.config.seconds_per_peer_second;
        }
        let idle = delay_s > 0.0 && core.uptime_s - self.idle_since_s >= delay_s;
        let started = self
            .armed_s
            .is_some_and(|armed_s| core.uptime_s - armed_s >= flight::MOTORS_HELD_S);
        if (self.mode == modes::LAND && started) || idle {
            self.disarm(core);
        }
    }
}

impl Pilot for ArduPilot {
    fn set_home_here(&mut self, core: &mut Core) {
        if self.home.is_some() {
            self.set_home(core, core.place());
        }
    }

    fn move_home(&mut self, core: &mut Core, place: Wgs84) {
        self.set_home(core, place);
    }

    fn tick(&mut self, core: &mut Core, dt_s: f64) {
        self.boot_step(core);
        self.check_step(core);
        self.failsafe_step(core);
        self.flight_step(core, dt_s);
        self.auto_step(core, Outcome::Nothing);
        self.plan_step(core);
        self.listing_step(core);
        self.stream_step(core);
    }

    fn receive(&mut self, core: &mut Core, incoming: &Incoming) {
        const ONLY_FROM_GROUND_STATIONS: u32 = 1;
        let system = incoming.from.system;
        let strict = core.params.get("MAV_OPTIONS") as u32 & ONLY_FROM_GROUND_STATIONS != 0;
        if strict && system != core.config.system_id && !gcs_watch::is_ground_station(core, system) {
            return;
        }
        core.received_from_peer = true;
        self.request(core, incoming.from, &incoming.request);
    }

    fn suffer(&mut self, core: &mut Core, fault: Fault) {
        match fault {
            Fault::GpsLost => self.position.set_receiver(false),
            Fault::GpsBack => self.position.set_receiver(true),
            Fault::MotorStops => self.lose_motor(core),
        }
    }

    fn fly_by_stick(&mut self, core: &mut Core, to: Neu) {
        if self.landed(core) || self.set_mode(core, modes::LOITER).is_err() {
            return;
        }
        self.announce_mode(core);
        self.flight = Flight::Guided { target: to };
    }

    fn block(&mut self, core: &mut Core, blocked: bool) {
        self.block_voice(core, blocked);
    }

    fn armed(&self) -> bool {
        self.armed_s.is_some()
    }

    fn custom_mode(&self) -> u32 {
        self.mode
    }

    fn has_position(&self, core: &Core) -> bool {
        self.position.is_known(core)
    }

    fn fence(&self) -> Option<Vec<PlanItem>> {
        Some(self.plans.items(PlanKind::Fence).to_vec())
    }

    fn landed_state(&self, core: &Core) -> u8 {
        self.landed_state_number(core)
    }
}
