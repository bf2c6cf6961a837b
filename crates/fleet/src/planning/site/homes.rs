//! Places on the ground, and the returns of autopilots to them: which vehicles these keep from a goal.

use super::observed::around;
use super::{ABOVE_HOME, CROSSED_STATION, Expected, NOWHERE, SHARED_RETURN, Site, WANDERS, first_and_more};
use crate::airspace::{PlanReturns, Route, crossed_stations, shared_returns};
use crate::planning::movement::Goal;
use model::geo::Local;
use model::ids::NodeName;
use model::parameter_meaning::{Meaning, all_names};
use model::time::Moment;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Agents that have just begun read the altitude of a return within this, or no longer expect an answer.
const READ_WITHIN: Duration = Duration::from_secs(20);

/// Vehicles, each with those that its way home concerns.
type Crossings = BTreeMap<NodeName, BTreeSet<NodeName>>;

/// From a hold, or anywhere in the airspace around it, to its home, at its return altitude, and whether that was read.
type Way = (NodeName, Route, Local, bool);

#[derive(Clone, Debug, Default)]
pub(super) struct Returns {
    ways: Vec<Way>,
    cross: Crossings,
    /// Vehicles whose ways home lead through the stations of others, or straight up through the ways of their plans.
    through: Crossings,
    plans: PlanReturns,
    /// Vehicles with stations that take off to them as soon as they may.
    ready: BTreeSet<NodeName>,
    /// People are warned of these.
    told_cross: Crossings,
    told_through: Crossings,
    /// Vehicles whose return altitude is not known, since when.
    unread: BTreeMap<NodeName, Moment>,
    /// Vehicles among them of which nobody was warned yet.
    new: BTreeSet<NodeName>,
}

impl Returns {
    pub(super) fn hear(&mut self, node: &NodeName, is_read: bool, now: Moment) {
        if is_read {
            self.unread.remove(node);
        } else {
            self.unread.entry(node.clone()).or_insert(now);
        }
    }

    pub(super) fn forget(&mut self, node: &NodeName) {
        self.unread.remove(node);
    }

    /// Warns of no altitude that is only not read yet.
    fn tell(&mut self, now: Moment, changed: bool) {
        let young = self.unread.iter().filter(|(_, since)| now.since(**since) < READ_WITHIN);
        let new: BTreeSet<NodeName> = young.map(|(node, _)| node.clone()).collect();
        if !changed && new == self.new {
            return;
        }
        let is_new = |node: &NodeName| new.contains(node);
        let cross = told(&self.cross, &self.told_cross, |node, other| {
            is_new(node) || is_new(other)
        });
        let through = told(&self.through, &self.told_through, |node, _| is_new(node));
        (self.told_cross, self.told_through, self.new) = (cross, through, new);
    }
}

/// Crossings that were `found`, less those in `doubt` of which people were not told `before`.
fn told(found: &Crossings, before: &Crossings, doubt: impl Fn(&NodeName, &NodeName) -> bool) -> Crossings {
    let mut told = found.clone();
    told.retain(|node, others| {
        let before = before.get(node);
        others.retain(|other| before.is_some_and(|before| before.contains(other)) || !doubt(node, other));
        !others.is_empty()
    });
    told
}

impl Site {
    pub(super) fn compare_returns(
        &mut self,
        goals: &BTreeMap<NodeName, Goal>,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) {
        // The airspace that it is to have, granted or not.
        let room = |node: &NodeName| self.rooms.get(node).filter(|room| room.is_sound()).map(around);
        let hold = |node: &NodeName, at: Local| Route::hold(at).with_room(room(node));
        let of = |(node, goal): (&NodeName, &Goal)| (!goal.lands).then(|| (node.clone(), hold(node, goal.at)));
        let holds: Vec<(NodeName, Route)> = goals.iter().filter_map(of).collect();
        let same = |(one, other): (&Way, &Way)| {
            let holds = near(one.1.end(), other.1.end()) && one.1.room() == other.1.room();
            one.0 == other.0 && holds && near(one.2, other.2) && one.3 == other.3
        };
        let home = |node: &NodeName| self.claims.return_from(node).unwrap_or(NOWHERE);
        let is_read = |node: &NodeName| self.claims.has_read_return(node);
        let way = |(node, hold): &(NodeName, Route)| (node.clone(), hold.clone(), home(node), is_read(node));
        let ways: Vec<Way> = holds.iter().map(way).collect();
        let moved = ways.len() != self.returns.ways.len() || !ways.iter().zip(&self.returns.ways).all(same);
        let mut plans = std::mem::take(&mut self.returns.plans);
        let changed = plans.update(&self.claims, &self.plan_ways(vehicles), near) || moved;
        if moved {
            self.returns.cross = shared_returns(&self.claims, &holds);
            self.returns.ways = ways;
        }
        if changed {
            self.returns.through = crossed_stations(&self.claims, &holds);
            for (node, other) in plans.crossed(&self.claims, &holds) {
                self.returns.through.entry(node).or_default().insert(other);
            }
        }
        self.returns.plans = plans;
        let ready = goals.iter().filter(|(_, goal)| goal.ready && !goal.lands);
        self.returns.ready = ready.map(|(node, _)| node.clone()).collect();
        self.returns.tell(now, changed);
    }

    /// Which vehicle that of `node` would meet if both returned home at once, with what to do; `None`: none.
    pub fn shared_return(&self, node: &NodeName) -> Option<String> {
        let others = self.returns.told_cross.get(node)?;
        let (first, more) = first_and_more(others)?;
        let are_read =
            self.claims.has_read_return(node) && others.iter().all(|other| self.claims.has_read_return(other));
        let (would, cross) = match are_read {
            true => ("would", "cross at one altitude"),
            false => ("may", "may cross, and not each return altitude is known"),
        };
        Some(format!(
            "{SHARED_RETURN} {would} bring it together with the vehicle of node {first}{more}: their ways home {cross}; give each \
             autopilot a return altitude of its own ({}), {:.0} m apart",
            all_names(Meaning::ReturnAltitude),
            self.claims.rules().pitch().vertical.0.ceil()
        ))
    }

    /// Through whose stations the vehicle of `node` would return by itself, with what to do; `None`: through none.
    pub fn crossed_station(&self, node: &NodeName) -> Option<String> {
        if let Some(above) = self.takeoffs.below.get(node) {
            return self.crosses(node, &BTreeSet::from([above.clone()]));
        }
        self.crosses(node, self.returns.told_through.get(node)?)
    }

    fn crosses(&self, node: &NodeName, others: &BTreeSet<NodeName>) -> Option<String> {
        let (first, more) = first_and_more(others)?;
        let (whose, makes_way, none) = if self.returns.plans.has(first) {
            ("the way of the plan", "stops", "nobody flies")
        } else if self.rooms.contains_key(first) {
            (
                "the volume around the station",
                "is moved out of the way",
                "no station lies",
            )
        } else {
            ("the station", "is moved out of the way", "no station lies")
        };
        let (leads, unless) = match self.claims.has_read_return(node) {
            true => {
                let altitude = self.claims.return_from(node)?.up - self.claims.home(node)?.up;
                (format!(" at {altitude:.0} m above home leads"), "")
            }
            false => (
                ", at an altitude that is not known, may lead".to_owned(),
                "; its altitude is read where RTL_ALT_TYPE and RTL_CLIMB_MIN are 0",
            ),
        };
        Some(format!(
            "{CROSSED_STATION}{leads} through {whose} of the vehicle of node {first}{more}, which {makes_way} when it begins; give its autopilot \
             a return altitude at which {none} ({}){unless}",
            all_names(Meaning::ReturnAltitude)
        ))
    }

    /// Before "return" in a sentence.
    fn would(&self, node: &NodeName) -> &'static str {
        match self.claims.has_read_return(node) {
            true => "would",
            false => "may, at an altitude that is not known,",
        }
    }

    /// Keeps vehicles whose preflight refuses on the ground while their autopilots would return through another's station, or the autopilot
    /// of another on its way to a station through theirs. A vehicle that is not ready to take off goes nowhere, and blocks nobody.
    pub(super) fn keep_from_crossed_returns(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let goes = |node: &NodeName| self.goes(node, goals);
        let kept: Vec<(NodeName, String)> = goals
            .iter()
            .filter(|(node, goal)| !goal.lands && self.is_down(node))
            .filter_map(|(node, _)| Some((node.clone(), self.refuses(node, &goes)?)))
            .collect();
        for (node, why) in kept {
            goals.remove(&node);
            self.waiting.insert(node, why);
        }
    }

    /// The same for a vehicle with a plan, in a clause; `None`: it may take off.
    pub(super) fn refused_plan(&self, node: &NodeName) -> Option<String> {
        let goes = |other: &NodeName| self.flies_plan(other) || self.returns.ready.contains(other);
        self.refuses(node, &goes)
    }

    /// Why the preflight of a vehicle on the ground refuses, if it does: for its return through the station of one that `goes` there, or the
    /// other way round.
    fn refuses(&self, node: &NodeName, goes: &dyn Fn(&NodeName) -> bool) -> Option<String> {
        if !self.strict.contains(node) {
            return None;
        }
        let crosses = || {
            let through = self.returns.through.get(node)?;
            self.crosses(node, &through.iter().filter(|other| goes(other)).cloned().collect())
        };
        let comes_through = || {
            let mut ways = self.returns.through.iter();
            let is_kept = |other: &NodeName| self.strict.contains(other) && !self.flies_plan(other);
            let stays = |other: &NodeName| is_kept(other) || !goes(other);
            let (other, _) = ways.find(|(other, stations)| stations.contains(node) && !stays(other))?;
            let would = self.would(other);
            let whose = match self.returns.plans.has(node) {
                true => "the way of its plan",
                false => "its station",
            };
            Some(format!(
                "the autopilot of the vehicle of node {other} {would} return through {whose}"
            ))
        };
        let why = crosses().or_else(comes_through)?;
        Some(format!("stays on the ground (preflight: Refuse): {why}"))
    }

    fn is_down(&self, node: &NodeName) -> bool {
        self.claims.place(node).is_some_and(|(_, on_ground)| on_ground)
    }

    /// Whether a vehicle is in the air, or was granted its plan.
    fn flies_plan(&self, node: &NodeName) -> bool {
        self.owns_plan(node) || !self.is_down(node)
    }

    fn goes(&self, node: &NodeName, goals: &BTreeMap<NodeName, Goal>) -> bool {
        self.flies_plan(node) || goals.get(node).is_some_and(|goal| goal.ready)
    }

    /// A vehicle that flies its plan, and whose autopilot would climb through `hold` of that of `node` to return from the way of that plan.
    pub(super) fn plan_below(&self, node: &NodeName, hold: &Route) -> Option<NodeName> {
        let below = self.returns.plans.climb_through(hold, self.claims.rules());
        below.into_iter().find(|other| other != node && self.flies_plan(other))
    }

    /// Least distance over ground of two places for takeoff and landing, meters.
    fn pads_apart(&self) -> f64 {
        self.claims.rules().pads_apart()
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
            // The way of a plan ends on the ground.
            let is_on_plan = self.returns.plans.has(node) && self.claims.under_way(node);
            let hold = self.hold_in_air(node).filter(|_| !is_on_plan);
            let hold = hold.or_else(|| self.granted_hold(node).map(Route::hold));
            taken.extend(hold.map(|hold| (node.clone(), hold)));
        }
        let mut kept = Vec::new();
        for (node, goal) in goals.iter().filter(|(_, goal)| !goal.lands) {
            let near = |at: Local| at.over_ground(goal.at) <= WANDERS.0 && (at.up - goal.at.up).abs() <= WANDERS.1;
            if self.hold_in_air(node).is_some_and(|hold| near(hold.end())) {
                continue;
            }
            let own = Route::hold(goal.at);
            if let Some(other) = self.plan_below(node, &own) {
                kept.push((node.clone(), self.lies_above("the way of the plan", &other)));
                continue;
            }
            let other = taken
                .iter()
                .find(|(other, hold)| other != node && self.returns_through((node, &own), (other, hold)));
            match other {
                Some((other, hold)) => {
                    let lies = match hold.end().up > goal.at.up {
                        true => self.lies_below(node, other),
                        false => self.lies_above("the place", other),
                    };
                    kept.push((node.clone(), lies));
                }
                None if self.goes(node, goals) => taken.push((node.clone(), own)),
                None => {}
            }
        }
        for (node, lies) in kept {
            self.waiting
                .insert(node.clone(), format!("has no route: its station {lies}"));
            goals.remove(&node);
        }
    }

    /// After the words for the lower place, which is that of `node`.
    pub(super) fn lies_below(&self, node: &NodeName, other: &NodeName) -> String {
        let would = self.would(node);
        format!(
            "lies below the place of the vehicle of node {other}, and its own autopilot {would} return through both; {}",
            what_to_do()
        )
    }

    fn lies_above(&self, what: &str, other: &NodeName) -> String {
        let would = self.would(other);
        format!(
            "lies above {what} of the vehicle of node {other}, and the other's autopilot {would} return through both; {}",
            what_to_do()
        )
    }
}

fn what_to_do() -> String {
    format!(
        "move the station, or lower the return altitude of that autopilot ({})",
        all_names(Meaning::ReturnAltitude)
    )
}

/// Whether one place is the other, within what homes wander.
fn near(a: Local, b: Local) -> bool {
    a.over_ground(b) <= WANDERS.0 && (a.up - b.up).abs() <= WANDERS.1
}

/// Over ground, of squares of this side.
#[allow(clippy::cast_possible_truncation, reason = "a site reaches 20 km")]
fn square(place: Local, side: f64) -> [i64; 2] {
    [place.east, place.north].map(|meters| (meters / side).floor() as i64)
}
