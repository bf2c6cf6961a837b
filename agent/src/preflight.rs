//! Reads the autopilot's own failsafe parameters before a flight, and reports the findings.
//!
//! Owns: [`Reader`]: which parameters matter on which autopilot, asking for them by PARAM_REQUEST_READ (20) one at a time,
//! paced and with a capped back-off, what their values mean, and how the autopilot's time-out for its ground station fits ours.
//! Must not: send, set a parameter, or decide what follows ([`fleet::flight::preflight`] does).
//!
//! PX4 puts the bits of an integer into the float field of PARAM_VALUE (22), ArduPilot its value (MAVLink guide,
//! services/parameter).

use crate::contact::{FAIL_OVER_TAKES, grace};
use fleet::flight::preflight::Findings;
use link::dialect::{MavMessage, MavParamType, PARAM_REQUEST_READ_DATA, PARAM_VALUE_DATA};
use model::backoff::Backoff;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::{Autopilot, HardwareUid, Identity};
use std::time::Duration;

/// Between two requests.
const PACE: Duration = Duration::from_millis(100);
/// Before a parameter that did not come is asked for again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(30),
};
/// After so many requests without an answer a parameter counts as unknown; it is asked for all the same.
const GIVE_UP_AFTER: u32 = 4;
/// What was read is read again after this long on the ground: somebody may have set it meanwhile.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(300);

/// On the ground what was read longer ago is not known any more: it was asked for again, and nothing came.
const STALE_AFTER: Duration = Duration::from_secs(360);

/// A parameter that switches a failsafe on.
#[derive(Debug)]
struct Switch {
    name: &'static str,
    /// What 0 means.
    off: &'static str,
    /// The values that bring the vehicle down or hold it; any other is off, stops its motors in the air, or means nothing.
    on: &'static [f64],
    /// What to set, as the end of a sentence.
    remedy: &'static str,
}

const ARDUPILOT: [Switch; 2] = [
    Switch {
        name: "FS_GCS_ENABLE",
        on: &[1.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        off: "the vehicle flies on when agent and ground station are gone",
        remedy: "5 (land) or 1 (return), and run the agent with --gcs-heartbeat or a ground station",
    },
    Switch {
        name: "BATT_FS_LOW_ACT",
        on: &[1.0, 2.0, 3.0, 4.0, 6.0, 7.0],
        off: "the autopilot does nothing about a low battery",
        remedy: "2 (return) or 1 (land)",
    },
];

const PX4: [Switch; 2] = [
    Switch {
        name: "NAV_DLL_ACT",
        on: &[1.0, 2.0, 3.0],
        off: "the vehicle flies on when agent and ground station are gone",
        remedy: "3 (land) or 2 (return), and run the agent with --gcs-heartbeat or a ground station",
    },
    Switch {
        name: "COM_LOW_BAT_ACT",
        on: &[1.0, 2.0, 3.0],
        off: "the autopilot only warns of a low battery",
        remedy: "3 (return, then land) or 2 (land)",
    },
];

const fn switches(autopilot: Autopilot) -> &'static [Switch] {
    match autopilot {
        Autopilot::ArduPilot => &ARDUPILOT,
        Autopilot::Px4 => &PX4,
    }
}

/// The parameter that says after how many seconds without its heartbeat the ground station counts as lost. Old ArduPilot has
/// none, and it is always 5 s there; so it is no finding where it cannot be read.
const fn timeout(autopilot: Autopilot) -> &'static str {
    match autopilot {
        Autopilot::ArduPilot => "FS_GCS_TIMEOUT",
        Autopilot::Px4 => "COM_DL_LOSS_T",
    }
}

/// The parameter of the height to which the autopilot climbs to return, and its unit in meters. No finding: it says where the vehicle may be.
const fn return_height(autopilot: Autopilot) -> (&'static str, f64) {
    match autopilot {
        Autopilot::ArduPilot => ("RTL_ALT", 0.01),
        Autopilot::Px4 => ("RTL_RETURN_ALT", 1.0),
    }
}

/// The switch to which the time-out belongs, the time-out, and the height of the return, among the readings.
const GROUND_STATION: usize = 0;
const TIMEOUT: usize = 2;
const RETURN_HEIGHT: usize = 3;

/// What autopilots take for a return at most, meters above home; anything higher is no such height.
const HIGHEST_RETURN: f64 = 3000.0;

/// Less than this, and a heartbeat or two that were lost on the line bring the vehicle home.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(4);

/// What is compared with the autopilot's time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ours {
    /// Whether the agent sends the heartbeat of a ground station.
    pub heartbeat: bool,
    /// Time after which the agent counts the coordinator as lost: `spec.failsafe.coordinatorLossSeconds`.
    pub loss: Duration,
}

impl Default for Ours {
    fn default() -> Self {
        Self {
            heartbeat: false,
            loss: model::assignment::Failsafe::default().after,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    value: Option<(f64, Moment)>,
    asked: u32,
    not_before: Moment,
}

/// Reads the parameters of one autopilot. Make a new one when the autopilot has rebooted.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    readings: [Reading; 4],
    ours: Ours,
    /// The hardware of the autopilot that was read.
    of: Option<HardwareUid>,
    not_before: Moment,
    /// What follows from the readings, and since when it has.
    findings: Findings,
    known_since: Moment,
}

impl Reader {
    /// What the autopilot's time-out is compared with.
    pub fn compare_with(&mut self, ours: Ours, autopilot: Autopilot, now: Moment) {
        if self.ours != ours {
            self.ours = ours;
            self.conclude(autopilot, now);
        }
    }

    /// Forgets the failsafes and the time-out: anybody may have set them meanwhile.
    pub fn read_again(&mut self, now: Moment) {
        self.forget(|_| true, now);
    }

    /// Forgets what was read too long ago to begin a flight on.
    pub fn forget_old(&mut self, now: Moment) {
        self.forget(|at| now.since(at) >= STALE_AFTER, now);
    }

    fn forget(&mut self, is_old: impl Fn(Moment) -> bool, now: Moment) {
        for reading in self.readings.iter_mut().take(RETURN_HEIGHT) {
            if reading.value.is_some_and(|(_, at)| is_old(at)) {
                *reading = Reading::default();
                self.findings.complete = false;
                self.known_since = now;
            }
        }
    }

    /// The request to send now, if any. Call it only while nothing else is to be sent; `again`: also for what was read long ago.
    pub fn next(&mut self, to: &Identity, again: bool, now: Moment, jitter: f64) -> Option<MavMessage> {
        self.ask(to, |_| true, again, now, jitter)
    }

    /// The request for the height of the return alone, once, where a Geofence cannot be compiled without it: PX4 climbs through any ceiling.
    pub fn next_return_height(&mut self, to: &Identity, now: Moment, jitter: f64) -> Option<MavMessage> {
        let needed = to.autopilot == Autopilot::Px4;
        self.ask(to, |place| needed && place == RETURN_HEIGHT, false, now, jitter)
    }

    fn ask(
        &mut self,
        to: &Identity,
        is_wanted: impl Fn(usize) -> bool,
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
        let due = |reading: &Reading| {
            let old = |(_, at): (f64, Moment)| again && now.since(at) >= READ_AGAIN_AFTER;
            let old = reading.value.is_none_or(old);
            old && now >= reading.not_before
        };
        let (_, (name, reading)) = names(to.autopilot)
            .zip(&mut self.readings)
            .enumerate()
            .find(|(place, (_, reading))| is_wanted(*place) && due(reading))?;
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

    /// Takes a PARAM_VALUE (22) of our autopilot, no matter who asked for it.
    pub fn receive(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment) {
        let Ok(name) = m.param_id.to_str() else { return };
        let place = names(autopilot).position(|known| known == name);
        if let Some(reading) = place.and_then(|place| self.readings.get_mut(place)) {
            *reading = Reading {
                value: Some((value(autopilot, m), now)),
                ..Reading::default()
            };
            self.conclude(autopilot, now);
        }
    }

    /// What is known of the autopilot's failsafes.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The height to which `autopilot` climbs to return; `None` until it was read.
    #[must_use]
    pub fn return_height(&self, autopilot: Autopilot) -> Option<AltitudeAboveHome> {
        let (value, _) = self.readings[RETURN_HEIGHT].value?;
        let (_, unit) = return_height(autopilot);
        Some(AltitudeAboveHome(value * unit)).filter(|height| (0.0..=HIGHEST_RETURN).contains(&height.0))
    }

    /// Since when that has been known.
    #[must_use]
    pub const fn known_since(&self) -> Moment {
        self.known_since
    }

    fn conclude(&mut self, autopilot: Autopilot, now: Moment) {
        let findings = self.check(autopilot);
        if findings != self.findings {
            self.findings = findings;
            self.known_since = now;
        }
    }

    fn check(&self, autopilot: Autopilot) -> Findings {
        let mut findings = Findings {
            complete: true,
            problems: Vec::new(),
        };
        for (switch, reading) in switches(autopilot).iter().zip(&self.readings) {
            let Switch { name, off, on, remedy } = switch;
            match reading.value {
                Some((0.0, _)) => findings.problems.push(format!("{name} is 0: {off}; set it to {remedy}")),
                Some((value, _)) if on.contains(&value) => {}
                Some((value, _)) => findings.problems.push(format!(
                    "{name} is {value}, which is not known to bring the vehicle down in order; set it to {remedy}"
                )),
                None if reading.asked >= GIVE_UP_AFTER => findings.problems.push(format!(
                    "{name} could not be read, so it is not known whether the autopilot takes care of itself; check it with a ground station"
                )),
                None => findings.complete = false,
            }
        }
        let timeout = &self.readings[TIMEOUT];
        findings.complete &= timeout.value.is_some() || timeout.asked >= GIVE_UP_AFTER;
        let acts = self.readings[GROUND_STATION].value.is_some_and(|(value, _)| {
            let switch = switches(autopilot).get(GROUND_STATION);
            switch.is_some_and(|switch| switch.on.contains(&value))
        });
        if let Some((seconds, _)) = timeout.value.filter(|_| acts) {
            findings
                .problems
                .extend(misfit(self::timeout(autopilot), seconds, self.ours));
        }
        findings
    }
}

/// The parameters that are read, in the order of the readings.
fn names(autopilot: Autopilot) -> impl Iterator<Item = &'static str> {
    let switches = switches(autopilot).iter().map(|switch| switch.name);
    switches.chain([timeout(autopilot), return_height(autopilot).0])
}

/// Why the time-out of the autopilot does not fit ours, and what does.
fn misfit(name: &str, seconds: f64, ours: Ours) -> Option<String> {
    let Ok(timeout) = Duration::try_from_secs_f64(seconds) else {
        return Some(format!("{name} is {seconds}, which is no time; set it to 10"));
    };
    let (loss, grace) = (ours.loss.as_secs(), grace(ours.loss));
    if timeout > ours.loss {
        return Some(format!(
            "{name} is {seconds} s: without agent and ground station the vehicle flies on for longer than the {loss} s of \
             coordinatorLossSeconds; set it to {loss} or less"
        ));
    }
    if !ours.heartbeat {
        return None;
    }
    if timeout < SHORTEST_TIMEOUT {
        return Some(format!(
            "{name} is {seconds} s: a few heartbeats that are lost on the line bring the vehicle home; set it to {} or more",
            SHORTEST_TIMEOUT.as_secs()
        ));
    }
    if grace + timeout < FAIL_OVER_TAKES {
        let fail_over = FAIL_OVER_TAKES.as_secs();
        let enough = (FAIL_OVER_TAKES - grace).as_secs_f64().ceil();
        let remedy = if enough <= ours.loss.as_secs_f64() {
            format!(
                "set it to {enough} or more, or coordinatorLossSeconds to {}",
                fail_over * 4 / 3
            )
        } else {
            format!("set coordinatorLossSeconds to {}", fail_over * 4 / 3)
        };
        return Some(format!(
            "{name} is {seconds} s: with coordinatorLossSeconds {loss} a fail-over of coordinators, which may take {fail_over} s, \
             brings the vehicle home; {remedy}"
        ));
    }
    None
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
mod tests {
    use super::*;
    use model::units::{ComponentId, SystemId};

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn identity(autopilot: Autopilot) -> Identity {
        Identity {
            autopilot,
            system: SystemId(7),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        }
    }

    fn asks(reader: &mut Reader, autopilot: Autopilot, s: u64) -> Option<String> {
        match reader.next(&identity(autopilot), true, at(s), 1.0)? {
            MavMessage::PARAM_REQUEST_READ(m) => {
                assert_eq!((m.target_system, m.target_component, m.param_index), (7, 1, -1));
                Some(m.param_id.to_str().unwrap().to_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    fn param(name: &str, value: f32, kind: MavParamType) -> PARAM_VALUE_DATA {
        PARAM_VALUE_DATA {
            param_value: value,
            param_id: name.into(),
            param_type: kind,
            ..PARAM_VALUE_DATA::default()
        }
    }

    const INT32: MavParamType = MavParamType::MAV_PARAM_TYPE_INT32;
    const INT8: MavParamType = MavParamType::MAV_PARAM_TYPE_INT8;

    #[test]
    fn each_parameter_is_asked_for_until_it_comes_and_again_much_later() {
        let mut reader = Reader::default();
        let ardupilot = Autopilot::ArduPilot;
        assert_eq!(asks(&mut reader, ardupilot, 0).as_deref(), Some("FS_GCS_ENABLE"));
        assert_eq!(
            asks(&mut reader, ardupilot, 1).as_deref(),
            Some("FS_GCS_ENABLE"),
            "again, for it did not come"
        );
        reader.receive(ardupilot, &param("FS_GCS_ENABLE", 1.0, INT8), at(1));
        assert_eq!(asks(&mut reader, ardupilot, 2).as_deref(), Some("BATT_FS_LOW_ACT"));
        reader.receive(ardupilot, &param("BATT_FS_LOW_ACT", 2.0, INT8), at(2));
        assert_eq!(asks(&mut reader, ardupilot, 3).as_deref(), Some("FS_GCS_TIMEOUT"));
        reader.receive(ardupilot, &param("FS_GCS_TIMEOUT", 5.0, INT8), at(3));
        assert_eq!(asks(&mut reader, ardupilot, 4).as_deref(), Some("RTL_ALT"));
        assert_eq!(reader.return_height(ardupilot), None);
        reader.receive(ardupilot, &param("RTL_ALT", 1500.0, INT8), at(4));
        assert_eq!(reader.return_height(ardupilot), Some(AltitudeAboveHome(15.0)));
        assert_eq!(asks(&mut reader, ardupilot, 200), None);
        let findings = reader.findings().clone();
        assert_eq!((findings.complete, findings.problems.len()), (true, 0));
        assert_eq!(reader.known_since(), at(3));
        let in_the_air = reader.clone().next(&identity(ardupilot), false, at(400), 1.0);
        assert_eq!(in_the_air, None, "what is known is not read again in the air");
        assert!(asks(&mut reader, ardupilot, 400).is_some());
    }

    #[test]
    fn what_was_read_long_ago_or_of_another_airframe_is_not_known_any_more() {
        let ardupilot = Autopilot::ArduPilot;
        let mut reader = Reader::default();
        for (name, value) in [
            ("FS_GCS_ENABLE", 5.0),
            ("BATT_FS_LOW_ACT", 2.0),
            ("FS_GCS_TIMEOUT", 5.0),
            ("RTL_ALT", 1500.0),
        ] {
            reader.receive(ardupilot, &param(name, value, INT8), at(10));
        }
        assert!(reader.findings().complete);
        reader.forget_old(at(369));
        assert!(reader.findings().complete);
        let mut old = reader.clone();
        old.forget_old(at(370));
        assert!(!old.findings().complete, "asked for again at 310 s, and nothing came");
        assert_eq!(asks(&mut old, ardupilot, 371).as_deref(), Some("FS_GCS_ENABLE"));
        assert!(old.return_height(ardupilot).is_some(), "as high as it was said to be");
        let mut again = reader.clone();
        again.read_again(at(20));
        assert!(!again.findings().complete);
        let of = |uid| Identity {
            hardware: HardwareUid::of(uid, [0; 18]),
            ..identity(ardupilot)
        };
        assert_eq!(reader.next(&of(1), true, at(21), 1.0), None, "first heard of");
        assert!(reader.findings().complete);
        assert!(reader.next(&of(2), true, at(22), 1.0).is_some());
        assert!(!reader.findings().complete && reader.return_height(ardupilot).is_none());
    }

    #[test]
    fn without_a_drone_px4_is_asked_for_the_height_of_its_return_and_for_nothing_else() {
        let mut reader = Reader::default();
        let asks = |reader: &mut Reader, of, seconds| {
            let message = reader.next_return_height(&identity(of), at(seconds), 1.0)?;
            let MavMessage::PARAM_REQUEST_READ(m) = message else {
                panic!("{message:?}")
            };
            Some(m.param_id.to_str().unwrap().to_owned())
        };
        assert_eq!(asks(&mut reader, Autopilot::ArduPilot, 0), None);
        assert_eq!(asks(&mut reader, Autopilot::Px4, 0).as_deref(), Some("RTL_RETURN_ALT"));
        assert_eq!(asks(&mut reader, Autopilot::Px4, 1).as_deref(), Some("RTL_RETURN_ALT"));
        reader.receive(
            Autopilot::Px4,
            &param("RTL_RETURN_ALT", 60.0, MavParamType::MAV_PARAM_TYPE_REAL32),
            at(2),
        );
        assert_eq!(reader.return_height(Autopilot::Px4), Some(AltitudeAboveHome(60.0)));
        assert_eq!(asks(&mut reader, Autopilot::Px4, 2000), None);
    }

    #[test]
    fn an_integer_of_px4_is_read_from_its_bits() {
        let mut reader = Reader::default();
        reader.receive(Autopilot::Px4, &param("NAV_DLL_ACT", f32::from_bits(3), INT32), at(0));
        reader.receive(
            Autopilot::Px4,
            &param("COM_LOW_BAT_ACT", f32::from_bits(0), INT32),
            at(0),
        );
        reader.receive(
            Autopilot::Px4,
            &param("COM_DL_LOSS_T", f32::from_bits(10), INT32),
            at(0),
        );
        let findings = reader.findings().clone();
        assert!(findings.complete);
        assert_eq!(findings.problems.len(), 1, "{findings:?}");
        assert!(
            findings.problems[0].starts_with("COM_LOW_BAT_ACT is 0: "),
            "{findings:?}"
        );
    }

    #[test]
    fn a_parameter_that_never_comes_is_a_problem_and_is_still_asked_for_now_and_then() {
        let mut reader = Reader::default();
        let mut asked = 0;
        for s in 0..600 {
            asked += u32::from(asks(&mut reader, Autopilot::Px4, s).is_some());
        }
        assert!((20..100).contains(&asked), "{asked} requests in ten minutes");
        let findings = reader.findings().clone();
        assert!(
            findings.complete && findings.problems.iter().all(|l| l.contains("could not be read")),
            "{findings:?}"
        );
    }

    #[test]
    fn a_value_that_is_none_of_the_known_ones_is_no_failsafe() {
        for odd in [f32::NAN, f32::INFINITY, -1.0, 2.0, 0.5, 250.0] {
            let mut reader = Reader::default();
            reader.receive(Autopilot::ArduPilot, &param("FS_GCS_ENABLE", odd, INT8), at(0));
            reader.receive(Autopilot::ArduPilot, &param("BATT_FS_LOW_ACT", 2.0, INT8), at(0));
            reader.receive(Autopilot::ArduPilot, &param("FS_GCS_TIMEOUT", 5.0, INT8), at(0));
            let findings = reader.findings();
            assert!(findings.complete && findings.problems.len() == 1, "{odd}: {findings:?}");
            assert!(findings.problems[0].contains("set it to 5 (land)"), "{findings:?}");
        }
        // The bits of a number where the autopilot says that it is one: PX4's integers are not.
        let mut reader = Reader::default();
        reader.receive(Autopilot::Px4, &param("NAV_DLL_ACT", 2.0, INT32), at(0));
        assert_eq!(reader.findings().problems.len(), 1, "{:?}", reader.findings());
        for (value, stops_motors) in [(1, false), (2, false), (3, false), (5, true), (6, true)] {
            let mut reader = Reader::default();
            reader.receive(
                Autopilot::Px4,
                &param("NAV_DLL_ACT", f32::from_bits(value), INT32),
                at(0),
            );
            assert_eq!(!reader.findings().problems.is_empty(), stops_motors, "{value}");
        }
    }

    fn timeouts(autopilot: Autopilot, seconds: u8, ours: Ours) -> Vec<String> {
        let mut reader = Reader::default();
        let is = |value: u8| match autopilot {
            Autopilot::ArduPilot => f32::from(value),
            Autopilot::Px4 => f32::from_bits(u32::from(value)),
        };
        let (kind, [gcs, battery]) = match autopilot {
            Autopilot::ArduPilot => (INT8, ["FS_GCS_ENABLE", "BATT_FS_LOW_ACT"]),
            Autopilot::Px4 => (INT32, ["NAV_DLL_ACT", "COM_LOW_BAT_ACT"]),
        };
        reader.compare_with(ours, autopilot, at(0));
        for (name, value) in [(gcs, 1), (battery, 2), (timeout(autopilot), seconds)] {
            reader.receive(autopilot, &param(name, is(value), kind), at(0));
        }
        assert!(reader.findings().complete);
        reader.findings().problems.clone()
    }

    #[test]
    fn the_autopilots_time_out_for_its_ground_station_is_compared_with_ours() {
        let ours = |heartbeat, loss_s| Ours {
            heartbeat,
            loss: Duration::from_secs(loss_s),
        };
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for fits in [5, 10, 60] {
                assert_eq!(timeouts(autopilot, fits, ours(true, 60)), [""; 0]);
            }
            let line = |seconds, ours| {
                let lines = timeouts(autopilot, seconds, ours);
                assert_eq!(lines.len(), 1, "{lines:?}");
                lines[0].clone()
            };
            let long = line(120, ours(false, 60));
            assert!(
                long.contains(" is 120 s: ") && long.ends_with("set it to 60 or less"),
                "{long}"
            );
            let short = line(2, ours(true, 60));
            assert!(short.ends_with("set it to 4 or more"), "{short}");
            assert_eq!(
                timeouts(autopilot, 2, ours(false, 60)),
                [""; 0],
                "others send the heartbeat"
            );
            let fail_over = line(5, ours(true, 12));
            assert!(
                fail_over.contains("fail-over") && fail_over.contains("set it to 9 or more"),
                "{fail_over}"
            );
            assert_eq!(timeouts(autopilot, 9, ours(true, 12)), [""; 0], "what it says does fit");
            let hopeless = line(5, ours(true, 5));
            assert!(hopeless.ends_with("; set coordinatorLossSeconds to 24"), "{hopeless}");
            assert_eq!(timeouts(autopilot, 5, ours(true, 24)), [""; 0]);
        }
    }

    #[test]
    fn a_time_out_that_cannot_be_read_or_of_a_failsafe_that_is_off_is_no_problem() {
        let mut reader = Reader::default();
        let ardupilot = Autopilot::ArduPilot;
        reader.receive(ardupilot, &param("FS_GCS_ENABLE", 1.0, INT8), at(0));
        reader.receive(ardupilot, &param("BATT_FS_LOW_ACT", 2.0, INT8), at(0));
        (0..300).for_each(|s| drop(asks(&mut reader, ardupilot, s)));
        assert_eq!(
            *reader.findings(),
            Findings {
                complete: true,
                problems: Vec::new()
            }
        );
        reader.receive(ardupilot, &param("FS_GCS_ENABLE", 0.0, INT8), at(300));
        reader.receive(ardupilot, &param("FS_GCS_TIMEOUT", 120.0, INT8), at(300));
        assert_eq!(reader.findings().problems.len(), 1, "that it is off says all");
    }

    #[test]
    fn parameters_of_others_and_broken_names_change_nothing() {
        let mut reader = Reader::default();
        reader.receive(Autopilot::Px4, &param("FS_GCS_ENABLE", 1.0, INT8), at(0));
        let mut broken = param("NAV_DLL_ACT", 1.0, INT32);
        broken.param_id = [0xFF; 16].into();
        reader.receive(Autopilot::Px4, &broken, at(0));
        assert!(!reader.findings().complete);
    }
}
