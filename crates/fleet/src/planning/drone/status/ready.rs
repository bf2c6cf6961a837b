//! Phase of a Drone, and why, as a sentence.

use super::deviations;
use super::{Condition, Phase, Question, ReadyReason, armable, truth_message, unknown_reason};
use crate::planning::drone::desire::comes_home;
use crate::planning::drone::height::Height;
use crate::planning::drone::way_home::WayHome;
use crate::planning::drone::{Facts, Ground};
use crate::planning::node_use::{Lift, NoLift};
use crate::planning::site::{OffStation, badly_known, descends, returns};
use model::assignment::Held;
use model::lent::{Lent, WhyBack};
use model::report::{Activity, HandsOff, Report};
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, FlightTruth};
use model::whereabouts::Astray;

const FLIES_HOME: &str = "in the air, flying home: its battery is near its reserve";
const LANDS_SOON: &str = "in the air above its home: its battery is near its reserve, at which it lands";

/// Reasons on the way to a station, in order.
pub const ON_ITS_WAY: [ReadyReason; 3] = [ReadyReason::Moving, ReadyReason::NoRoute, ReadyReason::OffStation];

/// Why it should be on the ground: a reason, and a clause.
const fn ground_reason(drone: &Facts) -> Option<(ReadyReason, &'static str)> {
    if drone.deleting {
        return Some((ReadyReason::Deleting, "the Drone is being deleted"));
    }
    match (drone.ground, drone.lift) {
        (Ground::Ordered, _) => Some((ReadyReason::Grounded, "a ground order is in force")),
        (_, Lift::Land) => Some((
            ReadyReason::NodeDrained,
            "its node carries the taint skein.dev/ground; it flies again once that is removed",
        )),
        _ => None,
    }
}

/// Why a vehicle on the ground does not take off: a reason, and a sentence.
fn waits(drone: &Facts, report: &Report) -> Option<(ReadyReason, String)> {
    let refuses = drone.lift == Lift::Stay(NoLift::TakeoffSlot) && report.ready == Some(false);
    if matches!(report.activity, Activity::HandsOff(_)) || refuses {
        return None;
    }
    let (reason, text) = match drone.lift {
        Lift::Free | Lift::Land => return None,
        Lift::Stay(NoLift::Airspace) => {
            if drone.movement.is_none() {
                if let Some(why) = badly_known(report.accuracy) {
                    return Some((
                        ReadyReason::NoRoute,
                        format!("on the ground: it does not take off: {why}"),
                    ));
                }
                let text = "on the ground: others fly or hold where it is to fly, or where its autopilot would return, or one that was in the air \
                            is not heard, as kubectl get vehicles shows; it takes off once that is clear";
                return Some((ReadyReason::NoRoute, text.to_owned()));
            }
            let off_station = drone
                .movement
                .as_ref()
                .and_then(|movement| movement.off_station.as_ref());
            let why = off_station.map_or_else(|| "has no route to its station yet".to_owned(), off_station_text);
            return Some((ReadyReason::NoRoute, format!("on the ground: it {why}")));
        }
        Lift::Stay(NoLift::Doubt) => (
            ReadyReason::NoLeader,
            "on the ground: the coordinator cannot renew its Lease, and begins no flight until it can",
        ),
        Lift::Stay(NoLift::Cordoned) => (
            ReadyReason::NodeCordoned,
            "on the ground: its node is cordoned; uncordon it to let it fly",
        ),
        Lift::Stay(NoLift::Drained) => (
            ReadyReason::NodeDrained,
            "on the ground: its node carries the taint skein.dev/ground; it is being replaced where that can be",
        ),
        Lift::Stay(NoLift::NodeGone) => (
            ReadyReason::NodeGone,
            "on the ground: its node is gone, or carries the label node-role.kubernetes.io/drone no more",
        ),
        Lift::Stay(NoLift::Upgrade) => (
            ReadyReason::AgentUpgrading,
            "on the ground: the agent of its node is being replaced by a newer version; it flies once that is connected",
        ),
        Lift::Stay(NoLift::Geofence) => (
            ReadyReason::OutsideGeofence,
            "on the ground: a Geofence of its vehicle does not allow its takeoff altitude; change takeoffAltitudeMeters, or see `kubectl get geofences`",
        ),
        Lift::Stay(NoLift::FencesUnknown) => (
            ReadyReason::NoRoute,
            "on the ground: the Geofences of its vehicle are not known yet; it takes off once the coordinator has listed them",
        ),
        Lift::Stay(NoLift::Rules) => (
            ReadyReason::RulesNotInForce,
            "on the ground: a Geofence or ParameterProfile that selects its vehicle is not in force on it; see `kubectl get geofences,parameterprofiles`",
        ),
        Lift::Stay(NoLift::Plan) => (
            ReadyReason::NoPlan,
            "on the ground: its Mission has no part of the work for it yet, or its autopilot has not taken the plan yet; see `kubectl get missions -o wide`",
        ),
        Lift::Stay(NoLift::TakeoffSlot) => (
            ReadyReason::WaitingItsTurn,
            "on the ground: others of its Swarm take off, or have to land, first",
        ),
    };
    Some((reason, text.to_owned()))
}

/// Phase, and reason and message of Ready, from a fresh report.
pub(super) fn phase_and_ready(q: &Question<'_>, report: &Report) -> (Phase, ReadyReason, String) {
    let (phase, reason, mut message) = as_ordered(q, report);
    let (reason, after) = taken_back(report, reason);
    message.push_str(after);
    if let (Some(shift), FlightTruth::Airborne(_)) = (report.home_shift, report.truth) {
        message.push_str(&deviations::moved_home(&shift));
    }
    let up = matches!(report.truth, FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround);
    match (report.astray, phase) {
        (Some(fell @ Astray::Fell { .. }), Phase::Flying | Phase::TakingOff | Phase::Landing) if up => {
            let (_, message) = deviations::astray(q.drone, fell);
            (Phase::Interrupted, ReadyReason::Fell, message)
        }
        (Some(astray @ (Astray::Height { .. } | Astray::Place { .. })), Phase::Flying)
            if up && reason == ReadyReason::Holding =>
        {
            let (reason, message) = deviations::astray(q.drone, astray);
            (phase, reason, message)
        }
        _ => (phase, reason, message),
    }
}

/// Reason, and addition to the message, on the way back from a program for a cause that a person should know.
fn taken_back(report: &Report, reason: ReadyReason) -> (ReadyReason, &'static str) {
    if !ON_ITS_WAY.contains(&reason) {
        return (reason, "");
    }
    match report.route.lent {
        Some(Lent::TakenBack(WhyBack::LeaseSilent)) => (
            ReadyReason::LeaseSilent,
            "; it was taken back from its program, which was silent for longer than its lease, or sent no set-points",
        ),
        Some(Lent::TakenBack(WhyBack::LeftVolume)) => (
            ReadyReason::LeftVolume,
            "; it was taken back from its program, which would have left the volume of spec.external, or had",
        ),
        Some(Lent::TakenBack(WhyBack::Recalled) | Lent::Flies) | None => (reason, ""),
    }
}

fn as_ordered(q: &Question<'_>, report: &Report) -> (Phase, ReadyReason, String) {
    let with = |phase, reason, message: &str| (phase, reason, message.to_owned());
    let ground = ground_reason(q.drone);
    // Not shown unless `grounded`.
    let (ground_why, ground_text) = ground.unwrap_or((ReadyReason::Landing, ""));
    let grounded = ground.is_some();
    let ours = report.held.as_ref().is_some_and(|h: &Held| h.uid == q.drone.uid);
    match (report.truth, report.activity) {
        (_, Activity::HandsOff(HandsOff::AnotherAirframe)) => with(
            Phase::Unknown,
            ReadyReason::AnotherAirframe,
            "another airframe is on the wire of its node than the one that serves it, and nothing is sent to it: connect the first \
             again, or, if it was replaced for good, delete the Drone and force its release",
        ),
        (FlightTruth::Unknown(why), _) => (Phase::Unknown, unknown_reason(why), truth_message(report.truth).into()),
        (FlightTruth::Disarmed, _) if grounded => {
            (Phase::Grounded, ground_why, format!("on the ground: {ground_text}"))
        }
        (FlightTruth::Disarmed, _) if q.drone.ground == Ground::Unknown => with(
            Phase::Grounded,
            ReadyReason::SwarmUnknown,
            "on the ground: its Swarm is gone and may have been grounded; remove the label skein.dev/swarm to let it fly",
        ),
        (FlightTruth::Disarmed, _) if waits(q.drone, report).is_some() => {
            let (reason, message) = waits(q.drone, report).unwrap_or((ReadyReason::Preparing, String::new()));
            (Phase::Preparing, reason, message)
        }
        (_, Activity::HandsOff(HandsOff::AutopilotFailsafe)) => {
            let (reason, message) = deviations::executes(q.drone, report);
            (Phase::Interrupted, reason, message)
        }
        (_, Activity::HandsOff(HandsOff::OtherMode)) => {
            let (reason, message) = deviations::other_mode(q.drone, report);
            (Phase::Interrupted, reason, message)
        }
        (_, Activity::HandsOff(HandsOff::TakenOver)) => (
            Phase::Interrupted,
            ReadyReason::TakenOver,
            deviations::taken_over(q.drone, report),
        ),
        (_, Activity::HandsOff(HandsOff::ArmedByOther)) => with(
            Phase::Interrupted,
            ReadyReason::UnexpectedlyArmed,
            "armed on the ground, and not by this agent since it started: a pilot or a ground station armed it, or Skein did before its \
             agent started again; Skein sends nothing until it is disarmed",
        ),
        (_, Activity::HandsOff(HandsOff::FlightOver)) => (
            Phase::Interrupted,
            ReadyReason::FlightOver,
            deviations::flight_over(q.drone, report),
        ),
        (_, Activity::HandsOff(HandsOff::Killed)) => with(
            Phase::Interrupted,
            ReadyReason::Killed,
            "its motors were stopped by a kill; delete the Drone once the vehicle is fit to fly again",
        ),
        (_, Activity::Failsafe) => with(
            Phase::Interrupted,
            ReadyReason::Failsafe,
            "the coordinator was lost and the vehicle flies its failsafe",
        ),
        (_, Activity::LowBattery) => {
            let does = if returns(report) {
                "returns home to land"
            } else if descends(report) {
                "lands where it is"
            } else {
                "is brought down"
            };
            (
                Phase::Interrupted,
                ReadyReason::LowBattery,
                format!("the battery has reached its reserve and the vehicle {does}"),
            )
        }
        (FlightTruth::Airborne(_), _) if flies_home_first(q.drone).is_some() => match flies_home_first(q.drone) {
            Some(off @ (OffStation::Waits(_) | OffStation::KeepsClear(_))) => (
                Phase::Flying,
                off_station_reason(off),
                format!("not landing yet ({ground_text}): it {}", off_station_text(off)),
            ),
            _ => (
                Phase::Landing,
                ground_why,
                format!("flying home to land: {ground_text}"),
            ),
        },
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, _) if grounded => match deviations::owed(report) {
            Some(owed) => (
                Phase::Flying,
                ReadyReason::LandingOwed,
                format!("not landing yet ({ground_text}): {owed}"),
            ),
            None if deviations::is_only_ordered(report) => (
                Phase::Flying,
                ReadyReason::LandingOrdered,
                format!("ordered to land, and its autopilot has not answered yet: {ground_text}"),
            ),
            None => (Phase::Landing, ground_why, format!("landing: {ground_text}")),
        },
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, _) if !ours => with(
            Phase::Interrupted,
            ReadyReason::NotTaken,
            "the vehicle is armed, but not for this Drone",
        ),
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, Activity::Landing) if report.terminating => with(
            Phase::Landing,
            ReadyReason::AgentEnding,
            "landing because its agent is ending",
        ),
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, Activity::Landing) => with(
            Phase::Landing,
            ReadyReason::Landing,
            "landing; its agent is taking up the flight",
        ),
        (FlightTruth::ArmedOnGround, _) => with(Phase::Arming, ReadyReason::Arming, "armed, about to take off"),
        (FlightTruth::Airborne(Airborne::TakingOff), _) | (FlightTruth::Airborne(_), Activity::TakingOff) => {
            let off = q
                .drone
                .movement
                .as_ref()
                .and_then(|movement| movement.off_station.as_ref());
            let (reason, message) = match (off, q.height) {
                (Some(off @ OffStation::KeepsClear(_)), _) => (
                    off_station_reason(off),
                    format!("climbing; it {}", off_station_text(off)),
                ),
                (_, Height::NotReached { at }) => (ReadyReason::AltitudeNotReached, not_reached(q.drone, at)),
                (_, Height::There | Height::UnderWay) => {
                    (ReadyReason::TakingOff, "climbing to its takeoff altitude".to_owned())
                }
            };
            (Phase::TakingOff, reason, message)
        }
        (FlightTruth::Airborne(_), Activity::Holding) => {
            let (reason, message) = holding(q, report);
            (Phase::Flying, reason, message)
        }
        (FlightTruth::Airborne(_), Activity::Moving) => {
            match q.drone.movement.as_ref().map(|movement| &movement.off_station) {
                Some(Some(off @ (OffStation::Waits(_) | OffStation::KeepsClear(_)))) => {
                    let way = match off {
                        OffStation::KeepsClear(_) => "in the air; it",
                        _ => "in the air, flying to where it was asked before; for its station it",
                    };
                    let message = format!("{way} {}", off_station_text(off));
                    (Phase::Flying, off_station_reason(off), message)
                }
                _ => match &report.route.stalled {
                    Some(stalled) => (
                        Phase::Flying,
                        ReadyReason::PlaceNotReached,
                        deviations::stalled(stalled),
                    ),
                    None if comes_home(q.drone, Some(report)) => with(Phase::Flying, ReadyReason::Moving, FLIES_HOME),
                    None => with(Phase::Flying, ReadyReason::Moving, "in the air, flying its route"),
                },
            }
        }
        (FlightTruth::Airborne(_), _) => with(
            Phase::Flying,
            ReadyReason::InTheAir,
            "in the air; its agent is taking up the flight",
        ),
        (FlightTruth::Disarmed, Activity::Arming | Activity::TakingOff) => {
            with(Phase::Arming, ReadyReason::Arming, "being armed")
        }
        (FlightTruth::Disarmed, _) if report.terminating => with(
            Phase::Preparing,
            ReadyReason::AgentEnding,
            "its agent is ending and takes no new flight",
        ),
        (FlightTruth::Disarmed, _) if !ours => {
            with(Phase::Preparing, ReadyReason::NotTaken, "its agent is being notified")
        }
        (FlightTruth::Disarmed, _) => match armable(report) {
            Condition {
                value: Some(false),
                message,
                ..
            } => (Phase::Preparing, ReadyReason::ArmingChecksFail, message),
            _ => with(Phase::Preparing, ReadyReason::Preparing, "on the ground, getting ready"),
        },
    }
}

/// What keeps a vehicle from flying home before it lands.
fn flies_home_first(drone: &Facts) -> Option<&OffStation> {
    let lands = drone.deleting || drone.lift == Lift::Land;
    let movement = drone
        .movement
        .as_ref()
        .filter(|_| lands && drone.ground != Ground::Ordered)?;
    movement
        .off_station
        .as_ref()
        .filter(|_| movement.way_home == WayHome::Ahead)
}

fn holding(q: &Question<'_>, report: &Report) -> (ReadyReason, String) {
    let taken = report
        .held
        .as_ref()
        .is_some_and(|held| held.generation >= q.drone.generation);
    if let Some(asked) = q.drone.waits_for.filter(|_| taken) {
        return waits_for_height(q.drone, asked);
    }
    match q.height {
        _ if !taken => (
            ReadyReason::Updating,
            "in the air; its agent has yet to take up what was changed".to_owned(),
        ),
        Height::There => match q.drone.movement.as_ref().map(|movement| &movement.off_station) {
            None => (ReadyReason::Holding, "in the air and holding".to_owned()),
            Some(Some(OffStation::Settling)) if comes_home(q.drone, Some(report)) => {
                (ReadyReason::OffStation, LANDS_SOON.to_owned())
            }
            Some(None) => (ReadyReason::Holding, "in the air, on station".to_owned()),
            Some(Some(OffStation::Lent)) => match report.route.lent {
                Some(Lent::Flies) => (
                    ReadyReason::ExternalControl,
                    "in the air, flown by a program within the volume of spec.external".to_owned(),
                ),
                // It keeps the volume until it has stopped.
                Some(Lent::TakenBack(_)) => (
                    ReadyReason::OffStation,
                    "in the air; it is stopped where it is".to_owned(),
                ),
                None => (
                    ReadyReason::Holding,
                    "in the air, on station; a program may fly it: `skein connect --control`".to_owned(),
                ),
            },
            Some(Some(off)) => (
                off_station_reason(off),
                format!("in the air; it {}", off_station_text(off)),
            ),
        },
        Height::UnderWay => (
            ReadyReason::ChangingAltitude,
            format!("in the air, on its way to {} m", q.drone.altitude.0),
        ),
        Height::NotReached { at } => (ReadyReason::AltitudeNotReached, not_reached(q.drone, at)),
    }
}

/// Reason and message while kept at another altitude than `asked`.
fn waits_for_height(drone: &Facts, (asked, why): (AltitudeAboveHome, NoLift)) -> (ReadyReason, String) {
    let kept = format!("in the air, ordered to {} m and not to {} m", drone.altitude.0, asked.0);
    if why == NoLift::Geofence {
        let why = "a Geofence of its vehicle does not allow that; change takeoffAltitudeMeters, or see `kubectl get geofences`";
        return (ReadyReason::OutsideGeofence, format!("{kept}: {why}"));
    }
    let why = if why == NoLift::FencesUnknown {
        "the Geofences of its vehicle are not known yet; it changes its altitude once they are"
    } else {
        "the way there is not known to be clear of others; it changes its altitude once it is"
    };
    (ReadyReason::NoRoute, format!("{kept}: {why}"))
}

const fn off_station_reason(off: &OffStation) -> ReadyReason {
    match off {
        OffStation::Moving => ReadyReason::Moving,
        OffStation::Lent => ReadyReason::ExternalControl,
        OffStation::WaitsForRoom(_) => ReadyReason::NoVolume,
        OffStation::Waits(_) => ReadyReason::NoRoute,
        OffStation::KeepsClear(_) => ReadyReason::KeepsClear,
        OffStation::Settling => ReadyReason::OffStation,
    }
}

/// What it does instead, after "it".
fn off_station_text(off: &OffStation) -> String {
    match off {
        OffStation::Moving => "flies its route".to_owned(),
        OffStation::Lent => "may be flown by a program".to_owned(),
        OffStation::WaitsForRoom(what) => format!("holds on its station, and {what}"),
        OffStation::Waits(what) | OffStation::KeepsClear(what) => what.clone(),
        OffStation::Settling => "was not observed on its station for a second".to_owned(),
    }
}

fn not_reached(drone: &Facts, at: AltitudeAboveHome) -> String {
    format!(
        "in the air, at {:.0} m above home and not at {} m as asked; look at the vehicle and at its autopilot's limits, or ask for \
         another altitude",
        at.0, drone.altitude.0
    )
}
