//! Reads the autopilot's own failsafe parameters before a flight, and says what is amiss.
//!
//! Owns: [`Reader`]: which parameters matter on which autopilot, asking for them by PARAM_REQUEST_READ (20) one at a time,
//! paced and with a capped back-off, and what their values mean. Must not: send, set a parameter, or decide what follows
//! ([`fleet::preflight`] does).
//!
//! PX4 puts the bits of an integer into the float field of PARAM_VALUE (22), ArduPilot its value (MAVLink guide,
//! services/parameter).

use fleet::backoff::Backoff;
use fleet::preflight::Findings;
use fleet::time::Moment;
use fleet::vehicle::{Autopilot, Identity};
use link::dialect::{MavMessage, MavParamType, PARAM_REQUEST_READ_DATA, PARAM_VALUE_DATA};
use std::time::Duration;

/// Between two requests.
const PACE: Duration = Duration::from_millis(100);
/// Before a parameter that did not come is asked for again.
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(30),
};
/// After so many requests in vain a parameter counts as unknown; it is asked for all the same.
const IN_VAIN: u32 = 4;
/// What was read is read again after this long on the ground: somebody may have set it meanwhile.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(300);

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

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    value: Option<(f64, Moment)>,
    asked: u32,
    not_before: Moment,
}

/// Reads the parameters of one autopilot. Make a new one when the autopilot has rebooted.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    readings: [Reading; 2],
    not_before: Moment,
    /// What follows from the readings, and since when it has.
    findings: Findings,
    known_since: Moment,
}

impl Reader {
    /// The request to send now, if any. Call it only while the vehicle is on the ground and nothing else is to be sent.
    pub fn next(&mut self, to: &Identity, now: Moment, jitter: f64) -> Option<MavMessage> {
        if now < self.not_before {
            return None;
        }
        let due = |reading: &Reading| {
            let old = reading.value.is_none_or(|(_, at)| now.since(at) >= READ_AGAIN_AFTER);
            old && now >= reading.not_before
        };
        let switches = switches(to.autopilot).iter();
        let (switch, reading) = switches.zip(&mut self.readings).find(|(_, reading)| due(reading))?;
        reading.asked = reading.asked.saturating_add(1);
        reading.not_before = now.plus(AGAIN.delay(reading.asked, jitter));
        self.not_before = now.plus(PACE);
        self.conclude(to.autopilot, now);
        Some(MavMessage::PARAM_REQUEST_READ(PARAM_REQUEST_READ_DATA {
            param_index: -1,
            target_system: to.system.0,
            target_component: to.component.0,
            param_id: switch.name.into(),
        }))
    }

    /// Takes a PARAM_VALUE (22) of our autopilot, whoever asked for it.
    pub fn hear(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment) {
        let Ok(name) = m.param_id.to_str() else { return };
        let place = switches(autopilot).iter().position(|s| s.name == name);
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

    /// Since when that has been known.
    #[must_use]
    pub const fn known_since(&self) -> Moment {
        self.known_since
    }

    fn conclude(&mut self, autopilot: Autopilot, now: Moment) {
        let findings = self.judge(autopilot);
        if findings != self.findings {
            self.findings = findings;
            self.known_since = now;
        }
    }

    fn judge(&self, autopilot: Autopilot) -> Findings {
        let mut findings = Findings {
            complete: true,
            amiss: Vec::new(),
        };
        for (switch, reading) in switches(autopilot).iter().zip(&self.readings) {
            let Switch { name, off, on, remedy } = switch;
            match reading.value {
                Some((0.0, _)) => findings.amiss.push(format!("{name} is 0: {off}; set it to {remedy}")),
                Some((value, _)) if on.contains(&value) => {}
                Some((value, _)) => findings.amiss.push(format!(
                    "{name} is {value}, which is not known to bring the vehicle down in order; set it to {remedy}"
                )),
                None if reading.asked >= IN_VAIN => findings.amiss.push(format!(
                    "{name} could not be read, so it is not known whether the autopilot looks after itself; check it with a ground station"
                )),
                None => findings.complete = false,
            }
        }
        findings
    }
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
    use fleet::units::{ComponentId, SystemId};

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn identity(autopilot: Autopilot) -> Identity {
        Identity {
            autopilot,
            system: SystemId(7),
            component: ComponentId(1),
            firmware: None,
        }
    }

    fn asks(reader: &mut Reader, autopilot: Autopilot, s: u64) -> Option<String> {
        match reader.next(&identity(autopilot), at(s), 1.0)? {
            MavMessage::PARAM_REQUEST_READ(m) => {
                assert_eq!((m.target_system, m.target_component, m.param_index), (7, 1, -1));
                Some(m.param_id.to_str().unwrap().to_owned())
            }
            other => panic!("{other:?}"),
        }
    }

    fn told(name: &str, value: f32, kind: MavParamType) -> PARAM_VALUE_DATA {
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
        reader.hear(ardupilot, &told("FS_GCS_ENABLE", 1.0, INT8), at(1));
        assert_eq!(asks(&mut reader, ardupilot, 2).as_deref(), Some("BATT_FS_LOW_ACT"));
        reader.hear(ardupilot, &told("BATT_FS_LOW_ACT", 2.0, INT8), at(2));
        assert_eq!(asks(&mut reader, ardupilot, 200), None);
        let findings = reader.findings().clone();
        assert_eq!((findings.complete, findings.amiss.len()), (true, 0));
        assert_eq!(reader.known_since(), at(2));
        assert!(asks(&mut reader, ardupilot, 400).is_some());
    }

    #[test]
    fn an_integer_of_px4_is_read_from_its_bits() {
        let mut reader = Reader::default();
        reader.hear(Autopilot::Px4, &told("NAV_DLL_ACT", f32::from_bits(3), INT32), at(0));
        reader.hear(
            Autopilot::Px4,
            &told("COM_LOW_BAT_ACT", f32::from_bits(0), INT32),
            at(0),
        );
        let findings = reader.findings().clone();
        assert!(findings.complete);
        assert_eq!(findings.amiss.len(), 1, "{findings:?}");
        assert!(findings.amiss[0].starts_with("COM_LOW_BAT_ACT is 0: "), "{findings:?}");
    }

    #[test]
    fn a_parameter_that_never_comes_is_amiss_and_is_still_asked_for_now_and_then() {
        let mut reader = Reader::default();
        let mut asked = 0;
        for s in 0..600 {
            asked += u32::from(asks(&mut reader, Autopilot::Px4, s).is_some());
        }
        assert!((20..80).contains(&asked), "{asked} requests in ten minutes");
        let findings = reader.findings().clone();
        assert!(
            findings.complete && findings.amiss.iter().all(|l| l.contains("could not be read")),
            "{findings:?}"
        );
    }

    #[test]
    fn a_value_that_is_none_of_the_known_ones_is_no_failsafe() {
        for odd in [f32::NAN, f32::INFINITY, -1.0, 2.0, 0.5, 250.0] {
            let mut reader = Reader::default();
            reader.hear(Autopilot::ArduPilot, &told("FS_GCS_ENABLE", odd, INT8), at(0));
            reader.hear(Autopilot::ArduPilot, &told("BATT_FS_LOW_ACT", 2.0, INT8), at(0));
            let findings = reader.findings();
            assert!(findings.complete && findings.amiss.len() == 1, "{odd}: {findings:?}");
            assert!(findings.amiss[0].contains("set it to 5 (land)"), "{findings:?}");
        }
        // The bits of a number where the autopilot says that it is one: PX4's integers are not.
        let mut reader = Reader::default();
        reader.hear(Autopilot::Px4, &told("NAV_DLL_ACT", 2.0, INT32), at(0));
        assert_eq!(reader.findings().amiss.len(), 1, "{:?}", reader.findings());
        for (value, stops_motors) in [(1, false), (2, false), (3, false), (5, true), (6, true)] {
            let mut reader = Reader::default();
            reader.hear(
                Autopilot::Px4,
                &told("NAV_DLL_ACT", f32::from_bits(value), INT32),
                at(0),
            );
            assert_eq!(!reader.findings().amiss.is_empty(), stops_motors, "{value}");
        }
    }

    #[test]
    fn parameters_of_others_and_broken_names_change_nothing() {
        let mut reader = Reader::default();
        reader.hear(Autopilot::Px4, &told("FS_GCS_ENABLE", 1.0, INT8), at(0));
        let mut broken = told("NAV_DLL_ACT", 1.0, INT32);
        broken.param_id = [0xFF; 16].into();
        reader.hear(Autopilot::Px4, &broken, at(0));
        assert!(!reader.findings().complete);
    }
}
