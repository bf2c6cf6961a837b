//! The next steps for the Vehicle objects of one node.
//!
//! Owns: the decision, their names, and their statuses. Must not: call the API, read a clock.

use crate::cluster::conditions::condition;
use crate::cluster::world::uid;
use crate::controllers::drone::status::{BATTERY_STEP_PERCENT, battery, far_from, identity};
use crate::controllers::node_operators::Shown;
use crate::controllers::node_rules::ShownRules;
use crate::controllers::pacing::Urgency;
use crds::vehicle::{BatteryWear, Board, Home, OtherBattery, VehicleRules};
use crds::{Vehicle, VehicleSpec, VehicleStatus};
use fleet::planning::binding::Why;
use fleet::planning::drone::status::armable;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use model::geo::offset;
use model::ids::{DroneName, NodeName};
use model::monitored_battery::{self, Drives};
use model::report::Report;
use model::units::Wgs84;
use model::vehicle::{FlightTruth, HardwareUid};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;

/// A Vehicle that was not heard for this long is deleted.
pub const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(90 * 24);

/// A home that has moved less, over ground and in altitude, is the same: autopilots correct theirs.
const HOME_EPSILON_M: (f64, f64) = (10.0, 5.0);

const MAX_NAME_LENGTH: usize = 253;

/// Specs of Vehicles never change.
const GENERATION: i64 = 1;

const READY: &str = "Ready";
const FREE: &str = "Free";
const ARMABLE: &str = "Armable";
const RULES: &str = "RulesInForce";
const REMOTE_ID: &str = "RemoteId";

#[derive(Clone, Copy, Debug)]
pub struct NodeSnapshot<'a> {
    pub node: &'a NodeName,
    /// The Drone that is bound to it, and the airframe that serves it, as far as is known.
    pub drone: Option<(&'a DroneName, Option<HardwareUid>)>,
    /// The last report of its agent, while that is connected and the report is fresh.
    pub report: Option<&'a Report>,
    /// `None` while unknown.
    pub airframe: Option<Airframe>,
    /// Another node whose agent observes the same hardware number now.
    pub same_hardware: Option<&'a NodeName>,
    /// Whether a Drone could be bound to it; the outer `None`: it is no drone node.
    pub free: Option<Result<(), Why>>,
    pub remote_id: Option<&'a Shown>,
    /// `None`: nothing new is known of them.
    pub rules: Option<&'a ShownRules>,
    /// A person has just declared that its vehicle is not in the air.
    pub declared_down: bool,
}

impl NodeSnapshot<'_> {
    /// The Drone that `vehicle` serves; none while it is known to be served by another airframe.
    fn served_by(&self, vehicle: &Vehicle, is_current: bool) -> Option<&DroneName> {
        let (drone, airframe) = self.drone?;
        let of = vehicle.spec.hardware_uid.as_deref().and_then(HardwareUid::parse);
        let unknown = is_current && (airframe.is_none() || of.is_none());
        (unknown || airframe == of).then_some(drone)
    }
}

/// An airframe, by the number of its autopilot's hardware, if that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Airframe(pub Option<HardwareUid>);

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a hundred at a time at most")]
pub enum Step {
    Create(VehicleSpec),
    Write(VehicleStatus),
    Delete,
}

/// The airframe of a report. Until its autopilot has answered with its version, that is known only when it has been `waited` for.
pub fn airframe(report: &Report, waited: bool) -> Option<Airframe> {
    let identity = report.identity.as_ref()?;
    let answered = identity.firmware.is_some() || identity.hardware.is_some();
    (answered || waited).then_some(Airframe(identity.hardware))
}

/// The node's name, and a short hash of the hardware number.
pub fn name(node: &str, airframe: Airframe) -> String {
    let Some(uid) = airframe.0 else { return node.to_owned() };
    let hash = Sha256::digest(format!("{node}/{uid}"));
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let most = MAX_NAME_LENGTH - 1 - hash.len();
    let node = node.get(..most).unwrap_or(node).trim_end_matches(['.', '-']);
    format!("{node}-{hash}")
}

/// Counts of flights by uid, now and as written: a status waits for company, and a vehicle may land and take off again before.
#[derive(Debug, Default)]
pub struct Counted(HashMap<String, [Flights; 2]>);

/// Since when it flies, how often it has flown, and for how many seconds.
type Flights = (Option<Time>, i64, i64);

fn flights(status: &VehicleStatus) -> Flights {
    (status.airborne_since.clone(), status.flights, status.flight_seconds)
}

impl Counted {
    /// The written status of `vehicle`, with what was counted since. Counts of another coordinator are kept.
    fn with(&self, vehicle: &Vehicle) -> VehicleStatus {
        let mut status = vehicle.status.clone().unwrap_or_default();
        if let Some([written, counted]) = self.0.get(uid(vehicle))
            && *written == flights(&status)
        {
            (status.airborne_since, status.flights, status.flight_seconds) = counted.clone();
        }
        status
    }

    fn keep(&mut self, vehicle: &Vehicle, next: &VehicleStatus) {
        let written = vehicle.status.as_ref().map(flights).unwrap_or_default();
        let counted = flights(next);
        if written == counted {
            self.0.remove(uid(vehicle));
        } else {
            self.0.insert(uid(vehicle).to_owned(), [written, counted]);
        }
    }

    pub fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.0.retain(|uid, _| exists(uid));
    }
}

/// The steps for the objects of a node; `known` are the existing ones, by name.
pub fn steps(
    snapshot: &NodeSnapshot<'_>,
    known: &[Arc<Vehicle>],
    counted: &mut Counted,
    now: Timestamp,
) -> Vec<(String, Step, Urgency)> {
    let current = snapshot.airframe.map(|airframe| name(snapshot.node.as_str(), airframe));
    let mut steps = Vec::new();
    for vehicle in known {
        let of_vehicle = vehicle.name_any();
        let is_current = current.as_ref() == Some(&of_vehicle);
        let mut old = counted.with(vehicle);
        if snapshot.declared_down {
            end_flight(&mut old, snapshot.report);
        }
        if !is_current && is_forgotten(vehicle, &old, now) {
            steps.push((of_vehicle, Step::Delete, Urgency::Now));
            continue;
        }
        let next = match (&current, snapshot.report) {
            (Some(_), Some(report)) if is_current => heard(&old, snapshot, vehicle, report, now),
            (Some(other), _) => unheard(&old, "AnotherAirframe", &another(snapshot.node, other), now),
            (None, Some(report)) if !report.link_alive => {
                unheard(&old, Why::AutopilotSilent.reason(), &autopilot_silent(report), now)
            }
            (None, _) => unheard(&old, Why::AgentSilent.reason(), "its agent is not connected", now),
        };
        let next = VehicleStatus {
            drone: snapshot.served_by(vehicle, is_current).map(DroneName::to_string),
            ..next
        };
        counted.keep(vehicle, &next);
        let urgency = urgency(vehicle.status.as_ref(), &next);
        steps.push((of_vehicle, Step::Write(next), urgency));
    }
    if let (Some(name), Some(airframe)) = (current, snapshot.airframe)
        && known.iter().all(|vehicle| vehicle.name_any() != name)
    {
        let spec = VehicleSpec {
            node_name: snapshot.node.to_string(),
            hardware_uid: airframe.0.map(|uid| uid.to_string()),
        };
        steps.push((name, Step::Create(spec), Urgency::Now));
    }
    steps
}

/// The message about an autopilot that is not received, with why its link is not open or what is heard on it instead.
fn autopilot_silent(report: &Report) -> String {
    let sentence = Why::AutopilotSilent.sentence();
    match &report.link_fault {
        Some(fault) => format!("{sentence}; on its link: {fault}"),
        None => sentence.to_owned(),
    }
}

/// A warning: numbers distinguish airframes on one node, and nodes those of one number.
fn same_hardware(other: &NodeName) -> String {
    format!(
        "the autopilot of node {other} reports the same hardware number: if both are one autopilot, stop one of its agents; else give one board a \
         number of its own, since an exchange of the two is not noticed"
    )
}

fn another(node: &NodeName, name: &str) -> String {
    format!("the agent of node {node} observes another airframe now, Vehicle {name}")
}

fn status<'a>(status: &'a VehicleStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|c| c.type_ == kind)
}

fn is_forgotten(vehicle: &Vehicle, old: &VehicleStatus, now: Timestamp) -> bool {
    let silent = status(old, READY).filter(|ready| ready.status != "True");
    let since = silent.map(|ready| ready.last_transition_time.0);
    // A Vehicle whose status was never written.
    let since = since.or_else(|| {
        let made = vehicle.metadata.creation_timestamp.as_ref()?;
        old.conditions.is_empty().then_some(made.0)
    });
    since.is_some_and(|since| now.duration_since(since) >= FORGOTTEN_AFTER)
}

/// The status of a Vehicle that is not heard: what was known of it stays.
fn unheard(old: &VehicleStatus, reason: &str, message: &str, now: Timestamp) -> VehicleStatus {
    let because = |kind, value| condition(&old.conditions, kind, value, reason, message, GENERATION, now);
    VehicleStatus {
        conditions: vec![
            because(READY, Some(false)),
            because(FREE, Some(false)),
            because(ARMABLE, None),
        ]
        .into_iter()
        .chain(old.rules.is_some().then(|| because(RULES, None)))
        .chain(old.remote_id.is_some().then(|| because(REMOTE_ID, None)))
        .collect(),
        ..old.clone()
    }
}

/// A charge is written anew when it has changed by a quarter, as that of the motors' battery.
fn other_batteries(before: &[OtherBattery], report: &Report) -> Vec<OtherBattery> {
    let written = |now: &monitored_battery::OtherBattery| {
        let drives = match now.drives {
            Drives::Avionics => "Avionics",
            Drives::Payload => "Payload",
            Drives::LeftOut | Drives::Motors => "Other",
        };
        let next = OtherBattery {
            id: now.id.into(),
            drives: drives.to_owned(),
            remaining_percent: now.remaining.map(|left| left.get().into()),
        };
        let same = before
            .iter()
            .find(|before| before.id == next.id && before.drives == next.drives);
        let near = same.filter(|same| match (same.remaining_percent, next.remaining_percent) {
            (Some(before), Some(now)) => (before - now).abs() < BATTERY_STEP_PERCENT,
            (before, now) => before == now,
        });
        near.cloned().unwrap_or(next)
    };
    report.other_batteries.iter().map(written).collect()
}

fn heard(
    old: &VehicleStatus,
    snapshot: &NodeSnapshot<'_>,
    vehicle: &Vehicle,
    report: &Report,
    now: Timestamp,
) -> VehicleStatus {
    let mut next = old.clone();
    if let Some(identity) = identity(report) {
        next.autopilot = identity.autopilot;
        next.system_id = Some(identity.system_id);
        next.firmware = identity.firmware.or(next.firmware);
    }
    next.board = board(report).or(next.board);
    // It may have got another battery.
    next.battery_wear = wear(report);
    next.home = home(report)
        .filter(|home| !next.home.as_ref().is_some_and(|before| is_same(before, home)))
        .or(next.home);
    next.battery = battery(report, now)
        .filter(|battery| far_from(next.battery.as_ref(), battery))
        .or(next.battery);
    next.other_batteries = other_batteries(&next.other_batteries, report);
    count_flight(&mut next, report.truth, now);
    let of = |kind, value, (reason, message): (&str, &str)| {
        condition(&old.conditions, kind, value, reason, message, GENERATION, now)
    };
    let said = match report.link_alive {
        true => "its agent receives from its autopilot".to_owned(),
        false => autopilot_silent(report),
    };
    let said = match snapshot.same_hardware.map(same_hardware) {
        Some(warning) => format!("{said}; {warning}"),
        None => said,
    };
    let reason = if report.link_alive {
        "Heard"
    } else {
        Why::AutopilotSilent.reason()
    };
    let ready = (reason, said.as_str());
    let serves = snapshot.served_by(vehicle, true);
    let serves = serves.map(|drone| format!("it serves Drone {drone}"));
    let free = snapshot.drone.map_or(snapshot.free, |_| Some(Err(Why::Taken)));
    let is_free = free == Some(Ok(()));
    let free = match (&serves, free) {
        (Some(serves), _) => ("ServesDrone", serves.as_str()),
        (None, None) => (
            "NoDroneNode",
            "its node does not carry the label node-role.kubernetes.io/drone, so no Drone can be bound to it",
        ),
        (None, Some(Err(why))) => (why.reason(), why.sentence()),
        (None, Some(Ok(()))) => ("Free", "a Drone can be bound to it"),
    };
    let armable = armable(report);
    next.conditions = vec![
        of(READY, Some(report.link_alive), ready),
        of(FREE, Some(is_free), free),
        of(ARMABLE, armable.value, (armable.reason, &armable.message)),
    ];
    if let Some(ShownRules(rules)) = snapshot.rules {
        next.rules.clone_from(rules);
    }
    if let Some(rules) = &next.rules {
        let held = report.rules.held.as_ref().is_some_and(|held| held.0 == rules.digest);
        let (is, said) = match (rules.digest.is_empty(), held && report.rules.in_force) {
            (true, _) => (true, ("NoneSelect", "no Geofence and no ParameterProfile selects it")),
            (false, true) => (
                true,
                (
                    "InForce",
                    "its fence and its parameters were read back as they are to be",
                ),
            ),
            (false, false) => (
                false,
                (
                    "NotInForce",
                    "not all rules are in force; the status of its Geofences and ParameterProfiles says which and why",
                ),
            ),
        };
        next.conditions.push(of(RULES, Some(is), said));
    }
    next.remote_id = snapshot.remote_id.map(|shown| shown.status.clone());
    if let Some(Shown { status, reason }) = snapshot.remote_id {
        next.conditions
            .push(of(REMOTE_ID, status.ready, (*reason, status.reason.as_str())));
    }
    next
}

fn board(report: &Report) -> Option<Board> {
    let known = |number: u16| Some(i32::from(number)).filter(|number| *number != 0);
    report.inventory.board.map(|board| Board {
        number: known(board.number),
        usb: known(board.vendor).map(|_| format!("{:04x}:{:04x}", board.vendor, board.product)),
    })
}

fn wear(report: &Report) -> Option<BatteryWear> {
    let wear = report.inventory.wear;
    let is_reported = wear != Default::default();
    is_reported.then(|| BatteryWear {
        cycles: wear.cycles.map(i32::from),
        health_percent: wear.health.map(|health| health.get().into()),
    })
}

fn home(report: &Report) -> Option<Home> {
    report.home.map(|home| Home {
        latitude_degrees: home.at.latitude_deg,
        longitude_degrees: home.at.longitude_deg,
        altitude_meters: (home.amsl.0 * 10.0).round() / 10.0,
    })
}

fn is_same(before: &Home, now: &Home) -> bool {
    let at = |home: &Home| Wgs84 {
        latitude_deg: home.latitude_degrees,
        longitude_deg: home.longitude_degrees,
    };
    let (east, north) = offset(at(before), at(now));
    east.hypot(north) <= HOME_EPSILON_M.0 && (now.altitude_meters - before.altitude_meters).abs() <= HOME_EPSILON_M.1
}

/// Begins and ends flights by the autopilot's account; a vehicle that is not heard goes on.
fn count_flight(next: &mut VehicleStatus, truth: FlightTruth, now: Timestamp) {
    match (truth, &next.airborne_since) {
        // Kubernetes keeps whole seconds.
        (FlightTruth::Airborne(_), None) => {
            next.airborne_since = Timestamp::from_second(now.as_second()).ok().map(Time);
        }
        (FlightTruth::Disarmed, Some(since)) => {
            next.flights += 1;
            next.flight_seconds += (now.as_second() - since.0.as_second()).max(0);
            next.airborne_since = None;
        }
        _ => {}
    }
}

/// Ends a flight whose end was not observed, unless `report` shows whether it goes on: the next leader would wait for its vehicle.
fn end_flight(status: &mut VehicleStatus, report: Option<&Report>) {
    let is_known = report.is_some_and(|report| report.truth.flying().is_some());
    if !is_known && status.airborne_since.take().is_some() {
        status.flights += 1;
    }
}

/// A flight costs three writes: serving, airborne, free again. An agent that comes back soon is never written to be gone.
fn urgency(old: Option<&VehicleStatus>, next: &VehicleStatus) -> Urgency {
    let Some(old) = old else { return Urgency::Now };
    let is = |of: &VehicleStatus, kind| status(of, kind).is_some_and(|c| c.status == "True");
    let use_of = |of: &VehicleStatus| (of.drone.clone(), is(of, FREE));
    let ready_of = |of: &VehicleStatus| of.remote_id.as_ref().map(|shown| (shown.operator.clone(), shown.ready));
    // Another coordinator goes on from what was sent.
    let sent = |rules: &VehicleRules| (rules.digest.clone(), rules.sent.clone(), rules.changing);
    let rules_of = |of: &VehicleStatus| (of.rules.as_ref().map(sent), is(of, RULES));
    // The next leader knows of a vehicle without a Drone by this alone that it is in the air.
    let is_up = |of: &VehicleStatus| of.airborne_since.is_some();
    let flies_alone = next.drone.is_none() && is_up(old) != is_up(next);
    if old == next {
        Urgency::None
    } else if flies_alone || (is(next, READY) && (!is(old, READY) || use_of(old) != use_of(next))) {
        Urgency::Now
    } else if rules_of(old) != rules_of(next) || ready_of(old) != ready_of(next) {
        Urgency::Soon
    } else {
        Urgency::Later
    }
}

#[cfg(test)]
mod tests;
