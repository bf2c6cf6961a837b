//! What the agent has sent lately, so that it neither floods its vehicle nor forgets an arm command under way.

use crate::safety::ARM_LIFE;
use model::answer::{Answer, Owed, Stalled};
use model::backoff::Backoff;
use model::failsafe;
use model::home_shift::HomeShift;
use model::route_order::{Progress, RouteOrder, Waypoint};
use model::takeover::Descent;
use model::time::Moment;
use model::units::{AltitudeAboveHome, MetersPerSecond};
use model::vehicle::{FlightTruth, LINK_LOST_AFTER, LandedState, Mode, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;

/// Kinds of [`crate::flight::converge::Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    AskReasons,
    SetStation,
    Arm,
    TakeOff,
    Land,
    FailsafeLand,
    FailsafeReturn,
    ChangeHeight,
    FlyTo,
    SetSpeed,
    TurnTo,
    FlyPlan,
    Hold,
    Stop,
}

const STEP_KINDS: usize = 14;

/// Set-points already sent may reach the autopilot this long after the program is cut off, and move the vehicle once more.
const LATE_SET_POINTS_FOR: Duration = Duration::from_millis(1200);

/// Time off the end of its route after which it is ordered there again.
const DRIFT_REORDER_AFTER: Duration = Duration::from_secs(10);

/// Distance from home over ground within which it lands at home, meters: hovering vehicles drift by less.
pub(super) const OVER_HOME_M: f64 = 3.0;

/// Meters farther from home than before: it has gone out again.
const OUT_AGAIN_M: f64 = 20.0;

/// Time without progress to the next place after which it is ordered there again.
const STALLED_AFTER: Duration = Duration::from_secs(8);

/// Smallest progress.
const MIN_PROGRESS_M: f64 = 0.5;

/// An autopilot's text about an order comes within this time.
const TEXT_WITHIN: Duration = Duration::from_millis(1500);

/// Time after an arm command in which the vehicle may turn out to be armed: the command's life, and a HEARTBEAT (1 Hz) that shows it.
pub const ARM_MAY_SHOW_FOR: Duration = ARM_LIFE.saturating_add(Duration::from_secs(3));

/// Time after an arm command in which the motors of a vehicle that has not flown are stopped by a person, or by a check of its autopilot for which
/// one should look: an autopilot stops those of one that does not take off by itself 10 s after it was armed, by its factory settings
/// (ArduCopter's DISARM_DELAY, PX4's COM_DISARM_PRFLT). By its own clock, as it says it before the command and after the stop.
const STOPPED_BY_OTHERS_WITHIN: Duration = Duration::from_secs(8);

/// One whose motors were seen to run for longer was not stopped by its autopilot in time: with its throttle stick in the middle, an ArduCopter
/// waits in GUIDED without end, as does one with a delay of 0. Then a person stops them.
const IDLE_ENDS_BY: Duration = Duration::from_secs(12);

/// A HEARTBEAT that comes this long after an arm command was accepted is of after its arming.
const ACCEPTED_SHOWS_WITHIN: Duration = Duration::from_millis(2500);

/// An arm command that was not sent is handed out again within this, if it may be: longer than its back-off, and than a slow disk takes.
const UNSENT_ARM_TRIED_WITHIN: Duration = Duration::from_secs(60);

/// A stop is judged by our clock where the autopilot says no later time (GLOBAL_POSITION_INT) within this one: before it may be armed again.
const CLOCK_SAID_WITHIN: Duration = Duration::from_secs(3);

/// The same after IN_PROGRESS: the autopilot may be asking elsewhere for permission.
pub const ARM_IN_PROGRESS_FOR: Duration = Duration::from_secs(30);

/// Time after our land command in which its landing may begin.
const LANDING_MAY_SHOW_FOR: Duration = Duration::from_secs(10);

/// Hover over home after which a return does not land by itself: longer than any stack's pause there by its factory settings (ArduCopter's
/// RTL_LOIT_TIME: 5 s).
const RETURN_HOVERS_FOR: Duration = Duration::from_secs(30);

/// Longest silence in which a vehicle that stood when it was commanded to take off has not flown: it lifts off two seconds after it accepts at the
/// earliest, a landing is noticed after it has stood for one, and the failsafe that would land it, for the lost line, begins after five.
const FLIES_UNSEEN_AFTER: Duration = Duration::from_secs(5);

/// A hover is within this, meters over ground from home and in altitude from its begin. The slowest descent of an autopilot, 0.3 m/s,
/// leaves it within 7 s.
const HOVER_M: (f64, f64) = (5.0, 2.0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Accepted,
    /// Any other final COMMAND_ACK.
    Refused {
        /// Name of the MAV_RESULT.
        result: String,
    },
    /// Not known whether it was carried out.
    NoAnswer,
    /// Never written to the wire: the link was down or the command's life over.
    NotSent,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tries {
    failures: u32,
    not_before: Moment,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    tries: [Tries; STEP_KINDS],
    arm: Option<ArmSent>,
    /// When the last arm command was not sent, if it was not.
    arm_unsent_at: Option<Moment>,
    armed_by_us: bool,
    /// Its own clock as it was said last, time since boot.
    clock: Option<Duration>,
    /// The arm command by which it is armed; `None`, too, once somebody else has chosen a mode of his own.
    armed_on: Option<ArmSent>,
    stopped: Option<Stopped>,
    /// The HEARTBEATs that show it armed.
    runs: Option<Running>,
    /// Somebody else has taken it before it flew, which was not taken in yet.
    taken_on_ground: bool,
    /// It was observed on the ground without a break since we sent an arm command.
    stays_down: bool,
    /// It had not rested long enough on the ground when it was heard again, or when the life of the agent before this one ended.
    unrested: bool,
    /// Since when it is heard without a silence in which somebody may have flown it.
    heard_since: Option<Moment>,
    /// When the last silence of more than [`TRUTH_STALE_AFTER`] ended.
    heard_again: Option<Moment>,
    /// It was observed to arm on no command of ours, and has not disarmed since.
    armed_by_others: bool,
    /// It was found armed: by whom was not observed, and it has not disarmed since.
    armed_unseen: bool,
    others_counted: bool,
    land_sent: Option<Moment>,
    descent: Option<(Descent, Moment)>,
    /// By the command under way.
    asking: Option<AltitudeAboveHome>,
    /// Accepted by the vehicle in this flight.
    height: Option<AltitudeAboveHome>,
    /// Wanted by the present route.
    goal: Option<Goal>,
    /// By the command under way, and accepted by the vehicle.
    place_asked: Option<(Waypoint, Goal)>,
    place_agreed: Option<Waypoint>,
    /// It lost its route in the air: the place of the last command may lie ahead.
    adrift: bool,
    /// Since when it is to be stopped, taken back from a program.
    to_stop: Option<Moment>,
    speed: Option<MetersPerSecond>,
    speed_asked: Option<MetersPerSecond>,
    progress: Option<Progress>,
    /// `progress` was read from the disk, and not observed since.
    from_disk: bool,
    /// Its smallest distance to the next place, meters, and when.
    nearest: Option<(Progress, f64, Moment)>,
    /// Its smallest distance to home on a way there, meters, and when; from its first route in the air on.
    homeward: Option<(f64, Moment)>,
    /// Orders to fly to its next place without progress.
    asked: Option<Asked>,
    drifts_since: Option<Moment>,
    /// Times of the first and the last HEARTBEAT.
    first_beat: Option<Moment>,
    beat: Option<Moment>,
    /// Time of the last EXTENDED_SYS_STATE.
    landed_at: Option<Moment>,
    /// A commanded descent that is not observed.
    owed: Option<Owed>,
    failsafe_since: Option<Moment>,
    /// Altitude of its hover over home on a return, and since when.
    hovers_at_home: Option<(AltitudeAboveHome, Moment)>,
    armed_since: Option<Moment>,
    armed_at: Option<Moment>,
    /// In the air in a flight that was not for us, or armed on the ground by somebody else.
    others_flew_at: Option<Moment>,
}

pub(super) fn ends_at_home(route: &RouteOrder, vehicle: &Vehicle) -> bool {
    let ends = route.end().zip(vehicle.home_at);
    ends.is_some_and(|(end, home)| HomeShift::between(end.at, home, 0.0).over_ground_m() <= OVER_HOME_M)
}

/// Purpose of a FlyTo.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Goal {
    /// The next place of its route, or the end where it holds.
    Place(Waypoint),
    /// To stay, wherever it is by then.
    Stay,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    times: u32,
    at: Moment,
    so_far: Stalled,
}

impl From<&Outcome> for Answer {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Accepted => Self::Accepted,
            Outcome::Refused { result } => Self::Refused(result.clone()),
            Outcome::NoAnswer | Outcome::NotSent => Self::Missing,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// Also on the ground where the route begins.
    Route,
    /// It has no route, or its position is not known.
    Nothing,
    Lost,
}

/// An arm command that may still take effect.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ArmSent {
    at: Moment,
    may_show_until: Moment,
    /// The vehicle's clock.
    clock: Option<Duration>,
    /// Since when it is accepted, and no HEARTBEAT has shown it.
    accepted: Option<Moment>,
}

/// How long motors have run at least. Its clock is said between HEARTBEATs, and may be of before the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Running {
    since: Moment,
    until: Moment,
    /// Its clock at the first HEARTBEAT, the first later one, and the last.
    before: Option<Duration>,
    from: Option<Duration>,
    clock: Option<Duration>,
}

impl Running {
    fn at_least(&self) -> Duration {
        match (self.from, self.clock) {
            (Some(from), Some(last)) => last.saturating_sub(from),
            (None, Some(_)) => Duration::ZERO,
            (_, None) => self.until.since(self.since),
        }
    }
}

/// Motors were stopped soon after our arm command, by somebody or by a clock that runs faster than ours.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stopped {
    at: Moment,
    /// The vehicle's clock at the arm command, and when the motors were seen to have stopped.
    ordered: Option<Duration>,
    seen: Option<Duration>,
}

const fn seconds(first: u64, cap: u64) -> Backoff {
    Backoff {
        first: Duration::from_secs(first),
        cap: Duration::from_secs(cap),
    }
}

impl StepKind {
    /// Time for an accepted command to take effect before it is sent again.
    const fn grace(self) -> Duration {
        Duration::from_secs(match self {
            Self::AskReasons => 15,
            Self::SetStation | Self::FlyPlan | Self::Hold => 3,
            Self::Stop => 1,
            Self::Arm => 5,
            // ArduCopter shows landed_state TAKEOFF 2.6 to 3.6 s after it accepted.
            Self::TakeOff => 6,
            Self::Land | Self::FailsafeLand | Self::FailsafeReturn => 4,
            Self::ChangeHeight => 5,
            Self::FlyTo | Self::SetSpeed => 1,
            // Half a turn at the slowest rate of autopilots, and a HEARTBEAT after it.
            Self::TurnTo => 10,
        })
    }

    const fn descent(self) -> Option<Descent> {
        match self {
            Self::Land | Self::FailsafeLand => Some(Descent::Land),
            Self::FailsafeReturn => Some(Descent::Return),
            Self::AskReasons
            | Self::SetStation
            | Self::Arm
            | Self::TakeOff
            | Self::ChangeHeight
            | Self::FlyTo
            | Self::SetSpeed
            | Self::TurnTo
            | Self::FlyPlan
            | Self::Hold
            | Self::Stop => None,
        }
    }

    const fn backoff(self) -> Backoff {
        match self {
            Self::AskReasons => seconds(15, 15),
            Self::SetStation => seconds(1, 10),
            Self::Arm => seconds(2, 30),
            Self::TakeOff => seconds(1, 5),
            Self::Land | Self::FailsafeLand | Self::FailsafeReturn => seconds(1, 2),
            Self::ChangeHeight | Self::SetSpeed | Self::TurnTo => seconds(5, 60),
            Self::FlyTo => seconds(1, 10),
            Self::FlyPlan => seconds(2, 30),
            Self::Hold => seconds(1, 5),
            Self::Stop => seconds(1, 1),
        }
    }
}

impl Memory {
    pub fn due(&self, kind: StepKind, now: Moment) -> bool {
        // First it is judged who has stopped it.
        let may = kind != StepKind::Arm || self.stopped.is_none();
        may && now >= self.tries[kind as usize].not_before
    }

    /// Failures in a row; in this flight for a step that ends a flight.
    pub fn failures(&self, kind: StepKind) -> u32 {
        self.tries[kind as usize].failures
    }

    /// Whether an arm command of ours may still have armed the vehicle.
    pub fn arm_under_way(&self, now: Moment) -> bool {
        self.arm.is_some_and(|arm| now <= arm.may_show_until)
    }

    /// Whether the last arm command was not sent, so lately that it may be handed out again.
    pub fn is_arm_unsent(&self, now: Moment) -> bool {
        self.arm_unsent_at
            .is_some_and(|at| now.since(at) <= UNSENT_ARM_TRIED_WITHIN)
    }

    /// On a command of ours, and not disarmed since.
    pub const fn armed_by_us(&self) -> bool {
        self.armed_by_us
    }

    /// On no command of ours, observed by this life of the agent or told by the record, and not disarmed since.
    pub const fn armed_by_others(&self) -> bool {
        self.armed_by_others
    }

    /// `true` once for each takeoff after such an arming.
    pub fn others_take_off(&mut self, vehicle: &Vehicle, now: Moment) -> bool {
        let takes_off = self.armed_by_others && matches!(vehicle.truth(now), FlightTruth::Airborne(_));
        takes_off && !std::mem::replace(&mut self.others_counted, true)
    }

    /// `true` once when somebody else has stopped the motors of a vehicle that we had just armed, or has chosen a mode of his own, before it
    /// flew.
    pub const fn others_take_it_on_ground(&mut self) -> bool {
        std::mem::replace(&mut self.taken_on_ground, false)
    }

    /// Whether the assignment or the agent's shutdown asked for the present or last landing.
    pub const fn landing_ours(&self) -> bool {
        self.land_sent.is_some()
    }

    /// While the vehicle may be observed to take it.
    pub fn descent_sent(&self) -> Option<Descent> {
        self.descent.map(|(descent, _)| descent)
    }

    /// A commanded descent that the vehicle does not take.
    pub const fn owed(&self) -> Option<&Owed> {
        self.owed.as_ref()
    }

    pub const fn failsafe_since(&self) -> Option<Moment> {
        self.failsafe_since
    }

    /// `None` while it is disarmed.
    pub const fn armed_since(&self) -> Option<Moment> {
        self.armed_since
    }

    /// `None`: this life of the agent never observed it armed.
    pub fn since_armed(&self, now: Moment) -> Option<Duration> {
        self.armed_at.map(|at| now.since(at))
    }

    /// Whether the vehicle was observed on the ground, armed or not, since this life of the agent sent its last arm command, without a break in
    /// which it may have flown.
    pub const fn stayed_down(&self) -> bool {
        self.stays_down
    }

    /// Whether what is known of it may be of before its arming, or a reboot in the last silence may not be noticed yet.
    pub fn may_be_late(&self, now: Moment) -> bool {
        let lately = |at: Option<Moment>| at.is_some_and(|at| now.since(at) <= TRUTH_STALE_AFTER);
        lately(self.armed_at) || lately(self.heard_again)
    }

    /// How long the vehicle has been heard, if it may have flown just before: it had not rested when the life of the agent before this one ended,
    /// or nothing was heard of it.
    pub fn since_unrested(&self, now: Moment) -> Option<Duration> {
        let heard_for = || self.heard_since.map_or(Duration::ZERO, |since| now.since(since));
        self.unrested.then(heard_for)
    }

    /// Whether the vehicle has rested for less than `rest` on the ground, as far as is known.
    pub fn is_unrested(&self, rest: Duration, now: Moment) -> bool {
        let out_of_sight = self.beat.is_some_and(|beat| now.since(beat) > LINK_LOST_AFTER);
        let ago = [self.since_armed(now), self.since_unrested(now)];
        out_of_sight || ago.into_iter().flatten().any(|ago| ago < rest)
    }

    /// The same memory, of a vehicle that had not rested when the agent ended, or had.
    pub fn unrested_before(self, unrested: bool) -> Self {
        Self { unrested, ..self }
    }

    /// How long ago somebody else was last observed to fly it while it served no Drone.
    pub fn since_others_flew(&self, now: Moment) -> Option<Duration> {
        self.others_flew_at.map(|at| now.since(at))
    }

    /// For a vehicle that somebody else flew just before the agent restarted.
    pub fn others_flew_before(self, flew: bool, now: Moment) -> Self {
        Self {
            others_flew_at: flew.then_some(now),
            ..self
        }
    }

    /// Takes in a flight that is not ours: the vehicle serves no Drone and was not armed by us. Who arms it and does not fly it is at the
    /// vehicle as well. `may_be_ours` is whether a life of the agent may have armed it for the Drone that it serves.
    pub fn watch_others(&mut self, serves: bool, may_be_ours: bool, vehicle: &Vehicle, now: Moment) {
        let unseen = self.armed_unseen && !may_be_ours && !self.armed_by_us;
        self.armed_by_others |= serves && unseen;
        let theirs = match vehicle.truth(now) {
            FlightTruth::Airborne(_) => !serves && !self.armed_by_us,
            FlightTruth::ArmedOnGround if unseen && !self.others_counted => true,
            FlightTruth::ArmedOnGround => self.armed_by_others && !self.others_counted,
            FlightTruth::Disarmed | FlightTruth::Unknown(_) => false,
        };
        if theirs {
            self.others_flew_at = Some(now);
        }
    }

    /// The altitude that the vehicle accepted in this flight; `None`: this life of the agent has asked for none.
    pub const fn height(&self) -> Option<AltitudeAboveHome> {
        self.height
    }

    pub const fn asks_for(&mut self, height: AltitudeAboveHome) {
        self.asking = Some(height);
    }

    pub const fn asks_for_place(&mut self, place: Waypoint) {
        let goal = if self.adrift { Goal::Stay } else { Goal::Place(place) };
        self.place_asked = Some((place, goal));
    }

    /// Whether the present route does not want any more what the FlyTo under way is for.
    pub fn is_place_replaced(&self) -> bool {
        self.place_asked.is_some_and(|(_, goal)| self.goal != Some(goal))
    }

    /// Takes in where it is to fly; the outcome of an order to fly elsewhere says nothing of this one.
    fn wants(&mut self, goal: Option<Goal>) {
        if self.goal != goal {
            self.goal = goal;
            self.tries[StepKind::FlyTo as usize] = Tries::default();
        }
    }

    /// Whether the height that was asked for, and is not answered yet, is not `desired`.
    pub fn is_height_replaced(&self, desired: AltitudeAboveHome) -> bool {
        self.asking.is_some_and(|asked| asked != desired)
    }

    pub const fn asks_for_speed(&mut self, speed: MetersPerSecond) {
        self.speed_asked = Some(speed);
    }

    /// The speed that the vehicle accepted in this flight; `None`: this life of the agent has asked for none.
    pub const fn speed(&self) -> Option<MetersPerSecond> {
        self.speed
    }

    pub const fn progress(&self) -> Option<Progress> {
        self.progress
    }

    /// Continues from the progress that the agent stored.
    pub fn having_come(self, progress: Option<Progress>) -> Self {
        Self {
            progress,
            from_disk: true,
            ..self
        }
    }

    /// Whether it lost its route in the air, and was not ordered to stay since.
    pub const fn is_adrift(&self) -> bool {
        self.adrift
    }

    /// Taken back from a program: it flies on until it is stopped.
    pub const fn take_back(&mut self, now: Moment) {
        self.to_stop = Some(now);
    }

    pub const fn is_to_stop(&self) -> bool {
        self.to_stop.is_some()
    }

    pub fn flies_to(&self, place: Waypoint, now: Moment) -> bool {
        self.place_agreed == Some(place) && (self.nearest.is_none() || self.comes_nearer(now))
    }

    pub fn comes_nearer(&self, now: Moment) -> bool {
        self.nearest.is_some_and(|(_, _, at)| now.since(at) < STALLED_AFTER)
    }

    /// Since it last came nearer to home on a way there, or had its first route in this life of the agent.
    pub fn since_homeward(&self, now: Moment) -> Option<Duration> {
        self.homeward.map(|(_, at)| now.since(at))
    }

    /// `Some` once there are too many for an accident.
    pub fn stalled(&self) -> Option<&Stalled> {
        let asked = self.asked.as_ref()?;
        let enough = match asked.so_far.answer {
            Answer::Refused(_) | Answer::Missing => 2,
            Answer::Awaited | Answer::Accepted => 3,
        };
        (asked.times >= enough).then_some(&asked.so_far)
    }

    pub fn received(&mut self, text: &str, now: Moment) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| now.since(asked.at) <= TEXT_WITHIN) {
            text.trim().clone_into(&mut asked.so_far.words);
        }
    }

    /// Whether it has held a little off the end of its route for some time: an autopilot's position estimate shifts after it accepted the
    /// place.
    pub fn drifts(&self, now: Moment) -> bool {
        self.drifts_since
            .is_some_and(|since| now.since(since) >= DRIFT_REORDER_AFTER)
    }

    /// ArduPilot's RTL_ALT_FINAL above 0, PX4's RTL_LAND_DELAY below 0.
    pub fn return_ends_in_hover(&self, now: Moment) -> bool {
        self.hovers_at_home
            .is_some_and(|(_, since)| now.since(since) >= RETURN_HOVERS_FOR)
    }

    fn hover_at_home(&self, vehicle: &Vehicle, now: Moment) -> Option<(AltitudeAboveHome, Moment)> {
        let returns = vehicle.mode(now) == Some(Mode::Return);
        let position = vehicle.position.as_ref()?.fresh(now, TRUTH_STALE_AFTER)?;
        let (east, north) = model::geo::offset(vehicle.home_at?, position.at);
        let is_there =
            returns && matches!(vehicle.truth(now), FlightTruth::Airborne(_)) && east.hypot(north) <= HOVER_M.0;
        let stays = |(at, _): &(AltitudeAboveHome, Moment)| (at.0 - position.above_home.0).abs() <= HOVER_M.1;
        is_there.then(|| self.hovers_at_home.filter(stays).unwrap_or((position.above_home, now)))
    }

    fn comes_homeward(
        &self,
        route: &RouteOrder,
        vehicle: &Vehicle,
        position: &Waypoint,
        now: Moment,
    ) -> Option<(f64, Moment)> {
        let (Some((nearest, at)), Some(home)) = (self.homeward, vehicle.home_at) else {
            return Some((f64::INFINITY, now));
        };
        let away = HomeShift::between(position.at, home, 0.0).over_ground_m();
        Some(match () {
            () if ends_at_home(route, vehicle) && away < nearest - MIN_PROGRESS_M => (away, now),
            () if away > nearest + OUT_AGAIN_M => (away, at),
            () => (nearest, at),
        })
    }

    pub fn follow(&mut self, route: Option<&RouteOrder>, vehicle: &Vehicle, now: Moment) -> Following {
        let Some(route) = route else {
            self.progress = None;
            self.wants(self.goal.filter(|goal| *goal == Goal::Stay));
            return Following::Nothing;
        };
        let position = vehicle.position.as_ref().and_then(|p| p.fresh(now, TRUTH_STALE_AFTER));
        let position = position.map(|p| Waypoint { at: p.at, amsl: p.amsl });
        let on_ground = match vehicle.truth(now) {
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => Some(true),
            FlightTruth::Airborne(_) => Some(false),
            FlightTruth::Unknown(_) => None,
        };
        let Some((on_ground, position)) = on_ground.zip(position) else {
            // The place on its way may not be on this one.
            if self.progress.is_some_and(|progress| progress.number != route.number) {
                self.wants(None);
            }
            return Following::Nothing;
        };
        self.homeward = self
            .comes_homeward(route, vehicle, &position, now)
            .filter(|_| !on_ground);
        // Somebody may have flown it while no agent was there.
        if std::mem::take(&mut self.from_disk) {
            self.progress = self.progress.filter(|progress| route.is_on(*progress, &position));
        }
        self.progress = route.progress(self.progress, &position, on_ground);
        let Some(progress) = self.progress else {
            self.adrift = !on_ground;
            self.wants(self.adrift.then_some(Goal::Stay));
            return if on_ground { Following::Nothing } else { Following::Lost };
        };
        self.adrift = false;
        let next = route.places.get(progress.next);
        self.wants(next.copied().or_else(|| route.end()).map(Goal::Place));
        let Some(place) = next else {
            (self.nearest, self.asked) = (None, None);
            let drifts = route.end().is_some_and(|end| end.is_drifted_from(&position));
            self.drifts_since = drifts.then(|| self.drifts_since.unwrap_or(now));
            return Following::Route;
        };
        self.drifts_since = None;
        let distance = place.distance(&position);
        let before = self.nearest.filter(|(of, ..)| *of == progress);
        if before.is_none_or(|(_, nearest, _)| distance < nearest - MIN_PROGRESS_M) {
            (self.nearest, self.asked) = (Some((progress, distance, now)), None);
        }
        Following::Route
    }

    /// A command of this kind is being written to the wire.
    pub fn began(&mut self, kind: StepKind, now: Moment) {
        if let Some(descent) = kind.descent() {
            self.descent = Some((descent, now));
            let before = self.owed.take().filter(|owed| owed.descent == descent);
            let (times, since) = before.map_or((0, now), |owed| (owed.times, owed.since));
            self.owed = Some(Owed {
                descent,
                times: times.saturating_add(1),
                since,
                answer: Answer::Awaited,
            });
        }
        match kind {
            StepKind::Arm => {
                self.arm = Some(ArmSent {
                    at: now,
                    may_show_until: now.plus(ARM_MAY_SHOW_FOR),
                    clock: self.clock,
                    accepted: None,
                });
                self.land_sent = None;
                self.stays_down = true;
            }
            StepKind::FlyTo => {
                self.drifts_since = None;
                let asked = self.asked.get_or_insert_default();
                (asked.times, asked.at) = (asked.times.saturating_add(1), now);
            }
            StepKind::Land => self.land_sent = Some(now),
            StepKind::FailsafeLand | StepKind::FailsafeReturn => self.land_sent = None,
            // No later landing is by the land command of before.
            StepKind::TakeOff => {
                self.land_sent = None;
                self.descent = None;
            }
            StepKind::AskReasons
            | StepKind::SetStation
            | StepKind::ChangeHeight
            | StepKind::SetSpeed
            | StepKind::TurnTo
            | StepKind::FlyPlan
            | StepKind::Hold
            | StepKind::Stop => {}
        }
    }

    /// IN_PROGRESS: it may take effect later than usual.
    pub fn in_progress(&mut self, kind: StepKind, now: Moment) {
        if kind == StepKind::Arm
            && let Some(arm) = &mut self.arm
        {
            arm.may_show_until = now.plus(ARM_IN_PROGRESS_FOR);
        }
    }

    /// `jitter` is in 0.0..=1.0.
    pub fn ended(&mut self, kind: StepKind, outcome: &Outcome, now: Moment, jitter: f64) {
        if let Some(owed) = self.owed.as_mut().filter(|owed| Some(owed.descent) == kind.descent()) {
            owed.answer = outcome.into();
        }
        if let Some(asked) = self.asked.as_mut().filter(|_| kind == StepKind::FlyTo) {
            asked.so_far.answer = outcome.into();
        }
        let replaced = kind == StepKind::FlyTo && self.is_place_replaced();
        let tries = &mut self.tries[kind as usize];
        match outcome {
            // It says nothing of where it is to fly now.
            _ if replaced => {}
            Outcome::Accepted => {
                // Success is the vehicle's next state: an arm without effect is counted as a failure in `observe`, and a return until it is
                // observed there.
                match kind {
                    StepKind::Arm => {}
                    StepKind::FailsafeReturn => tries.failures = tries.failures.saturating_add(1),
                    _ => tries.failures = 0,
                }
                tries.not_before = now.plus(kind.grace());
            }
            Outcome::NotSent if kind == StepKind::FailsafeReturn => {
                tries.not_before = now.plus(kind.backoff().delay(1, jitter));
            }
            Outcome::Refused { .. } | Outcome::NoAnswer | Outcome::NotSent => {
                tries.failures = tries.failures.saturating_add(1);
                tries.not_before = now.plus(kind.backoff().delay(tries.failures, jitter));
            }
        }
        if matches!(kind, StepKind::TakeOff | StepKind::ChangeHeight) {
            let agreed = self.asking.take().filter(|_| *outcome == Outcome::Accepted);
            self.height = agreed.or(self.height);
        }
        if kind == StepKind::FlyTo {
            let asked = self.place_asked.take().map(|(place, _)| place);
            let agreed = asked.filter(|_| *outcome == Outcome::Accepted);
            self.adrift &= agreed.is_none() || replaced;
            // Without an answer it may be on its way to either.
            let known = |before: &Waypoint| *outcome != Outcome::NoAnswer || asked == Some(*before);
            self.place_agreed = agreed.or(self.place_agreed.filter(known));
            // It gets the same time again to come nearer.
            self.nearest = self.nearest.map(|(of, distance, _)| (of, distance, now));
        }
        if kind == StepKind::Stop && *outcome == Outcome::Accepted {
            self.to_stop = self.to_stop.filter(|since| now.since(*since) < LATE_SET_POINTS_FOR);
            // It holds here, and the place of before is still to be flown to.
            self.place_agreed = None;
        }
        if kind == StepKind::SetSpeed {
            let agreed = self.speed_asked.take().filter(|_| *outcome == Outcome::Accepted);
            self.speed = agreed.or(self.speed);
        }
        if kind == StepKind::Arm && matches!(outcome, Outcome::Refused { .. } | Outcome::NotSent) {
            self.arm = None;
        }
        if kind == StepKind::Arm {
            self.arm_unsent_at = (*outcome == Outcome::NotSent).then_some(now);
        }
        if let Some(arm) = self.arm.as_mut().filter(|_| kind == StepKind::Arm) {
            arm.accepted = (*outcome == Outcome::Accepted).then_some(now);
        }
    }

    /// Whether the last messages say that it is on the ground, with no silence before or after them in which it may have flown.
    fn is_heard_on_ground(&self, vehicle: &Vehicle, now: Moment) -> bool {
        let (Some(beat), Some(landed)) = (&vehicle.heartbeat, &vehicle.landed) else {
            return false;
        };
        let is_heard = |before: Option<Moment>, at: Moment| {
            let gap = before.map_or(Duration::ZERO, |before| at.since(before));
            gap.max(now.since(at)) <= FLIES_UNSEEN_AFTER
        };
        landed.value == Some(LandedState::OnGround)
            && is_heard(self.beat, beat.at)
            && is_heard(self.landed_at, landed.at)
    }

    /// Call it after every change of `vehicle`.
    pub fn observe(&mut self, vehicle: &Vehicle, now: Moment) {
        self.hovers_at_home = self.hover_at_home(vehicle, now);
        self.stays_down &= self.is_heard_on_ground(vehicle, now);
        self.landed_at = vehicle.landed.as_ref().map(|landed| landed.at);
        self.clock = vehicle.running_for;
        self.judge_stop(vehicle, now);
        let Some(beat) = &vehicle.heartbeat else { return };
        let silent_for = self.beat.map_or(Duration::ZERO, |last| beat.at.since(last));
        let out_of_sight = silent_for > LINK_LOST_AFTER;
        if silent_for > TRUTH_STALE_AFTER {
            self.heard_again = Some(beat.at);
        }
        self.heard_since.get_or_insert(beat.at);
        if out_of_sight {
            (self.unrested, self.heard_since) = (true, Some(beat.at));
        }
        // Within this time of its life it may be an arming of the life before.
        let began = *self.first_beat.get_or_insert(beat.at);
        let seen = !out_of_sight && beat.at.since(began) > ARM_MAY_SHOW_FOR;
        let found_armed = beat.value.armed && self.armed_since.is_none();
        let arms = found_armed && seen;
        self.beat = Some(beat.at);
        let executing = failsafe::executing(vehicle, now);
        self.failsafe_since = executing.then(|| self.failsafe_since.unwrap_or(now));
        if !beat.value.armed || matches!(beat.value.mode.mode, Mode::Land | Mode::Return) {
            self.owed = None;
        }
        if !beat.value.armed || vehicle.mode(now).is_some_and(|mode| mode != Mode::Station) {
            self.to_stop = None;
        }
        if beat.value.mode.mode != Mode::Station {
            self.speed = None;
            self.adrift = false;
        }
        self.armed_since = beat.value.armed.then(|| self.armed_since.unwrap_or(beat.at));
        if beat.value.armed {
            self.armed_at = Some(beat.at);
            // Out of sight it may have disarmed, and somebody else may have armed it.
            self.armed_by_us &= !out_of_sight;
            let shows = |arm: &ArmSent| beat.at >= arm.at && beat.at <= arm.may_show_until;
            if let Some(arm) = self.arm.filter(shows) {
                self.armed_by_us = true;
                self.armed_on = Some(arm);
                self.arm = None;
            }
            self.armed_by_others |= arms && !self.armed_by_us;
            self.armed_unseen |= found_armed && !seen;
            let first = Running {
                since: beat.at,
                until: beat.at,
                before: vehicle.running_for,
                from: None,
                clock: None,
            };
            let mut runs = self.runs.filter(|_| !out_of_sight).unwrap_or(first);
            (runs.until, runs.clock) = (beat.at, vehicle.running_for);
            runs.from = runs.from.or(runs.clock.filter(|_| runs.clock != runs.before));
            self.runs = Some(runs);
            let stands = self.stays_down && vehicle.truth(now) == FlightTruth::ArmedOnGround;
            // What he does after that is no other takeover.
            if stands && vehicle.mode(now) == Some(Mode::Foreign) && self.armed_by_us && self.armed_on.take().is_some()
            {
                self.taken_on_ground = true;
            }
            if matches!(vehicle.truth(now), FlightTruth::Airborne(_)) {
                self.tries[StepKind::Arm as usize].failures = 0;
                // A land command without a landing: the next landing is somebody else's.
                let landing = matches!(beat.value.mode.mode, Mode::Land | Mode::Return);
                if landing {
                    self.tries[StepKind::FailsafeReturn as usize].failures = 0;
                }
                let over = |sent: Moment| !landing && beat.at > sent.plus(LANDING_MAY_SHOW_FOR);
                self.descent = self.descent.filter(|(_, sent)| !over(*sent));
                if !landing
                    && self
                        .land_sent
                        .is_some_and(|sent| beat.at > sent.plus(LANDING_MAY_SHOW_FOR))
                {
                    self.land_sent = None;
                }
            }
            return;
        }
        (self.armed_by_others, self.others_counted) = (false, false);
        self.armed_unseen = false;
        self.descent = None;
        self.height = None;
        self.place_agreed = None;
        self.speed = None;
        // Failures of this flight say nothing about the next.
        for kind in [
            StepKind::TakeOff,
            StepKind::FailsafeLand,
            StepKind::FailsafeReturn,
            StepKind::ChangeHeight,
            StepKind::FlyTo,
            StepKind::SetSpeed,
            StepKind::TurnTo,
            StepKind::FlyPlan,
            StepKind::Hold,
            StepKind::Stop,
        ] {
            self.tries[kind as usize] = Tries::default();
        }
        let was_ours = std::mem::take(&mut self.armed_by_us);
        let armed_on = if was_ours {
            self.armed_on.take()
        } else {
            self.take_unshown(beat.at)
        };
        let idled = self.runs.take().is_some_and(|runs| runs.at_least() > IDLE_ENDS_BY);
        if idled && was_ours && armed_on.is_some() && !self.landing_ours() {
            self.taken_on_ground = self.stays_down;
        }
        if was_ours || armed_on.is_some() {
            let ordered =
                armed_on.filter(|arm| beat.at.since(arm.at) <= STOPPED_BY_OTHERS_WITHIN && !self.landing_ours());
            self.stopped = ordered.map(|arm| Stopped {
                at: beat.at,
                ordered: arm.clock,
                seen: vehicle.running_for,
            });
            self.judge_stop(vehicle, now);
            if vehicle.truth(now) == FlightTruth::Disarmed && !self.landing_ours() {
                let tries = &mut self.tries[StepKind::Arm as usize];
                tries.failures = tries.failures.saturating_add(1);
                let delay = StepKind::Arm.backoff().delay(tries.failures, 1.0);
                tries.not_before = tries.not_before.max(now.plus(delay));
            }
        }
    }

    /// The arm command that was accepted before this HEARTBEAT of a disarmed vehicle was made, and that none has shown: somebody was quicker.
    fn take_unshown(&mut self, beat: Moment) -> Option<ArmSent> {
        let arm = self.arm.as_mut()?;
        arm.accepted.filter(|at| beat.since(*at) > ACCEPTED_SHOWS_WITHIN)?;
        arm.accepted = None;
        Some(*arm)
    }

    /// Judges a stop of the motors once the vehicle has said a time of after it.
    fn judge_stop(&mut self, vehicle: &Vehicle, now: Moment) {
        let Some(stopped) = self.stopped else { return };
        let later = vehicle.running_for.filter(|clock| Some(*clock) > stopped.seen);
        let took = match (stopped.ordered, later) {
            (Some(ordered), Some(later)) => later.saturating_sub(ordered),
            (Some(_), None) if now.since(stopped.at) <= CLOCK_SAID_WITHIN => return,
            (Some(_) | None, _) => Duration::ZERO,
        };
        self.stopped = None;
        self.taken_on_ground = self.stays_down && took <= STOPPED_BY_OTHERS_WITHIN;
    }
}
