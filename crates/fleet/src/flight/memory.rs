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
use model::vehicle::{FlightTruth, LINK_LOST_AFTER, Mode, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;

/// Kinds of [`crate::flight::converge::Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// [`crate::flight::converge::Step::AskReasons`].
    AskReasons,
    /// [`crate::flight::converge::Step::SetStation`].
    SetStation,
    /// [`crate::flight::converge::Step::Arm`].
    Arm,
    /// [`crate::flight::converge::Step::TakeOff`].
    TakeOff,
    /// [`crate::flight::converge::Step::Land`].
    Land,
    /// [`crate::flight::converge::Step::FailsafeLand`].
    FailsafeLand,
    /// [`crate::flight::converge::Step::FailsafeReturn`].
    FailsafeReturn,
    /// [`crate::flight::converge::Step::ChangeHeight`].
    ChangeHeight,
    /// [`crate::flight::converge::Step::FlyTo`].
    FlyTo,
    /// [`crate::flight::converge::Step::SetSpeed`].
    SetSpeed,
    /// [`crate::flight::converge::Step::TurnTo`].
    TurnTo,
    /// [`crate::flight::converge::Step::FlyPlan`].
    FlyPlan,
    /// [`crate::flight::converge::Step::Hold`].
    Hold,
    /// [`crate::flight::converge::Step::Stop`].
    Stop,
}

const KINDS: usize = 14;

/// What a program has sent may reach the autopilot for this long after it is not passed on any more, and move the vehicle once more.
const COMES_LATE: Duration = Duration::from_millis(1200);

/// One that holds off the end of its route for this long is asked there again.
const DRIFTS_FOR: Duration = Duration::from_secs(10);

/// A vehicle that is no farther from its home over ground than this lands at home where it is, meters: hovering ones drift by less.
pub(super) const OVER_HOME_M: f64 = 3.0;

/// A vehicle that is so much farther from its home than it was on the way there, meters, has gone out again.
const OUT_AGAIN_M: f64 = 20.0;

/// A vehicle that comes no nearer to the next place of its route for this long is ordered there again.
const STALLED_AFTER: Duration = Duration::from_secs(8);

/// Nearer by less than this is no progress, meters.
const NEARER: f64 = 0.5;

/// What an autopilot says about an order comes within this time after it.
const SAID_WITHIN: Duration = Duration::from_millis(1500);

/// After an arm command was sent, the vehicle may prove to be armed for this long: the command's life, and the time until
/// a HEARTBEAT (1 Hz) shows it.
pub const ARM_MAY_SHOW_FOR: Duration = ARM_LIFE.saturating_add(Duration::from_secs(3));

/// After an autopilot said that it is still making up its mind about an arm command (IN_PROGRESS; it may be asking for
/// leave elsewhere), the vehicle may prove to be armed for this long.
pub const ARM_IN_PROGRESS_FOR: Duration = Duration::from_secs(30);

/// After a land command of ours was sent, the vehicle may be observed to begin its landing for this long.
const LANDING_MAY_SHOW_FOR: Duration = Duration::from_secs(10);

/// A return that hovers over home for this long does not land by itself: longer than any stack pauses there by its factory settings
/// (ArduCopter's RTL_LOIT_TIME: 5 s).
const RETURN_HOVERS_FOR: Duration = Duration::from_secs(30);

/// A hover over home is within this, meters over ground from home and in altitude from where it began. A descent at 0.3 m/s, the slowest that
/// autopilots land at, leaves it within 7 s.
const HOVER_M: (f64, f64) = (5.0, 2.0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// COMMAND_ACK with ACCEPTED.
    Accepted,
    /// COMMAND_ACK with anything final other than ACCEPTED.
    Refused {
        /// Name of the MAV_RESULT.
        result: String,
    },
    /// No answer in time: unknown whether it was carried out.
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
    tries: [Tries; KINDS],
    arm: Option<ArmSent>,
    armed_by_us: bool,
    /// It was observed on the ground without a break since we sent an arm command.
    stays_down: bool,
    /// It had not rested long enough on the ground when the life of the agent before this one ended.
    unrested: bool,
    /// It was observed to arm on no command of ours, and has not disarmed since.
    armed_by_others: bool,
    others_counted: bool,
    land_sent: Option<Moment>,
    descent: Option<(Descent, Moment)>,
    /// The height that the command under way asks for.
    asking: Option<AltitudeAboveHome>,
    /// The height that the vehicle has agreed to hold on this flight.
    height: Option<AltitudeAboveHome>,
    /// The place that the command under way asks for, and the one that the vehicle has agreed to fly to.
    place_asked: Option<Waypoint>,
    place_agreed: Option<Waypoint>,
    /// It has lost its route in the air: the place that it was asked to fly to last may lie ahead.
    adrift: bool,
    /// Since when it is to be stopped, taken back from a program.
    to_stop: Option<Moment>,
    /// How fast it has agreed to fly on this flight.
    speed: Option<MetersPerSecond>,
    /// How fast the command that is being written asks it to fly.
    speed_asked: Option<MetersPerSecond>,
    /// How far it has come on its route.
    progress: Option<Progress>,
    /// Whether that was read from the disk, and not observed since.
    from_disk: bool,
    /// How near it has come to its next place, meters, and when.
    nearest: Option<(Progress, f64, Moment)>,
    /// How near it has come to its home on a way there, meters, and when it last came nearer; from its first route in the air on.
    homeward: Option<(f64, Moment)>,
    /// Orders to fly to its next place since it last came nearer to it.
    asked: Option<Asked>,
    /// Since when it holds a little off the end of its route.
    drifts_since: Option<Moment>,
    /// When the first and the last HEARTBEAT that were taken note of came.
    first_beat: Option<Moment>,
    beat: Option<Moment>,
    /// A way down that was commanded and is not observed to be taken.
    owed: Option<Owed>,
    /// Since when the autopilot executes a failsafe of its own.
    failsafe_since: Option<Moment>,
    /// At which altitude it hovers over home on a return, and since when.
    hovers_at_home: Option<(AltitudeAboveHome, Moment)>,
    /// Since when it has been observed armed.
    armed_since: Option<Moment>,
    /// When the vehicle was last observed armed.
    armed_at: Option<Moment>,
    /// When it was last observed in the air in a flight that was not for us.
    others_flew_at: Option<Moment>,
}

/// Whether `route` ends at the home of `vehicle`.
pub(super) fn ends_at_home(route: &RouteOrder, vehicle: &Vehicle) -> bool {
    let ends = route.end().zip(vehicle.home_at);
    ends.is_some_and(|(end, home)| HomeShift::between(end.at, home, 0.0).over_ground_m() <= OVER_HOME_M)
}

/// Orders to fly to one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    times: u32,
    /// When the last was given.
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

/// Whether a vehicle follows its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Following {
    /// It does, or it is on the ground where that begins.
    Route,
    /// It has none, or where it is is not known.
    Nothing,
    /// It is in the air, and not on it.
    Lost,
}

/// An arm command that may still take effect.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ArmSent {
    at: Moment,
    may_show_until: Moment,
}

const fn seconds(first: u64, cap: u64) -> Backoff {
    Backoff {
        first: Duration::from_secs(first),
        cap: Duration::from_secs(cap),
    }
}

impl StepKind {
    /// How long after an accepted command its effect may take to show before it is sent again.
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
            // Half a turn, at the slowest that autopilots turn by themselves, and HEARTBEATs after it.
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
    /// Whether a step of this kind may be sent now.
    pub fn due(&self, kind: StepKind, now: Moment) -> bool {
        now >= self.tries[kind as usize].not_before
    }

    /// How often in a row a step of this kind has failed, on this flight if it is one that ends a flight.
    pub fn failures(&self, kind: StepKind) -> u32 {
        self.tries[kind as usize].failures
    }

    /// Whether an arm command of ours may still have armed the vehicle.
    pub fn arm_under_way(&self, now: Moment) -> bool {
        self.arm.is_some_and(|arm| now <= arm.may_show_until)
    }

    /// Whether the vehicle was observed to arm on a command of ours, and has not disarmed since.
    pub const fn armed_by_us(&self) -> bool {
        self.armed_by_us
    }

    /// Whether this life of the agent has observed it to arm on no command of ours, and not to disarm since.
    pub const fn armed_by_others(&self) -> bool {
        self.armed_by_others
    }

    /// Whether it has taken off so; once for each such flight.
    pub fn others_take_off(&mut self, vehicle: &Vehicle, now: Moment) -> bool {
        let takes_off = self.armed_by_others && matches!(vehicle.truth(now), FlightTruth::Airborne(_));
        takes_off && !std::mem::replace(&mut self.others_counted, true)
    }

    /// Whether the present or last landing was asked for by the assignment or by our own ending.
    pub const fn landing_ours(&self) -> bool {
        self.land_sent.is_some()
    }

    /// The way down that we commanded, while the vehicle may be observed to take it.
    pub fn descent_sent(&self) -> Option<Descent> {
        self.descent.map(|(descent, _)| descent)
    }

    /// The way down that the vehicle was commanded to take and does not take.
    pub const fn owed(&self) -> Option<&Owed> {
        self.owed.as_ref()
    }

    /// Since when the autopilot executes a failsafe of its own.
    pub const fn failsafe_since(&self) -> Option<Moment> {
        self.failsafe_since
    }

    /// Since when the vehicle has been observed armed; `None` while it is disarmed.
    pub const fn armed_since(&self) -> Option<Moment> {
        self.armed_since
    }

    /// How long ago the vehicle was last observed armed; `None` when this life of the agent has not observed it armed.
    pub fn since_armed(&self, now: Moment) -> Option<Duration> {
        self.armed_at.map(|at| now.since(at))
    }

    /// Whether the vehicle was observed on the ground, armed or not, without a break since this life of the agent sent its last arm command.
    /// Without that it may have flown meanwhile.
    pub const fn stayed_down(&self) -> bool {
        self.stays_down
    }

    /// How long ago this life of the agent first heard the vehicle, if that had not rested when the one before it ended.
    pub fn since_unrested(&self, now: Moment) -> Option<Duration> {
        let heard_for = || self.first_beat.map_or(Duration::ZERO, |first| now.since(first));
        self.unrested.then(heard_for)
    }

    /// Whether the vehicle has rested for less than `rest` on the ground, as far as is known.
    pub fn is_unrested(&self, rest: Duration, now: Moment) -> bool {
        let ago = [self.since_armed(now), self.since_unrested(now)];
        ago.into_iter().flatten().any(|ago| ago < rest)
    }

    /// The same memory, of a vehicle that had not rested when the agent ended, or had.
    pub fn unrested_before(self, unrested: bool) -> Self {
        Self { unrested, ..self }
    }

    /// How long ago somebody else was last observed to fly it while it served no Drone.
    pub fn since_others_flew(&self, now: Moment) -> Option<Duration> {
        self.others_flew_at.map(|at| now.since(at))
    }

    /// The same memory, of a vehicle that somebody else flew just before the agent was started again.
    pub fn others_flew_before(self, flew: bool, now: Moment) -> Self {
        Self {
            others_flew_at: flew.then_some(now),
            ..self
        }
    }

    /// Takes in a flight that is not ours: the vehicle serves no Drone and was not armed by us.
    pub fn watch_others(&mut self, serves: bool, vehicle: &Vehicle, now: Moment) {
        if !serves && !self.armed_by_us && matches!(vehicle.truth(now), FlightTruth::Airborne(_)) {
            self.others_flew_at = Some(now);
        }
    }

    /// The height that the vehicle has agreed to hold on this flight; `None` when this life of the agent has not asked for one.
    pub const fn height(&self) -> Option<AltitudeAboveHome> {
        self.height
    }

    /// The command that is being written asks for this height.
    pub const fn asks_for(&mut self, height: AltitudeAboveHome) {
        self.asking = Some(height);
    }

    /// The command that is being written asks it to fly there.
    pub const fn asks_for_place(&mut self, place: Waypoint) {
        self.place_asked = Some(place);
    }

    /// The command that is being written asks it to fly this fast.
    pub const fn asks_for_speed(&mut self, speed: MetersPerSecond) {
        self.speed_asked = Some(speed);
    }

    /// How fast the vehicle has agreed to fly on this flight; `None` when this life of the agent has not asked.
    pub const fn speed(&self) -> Option<MetersPerSecond> {
        self.speed
    }

    /// How far the vehicle has come on the route that it was last observed to follow.
    pub const fn progress(&self) -> Option<Progress> {
        self.progress
    }

    /// How far the vehicle had come when the agent ended.
    pub fn having_come(self, progress: Option<Progress>) -> Self {
        Self {
            progress,
            from_disk: true,
            ..self
        }
    }

    /// Whether it has lost its route in the air, and was not asked to stay since.
    pub const fn is_adrift(&self) -> bool {
        self.adrift
    }

    /// It was taken back from a program just now: it flies on until it is stopped.
    pub const fn take_back(&mut self, now: Moment) {
        self.to_stop = Some(now);
    }

    /// Whether it is to be stopped, as it was taken back from a program.
    pub const fn is_to_stop(&self) -> bool {
        self.to_stop.is_some()
    }

    /// Whether it has agreed to fly to `place`, and comes nearer.
    pub fn flies_to(&self, place: Waypoint, now: Moment) -> bool {
        self.place_agreed == Some(place) && (self.nearest.is_none() || self.comes_nearer(now))
    }

    /// Whether it came nearer to the next place of its route lately.
    pub fn comes_nearer(&self, now: Moment) -> bool {
        self.nearest.is_some_and(|(_, _, at)| now.since(at) < STALLED_AFTER)
    }

    /// How long ago it last came nearer to its home on a way there, or else since it first had a route in this life of the agent.
    pub fn since_homeward(&self, now: Moment) -> Option<Duration> {
        self.homeward.map(|(_, at)| now.since(at))
    }

    /// The orders that do not move it, once there are enough of them that it is no accident.
    pub fn stalled(&self) -> Option<&Stalled> {
        let asked = self.asked.as_ref()?;
        let enough = match asked.so_far.answer {
            Answer::Refused(_) | Answer::Missing => 2,
            Answer::Awaited | Answer::Accepted => 3,
        };
        (asked.times >= enough).then_some(&asked.so_far)
    }

    pub fn received(&mut self, text: &str, now: Moment) {
        if let Some(asked) = self.asked.as_mut().filter(|asked| now.since(asked.at) <= SAID_WITHIN) {
            text.trim().clone_into(&mut asked.so_far.words);
        }
    }

    /// Whether it has held a little off the end of its route for some time: autopilots keep to where they took the place to be when they were
    /// asked, and their estimates shift.
    pub fn drifts(&self, now: Moment) -> bool {
        self.drifts_since.is_some_and(|since| now.since(since) >= DRIFTS_FOR)
    }

    /// Whether its return has ended in a hover over home: ArduPilot's RTL_ALT_FINAL above 0, PX4's RTL_LAND_DELAY below 0.
    pub fn return_ends_in_hover(&self, now: Moment) -> bool {
        self.hovers_at_home
            .is_some_and(|(_, since)| now.since(since) >= RETURN_HOVERS_FOR)
    }

    /// The hover of a vehicle that returns and is over its home now.
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
            () if ends_at_home(route, vehicle) && away < nearest - NEARER => (away, now),
            // It has flown out again.
            () if away > nearest + OUT_AGAIN_M => (away, at),
            () => (nearest, at),
        })
    }

    /// Takes in how far the vehicle has come on `route`.
    pub fn follow(&mut self, route: Option<&RouteOrder>, vehicle: &Vehicle, now: Moment) -> Following {
        let Some(route) = route else {
            self.progress = None;
            return Following::Nothing;
        };
        let position = vehicle.position.as_ref().and_then(|p| p.fresh(now, TRUTH_STALE_AFTER));
        let on_ground = match vehicle.truth(now) {
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => true,
            FlightTruth::Airborne(_) => false,
            FlightTruth::Unknown(_) => return Following::Nothing,
        };
        let Some(position) = position.map(|p| Waypoint { at: p.at, amsl: p.amsl }) else {
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
            return if on_ground { Following::Nothing } else { Following::Lost };
        };
        self.adrift = false;
        let Some(place) = route.places.get(progress.next) else {
            (self.nearest, self.asked) = (None, None);
            let drifts = route.end().is_some_and(|end| end.is_drifted_from(&position));
            self.drifts_since = drifts.then(|| self.drifts_since.unwrap_or(now));
            return Following::Route;
        };
        self.drifts_since = None;
        let distance = place.distance(&position);
        let before = self.nearest.filter(|(of, ..)| *of == progress);
        if before.is_none_or(|(_, nearest, _)| distance < nearest - NEARER) {
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
            // Whatever lands it from now on, it is not the command that was sent before.
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

    /// The autopilot has answered IN_PROGRESS to a command of this kind: it may take effect later than usual.
    pub fn in_progress(&mut self, kind: StepKind, now: Moment) {
        if kind == StepKind::Arm
            && let Some(arm) = &mut self.arm
        {
            arm.may_show_until = now.plus(ARM_IN_PROGRESS_FOR);
        }
    }

    /// A command of this kind has ended. `jitter` is in 0.0..=1.0.
    pub fn ended(&mut self, kind: StepKind, outcome: &Outcome, now: Moment, jitter: f64) {
        if let Some(owed) = self.owed.as_mut().filter(|owed| Some(owed.descent) == kind.descent()) {
            owed.answer = outcome.into();
        }
        if let Some(asked) = self.asked.as_mut().filter(|_| kind == StepKind::FlyTo) {
            asked.so_far.answer = outcome.into();
        }
        let tries = &mut self.tries[kind as usize];
        match outcome {
            Outcome::Accepted => {
                // What counts as success is what the vehicle does next: an arm that came to nothing is counted as a
                // failure in `observe`, and a return counts as one until it is observed there.
                match kind {
                    StepKind::Arm => {}
                    StepKind::FailsafeReturn => tries.failures = tries.failures.saturating_add(1),
                    _ => tries.failures = 0,
                }
                tries.not_before = now.plus(kind.grace());
            }
            // The autopilot does not know of it.
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
            let agreed = self.place_asked.take().filter(|_| *outcome == Outcome::Accepted);
            self.adrift &= agreed.is_none();
            self.place_agreed = agreed.or(self.place_agreed);
            // It is given the same time again to come nearer.
            self.nearest = self.nearest.map(|(of, distance, _)| (of, distance, now));
        }
        if kind == StepKind::Stop && *outcome == Outcome::Accepted {
            self.to_stop = self.to_stop.filter(|since| now.since(*since) < COMES_LATE);
            // It holds here, and has yet to fly to where it was asked before.
            self.place_agreed = None;
        }
        if kind == StepKind::SetSpeed {
            let agreed = self.speed_asked.take().filter(|_| *outcome == Outcome::Accepted);
            self.speed = agreed.or(self.speed);
        }
        if kind == StepKind::Arm && matches!(outcome, Outcome::Refused { .. } | Outcome::NotSent) {
            self.arm = None;
        }
    }

    /// Takes in what the vehicle is observed to do. Call it after every change of `vehicle`.
    pub fn observe(&mut self, vehicle: &Vehicle, now: Moment) {
        self.hovers_at_home = self.hover_at_home(vehicle, now);
        let is_down = matches!(vehicle.truth(now), FlightTruth::Disarmed | FlightTruth::ArmedOnGround);
        self.stays_down &= is_down;
        let Some(beat) = &vehicle.heartbeat else { return };
        let silent_for = self.beat.map_or(Duration::ZERO, |last| beat.at.since(last));
        let out_of_sight = silent_for > LINK_LOST_AFTER;
        self.stays_down &= silent_for <= TRUTH_STALE_AFTER;
        // Within this time of its life it may be an arming of the life before.
        let began = *self.first_beat.get_or_insert(beat.at);
        let seen = !out_of_sight && beat.at.since(began) > ARM_MAY_SHOW_FOR;
        let arms = beat.value.armed && self.armed_since.is_none() && seen;
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
            // Meanwhile it may have disarmed by itself, and somebody else may have armed it.
            self.armed_by_us &= !out_of_sight;
            if self
                .arm
                .is_some_and(|arm| beat.at >= arm.at && beat.at <= arm.may_show_until)
            {
                self.armed_by_us = true;
                self.arm = None;
            }
            self.armed_by_others |= arms && !self.armed_by_us;
            if matches!(vehicle.truth(now), FlightTruth::Airborne(_)) {
                self.tries[StepKind::Arm as usize].failures = 0;
                // A land command that led to no landing: the next landing is somebody else's.
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
        self.descent = None;
        self.height = None;
        self.place_agreed = None;
        self.speed = None;
        // What failed on this flight says nothing about the next.
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
        if self.armed_by_us {
            self.armed_by_us = false;
            if vehicle.truth(now) == FlightTruth::Disarmed && !self.landing_ours() {
                let tries = &mut self.tries[StepKind::Arm as usize];
                tries.failures = tries.failures.saturating_add(1);
                let delay = StepKind::Arm.backoff().delay(tries.failures, 1.0);
                tries.not_before = tries.not_before.max(now.plus(delay));
            }
        }
    }
}
