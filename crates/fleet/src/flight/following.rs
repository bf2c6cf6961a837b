//! Which items of a plan a vehicle has reached, by its autopilot's messages and its position.
//!
//! The current item (MISSION_CURRENT, repeated) and reached items (MISSION_ITEM_REACHED, on ArduPilot once) may both be lost. So a place is
//! reached when the autopilot said so or went on to a later item, and the vehicle was observed there just before. An item without a place
//! counts with the place before it. What a person jumps over is not reached.

use model::geo::offset;
use model::plan::flight::{Uploaded, is_flown_to};
use model::plan::item;
use model::station::Altitude;
use model::takeover::Descent;
use model::time::{Moment, Sighting};
use model::units::Wgs84;
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
}

impl Following {
    pub const fn new(list: Vec<Uploaded>) -> Self {
        Self {
            list,
            at: 0,
            linked: true,
            trail: VecDeque::new(),
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
        self.trail.push_back(position);
        while self.trail.len() > MAX_POSITIONS
            || self
                .trail
                .front()
                .is_some_and(|first| position.at.since(first.at) > POSITION_AGE_LIMIT)
        {
            self.trail.pop_front();
        }
    }

    pub const fn begins(&mut self) {
        (self.at, self.linked) = (0, true);
    }

    /// After a restart in the middle, or when somebody set another item: earlier items prove nothing.
    pub fn continues_at(&mut self, index: usize) {
        self.at = index.min(self.list.len());
        self.linked = false;
    }

    /// Returns the items of the plan that are reached with it.
    pub fn goes_on_to(&mut self, index: usize, now: Moment) -> Vec<u16> {
        let index = index.min(self.list.len());
        if index < self.at {
            self.at = index;
            return Vec::new();
        }
        let reached = (self.at..index).filter_map(|passed| self.settle(passed, now)).collect();
        self.at = index;
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
        }
        number.filter(|_| self.linked)
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
