//! Which vehicle moves next: from the places of vehicles and their goals, the routes to grant now.
//!
//! Owns: [`plan`], the [`Layers`] in which vehicles cross, and the order in which routes are tried. Must not: grant a route itself
//! ([`may_fly`] does), remember anything, or decide on goals. It is called again and again: each call begins from the claims as they are.
//!
//! A route climbs or sinks over the vehicle's own place to a free layer, crosses there, and climbs or sinks to the goal. It is granted as a
//! whole or not at all, so a moving vehicle waits for no other. None goes to hold over or under a vehicle that still waits to leave. All
//! arrive if places are the [`Rules::pitch`](crate::airspace::Rules::pitch) or more from each other over ground, goals are too, and no
//! vehicle that stays is in the way:
//!
//! 1. All moving vehicles arrive. Consider the moment when none moves: all layers are empty, except for vehicles in the refuge.
//! 2. If none waits in the column of a vehicle's goal, the lowest layer is a way to it: none holds over its place or its goal below the
//!    refuge. It moves, and need never move again.
//! 3. Otherwise a waiting vehicle is in the column of each goal, so some wait in a circle. One of these climbs to the refuge, the highest
//!    layer, over its own place: as places are apart, so are these. Each does so once at most.
//!
//! So n vehicles need at most 2n routes. Where a vehicle is on the ground, or is to land, below one at its goal, that one makes room in the
//! refuge until the other has left or landed: none stays up there, or down here, for good. Where places are not apart, as in a stack, ways
//! around are tried as well, and nothing is promised: each waiting vehicle names those for which it waits. A vehicle to which another has
//! come too near, as by a person's hand, first leaves upright, to a layer where it is clear.

mod circle;
mod lower;
mod ways;

use crate::airspace::{Allows, Claims, NotFit, Owner, Route, Rules};
use crate::safety::{LegPermit, NoLeg, may_fly};
use model::geo::Local;
use model::ids::NodeName;
use model::time::Moment;
use model::units::AltitudeAmsl;
use rstar::RTree;
use rstar::primitives::GeomWithData;
use std::collections::{BTreeMap, BTreeSet};

/// Places nearer than this are one, meters.
const SAME: f64 = 0.1;

/// Sums of altitudes on the Earth are exact within this, meters.
const ROUNDED: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// On the ground, where it lands.
    pub at: Local,
    pub lands: bool,
    /// Whether others leave their goals for its takeoff: it would arm at once.
    pub ready: bool,
}

impl Goal {
    /// A vehicle that has landed is at a landing goal, wherever that was.
    fn is_at(&self, place: Local, on_ground: bool) -> bool {
        let there = place.over_ground(self.at) < SAME && (place.up - self.at.up).abs() < SAME;
        if self.lands { on_ground } else { there && !on_ground }
    }
}

/// Altitudes at which vehicles cross over ground, above all places.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers {
    floor: f64,
    transit: Vec<f64>,
    refuge: f64,
    /// For when others stay in all of these, or none of them is allowed. The highest first.
    lower: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "between {floor} m and {ceiling} m above mean sea level there is room for fewer than two layers of {pitch:.1} m; raise the ceiling, or lower the stations"
)]
pub struct NoRoom {
    /// The highest station, meters above mean sea level.
    pub floor: f64,
    pub ceiling: f64,
    pub pitch: f64,
}

impl Layers {
    /// Layers above `floor`, the highest place where any vehicle is to hold, up to `ceiling`. The operator is responsible that they are
    /// clear of terrain and obstacles: Skein does not know these.
    ///
    /// # Errors
    /// [`NoRoom`], for fewer than two: one to cross in, and the refuge.
    pub fn between(floor: AltitudeAmsl, ceiling: AltitudeAmsl, rules: &Rules) -> Result<Self, NoRoom> {
        let first = floor.0 + rules.pitch().vertical.0;
        Self::from(first, floor, ceiling, MOST_LAYERS, rules)
    }

    /// The same, `count` at most, each a multiple of the pitch above `datum`: vehicles with other floors cross in the same layers. Where these
    /// leave no room for two, those just above `floor`.
    ///
    /// # Errors
    /// [`NoRoom`], as for [`Layers::between`].
    pub fn on_lattice(
        datum: f64,
        (floor, ceiling): (AltitudeAmsl, AltitudeAmsl),
        count: usize,
        rules: &Rules,
    ) -> Result<Self, NoRoom> {
        let pitch = rules.pitch().vertical.0;
        let below = ((floor.0 - datum) / pitch).ceil();
        let first = datum + (below + 1.0) * pitch;
        // No altitude is left in the digits of a sum with a datum that is far off the Earth, as one agent may report its home.
        let lowest = floor.0 + pitch;
        if !(lowest - ROUNDED..=lowest + pitch + ROUNDED).contains(&first) {
            return Self::between(floor, ceiling, rules);
        }
        let found = Self::from(first, floor, ceiling, count, rules);
        let mut layers = found.or_else(|_| Self::between(floor, ceiling, rules))?;
        // A Geofence may end below the first of the lattice, which depends on the floors of others.
        let is_higher = layers.transit.first().is_some_and(|first| *first > lowest + SAME);
        layers.lower.extend(is_higher.then_some(lowest));
        Ok(layers)
    }

    fn from(
        first: f64,
        floor: AltitudeAmsl,
        ceiling: AltitudeAmsl,
        count: usize,
        rules: &Rules,
    ) -> Result<Self, NoRoom> {
        let pitch = rules.pitch().vertical.0;
        let none = NoRoom {
            floor: floor.0,
            ceiling: ceiling.0,
            pitch,
        };
        let all = std::iter::successors(Some(first), |height| Some(height + pitch));
        let all = all.take(count.min(MOST_LAYERS));
        let highest = ceiling.0 + ROUNDED;
        let mut transit: Vec<f64> = all.take_while(|height| *height <= highest).collect();
        let refuge = transit.pop().ok_or(none)?;
        if transit.is_empty() {
            return Err(none);
        }
        Ok(Self {
            floor: floor.0,
            transit,
            refuge,
            lower: Vec::new(),
        })
    }

    /// These, and where others stay in all of them those of `other` that are lower: a vehicle that somebody holds above comes home all the
    /// same.
    pub fn or_lower(mut self, other: &Self) -> Self {
        let first = self.transit.first().copied().unwrap_or(self.refuge);
        let lower = other.heights().chain(other.lower.iter().copied());
        self.lower.extend(lower.filter(|height| *height < first - SAME));
        self.lower.sort_by(|one, next| next.total_cmp(one));
        self
    }

    /// The lowest first; the last is the refuge.
    pub fn heights(&self) -> impl Iterator<Item = f64> {
        self.transit.iter().copied().chain([self.refuge])
    }
}

/// More layers than this are of no use: each is tried for each vehicle.
const MOST_LAYERS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    NotFit(NotFit),
    For(BTreeSet<Owner>),
    /// Above the floor of the layers.
    GoalTooHigh,
    NoGoal,
    BadRules,
    /// Each way leads where the vehicle may not be, as text.
    NotAllowed(String),
}

#[derive(Debug, Default)]
pub struct Plan {
    pub permits: Vec<LegPermit>,
    pub waiting: BTreeMap<NodeName, Waiting>,
}

struct Idle<'a> {
    vehicle: &'a NodeName,
    layers: &'a Layers,
    from: Local,
    on_ground: bool,
    goal: Goal,
}

/// Grants the next routes, of those that are `allowed`. Vehicles go by their ids; a vehicle that has no goal stays where it is. One that is
/// to land and has no allowed way goes any way: it is not kept in the air for a Geofence that came after it. One without `layers` stays, too.
pub fn plan(
    claims: &mut Claims,
    goals: &BTreeMap<NodeName, Goal>,
    layers: &BTreeMap<NodeName, Layers>,
    allowed: Allows<'_>,
    now: Moment,
) -> Plan {
    let mut plan = Plan::default();
    let (mut idle, mut leaving, mut settled) = (Vec::new(), Vec::new(), Vec::new());
    for (vehicle, goal) in goals {
        let Some(layers) = layers.get(vehicle) else { continue };
        let below = |(_, from): &(&NodeName, Local)| from.up < layers.refuge - SAME;
        match check(claims, vehicle, *goal, layers, now) {
            Ok(Some(found)) => {
                leaving.extend(Some((vehicle, found.from)).filter(below));
                idle.push(found);
            }
            Ok(None) => {
                leaving.extend(elsewhere(claims, vehicle, *goal).filter(below));
                settled.extend(claims.place(vehicle).map(|(from, on_ground)| Idle {
                    vehicle,
                    layers,
                    from,
                    on_ground,
                    goal: *goal,
                }));
            }
            Err(waiting) => {
                leaving.extend(elsewhere(claims, vehicle, *goal).filter(below));
                plan.waiting.insert(vehicle.clone(), waiting);
            }
        }
    }
    let waiting: BTreeSet<&NodeName> = idle.iter().map(|idle| idle.vehicle).collect();
    let pads = idle.iter().filter(|one| one.goal.lands);
    let pads = pads.map(|one| (one.vehicle, one.goal.at)).collect();
    let columns = Columns::of(leaving, pads, claims.rules());
    let mut tried = Vec::new();
    for one in &idle {
        let in_column = columns.at_goal_of(one, claims);
        if !in_column.is_empty() {
            plan.waiting.insert(one.vehicle.clone(), Waiting::For(in_column));
            continue;
        }
        tried.push(one);
        let mut outcome = try_ways(claims, one, ways::plain(one), allowed, now);
        if matches!(outcome, Err(Waiting::NotAllowed(_))) && !one.layers.lower.is_empty() {
            outcome = try_ways(claims, one, ways::lower(one, claims.rules()), allowed, now);
        }
        let stays = match &outcome {
            Err(Waiting::For(owners)) => owners.iter().any(|owner| !clears(claims, &waiting, owner)),
            Err(Waiting::NotAllowed(_)) => true,
            Ok(_) | Err(_) => false,
        };
        if stays {
            let ways = ways::around(one, claims.rules());
            outcome = try_ways(claims, one, ways, allowed, now).or(outcome);
        }
        if comes_any_way(one, &outcome) {
            outcome = try_ways(claims, one, ways::plain(one), &|_, _| Ok(()), now);
        }
        // Another has come too near: upright away is better than to stay.
        let beset = |claims: &Claims| claims.is_beset(one.vehicle);
        if matches!(outcome, Err(Waiting::For(_))) && !one.on_ground && beset(claims) {
            outcome = try_ways(claims, one, ways::aside(one), allowed, now).or(outcome);
        }
        match outcome {
            Ok(permit) => plan.permits.push(permit),
            Err(waiting) => {
                plan.waiting.insert(one.vehicle.clone(), waiting);
            }
        }
    }
    let stuck = break_circles(claims, &idle, (allowed, now), &mut plan);
    make_room(claims, (&idle, &settled), &stuck, (allowed, now), &mut plan);
    lower::cross(claims, (goals, &tried), (allowed, now), &mut plan);
    plan
}

/// Where a vehicle holds, or will at the end of its route, if that is not its goal: it will have to leave from there.
fn elsewhere<'a>(claims: &Claims, vehicle: &'a NodeName, goal: Goal) -> Option<(&'a NodeName, Local)> {
    let end = claims.end(vehicle)?;
    let there = match claims.place(vehicle) {
        Some((at, on_ground)) => goal.is_at(at, on_ground),
        None => end.over_ground(goal.at) < SAME && (end.up - goal.at.up).abs() < SAME,
    };
    (!there).then_some((vehicle, end))
}

/// Columns from which vehicles without a route to their goals have to leave, and in which waiting ones land. None comes to hold over or
/// under them: they could not leave or land.
struct Columns<'a> {
    tree: RTree<Column<'a>>,
    pads: RTree<Column<'a>>,
    reach: f64,
}

type Column<'a> = GeomWithData<[f64; 2], (&'a NodeName, f64)>;

impl<'a> Columns<'a> {
    fn of(leaving: Vec<(&'a NodeName, Local)>, pads: Vec<(&'a NodeName, Local)>, rules: &Rules) -> Self {
        let point = |(vehicle, at): (&'a NodeName, Local)| GeomWithData::new([at.east, at.north], (vehicle, at.up));
        Self {
            tree: RTree::bulk_load(leaving.into_iter().map(point).collect()),
            pads: RTree::bulk_load(pads.into_iter().map(point).collect()),
            reach: rules.pitch().horizontal.0,
        }
    }

    /// Vehicles without a new route that will have to leave from the column of its goal, or land in it.
    fn at_goal_of(&self, one: &Idle<'_>, claims: &Claims) -> BTreeSet<Owner> {
        let goal = [one.goal.at.east, one.goal.at.north];
        let stays = |at: [f64; 2], up: f64, vehicle: &NodeName| {
            let (east, north) = (at[0], at[1]);
            let from = Local { east, north, up };
            let same = |end: Local| end.over_ground(from) < SAME && (end.up - up).abs() < SAME;
            claims.end(vehicle).is_some_and(same)
        };
        let near = |tree: &RTree<Column<'a>>| {
            tree.locate_within_distance(goal, self.reach * self.reach)
                .copied()
                .collect::<Vec<_>>()
        };
        let leave = near(&self.tree).into_iter();
        let leave = leave.filter(|near| stays(*near.geom(), near.data.1, near.data.0));
        // A landing beside a vehicle on the ground does not hinder that one.
        let on_ground = |vehicle: &NodeName| claims.place(vehicle).is_some_and(|(_, on_ground)| on_ground);
        let leave = leave.filter(|near| !(one.goal.lands && on_ground(near.data.0)));
        let pads = if one.goal.lands { Vec::new() } else { near(&self.pads) };
        let land = pads.into_iter().filter(|near| !claims.under_way(near.data.0));
        leave
            .chain(land)
            .filter(|near| near.data.0 != one.vehicle)
            .map(|near| Owner::Vehicle(near.data.0.clone()))
            .collect()
    }
}

fn check<'a>(
    claims: &Claims,
    vehicle: &'a NodeName,
    goal: Goal,
    layers: &'a Layers,
    now: Moment,
) -> Result<Option<Idle<'a>>, Waiting> {
    let (from, on_ground) = match claims.fit(vehicle, now) {
        Ok(found) => found,
        Err(NotFit::UnderWay) => return Ok(None),
        Err(why) => return Err(Waiting::NotFit(why)),
    };
    if !goal.at.is_finite() {
        return Err(Waiting::NoGoal);
    }
    if goal.at.up > layers.floor && !goal.lands {
        return Err(Waiting::GoalTooHigh);
    }
    Ok((!goal.is_at(from, on_ground)).then_some(Idle {
        vehicle,
        layers,
        from,
        on_ground,
        goal,
    }))
}

/// Whether the airspace of `owner` will be free by itself: it moves, or waits to move.
fn clears(claims: &Claims, waiting: &BTreeSet<&NodeName>, owner: &Owner) -> bool {
    match owner {
        Owner::Vehicle(vehicle) => waiting.contains(vehicle) || claims.passes_by(vehicle),
        Owner::Traffic(_) => true,
    }
}

/// Takes the first way that is allowed and free; otherwise returns the fewest in the way of one.
fn try_ways(
    claims: &mut Claims,
    idle: &Idle<'_>,
    ways: impl Iterator<Item = Route>,
    allowed: Allows<'_>,
    now: Moment,
) -> Result<LegPermit, Waiting> {
    let mut least: Option<BTreeSet<Owner>> = None;
    let mut not_allowed = None;
    for way in ways {
        if let Err(why) = allowed(idle.vehicle, &way) {
            not_allowed.get_or_insert(why);
            continue;
        }
        match may_fly(claims, idle.vehicle, way, now) {
            Ok(permit) => return Ok(permit),
            Err(NoLeg::InTheWay(owners)) => {
                // Moving vehicles are soon gone.
                let rank = |owners: &BTreeSet<Owner>| {
                    let stays = |owner: &&Owner| !matches!(owner, Owner::Vehicle(v) if claims.passes_by(v));
                    (owners.iter().filter(stays).count(), owners.len())
                };
                if least.as_ref().is_none_or(|least| rank(&owners) < rank(least)) {
                    least = Some(owners);
                }
            }
            Err(NoLeg::NotFit(why)) => return Err(Waiting::NotFit(why)),
            Err(NoLeg::BadRules) => return Err(Waiting::BadRules),
        }
    }
    Err(match (least, not_allowed) {
        (None, Some(why)) => Waiting::NotAllowed(why),
        (least, _) => Waiting::For(least.unwrap_or_default()),
    })
}

/// One vehicle of each circle climbs out of it. Returns those that cannot, and what is in their way.
fn break_circles<'a>(
    claims: &mut Claims,
    idle: &[Idle<'a>],
    (allowed, now): (Allows<'_>, Moment),
    plan: &mut Plan,
) -> BTreeMap<&'a NodeName, BTreeSet<Owner>> {
    let mut stuck = BTreeMap::new();
    let waits = idle.iter().filter_map(|one| match plan.waiting.get(one.vehicle) {
        Some(Waiting::For(owners)) => Some((one.vehicle, owners)),
        _ => None,
    });
    let mut circles = circle::Circles::among(waits);
    // Flying ones first: none takes off just to make room if another can.
    let (grounded, flying): (Vec<&Idle<'_>>, Vec<&Idle<'_>>) = idle.iter().partition(|one| one.on_ground);
    for one in flying.into_iter().chain(grounded) {
        if !circles.has(one.vehicle) || one.from.up > one.layers.refuge - SAME {
            continue;
        }
        match try_ways(claims, one, ways::refuges(one, claims.rules()), allowed, now) {
            Ok(permit) => {
                plan.permits.push(permit);
                plan.waiting.remove(one.vehicle);
                circles.remove(one.vehicle);
            }
            Err(Waiting::For(owners)) => {
                stuck.insert(one.vehicle, owners);
            }
            Err(_) => {}
        }
    }
    stuck.retain(|vehicle, _| circles.has(vehicle));
    stuck
}

/// Vehicles at their goals climb away from over pads that others wait to leave or to land on, where nothing else is in the way.
fn make_room(
    claims: &mut Claims,
    (idle, settled): (&[Idle<'_>], &[Idle<'_>]),
    stuck: &BTreeMap<&NodeName, BTreeSet<Owner>>,
    (allowed, now): (Allows<'_>, Moment),
    plan: &mut Plan,
) {
    let reach = claims.rules().pitch().horizontal.0;
    let waiting: BTreeSet<&NodeName> = idle.iter().map(|idle| idle.vehicle).collect();
    let settled_of = |vehicle: &NodeName| {
        let found = settled.binary_search_by_key(&vehicle, |one| one.vehicle);
        found.ok().and_then(|found| settled.get(found))
    };
    for one in idle {
        let owners = match (stuck.get(one.vehicle), plan.waiting.get(one.vehicle)) {
            (Some(owners), _) | (None, Some(Waiting::For(owners))) => owners,
            (None, _) => continue,
        };
        let pad = match (one.goal.lands, one.on_ground && one.goal.ready) {
            (true, _) => one.goal.at,
            (false, true) => one.from,
            (false, false) => continue,
        };
        let over_pad = |other: &Idle<'_>| {
            let apart = one.goal.lands || other.goal.at.over_ground(one.goal.at) >= reach;
            !other.on_ground && !other.goal.lands && other.from.over_ground(pad) < reach && apart
        };
        let mut over = Vec::new();
        let only_these = owners.iter().all(|owner| {
            let holds = match owner {
                Owner::Vehicle(vehicle) => settled_of(vehicle).filter(|other| over_pad(other)),
                Owner::Traffic(_) => None,
            };
            over.extend(holds);
            holds.is_some() || clears(claims, &waiting, owner)
        });
        for other in over.into_iter().filter(|_| only_these) {
            let ways = ways::refuges(other, claims.rules());
            plan.permits.extend(try_ways(claims, other, ways, allowed, now));
        }
    }
}

/// Whether it is not kept in the air for a Geofence.
fn comes_any_way(one: &Idle<'_>, outcome: &Result<LegPermit, Waiting>) -> bool {
    one.goal.lands && !one.on_ground && matches!(outcome, Err(Waiting::NotAllowed(_)))
}

#[cfg(test)]
mod tests;
