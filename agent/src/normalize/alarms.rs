//! Failsafes that the autopilot announces, and why, from its own words.
//!
//! ArduPilot names the cause in the announcement ("Battery Failsafe", "Max Alt fence breached"), with figures in the text before.
//! PX4 announces with "Failsafe activated", and gives the cause in the texts and events before, or in the event's arguments.

use model::alarm::{Alarm, Cause};
use model::time::{Moment, Sighting};
use model::vehicle::Vehicle;
use std::time::Duration;

/// What was reported this long before an announcement explains it.
const EXPLAINS_FOR: Duration = Duration::from_secs(5);

/// What is reported this long after an announcement without a cause explains it too.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(2);

const LONGEST: usize = 120;

/// In lower case; the first that fits decides.
const CAUSES: [(&str, Cause); 20] = [
    ("batter", Cause::Battery),
    ("fence", Cause::Fence),
    ("gcs", Cause::GroundStation),
    ("ground station", Cause::GroundStation),
    ("ground control station", Cause::GroundStation),
    ("data link", Cause::GroundStation),
    ("radio", Cause::RemoteControl),
    ("manual control", Cause::RemoteControl),
    ("rc loss", Cause::RemoteControl),
    ("rc lost", Cause::RemoteControl),
    ("thrust loss", Cause::Propulsion),
    ("motor", Cause::Propulsion),
    ("crash", Cause::Propulsion),
    ("attitude", Cause::Propulsion),
    ("ekf", Cause::Position),
    ("gps", Cause::Position),
    ("gnss", Cause::Position),
    ("position", Cause::Position),
    ("dead reckon", Cause::Position),
    ("navigation", Cause::Position),
];

#[derive(Clone, Debug, Default)]
pub struct Alarms {
    before: Option<Sighting<Alarm>>,
}

fn cause(text: &str) -> Cause {
    let text = text.to_lowercase();
    let known = CAUSES.iter().find(|(part, _)| text.contains(part));
    known.map_or(Cause::Other, |(_, cause)| *cause)
}

/// Whether a failsafe begins: not one that is over, or that lets the flight go on.
fn announces(text: &str) -> bool {
    let text = text.to_lowercase();
    let over = ["cleared", "continuing", "disabled", "recovered"];
    let begins = [
        "failsafe",
        "fence breached",
        "ekf variance",
        "crash: disarming",
        // PX4 leaves a mission that a new fence does not allow.
        "no valid mission available, loitering",
    ];
    begins.iter().any(|part| text.contains(part))
        && !over.iter().any(|part| text.contains(part))
        && !text.starts_with("prearm")
        && !text.starts_with("arm:")
}

impl Alarms {
    pub fn text(&mut self, vehicle: &mut Vehicle, text: &str, now: Moment) {
        if announces(text) {
            self.begins(vehicle, text, now);
        } else {
            self.explains(vehicle, text, now);
        }
    }

    /// What is reported may explain a failsafe that follows, or one that was just announced without a cause.
    pub fn explains(&mut self, vehicle: &mut Vehicle, text: &str, now: Moment) {
        let announced = alarm(text);
        if announced.cause == Cause::Other {
            return;
        }
        let vague = |alarm: &&mut Sighting<Alarm>| {
            alarm.value.cause == Cause::Other && alarm.fresh(now, EXPLAINED_WITHIN).is_some()
        };
        if let Some(alarm) = vehicle.alarm.as_mut().filter(vague) {
            alarm.value = Alarm {
                cause: announced.cause,
                words: format!("{}; {}", announced.words, alarm.value.words),
            };
        }
        self.before = Some(Sighting::new(announced, now));
    }

    pub fn begins(&mut self, vehicle: &mut Vehicle, text: &str, now: Moment) {
        if !vehicle.heartbeat.as_ref().is_some_and(|beat| beat.value.armed) {
            return;
        }
        let announced = alarm(text);
        let before = self.before.as_ref().and_then(|b| b.fresh(now, EXPLAINS_FOR)).cloned();
        let same = |before: &Alarm| announced.cause == Cause::Other || before.cause == announced.cause;
        let whole = match before.filter(|before| same(before) && before.words != announced.words) {
            Some(before) => Alarm {
                cause: before.cause,
                words: format!("{}; {}", before.words, announced.words),
            },
            None => announced,
        };
        // The same failsafe is announced more than once, by an event and a text or when its wait is over: what names a cause stays.
        let vague = |alarm: &Alarm| alarm.cause == Cause::Other;
        let known = vehicle.alarm.take().filter(|known| {
            known.fresh(now, model::failsafe::EXPLAINS_FOR).is_some() && vague(&whole) && !vague(&known.value)
        });
        let alarm = known.map_or(whole, |known| known.value);
        vehicle.alarm = Some(Sighting::new(alarm, now));
    }
}

fn alarm(text: &str) -> Alarm {
    Alarm {
        cause: cause(text),
        words: text.trim().chars().take(LONGEST).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::vehicle::{Heartbeat, Mode, ModeReport};

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn reported_while(armed: bool, texts: &[(u64, &str)]) -> Option<(Cause, String)> {
        let mode = ModeReport {
            mode: Mode::Station,
            label: "GUIDED".into(),
        };
        let mut vehicle = Vehicle {
            heartbeat: Some(Sighting::new(Heartbeat { armed, mode }, at(0))),
            ..Vehicle::default()
        };
        let mut alarms = Alarms::default();
        for (s, text) in texts {
            alarms.text(&mut vehicle, text, at(*s));
        }
        vehicle.alarm.map(|a| (a.value.cause, a.value.words))
    }

    fn reported(texts: &[(u64, &str)]) -> Option<(Cause, String)> {
        reported_while(true, texts)
    }

    #[test]
    fn ardupilots_announcements_name_their_cause_and_the_figures_before_them_are_kept() {
        let battery = reported(&[(1, "Battery 1 is low 10.47V used 812 mAh"), (1, "Battery Failsafe")]);
        let words = "Battery 1 is low 10.47V used 812 mAh; Battery Failsafe";
        assert_eq!(battery, Some((Cause::Battery, words.into())));
        for (text, cause) in [
            ("GCS Failsafe", Cause::GroundStation),
            ("Radio Failsafe", Cause::RemoteControl),
            ("Max Alt fence breached", Cause::Fence),
            ("EKF variance: compass, velocity", Cause::Position),
            ("EKF Failsafe: changed to LAND Mode", Cause::Position),
            ("Crash: Disarming: AngErr=91>30, Accel=2.0<3.0", Cause::Propulsion),
        ] {
            assert_eq!(reported(&[(1, text)]), Some((cause, text.into())));
        }
    }

    #[test]
    fn px4s_failsafe_has_the_cause_of_what_it_told_before() {
        let wait = "Failsafe activated: entering Hold for 5 seconds";
        let fence = reported(&[(1, "Geofence: approaching or outside geofence"), (1, wait)]);
        assert!(matches!(fence, Some((Cause::Fence, words)) if words.ends_with(wait)));
        let gcs = reported(&[
            (1, "Connection to ground station lost"),
            (2, wait),
            (7, "Failsafe activated"),
        ]);
        assert!(matches!(gcs, Some((Cause::GroundStation, words)) if words.contains("ground station lost")));
        let ended = "No valid mission available, loitering";
        let by_a_new_fence = reported(&[(1, "Geofence violation for waypoint 3"), (1, ended)]);
        let words = format!("Geofence violation for waypoint 3; {ended}");
        assert_eq!(by_a_new_fence, Some((Cause::Fence, words)));
        assert_eq!(reported(&[(1, wait)]), Some((Cause::Other, wait.into())));
        let after = reported(&[(1, "Failsafe activated"), (2, "No valid global position estimate")]);
        let words = "No valid global position estimate; Failsafe activated";
        assert_eq!(after, Some((Cause::Position, words.into())));
        let long_before = reported(&[(1, "Connection to ground station lost"), (7, wait)]);
        assert_eq!(long_before, Some((Cause::Other, wait.into())));
    }

    #[test]
    fn what_is_over_or_goes_on_or_stands_against_arming_announces_nothing() {
        for text in [
            "GCS Failsafe Cleared",
            "Battery Failsafe - Continuing Landing",
            "PreArm: Radio failsafe on",
            "Arm: Battery 1 low voltage failsafe",
            "EKF3 IMU0 is using GPS",
            "Low battery level",
            // The motors are helped, and nothing else is done.
            "Potential Thrust Loss (1)",
        ] {
            assert_eq!(reported(&[(1, text)]), None, "{text}");
        }
        assert_eq!(reported_while(false, &[(1, "GCS Failsafe")]), None, "on the ground");
    }
}
