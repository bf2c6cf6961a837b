//! What has been heard from one vehicle, the same for all autopilots, and what follows from it.

use crate::accuracy::Accuracy;
use crate::alarm::Alarm;
use crate::home_shift::HomeShift;
use crate::inventory::Inventory;
use crate::monitored_battery::Drives;
use crate::time::{Moment, Sighting};
use crate::units::{Address, AltitudeAboveHome, AltitudeAmsl, ComponentId, Heading, Percent, SystemId, Volts, Wgs84};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::mem::discriminant;
use std::time::Duration;

/// Age of a HEARTBEAT at which the link is lost: heartbeats come at 1 Hz, and 4 to 5 s is the convention.
pub const LINK_LOST_AFTER: Duration = Duration::from_secs(5);

/// Age of EXTENDED_SYS_STATE or HEARTBEAT after which they say nothing about flight.
pub const TRUTH_STALE_AFTER: Duration = Duration::from_secs(3);

/// On links that carry EXTENDED_SYS_STATE rarely, "in the air" counts for up to this long. "On the ground" never counts for longer than
/// [`TRUTH_STALE_AFTER`]: arming depends on it.
pub const AIRBORNE_STALE_AFTER: Duration = LINK_LOST_AFTER;

/// Slow lines carry GPS_RAW_INT every eight seconds.
pub const ACCURACY_STALE_AFTER: Duration = Duration::from_secs(15);

/// Mean intervals without EXTENDED_SYS_STATE that are more than a lost message or two.
const INTERVALS_MISSED: u32 = 3;

/// HEARTBEAT.autopilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Autopilot {
    /// MAV_AUTOPILOT_ARDUPILOTMEGA (3).
    ArduPilot,
    /// MAV_AUTOPILOT_PX4 (12).
    Px4,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub autopilot: Autopilot,
    pub system: SystemId,
    pub component: ComponentId,
    /// Such as `4.7.0-dev`, from AUTOPILOT_VERSION (148); `None` until it answered.
    pub firmware: Option<String>,
    /// `None` until AUTOPILOT_VERSION answered, and for hardware without a number.
    pub hardware: Option<HardwareUid>,
}

/// Factory number of the autopilot's hardware: AUTOPILOT_VERSION (148).uid2, else .uid. Another number is another airframe, whatever its
/// system id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum HardwareUid {
    /// AUTOPILOT_VERSION.uid, 8 bytes.
    Short(u64),
    /// AUTOPILOT_VERSION.uid2, 18 bytes.
    Long([u8; 18]),
}

impl HardwareUid {
    /// Zeros are no number.
    pub fn of(uid: u64, uid2: [u8; 18]) -> Option<Self> {
        match (uid2 == [0; 18], uid) {
            (false, _) => Some(Self::Long(uid2)),
            (true, 0) => None,
            (true, uid) => Some(Self::Short(uid)),
        }
    }

    /// Whether the two are numbers of two airframes: one airframe has one of each kind.
    pub fn contradicts(self, other: Self) -> bool {
        discriminant(&self) == discriminant(&other) && self != other
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        match text.len() {
            16 => u64::from_str_radix(text, 16).ok().map(Self::Short),
            36 => {
                let mut bytes = [0; 18];
                for (byte, at) in bytes.iter_mut().zip((0..36).step_by(2)) {
                    *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
                }
                Some(Self::Long(bytes))
            }
            _ => None,
        }
    }
}

/// 16 or 36 hexadecimal digits.
impl fmt::Display for HardwareUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(uid) => write!(f, "{uid:016x}"),
            Self::Long(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

impl From<HardwareUid> for String {
    fn from(uid: HardwareUid) -> Self {
        uid.to_string()
    }
}

impl TryFrom<String> for HardwareUid {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a hardware uid is 16 or 36 hexadecimal digits")
    }
}

/// Whether the airframe on the wire is the one that serves the held Drone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Airframe {
    /// As far as its hardware shows.
    Same,
    /// Its number has not been reported yet. In the air that changes nothing; on the ground it is sent nothing.
    Unread,
    Another,
}

impl Identity {
    pub const fn address(&self) -> Address {
        Address {
            system: self.system,
            component: self.component,
        }
    }
}

/// EXTENDED_SYS_STATE (245).landed_state other than undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LandedState {
    /// MAV_LANDED_STATE_ON_GROUND (1).
    OnGround,
    /// MAV_LANDED_STATE_IN_AIR (2).
    InAir,
    /// MAV_LANDED_STATE_TAKEOFF (3).
    TakingOff,
    /// MAV_LANDED_STATE_LANDING (4).
    Landing,
}

/// Flight mode, by its meaning for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// We command, and the vehicle holds its place: ArduCopter GUIDED, PX4 AUTO.LOITER (Hold).
    Station,
    /// Climbs on our takeoff command: PX4 AUTO.TAKEOFF. ArduCopter climbs in [`Mode::Station`].
    Takeoff,
    /// LAND, AUTO.LAND (PX4 reports its Descend failsafe as this too).
    Land,
    /// RTL, SMART_RTL, AUTO.RTL.
    Return,
    /// ArduCopter AUTO, PX4 AUTO.MISSION. Ours only while it is on a plan of ours: see [`Vehicle::mode`].
    Mission,
    /// A pilot's mode, or an unknown one. Somebody else is in command.
    Foreign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeReport {
    pub mode: Mode,
    /// The autopilot's own name, such as `GUIDED` or `AUTO.LOITER`.
    pub label: String,
}

/// Part of HEARTBEAT (0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// base_mode bit 128, MAV_MODE_FLAG_SAFETY_ARMED.
    pub armed: bool,
    pub mode: ModeReport,
}

/// HEARTBEAT (0).system_status, as far as it shows failsafes (see [`crate::failsafe`]) or a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SystemState {
    #[default]
    Normal,
    /// MAV_STATE_BOOT (1), or MAV_STATE_UNINIT (0) of PX4, which reports it until its checks before arming have passed.
    Starting,
    /// MAV_STATE_CRITICAL (5).
    Critical,
    /// MAV_STATE_EMERGENCY (6).
    Emergency,
    /// MAV_STATE_FLIGHT_TERMINATION (8).
    Terminated,
}

/// BATTERY_STATUS (147).charge_state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Charge {
    #[default]
    Unknown,
    /// MAV_BATTERY_CHARGE_STATE_OK (1), or charging.
    Fine,
    /// MAV_BATTERY_CHARGE_STATE_LOW (2).
    Low,
    /// MAV_BATTERY_CHARGE_STATE_UNHEALTHY (6).
    Unhealthy,
    /// MAV_BATTERY_CHARGE_STATE_CRITICAL (3): return now.
    Critical,
    /// MAV_BATTERY_CHARGE_STATE_EMERGENCY (4): land now.
    Emergency,
    /// MAV_BATTERY_CHARGE_STATE_FAILED (5).
    Failed,
}

/// From BATTERY_STATUS (147) or SYS_STATUS (1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Battery {
    /// `None` when the autopilot does not know (-1).
    pub remaining: Option<Percent>,
    pub voltage: Option<Volts>,
    /// Not reported to the coordinator.
    pub charge: Charge,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonitoredBattery {
    /// BATTERY_STATUS.id, from 0: ArduPilot's BATT is 0 and its BATT2 is 1, PX4's BAT1 is 0.
    pub id: u8,
    pub drives: Drives,
    /// Cells of lithium polymer or ion in series, where BATTERY_STATUS has a voltage of each.
    pub cells: Option<u8>,
    pub reading: Sighting<Battery>,
}

/// From GLOBAL_POSITION_INT (33).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    pub at: Wgs84,
    pub amsl: AltitudeAmsl,
    pub above_home: AltitudeAboveHome,
}

/// Whether a refusal to arm ends without a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonClass {
    /// Such as a position that is not known yet.
    WillHeal,
    /// Such as a compass to be calibrated.
    NeedsHuman,
    #[default]
    Unclear,
}

/// Why the autopilot refuses to arm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArmingReason {
    /// Without prefixes such as `PreArm: `.
    pub text: String,
    pub class: ReasonClass,
    /// The id of PX4's EVENT (410); `None` for a text.
    pub code: Option<u32>,
    /// Since the vehicle was last ready.
    pub first: Moment,
    pub last: Moment,
}

impl ArmingReason {
    pub const fn reported(text: String, now: Moment) -> Self {
        Self {
            text,
            class: ReasonClass::Unclear,
            code: None,
            first: now,
            last: now,
        }
    }
}

/// Forgotten when the autopilot reboots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vehicle {
    /// Set by the first autopilot heartbeat.
    pub identity: Option<Identity>,
    pub inventory: Inventory,
    /// Of the autopilot component.
    pub heartbeat: Option<Sighting<Heartbeat>>,
    /// EXTENDED_SYS_STATE.landed_state; `None` inside for "undefined".
    pub landed: Option<Sighting<Option<LandedState>>>,
    /// Mean interval of EXTENDED_SYS_STATE on the link.
    pub landed_every: Duration,
    /// SYS_STATUS health bit MAV_SYS_STATUS_PREARM_CHECK: arming checks pass in the present mode.
    pub ready: Option<Sighting<bool>>,
    /// Oldest first, each once. Empty does not mean ready.
    pub reasons: Vec<ArmingReason>,
    pub battery: Option<Sighting<Battery>>,
    /// `battery` is then the worst of each figure of those that drive the motors.
    pub several_batteries: bool,
    /// Also those that do not drive the motors and do not count for `battery`; at most eight.
    pub batteries: Vec<MonitoredBattery>,
    /// By its own clock, from GLOBAL_POSITION_INT.time_boot_ms.
    pub running_for: Option<Duration>,
    pub position: Option<Sighting<Position>>,
    /// From GPS_RAW_INT (24).
    pub receiver_accuracy: Option<Sighting<Accuracy>>,
    /// From ESTIMATOR_STATUS (230) or EKF_STATUS_REPORT (193).
    pub filter_accuracy: Option<Sighting<Accuracy>>,
    /// From GLOBAL_POSITION_INT.hdg.
    pub heading: Option<Sighting<Heading>>,
    /// From GLOBAL_POSITION_INT.vz, positive down; negative while it climbs.
    pub sink_m_s: Option<Sighting<f64>>,
    /// From GLOBAL_POSITION_INT.vx and vy.
    pub over_ground_m_s: Option<Sighting<f64>>,
    /// HEARTBEAT.system_status.
    pub state: Option<Sighting<SystemState>>,
    /// Announced while armed.
    pub alarm: Option<Sighting<Alarm>>,
    /// From HOME_POSITION (242), or GLOBAL_POSITION_INT.alt - relative_alt while on the ground.
    pub home: Option<AltitudeAmsl>,
    /// When the altitude of home was last received and counted.
    pub home_heard: Option<Moment>,
    /// From HOME_POSITION.
    pub home_at: Option<Wgs84>,
    /// How far the altitude of HOME_POSITION is above the home that its altitudes count from, meters, where that cannot be one home. Then
    /// `home_at` is not known on the ground, and not taken in flight.
    pub home_disagrees_m: Option<f64>,
    /// Since the vehicle was last on the ground; `None`: not moved by more than autopilots do by themselves.
    pub home_shift: Option<HomeShift>,
    /// Whether the mission in flight is ours; known to the agent, not to the autopilot.
    pub our_plan: OurPlan,
    /// Whether a program may fly it in [`OFFBOARD`]; known to the agent, not to the autopilot.
    pub lent: bool,
    /// The autopilot signs what it sends and answers nothing of ours, which is not signed; known to the agent.
    pub takes_only_signed: bool,
    /// When messages last showed two vehicles with its system id on its line.
    pub id_shared_at: Option<Moment>,
}

/// PX4's mode for flight by set-points of a program.
pub const OFFBOARD: &str = "OFFBOARD";

/// Two vehicles with one system id are noticed again within this while both are received.
pub const ID_SHARED_FOR: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OurPlan {
    #[default]
    No,
    Flies,
    /// Somebody else stopped it in the middle.
    StoppedByOther,
}

/// Whether the vehicle flies, by its own autopilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlightTruth {
    /// Blocks arming, rebinding, release, restart and upgrade.
    Unknown(WhyUnknown),
    Disarmed,
    ArmedOnGround,
    /// Armed, and landed_state is in air, taking off or landing.
    Airborne(Airborne),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhyUnknown {
    NeverHeard,
    LinkLost,
    /// Not reported, or not lately.
    LandedStateUnknown,
    /// Disarmed, yet not on the ground.
    Contradiction,
}

/// From EXTENDED_SYS_STATE.landed_state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Airborne {
    TakingOff,
    InAir,
    Landing,
}

impl FlightTruth {
    /// `None`: not known.
    pub const fn flying(self) -> Option<bool> {
        match self {
            Self::Unknown(_) => None,
            Self::Disarmed | Self::ArmedOnGround => Some(false),
            Self::Airborne(_) => Some(true),
        }
    }
}

impl Vehicle {
    pub fn link_alive(&self, now: Moment) -> bool {
        self.heartbeat
            .as_ref()
            .is_some_and(|h| h.fresh(now, LINK_LOST_AFTER).is_some())
    }

    /// Two vehicles with one system id cannot be told apart, and orders reach both.
    pub fn shares_id(&self, now: Moment) -> bool {
        self.id_shared_at.is_some_and(|at| now.since(at) <= ID_SHARED_FOR)
    }

    /// In the air: `armed && landed_state in {in air, taking off, landing}`, both heard lately.
    pub fn truth(&self, now: Moment) -> FlightTruth {
        let Some(heartbeat) = &self.heartbeat else {
            return FlightTruth::Unknown(WhyUnknown::NeverHeard);
        };
        let Some(beat) = heartbeat.fresh(now, TRUTH_STALE_AFTER) else {
            return FlightTruth::Unknown(WhyUnknown::LinkLost);
        };
        let landed = self
            .landed
            .as_ref()
            .and_then(|l| *l.fresh(now, self.landed_counts_for(l.value)).unwrap_or(&None));
        match (beat.armed, landed) {
            (_, None) => FlightTruth::Unknown(WhyUnknown::LandedStateUnknown),
            (false, Some(LandedState::OnGround)) => FlightTruth::Disarmed,
            (true, Some(LandedState::OnGround)) => FlightTruth::ArmedOnGround,
            (true, Some(LandedState::InAir)) => FlightTruth::Airborne(Airborne::InAir),
            (true, Some(LandedState::TakingOff)) => FlightTruth::Airborne(Airborne::TakingOff),
            (true, Some(LandedState::Landing)) => FlightTruth::Airborne(Airborne::Landing),
            (false, Some(_)) => FlightTruth::Unknown(WhyUnknown::Contradiction),
        }
    }

    /// How long a landed_state counts, by the rate on the link.
    fn landed_counts_for(&self, state: Option<LandedState>) -> Duration {
        match state {
            Some(LandedState::InAir | LandedState::TakingOff | LandedState::Landing) => {
                (self.landed_every * INTERVALS_MISSED).clamp(TRUTH_STALE_AFTER, AIRBORNE_STALE_AFTER)
            }
            Some(LandedState::OnGround) | None => TRUTH_STALE_AFTER,
        }
    }

    /// `None`: not heard lately. A mission that is not ours is somebody else's, and so is a hold in the middle of ours that we did not
    /// command.
    pub fn mode(&self, now: Moment) -> Option<Mode> {
        let beat = self.heartbeat.as_ref()?.fresh(now, TRUTH_STALE_AFTER)?;
        Some(match (beat.mode.mode, self.our_plan) {
            (Mode::Mission, OurPlan::No) | (Mode::Station, OurPlan::StoppedByOther) => Mode::Foreign,
            (Mode::Foreign, _) if self.lent && beat.mode.label == OFFBOARD => Mode::Station,
            (mode, _) => mode,
        })
    }

    pub fn is_in_lent_offboard(&self) -> bool {
        let beat = self.heartbeat.as_ref();
        self.lent && beat.is_some_and(|beat| beat.value.mode.label == OFFBOARD)
    }

    /// The worse of receiver and filter, if reported lately.
    pub fn accuracy(&self, now: Moment) -> Accuracy {
        let fresh = |of: &Option<Sighting<Accuracy>>| {
            let account = of.as_ref().and_then(|of| of.fresh(now, ACCURACY_STALE_AFTER));
            account.copied().unwrap_or_default()
        };
        fresh(&self.receiver_accuracy).or_worse(fresh(&self.filter_accuracy))
    }

    /// Home relative to the vehicle; `None` while either is not known or stale.
    pub fn home_off(&self, now: Moment) -> Option<HomeShift> {
        let here = self.position.as_ref()?.fresh(now, ACCURACY_STALE_AFTER)?;
        let up = self.home.map_or(0.0, |home| home.0 - here.amsl.0);
        Some(HomeShift::between(here.at, self.home_at?, up))
    }

    /// Whether arming checks pass, if heard lately.
    pub fn ready(&self, now: Moment) -> Option<bool> {
        let checks = self.ready.as_ref()?.fresh(now, TRUTH_STALE_AFTER).copied()?;
        Some(checks && !self.is_starting(now))
    }

    /// Its motors are off, and by its HEARTBEAT it is not to be armed yet.
    pub fn is_starting(&self, now: Moment) -> bool {
        let state = self.state.as_ref().and_then(|s| s.fresh(now, TRUTH_STALE_AFTER));
        let armed = self.heartbeat.as_ref().is_some_and(|beat| beat.value.armed);
        !armed && state == Some(&SystemState::Starting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn heard(armed: bool, landed: Option<LandedState>) -> Vehicle {
        let mode = ModeReport {
            mode: Mode::Station,
            label: "GUIDED".into(),
        };
        Vehicle {
            heartbeat: Some(Sighting::new(Heartbeat { armed, mode }, at(0))),
            landed: Some(Sighting::new(landed, at(0))),
            ..Vehicle::default()
        }
    }

    #[test]
    fn flying_is_armed_and_not_on_the_ground_as_the_autopilot_says() {
        use LandedState::{InAir, Landing, OnGround, TakingOff};
        let flying = |armed, landed| heard(armed, landed).truth(at(1000)).flying();
        for landed in [InAir, TakingOff, Landing] {
            assert_eq!(flying(true, Some(landed)), Some(true));
            assert_eq!(
                flying(false, Some(landed)),
                None,
                "disarmed but not on the ground is a contradiction"
            );
        }
        assert_eq!(flying(true, Some(OnGround)), Some(false));
        assert_eq!(flying(false, Some(OnGround)), Some(false));
        assert_eq!(
            flying(true, None),
            None,
            "undefined landed_state is unknown, never flying"
        );
    }

    #[test]
    fn what_was_heard_too_long_ago_is_unknown() {
        let v = heard(true, Some(LandedState::InAir));
        assert_eq!(v.truth(at(3000)).flying(), Some(true));
        assert_eq!(v.truth(at(3001)), FlightTruth::Unknown(WhyUnknown::LinkLost));
        let mut v = v;
        v.heartbeat = v.heartbeat.map(|h| Sighting::new(h.value, at(3000)));
        assert_eq!(v.truth(at(3001)), FlightTruth::Unknown(WhyUnknown::LandedStateUnknown));
    }

    #[test]
    fn on_a_slow_link_in_the_air_counts_for_longer_and_on_the_ground_does_not() {
        for (every_ms, in_air_ms) in [(0, 3000), (500, 3000), (1500, 4500), (60_000, 5000)] {
            let slow = |landed| {
                let mut v = heard(true, Some(landed));
                v.landed_every = Duration::from_millis(every_ms);
                v.heartbeat = v.heartbeat.map(|h| Sighting::new(h.value, at(5000)));
                v
            };
            let air = slow(LandedState::InAir);
            assert_eq!(air.truth(at(in_air_ms)).flying(), Some(true));
            assert_eq!(air.truth(at(in_air_ms + 1)).flying(), None);
            let ground = slow(LandedState::OnGround);
            assert_eq!(ground.truth(at(3000)), FlightTruth::ArmedOnGround);
            assert_eq!(ground.truth(at(3001)).flying(), None, "arming goes by it");
        }
    }

    #[test]
    fn a_mission_not_ours_is_somebody_elses_and_so_is_a_hold_that_we_did_not_ask_for() {
        use OurPlan::{Flies, No, StoppedByOther};
        for (mode, our_plan, means) in [
            (Mode::Mission, No, Mode::Foreign),
            (Mode::Mission, Flies, Mode::Mission),
            (Mode::Mission, StoppedByOther, Mode::Mission),
            (Mode::Station, No, Mode::Station),
            (Mode::Station, Flies, Mode::Station),
            (Mode::Station, StoppedByOther, Mode::Foreign),
            (Mode::Foreign, Flies, Mode::Foreign),
        ] {
            let mut v = heard(true, Some(LandedState::InAir));
            v.heartbeat.as_mut().unwrap().value.mode.mode = mode;
            v.our_plan = our_plan;
            assert_eq!(v.mode(at(0)), Some(means), "{mode:?} {our_plan:?}");
        }
    }

    #[test]
    fn an_offboard_is_somebody_elses_unless_the_vehicle_was_lent() {
        for (lent, label, means) in [
            (false, OFFBOARD, Mode::Foreign),
            (true, OFFBOARD, Mode::Station),
            (true, "POSCTL", Mode::Foreign),
        ] {
            let mut v = heard(true, Some(LandedState::InAir));
            let mode = label.to_owned();
            v.heartbeat.as_mut().unwrap().value.mode = ModeReport {
                mode: Mode::Foreign,
                label: mode,
            };
            v.lent = lent;
            assert_eq!(v.mode(at(0)), Some(means), "{lent} {label}");
        }
    }

    #[test]
    fn a_vehicle_never_heard_is_unknown() {
        assert_eq!(
            Vehicle::default().truth(at(0)),
            FlightTruth::Unknown(WhyUnknown::NeverHeard)
        );
    }
}
