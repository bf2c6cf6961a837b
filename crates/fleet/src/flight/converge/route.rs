//! The next place of a route, for a vehicle that moves along ordered routes only.
//!
//! At its battery's reserve such a vehicle comes home along a granted route, requested since its charge came near the reserve
//! ([`crate::flight::battery::NearReserve`]). While a coordinator is there it never returns by its autopilot: nobody grants that way,
//! straight through the stations of others at an unexpected altitude. Without a way home it waits a while, then lands at its place: the
//! column below is the least airspace in which a flight can end, and the coordinator has claimed it, or has moved the vehicle to a clear
//! one (`fleet::planning::site`, `way_down`). Where neither was possible it lands all the same, since it would fall otherwise; those below
//! make way where they can, and the objects of both report it. Only without any coordinator does the autopilot return by itself.

use super::{Situation, Step, Verdict, paced, rest};
use crate::flight::memory::ends_at_home;
use model::assignment::{Assignment, OnLowBattery};
use model::battery_level::Level;
use model::report::Activity;
use model::route_order::Waypoint;
use model::units::AltitudeAboveHome;
use model::vehicle::{Autopilot, FlightTruth, Mode, TRUTH_STALE_AFTER};
use std::time::Duration;

/// Wait for a home that is newer than arming: an armed ArduCopter disarms by itself after 10 s on the ground, by its factory settings.
const HOME_AWAITED: Duration = Duration::from_secs(3);

/// A home heard before arming still counts within this of the vehicle's altitude, meters: as far as a station may be measured from another
/// home.
const HOME_MOVES_M: f64 = 2.0;

/// Least height of the end of a climb above a place that it leads past, meters: homes wander by no more.
const PAST_M: f64 = 1.0;

/// Longest stop of a vehicle that comes home for its reserve: by then the danger is over, and the rest of its way is granted.
const STOPS_FOR: Duration = Duration::from_secs(15);

/// Longest wait at the reserve for a way home, before landing at its place. A reserve of a fifth holds a vehicle up for minutes, enough to
/// land from as high as Drones fly.
pub(super) const WAITS_FOR_ITS_WAY: Duration = Duration::from_secs(30);

/// Longest time without a leader.
const LEADER_CHANGES: Duration = Duration::from_secs(20);

/// The step to the next place of the route of `held`. Without a route, or off it, the vehicle stays: the coordinator grants one from there.
pub(super) fn follow(s: &Situation<'_>, held: &Assignment) -> Verdict {
    let may = s.led() && s.vehicle.mode(s.now) == Some(Mode::Station);
    let Some(place) = next_place(s, held) else {
        let step = stay(s)
            .or_else(|| back(s, held))
            .or_else(|| turn_to(s, held))
            .filter(|_| may);
        return step.map_or_else(|| rest(Activity::Holding), |step| paced(s, step, Activity::Holding));
    };
    if !may {
        return rest(Activity::Moving);
    }
    if !s.memory.flies_to(place, s.now) {
        return paced(s, Step::FlyTo { place }, Activity::Moving);
    }
    // Sent on its way, since ArduCopter forgets a speed with the first place after a takeoff. A vehicle that takes none flies at its own.
    match held.manner.speed.filter(|speed| s.memory.speed() != Some(*speed)) {
        Some(speed) => paced(s, Step::SetSpeed { speed }, Activity::Moving),
        None => rest(Activity::Moving),
    }
}

/// The step that ends a climb after the takeoff early: to the next place of its route where its autopilot would climb past that, or, off the
/// route that it was given meanwhile, to stay. The coordinator stops it so for another in its way up.
pub(super) fn end_climb(s: &Situation<'_>, held: &Assignment) -> Option<Step> {
    if !held.routed || !s.led() {
        return None;
    }
    let Some(place) = next_place(s, held) else {
        return stay(s);
    };
    let is_past = match s.memory.height().zip(s.vehicle.home) {
        Some((top, home)) => home.up(top).0 - place.amsl.0 > PAST_M,
        // To where it climbs is not known: to that place, if it was stopped.
        None => held.route.as_ref().is_some_and(|route| route.places.len() == 2),
    };
    let flies = s.memory.flies_to(place, s.now);
    (is_past && !flies).then_some(Step::FlyTo { place })
}

fn next_place(s: &Situation<'_>, held: &Assignment) -> Option<Waypoint> {
    let route = held.route.as_ref()?;
    let progress = s.memory.progress().filter(|progress| progress.number == route.number)?;
    route.places.get(progress.next).copied()
}

/// Whether it does not hold where it is any more.
pub(super) fn leads_on(s: &Situation<'_>, held: &Assignment) -> bool {
    s.memory.is_adrift() || next_place(s, held).is_some()
}

/// Whether an order to a place comes before anything that is asked for on the way.
pub(super) fn is_to_be_sent_on(s: &Situation<'_>, held: &Assignment) -> bool {
    let flies = |place| s.memory.flies_to(place, s.now);
    s.memory.is_adrift() || next_place(s, held).is_some_and(|place| !flies(place))
}

pub(super) fn is_under_way(s: &Situation<'_>, held: &Assignment) -> bool {
    held.routed && holds_at(s, held).is_none()
}

/// Whether it comes home along granted routes, or is stopped on the way for somebody: the autopilot's return would cross the stations of
/// others. Its way stays its own while another coordinator takes over, and it flies on to the next corner.
pub(super) fn comes_home(s: &Situation<'_>, held: &Assignment) -> bool {
    let airborne = matches!(s.vehicle.truth(s.now), FlightTruth::Airborne(_));
    let Some(route) = held.route.as_ref().filter(|_| held.routed && airborne) else {
        return false;
    };
    let progress = s.memory.progress().filter(|progress| progress.number == route.number);
    let is_on_it = progress.is_some_and(|progress| progress.next < route.places.len());
    let is_home = ends_at_home(route, s.vehicle);
    let leads_home = is_on_it && is_home && s.memory.stalled().is_none();
    let stops = s.near_reserve && !is_home;
    let is_stopped = stops && s.memory.since_homeward(s.now).is_some_and(|ago| ago < STOPS_FOR);
    let leader_changes = !is_left_alone(s, held) && s.memory.comes_nearer(s.now);
    if s.led() {
        leads_home || is_stopped
    } else {
        leads_home && leader_changes
    }
}

/// Whether it is at its reserve and still waits for a way home: it goes on with what it was granted, or holds.
pub(super) fn waits_for_its_way(s: &Situation<'_>, held: &Assignment) -> bool {
    s.battery.lasting == Level::Low
        && held.failsafe.on_low_battery == OnLowBattery::Return
        && !is_on_its_own(s, held)
        && s.battery.low_for < WAITS_FOR_ITS_WAY
}

/// Whether nobody could grant it a way home: without a station and a plan it is not kept apart from others, or the coordinator is lost.
pub(super) fn is_on_its_own(s: &Situation<'_>, held: &Assignment) -> bool {
    let is_kept_apart = held.routed || held.plan.is_some();
    !is_kept_apart || is_left_alone(s, held)
}

/// Lost, and not only about to change.
fn is_left_alone(s: &Situation<'_>, held: &Assignment) -> bool {
    s.uplink_silent >= held.failsafe.after.min(LEADER_CHANGES)
}

pub(super) fn has_come_home(s: &Situation<'_>, held: &Assignment) -> bool {
    let route = held
        .route
        .as_ref()
        .filter(|_| held.routed && holds_at(s, held).is_some());
    route.is_some_and(|route| ends_at_home(route, s.vehicle))
}

fn holds_at(s: &Situation<'_>, held: &Assignment) -> Option<Waypoint> {
    let route = held.route.as_ref()?;
    let progress = s.memory.progress().filter(|progress| progress.number == route.number)?;
    route.end().filter(|_| progress.next >= route.places.len())
}

pub(super) fn here(s: &Situation<'_>) -> Option<Waypoint> {
    let position = s.vehicle.position.as_ref()?.fresh(s.now, TRUTH_STALE_AFTER)?;
    Some(Waypoint {
        at: position.at,
        amsl: position.amsl,
    })
}

/// At its position, after it lost its route: its autopilot still flies to the place of the last command.
fn stay(s: &Situation<'_>) -> Option<Step> {
    let place = here(s)?;
    s.memory.is_adrift().then_some(Step::FlyTo { place })
}

/// Back to where it holds, after it drifted off.
fn back(s: &Situation<'_>, held: &Assignment) -> Option<Step> {
    let place = holds_at(s, held).filter(|_| s.memory.drifts(s.now))?;
    Some(Step::FlyTo { place })
}

fn turn_to(s: &Situation<'_>, held: &Assignment) -> Option<Step> {
    // PX4 flies to the given place to turn: a vehicle that a person has moved stays.
    let here = here(s)?;
    let at = holds_at(s, held).filter(|at| at.is_about(&here))?;
    let heading = s.vehicle.heading.as_ref()?.fresh(s.now, TRUTH_STALE_AFTER)?;
    let heading = held.manner.turn(*heading)?;
    Some(Step::TurnTo { heading, at })
}

impl Situation<'_> {
    /// `None` when the vehicle is not where the route of `held` begins.
    pub(super) fn takeoff_height(&self, held: &Assignment) -> Option<AltitudeAboveHome> {
        let route = held.route.as_ref()?;
        let progress = self.memory.progress()?;
        let begins = progress.number == route.number && progress.next == 1;
        route.takeoff_height(self.vehicle.home?).filter(|_| begins)
    }

    /// Whether the known altitude of home is the reference of the takeoff. ArduCopter sets home where it is armed; the takeoff of PX4 is
    /// above sea level.
    pub(super) fn home_counts(&self) -> bool {
        let identity = self.vehicle.identity.as_ref();
        let sets_home = identity.is_some_and(|identity| identity.autopilot == Autopilot::ArduPilot);
        let Some(armed) = self.memory.armed_since().filter(|_| sets_home) else {
            return true;
        };
        let stands = here(self).zip(self.vehicle.home);
        let is_near = stands.is_some_and(|(here, home)| (here.amsl.0 - home.0).abs() <= HOME_MOVES_M);
        let heard = self.vehicle.home_heard.is_some_and(|heard| heard >= armed);
        heard || (is_near && self.now.since(armed) >= HOME_AWAITED)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FLY, World, world};
    use super::WAITS_FOR_ITS_WAY;
    use crate::flight::battery::Levels;
    use crate::flight::converge::{Step, called_off};
    use crate::flight::memory::{Outcome, StepKind};
    use model::answer::Answer;
    use model::assignment::OnLowBattery;
    use model::battery_level::Level;
    use model::geo::shifted;
    use model::ids::Term;
    use model::report::Activity;
    use model::route_order::{OrderNumber, RouteOrder, Waypoint};
    use model::time::Sighting;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, ComponentId, Heading, MetersPerSecond, SystemId, Wgs84};
    use model::vehicle::{Autopilot, Identity, LandedState, Mode, Position};
    use std::time::Duration;

    const HOME: Wgs84 = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };
    const SEA: AltitudeAmsl = AltitudeAmsl(488.0);

    fn place(east: f64, up: f64) -> Waypoint {
        Waypoint {
            at: shifted(HOME, east, 0.0),
            amsl: AltitudeAmsl(SEA.0 + up),
        }
    }

    /// A route up to 30 m, 50 m east and down to 20 m.
    fn routed() -> World {
        let mut w = world(FLY);
        let held = w.fence.held.as_mut().unwrap();
        held.routed = true;
        held.route = Some(RouteOrder {
            number: OrderNumber {
                term: Term(3),
                count: 1,
            },
            places: vec![place(0.0, 0.0), place(0.0, 30.0), place(50.0, 30.0), place(50.0, 20.0)],
            room: None,
        });
        w.vehicle.home = Some(SEA);
        w
    }

    fn at(mut w: World, east: f64, up: f64) -> World {
        let position = Position {
            at: shifted(HOME, east, 0.0),
            amsl: AltitudeAmsl(SEA.0 + up),
            above_home: AltitudeAboveHome(up),
        };
        w.vehicle.position = Some(Sighting::new(position, w.now));
        let route = w.fence.held.as_ref().and_then(|held| held.route.clone());
        let _ = w.memory.follow(route.as_ref(), &w.vehicle, w.now);
        w
    }

    #[test]
    fn a_vehicle_drifted_a_little_off_its_place_is_asked_back_and_a_moved_one_is_not() {
        let end = place(50.0, 20.0);
        let mut w = at(at(routed().flying(Mode::Station), 50.0, 24.0), 50.0, 20.2);
        assert_eq!(
            (w.kind(), w.decide().activity),
            (None, Activity::Holding),
            "it has arrived"
        );
        let later = |w: World, seconds: u64, east: f64, up: f64| {
            let now = w.now.plus(Duration::from_secs(seconds));
            at(World { now, ..w }.flying(Mode::Station), east, up)
        };
        w = later(w, 1, 50.0, 18.2);
        w = later(w, 9, 50.0, 18.2);
        assert_eq!(w.kind(), None);
        w = later(w, 1, 50.0, 18.2);
        assert_eq!(w.decide().step, Step::FlyTo { place: end });
        w.memory.asks_for_place(end);
        w.memory.began(StepKind::FlyTo, w.now);
        w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
        w = later(w, 9, 50.0, 18.2);
        assert_eq!(w.kind(), None, "it has its time to get there");
        w = later(w, 2, 50.0, 18.2);
        w = later(w, 10, 50.0, 18.2);
        assert_eq!(w.kind(), Some(StepKind::FlyTo), "and again");
        let moved = later(later(w, 1, 56.0, 20.0), 60, 56.0, 20.0);
        assert_eq!(moved.kind(), None, "somebody else has moved it");
    }

    /// A real ArduCopter answers FAILED to a place outside of its fence, without a text; a real PX4 answers ACCEPTED and stays, with a text
    /// on links with a ground station.
    #[test]
    fn orders_that_bring_it_no_nearer_are_told_with_what_the_autopilot_makes_of_them() {
        let refused = Outcome::Refused {
            result: "FAILED".into(),
        };
        let words = "Reposition is outside geofence\t";
        let cases = [
            (Outcome::Accepted, Some(words), 3),
            (Outcome::Accepted, None, 3),
            (refused, None, 2),
            (Outcome::NoAnswer, None, 2),
        ];
        for (outcome, said, enough) in cases {
            let mut w = at(routed().flying(Mode::Station), 0.0, 30.0);
            for times in 1..=4 {
                assert_eq!(
                    w.memory.stalled().is_some(),
                    times > enough,
                    "{outcome:?} before {times}"
                );
                let now = w.now.plus(Duration::from_secs(30));
                w = at(World { now, ..w }.flying(Mode::Station), 0.0, 30.0);
                assert_eq!(w.kind(), Some(StepKind::FlyTo), "it asks again");
                w.memory.asks_for_place(place(50.0, 30.0));
                w.memory.began(StepKind::FlyTo, w.now);
                w.memory.ended(StepKind::FlyTo, &outcome, w.now, 0.0);
                if let Some(said) = said {
                    w.memory.received(said, w.now.plus(Duration::from_millis(100)));
                }
                w.memory
                    .received("EKF3 IMU0 is using GPS", w.now.plus(Duration::from_secs(2)));
            }
            let stalled = w.memory.stalled().unwrap();
            assert_eq!(stalled.answer, Answer::from(&outcome));
            assert_eq!(stalled.words, said.unwrap_or_default().trim());
            assert_eq!(at(w, 1.0, 30.0).memory.stalled(), None, "it moves");
        }
    }

    #[test]
    fn it_asks_for_its_speed_once_a_flight_under_way_and_flies_on_where_refused() {
        let speed = MetersPerSecond(4.0);
        let flying = || {
            let mut w = at(routed().flying(Mode::Station), 0.0, 30.0);
            w.fence.held.as_mut().unwrap().manner.speed = Some(speed);
            assert_eq!(w.kind(), Some(StepKind::FlyTo));
            w.memory.asks_for_place(place(50.0, 30.0));
            w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
            w
        };
        let mut w = flying();
        assert_eq!(w.decide().step, Step::SetSpeed { speed });
        w.memory.asks_for_speed(speed);
        w.memory.ended(StepKind::SetSpeed, &Outcome::Accepted, w.now, 0.0);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::Moving));
        w.fence.held.as_mut().unwrap().manner.speed = Some(MetersPerSecond(6.0));
        w.now = w.now.plus(Duration::from_secs(1));
        assert_eq!(w.kind(), Some(StepKind::SetSpeed), "another one");
        let mut refused = flying();
        refused.memory.asks_for_speed(speed);
        let result = "DENIED".to_owned();
        refused
            .memory
            .ended(StepKind::SetSpeed, &Outcome::Refused { result }, refused.now, 1.0);
        assert_eq!(refused.kind(), None);
        let mut taken_over = flying();
        taken_over.memory.asks_for_speed(speed);
        taken_over
            .memory
            .ended(StepKind::SetSpeed, &Outcome::Accepted, taken_over.now, 0.0);
        let foreign = taken_over.flying(Mode::Foreign);
        assert_eq!(
            foreign.memory.speed(),
            None,
            "it may have forgotten it by the time it is back"
        );
    }

    /// At its reserve for longer than it waits, there on its route, with its home so far east.
    fn low(east: f64, up: f64, home: f64) -> World {
        let mut w = routed();
        w.battery = Levels {
            latest: Level::Low,
            lasting: Level::Low,
            low_for: WAITS_FOR_ITS_WAY,
        };
        w.near_reserve = true;
        w.fence.held.as_mut().unwrap().failsafe.on_low_battery = OnLowBattery::Return;
        w.vehicle.home_at = Some(shifted(HOME, home, 0.0));
        at(w.flying(Mode::Station), east, up)
    }

    fn later(w: World, seconds: u64, east: f64, up: f64) -> World {
        let now = w.now.plus(Duration::from_secs(seconds));
        at(World { now, ..w }.flying(Mode::Station), east, up)
    }

    #[test]
    fn at_its_reserve_it_waits_for_a_way_home_and_then_lands_where_it_is() {
        let second = Duration::from_secs(1);
        let w = |low_for| {
            let mut w = later(low(20.0, 30.0, 0.0), 15, 30.0, 30.0);
            w.battery.low_for = low_for;
            w
        };
        let (waits, lands) = (w(WAITS_FOR_ITS_WAY.saturating_sub(second)), w(WAITS_FOR_ITS_WAY));
        assert_eq!(waits.kind(), Some(StepKind::FlyTo), "what it was granted is its own");
        assert_eq!(
            (lands.kind(), lands.decide().activity),
            (Some(StepKind::FailsafeLand), Activity::LowBattery)
        );
        assert!(!called_off(StepKind::FailsafeLand, &lands.situation()));
        let mut holds = at(at(w(second), 50.0, 30.0), 50.0, 20.0);
        assert_eq!(holds.kind(), None, "it holds where its route ends");
        holds.battery.lasting = Level::Emergency;
        assert_eq!(holds.kind(), Some(StepKind::FailsafeLand), "there is no time to wait");
        let mut lost = w(second);
        (lost.confirmed, lost.uplink_silent) = (false, Duration::from_secs(19));
        assert_ne!(lost.kind(), Some(StepKind::FailsafeReturn), "another may come to lead");
        lost.uplink_silent = Duration::from_secs(20);
        assert_eq!(
            lost.kind(),
            Some(StepKind::FailsafeReturn),
            "nobody could grant it a way"
        );
        let mut alone = w(second);
        alone.fence.held.as_mut().unwrap().routed = false;
        assert_eq!(alone.kind(), Some(StepKind::FailsafeReturn), "it has no station");
        for low_for in [second, WAITS_FOR_ITS_WAY] {
            let mut lands_anyway = w(low_for);
            lands_anyway.fence.held.as_mut().unwrap().failsafe.on_low_battery = OnLowBattery::Land;
            assert_eq!(
                lands_anyway.kind(),
                Some(StepKind::FailsafeLand),
                "that is what is asked for"
            );
        }
    }

    #[test]
    fn on_a_low_battery_it_flies_a_way_home_to_its_end_and_leaves_any_other_route() {
        let leads_away = later(low(20.0, 30.0, 0.0), 15, 30.0, 30.0);
        assert_eq!(leads_away.kind(), Some(StepKind::FailsafeLand));
        let homeward = low(20.0, 30.0, 50.0);
        assert_eq!(
            homeward.decide().step,
            Step::FlyTo {
                place: place(50.0, 30.0)
            }
        );
        let mut empty = homeward;
        empty.battery.lasting = Level::Emergency;
        assert_eq!(empty.kind(), Some(StepKind::FailsafeLand));
        let mut there = low(50.0, 20.0, 50.0);
        for lasting in [Level::Low, Level::Fine, Level::Unknown] {
            there.battery.lasting = lasting;
            let lands = (there.kind(), there.decide().activity);
            assert_eq!(
                lands,
                (Some(StepKind::FailsafeLand), Activity::LowBattery),
                "{lasting:?}"
            );
            assert!(!called_off(StepKind::FailsafeLand, &there.situation()));
        }
        there.near_reserve = false;
        assert_eq!(there.kind(), None, "it holds over its home for another reason");
        let mut under_way = low(20.0, 30.0, 50.0);
        under_way.battery.lasting = Level::Fine;
        let landing_elsewhere = called_off(StepKind::FailsafeLand, &under_way.situation());
        assert!(landing_elsewhere, "it comes home, and the coordinator is back");
    }

    #[test]
    fn on_a_low_battery_a_way_home_that_is_not_flown_is_given_up_for_a_landing() {
        let mut w = low(20.0, 30.0, 50.0);
        for _ in 0..2 {
            assert_eq!(w.kind(), Some(StepKind::FlyTo));
            w.memory.asks_for_place(place(50.0, 30.0));
            w.memory.began(StepKind::FlyTo, w.now);
            let result = "FAILED".to_owned();
            w.memory
                .ended(StepKind::FlyTo, &Outcome::Refused { result }, w.now, 0.0);
            w = later(w, 30, 20.0, 30.0);
        }
        assert!(w.memory.stalled().is_some());
        assert_eq!(w.kind(), Some(StepKind::FailsafeLand), "it hovers until it falls");
        let unsure =
            low(20.0, 30.0, 50.0)
                .stage(crate::flight_record::Stage::Flown)
                .vehicle(true, None, Mode::Station, true);
        assert_eq!(
            unsure.kind(),
            Some(StepKind::FailsafeLand),
            "nobody flies the rest of its way"
        );
    }

    #[test]
    fn on_a_low_battery_a_change_of_leaders_makes_no_return_of_a_way_home() {
        let unled = |silent| {
            let mut w = low(20.0, 30.0, 50.0);
            (w.confirmed, w.uplink_silent) = (false, Duration::from_secs(silent));
            w
        };
        assert_eq!(unled(15).kind(), None, "its way is its own");
        assert_eq!(
            unled(20).kind(),
            Some(StepKind::FailsafeReturn),
            "the coordinator is lost"
        );
        let mut holds = later(low(-10.0, 30.0, 50.0), 1, 0.0, 30.0);
        holds.confirmed = false;
        assert_eq!(holds.kind(), None);
        let holds = later(holds, 8, 0.0, 30.0);
        assert_eq!(
            holds.kind(),
            Some(StepKind::FailsafeLand),
            "nobody orders it on from the corner"
        );
    }

    #[test]
    fn on_a_low_battery_it_waits_a_while_when_stopped_for_another_on_its_way_home() {
        let stop = place(30.0, 30.0);
        let stops = || vec![place(20.0, 30.0), stop];
        let homeward = || vec![stop, place(50.0, 30.0)];
        let w = later(low(15.0, 30.0, 50.0), 20, 30.0, 30.0);
        let stopped = later(given(w, 2, stops()), 13, 30.0, 30.0);
        assert_eq!(stopped.kind(), None);
        // A way home that is granted and taken back before it has come nearer.
        let granted = later(given(stopped, 3, homeward()), 1, 30.0, 30.0);
        assert_eq!(granted.kind(), Some(StepKind::FlyTo));
        let waits = |seconds, east| {
            let granted = later(
                given(low(15.0, 30.0, 50.0), 3, vec![stop, place(50.0, 30.0)]),
                1,
                30.0,
                30.0,
            );
            let nearer = later(granted, 14, east, 30.0);
            later(given(nearer, 4, vec![stop, place(32.0, 30.0)]), seconds, 32.0, 30.0).kind()
        };
        assert_ne!(waits(14, 32.0), Some(StepKind::FailsafeLand), "it has come nearer");
        let again = later(given(granted, 4, stops()), 1, 30.0, 30.0);
        assert_eq!(
            again.kind(),
            Some(StepKind::FailsafeLand),
            "but not for long, though it is stopped again and again"
        );
        assert_eq!(
            waits(1, 30.0),
            Some(StepKind::FailsafeLand),
            "nor where it is granted its way and does not fly it"
        );
    }

    #[test]
    fn where_its_route_ends_it_turns_to_its_heading_and_not_before() {
        let looks = |w: &mut World, degrees: f64| w.vehicle.heading = Some(Sighting::new(Heading(degrees), w.now));
        let mut on_the_way = at(routed().flying(Mode::Station), 20.0, 30.0);
        on_the_way.fence.held.as_mut().unwrap().manner.heading = Some(Heading(350.0));
        looks(&mut on_the_way, 90.0);
        assert_eq!(on_the_way.kind(), Some(StepKind::FlyTo));
        let mut w = at(routed().flying(Mode::Station), 50.0, 20.0);
        w.fence.held.as_mut().unwrap().manner.heading = Some(Heading(350.0));
        assert_eq!(w.kind(), None, "where it looks is not known");
        looks(&mut w, 90.0);
        let turn = Step::TurnTo {
            heading: Heading(350.0),
            at: place(50.0, 20.0),
        };
        assert_eq!((w.decide().step, w.decide().activity), (turn, Activity::Holding));
        w.memory.ended(StepKind::TurnTo, &Outcome::Accepted, w.now, 0.0);
        assert_eq!(w.kind(), None, "it is turning");
        w.now = w.now.plus(Duration::from_secs(11));
        let w = &mut at(w.flying(Mode::Station), 50.0, 20.0);
        looks(w, 90.0);
        assert_eq!(w.kind(), Some(StepKind::TurnTo), "it has not turned");
        looks(w, 359.0);
        assert_eq!(w.kind(), None, "within what counts as there");
        looks(w, 90.0);
        w.confirmed = false;
        assert_eq!(w.kind(), None, "no coordinator leads");
        w.confirmed = true;
        assert_eq!(w.kind(), Some(StepKind::TurnTo));
        for (east, up) in [(80.0, 20.0), (50.0, 26.0)] {
            let mut moved = at(w.clone(), east, up);
            looks(&mut moved, 90.0);
            assert_eq!(moved.kind(), None, "a person has moved it");
        }
    }

    #[test]
    fn it_takes_off_to_the_first_corner_of_its_route_and_not_without_one() {
        let mut w = at(routed().disarmed(Mode::Station), 0.3, 0.0);
        assert_eq!(w.kind(), Some(StepKind::Arm));
        w.memory.began(StepKind::Arm, w.now);
        let w = at(
            w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true),
            0.3,
            0.0,
        );
        let altitude = AltitudeAboveHome(30.0);
        assert_eq!(w.decide().step, Step::TakeOff { altitude });
        let elsewhere = at(routed().disarmed(Mode::Station), 9.0, 0.0);
        assert_eq!(
            (elsewhere.kind(), elsewhere.decide().activity),
            (None, Activity::Waiting)
        );
        let mut none = routed().disarmed(Mode::Station);
        none.fence = none.fence.without_route();
        let none = at(none, 0.0, 0.0);
        assert_eq!((none.kind(), none.decide().activity), (None, Activity::Waiting));
    }

    #[test]
    fn a_px4_is_moved_only_while_its_mode_is_of_now_as_it_leaves_that_of_a_pilot_for_it() {
        for (autopilot, millis, moves) in [
            (Autopilot::Px4, 1100, true),
            (Autopilot::Px4, 1300, false),
            (Autopilot::ArduPilot, 1300, true),
        ] {
            let mut w = at(routed().flying(Mode::Station), 20.0, 30.0);
            w.vehicle.identity = Some(Identity {
                autopilot,
                system: SystemId(1),
                component: ComponentId(1),
                firmware: None,
                hardware: None,
            });
            w.now = w.now.plus(Duration::from_millis(millis));
            let expected = moves.then_some(StepKind::FlyTo);
            assert_eq!(
                (w.kind(), w.decide().activity),
                (expected, Activity::Moving),
                "{autopilot:?}"
            );
        }
    }

    #[test]
    fn arducopter_takes_off_on_a_route_by_a_home_that_was_heard_after_arming() {
        let armed = |seconds: u64, up: f64, autopilot| {
            let mut w = at(routed().disarmed(Mode::Station), 0.3, 0.0);
            w.vehicle.identity = Some(Identity {
                autopilot,
                system: SystemId(1),
                component: ComponentId(1),
                firmware: None,
                hardware: None,
            });
            w.vehicle.home_heard = Some(w.now);
            w.memory.began(StepKind::Arm, w.now);
            w.now = w.now.plus(Duration::from_secs(1));
            let on_ground = |w: World| w.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
            let mut w = on_ground(w);
            w.now = w.now.plus(Duration::from_secs(seconds));
            at(on_ground(w), 0.3, up)
        };
        let mut w = armed(0, 0.0, Autopilot::ArduPilot);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::TakingOff));
        (w.vehicle.home, w.vehicle.home_heard) = (Some(AltitudeAmsl(SEA.0 - 4.0)), Some(w.now));
        let altitude = AltitudeAboveHome(34.0);
        assert_eq!(
            w.decide().step,
            Step::TakeOff { altitude },
            "the same place, above its new home"
        );
        let take_off = Some(StepKind::TakeOff);
        assert_eq!(armed(2, 0.0, Autopilot::ArduPilot).kind(), None);
        assert_eq!(
            armed(3, 1.9, Autopilot::ArduPilot).kind(),
            take_off,
            "home has hardly moved"
        );
        assert_eq!(
            armed(3, 3.0, Autopilot::ArduPilot).kind(),
            None,
            "it would climb too high"
        );
        assert_eq!(armed(0, 3.0, Autopilot::Px4).kind(), take_off);
    }

    #[test]
    fn each_corner_is_asked_for_once_and_again_when_it_comes_no_nearer() {
        let mut w = at(routed().flying(Mode::Station), 0.0, 29.6);
        let place = place(50.0, 30.0);
        assert_eq!(w.decide().step, Step::FlyTo { place });
        w.memory.asks_for_place(place);
        w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
        w.now = w.now.plus(Duration::from_secs(2));
        w = at(w.flying(Mode::Station), 8.0, 30.0);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::Moving));
        w.now = w.now.plus(Duration::from_secs(9));
        w = at(w.flying(Mode::Station), 8.1, 30.0);
        assert_eq!(w.decide().step, Step::FlyTo { place }, "it came no nearer");
        w = at(w, 49.5, 30.2);
        assert_eq!(
            w.decide().step,
            Step::FlyTo {
                place: self::place(50.0, 20.0)
            }
        );
        w = at(w, 50.2, 20.3);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::Holding));
    }

    /// On its way up to 30 m, as agreed.
    fn climbing(mode: Mode, up: f64) -> World {
        let mut w = routed();
        w.memory.asks_for(AltitudeAboveHome(30.0));
        w.memory.ended(StepKind::TakeOff, &Outcome::Accepted, w.now, 0.0);
        at(w.vehicle(true, Some(LandedState::TakingOff), mode, true), 0.0, up)
    }

    #[test]
    fn a_vehicle_that_climbs_ends_its_climb_where_it_is_stopped_and_by_a_leader_only() {
        let stop = place(0.0, 14.0);
        for mode in [Mode::Station, Mode::Takeoff] {
            let w = climbing(mode, 8.0);
            assert_eq!((w.kind(), w.decide().activity), (None, Activity::TakingOff), "{mode:?}");
            let stopped = |w: World, up| at(given(w, 2, vec![place(0.0, 8.0), stop]), 0.0, up);
            let w = stopped(w, 9.0);
            assert_eq!(w.decide().activity, Activity::TakingOff);
            let mut unled = w.clone();
            unled.confirmed = false;
            assert_eq!(unled.kind(), None);
            let mut w = asked(w, stop);
            w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
            assert_eq!(w.kind(), None, "it flies there");
            let late = stopped(climbing(mode, 17.0), 17.0);
            let here = place(0.0, 17.0);
            assert_eq!(
                late.decide().step,
                Step::FlyTo { place: here },
                "{mode:?}: it is past it"
            );
        }
        let w = routed().vehicle(true, Some(LandedState::TakingOff), Mode::Station, true);
        let anew = at(given(w, 2, vec![place(0.0, 8.0), stop]), 0.0, 9.0);
        assert_eq!(anew.decide().step, Step::FlyTo { place: stop }, "an agent started anew");
    }

    #[test]
    fn a_vehicle_that_climbs_to_the_first_corner_of_another_route_is_left_alone() {
        let higher = vec![place(0.0, 8.0), place(0.0, 30.0), place(0.0, 40.0)];
        let w = at(given(climbing(Mode::Takeoff, 8.0), 2, higher), 0.0, 9.0);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::TakingOff));
        for (landed, mode) in [
            (LandedState::TakingOff, Mode::Foreign),
            (LandedState::Landing, Mode::Land),
        ] {
            let w = climbing(mode, 8.0).vehicle(true, Some(landed), mode, true);
            let w = at(given(w, 2, vec![place(0.0, 8.0), place(0.0, 14.0)]), 0.0, 9.0);
            assert_eq!(w.kind(), None, "{mode:?}");
            assert!(called_off(StepKind::FlyTo, &w.situation()));
        }
    }

    fn given(mut w: World, count: u64, places: Vec<Waypoint>) -> World {
        let number = OrderNumber { term: Term(3), count };
        w.fence.held.as_mut().unwrap().route = Some(RouteOrder {
            number,
            places,
            room: None,
        });
        w
    }

    /// Ordered there, without an answer so far.
    fn asked(mut w: World, place: Waypoint) -> World {
        assert_eq!(w.decide().step, Step::FlyTo { place });
        w.memory.began(StepKind::FlyTo, w.now);
        w.memory.asks_for_place(place);
        assert!(!called_off(StepKind::FlyTo, &w.situation()));
        w
    }

    /// The coordinator stops it for another, and takes the rest of its way back at once.
    #[test]
    fn a_place_that_its_route_leads_to_no_more_is_not_asked_for_again_and_delays_no_other() {
        let far = place(50.0, 30.0);
        let stop = place(30.0, 30.0);
        let stopped = |w: World| at(given(w, 2, vec![place(20.0, 30.0), stop]), 20.5, 30.0);
        let result = "FAILED".to_owned();
        for outcome in [
            Outcome::NoAnswer,
            Outcome::Refused { result },
            Outcome::NotSent,
            Outcome::Accepted,
        ] {
            let begins = || asked(at(routed().flying(Mode::Station), 20.0, 30.0), far);
            let mut during = stopped(begins());
            assert!(called_off(StepKind::FlyTo, &during.situation()));
            during.memory.ended(StepKind::FlyTo, &outcome, during.now, 1.0);
            assert_eq!(during.decide().step, Step::FlyTo { place: stop }, "{outcome:?}");
            let mut before = begins();
            before.memory.ended(StepKind::FlyTo, &outcome, before.now, 1.0);
            let before = stopped(before);
            assert_eq!(before.decide().step, Step::FlyTo { place: stop }, "{outcome:?}");
        }
    }

    #[test]
    fn a_place_is_not_flown_to_after_an_order_elsewhere_that_was_not_answered() {
        let (far, stop) = (place(50.0, 30.0), place(30.0, 30.0));
        let mut w = asked(at(routed().flying(Mode::Station), 20.0, 30.0), far);
        w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
        let mut w = asked(at(given(w, 2, vec![place(20.0, 30.0), stop]), 20.5, 30.0), stop);
        w = at(given(w, 3, vec![place(20.0, 30.0), far]), 21.0, 30.0);
        w.memory.ended(StepKind::FlyTo, &Outcome::NoAnswer, w.now, 0.0);
        assert_eq!(w.decide().step, Step::FlyTo { place: far }, "it may fly to the stop");
    }

    #[test]
    fn one_that_is_asked_to_stay_is_asked_again_however_it_moves_until_it_has_a_route() {
        let mut w = asked(at(routed().flying(Mode::Station), 25.0, 12.0), place(25.0, 12.0));
        w.fence = w.fence.without_route();
        w = at(w, 31.0, 12.0);
        assert!(!called_off(StepKind::FlyTo, &w.situation()));
        let ahead = place(50.0, 12.0);
        let w = at(given(w, 2, vec![place(31.0, 12.0), ahead]), 31.0, 12.0);
        assert!(called_off(StepKind::FlyTo, &w.situation()));
        let mut lost = asked(at(routed().flying(Mode::Station), 20.0, 30.0), place(50.0, 30.0));
        lost = at(given(lost, 2, vec![place(0.0, 12.0), place(0.0, 20.0)]), 20.0, 30.0);
        assert!(called_off(StepKind::FlyTo, &lost.situation()));
        lost.memory.ended(StepKind::FlyTo, &Outcome::Accepted, lost.now, 0.0);
        let here = place(20.0, 30.0);
        assert_eq!(
            lost.decide().step,
            Step::FlyTo { place: here },
            "what it agreed to lies ahead"
        );
    }

    #[test]
    fn speed_and_heading_are_not_waited_for_where_it_is_to_fly_elsewhere() {
        let mut w = asked(at(routed().flying(Mode::Station), 20.0, 30.0), place(50.0, 30.0));
        w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
        assert!(!called_off(StepKind::SetSpeed, &w.situation()));
        let stops = vec![place(20.0, 30.0), place(30.0, 30.0)];
        let stopped = at(given(w, 2, stops), 20.5, 30.0);
        assert!(called_off(StepKind::SetSpeed, &stopped.situation()));
        let holds = at(routed().flying(Mode::Station), 50.0, 20.0);
        assert!(!called_off(StepKind::TurnTo, &holds.situation()));
        let goes_on = vec![place(50.0, 20.0), place(80.0, 20.0)];
        let goes_on = at(given(holds, 2, goes_on), 50.0, 20.0);
        assert!(called_off(StepKind::TurnTo, &goes_on.situation()));
    }

    #[test]
    fn one_that_has_lost_its_route_is_asked_once_to_stay_where_it_is() {
        let mut w = at(routed().flying(Mode::Station), 25.0, 12.0);
        let here = place(25.0, 12.0);
        assert_eq!(
            (w.decide().step, w.decide().activity),
            (Step::FlyTo { place: here }, Activity::Holding)
        );
        let mut taken_over = w.clone();
        taken_over.fence = taken_over.fence.without_route();
        taken_over
            .memory
            .observe(&taken_over.clone().flying(Mode::Foreign).vehicle, w.now);
        assert!(!taken_over.memory.is_adrift(), "it was not on its way any more");
        w.fence = w.fence.without_route();
        w = at(w, 27.0, 12.0);
        w.memory.asks_for_place(here);
        w.memory.ended(StepKind::FlyTo, &Outcome::Accepted, w.now, 0.0);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::Holding));
    }

    #[test]
    fn off_its_route_or_without_one_it_is_sent_nowhere_else() {
        let w = at(routed().flying(Mode::Station), 25.0, 12.0);
        assert_eq!(
            w.decide().step,
            Step::FlyTo {
                place: place(25.0, 12.0)
            }
        );
        let mut w = at(routed().flying(Mode::Station), 25.0, 30.0);
        assert_eq!(w.kind(), Some(StepKind::FlyTo));
        let landing = w.clone().vehicle(true, Some(LandedState::Landing), Mode::Station, true);
        assert_eq!(landing.kind(), None, "it has begun to land");
        assert!(called_off(StepKind::FlyTo, &landing.situation()));
        w.confirmed = false;
        assert_eq!(
            (w.kind(), w.decide().activity),
            (None, Activity::Moving),
            "no coordinator leads"
        );
        for mode in [Mode::Foreign, Mode::Land, Mode::Return] {
            let w = at(routed().flying(mode), 25.0, 30.0);
            assert!(
                w.kind() != Some(StepKind::FlyTo) && called_off(StepKind::FlyTo, &w.situation()),
                "{mode:?}"
            );
        }
    }
}
