//! What an agent does next: from its vehicle's state to what its assignment wants, one step at a time.
//!
//! Owns: [`converge`], the only place where a command to a vehicle is decided.
//! Must not: send anything, read a clock, or know MAVLink. [`crate::safety::may_arm`] decides on arming; no step disarms.
//!
//! Level-driven: every step follows from the observed vehicle, so a lost or repeated command, a restart or a late answer changes nothing. A
//! takeoff that was "refused" while the vehicle climbs is a climb.

mod height;
mod mode_of_now;
mod plan;
mod route;

use crate::flight::battery::Levels;
use crate::flight::memory::{Memory, OVER_HOME_M, StepKind};
use crate::flight_record::{FlightRecord, Stage};
use crate::safety::{ArmPermit, ArmQuestion, FailsafeQuestion, NoArm, Rest, gives_way, may_arm};
use height::another_height;
pub use mode_of_now::waits_for_heartbeat;
use model::assignment::{Assignment, Desired, Fence, GroundedWhy, OnCoordinatorLoss, OnLowBattery};
use model::battery_level::Level;
use model::failsafe::{Diversion, Diverted};
use model::preflight_policy::Clearance;
use model::report::{Activity, HandsOff};
use model::route_order::Waypoint;
use model::rules::RulesClearance;
use model::takeover::{self, InCommand};
use model::time::Moment;
use model::units::{AltitudeAboveHome, Heading, MetersPerSecond, Wgs84};
use model::vehicle::{Airborne, Airframe, FlightTruth, Mode, TRUTH_STALE_AFTER, Vehicle, WhyUnknown};
pub use plan::PlanStage;
use std::time::Duration;

/// A vehicle whose motors have run on the ground for longer is not lifted off any more: somebody may have come to see what it does. Its autopilot
/// stops them after 10 s by its factory settings.
const TAKES_OFF_WITHIN: Duration = Duration::from_secs(30);

/// Failed returns in a row after which a failsafe lands where it is.
const RETURNS_TRIED: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub vehicle: &'a Vehicle,
    pub fence: &'a Fence,
    /// Whether the coordinator confirmed the held assignment on the stream that is open now.
    pub confirmed: bool,
    /// Whether the agent's process was stopped so lately that received data, and that confirmation, may be stale.
    pub behind: bool,
    pub uplink_silent: Duration,
    pub record: &'a FlightRecord,
    /// Whatever Drone it flew for.
    pub stands_down: bool,
    pub memory: &'a Memory,
    pub battery: Levels,
    pub near_reserve: bool,
    /// From the autopilot's own failsafes.
    pub preflight: Clearance,
    /// From rules that select the vehicle.
    pub rules: RulesClearance,
    pub plan: PlanStage,
    /// The agent shuts down and lands its vehicle first.
    pub terminating: bool,
    /// Whether a program flies it in its own airspace; see [`crate::flight::lending`].
    pub lent: bool,
    pub rest: Rest,
    pub now: Moment,
}

#[derive(Debug, PartialEq)]
pub enum Step {
    Nothing,
    /// The reasons of the autopilot not to arm (MAV_CMD_RUN_PREARM_CHECKS, 401).
    AskReasons,
    /// The mode in which we command: GUIDED or AUTO.LOITER (MAV_CMD_DO_SET_MODE, 176).
    SetStation,
    /// MAV_CMD_COMPONENT_ARM_DISARM (400), once, within the permit's life.
    Arm(ArmPermit),
    /// MAV_CMD_NAV_TAKEOFF (22).
    TakeOff {
        altitude: AltitudeAboveHome,
    },
    /// At its place (MAV_CMD_DO_REPOSITION, 192).
    ChangeHeight {
        altitude: AltitudeAboveHome,
        at: Wgs84,
    },
    /// Straight to the next place of its route (MAV_CMD_DO_REPOSITION, 192).
    FlyTo {
        place: Waypoint,
    },
    /// Over ground, on routes (MAV_CMD_DO_CHANGE_SPEED, 178).
    SetSpeed {
        speed: MetersPerSecond,
    },
    /// At its place (MAV_CMD_CONDITION_YAW, 115; of PX4, MAV_CMD_DO_REPOSITION, 192).
    TurnTo {
        heading: Heading,
        at: Waypoint,
    },
    /// The plan on its autopilot, from where that is set to begin: AUTO or AUTO.MISSION (MAV_CMD_DO_SET_MODE, 176), in the air only.
    FlyPlan,
    /// Stops the plan at its place: GUIDED or AUTO.LOITER (MAV_CMD_DO_SET_MODE, 176), in the air only.
    Hold,
    /// Stops at its place, taken back from a program (MAV_CMD_DO_REPOSITION, 192): a change of mode alone would not stop an ArduCopter.
    Stop {
        at: Waypoint,
    },
    /// At its place (MAV_CMD_NAV_LAND, 21), because the assignment or the agent's shutdown asks for it.
    Land,
    /// At its place, because the coordinator is lost or the battery is low.
    FailsafeLand,
    /// MAV_CMD_NAV_RETURN_TO_LAUNCH (20), because the coordinator is lost or the battery is low.
    FailsafeReturn,
}

impl Step {
    /// `None` for [`Step::Nothing`].
    pub const fn kind(&self) -> Option<StepKind> {
        Some(match self {
            Self::Nothing => return None,
            Self::AskReasons => StepKind::AskReasons,
            Self::SetStation => StepKind::SetStation,
            Self::Arm(_) => StepKind::Arm,
            Self::TakeOff { .. } => StepKind::TakeOff,
            Self::ChangeHeight { .. } => StepKind::ChangeHeight,
            Self::FlyTo { .. } => StepKind::FlyTo,
            Self::SetSpeed { .. } => StepKind::SetSpeed,
            Self::TurnTo { .. } => StepKind::TurnTo,
            Self::FlyPlan => StepKind::FlyPlan,
            Self::Hold => StepKind::Hold,
            Self::Stop { .. } => StepKind::Stop,
            Self::Land => StepKind::Land,
            Self::FailsafeLand => StepKind::FailsafeLand,
            Self::FailsafeReturn => StepKind::FailsafeReturn,
        })
    }
}

#[derive(Debug, PartialEq)]
pub struct Verdict {
    pub step: Step,
    pub activity: Activity,
}

const fn rest(activity: Activity) -> Verdict {
    Verdict {
        step: Step::Nothing,
        activity,
    }
}

/// Call it when no command is outstanding.
pub fn converge(s: &Situation<'_>) -> Verdict {
    let verdict = decide(s);
    if !s.gives_way() {
        return verdict;
    }
    rest(match verdict.activity {
        known @ (Activity::Idle | Activity::Waiting | Activity::HandsOff(_)) => known,
        Activity::NotArmable
        | Activity::Arming
        | Activity::TakingOff
        | Activity::Holding
        | Activity::Moving
        | Activity::Landing
        | Activity::Failsafe
        | Activity::LowBattery => Activity::HandsOff(HandsOff::AutopilotFailsafe),
    })
}

fn decide(s: &Situation<'_>) -> Verdict {
    let Some(held) = &s.fence.held else {
        return rest(Activity::Idle);
    };
    if s.record.airframe(held, s.vehicle) == Airframe::Another {
        return rest(Activity::HandsOff(HandsOff::AnotherAirframe));
    }
    let truth = s.vehicle.truth(s.now);
    if s.record.let_go(held) {
        if lands_a_hover(s, held) {
            return paced(s, Step::Land, Activity::Landing);
        }
        return rest(while_taken_over(s, held, truth));
    }
    if no_time_to_return(s) {
        return paced(s, Step::FailsafeLand, Activity::LowBattery);
    }
    match held.desired {
        Desired::Flying { altitude } if !s.terminating => match truth {
            // It was observed to fly, and does not lose its failsafes for an order that does not come.
            FlightTruth::Unknown(WhyUnknown::LandedStateUnknown)
                if s.record.stage == Stage::Flown && s.armed_in_our_mode() =>
            {
                failsafe(s, held).unwrap_or_else(|| rest(Activity::Waiting))
            }
            FlightTruth::Unknown(_) => rest(Activity::Waiting),
            FlightTruth::Disarmed => from_the_ground(s, held),
            FlightTruth::ArmedOnGround => take_off(s, held, altitude),
            FlightTruth::Airborne(part) => in_the_air(s, held, part, altitude),
        },
        Desired::Flying { .. } | Desired::Grounded { .. } => land(s, truth),
    }
}

/// `step` once it is due and the vehicle's mode is known well enough for it.
fn paced(s: &Situation<'_>, step: Step, activity: Activity) -> Verdict {
    let may = |kind| s.memory.due(kind, s.now) && !waits_for_heartbeat(kind, s);
    if step.kind().is_some_and(may) {
        Verdict { step, activity }
    } else {
        rest(activity)
    }
}

/// Somebody else has taken over: nothing is sent, whatever is desired.
fn while_taken_over(s: &Situation<'_>, held: &Assignment, truth: FlightTruth) -> Activity {
    let wants_ground = s.wants_ground();
    match (truth, flight_ended(s, held)) {
        (FlightTruth::Disarmed, Some(ended)) if !wants_ground => Activity::HandsOff(ended),
        _ => takeover::activity(truth, s.vehicle.mode(s.now), wants_ground),
    }
}

/// Whether a person's ground order lands a vehicle that hovers over home in the mode of anybody's return: no stick holds it there, and its
/// autopilot does not land it. In any other mode a pilot flies.
fn lands_a_hover(s: &Situation<'_>, held: &Assignment) -> bool {
    let is_ordered = matches!(
        held.desired,
        Desired::Grounded {
            why: GroundedWhy::Ordered
        }
    );
    is_ordered && s.vehicle.mode(s.now) == Some(Mode::Return) && s.memory.return_ends_in_hover(s.now)
}

fn flight_ended(s: &Situation<'_>, held: &Assignment) -> Option<HandsOff> {
    if s.record.was_killed(held) {
        return Some(HandsOff::Killed);
    }
    let over = s.record.stage == Stage::Over && s.record.uid.as_ref() == Some(&held.uid);
    over.then_some(HandsOff::FlightOver)
}

fn from_the_ground(s: &Situation<'_>, held: &Assignment) -> Verdict {
    if let Some(ended) = flight_ended(s, held) {
        return rest(Activity::HandsOff(ended));
    }
    if s.stands_down {
        return rest(Activity::NotArmable);
    }
    // A takeoff that was commanded is not accounted for yet: it may have flown.
    if s.record.lifts {
        return rest(Activity::Waiting);
    }
    // Whatever is sent reaches the other vehicle, too.
    if s.vehicle.shares_id(s.now) {
        return rest(Activity::NotArmable);
    }
    if s.vehicle.takes_only_signed {
        return rest(Activity::NotArmable);
    }
    // No leader confirms the assignment, received data may be stale, or it may be another airframe.
    if !s.led() || s.behind || s.record.airframe(held, s.vehicle) != Airframe::Same {
        return rest(Activity::Waiting);
    }
    if s.memory.arm_under_way(s.now) {
        return rest(Activity::Arming);
    }
    // Without a route, the way up is not its own.
    if held.routed && s.takeoff_height(held).is_none() {
        return rest(Activity::Waiting);
    }
    // No takeoff for a plan that it could not fly.
    if s.plan == PlanStage::Preparing {
        return rest(Activity::NotArmable);
    }
    // Somebody else has just flown or armed it, and may be about to do so again, in a mode of his.
    if s.memory.since_others_flew(s.now).is_some_and(|ago| ago < s.rest.quiet) {
        return rest(Activity::NotArmable);
    }
    // The arming checks are those of the present mode, so the mode comes first.
    if s.vehicle.mode(s.now) != Some(Mode::Station) {
        return paced(s, Step::SetStation, Activity::Arming);
    }
    match s.vehicle.ready(s.now) {
        // Not reported since the mode was set: ask for the checks instead of waiting.
        None if s.vehicle.ready.is_none() => paced(s, Step::AskReasons, Activity::Waiting),
        None => rest(Activity::Waiting),
        Some(false) => paced(s, Step::AskReasons, Activity::NotArmable),
        Some(true) if !s.memory.due(StepKind::Arm, s.now) => {
            let refused = s.memory.failures(StepKind::Arm) > 0;
            rest(if refused {
                Activity::NotArmable
            } else {
                Activity::Arming
            })
        }
        Some(true) => match may_arm(&arm_question(s, held)) {
            Ok(permit) => Verdict {
                step: Step::Arm(permit),
                activity: Activity::Arming,
            },
            Err(NoArm::LowBattery | NoArm::Preflight | NoArm::Rules | NoArm::OthersFlew | NoArm::HomeElsewhere) => {
                rest(Activity::NotArmable)
            }
            Err(_) => rest(Activity::Waiting),
        },
    }
}

fn arm_question<'a>(s: &Situation<'a>, held: &'a Assignment) -> ArmQuestion<'a> {
    ArmQuestion {
        vehicle: s.vehicle,
        held: Some(held),
        highest_term: s.fence.highest_term,
        confirmed: s.confirmed,
        behind: s.behind,
        battery: s.battery.latest,
        preflight: s.preflight,
        rules: s.rules,
        ground_latch: s.fence.ground_latch,
        record: s.record,
        stands_down: s.stands_down,
        terminating: s.terminating,
        since_armed: s.memory.since_armed(s.now),
        since_unrested: s.memory.since_unrested(s.now),
        since_others_flew: s.memory.since_others_flew(s.now),
        rest: s.rest,
        now: s.now,
    }
}

/// Whether an arm command that was decided a moment ago, and is not written yet, would be decided again: it waits for the disk, and what it
/// goes by is observed meanwhile.
pub fn still_arms(s: &Situation<'_>) -> bool {
    let held = s.fence.held.as_ref();
    let may = held.is_some_and(|held| may_arm(&arm_question(s, held)).is_ok());
    may && s.vehicle.mode(s.now) == Some(Mode::Station) && s.plan != PlanStage::Preparing
}

fn take_off(s: &Situation<'_>, held: &Assignment, altitude: AltitudeAboveHome) -> Verdict {
    let desired_now = s.led() && !s.behind && !s.record.was_killed(held) && !stays_down(s, held);
    let altitude = if held.routed {
        s.takeoff_height(held)
    } else {
        Some(altitude)
    };
    let Some(altitude) = altitude else {
        return rest(Activity::Waiting);
    };
    match s.vehicle.mode(s.now) {
        // Touched down, motors still on: the autopilot disarms by itself.
        Some(Mode::Land | Mode::Return | Mode::Mission) => rest(s.descending()),
        // Also in a mode of ours: a person may hold it, or it has fallen.
        Some(Mode::Station | Mode::Takeoff) if s.memory.armed_by_us() && has_flown(s, held) => rest(s.descending()),
        Some(Mode::Station | Mode::Takeoff) if s.memory.armed_by_us() && desired_now => {
            if held.routed && !s.home_counts() {
                return rest(Activity::TakingOff);
            }
            paced(s, Step::TakeOff { altitude }, Activity::TakingOff)
        }
        // Armed for an assignment that no leader is known to confirm any more: the autopilot disarms by itself.
        Some(Mode::Station | Mode::Takeoff) if s.memory.armed_by_us() => rest(Activity::Waiting),
        Some(Mode::Station | Mode::Takeoff | Mode::Foreign) | None => rest(Activity::HandsOff(HandsOff::ArmedByOther)),
    }
}

fn has_flown(s: &Situation<'_>, held: &Assignment) -> bool {
    s.record.uid.as_ref() == Some(&held.uid) && s.record.stage != Stage::Fresh
}

/// Whether a vehicle with its motors on is not lifted off, whatever is desired.
fn stays_down(s: &Situation<'_>, held: &Assignment) -> bool {
    let idles = s
        .memory
        .armed_since()
        .is_some_and(|since| s.now.since(since) > TAKES_OFF_WITHIN);
    idles || has_flown(s, held) || s.vehicle.shares_id(s.now)
}

fn in_the_air(s: &Situation<'_>, held: &Assignment, part: Airborne, altitude: AltitudeAboveHome) -> Verdict {
    match s.vehicle.mode(s.now) {
        None => rest(Activity::Waiting),
        Some(Mode::Foreign) => rest(Activity::HandsOff(HandsOff::OtherMode)),
        // Our return ends on the ground, even if the autopilot hovers.
        Some(Mode::Return) if s.record.in_command == InCommand::OurReturn && s.memory.return_ends_in_hover(s.now) => {
            paced(s, Step::FailsafeLand, s.descending())
        }
        // A landing is finished once begun, ours or another's.
        Some(Mode::Land | Mode::Return) => rest(s.descending()),
        Some(Mode::Mission) => plan::fly(s, held, part),
        Some(Mode::Station | Mode::Takeoff) => {
            if let Some(verdict) = failsafe(s, held) {
                return verdict;
            }
            let climbing = part == Airborne::TakingOff || s.vehicle.mode(s.now) == Some(Mode::Takeoff);
            if climbing {
                let ends = route::end_climb(s, held).map(|step| paced(s, step, Activity::TakingOff));
                return ends.unwrap_or_else(|| rest(Activity::TakingOff));
            }
            // It has begun to land; the HEARTBEAT with that mode is still to come.
            if part == Airborne::Landing {
                return rest(Activity::Holding);
            }
            if s.lent {
                return rest(Activity::Holding);
            }
            if s.vehicle.is_in_lent_offboard() || s.memory.is_to_stop() {
                // A stop needs no leader's confirmation: it goes nowhere.
                let stop = route::here(s).map(|at| paced(s, Step::Stop { at }, Activity::Holding));
                return stop.unwrap_or_else(|| rest(Activity::Holding));
            }
            if let Some(verdict) = plan::begin(s, held) {
                return verdict;
            }
            if held.routed {
                return route::follow(s, held);
            }
            // The plan has its altitudes.
            if held.plan.is_some() {
                return rest(Activity::Holding);
            }
            match another_height(s, altitude) {
                Some(step) => paced(s, step, Activity::Holding),
                None => rest(Activity::Holding),
            }
        }
    }
}

/// For the battery or the loss of the coordinator, of a vehicle in the air in a mode of ours.
fn failsafe(s: &Situation<'_>, held: &Assignment) -> Option<Verdict> {
    if let Some(step) = low_battery(s, held) {
        return Some(paced(s, step, Activity::LowBattery));
    }
    let step = match held.failsafe.on_coordinator_loss {
        OnCoordinatorLoss::Land => Step::FailsafeLand,
        // Without a position it cannot return; then it lands at its place rather than stay up for ever.
        OnCoordinatorLoss::Return if s.memory.failures(StepKind::FailsafeReturn) >= RETURNS_TRIED => Step::FailsafeLand,
        OnCoordinatorLoss::Return if s.is_over_home() => Step::FailsafeLand,
        OnCoordinatorLoss::Return => Step::FailsafeReturn,
        OnCoordinatorLoss::Hold | OnCoordinatorLoss::Continue => return None,
    };
    s.alone().then(|| paced(s, step, Activity::Failsafe))
}

/// Whether the vehicle is on a return of ours and its battery reports that it must land now.
fn no_time_to_return(s: &Situation<'_>) -> bool {
    let acts_on_battery = |a: &Assignment| a.failsafe.on_low_battery != OnLowBattery::Continue;
    s.battery.lasting == Level::Emergency
        && s.record.in_command == InCommand::OurReturn
        && s.fence.held.as_ref().is_some_and(acts_on_battery)
        && s.vehicle.mode(s.now) == Some(Mode::Return)
        && matches!(s.vehicle.truth(s.now), FlightTruth::Airborne(_))
}

/// The step for the battery; `None` where the Drone leaves it to the autopilot.
///
/// Nobody grants the autopilot's own return. A vehicle that is kept apart from others waits for a granted way home and else lands at its
/// place ([`route::waits_for_its_way`]); it may return only where nobody could grant a way.
fn low_battery(s: &Situation<'_>, held: &Assignment) -> Option<Step> {
    let exhausted = s.memory.failures(StepKind::FailsafeReturn) >= RETURNS_TRIED;
    match (s.battery.lasting, held.failsafe.on_low_battery) {
        (_, OnLowBattery::Continue) => None,
        // It came home to land: the way down is its own only while nobody is granted a way through it.
        (_, OnLowBattery::Return) if s.near_reserve && route::has_come_home(s, held) => Some(Step::FailsafeLand),
        (Level::Unknown | Level::Fine, _) => None,
        (Level::Low, OnLowBattery::Return) if s.is_over_home() => Some(Step::FailsafeLand),
        (Level::Low, OnLowBattery::Return) if route::comes_home(s, held) => None,
        (Level::Low, OnLowBattery::Return) if route::waits_for_its_way(s, held) => None,
        (Level::Low, OnLowBattery::Return) if route::is_on_its_own(s, held) && !exhausted => Some(Step::FailsafeReturn),
        (Level::Low | Level::Emergency, OnLowBattery::Return | OnLowBattery::Land) => Some(Step::FailsafeLand),
    }
}

fn land(s: &Situation<'_>, truth: FlightTruth) -> Verdict {
    let mode = s.vehicle.mode(s.now);
    match truth {
        FlightTruth::Disarmed => rest(Activity::Idle),
        FlightTruth::Unknown(WhyUnknown::LandedStateUnknown) => {
            // A land command is safe in the air and on the ground; without it the vehicle would stay up for ever.
            if s.armed_in_our_mode() && s.vehicle.landed.is_some() {
                paced(s, Step::Land, Activity::Landing)
            } else {
                rest(Activity::Waiting)
            }
        }
        FlightTruth::Unknown(WhyUnknown::NeverHeard | WhyUnknown::LinkLost | WhyUnknown::Contradiction) => {
            rest(Activity::Waiting)
        }
        FlightTruth::ArmedOnGround | FlightTruth::Airborne(_) => match mode {
            Some(Mode::Return) if s.memory.return_ends_in_hover(s.now) => paced(s, Step::Land, Activity::Landing),
            Some(Mode::Land | Mode::Return) => rest(Activity::Landing),
            Some(_) if truth == FlightTruth::ArmedOnGround && s.memory.armed_by_others() => {
                rest(Activity::HandsOff(HandsOff::ArmedByOther))
            }
            Some(Mode::Station | Mode::Takeoff | Mode::Mission) => paced(s, Step::Land, Activity::Landing),
            Some(Mode::Foreign) if truth == FlightTruth::ArmedOnGround => {
                rest(Activity::HandsOff(HandsOff::ArmedByOther))
            }
            Some(Mode::Foreign) => rest(Activity::HandsOff(HandsOff::OtherMode)),
            None => rest(Activity::Waiting),
        },
    }
}

impl Situation<'_> {
    pub fn wants_ground(&self) -> bool {
        let held = self.fence.held.as_ref();
        self.terminating || held.is_some_and(|a| matches!(a.desired, Desired::Grounded { .. }))
    }

    /// Nothing is sent while the autopilot executes a failsafe of its own.
    fn gives_way(&self) -> bool {
        gives_way(&FailsafeQuestion {
            vehicle: self.vehicle,
            held: self.fence.held.as_ref(),
            since: self.memory.failsafe_since(),
            now: self.now,
        })
    }

    /// Whether a landing at its place ends at home, while a return would first climb, into what others own.
    fn is_over_home(&self) -> bool {
        let off = self.vehicle.home_off(self.now);
        off.is_some_and(|off| off.over_ground_m() <= OVER_HOME_M)
    }

    const fn descending(&self) -> Activity {
        match &self.record.diversion {
            Some(Diversion {
                why: Diverted::LowBattery,
                ..
            }) => Activity::LowBattery,
            Some(Diversion {
                why: Diverted::CoordinatorLoss,
                ..
            }) => Activity::Failsafe,
            Some(Diversion {
                why: Diverted::Autopilot(_),
                ..
            })
            | None => Activity::Landing,
        }
    }

    fn armed_in_our_mode(&self) -> bool {
        let armed = self.vehicle.heartbeat.as_ref().is_some_and(|h| h.value.armed);
        armed
            && matches!(
                self.vehicle.mode(self.now),
                Some(Mode::Station | Mode::Takeoff | Mode::Mission)
            )
    }

    fn led(&self) -> bool {
        let held = self.fence.held.as_ref();
        self.confirmed && held.is_some_and(|a| a.term >= self.fence.highest_term)
    }

    /// Whether the coordinator has been lost for as long as the Drone allows.
    fn alone(&self) -> bool {
        let held = self.fence.held.as_ref();
        held.is_some_and(|a| self.uplink_silent >= a.failsafe.after)
    }
}

/// Whether a command on its way is not waited for and not sent again: nothing asks for it any more, somebody has taken over, or the
/// vehicle's state has overtaken it. One that is not called off may still have to wait: [`waits_for_heartbeat`].
pub fn called_off(kind: StepKind, s: &Situation<'_>) -> bool {
    let held = s.fence.held.as_ref();
    let lands_hover = |a: &Assignment| kind == StepKind::Land && lands_a_hover(s, a);
    let let_go = held.is_some_and(|a| s.record.let_go(a) && !lands_hover(a));
    let has_come_home = s.near_reserve && held.is_some_and(|a| route::has_come_home(s, a));
    let unasked = match kind {
        StepKind::Arm | StepKind::AskReasons => s.wants_ground(),
        StepKind::TakeOff if held.is_some_and(|a| stays_down(s, a)) => true,
        StepKind::TakeOff | StepKind::SetStation => s.wants_ground() || !s.led() || s.behind,
        StepKind::ChangeHeight | StepKind::FlyTo | StepKind::SetSpeed | StepKind::TurnTo | StepKind::FlyPlan => {
            s.wants_ground() || !s.led() || s.lent || held.is_some_and(|a| replaced(kind, s, a))
        }
        StepKind::Hold => s.wants_ground(),
        StepKind::Stop => s.wants_ground() || s.lent,
        // A descent that has not begun is not needed any more.
        StepKind::Land => !s.wants_ground(),
        StepKind::FailsafeLand if s.memory.return_ends_in_hover(s.now) || has_come_home => false,
        StepKind::FailsafeLand | StepKind::FailsafeReturn => !s.alone() && s.battery.lasting < Level::Low,
    };
    unasked || let_go || (kind != StepKind::Arm && s.gives_way()) || overtaken(kind, s)
}

/// Whether another movement is wanted than the one that a command on its way is for: sent again it would lead out of the airspace that the
/// vehicle has by now, and waited for it would hold up the other.
fn replaced(kind: StepKind, s: &Situation<'_>, held: &Assignment) -> bool {
    match kind {
        StepKind::ChangeHeight => match held.desired {
            Desired::Flying { altitude } => held.routed || s.memory.is_height_replaced(altitude),
            Desired::Grounded { .. } => false,
        },
        StepKind::FlyTo => s.memory.is_place_replaced(),
        StepKind::SetSpeed => route::is_to_be_sent_on(s, held),
        StepKind::TurnTo => route::leads_on(s, held),
        // It counts as flying once it was commanded to.
        StepKind::FlyPlan => !matches!(s.plan, PlanStage::Set | PlanStage::Flying),
        StepKind::AskReasons
        | StepKind::SetStation
        | StepKind::Arm
        | StepKind::TakeOff
        | StepKind::Land
        | StepKind::FailsafeLand
        | StepKind::FailsafeReturn
        | StepKind::Hold
        | StepKind::Stop => false,
    }
}

/// Whether a command on its way must not be sent again: a pilot, a ground station or a failsafe has chosen another mode since, or somebody
/// has armed the vehicle.
fn overtaken(kind: StepKind, s: &Situation<'_>) -> bool {
    let (mode, truth) = (s.vehicle.mode(s.now), s.vehicle.truth(s.now));
    let down = truth == FlightTruth::Disarmed;
    let beat = s.vehicle.heartbeat.as_ref();
    let beat = beat.and_then(|h| h.fresh(s.now, TRUTH_STALE_AFTER));
    let disarmed = beat.is_some_and(|beat| !beat.armed);
    match kind {
        StepKind::SetStation | StepKind::AskReasons => !down,
        StepKind::ChangeHeight | StepKind::FlyTo | StepKind::SetSpeed | StepKind::TurnTo | StepKind::Stop => {
            // It may end a climb, in which a PX4 has a mode of its own.
            let climbs = kind == StepKind::FlyTo && mode == Some(Mode::Takeoff);
            !matches!(truth, FlightTruth::Airborne(Airborne::InAir | Airborne::TakingOff))
                || mode.is_some_and(|mode| mode != Mode::Station && !climbs)
        }
        StepKind::FlyPlan | StepKind::Hold => {
            !matches!(truth, FlightTruth::Airborne(_))
                || mode.is_some_and(|mode| !matches!(mode, Mode::Station | Mode::Mission))
        }
        StepKind::TakeOff => {
            // A vehicle that climbs has taken off, even if the answer was lost; and a silent one must not take off.
            truth != FlightTruth::ArmedOnGround || matches!(mode, Some(Mode::Foreign | Mode::Land | Mode::Return))
        }
        // In the requested mode it has obeyed; and on the ground, the command would only change its mode.
        StepKind::FailsafeLand if no_time_to_return(s) => disarmed,
        StepKind::Land | StepKind::FailsafeLand if s.memory.return_ends_in_hover(s.now) => disarmed,
        StepKind::Land | StepKind::FailsafeLand | StepKind::FailsafeReturn => {
            disarmed || matches!(mode, Some(Mode::Foreign | Mode::Land | Mode::Return))
        }
        // An arm command is never sent twice.
        StepKind::Arm => false,
    }
}

#[cfg(test)]
mod autopilot_failsafe_tests;
#[cfg(test)]
mod failsafe_tests;
#[cfg(test)]
mod lent_tests;
#[cfg(test)]
mod tests;
