//! Items that a person has written, flown unchanged by one vehicle at a time.
//!
//! Position n of the track, from 0, is the n-th place with all that is done there: from there the next vehicle goes on. Earlier settings
//! that last are repeated, and what would go on without end on the way home is ended.

use super::area::{flat, frame};
use super::cut::{PlannedFlight, rounded};
use super::stretch::{Stretch, Stretches};
use super::track::{Leg, Point, Track, Work, Written};
use super::way::Ways;
use model::geo::NoPlace;
use model::plan::ACCEPTANCE_RADIUS;
use model::plan::flight::{BadPlan, check_item, states};
use model::plan::item::{self, Item, of_waypoints};
use model::plan::route::{FASTEST, LONGEST_HOLD, MOST_WAYPOINTS, Waypoint};
use model::station::Altitude;
use model::units::{Meters, MetersPerSecond, Wgs84};
use std::sync::Arc;
use std::time::Duration;

const NAV_LOITER_TURNS: u16 = 18;
/// Begins a landing, also for a failsafe, which then leads along a way that is not claimed.
const DO_LAND_START: u16 = 189;

const CONDITION_DELAY: u16 = 112;

/// Fastest climb by an item, m/s: others keep clear of stray vehicles as if they climbed this fast (the default of
/// [`crate::airspace::Rules::climbs`]).
const FASTEST_CLIMB_M_S: f64 = 6.0;

/// Fastest descent by an item, m/s: a multicopter that descends faster may lose its lift in its own downwash.
const FASTEST_DESCENT_M_S: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadItems {
    #[error("no item has a place that is flown to; give at least one waypoint")]
    NoPlace,
    /// More than can be planned in time.
    #[error("{0} items have a place, more than {MOST_WAYPOINTS}; divide it into several Missions")]
    TooMany(usize),
    #[error(transparent)]
    Item(#[from] BadPlan),
    /// The airspace of a Mission is along straight lines.
    #[error(
        "item {number} ({name}) leaves the straight way, which alone is kept clear of others; make waypoints of it"
    )]
    Curve {
        /// From 0.
        number: usize,
        name: &'static str,
    },
    /// A vehicle that counts a place as reached far from it cuts the corner there.
    #[error(
        "item {number} takes its place for reached {radius} m from it (its second parameter, the acceptance radius), and leaves the straight \
         way there, which alone is kept clear of others; make it 0, or at most {widest} m",
        widest = ACCEPTANCE_RADIUS.0
    )]
    Corner {
        /// From 0.
        number: usize,
        radius: f64,
    },
    /// Nothing is kept clear for it in time.
    #[error("item {number} makes the vehicle {does} at {speed} m/s; at most {most} m/s are possible")]
    Fast {
        /// From 0.
        number: usize,
        /// "fly", "climb" or "descend".
        does: &'static str,
        speed: f64,
        most: f64,
    },
    #[error("item {number} makes the vehicle wait for {seconds} s, longer than {longest} s; shorten it", longest = LONGEST_HOLD.as_secs())]
    Long {
        /// From 0.
        number: usize,
        seconds: f64,
    },
    /// It may wait for almost a day.
    #[error(
        "item {number} (NAV_DELAY) waits for a time of day; give the seconds to wait, and -1 as hour, minute and second"
    )]
    TimeOfDay {
        /// From 0.
        number: usize,
    },
    #[error("item {number} has no place near the others")]
    Far {
        /// From 0.
        number: usize,
        source: NoPlace,
    },
}

/// `items` with their numbers, without the takeoff before and the landing after: these are the agent's.
fn kept(items: &[Item]) -> impl Iterator<Item = (usize, &Item)> {
    let lands = |item: &Item| [item::NAV_RETURN_TO_LAUNCH, item::NAV_LAND].contains(&item.command);
    let end = items.iter().rposition(|item| !lands(item)).map_or(0, |last| last + 1);
    let first = items.iter().position(Item::moves);
    let takeoff = first.filter(|first| items.get(*first).is_some_and(|item| item.command == item::NAV_TAKEOFF));
    items
        .iter()
        .enumerate()
        .take(end)
        .filter(move |(number, _)| Some(*number) != takeoff)
}

fn check(number: usize, item: &Item) -> Result<(), BadItems> {
    let name = item.name();
    let [first, second, third, fourth, ..] = item.params.map(Option::unwrap_or_default);
    let waits = [
        item::NAV_WAYPOINT,
        item::NAV_LOITER_TIME,
        item::NAV_DELAY,
        CONDITION_DELAY,
    ];
    if item.command == item::DO_CHANGE_SPEED
        && let Some(bad) = fast(number, first, second)
    {
        return Err(bad);
    }
    match item.command {
        command if waits.contains(&command) && first > LONGEST_HOLD.as_secs_f64() => {
            Err(BadItems::Long { number, seconds: first })
        }
        // Without seconds ArduCopter waits until that time, which is midnight for three zeros.
        item::NAV_DELAY if first <= 0.0 && [second, third, fourth].iter().any(|time| *time >= 0.0) => {
            Err(BadItems::TimeOfDay { number })
        }
        NAV_LOITER_TURNS | item::NAV_SPLINE_WAYPOINT => Err(BadItems::Curve { number, name }),
        item::NAV_RETURN_TO_LAUNCH | item::NAV_LAND => Err(BadPlan::AfterLanding(number + 1).into()),
        command @ DO_LAND_START => Err(BadPlan::Command { number, command, name }.into()),
        // PX4 uses the radius; ArduCopter ignores it.
        item::NAV_WAYPOINT if second > ACCEPTANCE_RADIUS.0 => Err(BadItems::Corner { number, radius: second }),
        _ => Ok(check_item(number, item)?),
    }
}

/// The fault of a speed of this `kind` (DO_CHANGE_SPEED's first parameter). For an unknown kind nothing is kept clear, so the slowest limit
/// counts.
fn fast(number: usize, kind: f64, speed: f64) -> Option<BadItems> {
    let (does, most) = match kind {
        0.0 | 1.0 => ("fly", FASTEST.0),
        2.0 => ("climb", FASTEST_CLIMB_M_S),
        _ => ("descend", FASTEST_DESCENT_M_S),
    };
    let fast = BadItems::Fast {
        number,
        does,
        speed,
        most,
    };
    (speed > most).then_some(fast)
}

impl Work {
    /// A takeoff at the beginning and a return or landing at the end are left out.
    ///
    /// # Errors
    /// [`BadItems`], the first fault. Items are counted from 0, without home.
    pub fn of_items(items: &[Item]) -> Result<Self, BadItems> {
        let mut written = Written {
            items: Vec::new(),
            places: Vec::new(),
        };
        let (mut numbers, mut speeds) = (Vec::new(), Vec::new());
        let mut speed = None;
        for (number, item) in kept(items) {
            check(number, item)?;
            if let (item::DO_CHANGE_SPEED, [Some(0.0 | 1.0), Some(m_s), ..]) = (item.command, item.params) {
                speed = Some(MetersPerSecond(m_s)).filter(|_| m_s > 0.0);
            }
            if let Some(Ok((at, altitude))) = item.place() {
                let hold = item.params.first().copied().flatten().unwrap_or_default();
                let place = Waypoint {
                    hold: Duration::try_from_secs_f64(hold).unwrap_or_default(),
                    ..Waypoint::passed(at, altitude)
                };
                written.places.push((written.items.len(), place));
                numbers.push(number);
                speeds.push(speed);
            }
            written.items.push(*item);
        }
        if written.places.len() > MOST_WAYPOINTS {
            return Err(BadItems::TooMany(written.places.len()));
        }
        let places: Vec<Wgs84> = written.places.iter().map(|(_, place)| place.at).collect();
        let first = *numbers.first().ok_or(BadItems::NoPlace)?;
        let far = |number: usize| move |source| BadItems::Far { number, source };
        let near_first = frame(places.get(..1).unwrap_or_default()).map_err(far(first))?;
        for (number, at) in numbers.iter().zip(&places) {
            flat(&near_first, *at).map_err(far(*number))?;
        }
        let frame = frame(&places).map_err(far(first))?;
        let mut points = Vec::new();
        for ((number, speed), (_, place)) in numbers.into_iter().zip(speeds).zip(&written.places) {
            let point = Point {
                at: flat(&frame, place.at).map_err(far(number))?,
                altitude: place.altitude,
                leg: Leg::Work,
                speed,
                trigger: None,
                hold: place.hold,
                heading: None,
                photos: 0,
            };
            if points.is_empty() {
                points.push(point.passed());
            }
            points.push(point);
        }
        Ok(Self {
            frame,
            track: Track(points),
            inside: Ways::free(),
            around: Ways::free(),
            survey: None,
            written: Some(Arc::new(written)),
        })
    }
}

impl Written {
    /// The first item that is not done at the place before `place`.
    fn begin(&self, place: usize) -> usize {
        match place {
            0 => 0,
            _ => self.places.get(place).map_or(self.items.len(), |(item, _)| *item),
        }
    }
}

impl PlannedFlight {
    /// Adds the items that fly `part` from above `start` back to there, all `raised` by so much.
    pub(super) fn add_written(&mut self, written: &Written, part: &Stretches, start: Wgs84, raised: Meters) {
        for one in part.all() {
            let (from, to) = (whole(one.from.floor()), whole(one.to.ceil()));
            let before = from.saturating_sub(1);
            let Some((_, place)) = written.places.get(before) else {
                continue;
            };
            if self.items.is_empty() {
                self.pass(start, place.altitude, raised);
            }
            self.pass(place.at, place.altitude, raised);
            let (begin, end) = (written.begin(from), written.begin(to));
            self.items
                .extend(states(written.items.get(..begin).unwrap_or_default()));
            for number in from + 1..=to {
                let Some((item, place)) = written.places.get(number - 1) else {
                    break;
                };
                let lead = if number == 1 { 0 } else { *item };
                for item in written.items.get(lead..written.begin(number)).unwrap_or_default() {
                    self.items.push(raise(item, raised));
                }
                #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
                let done = Stretch {
                    from: number as f64 - 1.0,
                    to: number as f64,
                };
                self.marks.push((self.items.len() - 1, Stretches::new([done])));
                let altitude = place.altitude.raised(raised);
                self.places.push(Waypoint {
                    altitude,
                    ..place.clone()
                });
            }
            let set = states(written.items.get(..end).unwrap_or_default());
            self.items.extend(set.iter().filter_map(ended));
        }
        if let Some(last) = self.places.last() {
            self.pass(start, last.altitude, Meters(0.0));
        }
    }

    fn pass(&mut self, at: Wgs84, altitude: Altitude, raised: Meters) {
        let waypoint = Waypoint::passed(at, altitude.raised(raised));
        self.marks.push((self.items.len(), Stretches::default()));
        self.items
            .extend(of_waypoints(std::slice::from_ref(&waypoint)).into_iter().map(rounded));
        self.places.push(waypoint);
    }
}

fn whole(position: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let whole = position as usize;
    whole
}

fn raise(item: &Item, raised: Meters) -> Item {
    if item.place().is_none() {
        return *item;
    }
    let mut item = *item;
    let [.., height] = &mut item.params;
    *height = height.map(|height| height + raised.0);
    rounded(item)
}

/// What ends an action of `item` that would go on by itself.
fn ended(item: &Item) -> Option<Item> {
    let zero = |command| Item {
        command,
        frame: item::FRAME_MISSION,
        params: [Some(0.0); 7],
        goes_on: true,
    };
    Some(match item.command {
        item::DO_SET_CAM_TRIGG_DIST | 214 => zero(item.command),
        195 | 201 => zero(197),
        item::IMAGE_START_CAPTURE => {
            let mut stop = zero(2001);
            stop.params[0] = item.params[0].or(Some(0.0));
            stop
        }
        2500 => zero(2501),
        _ => return None,
    })
}
