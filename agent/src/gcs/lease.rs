//! Whether a program may fly the vehicle, between the pilot, which says so, and the hub, which passes its frames on.
//!
//! Must not: decide ([`fleet::flight::lending`] does). A lease begins with what comes after it: what came before counts for nothing.

use super::program::{Aim, OverGround, Up};
use model::geo::{self, shifted};
use model::route_order::{RouteOrder, Waypoint};
use model::units::AltitudeAmsl;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Local coordinates farther than this from their origin are no place, meters: they would lead around the Earth.
const FARTHEST_M: f64 = 100_000.0;

/// Age of a judgment, made ten times a second, above which a program passes nothing more: the agent waits for a disk or for the line, and
/// the vehicle would leave its volume unobserved.
const JUDGED_WITHIN: Duration = Duration::from_millis(700);

/// A velocity that was asked for moves the vehicle for this long, also once it is asked for another.
const ASKED_COUNTS_FOR: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// The route around whose end it is.
    pub route: RouteOrder,
    pub home: Option<AltitudeAmsl>,
}

impl Volume {
    /// Whether `aim` stays inside, as far as can be told by this origin of local coordinates.
    pub fn has(&self, aim: &Aim, origin: Option<Waypoint>) -> bool {
        let depth = self.place(aim, origin).and_then(|place| self.route.depth(&place));
        depth.is_some_and(|(wide, high)| wide >= 0.0 && high >= 0.0)
    }

    /// The middle of the volume stands for what `aim` does not name.
    fn place(&self, aim: &Aim, origin: Option<Waypoint>) -> Option<Waypoint> {
        let middle = self.route.end()?;
        let at = match aim.over_ground {
            None => middle.at,
            Some(OverGround::At(at)) => geo::position(at).ok()?,
            Some(OverGround::FromOrigin { east, north }) if east.hypot(north) <= FARTHEST_M => {
                shifted(origin?.at, east, north)
            }
            Some(OverGround::FromOrigin { .. }) => return None,
        };
        let amsl = match aim.up {
            None => middle.amsl.0,
            Some(Up::Amsl(up)) => up,
            Some(Up::AboveHome(up)) => self.home?.0 + up,
            Some(Up::AboveOrigin(up)) => origin?.amsl.0 + up,
        };
        Some(Waypoint {
            at,
            amsl: AltitudeAmsl(amsl),
        })
    }
}

#[derive(Clone, Debug, Default)]
pub struct Lease(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// With when that was judged.
    volume: Option<(Volume, Instant)>,
    heard: Option<Instant>,
    set_point: Option<Instant>,
    /// Over ground, and upright.
    asked: [Peak; 2],
}

#[derive(Clone, Copy, Debug, Default)]
struct Peak(Option<(Instant, f64)>);

impl Peak {
    fn take(&mut self, number: f64, now: Instant) {
        let counts =
            |(at, peak): &(Instant, f64)| *peak > number && now.saturating_duration_since(*at) < ASKED_COUNTS_FOR;
        self.0 = self.0.filter(counts).or(Some((now, number)));
    }

    fn number(self) -> f64 {
        self.0.map_or(0.0, |(_, peak)| peak)
    }
}

impl State {
    /// Where the program may fly now.
    fn volume(&self, now: Instant) -> Option<&Volume> {
        let (volume, judged) = self.volume.as_ref()?;
        (now.saturating_duration_since(*judged) <= JUDGED_WITHIN).then_some(volume)
    }
}

impl Lease {
    /// `None`: nowhere.
    pub fn pass(&self, volume: Option<Volume>, now: Instant) {
        let mut state = self.lock();
        if volume.is_none() {
            *state = State::default();
        }
        state.volume = volume.map(|volume| (volume, now));
    }

    pub fn passes(&self, now: Instant) -> bool {
        self.lock().volume(now).is_some()
    }

    /// `None`: there is no volume.
    pub fn has(&self, aim: &Aim, origin: Option<Waypoint>, now: Instant) -> Option<bool> {
        self.lock().volume(now).map(|volume| volume.has(aim, origin))
    }

    /// Returns whether it counts, and may be passed on.
    pub fn hear(&self, set_point: Option<&Aim>, now: Instant) -> bool {
        let mut state = self.lock();
        let passes = state.volume(now).is_some();
        if passes {
            state.heard = Some(now);
        }
        if let Some(aim) = set_point.filter(|_| passes) {
            state.set_point = Some(now);
            let [over_ground, upright] = &mut state.asked;
            over_ground.take(aim.speed.0, now);
            upright.take(aim.speed.1, now);
        }
        passes
    }

    /// Its last sign of life, and its last set-point.
    pub fn heard(&self) -> (Option<Instant>, Option<Instant>) {
        let state = self.lock();
        (state.heard, state.set_point)
    }

    /// Fastest that set-points have asked for lately: over ground and upright, meters per second.
    pub fn asked(&self) -> (f64, f64) {
        let [over_ground, upright] = self.lock().asked;
        (over_ground.number(), upright.number())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use model::ids::Term;
    use model::lent::{Room, USUAL_LEASE};
    use model::route_order::OrderNumber;
    use model::units::{Meters, Wgs84};

    pub const MIDDLE: Wgs84 = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };
    const SEA: f64 = 488.0;

    /// 30 m around a place 20 m above home, 10 m down and up.
    pub fn volume() -> Volume {
        let end = Waypoint {
            at: MIDDLE,
            amsl: AltitudeAmsl(SEA + 20.0),
        };
        let room = Room {
            radius: Meters(30.0),
            below: Meters(10.0),
            above: Meters(10.0),
            lease: USUAL_LEASE,
        };
        Volume {
            route: RouteOrder {
                number: OrderNumber {
                    term: Term(3),
                    count: 7,
                },
                places: vec![end],
                room: Some(room),
            },
            home: Some(AltitudeAmsl(SEA)),
        }
    }

    #[test]
    fn a_place_outside_of_the_volume_is_not_in_it_and_one_that_cannot_be_told_neither() {
        let volume = volume();
        let origin = Waypoint {
            at: shifted(MIDDLE, -100.0, 0.0),
            amsl: AltitudeAmsl(SEA - 5.0),
        };
        let over_ground = |over_ground| Aim {
            over_ground: Some(over_ground),
            ..Aim::default()
        };
        let at = |north| over_ground(OverGround::At(shifted(MIDDLE, 0.0, north)));
        let from_origin = |east, north| over_ground(OverGround::FromOrigin { east, north });
        let up = |up| Aim {
            up: Some(up),
            ..Aim::default()
        };
        let nowhere = Wgs84 {
            latitude_deg: 147.0,
            ..MIDDLE
        };
        for (aim, inside) in [
            (Aim::default(), true),
            (at(29.0), true),
            (at(31.0), false),
            (at(5000.0), false),
            (over_ground(OverGround::At(nowhere)), false),
            (from_origin(100.0, 29.0), true),
            (from_origin(100.0, 31.0), false),
            (from_origin(0.0, 0.0), false),
            (from_origin(f64::NAN, 0.0), false),
            (from_origin(f64::INFINITY, 0.0), false),
            (up(Up::Amsl(SEA + 11.0)), true),
            (up(Up::Amsl(SEA + 9.0)), false),
            (up(Up::AboveHome(29.0)), true),
            (up(Up::AboveHome(31.0)), false),
            (up(Up::AboveHome(f64::NAN)), false),
            (up(Up::AboveOrigin(26.0)), true),
            (up(Up::AboveOrigin(14.0)), false),
        ] {
            assert_eq!(volume.has(&aim, Some(origin)), inside, "{aim:?}");
        }
        for unknown in [from_origin(100.0, 0.0), up(Up::AboveOrigin(25.0))] {
            assert!(!volume.has(&unknown, None), "{unknown:?}");
        }
        let homeless = Volume { home: None, ..volume };
        assert!(!homeless.has(&up(Up::AboveHome(20.0)), Some(origin)));
    }

    #[test]
    fn what_comes_while_nothing_is_passed_on_renews_no_lease() {
        let (lease, now) = (Lease::default(), Instant::now());
        let aim = Aim::default();
        assert!(!lease.hear(Some(&aim), now));
        assert_eq!(lease.heard(), (None, None));
        lease.pass(Some(volume()), now);
        assert!(lease.hear(Some(&aim), now));
        let later = now + Duration::from_secs(1);
        lease.pass(Some(volume()), later);
        assert!(lease.hear(None, later));
        assert_eq!(lease.heard(), (Some(later), Some(now)));
        lease.pass(None, later);
        lease.pass(Some(volume()), later);
        assert_eq!(lease.heard(), (None, None), "another lease");
    }

    #[test]
    fn what_nobody_has_judged_lately_passes_nothing() {
        let (lease, began, aim) = (Lease::default(), Instant::now(), Aim::default());
        let at = |ms| began + Duration::from_millis(ms);
        lease.pass(Some(volume()), began);
        assert!(lease.passes(at(700)) && lease.has(&aim, None, at(700)) == Some(true));
        assert!(lease.hear(Some(&aim), at(700)));
        assert!(!lease.passes(at(701)) && lease.has(&aim, None, at(701)).is_none());
        assert!(!lease.hear(Some(&aim), at(701)), "the agent waits for its disk");
        lease.pass(Some(volume()), at(1500));
        assert!(lease.passes(at(1500)));
        assert_eq!(lease.heard(), (Some(at(700)), Some(at(700))), "the same lease");
    }

    #[test]
    fn the_fastest_that_was_asked_for_counts_for_a_second() {
        let (lease, began) = (Lease::default(), Instant::now());
        let asks_in = |volume, over_ground, upright, ms| {
            let now = began + Duration::from_millis(ms);
            let aim = Aim {
                speed: (over_ground, upright),
                ..Aim::default()
            };
            lease.pass(volume, now);
            lease.hear(Some(&aim), now);
            lease.asked()
        };
        assert_eq!(asks_in(None, 9.0, 9.0, 0), (0.0, 0.0), "nothing passes");
        let asks = |over_ground, upright, ms| asks_in(Some(volume()), over_ground, upright, ms);
        assert_eq!(asks(5.0, 0.0, 0), (5.0, 0.0));
        assert_eq!(asks(1.0, 2.0, 500), (5.0, 2.0));
        assert_eq!(asks(1.0, 0.0, 1100), (1.0, 2.0));
        assert!(asks(f64::NAN, 0.0, 1200).0.is_nan(), "it may be anything");
        lease.pass(None, began);
        assert_eq!(lease.asked(), (0.0, 0.0));
    }
}
