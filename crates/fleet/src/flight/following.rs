//! Which items of a plan a vehicle has reached, by its autopilot's messages and its position.
//!
//! The current item (MISSION_CURRENT, repeated) and reached items (MISSION_ITEM_REACHED, on ArduPilot once) may both be lost. So a place is
//! reached when the autopilot said so or went on to a later item, and the vehicle was observed there just before. An item without a place
//! counts with the place before it. What a person jumps over is not reached.

use super::nearness;
use model::geo::offset;
use model::plan::flight::{Uploaded, is_flown_to};
use model::plan::item;
use model::station::Altitude;
use model::takeover::Descent;
use model::time::{Moment, Sighting};
use model::units::{Meters, Wgs84};
use model::vehicle::Position;
use std::collections::VecDeque;
use std::time::Duration;

/// Distance over ground from a reached place, meters: PX4 passes a waypoint within 10 m (`NAV_ACC_RAD`), and positions come twice a second.
pub const REACHED_WITHIN_M: f64 = 15.0;
/// In altitude, meters.
pub const REACHED_WITHIN_ALTITUDE_M: f64 = 10.0;
/// How long a position counts: the autopilot's message may be a repeated one.
const POSITION_AGE_LIMIT: Duration = Duration::from_secs(8);
/// Longest interval of positions with a straight line between: a fast vehicle passes a place between two reports.
const MAX_POSITION_INTERVAL: Duration = Duration::from_secs(2);
const MAX_POSITIONS: usize = 80;

/// One vehicle on the rest of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Following {
    list: Vec<Uploaded>,
    /// Index of its current item; the length of the list at the end.
    at: usize,
    /// Whether the last place before that was reached.
    linked: bool,
    trail: VecDeque<Sighting<Position>>,
    /// Least distance to the place that it flies to, meters; `None` where not all since the place before was observed.
    nearest: Option<f64>,
    /// Horizontal, as the vehicle reports it.
    accuracy: Option<Meters>,
    /// Reached, and passed farther away than allowed: number in the plan, and distance.
    beside: Vec<(u16, Meters)>,
}

impl Following {
    pub const fn new(list: Vec<Uploaded>) -> Self {
        Self {
            list,
            at: 0,
            linked: true,
            trail: VecDeque::new(),
            nearest: None,
            accuracy: None,
            beside: Vec::new(),
        }
    }

    pub fn list(&self) -> &[Uploaded] {
        &self.list
    }

    /// Number of the current item in the plan; `None` for a repeated earlier setting, and at the end.
    pub fn current(&self) -> Option<u16> {
        self.list.get(self.at).and_then(|(_, number)| *number)
    }

    /// Index in the list; its length at the end.
    pub const fn at(&self) -> usize {
        self.at
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.list.len()
    }

    /// The descent of its last item, while that is current.
    pub fn descent(&self) -> Option<Descent> {
        let last = self.at + 1 == self.list.len();
        let (item, _) = self.list.get(self.at).filter(|_| last)?;
        match item.command {
            item::NAV_LAND => Some(Descent::Land),
            item::NAV_RETURN_TO_LAUNCH => Some(Descent::Return),
            _ => None,
        }
    }

    pub fn is_where_it_lands(&self, position: Wgs84, home: Option<Wgs84>) -> bool {
        let place = match self.descent() {
            Some(Descent::Return) => home,
            Some(Descent::Land) => match self.list.get(self.at).and_then(|(item, _)| item.place()) {
                Some(Ok((place, _))) => Some(place),
                _ => return true,
            },
            None => None,
        };
        place.is_some_and(|place| {
            let (east, north) = offset(place, position);
            east.hypot(north) <= REACHED_WITHIN_M
        })
    }

    pub fn seen(&mut self, position: Sighting<Position>) {
        if self.trail.back().is_some_and(|last| last.at >= position.at) {
            return;
        }
        let before = self.trail.back().copied();
        self.trail.push_back(position);
        while self.trail.len() > MAX_POSITIONS
            || self
                .trail
                .front()
                .is_some_and(|first| position.at.since(first.at) > POSITION_AGE_LIMIT)
        {
            self.trail.pop_front();
        }
        if let (Some(nearest), Some(place)) = (self.nearest, self.next_place()) {
            let here = over_ground(&position);
            let passed = nearness::between(place, before.as_ref().map_or(here, over_ground), here);
            self.nearest = Some(nearest.min(passed));
        }
    }

    pub const fn is_accurate_to(&mut self, horizontal: Option<Meters>) {
        self.accuracy = horizontal;
    }

    /// The items reached since the last call whose places were passed farther away than they allow, and how far.
    pub fn take_passed_beside(&mut self) -> Vec<(u16, Meters)> {
        std::mem::take(&mut self.beside)
    }

    fn next_place(&self) -> Option<Wgs84> {
        let mut ahead = self.list.iter().skip(self.at);
        let (item, _) = ahead.find(|(item, _)| is_flown_to(item.command))?;
        let (place, _) = item.place()?.ok()?;
        Some(place)
    }

    pub const fn begins(&mut self) {
        (self.at, self.linked) = (0, true);
        self.nearest = Some(f64::INFINITY);
    }

    /// After a restart in the middle, or when somebody set another item: earlier items prove nothing.
    pub fn continues_at(&mut self, index: usize) {
        self.at = index.min(self.list.len());
        self.linked = false;
        self.nearest = None;
    }

    /// Returns the items of the plan that are reached with it.
    pub fn goes_on_to(&mut self, index: usize, now: Moment) -> Vec<u16> {
        let index = index.min(self.list.len());
        if index < self.at {
            self.at = index;
            self.nearest = Some(f64::INFINITY);
            return Vec::new();
        }
        let mut passed = self.list.get(self.at..index).unwrap_or_default().iter();
        let passes = passed.any(|(item, _)| is_flown_to(item.command));
        let reached = (self.at..index).filter_map(|passed| self.settle(passed, now)).collect();
        self.at = index;
        if passes {
            self.nearest = Some(f64::INFINITY);
        }
        reached
    }

    /// An item far ahead is not of this flight: a repeated message, perhaps of the mission before.
    pub fn has_reached(&mut self, index: usize, now: Moment) -> Vec<u16> {
        let ahead = self.list.get(self.at..index).is_some_and(|between| {
            let flown = |(item, _): &Uploaded| is_flown_to(item.command);
            !between.iter().any(flown)
        });
        let Some((item, _)) = self.list.get(index).filter(|_| ahead) else {
            return Vec::new();
        };
        let arrived = !is_flown_to(item.command) || self.was_at(index, now);
        if !arrived || is_descent(item.command) {
            return Vec::new();
        }
        self.goes_on_to(index + 1, now)
    }

    /// In the air.
    pub fn has_ended(&mut self, now: Moment) -> Vec<u16> {
        let descends = self.list.last().is_some_and(|(item, _)| is_descent(item.command));
        let end = self.list.len().saturating_sub(usize::from(descends));
        self.goes_on_to(end.max(self.at), now)
    }

    /// A landing by its last item is the end of the plan.
    pub fn has_landed(&mut self) -> Option<u16> {
        self.descent()?;
        let (_, number) = self.list.get(self.at)?;
        self.at = self.list.len();
        *number
    }

    fn settle(&mut self, index: usize, now: Moment) -> Option<u16> {
        let (item, number) = *self.list.get(index)?;
        if is_descent(item.command) {
            return None;
        }
        if is_flown_to(item.command) {
            self.linked = self.was_at(index, now);
            self.judge(index, now);
        }
        number.filter(|_| self.linked)
    }

    /// Judges only the first of several that are settled at once: when the vehicle began to fly to the others is not known.
    fn judge(&mut self, index: usize, now: Moment) {
        let nearest = self.nearest.take().filter(|_| self.linked);
        let item = self.list.get(index).copied();
        let (Some(nearest), Some((item, Some(number)))) = (nearest, item) else {
            return;
        };
        let widest = nearness::widest(&item, self.accuracy);
        let mut trail = self.trail.iter().rev().map(over_ground);
        let (Some(widest), Some(Ok((place, _))), Some(last)) = (widest, item.place(), trail.next()) else {
            return;
        };
        let nearest = nearest.min(nearness::since(place, trail.next(), last, now));
        if nearest > widest {
            self.beside.push((number, Meters(nearest)));
        }
    }

    fn was_at(&self, index: usize, now: Moment) -> bool {
        let Some(Some(Ok((place, altitude)))) = self.list.get(index).map(|(item, _)| item.place()) else {
            return false;
        };
        let from_place = |seen: &Sighting<Position>| {
            let (east, north) = offset(place, seen.value.at);
            let up = match altitude {
                Altitude::AboveHome(wanted) => seen.value.above_home.0 - wanted.0,
                Altitude::Amsl(wanted) => seen.value.amsl.0 - wanted.0,
            };
            (seen.at, [east, north, up])
        };
        let lately = self
            .trail
            .iter()
            .filter(|seen| now.since(seen.at) <= POSITION_AGE_LIMIT);
        let mut before: Option<(Moment, [f64; 3])> = None;
        lately.map(from_place).any(|(at, point)| {
            let from = before.replace((at, point));
            let from = from.filter(|(then, _)| at.since(*then) <= MAX_POSITION_INTERVAL);
            is_there(nearest(from.map_or(point, |(_, from)| from), point))
        })
    }
}

const fn over_ground(seen: &Sighting<Position>) -> Sighting<Wgs84> {
    Sighting::new(seen.value.at, seen.at)
}

/// On the line from `from` to `to`, nearest to the origin over ground.
fn nearest(from: [f64; 3], to: [f64; 3]) -> [f64; 3] {
    let way = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    let squared = way[0].mul_add(way[0], way[1] * way[1]);
    let part = if squared > 0.0 {
        (-from[0].mul_add(way[0], from[1] * way[1]) / squared).clamp(0.0, 1.0)
    } else {
        1.0
    };
    [0, 1, 2].map(|axis| way[axis].mul_add(part, from[axis]))
}

fn is_there([east, north, up]: [f64; 3]) -> bool {
    east.hypot(north) <= REACHED_WITHIN_M && up.abs() <= REACHED_WITHIN_ALTITUDE_M
}

const fn is_descent(command: u16) -> bool {
    matches!(command, item::NAV_LAND | item::NAV_RETURN_TO_LAUNCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::geo::shifted;
    use model::plan::flight::rest;
    use model::plan::item::Item;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};

    const HOME: Wgs84 = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };

    fn place(east: f64) -> Item {
        let at = shifted(HOME, east, 0.0);
        let place = [Some(at.latitude_deg), Some(at.longitude_deg), Some(30.0)];
        Item {
            command: item::NAV_WAYPOINT,
            frame: item::FRAME_GLOBAL_RELATIVE_ALT,
            params: [Some(0.0), Some(0.0), Some(0.0), None, place[0], place[1], place[2]],
            goes_on: true,
        }
    }

    fn other(command: u16) -> Item {
        Item {
            command,
            frame: item::FRAME_MISSION,
            params: [Some(1.0); 7],
            goes_on: true,
        }
    }

    fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    fn stands(following: &mut Following, east: f64, seconds: u64) {
        let position = Position {
            at: shifted(HOME, east, 0.0),
            amsl: AltitudeAmsl(518.0),
            above_home: AltitudeAboveHome(30.0),
        };
        following.seen(Sighting::new(position, at(seconds)));
    }

    /// Speed, 100 m, photo, 200 m, 300 m, home.
    fn following() -> Following {
        let items = [
            other(item::DO_CHANGE_SPEED),
            place(100.0),
            other(item::IMAGE_START_CAPTURE),
            place(200.0),
            place(300.0),
            other(item::NAV_RETURN_TO_LAUNCH),
        ];
        Following::new(rest(&items, 0))
    }

    #[test]
    fn a_place_passed_between_two_reports_is_reached_and_after_a_silence_it_is_not() {
        for (until, reached) in [(19, vec![0, 1]), (21, vec![])] {
            let mut one = following();
            stands(&mut one, 70.0, 18);
            stands(&mut one, 130.0, until);
            let got = one.has_reached(1, at(until));
            assert_eq!(got.contains(&1), reached.contains(&1), "{until}: {got:?}");
        }
    }

    #[test]
    fn an_item_is_reached_when_the_autopilot_says_so_and_the_vehicle_was_there() {
        let mut one = following();
        stands(&mut one, 50.0, 10);
        assert_eq!(one.goes_on_to(1, at(10)), [0], "the speed was set on the way");
        assert_eq!(one.has_reached(1, at(10)), [] as [u16; 0], "it is not there");
        stands(&mut one, 92.0, 18);
        assert_eq!(one.has_reached(1, at(18)), [1]);
        assert_eq!(one.has_reached(1, at(19)), [] as [u16; 0], "it is repeated");
        assert_eq!(one.goes_on_to(3, at(19)), [2], "the photo was taken there");
        assert_eq!(one.current(), Some(3));
    }

    #[test]
    fn an_item_whose_report_was_lost_is_reached_when_the_next_one_is_flown_from_there() {
        let mut one = following();
        stands(&mut one, 100.0, 10);
        assert_eq!(one.goes_on_to(3, at(13)), [0, 1, 2]);
        stands(&mut one, 150.0, 30);
        assert_eq!(
            one.goes_on_to(4, at(30)),
            [] as [u16; 0],
            "it was sent on before it was there"
        );
        stands(&mut one, 300.0, 60);
        assert_eq!(one.goes_on_to(5, at(60)), [4]);
    }

    #[test]
    fn what_somebody_jumps_over_is_not_reached_with_what_belongs_to_it() {
        let mut one = following();
        assert_eq!(one.goes_on_to(1, at(1)), [0]);
        stands(&mut one, 10.0, 5);
        assert_eq!(one.goes_on_to(4, at(5)), [] as [u16; 0], "the photo neither");
        assert_eq!(one.has_reached(5, at(6)), [] as [u16; 0], "of the mission before");
        assert_eq!(one.goes_on_to(1, at(6)), [] as [u16; 0], "and back");
        stands(&mut one, 100.0, 9);
        assert_eq!(one.has_reached(1, at(9)), [1]);
        one.continues_at(3);
        stands(&mut one, 200.0, 20);
        assert_eq!(one.goes_on_to(4, at(20)), [3], "and after a restart in the middle");
    }

    fn flies(following: &mut Following, from: f64, to: f64, seconds: u64) {
        for second in 0..=5_u32 {
            let east = (to - from).mul_add(f64::from(second) / 5.0, from);
            stands(following, east, seconds + u64::from(second));
        }
    }

    #[test]
    fn a_place_that_is_reached_far_from_it_was_passed_beside_and_still_counts_as_reached() {
        let mut one = following();
        one.begins();
        one.is_accurate_to(Some(Meters(0.5)));
        flies(&mut one, 60.0, 90.0, 10);
        assert_eq!(one.goes_on_to(2, at(15)), [0, 1]);
        let beside = one.take_passed_beside();
        assert!(
            matches!(beside[..], [(1, Meters(by))] if (9.0..=10.0).contains(&by)),
            "{beside:?}"
        );
        assert!(one.take_passed_beside().is_empty(), "it is told once");
        // It goes on through the next one.
        flies(&mut one, 95.0, 201.0, 16);
        assert_eq!(one.goes_on_to(4, at(21)), [2, 3]);
        assert!(one.take_passed_beside().is_empty());
    }

    #[test]
    fn a_place_that_was_passed_unobserved_or_jumped_over_was_not_passed_beside() {
        let mut silent = following();
        silent.begins();
        silent.is_accurate_to(Some(Meters(0.5)));
        stands(&mut silent, 60.0, 10);
        stands(&mut silent, 110.0, 14);
        assert_eq!(silent.goes_on_to(2, at(14)), [0, 1]);
        assert!(
            silent.take_passed_beside().is_empty(),
            "it may have been there meanwhile"
        );
        let mut restarted = following();
        restarted.continues_at(1);
        flies(&mut restarted, 60.0, 90.0, 10);
        assert_eq!(restarted.goes_on_to(2, at(15)), [1]);
        assert!(
            restarted.take_passed_beside().is_empty(),
            "it may have been there before"
        );
        let mut jumped = following();
        jumped.begins();
        flies(&mut jumped, 0.0, 10.0, 10);
        assert_eq!(jumped.goes_on_to(4, at(15)), [0]);
        assert!(jumped.take_passed_beside().is_empty(), "it was not reached at all");
    }

    #[test]
    fn a_return_by_the_last_item_is_done_on_the_ground_and_is_its_own() {
        let mut one = following();
        one.continues_at(4);
        stands(&mut one, 300.0, 10);
        assert_eq!(one.descent(), None);
        assert_eq!(one.has_ended(at(10)), [4]);
        assert_eq!((one.descent(), one.is_at_end()), (Some(Descent::Return), false));
        assert_eq!(one.has_reached(5, at(11)), [] as [u16; 0]);
        assert_eq!(one.has_landed(), Some(5));
        assert!(one.is_at_end());
        let mut early = following();
        assert_eq!(early.has_landed(), None);
    }

    #[test]
    fn without_a_landing_the_end_is_the_last_place() {
        let mut one = Following::new(rest(&[place(100.0), place(200.0)], 1));
        stands(&mut one, 200.0, 10);
        assert_eq!(one.has_reached(0, at(10)), [1]);
        assert!(one.is_at_end());
        let mut lost = Following::new(rest(&[place(100.0), place(200.0)], 0));
        stands(&mut lost, 200.0, 10);
        assert_eq!(lost.has_ended(at(10)), [1], "the first was left out");
        assert!(lost.is_at_end());
    }
}
