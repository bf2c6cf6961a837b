//! The altitudes at which each vehicle crosses, above what holds near its way, the place that it leaves, and its own home.
//!
//! What one agent reports of its own home moves nobody else, and a station that is far away or that nobody flies to raises no way.

use super::{CEILING, Site, WANDERS};
use crate::planning::movement::{Goal, Layers};
use model::geo::Local;
use model::ids::NodeName;
use model::units::AltitudeAmsl;
use std::collections::BTreeMap;

/// What holds within this of the box around a way raises its layers, meters; what is twice as far does not.
const NEAR: f64 = 2000.0;

/// A way begins no lower than this above home even if nothing holds, meters.
const ABOVE_PAD: f64 = 2.0;

/// Which part of the site, counted in [`NEAR`] from its center.
type Cell = (i32, i32);

#[allow(clippy::cast_possible_truncation, reason = "a site reaches 20 km")]
fn cell(place: Local) -> Cell {
    let count = |meters: f64| (meters / NEAR).floor() as i32;
    (count(place.east), count(place.north))
}

/// The altitudes at which vehicles hold, meters above mean sea level, by where that is.
#[derive(Default)]
struct Holds {
    all: BTreeMap<Cell, Vec<f64>>,
    /// Sorted, of the cells of one way and those around them.
    near: BTreeMap<(Cell, Cell), Vec<f64>>,
}

impl Holds {
    fn add(&mut self, place: Local) {
        self.all.entry(cell(place)).or_default().push(place.up);
    }

    /// The highest near the way between two places, of those no higher than `most`.
    fn highest(&mut self, from: Local, to: Local, most: f64) -> Option<f64> {
        let (one, other) = (cell(from), cell(to));
        let low = (one.0.min(other.0) - 1, one.1.min(other.1) - 1);
        let high = (one.0.max(other.0) + 1, one.1.max(other.1) + 1);
        let near = self.near.entry((low, high)).or_insert_with(|| {
            let all = self.all.range((low.0, i32::MIN)..=(high.0, i32::MAX));
            let all = all.filter(|((_, north), _)| (low.1..=high.1).contains(north));
            let mut near: Vec<f64> = all.flat_map(|(_, ups)| ups).copied().collect();
            near.sort_by(f64::total_cmp);
            near
        });
        let below = near.partition_point(|up| *up <= most);
        near.get(below.checked_sub(1)?).copied()
    }
}

impl Site {
    /// Up to which altitude a station leaves two layers below the ceiling, for a vehicle whose home is at this altitude, meters.
    fn highest_station(&self, home: f64) -> f64 {
        home + CEILING - 2.0 * self.claims.rules().pitch().vertical.0
    }

    /// Takes out the goals above which no height is left to cross in; these wait.
    pub(super) fn keep_below_the_layers(
        &mut self,
        goals: &mut BTreeMap<NodeName, Goal>,
        homes: &BTreeMap<NodeName, f64>,
    ) {
        let mut high = BTreeMap::new();
        goals.retain(|node, goal| {
            let highest = homes.get(node).map_or(f64::NAN, |home| self.highest_station(*home));
            let fits = goal.lands || goal.at.up <= highest;
            if !fits {
                high.insert(node.clone(), highest);
            }
            fits
        });
        for (node, highest) in high {
            let why = format!(
                "has no route: above {highest:.0} m above mean sea level no altitude is left to cross at, up to {CEILING} m above its home; \
                 lower the station"
            );
            self.waiting.insert(node, why);
        }
    }

    /// `count` layers for each vehicle, at most. Those that have none wait, and say why.
    pub(super) fn layers(
        &mut self,
        goals: &BTreeMap<NodeName, Goal>,
        homes: &BTreeMap<NodeName, f64>,
        count: usize,
    ) -> BTreeMap<NodeName, Layers> {
        self.altitudes_left.retain(|node, _| goals.contains_key(node));
        let mut holds = self.holds(goals);
        let mut floors = BTreeMap::new();
        for (node, goal) in goals {
            let Some(home) = homes.get(node).copied() else { continue };
            let from = self.claims.end(node).unwrap_or(goal.at);
            let near = holds.highest(from, goal.at, self.highest_station(home));
            let own = (!goal.lands).then_some(goal.at.up);
            // Its home may be of before somebody carried it uphill.
            let stands = self
                .claims
                .place(node)
                .filter(|(_, on_ground)| *on_ground && !goal.lands);
            let stands = stands.map(|(at, _)| at.up);
            let held = near.into_iter().chain(own).chain(stands).fold(home, f64::max);
            floors.insert(node, (home, held));
        }
        let datum = floors
            .values()
            .map(|(home, held)| held.max(home + ABOVE_PAD))
            .fold(f64::INFINITY, f64::min);
        let mut layers = BTreeMap::new();
        for (node, (home, floor)) in floors {
            let ceiling = AltitudeAmsl(home + CEILING);
            let left = self
                .left(node, home)
                .map_or(floor, |left| left.min(self.highest_station(home)));
            let rules = self.claims.rules();
            let above = |floor: f64| Layers::on_lattice(datum, (AltitudeAmsl(floor), ceiling), count, rules);
            match above(floor) {
                Ok(found) => {
                    let higher = (left > floor).then(|| above(left).ok()).flatten();
                    let found = match higher {
                        Some(higher) => higher.or_lower(&found),
                        None => found,
                    };
                    layers.insert(node.clone(), found);
                }
                Err(why) => {
                    self.waiting.insert(node.clone(), why.to_string());
                }
            }
        }
        layers
    }

    /// What others cross above: the stations of those that fly to them or would, and where programs fly.
    fn holds(&self, goals: &BTreeMap<NodeName, Goal>) -> Holds {
        let mut holds = Holds::default();
        for (node, goal) in goals {
            let is_down = self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
            if !goal.lands && (!is_down || goal.ready) {
                holds.add(goal.at);
            }
        }
        for top in self.room_tops() {
            holds.add(top);
        }
        holds
    }

    /// A way to a station at this altitude is granted. Who turns back on it has come above both its ends.
    pub(super) fn leaves_for(&mut self, node: &NodeName, station: AltitudeAmsl) {
        if let Some(left) = self.altitudes_left.get_mut(node) {
            *left = left.max(station.0);
        }
    }

    /// The altitude that a vehicle in the air leaves: that of the last place where it stood or held at its station since it has had a goal,
    /// which is known to be clear of terrain, and of the stations that it was sent to since; or where it is.
    fn left(&mut self, node: &NodeName, home: f64) -> Option<f64> {
        // Somebody else may take it to higher ground.
        if self.claims.is_in_other_hands(node) {
            self.altitudes_left.remove(node);
        }
        // A program may, as far as its volume reaches, and leave it low beside that.
        if let Some((room, end)) = self.claims.room(node).zip(self.claims.end(node)) {
            self.altitudes_left.insert(node.clone(), end.up + room.above);
        }
        let (place, on_ground) = self.claims.place(node)?;
        let arrived = on_ground || self.is_at_its_station(node, home, place);
        let known = self.altitudes_left.get(node).copied().filter(|_| !arrived);
        let left = known.unwrap_or(place.up);
        self.altitudes_left.insert(node.clone(), left);
        (!on_ground).then_some(left)
    }

    /// Whether `place` is the station to which it was sent last.
    fn is_at_its_station(&self, node: &NodeName, home: f64, place: Local) -> bool {
        let station = self.granted_for.get(node).and_then(|station| {
            let home = self.station_home(node, AltitudeAmsl(home), station);
            let place = station.place();
            self.frame.local(place.at, place.altitude.amsl(home)).ok()
        });
        let near =
            |station: Local| station.over_ground(place) <= WANDERS.0 && (station.up - place.up).abs() <= WANDERS.1;
        station.is_some_and(near)
    }
}
