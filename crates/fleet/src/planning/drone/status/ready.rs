//! Phase of a Drone, and why, as a sentence.

use super::deviations::{self, FELL};
use super::{Condition, Phase, Question, armable, truth_message, truth_reason};
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

pub(super) const HOLDING: &str = "Holding";

/// Flies at another altitude than asked for, for longer than that should take.
pub(super) const NOT_REACHED: &str = "AltitudeNotReached";

pub(super) const ANOTHER_AIRFRAME: &str = "AnotherAirframe";

/// Flown by a program, as asked.
pub(super) const EXTERNAL: &str = "ExternalControl";

/// On its station, without airspace for a program yet.
const NO_VOLUME: &str = "NoVolume";

pub(super) const MOVING: &str = "Moving";

/// Does not fly its route.
pub(super) const NO_WAY: &str = "PlaceNotReached";

pub(super) const NO_ROUTE: &str = "NoRoute";

/// At the end of its route, and not on its station.
const OFF_STATION: &str = "OffStation";
const FLIES_HOME: &str = "in the air, flying home: its battery is near its reserve";
const LANDS_SOON: &str = "in the air above its home: its battery is near its reserve, at which it lands";

/// Reasons on the way to a station, in order.
pub const ON_ITS_WAY: [&str; 3] = [MOVING, NO_ROUTE, OFF_STATION];

pub(super) const CHECKS_FAIL: &str = "ArmingChecksFail";

/// Why it should be on the ground: a reason, and a clause.
const fn ground_reason(drone: &Facts) -> Option<(&'static str, &'static str)> {
    if drone.deleting {
        return Some(("Deleting", "the Drone is being deleted"));
    }
    match (drone.ground, drone.lift) {
        (Ground::Ordered, _) => Some(("Grounded", "a ground order is in force")),
        (_, Lift::Land) => Some((
            "NodeDrained",
            "its node carries the taint skein.dev/ground; it flies again once that is removed",
        )),
        _ => None,
    }
}

/// Why a vehicle on the ground does not take off: a reason, and a sentence.
fn waits(drone: &Facts, report: &Report) -> Option<(&'static str, String)> {
    let refuses = drone.lift == Lift::Stay(NoLift::TakeoffSlot) && report.ready == Some(false);
    if matches!(report.activity, Activity::HandsOff(_)) || refuses {
        return None;
    }
    let (reason, text) = match drone.lift {
        Lift::Free | Lift::Land => return None,
        Lift::Stay(NoLift::Airspace) => {
            if drone.movement.is_none() {
                if let Some(why) = badly_known(report.accuracy) {
                    return Some((NO_ROUTE, format!("on the ground: it does not take off: {why}")));
                }
                let text = "on the ground: others fly or hold where it is to fly; it takes off once that is clear";
                return Some((NO_ROUTE, text.to_owned()));
            }
            let off_station = drone
                .movement
                .as_ref()
                .and_then(|movement| movement.off_station.as_ref());
            let why = off_station.map_or_else(|| "has no route to its station yet".to_owned(), off_station_text);
            return Some((NO_ROUTE, format!("on the ground: it {why}")));
        }
        Lift::Stay(NoLift::Doubt) => (
            "NoLeader",
            "on the ground: the coordinator cannot renew its Lease, and begins no flight until it can",
        ),
        Lift::Stay(NoLift::Cordoned) => (
            "NodeCordoned",
            "on the ground: its node is cordoned; uncordon it to let it fly",
        ),
        Lift::Stay(NoLift::Drained) => (
            "NodeDrained",
            "on the ground: its node carries the taint skein.dev/ground; it is being replaced where that can be",
        ),
        Lift::Stay(NoLift::NodeGone) => (
            "NodeGone",
            "on the ground: its node is gone, or carries the label node-role.kubernetes.io/drone no more",
        ),
        Lift::Stay(NoLift::Upgrade) => (
            "AgentUpgrading",
            "on the ground: the agent of its node is being replaced by a newer version; it flies once that is connected",
        ),
        Lift::Stay(NoLift::Geofence) => (
            "OutsideGeofence",
            "on the ground: a Geofence of its vehicle does not allow its takeoff altitude; change takeoffAltitudeMeters, or see `kubectl get geofences`",
        ),
        Lift::Stay(NoLift::Rules) => (
            "RulesNotInForce",
            "on the ground: a Geofence or ParameterProfile that selects its vehicle is not in force on it; see `kubectl get geofences,parameterprofiles`",
        ),
        Lift::Stay(NoLift::Plan) => (
            "NoPlan",
            "on the ground: its Mission has no part of the work for it yet, or its autopilot has not taken the plan yet; see `kubectl get missions -o wide`",
        ),
        Lift::Stay(NoLift::TakeoffSlot) => (
            "WaitingItsTurn",
            "on the ground: others of its Swarm take off, or have to land, first",
        ),
    };
    Some((reason, text.to_owned()))
}

/// Phase, and reason and message of Ready, from a fresh report.
pub(super) fn phase_and_ready(q: &Question<'_>, report: &Report) -> (Phase, &'static str, String) {
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
            (Phase::Interrupted, FELL, message)
        }
        (Some(astray @ (Astray::Height { .. } | Astray::Place { .. })), Phase::Flying) if up && reason == HOLDING => {
            let (reason, message) = deviations::astray(q.drone, astray);
            (phase, reason, message)
        }
        _ => (phase, reason, message),
    }
}

/// Reason, and addition to the message, on the way back from a program for a cause that a person should know.
fn taken_back(report: &Report, reason: &'static str) -> (&'static str, &'static str) {
    if !ON_ITS_WAY.contains(&reason) {
        return (reason, "");
    }
    match report.route.lent {
        Some(Lent::TakenBack(WhyBack::LeaseSilent)) => (
            "LeaseSilent",
            "; it was taken back from its program, which was silent for longer than its lease, or sent no set-points",
        ),
        Some(Lent::TakenBack(WhyBack::LeftVolume)) => (
            "LeftVolume",
            "; it was taken back from its program, which would have left the volume of spec.external, or had",
        ),
        Some(Lent::TakenBack(WhyBack::Recalled) | Lent::Flies) | None => (reason, ""),
    }
}

fn as_ordered(q: &Question<'_>, report: &Report) -> (Phase, &'static str, String) {
    let with = |phase, reason, message: &str| (phase, reason, message.to_owned());
    let ground = ground_reason(q.drone);
    let (ground_why, ground_text) = ground.unwrap_or_default();
    let grounded = ground.is_some();
    let ours = report.held.as_ref().is_some_and(|h: &Held| h.uid == q.drone.uid);
    match (report.truth, report.activity) {
        (_, Activity::HandsOff(HandsOff::AnotherAirframe)) => with(
            Phase::Unknown,
            ANOTHER_AIRFRAME,
            "another airframe is on the wire of its node than the one that serves it, and nothing is sent to it: connect the first \
             again, or, if it was replaced for good, delete the Drone and force its release",
        ),
        (FlightTruth::Unknown(_), _) => (
            Phase::Unknown,
            truth_reason(report.truth),
            truth_message(report.truth).into(),
        ),
        (FlightTruth::Disarmed, _) if grounded => {
            (Phase::Grounded, ground_why, format!("on the ground: {ground_text}"))
        }
        (FlightTruth::Disarmed, _) if q.drone.ground == Ground::Unknown => with(
            Phase::Grounded,
            "SwarmUnknown",
            "on the ground: its Swarm is gone and may have been grounded; remove the label skein.dev/swarm to let it fly",
        ),
        (FlightTruth::Disarmed, _) if waits(q.drone, report).is_some() => {
            let (reason, message) = waits(q.drone, report).unwrap_or_default();
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
        (_, Activity::HandsOff(HandsOff::TakenOver)) => {
            (Phase::Interrupted, "TakenOver", deviations::taken_over(q.drone, report))
        }
        (_, Activity::HandsOff(HandsOff::ArmedByOther)) => with(
            Phase::Interrupted,
            "UnexpectedlyArmed",
            "armed on the ground, and not by this agent since it started: a pilot or a ground station armed it, or Skein did before its \
             agent started again; Skein sends nothing until it is disarmed",
        ),
        (_, Activity::HandsOff(HandsOff::FlightOver)) => (
            Phase::Interrupted,
            "FlightOver",
            deviations::flight_over(q.drone, report),
        ),
        (_, Activity::HandsOff(HandsOff::Killed)) => with(
            Phase::Interrupted,
            "Killed",
            "its motors were stopped by a kill; delete the Drone once the vehicle is fit to fly again",
        ),
        (_, Activity::Failsafe) => with(
            Phase::Interrupted,
            "Failsafe",
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
                "LowBattery",
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
                "LandingOwed",
                format!("not landing yet ({ground_text}): {owed}"),
            ),
            None if deviations::is_only_ordered(report) => (
                Phase::Flying,
                "LandingOrdered",
                format!("ordered to land, and its autopilot has not answered yet: {ground_text}"),
            ),
            None => (Phase::Landing, ground_why, format!("landing: {ground_text}")),
        },
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, _) if !ours => with(
            Phase::Interrupted,
            "NotTaken",
            "the vehicle is armed, but not for this Drone",
        ),
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, Activity::Landing) if report.terminating => {
            with(Phase::Landing, "AgentEnding", "landing because its agent is ending")
        }
        (FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, Activity::Landing) => {
            with(Phase::Landing, "Landing", "landing; its agent is taking up the flight")
        }
        (FlightTruth::ArmedOnGround, _) => with(Phase::Arming, "Arming", "armed, about to take off"),
        (FlightTruth::Airborne(Airborne::TakingOff), _) | (FlightTruth::Airborne(_), Activity::TakingOff) => {
            let (reason, message) = match q.height {
                Height::NotReached { at } => (NOT_REACHED, not_reached(q.drone, at)),
                Height::There | Height::UnderWay => ("TakingOff", "climbing to its takeoff altitude".to_owned()),
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
                    Some(stalled) => (Phase::Flying, NO_WAY, deviations::stalled(stalled)),
                    None if comes_home(q.drone, Some(report)) => with(Phase::Flying, MOVING, FLIES_HOME),
                    None => with(Phase::Flying, MOVING, "in the air, flying its route"),
                },
            }
        }
        (FlightTruth::Airborne(_), _) => with(
            Phase::Flying,
            "InTheAir",
            "in the air; its agent is taking up the flight",
        ),
        (FlightTruth::Disarmed, Activity::Arming | Activity::TakingOff) => with(Phase::Arming, "Arming", "being armed"),
        (FlightTruth::Disarmed, _) if report.terminating => with(
            Phase::Preparing,
            "AgentEnding",
            "its agent is ending and takes no new flight",
        ),
        (FlightTruth::Disarmed, _) if !ours => with(Phase::Preparing, "NotTaken", "its agent is being notified"),
        (FlightTruth::Disarmed, _) => match armable(report) {
            Condition {
                value: Some(false),
                message,
                ..
            } => (Phase::Preparing, CHECKS_FAIL, message),
            _ => with(Phase::Preparing, "Preparing", "on the ground, getting ready"),
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

fn holding(q: &Question<'_>, report: &Report) -> (&'static str, String) {
    let taken = report
        .held
        .as_ref()
        .is_some_and(|held| held.generation >= q.drone.generation);
    if let Some(asked) = q.drone.waits_for.filter(|_| taken) {
        return waits_for_height(q.drone, asked);
    }
    match q.height {
        _ if !taken => (
            "Updating",
            "in the air; its agent has yet to take up what was changed".to_owned(),
        ),
        Height::There => match q.drone.movement.as_ref().map(|movement| &movement.off_station) {
            None => (HOLDING, "in the air and holding".to_owned()),
            Some(Some(OffStation::Settling)) if comes_home(q.drone, Some(report)) => {
                (OFF_STATION, LANDS_SOON.to_owned())
            }
            Some(None) => (HOLDING, "in the air, on station".to_owned()),
            Some(Some(OffStation::Lent)) => match report.route.lent {
                Some(Lent::Flies) => (
                    EXTERNAL,
                    "in the air, flown by a program within the volume of spec.external".to_owned(),
                ),
                // It keeps the volume until it has stopped.
                Some(Lent::TakenBack(_)) => (OFF_STATION, "in the air; it is stopped where it is".to_owned()),
                None => (
                    HOLDING,
                    "in the air, on station; a program may fly it: `skein connect --control`".to_owned(),
                ),
            },
            Some(Some(off)) => (
                off_station_reason(off),
                format!("in the air; it {}", off_station_text(off)),
            ),
        },
        Height::UnderWay => (
            "ChangingAltitude",
            format!("in the air, on its way to {} m", q.drone.altitude.0),
        ),
        Height::NotReached { at } => (NOT_REACHED, not_reached(q.drone, at)),
    }
}

/// Reason and message while kept at another altitude than `asked`.
fn waits_for_height(drone: &Facts, (asked, why): (AltitudeAboveHome, NoLift)) -> (&'static str, String) {
    let kept = format!("in the air, ordered to {} m and not to {} m", drone.altitude.0, asked.0);
    if why == NoLift::Geofence {
        let why = "a Geofence of its vehicle does not allow that; change takeoffAltitudeMeters, or see `kubectl get geofences`";
        return ("OutsideGeofence", format!("{kept}: {why}"));
    }
    let why = "the way there is not known to be clear of others; it changes its height once it is";
    (NO_ROUTE, format!("{kept}: {why}"))
}

const fn off_station_reason(off: &OffStation) -> &'static str {
    match off {
        OffStation::Moving => MOVING,
        OffStation::Lent => EXTERNAL,
        OffStation::WaitsForRoom(_) => NO_VOLUME,
        OffStation::Waits(_) => NO_ROUTE,
        OffStation::KeepsClear(_) => "KeepsClear",
        OffStation::Settling => OFF_STATION,
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
         another height",
        at.0, drone.altitude.0
    )
}
