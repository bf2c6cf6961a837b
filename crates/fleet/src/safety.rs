//! The safety invariants of Skein, stated once, for agent, coordinator, unit tests and simulations.
//!
//! Owns: which vehicle may arm ([`may_arm`]), how long an arm command lives ([`ArmPermit`]), when a vehicle is settled on the ground
//! ([`settled`]), when Skein gives way to an autopilot's failsafe ([`gives_way`]), when a Drone object may go ([`may_release`]), and which
//! route a vehicle may be ordered to fly ([`may_fly`]; invariant 11: no order of ours brings two vehicles closer than the separation).
//! [`crate::planning::site`] grants plans and columns of takeoffs (invariant 17: every meter, from where the vehicle is).
//! Must not: be worked around. [`ArmPermit`] and [`LegPermit`] can be made nowhere else. Nothing of Skein's own accord disarms a vehicle:
//! the one permit to do so is [`model::kill::KillPermit`], which takes a person's order, given twice.

use crate::airspace::{Claims, NotFit, Owner, Route};
use crate::flight_record::{FlightRecord, Stage};
use model::assignment::{Assignment, Desired, GroundedWhy, Held};
use model::battery_level::Level;
use model::failsafe::executing;
use model::geo::REACH;
use model::ground::GroundOrderId;
use model::home_shift::HomeShift;
use model::ids::{DroneUid, NodeName, Term};
use model::preflight_policy::Clearance;
use model::report::Report;
use model::route_order::OrderNumber;
use model::rules::RulesClearance;
use model::time::Moment;
use model::vehicle::{Airframe, FlightTruth, Vehicle};
use std::collections::BTreeSet;
use std::time::Duration;

/// Life of an arm command, from the decision to the last moment it may reach the wire (invariant 2). It is never queued, never resent,
/// never replayed after a reconnect or restart.
pub const ARM_LIFE: Duration = Duration::from_secs(2);

/// A vehicle on the ground farther from its home over ground is not armed, meters: homes wander by a few meters, and a receiver with its
/// first satellites is wrong by tens.
pub const HOME_OFF_AT_MOST_M: f64 = 20.0;

/// The same in altitude, meters. Autopilots use air pressure, which shifts the altitude of a waiting vehicle by 8 m for each hectopascal: a
/// passing front is no wrong home.
pub const HOME_OFF_IN_ALTITUDE_AT_MOST_M: f64 = 50.0;

/// Age limit of the autopilot's last message for arming (invariant 1: "its link is fresh").
pub const FRESH_FOR_ARMING: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// After any landing, no matter who flew: a person may be walking up to it.
    pub settle: Duration,
    /// After a flight of somebody else while the vehicle served no Drone: then it is offered again.
    pub quiet: Duration,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            settle: Duration::from_secs(5),
            quiet: Duration::from_secs(60),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ArmQuestion<'a> {
    pub vehicle: &'a Vehicle,
    pub held: Option<&'a Assignment>,
    pub highest_term: Term,
    /// Whether the coordinator confirmed the held assignment on the stream that is open now. An assignment from the disk keeps a vehicle
    /// flying but never makes one take off: a person who plugs in a battery in the field must not meet yesterday's assignment.
    pub confirmed: bool,
    /// Whether the agent's process was stopped so lately that received data, and that confirmation, may be stale.
    pub behind: bool,
    /// By its last reading.
    pub battery: Level,
    /// By the autopilot's own failsafes.
    pub preflight: Clearance,
    /// By rules that select the vehicle (invariant 12).
    pub rules: RulesClearance,
    pub ground_latch: Option<GroundOrderId>,
    pub record: &'a FlightRecord,
    /// Whatever Drone it flew for.
    pub stands_down: bool,
    pub terminating: bool,
    pub since_armed: Option<Duration>,
    /// How long it has been heard, if it may have flown just before: nothing was heard of it, or it had not rested when the life of the agent
    /// before ended.
    pub since_unrested: Option<Duration>,
    /// How long ago somebody else was observed to fly it while it served no Drone.
    pub since_others_flew: Option<Duration>,
    pub rest: Rest,
    pub now: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoArm {
    #[error("no Drone is bound to this node")]
    NoAssignment,
    #[error("the assignment is of term {held}, but term {highest} was received")]
    StaleTerm { held: Term, highest: Term },
    #[error("the coordinator has not confirmed the assignment since the agent connected")]
    Unconfirmed,
    #[error("the agent's process was stopped, and what it has received since may be of before")]
    Behind,
    #[error("the Drone wants its vehicle on the ground")]
    NotDesired,
    /// It is kept and not confirmed as done.
    #[error("a ground order is in force; end it with `skein release`")]
    GroundOrder,
    #[error("the agent is ending")]
    Terminating,
    #[error("its motors were stopped by a kill; delete the Drone to use the vehicle again")]
    Killed,
    #[error("somebody has taken over in flight; `skein resume` lets it go on")]
    TakenOver,
    #[error("the vehicle has flown for this Drone and landed without being asked")]
    FlightOver,
    /// A flight for this Drone or another ended without an order, and no person has acted since.
    #[error("the vehicle has landed without being asked and stays down until a person acts")]
    StandsDown,
    #[error("the vehicle is not known to be on the ground and disarmed")]
    NotOnGround,
    #[error("the vehicle has just landed")]
    Settling,
    #[error("somebody else has just flown the vehicle")]
    OthersFlew,
    /// Another airframe, or one that has not reported its number yet.
    #[error("the airframe is not known to be the one that serves the Drone")]
    Airframe,
    #[error("two vehicles speak with its system id on its line")]
    SharedId,
    #[error("the autopilot takes signed messages only, and the agent has no key")]
    Unsigned,
    #[error("the autopilot was not heard within the last {} s", FRESH_FOR_ARMING.as_secs())]
    LinkNotFresh,
    #[error("the battery is at or below the Drone's reserve")]
    LowBattery,
    #[error("the autopilot's own failsafes are off or not known yet")]
    Preflight,
    #[error("a Geofence or ParameterProfile that selects the vehicle is not in force on it")]
    Rules,
    /// Although it has not flown from there.
    #[error("its home position is not where the vehicle is")]
    HomeElsewhere,
    /// They do not pass, or were not reported lately.
    #[error("the autopilot's arming checks do not pass")]
    NotReady,
}

/// Permit to send one arm command, within [`ARM_LIFE`]. Neither `Clone` nor constructible elsewhere: sending consumes it.
#[derive(Debug, PartialEq)]
pub struct ArmPermit {
    issued: Moment,
}

impl ArmPermit {
    /// Consumes the permit when the command is written to the wire.
    ///
    /// # Errors
    /// [`ArmExpired`]: the command must be dropped.
    pub fn spend(self, now: Moment) -> Result<(), ArmExpired> {
        if now.since(self.issued) <= ARM_LIFE {
            Ok(())
        } else {
            Err(ArmExpired)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("arm command dropped: older than {} s", ARM_LIFE.as_secs())]
pub struct ArmExpired;

/// Invariants 1, 2, 9 and 12, and that a vehicle which stands down is left to a person: whether the vehicle may be armed now.
///
/// # Errors
/// [`NoArm`], the first reason against it.
pub fn may_arm(q: &ArmQuestion<'_>) -> Result<ArmPermit, NoArm> {
    let held = q.held.ok_or(NoArm::NoAssignment)?;
    if held.term < q.highest_term {
        return Err(NoArm::StaleTerm {
            held: held.term,
            highest: q.highest_term,
        });
    }
    if !matches!(held.desired, Desired::Flying { .. }) {
        return Err(NoArm::NotDesired);
    }
    if q.ground_latch.is_some() {
        return Err(NoArm::GroundOrder);
    }
    if q.record.was_killed(held) {
        return Err(NoArm::Killed);
    }
    if q.record.let_go(held) {
        return Err(NoArm::TakenOver);
    }
    if !q.confirmed {
        return Err(NoArm::Unconfirmed);
    }
    if q.behind {
        return Err(NoArm::Behind);
    }
    if q.terminating {
        return Err(NoArm::Terminating);
    }
    if q.record.stage == Stage::Over && q.record.uid.as_ref() == Some(&held.uid) {
        return Err(NoArm::FlightOver);
    }
    if q.stands_down {
        return Err(NoArm::StandsDown);
    }
    if q.vehicle.truth(q.now) != FlightTruth::Disarmed {
        return Err(NoArm::NotOnGround);
    }
    let beat = q.vehicle.heartbeat.as_ref();
    if beat.is_none_or(|h| h.fresh(q.now, FRESH_FOR_ARMING).is_none()) {
        return Err(NoArm::LinkNotFresh);
    }
    if q.vehicle.shares_id(q.now) {
        return Err(NoArm::SharedId);
    }
    if q.vehicle.takes_only_signed {
        return Err(NoArm::Unsigned);
    }
    if q.record.airframe(held, q.vehicle) != Airframe::Same {
        return Err(NoArm::Airframe);
    }
    if q.since_armed.is_some_and(|ago| ago < q.rest.settle) {
        return Err(NoArm::Settling);
    }
    if q.since_unrested.is_some_and(|ago| ago < q.rest.settle) {
        return Err(NoArm::Settling);
    }
    if q.since_others_flew.is_some_and(|ago| ago < q.rest.quiet) {
        return Err(NoArm::OthersFlew);
    }
    if q.vehicle.ready(q.now) != Some(true) {
        return Err(NoArm::NotReady);
    }
    if home_elsewhere(q.vehicle, q.record, q.since_armed, q.now).is_some() {
        return Err(NoArm::HomeElsewhere);
    }
    if q.battery >= Level::Low {
        return Err(NoArm::LowBattery);
    }
    if q.preflight != Clearance::Clear {
        return Err(NoArm::Preflight);
    }
    if q.rules != RulesClearance::Clear {
        return Err(NoArm::Rules);
    }
    Ok(ArmPermit { issued: q.now })
}

/// Home relative to a vehicle on the ground, if that prevents arming. Without a flight since its autopilot booted, home was set by a wrong
/// position, or the vehicle was carried since: a return would lead there. After a flight it may have landed elsewhere, but no home near it is
/// far above or below it, and none is farther away than a site reaches: a ground station may have set one after the landing.
pub fn home_elsewhere(
    vehicle: &Vehicle,
    record: &FlightRecord,
    since_armed: Option<Duration>,
    now: Moment,
) -> Option<HomeShift> {
    let armed_since_boot = since_armed.is_some_and(|ago| vehicle.running_for.is_none_or(|runs| ago <= runs));
    let may_have_left_home = armed_since_boot || record.stage != Stage::Fresh;
    let off = vehicle.home_off(now)?;
    let far = off.over_ground_m() > HOME_OFF_AT_MOST_M;
    let beyond_any_site = off.over_ground_m() > REACH;
    let above_or_below = off.up_m.abs() > HOME_OFF_IN_ALTITUDE_AT_MOST_M;
    let wrong = if may_have_left_home {
        beyond_any_site || (above_or_below && !far)
    } else {
        above_or_below || far
    };
    wrong.then_some(off)
}

/// Time before a deletion is obeyed during a failsafe. It may be a Swarm's, which no person ordered, and PX4 waits up to 25 s
/// (COM_FAIL_ACT_T) before it acts; but a vehicle that a failsafe keeps up must not stay for ever.
pub const DELETION_WAITS: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub struct FailsafeQuestion<'a> {
    pub vehicle: &'a Vehicle,
    pub held: Option<&'a Assignment>,
    /// As far as this life of the agent has observed.
    pub since: Option<Moment>,
    pub now: Moment,
}

/// Invariant 15: nothing is sent while the autopilot executes a failsafe of its own, except a person's order: a ground order at once, a
/// deletion after [`DELETION_WAITS`]. Levels and our own failsafes wait: a low battery, a lost coordinator, a changed altitude, a drained
/// node, an agent that shuts down. A kill is a person's too, and is not decided here.
pub fn gives_way(q: &FailsafeQuestion<'_>) -> bool {
    if !executing(q.vehicle, q.now) {
        return false;
    }
    match q.held.map(|held| held.desired) {
        Some(Desired::Grounded {
            why: GroundedWhy::Ordered,
        }) => false,
        Some(Desired::Grounded {
            why: GroundedWhy::Deleted,
        }) => q.since.is_none_or(|since| q.now.since(since) < DELETION_WAITS),
        Some(
            Desired::Flying { .. }
            | Desired::Grounded {
                why: GroundedWhy::Unbound | GroundedWhy::Waiting,
            },
        )
        | None => true,
    }
}

/// Down for certain: landed and disarmed by its own account, and no arm command of ours can still reach it.
pub fn settled(truth: FlightTruth, arm_under_way: bool) -> bool {
    truth == FlightTruth::Disarmed && !arm_under_way
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    NeverBound,
    /// Its vehicle was observed landed and disarmed, and its agent acts on the assignment to stay down.
    Landed,
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRelease {
    #[error("the agent on its node is not connected, so nothing is known of the vehicle")]
    AgentSilent,
    #[error("its agent has not taken the order to land yet")]
    NotTaken,
    #[error("its vehicle is not known to be landed and disarmed yet")]
    NotLanded,
}

/// What its agent must act on before a deleted Drone may go: the order of the deletion, not an earlier order to be on the ground that was
/// taken back since.
#[derive(Clone, Copy, Debug)]
pub struct LastDesired<'a> {
    pub uid: &'a DroneUid,
    pub term: Term,
    /// `metadata.generation`, which the deletion has raised.
    pub generation: i64,
}

/// Invariant 4: whether a Drone that is being deleted may go. `report`: the last of its node's agent, `None` when that is not connected.
/// `forced`: by an operator.
///
/// # Errors
/// [`NoRelease`], when the object must stay.
pub fn may_release(
    desired: LastDesired<'_>,
    bound: bool,
    report: Option<&Report>,
    forced: bool,
) -> Result<Release, NoRelease> {
    if !bound {
        return Ok(Release::NeverBound);
    }
    if forced {
        return Ok(Release::Forced);
    }
    let report = report.ok_or(NoRelease::AgentSilent)?;
    let last =
        |h: &&Held| h.uid == *desired.uid && h.grounded && h.term == desired.term && h.generation >= desired.generation;
    let held = report.held.as_ref().filter(last).ok_or(NoRelease::NotTaken)?;
    if held.settled && report.truth == FlightTruth::Disarmed {
        Ok(Release::Landed)
    } else {
        Err(NoRelease::NotLanded)
    }
}

/// Permit to order one vehicle to fly one route, whose airspace it owns from now on.
///
/// Neither `Clone` nor constructible elsewhere. A lost order may be sent again: it is a level, and the claim stays until reports show that
/// it is not needed any more.
#[derive(Debug, PartialEq)]
pub struct LegPermit {
    vehicle: NodeName,
    number: OrderNumber,
    route: Route,
}

impl LegPermit {
    pub const fn vehicle(&self) -> &NodeName {
        &self.vehicle
    }

    pub const fn number(&self) -> OrderNumber {
        self.number
    }

    /// These legs, one after the other, and nothing between.
    pub const fn route(&self) -> &Route {
        &self.route
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLeg {
    #[error("the rules of separation are not sound; set each to a finite number of meters")]
    BadRules,
    #[error(transparent)]
    NotFit(#[from] NotFit),
    #[error("airspace of {} others is in the way", .0.len())]
    InTheWay(BTreeSet<Owner>),
}

/// Invariant 11: whether `vehicle` may be ordered to fly `route`. It must have been heard lately, hold or be on the ground where the route
/// begins, and the airspace of the whole route must be clear of that of all others. One exception: a vehicle that is too near to others
/// already may leave them upright, to where it is clear ([`Claims::leads_away`]). The airspace is its own from then on.
///
/// # Errors
/// [`NoLeg`], the first reason against it.
pub fn may_fly(claims: &mut Claims, vehicle: &NodeName, route: Route, now: Moment) -> Result<LegPermit, NoLeg> {
    if !claims.rules().are_sound() {
        return Err(NoLeg::BadRules);
    }
    claims.advance(now);
    let (at, _) = claims.fit(vehicle, now)?;
    let start = route.start();
    // A centimeter: both come from the same claim.
    if start.over_ground(at) > 0.01 || (start.up - at.up).abs() > 0.01 {
        return Err(NotFit::StartsElsewhere.into());
    }
    let in_the_way = claims.in_the_way(vehicle, &route);
    if !in_the_way.is_empty() && !claims.leads_away(vehicle, &route) {
        return Err(NoLeg::InTheWay(in_the_way));
    }
    let number = claims.take(vehicle, &route, now);
    let vehicle = vehicle.clone();
    Ok(LegPermit { vehicle, number, route })
}

/// Invariant 11: the order to stop on a route. The vehicle flies only the next part of its own route, so no other vehicle is concerned. Its
/// claim stays until its agent has taken the order.
///
/// # Errors
/// [`NotFit`], when it flies no route, or may not have taken the last order yet, or arrives as soon as it could stop.
pub fn may_stop(claims: &mut Claims, vehicle: &NodeName, now: Moment) -> Result<LegPermit, NotFit> {
    claims.advance(now);
    let route = claims.stop(vehicle, now).ok_or(NotFit::Unstoppable)?;
    let number = claims.shorten(vehicle);
    let vehicle = vehicle.clone();
    Ok(LegPermit { vehicle, number, route })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_command_lives_two_seconds_and_not_longer() {
        let issued = Moment::at(Duration::from_secs(10));
        let permit = || ArmPermit { issued };
        assert_eq!(permit().spend(issued.plus(ARM_LIFE)), Ok(()));
        let late = issued.plus(ARM_LIFE + Duration::from_millis(1));
        assert_eq!(permit().spend(late), Err(ArmExpired));
    }

    #[test]
    fn no_route_is_granted_by_rules_that_mean_nothing() {
        use crate::airspace::{Doing, Known, Observation, ReturnHeight, Rules};
        use model::geo::Local;
        use model::units::Meters;
        let place = Local {
            east: 0.0,
            north: 0.0,
            up: 20.0,
        };
        let (now, vehicle) = (Moment::at(Duration::from_secs(1)), NodeName::parse("n").unwrap());
        let granted = |rules: Rules| {
            let mut claims = Claims::new(Term(1), rules);
            let known = Known {
                home: place.at_height(0.0),
                return_height: ReturnHeight::Read(40.0),
                last: None,
            };
            claims.expect(vehicle.clone(), known, now);
            let observation = Observation {
                heard: now,
                at: place,
                accuracy: rules.accuracy,
                order: OrderNumber::default(),
                doing: Doing::Holding { at: place },
            };
            claims.observe(&vehicle, observation, now);
            may_fly(&mut claims, &vehicle, Route::hold(place), now)
        };
        let permit = granted(Rules::default()).unwrap();
        assert_eq!((permit.vehicle(), permit.number().term), (&vehicle, Term(1)));
        let mut rules = Rules::default();
        rules.separation.vertical = Meters(f64::NAN);
        assert_eq!(granted(rules), Err(NoLeg::BadRules));
    }

    /// `north_m` and `up_m`: home as seen from a vehicle on the ground.
    fn home_is(north_m: f64, up_m: f64, stage: Stage) -> bool {
        use model::geo::shifted;
        use model::time::Sighting;
        use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
        use model::vehicle::Position;
        let at = Wgs84 {
            latitude_deg: 47.4,
            longitude_deg: 8.5,
        };
        let now = Moment::at(Duration::from_secs(60));
        let position = Position {
            at,
            amsl: AltitudeAmsl(488.0),
            above_home: AltitudeAboveHome(-up_m),
        };
        let vehicle = Vehicle {
            position: Some(Sighting::new(position, now)),
            home: Some(AltitudeAmsl(488.0 + up_m)),
            home_at: Some(shifted(at, 0.0, north_m)),
            ..Vehicle::default()
        };
        let record = FlightRecord {
            stage,
            ..FlightRecord::default()
        };
        home_elsewhere(&vehicle, &record, None, now).is_none()
    }

    #[test]
    fn a_home_far_from_the_vehicle_or_far_above_or_below_it_prevents_arming() {
        assert!(home_is(0.0, 0.0, Stage::Fresh) && home_is(19.0, 49.0, Stage::Fresh));
        assert!(
            !home_is(21.0, 0.0, Stage::Fresh),
            "carried, or a wrong position at boot"
        );
        assert!(!home_is(50_000.0, 0.0, Stage::Fresh), "a glitch at boot");
        assert!(!home_is(0.0, -51.0, Stage::Fresh) && !home_is(0.0, 51.0, Stage::Fresh));
    }

    #[test]
    fn a_vehicle_that_flew_may_stand_elsewhere_but_not_far_above_or_below_its_home() {
        assert!(home_is(300.0, 0.0, Stage::Flown) && home_is(300.0, 80.0, Stage::Flown));
        assert!(!home_is(5.0, -51.0, Stage::Flown), "somebody set it lower in flight");
        assert!(home_is(5.0, -8.0, Stage::Flown));
    }

    #[test]
    fn no_home_beyond_the_reach_of_a_site_is_one_also_after_a_flight() {
        for stage in [Stage::Flown, Stage::Over] {
            assert!(home_is(19_900.0, 0.0, stage), "{stage:?}: a long flight");
            assert!(
                !home_is(20_100.0, 0.0, stage) && !home_is(-50_000.0, 0.0, stage),
                "{stage:?}"
            );
            assert!(!home_is(50_000.0, 80.0, stage), "{stage:?}");
        }
    }

    fn landed(term: u64, generation: i64) -> Report {
        Report {
            link_alive: true,
            truth: FlightTruth::Disarmed,
            held: Some(Held {
                uid: DroneUid("d".into()),
                term: Term(term),
                generation,
                grounded: true,
                settled: true,
                details: None,
            }),
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        }
    }

    fn release(report: Option<&Report>) -> Result<Release, NoRelease> {
        let uid = DroneUid("d".into());
        let desired = LastDesired {
            uid: &uid,
            term: Term(3),
            generation: 7,
        };
        may_release(desired, true, report, false)
    }

    #[test]
    fn a_drone_goes_once_its_vehicle_is_down_and_its_agent_acts_on_its_deletion() {
        assert_eq!(release(Some(&landed(3, 7))), Ok(Release::Landed));
    }

    #[test]
    fn an_earlier_order_to_be_on_the_ground_releases_nothing() {
        assert_eq!(
            release(Some(&landed(3, 6))),
            Err(NoRelease::NotTaken),
            "it may have been released to fly since"
        );
        assert_eq!(release(Some(&landed(2, 7))), Err(NoRelease::NotTaken));
    }

    #[test]
    fn a_drone_stays_while_nothing_is_known_of_its_vehicle_or_it_is_not_down() {
        assert_eq!(release(None), Err(NoRelease::AgentSilent));
        let without = Report {
            held: None,
            ..landed(3, 7)
        };
        assert_eq!(release(Some(&without)), Err(NoRelease::NotTaken));
        for truth in [
            FlightTruth::ArmedOnGround,
            FlightTruth::Unknown(model::vehicle::WhyUnknown::LinkLost),
        ] {
            let up = Report { truth, ..landed(3, 7) };
            assert_eq!(release(Some(&up)), Err(NoRelease::NotLanded));
        }
        let mut arming = landed(3, 7);
        arming.held = arming.held.map(|held| Held { settled: false, ..held });
        assert_eq!(release(Some(&arming)), Err(NoRelease::NotLanded));
    }
}
