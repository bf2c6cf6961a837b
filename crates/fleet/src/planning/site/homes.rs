//! Places on the ground, and the returns of autopilots to them: which vehicles these keep from a goal.

use super::observed::around;
use super::{ABOVE_HOME, CROSSED_STATION, NOWHERE, SHARED_RETURN, Site, WANDERS, first_and_more};
use crate::airspace::{Route, crossed_stations, shared_returns};
use crate::planning::movement::Goal;
use model::geo::Local;
use model::ids::NodeName;
use model::parameter_meaning::{Meaning, all_names};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct Returns {
    /// From each hold, or anywhere in the airspace around it, to its home, at its return altitude.
    ways: Vec<(NodeName, Route, Local)>,
    cross: BTreeMap<NodeName, BTreeSet<NodeName>>,
    /// Vehicles whose ways home lead through the stations of others.
    through: BTreeMap<NodeName, BTreeSet<NodeName>>,
}

impl Site {
    pub(super) fn compare_returns(&mut self, goals: &BTreeMap<NodeName, Goal>) {
        // The airspace that it is to have, granted or not.
        let room = |node: &NodeName| self.rooms.get(node).filter(|room| room.is_sound()).map(around);
        let hold = |node: &NodeName, at: Local| Route::hold(at).with_room(room(node));
        let of = |(node, goal): (&NodeName, &Goal)| (!goal.lands).then(|| (node.clone(), hold(node, goal.at)));
        let holds: Vec<(NodeName, Route)> = goals.iter().filter_map(of).collect();
        let same = |(one, other): (&(NodeName, Route, Local), &(NodeName, Route, Local))| {
            let near = |a: Local, b: Local| a.over_ground(b) <= WANDERS.0 && (a.up - b.up).abs() <= WANDERS.1;
            let holds = near(one.1.end(), other.1.end()) && one.1.room() == other.1.room();
            one.0 == other.0 && holds && near(one.2, other.2)
        };
        let home = |node: &NodeName| self.claims.return_from(node).unwrap_or(NOWHERE);
        let way = |(node, hold): &(NodeName, Route)| (node.clone(), hold.clone(), home(node));
        let ways: Vec<_> = holds.iter().map(way).collect();
        if ways.len() != self.returns.ways.len() || !ways.iter().zip(&self.returns.ways).all(same) {
            let cross = shared_returns(&self.claims, &holds);
            let through = crossed_stations(&self.claims, &holds);
            self.returns = Returns { ways, cross, through };
        }
    }

    /// Which vehicle that of `node` would meet if both returned home at once, with what to do; `None`: none.
    pub fn shared_return(&self, node: &NodeName) -> Option<String> {
        let others = self.returns.cross.get(node)?;
        let (first, more) = first_and_more(others)?;
        Some(format!(
            "{SHARED_RETURN} would bring it together with the vehicle of node {first}{more}: their ways home cross at one \
             altitude; give each autopilot a return altitude of its own ({}), {:.0} m apart",
            all_names(Meaning::ReturnAltitude),
            self.claims.rules().pitch().vertical.0.ceil()
        ))
    }

    /// Through whose stations the vehicle of `node` would return by itself, with what to do; `None`: through none.
    pub fn crossed_station(&self, node: &NodeName) -> Option<String> {
        self.crosses(node, self.returns.through.get(node)?)
    }

    fn crosses(&self, node: &NodeName, others: &BTreeSet<NodeName>) -> Option<String> {
        let (first, more) = first_and_more(others)?;
        let altitude = self.claims.return_from(node)?.up - self.claims.home(node)?.up;
        let volume = match self.rooms.contains_key(first) {
            true => "the volume around ",
            false => "",
        };
        Some(format!(
            "{CROSSED_STATION} at {altitude:.0} m above home leads through {volume}the station of the vehicle of node {first}{more}, which is \
             moved out of the way when it begins; give its autopilot a return altitude at which no station lies ({})",
            all_names(Meaning::ReturnAltitude)
        ))
    }

    /// Keeps vehicles whose preflight refuses on the ground while their autopilots would return through another's station, or the autopilot
    /// of another on its way to a station through theirs. A vehicle that is not ready to take off goes nowhere, and blocks nobody.
    pub(super) fn keep_from_crossed_returns(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let on_ground = |node: &NodeName| self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        let goes = |node: &NodeName| self.goes(node, goals);
        let crosses = |node: &NodeName| {
            let through = self.returns.through.get(node)?;
            self.crosses(node, &through.iter().filter(|other| goes(other)).cloned().collect())
        };
        let comes_through = |node: &NodeName| {
            let mut ways = self.returns.through.iter();
            let stays = |other: &NodeName| on_ground(other) && self.strict.contains(other) || !goes(other);
            let (other, _) = ways.find(|(other, stations)| stations.contains(node) && !stays(other))?;
            Some(format!(
                "the autopilot of the vehicle of node {other} would return through its station"
            ))
        };
        let kept: Vec<(NodeName, String)> = goals
            .iter()
            .filter(|(node, goal)| !goal.lands && self.strict.contains(*node) && on_ground(node))
            .filter_map(|(node, _)| Some((node.clone(), crosses(node).or_else(|| comes_through(node))?)))
            .collect();
        for (node, why) in kept {
            goals.remove(&node);
            self.waiting
                .insert(node, format!("stays on the ground (preflight: Refuse): {why}"));
        }
    }

    fn goes(&self, node: &NodeName, goals: &BTreeMap<NodeName, Goal>) -> bool {
        let on_ground = self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        !on_ground || goals.get(node).is_some_and(|goal| goal.ready)
    }

    /// Least distance over ground of two places for takeoff and landing, meters.
    fn pads_apart(&self) -> f64 {
        let rules = self.claims.rules();
        let own = self.usual_margin().horizontal.0;
        rules.pads.0 + own + (own - rules.off_by.horizontal.0)
    }

    /// The places of vehicles on the ground, and the homes of others.
    fn pads(&self) -> impl Iterator<Item = (&NodeName, Local)> {
        let heard = self.expected.iter().filter(|(_, heard)| **heard);
        heard.filter_map(|(node, _)| {
            let on_ground = self.claims.place(node).filter(|(_, on_ground)| *on_ground);
            Some((node, on_ground.map(|(at, _)| at).or_else(|| self.claims.home(node))?))
        })
    }

    /// Whether another stands on the ground so near to `place` that the vehicle of `node` could not land there.
    pub(super) fn is_occupied(&self, node: &NodeName, place: Local) -> bool {
        self.claims.another_stands_within(node, place, self.pads_apart())
    }

    /// Whether another holds or flies, or may, too near to the way down from `at` to `home`, where that of `node` is to land. One over its own
    /// home that is far enough for a landing does not count: people chose both.
    pub(super) fn is_flown_below(&self, node: &NodeName, at: Local, home: Local) -> bool {
        let Ok(down) = Route::through([at, at.at_height(at.up.min(home.up))]) else {
            return false;
        };
        let below = self.others_below(node, &down);
        below.iter().any(|other| !self.is_over_its_home_beside(other, at))
    }

    /// Whether one holds over its own home, far enough from `at` for another to land there. One that the wind, say, has brought off its hold does
    /// not: it may be below `at`.
    pub(super) fn is_over_its_home_beside(&self, other: &NodeName, at: Local) -> bool {
        let apart = self.claims.end(other).map_or(0.0, |end| end.over_ground(at));
        let holds = !self.claims.is_off_its_way(other) && !self.claims.reaches(other, ABOVE_HOME.0);
        apart >= self.pads_apart() && holds
    }

    /// Others that hold or fly, or may, on the way `down`. One that is beside its begin and no lower than that is left behind.
    pub(super) fn others_below(&self, node: &NodeName, down: &Route) -> Vec<NodeName> {
        let at = down.start();
        let beside = self.claims.fly_in_the_way(node, &Route::hold(at));
        let is_lower = |other: &NodeName| {
            let place = self.claims.last_seen(other);
            place.is_none_or(|place| place.up < at.up - ABOVE_HOME.1)
        };
        let mut below = self.claims.fly_in_the_way(node, down);
        below.retain(|other| is_lower(other) || !beside.contains(other));
        below
    }

    /// Why the vehicle of `node`, on the ground at `pad`, does not take off beside another that is too near, in a clause.
    pub(super) fn no_room_to_land(&self, node: &NodeName, pad: Local) -> Option<String> {
        self.no_room_beside(node, pad, self.pads())
    }

    fn no_room_beside<'a>(
        &self,
        node: &NodeName,
        pad: Local,
        pads: impl Iterator<Item = (&'a NodeName, Local)>,
    ) -> Option<String> {
        let apart = self.pads_apart();
        let others = pads.filter(|(other, _)| *other != node);
        let distances = others.map(|(other, place)| (other, place.over_ground(pad)));
        let near = distances.filter(|(_, distance)| *distance < apart);
        let (other, distance) = near.min_by(|one, next| one.0.cmp(next.0))?;
        Some(format!(
            "stays on the ground: the vehicle of node {other} has its place {distance:.1} m away, and it could not land beside that; put them \
             {:.0} m apart",
            apart.ceil()
        ))
    }

    pub(super) fn keep_from_close_pads(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let leaves = |node: &NodeName| self.claims.place(node).filter(|(_, on_ground)| *on_ground);
        let leave = goals.iter().filter(|(_, goal)| !goal.lands);
        let leave: Vec<(NodeName, Local)> = leave
            .filter_map(|(node, _)| Some((node.clone(), leaves(node)?.0)))
            .collect();
        if leave.is_empty() {
            return;
        }
        let side = self.pads_apart().max(1.0);
        let mut squares: BTreeMap<[i64; 2], Vec<(&NodeName, Local)>> = BTreeMap::new();
        for (node, pad) in self.pads() {
            squares.entry(square(pad, side)).or_default().push((node, pad));
        }
        let mut kept = Vec::new();
        for (node, pad) in leave {
            let [east, north] = square(pad, side);
            let beside = |middle: i64| [middle.saturating_sub(1), middle, middle.saturating_add(1)];
            let around = beside(east)
                .into_iter()
                .flat_map(|east| beside(north).map(|north| [east, north]));
            let near = around.filter_map(|at| squares.get(&at)).flatten().copied();
            let why = self.no_room_beside(&node, pad, near);
            kept.extend(why.map(|why| (node, why)));
        }
        for (node, why) in kept {
            goals.remove(&node);
            self.waiting.insert(node, why);
        }
    }

    /// Where a vehicle in the air holds, or will, with the airspace around it.
    pub(super) fn hold_in_air(&self, node: &NodeName) -> Option<Route> {
        let end = self.claims.end(node)?;
        let on_ground = self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        (!on_ground).then(|| Route::hold(end).with_room(self.claims.room(node)))
    }

    /// Whether the autopilot of the lower of two holds would climb through the upper to return.
    pub(super) fn returns_through(&self, one: (&NodeName, &Route), other: (&NodeName, &Route)) -> bool {
        let pitch = self.claims.rules().pitch();
        let (low, high) = if one.1.end().up <= other.1.end().up {
            (one, other)
        } else {
            (other, one)
        };
        let wide = |hold: &Route| hold.room().map_or(0.0, |room| room.radius);
        let top = low.1.end().up + low.1.room().map_or(0.0, |room| room.above);
        let bottom = high.1.end().up - high.1.room().map_or(0.0, |room| room.below);
        let climbs_to = || self.claims.return_from(low.0).map_or(f64::INFINITY, |home| home.up);
        low.1.end().over_ground(high.1.end()) < pitch.horizontal.0 + wide(low.1) + wide(high.1)
            && bottom - top >= pitch.vertical.0
            && bottom - pitch.vertical.0 < climbs_to()
    }

    /// Another in the air through whose station or airspace that of `node` would return, or the other way round, where the preflight of one
    /// of the two refuses that.
    pub(super) fn refused_return(&self, node: &NodeName) -> Option<&NodeName> {
        let through = |one: &NodeName, other: &NodeName| {
            let through = self.returns.through.get(one);
            through.is_some_and(|through| through.contains(other))
        };
        let refuses = |other: &NodeName| self.strict.contains(node) || self.strict.contains(other);
        let mut others = self.expected.keys().filter(|other| *other != node && refuses(other));
        others.find(|other| {
            let meets = through(node, other) || through(other, node);
            meets && self.hold_in_air(other).is_some()
        })
    }

    /// A vehicle in the air whose home lies below airspace of this radius around `at`, or too near beside it to land.
    pub(super) fn home_below(&self, node: &NodeName, at: Local, radius: f64) -> Option<&NodeName> {
        let reach = radius + self.claims.rules().pitch().horizontal.0;
        let mut others = self.expected.iter().filter(|(other, heard)| *other != node && **heard);
        let found = others.find(|(other, _)| {
            let on_ground = self.claims.place(other).is_some_and(|(_, on_ground)| on_ground);
            let home = self.claims.home(other).filter(|_| !on_ground);
            home.is_some_and(|home| home.over_ground(at) < reach)
        });
        found.map(|(other, _)| other)
    }

    /// Keeps vehicles from goals above or below which another holds, or is to hold, if one would climb through the other to return.
    pub(super) fn keep_from_return_columns(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let mut taken: Vec<(NodeName, Route)> = Vec::new();
        for node in self.expected.keys() {
            taken.extend(self.hold_in_air(node).map(|hold| (node.clone(), hold)));
        }
        let mut kept = Vec::new();
        for (node, goal) in goals.iter().filter(|(_, goal)| !goal.lands) {
            let near = |at: Local| at.over_ground(goal.at) <= WANDERS.0 && (at.up - goal.at.up).abs() <= WANDERS.1;
            if self.hold_in_air(node).is_some_and(|hold| near(hold.end())) {
                continue;
            }
            let own = Route::hold(goal.at);
            let other = taken
                .iter()
                .find(|(other, hold)| other != node && self.returns_through((node, &own), (other, hold)));
            match other {
                Some((other, hold)) => kept.push((node.clone(), other.clone(), hold.end().up > goal.at.up)),
                None if self.goes(node, goals) => taken.push((node.clone(), own)),
                None => {}
            }
        }
        for (node, other, is_below) in kept {
            let (which, whose) = if is_below {
                ("below", "its own")
            } else {
                ("above", "the other's")
            };
            let why = format!(
                "has no route: its station lies {which} the place of the vehicle of node {other}, and {whose} autopilot would return through \
                 both; move the station, or lower the return altitude of that autopilot ({})",
                all_names(Meaning::ReturnAltitude)
            );
            self.waiting.insert(node.clone(), why);
            goals.remove(&node);
        }
    }
}

/// Over ground, of squares of this side.
#[allow(clippy::cast_possible_truncation, reason = "a site reaches 20 km")]
fn square(place: Local, side: f64) -> [i64; 2] {
    [place.east, place.north].map(|meters| (meters / side).floor() as i64)
}
