//! Facts that the vehicle has reported, as the oracle reads them.

use link::dialect::{
    MavAutopilot, MavBatteryChargeState as Charge, MavBatteryFunction as Function, MavCmd, MavLandedState, MavMessage,
    MavModeFlag, MavParamType, MavResult, MavSysStatusSensor, MavType,
};
use model::geo;
use model::units::Wgs84;

/// Percent of a steady drain that are counted in at most when a battery is judged.
const DRAIN_AT_MOST: u8 = 15;

#[derive(Clone, Copy, Debug)]
pub struct Ours {
    pub system: u8,
    pub component: u8,
    pub autopilot: MavAutopilot,
    pub kind: MavType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// GUIDED, AUTO.LOITER.
    Station,
    TakeOff,
    Land,
    Return,
    /// Another mode: a pilot's, or anybody's.
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Unknown,
    Down,
    ArmedOnGround,
    InTheAir,
}

/// Facts of this life of the agent, each with its moment in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub armed: bool,
    custom_mode: u32,
    pub beat_at: Option<u64>,
    landed: Option<(MavLandedState, u64)>,
    /// The last report of the arming checks since the mode was set.
    ready: Option<(bool, u64)>,
    /// Moment of the last change of mode; until the checks of that mode have run, SYS_STATUS reports those of another.
    checks_due_since: Option<u64>,
    /// The last BATTERY_STATUS: share left, whether the autopilot complains, moment.
    battery: Option<(i8, bool, u64)>,
    /// Id of the battery that was reported first, and whether another was since.
    first_battery: Option<u8>,
    several_batteries: bool,
    /// First moment of each share left, or of a complaint (at 101).
    first_reported: Vec<(u8, u64)>,
    /// Names of parameters that are known to be other than 0.
    switched_on: Vec<String>,
    clock: u32,
    /// It may have rebooted since the last heartbeat, so the mode is stale.
    rebooted: bool,
    /// Homes that it has named, the last first: the agent does not take one at an altitude that the vehicle does not count from.
    homes: Vec<Wgs84>,
    /// The last position, its altitude above home in meters, and its moment.
    position: Option<(Wgs84, f64, u64)>,
    hover: Option<Hover>,
}

/// A return that has been over home, in the air, at each message since a moment.
#[derive(Clone, Debug)]
struct Hover {
    since: u64,
    /// Altitudes above home of the last half minute, meters, each with its moment.
    altitudes: Vec<(u64, f64)>,
}

const FRESH: u64 = 3000;
/// Milliseconds for which the report of a vehicle in the air counts.
const FRESH_IN_THE_AIR: u64 = 5000;
/// Milliseconds; a return that hovers for longer does not land by itself.
const HOVERS_FOR: u64 = 30_000;
/// Meters over ground from home within which a vehicle hovers over it, and meters between its lowest and its highest
/// altitude: 2 m to both sides of where it began, and what rounding adds.
const HOVER_RADIUS_M: f64 = 5.0;
const HOVER_BAND_M: f64 = 4.01;
/// Homes that count: the agent may go by the one before, as the last one cannot be.
const HOMES: usize = 2;

impl Facts {
    pub fn note(&mut self, ours: &Ours, message: &MavMessage, now: u64) {
        match message {
            MavMessage::HEARTBEAT(m) => {
                let before = self
                    .beat_at
                    .filter(|_| !self.rebooted)
                    .map(|_| mode(ours.autopilot, self.custom_mode));
                if before.is_some_and(|before| before != mode(ours.autopilot, m.custom_mode)) {
                    (self.ready, self.checks_due_since) = (None, Some(now));
                }
                self.rebooted = false;
                self.armed = m.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
                self.custom_mode = m.custom_mode;
                self.beat_at = Some(now);
            }
            MavMessage::EXTENDED_SYS_STATE(m) => self.landed = Some((m.landed_state, now)),
            MavMessage::COMMAND_ACK(m) => {
                let ran = m.result == MavResult::MAV_RESULT_ACCEPTED;
                if ran && m.command == MavCmd::MAV_CMD_RUN_PREARM_CHECKS {
                    self.checks_due_since = None;
                }
            }
            MavMessage::SYS_STATUS(m) => {
                let health = m.onboard_control_sensors_health;
                // Autopilots run the checks by themselves within as long as a report counts.
                if self.checks_due_since.is_none_or(|since| now - since >= FRESH) {
                    self.ready = Some((health.contains(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK), now));
                }
                self.note_share(m.battery_remaining, false, now);
            }
            // A battery of a camera or of the avionics says nothing of the flight.
            MavMessage::BATTERY_STATUS(m)
                if matches!(
                    m.battery_function,
                    Function::MAV_BATTERY_FUNCTION_AVIONICS | Function::MAV_BATTERY_FUNCTION_PAYLOAD
                ) => {}
            MavMessage::BATTERY_STATUS(m) => {
                let another = *self.first_battery.get_or_insert(m.id) != m.id;
                self.several_batteries |= another;
                let complains = !matches!(
                    m.charge_state,
                    Charge::MAV_BATTERY_CHARGE_STATE_UNDEFINED
                        | Charge::MAV_BATTERY_CHARGE_STATE_OK
                        | Charge::MAV_BATTERY_CHARGE_STATE_CHARGING
                );
                self.note_share(m.battery_remaining, complains, now);
                self.battery = Some((m.battery_remaining, complains, now));
            }
            MavMessage::PARAM_VALUE(m) => {
                let name = m.param_id.to_str().unwrap_or_default().to_owned();
                self.switched_on.retain(|known| *known != name);
                let bits = m.param_type == MavParamType::MAV_PARAM_TYPE_INT32
                    || m.param_type == MavParamType::MAV_PARAM_TYPE_UINT32;
                let zero = match ours.autopilot {
                    MavAutopilot::MAV_AUTOPILOT_PX4 if bits => m.param_value.to_bits() == 0,
                    _ => m.param_value == 0.0,
                };
                if !zero {
                    self.switched_on.push(name);
                }
            }
            MavMessage::GLOBAL_POSITION_INT(m) => {
                let at = place(m.lat, m.lon);
                let (amsl, above_home) = (f64::from(m.alt) / 1000.0, f64::from(m.relative_alt) / 1000.0);
                let can_be =
                    (m.lat, m.lon) != (0, 0) && (-1000.0..=20_000.0).contains(&amsl) && above_home.abs() <= 10_000.0;
                self.position = at.filter(|_| can_be).map(|at| (at, above_home, now)).or(self.position);
            }
            MavMessage::HOME_POSITION(m) => {
                if let Some(named) = place(m.latitude, m.longitude) {
                    self.homes.insert(0, named);
                    self.homes.truncate(HOMES);
                }
            }
            _ => {}
        }
        self.note_hover(ours, now);
    }

    fn note_hover(&mut self, ours: &Ours, now: u64) {
        let Some(above_home) = self.above_home_on_return(ours, now) else {
            self.hover = None;
            return;
        };
        let hover = self.hover.get_or_insert_with(|| Hover {
            since: now,
            altitudes: Vec::new(),
        });
        hover.altitudes.retain(|(at, _)| now.saturating_sub(*at) <= HOVERS_FOR);
        hover.altitudes.push((now, above_home));
    }

    /// Altitude above home of a vehicle that is over its home in the air, on a return, if it was reported lately.
    fn above_home_on_return(&self, ours: &Ours, now: u64) -> Option<f64> {
        let (at, above_home, heard_at) = self.position?;
        let is_over = |home: &Wgs84| {
            let (east, north) = geo::offset(*home, at);
            east.hypot(north) <= HOVER_RADIUS_M
        };
        let is_there = now.saturating_sub(heard_at) <= FRESH && self.homes.iter().any(is_over);
        let returns = self.was_in_the_air(now) && self.mode(ours, now) == Some(Mode::Return);
        (is_there && returns).then_some(above_home)
    }

    /// Whether it has hovered over home on a return for so long that it will not land by itself.
    pub fn return_hovers(&self, now: u64) -> bool {
        let Some(hover) = &self.hover else { return false };
        let of_now = hover
            .altitudes
            .iter()
            .filter(|(at, _)| now.saturating_sub(*at) <= HOVERS_FOR);
        let (lowest, highest) = of_now.fold((f64::INFINITY, f64::NEG_INFINITY), |(lowest, highest), (_, up)| {
            (lowest.min(*up), highest.max(*up))
        });
        now.saturating_sub(hover.since) >= HOVERS_FOR && highest - lowest <= HOVER_BAND_M
    }

    fn note_share(&mut self, share: i8, complains: bool, now: u64) {
        let level = u8::try_from(share).ok().into_iter().chain(complains.then_some(101));
        for level in level {
            if !self.first_reported.iter().any(|(known, _)| *known == level) {
                self.first_reported.push((level, now));
            }
        }
    }

    /// Whether this message shows a clock that went back: the agent may forget all that was reported before.
    pub fn clock_went_back(&mut self, message: &MavMessage) -> bool {
        let clock = match message {
            MavMessage::SYSTEM_TIME(m) => m.time_boot_ms,
            MavMessage::GLOBAL_POSITION_INT(m) => m.time_boot_ms,
            MavMessage::ATTITUDE(m) => m.time_boot_ms,
            MavMessage::ATTITUDE_QUATERNION(m) => m.time_boot_ms,
            MavMessage::LOCAL_POSITION_NED(m) => m.time_boot_ms,
            _ => return false,
        };
        let back = clock < self.clock;
        self.clock = self.clock.max(clock);
        back
    }

    pub const fn may_have_rebooted(&mut self) {
        (self.rebooted, self.checks_due_since) = (true, None);
    }

    pub fn forget(&mut self) {
        *self = Self {
            clock: self.clock,
            ..Self::default()
        };
    }

    pub fn state(&self, now: u64) -> State {
        let beat = self.beat_at.is_some_and(|at| now.saturating_sub(at) <= FRESH);
        let landed = self.landed.filter(|(_, at)| now.saturating_sub(*at) <= FRESH);
        match (beat, self.armed, landed.map(|(landed, _)| landed)) {
            (false, _, _) | (_, _, None | Some(MavLandedState::MAV_LANDED_STATE_UNDEFINED)) => State::Unknown,
            (true, false, Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND)) => State::Down,
            (true, true, Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND)) => State::ArmedOnGround,
            (true, true, Some(_)) => State::InTheAir,
            (true, false, Some(_)) => State::Unknown,
        }
    }

    /// Whether its last report was of flight, which counts for longer on a slow line than other reports.
    pub fn was_in_the_air(&self, now: u64) -> bool {
        let landed = self
            .landed
            .filter(|(_, at)| now.saturating_sub(*at) <= FRESH_IN_THE_AIR);
        let aloft = landed.is_some_and(|(landed, _)| {
            landed != MavLandedState::MAV_LANDED_STATE_ON_GROUND && landed != MavLandedState::MAV_LANDED_STATE_UNDEFINED
        });
        aloft && self.armed && self.received_within(FRESH, now)
    }

    pub fn mode(&self, ours: &Ours, now: u64) -> Option<Mode> {
        let fresh = self.received_within(FRESH, now);
        fresh.then(|| mode(ours.autopilot, self.custom_mode))
    }

    pub fn received_within(&self, limit: u64, now: u64) -> bool {
        self.beat_at.is_some_and(|at| now.saturating_sub(at) <= limit)
    }

    pub fn is_ready(&self, now: u64) -> bool {
        self.ready
            .is_some_and(|(ready, at)| ready && now.saturating_sub(at) <= FRESH)
    }

    pub fn is_low(&self, reserve: u8, now: u64) -> bool {
        self.battery.is_some_and(|(share, complains, at)| {
            let low = u8::try_from(share).is_ok_and(|share| (1..=reserve).contains(&share));
            now.saturating_sub(at) <= 10_000 && (complains || low)
        })
    }

    /// Whether the battery may have been low for three seconds, with the steady drain counted in.
    pub fn may_be_low(&self, reserve: u8, now: u64) -> bool {
        let long_ago = |at: u64| now.saturating_sub(at) >= 3000;
        // If one of several batteries is silent, the loss of the others is its own.
        let shares = || {
            self.first_reported
                .iter()
                .map(|(level, _)| *level)
                .filter(|level| *level <= 100)
        };
        let spread = shares().max().zip(shares().min()).filter(|_| self.several_batteries);
        let carried = spread.map(|(most, least)| least.saturating_sub(most - least));
        if carried.is_some_and(|left| left <= reserve.saturating_add(DRAIN_AT_MOST)) {
            return true;
        }
        self.first_reported
            .iter()
            .any(|&(level, at)| (level <= reserve.saturating_add(DRAIN_AT_MOST) || level == 101) && long_ago(at))
    }

    pub fn has_own_failsafes(&self, ours: &Ours) -> bool {
        let names = match ours.autopilot {
            MavAutopilot::MAV_AUTOPILOT_PX4 => ["NAV_DLL_ACT", "COM_LOW_BAT_ACT"],
            _ => ["FS_GCS_ENABLE", "BATT_FS_LOW_ACT"],
        };
        names.iter().all(|name| self.switched_on.iter().any(|on| on == name))
    }
}

/// Degrees × 10⁷; `None`: invalid position.
fn place(latitude: i32, longitude: i32) -> Option<Wgs84> {
    let at = Wgs84 {
        latitude_deg: f64::from(latitude) / 1e7,
        longitude_deg: f64::from(longitude) / 1e7,
    };
    geo::position(at).ok()
}

fn mode(autopilot: MavAutopilot, custom_mode: u32) -> Mode {
    let [_, _, main, sub] = custom_mode.to_le_bytes();
    match (autopilot, custom_mode, main, sub) {
        (MavAutopilot::MAV_AUTOPILOT_PX4, _, 4, 2) => Mode::TakeOff,
        (MavAutopilot::MAV_AUTOPILOT_PX4, _, 4, 3) => Mode::Station,
        (MavAutopilot::MAV_AUTOPILOT_PX4, _, 4, 5) => Mode::Return,
        (MavAutopilot::MAV_AUTOPILOT_PX4, _, 4, 6 | 9) => Mode::Land,
        (MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, 4, _, _) => Mode::Station,
        (MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, 9, _, _) => Mode::Land,
        (MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, 6 | 21 | 27, _, _) => Mode::Return,
        _ => Mode::Foreign,
    }
}
