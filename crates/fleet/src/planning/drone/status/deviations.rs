//! Texts about flights that are not as ordered: a failsafe, a return of ours, a vehicle astray, an owed landing.

use super::ReadyReason;
use crate::planning::drone::Facts;
use crate::planning::site::returns;
use model::alarm::Cause;
use model::answer::{Answer, Owed, Stalled};
use model::failsafe::{Diversion, Diverted};
use model::geo::offset;
use model::home_shift::HomeShift;
use model::report::Report;
use model::takeover::{Descent, let_go};
use model::vehicle::{Airborne, FlightTruth};
use model::whereabouts::Astray;
use std::time::Duration;

/// Time in which an autopilot that accepted a landing begins it.
const LANDING_BEGINS_WITHIN: Duration = Duration::from_secs(5);

fn described(cause: Cause, words: &str) -> String {
    let cause = cause.text();
    if words.is_empty() {
        cause.to_owned()
    } else {
        format!("{cause}: \"{words}\"")
    }
}

/// The autopilot's failsafe that took the flight off its order.
fn autopilots(report: &Report) -> Option<(Cause, &str)> {
    match report.diversion.as_ref()? {
        Diversion {
            why: Diverted::Autopilot(cause),
            words,
        } => Some((*cause, words.as_str())),
        Diversion {
            why: Diverted::LowBattery | Diverted::CoordinatorLoss,
            ..
        } => None,
    }
}

fn mode(report: &Report) -> &str {
    report.mode.as_deref().unwrap_or("unknown")
}

/// Reason and message while the autopilot executes a failsafe.
pub(super) fn executes(drone: &Facts, report: &Report) -> (ReadyReason, String) {
    let (cause, words) = autopilots(report).unwrap_or((Cause::Other, ""));
    let message = format!(
        "the autopilot executes a failsafe of its own ({}; mode {}); Skein sends nothing until it is over, unless you order it to \
         land: skein ground, or delete Drone {}",
        described(cause, words),
        mode(report),
        drone.name.name
    );
    (cause.into(), message)
}

/// A returning vehicle is over its home within this, meters over ground: the same as for its agent's hover.
const OVER_HOME_M: f64 = 5.0;

/// After the message: what a person can do about somebody else's return that may end in a hover over home.
fn hover(drone: &Facts, report: &Report) -> String {
    let there = report.position.zip(report.home).filter(|_| returns(report));
    let off = there.map(|(position, home)| offset(home.at, position.at));
    let is_over_home = off.is_some_and(|(east, north)| east.hypot(north) <= OVER_HOME_M);
    if !is_over_home || !matches!(report.truth, FlightTruth::Airborne(_)) {
        return String::new();
    }
    let name = &drone.name;
    format!(
        "; it is over its home: if it hovers there for half a minute and does not land, the pilot lands it, or you order it to: \
         skein ground --drone {} -n {}",
        name.name, name.namespace
    )
}

/// Reason and message in a mode that Skein did not command.
pub(super) fn other_mode(drone: &Facts, report: &Report) -> (ReadyReason, String) {
    let (mode, hover) = (mode(report), hover(drone, report));
    match autopilots(report) {
        Some((cause, words)) => (
            cause.into(),
            format!(
                "the autopilot acts on a failsafe of its own ({}; mode {mode}); Skein sends nothing{hover}",
                described(cause, words)
            ),
        ),
        None => (
            ReadyReason::OtherMode,
            format!("a pilot, a ground station or a failsafe has taken over (mode {mode}); Skein sends nothing{hover}"),
        ),
    }
}

pub(super) fn taken_over(drone: &Facts, report: &Report) -> String {
    let name = &drone.name;
    let who = match autopilots(report) {
        Some((cause, words)) => format!(
            "the autopilot acted on a failsafe of its own ({})",
            described(cause, words)
        ),
        None => "somebody took over, or stopped its motors".to_owned(),
    };
    format!(
        "{who}; Skein sends nothing until it is ordered to go on: skein resume {} -n {}",
        name.name, name.namespace
    )
}

pub(super) fn flight_over(drone: &Facts, report: &Report) -> String {
    let name = &drone.name;
    let again = if let_go(report.takeovers, drone.resume_after) {
        format!(
            "to fly again: skein resume {} -n {}, then ground and release it; or delete the Drone",
            name.name, name.namespace
        )
    } else {
        "ground and release it, or delete the Drone, to fly again".to_owned()
    };
    let why = report.diversion.as_ref().map(|diversion| diversion.why);
    match (why, autopilots(report)) {
        (Some(Diverted::LowBattery), _) => {
            format!(
                "landed because its battery had reached the reserve, and stays down; charge or replace the battery, then {again}"
            )
        }
        (Some(Diverted::CoordinatorLoss), _) => {
            format!("landed because the coordinator was lost, as its Drone asks, and stays down; {again}")
        }
        (_, Some((cause, words))) => format!(
            "its autopilot landed it by a failsafe of its own ({}), and it stays down; {again}",
            described(cause, words)
        ),
        (_, None) if let_go(report.takeovers, drone.resume_after) => {
            format!("somebody took over and it landed, and it stays down; {again}")
        }
        (_, None) => format!("landed without an order of Skein's, and stays down; {again}"),
    }
}

pub(super) fn astray(drone: &Facts, astray: Astray) -> (ReadyReason, String) {
    let height = drone.altitude.0;
    match astray {
        Astray::Fell { from } => (
            ReadyReason::Fell,
            format!(
                "it fell: it sank far faster than asked, at {:.0} m above home, and has not held its {height} m since; look at the \
                 vehicle",
                from.0
            ),
        ),
        Astray::Height { at } => (
            ReadyReason::AltitudeLost,
            format!(
                "in the air, but it has left its {height} m: it was at {:.0} m above home; check whether somebody steers it",
                at.0
            ),
        ),
        Astray::Place { off } => (
            ReadyReason::PositionLost,
            format!(
                "in the air, but {off:.0} m away from where it held; check whether somebody steers it, and the wind"
            ),
        ),
    }
}

/// After the message.
pub(super) fn moved_home(shift: &HomeShift) -> String {
    format!(
        "; somebody moved its home position in flight, and it is {shift} now: a return of its autopilot leads there, and counts altitudes \
         from there; if that is not meant, set home back (MAV_CMD_DO_SET_HOME of a ground station)"
    )
}

pub(super) fn stalled(stalled: &Stalled) -> String {
    let answered = match &stalled.answer {
        Answer::Awaited | Answer::Missing => "has not answered".to_owned(),
        Answer::Accepted => "accepted".to_owned(),
        Answer::Refused(result) => format!("refused ({result})"),
    };
    let says = match stalled.words.as_str() {
        "" => String::new(),
        words => format!(", and says \"{words}\""),
    };
    format!(
        "in the air, but it does not fly its route: its autopilot was asked again and again to fly to the next place, {answered}{says}; \
         check the autopilot's own fence and limits, or choose another place"
    )
}

/// The autopilot has neither answered nor begun.
pub(super) fn is_only_ordered(report: &Report) -> bool {
    let waits = report.owed.as_ref().is_some_and(|owed| owed.answer == Answer::Awaited);
    waits && report.truth != FlightTruth::Airborne(Airborne::Landing)
}

/// Sent, answered and owed, for a descent that does not begin in its time.
pub(super) fn owed(report: &Report) -> Option<String> {
    let owed: &Owed = report.owed.as_ref()?;
    let sent = match owed.descent {
        Descent::Land => "to land (NAV_LAND)",
        Descent::Return => "to return (NAV_RETURN_TO_LAUNCH)",
    };
    let answered = match &owed.answer {
        Answer::Awaited if owed.times < 2 => return None,
        Answer::Accepted if report.made.since(owed.since) < LANDING_BEGINS_WITHIN => return None,
        Answer::Accepted => "it accepted and has not begun".to_owned(),
        Answer::Awaited | Answer::Missing => "it has not answered".to_owned(),
        Answer::Refused(result) => format!("it refused ({result})"),
    };
    Some(format!(
        "its autopilot was ordered {sent}, and {answered}; it still flies (mode {}). Its agent sends it again until it lands; if it \
         does not, take it over by remote control",
        mode(report)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{IN_AIR, drone, get, of, report};
    use super::super::{Kind, Phase};
    use super::*;
    use model::geo::shifted;
    use model::report::{Activity, HandsOff};
    use model::route_order::Waypoint;
    use model::time::Moment;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
    use model::vehicle::Position;

    const OVER: Activity = Activity::HandsOff(HandsOff::FlightOver);

    fn diverted(truth: FlightTruth, activity: Activity, why: Diverted, words: &str) -> Report {
        let diversion = Some(Diversion {
            why,
            words: words.into(),
        });
        Report {
            diversion,
            ..report(truth, activity)
        }
    }

    #[test]
    fn a_home_that_was_moved_in_flight_is_named_with_distance_and_direction() {
        let moved = Report {
            home_shift: Some(HomeShift {
                east_m: -30.0,
                north_m: -30.0,
                up_m: 50.0,
            }),
            ..report(IN_AIR, Activity::Holding)
        };
        let told = of(&drone(), Some(&moved));
        let (_, reason, message) = get(&told, Kind::Ready);
        assert_eq!(reason, "Holding");
        assert!(
            message.contains(
                "; somebody moved its home position in flight, and it is 42 m southwest and 50 m higher now: "
            ),
            "{message}"
        );
    }

    #[test]
    fn an_autopilots_failsafe_is_told_in_its_own_words_and_the_drone_is_not_ready() {
        let executes = Activity::HandsOff(HandsOff::AutopilotFailsafe);
        let why = Diverted::Autopilot(Cause::Battery);
        let told = of(
            &drone(),
            Some(&diverted(IN_AIR, executes, why, "Emergency battery level")),
        );
        let (ready, reason, message) = get(&told, Kind::Ready);
        assert_eq!(
            (told.phase, ready, reason),
            (Phase::Interrupted, Some(false), "BatteryFailsafe")
        );
        assert!(message.contains("\"Emergency battery level\"") && message.contains("Skein sends nothing until"));
        let without = of(&drone(), Some(&report(IN_AIR, executes)));
        assert_eq!(get(&without, Kind::Ready).1, "AutopilotFailsafe");
        let other = Activity::HandsOff(HandsOff::OtherMode);
        for (cause, reason) in [
            (Cause::Fence, "FenceFailsafe"),
            (Cause::GroundStation, "GroundStationFailsafe"),
            (Cause::Position, "PositionFailsafe"),
        ] {
            let told = of(
                &drone(),
                Some(&diverted(IN_AIR, other, Diverted::Autopilot(cause), "own words")),
            );
            assert_eq!(get(&told, Kind::Ready).1, reason);
            assert!(get(&told, Kind::Ready).2.contains("own words"));
        }
    }

    #[test]
    fn a_return_over_home_is_told_with_what_lands_it_if_it_ends_in_a_hover() {
        let at = Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        };
        let amsl = AltitudeAmsl(488.0);
        let told = |mode: &str, east: f64, truth: FlightTruth| {
            let position = Position {
                at: shifted(at, east, 0.0),
                amsl: AltitudeAmsl(amsl.0 + 5.0),
                above_home: AltitudeAboveHome(5.0),
            };
            let report = Report {
                mode: Some(mode.to_owned()),
                home: Some(Waypoint { at, amsl }),
                position: Some(position),
                ..report(truth, Activity::HandsOff(HandsOff::OtherMode))
            };
            get(&of(&drone(), Some(&report)), Kind::Ready).2.to_owned()
        };
        for mode in ["RTL", "AUTO.RTL"] {
            let message = told(mode, 4.0, IN_AIR);
            assert!(
                message.contains("over its home") && message.contains("skein ground --drone"),
                "{message}"
            );
        }
        for message in [told("RTL", 40.0, IN_AIR), told("LOITER", 0.0, IN_AIR)] {
            assert!(message.ends_with("Skein sends nothing"), "{message}");
        }
    }

    #[test]
    fn our_own_return_for_a_low_battery_is_told_as_that_in_the_air_and_on_the_ground() {
        let returns = diverted(IN_AIR, Activity::LowBattery, Diverted::LowBattery, "");
        assert_eq!(get(&of(&drone(), Some(&returns)), Kind::Ready).1, "LowBattery");
        let over = diverted(FlightTruth::Disarmed, OVER, Diverted::LowBattery, "");
        let told = of(&drone(), Some(&over));
        let (_, reason, message) = get(&told, Kind::Ready);
        assert_eq!(reason, "FlightOver");
        assert!(
            message.starts_with("landed because its battery had reached the reserve"),
            "{message}"
        );
        let fence = diverted(
            FlightTruth::Disarmed,
            OVER,
            Diverted::Autopilot(Cause::Fence),
            "Max Alt fence breached",
        );
        let told = of(&drone(), Some(&fence));
        assert!(
            get(&told, Kind::Ready)
                .2
                .contains("geofence: \"Max Alt fence breached\"")
        );
    }

    #[test]
    fn a_misplaced_vehicle_is_not_ready_and_a_fallen_one_needs_a_person() {
        let holds = report(IN_AIR, Activity::Holding);
        let with = |astray| Report {
            astray: Some(astray),
            ..holds.clone()
        };
        let at = AltitudeAboveHome(3.0);
        let fell = of(&drone(), Some(&with(Astray::Fell { from: at })));
        assert_eq!((fell.phase, get(&fell, Kind::Ready).1), (Phase::Interrupted, "Fell"));
        assert_eq!(get(&fell, Kind::Stalled).1, "Fell");
        let low = of(&drone(), Some(&with(Astray::Height { at })));
        assert_eq!((low.phase, get(&low, Kind::Ready).0), (Phase::Flying, Some(false)));
        assert_eq!(get(&low, Kind::Ready).1, "AltitudeLost");
        let away = of(&drone(), Some(&with(Astray::Place { off: 31.0 })));
        assert_eq!(get(&away, Kind::Ready).1, "PositionLost");
        assert!(get(&away, Kind::Ready).2.contains("31 m away"));
    }

    #[test]
    fn a_landing_that_does_not_begin_is_owed_and_is_no_landing() {
        let deleted = Facts {
            deleting: true,
            ..drone()
        };
        let at = |s| Moment::at(Duration::from_secs(s));
        let shown = |answer, times, made| {
            let report = Report {
                made: at(made),
                owed: Some(Owed {
                    descent: Descent::Land,
                    times,
                    since: at(100),
                    answer,
                }),
                ..report(IN_AIR, Activity::Landing)
            };
            let status = of(&deleted, Some(&report));
            (status.phase, get(&status, Kind::Ready).2.to_owned())
        };
        assert_eq!(shown(Answer::Awaited, 1, 101).0, Phase::Flying, "it is only ordered");
        assert_eq!(shown(Answer::Accepted, 1, 103).0, Phase::Landing);
        for (answer, words) in [
            (Answer::Missing, "it has not answered"),
            (Answer::Refused("DENIED".into()), "it refused (DENIED)"),
            (Answer::Accepted, "it accepted and has not begun"),
        ] {
            let (phase, message) = shown(answer, 2, 106);
            assert_eq!(phase, Phase::Flying, "{message}");
            assert!(message.contains(words) && message.contains("NAV_LAND"), "{message}");
        }
    }
}
