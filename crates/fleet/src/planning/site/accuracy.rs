//! The position errors of vehicles, as their claims count them.
//!
//! Owns: [`Accuracies`]: the margin of each vehicle, from its reports and from the homes around its own, and how far it turns before the
//! places of its plan; who is granted nothing new, and why. Must not: shrink a margin below that of the operator's rules, or keep a vehicle
//! from landing.
//!
//! Over ground the margin is the reported standard deviation. In altitude an autopilot holds its barometer's value from a zero that its
//! receiver gave, so the margin has two parts: the reported deviation beyond [`GOOD_VERTICAL_M`], and the difference of its home to those
//! around it on the same ground: two receivers on one field differ by meters.
//!
//! Readings are rounded up, and the worst of the last seconds counts, so that claims do not change all the time. An accuracy that is not
//! reported any more stays.

use super::plan_way::names_one;
use super::{Desire, Expected, Site};
use crate::airspace::{Margin, Owner, Rules};
use crate::planning::movement::Waiting;
use model::accuracy::Accuracy;
use model::geo::Local;
use model::ids::NodeName;
use model::plan::ACCEPTANCE_RADIUS;
use model::report::Report;
use model::time::Moment;
use model::units::Meters;
use model::vehicle::{Autopilot, FlightTruth};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Standard deviation of altitude that the rules assume, meters: PX4's simulator reports 1.8.
const GOOD_VERTICAL_M: f64 = 2.0;

/// Assumed standard deviation of an unreported altitude, meters, without another home to compare. With one, the rules count.
const NOT_KNOWN_VERTICAL_M: f64 = 3.0;

/// Standard deviation beyond which nothing new is granted, meters: beyond it ArduPilot ignores its receiver by default (`EK3_GPS_CHECK`).
const MOST_GRANTED: Margin = Margin {
    horizontal: Meters(5.0),
    vertical: Meters(7.5),
};

/// Widest margin, meters: beyond it an autopilot acts by its own failsafes.
const WIDEST: Margin = Margin {
    horizontal: Meters(10.0),
    vertical: Meters(15.0),
};

/// Margins are rounded up to this, meters.
const STEP_M: f64 = 0.5;

/// A margin shrinks a step only if this much more would still fit, meters.
const SLACK_M: f64 = 0.2;

/// The worst of the last one to two of these counts.
const WINDOW_IN_AIR: Duration = Duration::from_secs(15);

/// On the ground receivers find their satellites.
const WINDOW_ON_GROUND: Duration = Duration::from_secs(3);

/// Homes in touching squares of this side are on one field, meters.
const FIELD_M: f64 = 50.0;

/// Difference in altitude of homes on one field, meters, besides the slope.
const SAME_ALTITUDE_M: f64 = 1.0;

/// The slope of a field, meters for each meter.
const SLOPE: f64 = 0.03;

/// Standard deviations by which a receiver may have been off when it set home. A larger difference of homes is the ground.
const DEVIATIONS: f64 = 3.0;

/// The same for a receiver that does not report its accuracy, meters.
const MOST_OFF_NOT_KNOWN_M: f64 = 6.0;

/// More than a site needs to be full, meters.
const WIDEST_CORNERS_M: f64 = 1000.0;

/// Largest radius of ArduCopter by its documentation (`WP_RADIUS_M` 0.05 to 10 m, `WPNAV_RADIUS` 5 to 1000 cm), which counts until it was
/// read. ArduCopter takes larger ones, too.
const RADIUS_NOT_KNOWN: Meters = Meters(10.0);

/// End of a sentence.
const RADIUS_UNKNOWN: &str = "how far its autopilot turns before the places of its plan is not known (WP_RADIUS_M, or WPNAV_RADIUS until \
                              ArduCopter 4.6); its agent reads that within seconds; if it does not, update the agent, or check the link to \
                              the autopilot";

/// A float32 of 2 m may be reported a little above.
const RADIUS_ROUNDS_BY_M: f64 = 0.01;

/// One part of an accuracy, over the last seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    since: Moment,
    worst: f64,
    before: f64,
    /// The value that counts, meters; `None` until it was reported.
    held: Option<f64>,
}

impl Part {
    fn take(&mut self, reading: f64, window: Duration, now: Moment) {
        let open = now.since(self.since);
        if self.held.is_none() || open >= window {
            self.before = if open >= window * 2 { 0.0 } else { self.worst };
            (self.since, self.worst) = (now, reading);
        }
        self.worst = self.worst.max(reading);
        self.held = Some(stepped(self.held, self.worst.max(self.before)));
    }
}

/// In steps, after `held`.
fn stepped(held: Option<f64>, meters: f64) -> f64 {
    let up = |meters: f64| ((meters - 1e-6) / STEP_M).ceil().max(0.0) * STEP_M;
    match held {
        Some(_) if meters <= 0.0 => 0.0,
        Some(held) if up(meters) <= held => held.min(up(meters + SLACK_M)),
        Some(_) | None => up(meters),
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    taken: Option<Moment>,
    horizontal: Part,
    vertical: Part,
    /// Difference of its home to those around it beyond a field's, meters; `None` where there is no other.
    home_off: Option<f64>,
    /// As reported last; `None` until then.
    autopilot: Option<Autopilot>,
    /// How far before a place of a plan it turns, as reported last; `None` until then, and of PX4, which each place tells.
    turns_within: Option<Meters>,
    /// Whether its failsafes or its return may lead elsewhere than straight home, as reported last; `None` until then.
    detours: Option<bool>,
}

impl Known {
    fn margin(&self, rules: &Rules) -> Margin {
        let least = rules.accuracy;
        let reported = self.vertical.held;
        let alone = self.home_off.is_none();
        let deviation = reported.unwrap_or(if alone { NOT_KNOWN_VERTICAL_M } else { GOOD_VERTICAL_M });
        let most_off = reported.map_or(MOST_OFF_NOT_KNOWN_M, |deviation| DEVIATIONS * deviation);
        let off = self.home_off.unwrap_or_default().min(most_off);
        let vertical = least.vertical.0 + (deviation - GOOD_VERTICAL_M).max(0.0) + off;
        let within = |least: Meters, got: f64, widest: Meters| Meters(got.min(widest.0).max(least.0));
        Margin {
            horizontal: within(
                least.horizontal,
                self.horizontal.held.unwrap_or(least.horizontal.0),
                WIDEST.horizontal,
            ),
            vertical: within(least.vertical, vertical, WIDEST.vertical),
        }
    }

    fn held(&self) -> Accuracy {
        Accuracy {
            horizontal: self.horizontal.held.map(Meters),
            vertical: self.vertical.held.map(Meters),
        }
    }
}

/// Why nothing new is granted, as a clause; `None`: known well enough.
pub fn badly_known(accuracy: Accuracy) -> Option<String> {
    let beyond = |part: Option<Meters>, most: Meters| part.is_some_and(|part| part > most);
    let is_bad =
        beyond(accuracy.horizontal, MOST_GRANTED.horizontal) || beyond(accuracy.vertical, MOST_GRANTED.vertical);
    let part =
        |part: Option<Meters>| part.map_or_else(|| "an unknown distance".to_owned(), |part| format!("{:.1} m", part.0));
    is_bad.then(|| {
        format!(
            "its autopilot knows its place to {} over ground and {} in altitude (one standard deviation: GPS_RAW_INT, ESTIMATOR_STATUS), and \
             beside other vehicles {:.1} m and {:.1} m are the most; give its receiver a clear view of the sky, or time",
            part(accuracy.horizontal),
            part(accuracy.vertical),
            MOST_GRANTED.horizontal.0,
            MOST_GRANTED.vertical.0
        )
    })
}

#[derive(Clone, Debug, Default)]
pub(super) struct Accuracies {
    known: BTreeMap<NodeName, Known>,
    /// As compared last.
    homes: BTreeMap<NodeName, Local>,
}

impl Accuracies {
    /// A report that is not newer changes nothing.
    fn take(&mut self, node: &NodeName, report: &Report, received: Moment) {
        let known = self.known.entry(node.clone()).or_default();
        if known.taken.is_some_and(|last| received <= last) {
            return;
        }
        known.taken = Some(received);
        known.detours = report.detours.or(known.detours);
        let autopilot = report.identity.as_ref().map(|identity| identity.autopilot);
        known.autopilot = autopilot.or(known.autopilot);
        let turns_within = report.waypoint_radius.or(known.turns_within);
        known.turns_within = turns_within.filter(|_| known.autopilot != Some(Autopilot::Px4));
        let window = match report.truth {
            FlightTruth::Disarmed => WINDOW_ON_GROUND,
            FlightTruth::ArmedOnGround | FlightTruth::Airborne(_) | FlightTruth::Unknown(_) => WINDOW_IN_AIR,
        };
        let Accuracy { horizontal, vertical } = report.accuracy;
        for (part, reading) in [(&mut known.horizontal, horizontal), (&mut known.vertical, vertical)] {
            if let Some(Meters(meters)) = reading {
                part.take(meters, window, received);
            }
        }
    }

    fn compare(&mut self, homes: BTreeMap<NodeName, Local>) {
        if homes == self.homes {
            return;
        }
        let fields = Fields::of(homes.values());
        for (node, home) in &homes {
            let known = self.known.entry(node.clone()).or_default();
            let off = fields.off(*home);
            known.home_off = off.map(|off| stepped(known.home_off, off));
        }
        self.homes = homes;
    }

    pub(super) fn margin(&self, node: &NodeName, rules: &Rules) -> Margin {
        let known = self.known.get(node).copied().unwrap_or_default();
        known.margin(rules)
    }

    /// How far before the places of a plan it turns; `None`: not known.
    fn turns_within(&self, node: &NodeName) -> Option<Meters> {
        let known = self.known.get(node)?;
        match known.autopilot {
            Some(Autopilot::Px4) => Some(ACCEPTANCE_RADIUS),
            Some(Autopilot::ArduPilot) | None => known.turns_within,
        }
    }

    /// How much farther than [`ACCEPTANCE_RADIUS`] before the places of a plan it turns, or could.
    fn corners(&self, node: &NodeName) -> Meters {
        let by = self.turns_within(node).unwrap_or(RADIUS_NOT_KNOWN).0 - ACCEPTANCE_RADIUS.0;
        Meters(if by > RADIUS_ROUNDS_BY_M {
            by.min(WIDEST_CORNERS_M)
        } else {
            0.0
        })
    }

    /// Whether its failsafes or its return may lead elsewhere than straight home, as they may until its agent has read them.
    fn may_detour(&self, node: &NodeName) -> bool {
        self.known.get(node).and_then(|known| known.detours).unwrap_or(true)
    }

    /// Why nothing new is granted, as a clause; `None`: known well enough.
    fn too_bad(&self, node: &NodeName) -> Option<String> {
        badly_known(self.known.get(node)?.held())
    }

    fn wide<'a>(&self, nodes: impl Iterator<Item = &'a NodeName>, rules: &Rules) -> usize {
        nodes.filter(|node| self.is_wide(node, rules)).count()
    }

    fn is_wide(&self, node: &NodeName, rules: &Rules) -> bool {
        let margin = self.margin(node, rules);
        margin.horizontal > rules.accuracy.horizontal || margin.vertical > rules.accuracy.vertical
    }
}

/// By squares of [`FIELD_M`].
struct Fields(BTreeMap<[i64; 2], Square>);

struct Square {
    count: usize,
    up: f64,
    /// Sum of their places, meters east and north.
    sum: [f64; 2],
}

impl Fields {
    fn of<'a>(homes: impl Iterator<Item = &'a Local>) -> Self {
        let mut squares: BTreeMap<[i64; 2], Vec<Local>> = BTreeMap::new();
        for home in homes {
            squares.entry(square(*home)).or_default().push(*home);
        }
        let summed = squares.into_iter().map(|(at, homes)| {
            let ups = homes.iter().map(|home| (home.up, 1)).collect();
            let sum = homes
                .iter()
                .fold([0.0, 0.0], |[east, north], home| [east + home.east, north + home.north]);
            let (count, up) = (homes.len(), middle(ups));
            (at, Square { count, up, sum })
        });
        Self(summed.collect())
    }

    /// Difference of `home` to the median altitude of its field, beyond a field's own, meters; `None` for the only one.
    fn off(&self, home: Local) -> Option<f64> {
        let [east, north] = square(home);
        let around = (-1..=1).flat_map(|e| (-1..=1).map(move |n| [east + e, north + n]));
        let around: Vec<&Square> = around.filter_map(|at| self.0.get(&at)).collect();
        let count: usize = around.iter().map(|square| square.count).sum();
        if count < 2 {
            return None;
        }
        let (mut sum, mut homes) = ([0.0, 0.0], 0.0);
        for square in &around {
            sum = [sum[0] + square.sum[0], sum[1] + square.sum[1]];
            homes += u32::try_from(square.count).map_or(f64::INFINITY, f64::from);
        }
        let far = (home.east - sum[0] / homes).hypot(home.north - sum[1] / homes);
        let ups = around.iter().map(|square| (square.up, square.count)).collect();
        Some(((home.up - middle(ups)).abs() - SAME_ALTITUDE_M - SLOPE * far).max(0.0))
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a site reaches 20 km")]
fn square(home: Local) -> [i64; 2] {
    [home.east, home.north].map(|meters| (meters / FIELD_M).floor() as i64)
}

/// Weighted median.
fn middle(mut values: Vec<(f64, usize)>) -> f64 {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: usize = values.iter().map(|(_, count)| count).sum();
    let at = |rank: usize| {
        let mut passed = 0;
        let found = values.iter().find(|(_, count)| {
            passed += count;
            passed > rank
        });
        found.map_or(0.0, |(value, _)| *value)
    };
    f64::midpoint(at(all.saturating_sub(1) / 2), at(all / 2))
}

impl Site {
    /// Before anything is claimed for the vehicles.
    pub(super) fn take_in_accuracies(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>) {
        self.accuracies.known.retain(|node, _| vehicles.contains_key(node));
        let mut homes = BTreeMap::new();
        for (node, expected) in vehicles {
            let Some((report, received)) = expected.report else {
                homes.extend(self.accuracies.homes.get(node).map(|home| (node.clone(), *home)));
                continue;
            };
            self.accuracies.take(node, report, received);
            homes.extend(self.home(report).map(|home| (node.clone(), home)));
        }
        self.accuracies.compare(homes);
    }

    /// Counts where a vehicle may return to, and the corners that it cuts while it flies a plan or may begin to: nothing else is flown by
    /// them.
    pub(super) fn take_in_parameters(&mut self, node: &NodeName, expected: &Expected<'_>, now: Moment) {
        let Some((report, _)) = expected.report else { return };
        let plans = expected.desire == Desire::Plan || names_one(report) || report.plan.flying;
        let by = if plans {
            self.accuracies.corners(node)
        } else {
            Meters(0.0)
        };
        self.claims.cuts_corners(node, by, now);
        self.claims.takes_detours(node, self.accuracies.may_detour(node), now);
    }

    /// Addition to the sentence of one that waits for `others`: corners of its plan, or of theirs, that need more airspace than usual.
    pub(super) fn corners_note(&self, node: &NodeName, others: &BTreeSet<Owner>) -> String {
        let others = others.iter().filter_map(|owner| match owner {
            Owner::Vehicle(name) => Some(name),
            Owner::Traffic(_) => None,
        });
        let wide = std::iter::once(node).chain(others).find_map(|node| {
            let by = self.claims.corners(node).0;
            (by > 0.0).then_some((node, by))
        });
        wide.map_or_else(String::new, |(node, by)| {
            let usual = ACCEPTANCE_RADIUS.0;
            if !self.knows_radius(node) {
                return format!(
                    "; how far the autopilot of node {node} turns before the places of its plan is not known, and counts as {:.1} m",
                    usual + by
                );
            }
            format!(
                "; the autopilot of node {node} turns {:.1} m before the places of its plan, and needs as much more airspace; set its \
                 WP_RADIUS_M to {usual} or less (WPNAV_RADIUS, until ArduCopter 4.6: {})",
                usual + by,
                usual * 100.0
            )
        })
    }

    pub(super) fn is_accurate(&self, node: &NodeName) -> bool {
        self.accuracies.too_bad(node).is_none()
    }

    /// Whether it is known how far the vehicle turns before the places of its plan.
    pub(super) fn knows_radius(&self, node: &NodeName) -> bool {
        self.accuracies.turns_within(node).is_some()
    }

    /// Has the vehicle wait on the ground until [that](Self::knows_radius) is known. Returns whether it waits.
    pub(super) fn wait_for_radius(&mut self, node: &NodeName) -> bool {
        let waits = !self.knows_radius(node);
        let why = waits.then(|| (node.clone(), format!("does not take off: {RADIUS_UNKNOWN}")));
        self.waiting.extend(why);
        waits
    }

    /// Has the vehicle wait if its place is not known well enough; `what` begins the sentence. Returns whether it waits.
    pub(super) fn wait_for_accuracy(&mut self, node: &NodeName, what: &str) -> bool {
        let why = self.accuracies.too_bad(node);
        let waits = why.is_some();
        self.waiting
            .extend(why.map(|why| (node.clone(), format!("{what}: {why}"))));
        waits
    }

    /// Unless they land or are there.
    pub(super) fn keep_from_bad_accuracy(&mut self, goals: &mut BTreeMap<NodeName, super::Goal>) {
        let there = |node: &NodeName, at: Local| {
            let end = self
                .claims
                .end(node)
                .filter(|_| !self.claims.place(node).is_some_and(|(_, on_ground)| on_ground));
            end.is_some_and(|end| end.over_ground(at) <= super::WANDERS.0 && (end.up - at.up).abs() <= super::WANDERS.1)
        };
        let kept = goals.iter().filter(|(node, goal)| !goal.lands && !there(node, goal.at));
        let kept: Vec<NodeName> = kept.map(|(node, _)| node.clone()).collect();
        for node in kept {
            if self.wait_for_accuracy(&node, "has no route") {
                goals.remove(&node);
            }
        }
    }

    pub(super) fn wide_among<'a>(&self, nodes: impl Iterator<Item = &'a NodeName>) -> usize {
        self.accuracies.wide(nodes, self.claims.rules())
    }

    /// Whether it may have grown into airspace that was granted to another.
    pub(super) fn is_wide(&self, node: &NodeName) -> bool {
        self.accuracies.is_wide(node, self.claims.rules())
    }

    /// Addition to the sentence: position errors of those that keep another waiting, and its own, where larger than usual, and corners.
    pub(super) fn accuracy_note(&self, node: &NodeName, waiting: &Waiting) -> String {
        let Waiting::For(owners) = waiting else {
            return String::new();
        };
        let rules = self.claims.rules();
        let others: BTreeSet<&NodeName> = owners
            .iter()
            .filter_map(|owner| match owner {
                Owner::Vehicle(name) => Some(name),
                Owner::Traffic(_) => None,
            })
            .collect();
        let found = std::iter::once(node)
            .chain(others)
            .find(|node| self.accuracies.is_wide(node, rules));
        let note = found.map_or_else(String::new, |wide| {
            let margin = self.accuracies.margin(wide, rules);
            format!(
                "; the place of the vehicle of node {wide} is known to {:.1} m over ground and {:.1} m in altitude only",
                margin.horizontal.0, margin.vertical.0
            )
        });
        note + &self.corners_note(node, owners)
    }
}

#[cfg(test)]
mod tests;
