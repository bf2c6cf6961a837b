//! Reads, before a flight, the parameters by which an autopilot takes care of itself and returns.
//!
//! [`Reader`] asks for each name under which a version may have them ([`model::parameter_meaning`]) by PARAM_REQUEST_READ (20), paced, until
//! one has answered or the autopilot has said that it has none (PARAM_ERROR, 345). `judge` says what the values mean.
//! Must not: send, set a parameter, or decide what follows ([`fleet::flight::preflight`] does).
//!
//! PX4 puts the bits of an integer into the float field of PARAM_VALUE (22), ArduPilot its value (MAVLink guide,
//! services/parameter).

mod judge;

pub use self::judge::Ours;
use self::judge::{Known, READ, Stored, detours, is_of_detours, judge, rally_points};
use fleet::airspace::HIGHEST_RETURN_M;
use fleet::flight::preflight::Findings;
use link::dialect::{
    MISSION_CURRENT_DATA, MavMessage, MavParamError, MavParamType, PARAM_ERROR_DATA, PARAM_REQUEST_READ_DATA,
    PARAM_VALUE_DATA,
};
use model::backoff::Backoff;
use model::parameter_meaning::{Meaning, Name, is_in_every_version, names};
use model::time::Moment;
use model::units::{AltitudeAboveHome, Meters};
use model::vehicle::{Autopilot, HardwareUid, Identity};
use std::collections::BTreeMap;
use std::time::Duration;

const PACE: Duration = Duration::from_millis(100);
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(300),
};
/// After so many requests without an answer a parameter counts as unknown; one that is needed is asked for all the same.
const GIVE_UP_AFTER: u32 = 4;
/// After so many the autopilot is taken not to have one that not every version has: old ones say nothing to an unknown name.
const MISSING_AFTER: u32 = 8;
/// What was read is read again after this long on the ground: somebody may have set it meanwhile.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(300);
/// On the ground what was read longer ago is not known any more: it was asked for again, and nothing came.
const STALE_AFTER: Duration = Duration::from_secs(360);
/// They say where the vehicle may be, and count until they are read again.
const OF_PLACE: [Meaning; 6] = [
    Meaning::ReturnAltitude,
    Meaning::ReturnAltitudeType,
    Meaning::ReturnClimbMinimum,
    Meaning::WaypointRadius,
    Meaning::ReturnType,
    Meaning::RallyPoints,
];

/// Whether it says where the vehicle may be. PX4 is told its radius with each place of a plan.
fn is_of_place(autopilot: Autopilot, meaning: Meaning) -> bool {
    OF_PLACE.contains(&meaning) && !(autopilot == Autopilot::Px4 && meaning == Meaning::WaypointRadius)
}

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    value: Option<(f64, Moment)>,
    asked: u32,
    not_before: Moment,
    missing: bool,
    /// It may have been changed since.
    doubted: bool,
}

impl Reading {
    fn is_due(&self, again: bool, now: Moment) -> bool {
        let old = |(_, at): (f64, Moment)| again && (self.doubted || now.since(at) >= READ_AGAIN_AFTER);
        !self.missing && self.value.is_none_or(old) && now >= self.not_before
    }
}

/// Reads the parameters of one autopilot. Make a new one when the autopilot has rebooted.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    readings: BTreeMap<&'static str, Reading>,
    ours: Ours,
    of: Option<HardwareUid>,
    /// By the last MISSION_CURRENT (42), which reports them on PX4.
    has_rally_points: bool,
    not_before: Moment,
    /// What follows from the readings, and since when it has.
    findings: Findings,
    known_since: Moment,
}

impl Reader {
    pub fn compare_with(&mut self, ours: Ours, autopilot: Autopilot, now: Moment) {
        if self.ours != ours {
            self.ours = ours;
            self.conclude(autopilot, now);
        }
    }

    /// Forgets what was read, as anybody may have set it meanwhile. What says where the vehicle may be counts until it is read again.
    pub fn read_again(&mut self, now: Moment) {
        self.forget(|_| true, now);
        for reading in self.readings.values_mut() {
            reading.not_before = Moment::default();
            reading.doubted = true;
        }
    }

    pub fn forget_old(&mut self, now: Moment) {
        self.forget(|at| now.since(at) >= STALE_AFTER, now);
    }

    fn forget(&mut self, is_old: impl Fn(Moment) -> bool, now: Moment) {
        let keeps = |known: &str| {
            let both = [Autopilot::ArduPilot, Autopilot::Px4].into_iter();
            let mut of_place = both.flat_map(|autopilot| {
                let meanings = OF_PLACE
                    .into_iter()
                    .filter(move |meaning| is_of_place(autopilot, *meaning));
                meanings.map(move |meaning| names(autopilot, meaning))
            });
            of_place.any(|names| names.iter().any(|name| name.name == known))
        };
        for (name, reading) in &mut self.readings {
            if reading.value.is_some_and(|(_, at)| is_old(at)) && !keeps(name) {
                *reading = Reading::default();
                self.findings.complete = false;
                self.known_since = now;
            }
        }
    }

    /// Call it only while nothing else is to be sent. `again`: also for what was read long ago.
    pub fn next(&mut self, to: &Identity, again: bool, now: Moment, jitter: f64) -> Option<MavMessage> {
        self.ask(to, |_| true, again, now, jitter)
    }

    /// The request for what says where the vehicle may be, or be led by its failsafes, alone, whatever its Drone wants known.
    pub fn next_of_place(&mut self, to: &Identity, again: bool, now: Moment, jitter: f64) -> Option<MavMessage> {
        let is_wanted = |meaning| is_of_place(to.autopilot, meaning) || is_of_detours(to.autopilot, meaning);
        self.ask(to, is_wanted, again, now, jitter)
    }

    fn ask(
        &mut self,
        to: &Identity,
        is_wanted: impl Fn(Meaning) -> bool,
        again: bool,
        now: Moment,
        jitter: f64,
    ) -> Option<MavMessage> {
        if let Some(hardware) = to.hardware
            && self.of.replace(hardware).is_some_and(|of| of != hardware)
        {
            *self = Self {
                ours: self.ours,
                of: Some(hardware),
                ..Self::default()
            };
        }
        if now < self.not_before {
            return None;
        }
        let mut due = READ
            .into_iter()
            .filter(|meaning| is_wanted(*meaning))
            .filter_map(|meaning| {
                let known = names(to.autopilot, meaning);
                // Once one of its names has answered, the others are not the autopilot's.
                let answered = known.iter().any(|name| self.reading(name).value.is_some());
                let needed = is_in_every_version(to.autopilot, meaning);
                let due = |name: &&Name| {
                    let reading = self.reading(name);
                    let given_up = !needed && reading.asked >= MISSING_AFTER;
                    (!answered || reading.value.is_some()) && !given_up && reading.is_due(again, now)
                };
                known.iter().find(due)
            });
        let name = due.next()?.name;
        let reading = self.readings.entry(name).or_default();
        reading.asked = reading.asked.saturating_add(1);
        reading.not_before = now.plus(AGAIN.delay(reading.asked, jitter));
        self.not_before = now.plus(PACE);
        self.conclude(to.autopilot, now);
        Some(MavMessage::PARAM_REQUEST_READ(PARAM_REQUEST_READ_DATA {
            param_index: -1,
            target_system: to.system.0,
            target_component: to.component.0,
            param_id: name.into(),
        }))
    }

    fn reading(&self, name: &Name) -> Reading {
        self.readings.get(name.name).copied().unwrap_or_default()
    }

    /// No matter who asked for it.
    pub fn receive(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment) {
        if let Some(name) = m.param_id.to_str().ok().and_then(|name| known(autopilot, name)) {
            let reading = Reading {
                value: Some((value(autopilot, m), now)),
                ..Reading::default()
            };
            self.readings.insert(name, reading);
            self.conclude(autopilot, now);
        }
    }

    /// PARAM_ERROR (345): the autopilot has none of this name.
    pub fn failed(&mut self, autopilot: Autopilot, m: &PARAM_ERROR_DATA, now: Moment) {
        let name = m.param_id.to_str().ok().and_then(|name| known(autopilot, name));
        let Some(name) = name.filter(|_| m.error == MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST) else {
            return;
        };
        let missing = Reading {
            missing: true,
            ..Reading::default()
        };
        self.readings.insert(name, missing);
        self.conclude(autopilot, now);
    }

    /// Takes a MISSION_CURRENT (42) of our autopilot: PX4 reports there whether it has rally points, for which it has no parameter.
    pub fn hear_current(&mut self, autopilot: Autopilot, m: &MISSION_CURRENT_DATA, now: Moment) {
        let has = autopilot == Autopilot::Px4 && m.rally_points_id != 0;
        if std::mem::replace(&mut self.has_rally_points, has) != has {
            self.conclude(autopilot, now);
        }
    }

    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// `None`: not known, so that it may be any.
    pub fn return_altitude(&self, autopilot: Autopilot) -> Option<AltitudeAboveHome> {
        let is_zero = |meaning| match self.known(autopilot, meaning) {
            Known::Stored(stored) => stored.number == 0.0,
            Known::NotThere => true,
            Known::Asked | Known::Unknown => false,
        };
        let is_fixed = is_zero(Meaning::ReturnAltitudeType) && is_zero(Meaning::ReturnClimbMinimum);
        let read = self.stored(autopilot, Meaning::ReturnAltitude).filter(|_| is_fixed)?;
        Some(AltitudeAboveHome(read.value())).filter(|altitude| (0.0..=HIGHEST_RETURN_M).contains(&altitude.0))
    }

    /// How far before a place of a plan it turns; `None`: not known, or the plan says it to the autopilot.
    pub fn waypoint_radius(&self, autopilot: Autopilot) -> Option<Meters> {
        let read = self
            .stored(autopilot, Meaning::WaypointRadius)
            .filter(|_| autopilot == Autopilot::ArduPilot)?;
        Some(Meters(read.value())).filter(|radius| radius.0 >= 0.0 && radius.0.is_finite())
    }

    /// Whether a failsafe or a return may lead elsewhere than straight home; `None`: not all that says so is known.
    pub fn detours(&self, autopilot: Autopilot) -> Option<bool> {
        if self.has_rally_points {
            return Some(true);
        }
        detours(autopilot, |meaning| self.known(autopilot, meaning))
    }

    pub const fn known_since(&self) -> Moment {
        self.known_since
    }

    fn conclude(&mut self, autopilot: Autopilot, now: Moment) {
        let mut findings = judge(autopilot, self.ours, |meaning| self.known(autopilot, meaning));
        findings.problems.extend(self.has_rally_points.then(rally_points));
        if findings != self.findings {
            self.findings = findings;
            self.known_since = now;
        }
    }

    /// What was read of a parameter. Of two names that have answered the larger value counts: it is the worse of two return altitudes.
    fn stored(&self, autopilot: Autopilot, meaning: Meaning) -> Option<Stored> {
        let stored = |name: &'static Name| {
            let (number, _) = self.reading(name).value?;
            Some(Stored { name, number })
        };
        let all = names(autopilot, meaning).iter().filter_map(stored);
        all.reduce(|one, other| if other.value() > one.value() { other } else { one })
    }

    fn known(&self, autopilot: Autopilot, meaning: Meaning) -> Known {
        if let Some(stored) = self.stored(autopilot, meaning) {
            return Known::Stored(stored);
        }
        let ended = |name: &Name| {
            let reading = self.reading(name);
            reading.missing || reading.asked >= GIVE_UP_AFTER
        };
        match names(autopilot, meaning).iter().all(ended) {
            true if is_in_every_version(autopilot, meaning) => Known::Unknown,
            true => Known::NotThere,
            false => Known::Asked,
        }
    }
}

fn known(autopilot: Autopilot, name: &str) -> Option<&'static str> {
    let mut all = READ.into_iter().flat_map(|meaning| names(autopilot, meaning));
    all.find(|known| known.name == name).map(|known| known.name)
}

fn value(autopilot: Autopilot, m: &PARAM_VALUE_DATA) -> f64 {
    let bits = m.param_value.to_bits();
    match (autopilot, m.param_type) {
        (Autopilot::Px4, MavParamType::MAV_PARAM_TYPE_INT32) => f64::from(bits.cast_signed()),
        (Autopilot::Px4, MavParamType::MAV_PARAM_TYPE_UINT32) => f64::from(bits),
        _ => f64::from(m.param_value),
    }
}

#[cfg(test)]
mod tests;
