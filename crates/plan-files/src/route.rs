//! A mission as a route: which items become waypoints, and which are left out or refused.

use crate::check::{self, Problem};
use crate::{Plan, at, mav_cmd, meters};
use model::geo::offset;
use model::plan::item::{self, FRAME_MISSION, Item};
use model::plan::{BadRoute, Route, Waypoint};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub what: String,
    pub why: &'static str,
    /// Numbers of items, from 0.
    pub items: Vec<usize>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routed {
    pub waypoints: Vec<Waypoint>,
    pub left_out: Vec<LeftOut>,
    pub notes: Vec<String>,
}

const TAKEOFF: &str = "Skein takes vehicles off itself";
const LANDING: &str = "Skein brings vehicles home itself, to where they took off";
const STOP: &str = "a landing, a wait and a takeoff, as to charge: with Skein another vehicle takes over when a battery gets low (a relief), and the way goes on";
const LANDING_ON_WAY: &str = "a landing and a takeoff: with Skein the way goes on without them; if the vehicle has to land there, make a Mission of each part";
const WAIT: &str = "a wait before takeoff: a Mission begins when it is applied and a vehicle is ready";
const SETTING: &str =
    "it sets up a camera only, and not every autopilot has it in a mission; set up the camera before the flight";
const ENDS_NOTHING: &str = "it ends what was not begun";
const MARK: &str = "it marks where a landing begins, and Skein brings vehicles home itself";
const LAST: &str = "nothing is flown after it";
const KEEPS_SPEED: &str = "it leaves the speed as it is";
const ON_GROUND: &str = "it would take a photo before the first place";
const NO_PLACE: &str =
    "no item of the mission has a place that is flown to, beside takeoff and landing; add a waypoint";
const TERRAIN: &str =
    "its altitude is one above terrain, and Skein knows no terrain; save the file with altitudes above home (frame 3)";
const WAITS: &str =
    "the vehicle would wait there for a person; let it go on by itself (autocontinue), or divide the mission there";
const ASKED: &str = "a route does not have it, and --leave-out was given";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refusal {
    pub problems: Vec<Problem>,
    pub left_out: Vec<LeftOut>,
}

enum Taken {
    As(Item),
    Not(String, &'static str),
    Cannot(Problem),
}

/// Drops items that a route does not have if `leave_out`, each named; else refuses them.
pub fn route(plan: &Plan, leave_out: bool) -> Result<Routed, Refusal> {
    let mut problems = check::contradictions(plan);
    let misplaced = check::places(plan);
    let is_misplaced = |number: usize| {
        misplaced
            .iter()
            .any(|problem| problem.item() == Some(plan.item(number)))
    };
    problems.extend(misplaced.iter().cloned());
    let mut walk = Walk {
        plan,
        leave_out,
        stops: stops(&plan.file.items),
        last_place: (0..plan.file.items.len()).rev().find(|number| is_place(plan, *number)),
        before: None,
        waiting_trigger: None,
        series: false,
        landed: false,
        notes: Vec::new(),
    };
    let mut kept: Vec<(usize, Item)> = Vec::new();
    let mut left: BTreeMap<(String, &'static str), Vec<usize>> = BTreeMap::new();
    for (number, item) in plan.file.items.iter().enumerate() {
        match walk.take(number, item) {
            Taken::As(item) => {
                kept.push((number, item));
                if check_place(&item) {
                    walk.before = Some(item);
                    kept.extend(walk.waiting_trigger.take());
                }
            }
            Taken::Not(what, why) => left.entry((what, why)).or_default().push(number),
            Taken::Cannot(problem) => problems.push(problem),
        }
    }
    let mut routed = Routed {
        notes: walk.notes,
        ..Routed::default()
    };
    match item::to_waypoints(&kept.iter().map(|(_, item)| *item).collect::<Vec<_>>()) {
        Ok((waypoints, _)) => routed.waypoints = waypoints,
        Err(error) => {
            let number = kept.get(error.number).map_or(0, |(number, _)| *number);
            let advice = if unchanged(plan).is_empty() {
                "change it, or keep the items unchanged with --keep-items"
            } else {
                "change it"
            };
            problems.push(Problem::Other {
                item: plan.item(number),
                why: format!("{}; {advice}", error.source),
            });
        }
    }
    let numbers: Vec<usize> = kept
        .iter()
        .filter(|(_, item)| check_place(item))
        .map(|(number, _)| *number)
        .collect();
    let number_of = |waypoint: usize| numbers.get(waypoint).copied().unwrap_or_default();
    let name = |waypoint: usize| plan.item(number_of(waypoint));
    for (waypoint, of) in routed.waypoints.iter().enumerate() {
        problems.extend(check::height(name(waypoint), of.altitude));
    }
    let has_place = (0..plan.file.items.len()).any(|number| is_place(plan, number));
    match Route::new(routed.waypoints.clone()) {
        Err(BadRoute::Empty) if has_place && !problems.is_empty() => {}
        Err(BadRoute::Empty) => problems.push(Problem::Mission(NO_PLACE.to_owned())),
        Err(BadRoute::Waypoint { number, .. }) if is_misplaced(number_of(number)) => {}
        Err(BadRoute::Waypoint { number, source }) => problems.push(Problem::Other {
            item: name(number),
            why: source.to_string(),
        }),
        Err(error) => problems.push(Problem::Mission(error.to_string())),
        Ok(_) => {}
    }
    routed.notes.extend(home_and_landing(plan));
    routed.left_out = left
        .into_iter()
        .map(|((what, why), items)| LeftOut { what, why, items })
        .collect();
    routed.left_out.sort_by_key(|left| left.items.first().copied());
    if problems.is_empty() {
        Ok(routed)
    } else {
        let left_out = routed.left_out;
        Err(Refusal { problems, left_out })
    }
}

fn is_place(plan: &Plan, number: usize) -> bool {
    plan.file.items.get(number).is_some_and(|item| {
        [
            item::NAV_WAYPOINT,
            item::NAV_LOITER_TIME,
            LOITER_UNLIM,
            LOITER_TURNS,
            item::NAV_SPLINE_WAYPOINT,
        ]
        .contains(&item.command)
    })
}

const fn check_place(item: &Item) -> bool {
    matches!(item.command, item::NAV_WAYPOINT | item::NAV_LOITER_TIME)
}

const JUMP: u16 = 177;
const LOITER_UNLIM: u16 = 17;
const LOITER_TURNS: u16 = 18;
const LOITER_TO_ALT: u16 = 31;
const DIGICAM_CONTROL: u16 = 203;

/// Landing, takeoff, and what is between them; with a wait it is as to charge.
#[derive(Clone, Copy, Debug)]
struct Stop {
    from: usize,
    to: usize,
    waits: bool,
}

/// A landing with an action on the ground (a gripper opens) is none.
fn stops(items: &[Item]) -> Vec<Stop> {
    let mut found = Vec::new();
    let mut begun: Option<(usize, bool)> = None;
    for (number, item) in items.iter().enumerate() {
        match (item.command, begun) {
            (item::NAV_LAND | item::NAV_RETURN_TO_LAUNCH, _) => begun = Some((number, false)),
            (item::NAV_TAKEOFF, Some((from, waits))) => {
                let to = number;
                found.push(Stop { from, to, waits });
                begun = None;
            }
            (item::NAV_DELAY, Some((from, _))) => begun = Some((from, true)),
            (item::NAV_DELAY, None) => {}
            _ => begun = None,
        }
    }
    found
}

fn stop_at(stops: &[Stop], number: usize) -> Option<Stop> {
    stops
        .iter()
        .find(|stop| (stop.from..=stop.to).contains(&number))
        .copied()
}

struct Walk<'a> {
    plan: &'a Plan,
    leave_out: bool,
    stops: Vec<Stop>,
    last_place: Option<usize>,
    before: Option<Item>,
    /// Photos begun before the first place.
    waiting_trigger: Option<(usize, Item)>,
    series: bool,
    /// A landing on the way was refused, and no place was flown to since.
    landed: bool,
    notes: Vec<String>,
}

impl Walk<'_> {
    fn take(&mut self, number: usize, item: &Item) -> Taken {
        let name = self.plan.item(number);
        let [first, second, third, _, fifth, ..] = item.params.map(Option::unwrap_or_default);
        let begun = self.before.is_some();
        let after_last = self.last_place.is_none_or(|last| number > last);
        let unflyable = |why| Taken::Cannot(Problem::Unflyable { item: name, why });
        let setting = |why| Taken::Not(mav_cmd::words(item.command), why);
        if let Some(stop) = stop_at(&self.stops, number) {
            return if stop.waits {
                Taken::Not("stop on the way".to_owned(), STOP)
            } else {
                Taken::Not("landing on the way".to_owned(), LANDING_ON_WAY)
            };
        }
        match item.command {
            item::NAV_TAKEOFF if !begun || self.landed => Taken::Not("takeoff".to_owned(), TAKEOFF),
            item::NAV_TAKEOFF => unflyable("a takeoff in the air; remove it"),
            item::NAV_LAND | item::NAV_RETURN_TO_LAUNCH if after_last => {
                Taken::Not("return or landing".to_owned(), LANDING)
            }
            item::NAV_LAND | item::NAV_RETURN_TO_LAUNCH => {
                self.landed = true;
                unflyable(
                    "a landing that is not the last item has no counterpart in a route; remove it and what follows, or make a Mission of each part",
                )
            }
            item::NAV_DELAY if !begun => Taken::Not("wait before takeoff".to_owned(), WAIT),
            84 | 85 | 3000 => Taken::Cannot(Problem::Vtol { item: name }),
            item::NAV_WAYPOINT | item::NAV_LOITER_TIME | LOITER_UNLIM => self.place(number, item),
            LOITER_TURNS | LOITER_TO_ALT | item::NAV_SPLINE_WAYPOINT => {
                unflyable("it leaves the straight way, which alone is kept clear of others; make waypoints of it")
            }
            JUMP => self.cannot(number, item, "has no counterpart in a route, which has no jumps: write the places out, or use spec.completions or spec.repeat"),
            179 => unflyable("it moves home in flight, from which altitudes are measured; remove it"),
            item::DO_CHANGE_SPEED if second < 0.0 => setting(KEEPS_SPEED),
            item::DO_CHANGE_SPEED if after_last => setting(LAST),
            item::DO_SET_CAM_TRIGG_DIST if first > 0.0 && !begun => {
                self.notes
                    .push(format!("{name}: photos begin at the first place, not before"));
                self.waiting_trigger = Some((number, *item));
                Taken::Not(
                    "photos before the first place".to_owned(),
                    "they begin at the first place",
                )
            }
            item::DO_SET_CAM_TRIGG_DIST if third > 0.0 && !begun => setting(ON_GROUND),
            item::IMAGE_START_CAPTURE if third > 1.0 || (second > 0.0 && third < 1.0) => {
                self.series = true;
                self.cannot(
                    number,
                    item,
                    "(photos at an interval of time) has no counterpart in a route",
                )
            }
            item::IMAGE_START_CAPTURE if !begun => setting(ON_GROUND),
            // Old plans write 0 photos without an interval for one.
            item::IMAGE_START_CAPTURE => Taken::As(photo(item)),
            DIGICAM_CONTROL if fifth > 0.0 && begun => Taken::As(photo(item)),
            2001 if self.series => self.cannot(number, item, "has no counterpart in a route"),
            214 if first <= 0.0 && second <= 0.0 => setting(ENDS_NOTHING),
            197 | 2001 | 2501 => setting(ENDS_NOTHING),
            202 | DIGICAM_CONTROL | 204 | 530..=534 => setting(SETTING),
            189 => setting(MARK),
            112 | 114 | 115 | 181 | 183 | 195 | 201 | 205 | 207 | 208 | 211 | 214 | 1000 | 1001 | 2500 | 42600 => self.cannot(number, item, "has no counterpart in a route"),
            item::NAV_DELAY | item::DO_CHANGE_SPEED | item::DO_SET_CAM_TRIGG_DIST => Taken::As(*item),
            _ if mav_cmd::name(item.command).is_none() => unflyable("MAVLink does not define it; remove it"),
            _ => unflyable("no Mission has it; remove it"),
        }
    }

    fn cannot(&self, number: usize, item: &Item, why: &'static str) -> Taken {
        if self.leave_out {
            Taken::Not(mav_cmd::words(item.command), ASKED)
        } else {
            Taken::Cannot(Problem::Unroutable {
                item: self.plan.item(number),
                why,
            })
        }
    }

    fn place(&mut self, number: usize, item: &Item) -> Taken {
        self.landed = false;
        let name = self.plan.item(number);
        let unflyable = |why| Taken::Cannot(Problem::Unflyable { item: name, why });
        if is_above_terrain(item) {
            return unflyable(TERRAIN);
        }
        if !item.goes_on {
            return unflyable(WAITS);
        }
        let mut taken = *item;
        if item.command == LOITER_UNLIM {
            if self.last_place != Some(number) {
                return unflyable(
                    "it holds without end, so what follows would never be flown; give it a time (NAV_LOITER_TIME)",
                );
            }
            taken.command = item::NAV_WAYPOINT;
            taken.params = [
                Some(0.0),
                Some(0.0),
                Some(0.0),
                None,
                item.params[4],
                item.params[5],
                item.params[6],
            ];
            self.notes.push(format!(
                "{name} holds without end: a Mission flies there and brings the vehicle home; for a place that is held use a Swarm with a station"
            ));
        }
        if check::is_open(item) {
            let before = self.before.filter(|_| item.command != item::NAV_WAYPOINT);
            let Some(before) = before else {
                return Taken::Cannot(Problem::Open { item: name });
            };
            let [.., latitude, longitude, altitude] = before.params;
            taken.params[4] = latitude;
            taken.params[5] = longitude;
            if taken.params[6].unwrap_or_default() == 0.0 || taken.frame == FRAME_MISSION {
                taken.params[6] = altitude;
                taken.frame = before.frame;
            }
            self.notes.push(format!(
                "{name} has no place: it holds where the vehicle is, at the place before"
            ));
        } else if item.params[6].is_none() {
            return Taken::Cannot(Problem::NoAltitude { item: name });
        }
        Taken::As(taken)
    }
}

const fn is_above_terrain(item: &Item) -> bool {
    matches!(
        item.frame,
        item::FRAME_GLOBAL_TERRAIN_ALT | item::FRAME_GLOBAL_TERRAIN_ALT_INT
    )
}

fn photo(item: &Item) -> Item {
    let zero = Some(0.0);
    Item {
        command: item::IMAGE_START_CAPTURE,
        params: [zero, zero, Some(1.0), zero, None, None, None],
        ..*item
    }
}

/// A home far from the first place, or else a landing far from home.
#[must_use]
pub fn home_and_landing(plan: &Plan) -> Option<String> {
    let far = check::home_far(plan).map(|far| far.to_string());
    far.or_else(|| landing_elsewhere(plan))
}

/// A vehicle of Skein comes back to where it took off, so a landing elsewhere is noted.
fn landing_elsewhere(plan: &Plan) -> Option<String> {
    let number = plan
        .file
        .items
        .iter()
        .rposition(|item| item.command == item::NAV_LAND)?;
    let item = plan.file.items.get(number)?;
    let (home, _) = plan.file.home?;
    if check::is_open(item) || stop_at(&stops(&plan.file.items), number).is_some() {
        return None;
    }
    let (place, _) = item.place()?.ok()?;
    let (east, north) = offset(home, place);
    let distance = east.hypot(north);
    (distance > 10.0).then(|| {
        format!(
            "{} lands at {}, {} from home: Skein lands vehicles where they took off",
            plan.item(number),
            at(place),
            meters(distance)
        )
    })
}

#[must_use]
pub fn is_trimmed(left: &LeftOut) -> bool {
    [SETTING, MARK].contains(&left.why)
}

/// Items that are not flown even where the others are kept: Skein takes off and brings home itself.
#[must_use]
pub fn is_never_flown(left: &LeftOut) -> bool {
    [TAKEOFF, LANDING].contains(&left.why)
}

/// Drops items that no autopilot needs and some reject: camera setup, and marks.
#[must_use]
pub fn trimmed(plan: &Plan, left_out: &[LeftOut]) -> Plan {
    let gone = left_out.iter().filter(|left| is_trimmed(left));
    let gone: Vec<usize> = gone.flat_map(|left| left.items.iter().copied()).collect();
    let stay = |number: usize| !gone.contains(&number);
    let mut plan = plan.clone();
    plan.file.items = kept_of(&plan.file.items, stay);
    plan.items = kept_of(&plan.items, stay);
    plan
}

fn kept_of<T: Copy>(all: &[T], stay: impl Fn(usize) -> bool) -> Vec<T> {
    let kept = all.iter().enumerate().filter(|(number, _)| stay(*number));
    kept.map(|(_, one)| *one).collect()
}

/// Whether unchanged items have none of `problems`.
#[must_use]
pub fn may_be_kept(problems: &[Problem]) -> bool {
    problems
        .iter()
        .all(|problem| matches!(problem, Problem::Unroutable { .. }))
}

#[must_use]
pub fn unchanged(plan: &Plan) -> Vec<Problem> {
    let mut problems = check::contradictions(plan);
    problems.extend(check::places(plan));
    for (number, item) in plan.file.items.iter().enumerate() {
        let flown = model::plan::flight::is_flown_to(item.command) && item.command != item::NAV_LAND;
        let name = plan.item(number);
        if [84, 85, 3000].contains(&item.command) {
            problems.push(Problem::Vtol { item: name });
        } else if flown && is_above_terrain(item) {
            problems.push(Problem::Unflyable {
                item: name,
                why: TERRAIN,
            });
        } else if flown && check::is_open(item) {
            problems.push(Problem::Open { item: name });
        } else if flown && let Some(Ok((_, altitude))) = item.place() {
            problems.extend(check::height(name, altitude));
        }
    }
    if problems.is_empty()
        && let Err(error) = fleet::planning::mission::Work::of_items(&plan.file.items)
    {
        problems.push(Problem::Mission(words(plan, &error)));
    }
    problems
}

/// Text of `fleet`, with the command's name.
fn words(plan: &Plan, error: &fleet::planning::mission::written::BadItems) -> String {
    use fleet::planning::mission::written::BadItems;
    use model::plan::flight::BadPlan;
    match error {
        BadItems::Item(BadPlan::Command { number, .. }) => {
            format!("{} cannot be part of a flight; remove it", plan.item(*number))
        }
        other => other.to_string(),
    }
}

/// Takes altitudes above mean sea level for altitudes above home.
#[must_use]
pub fn above_home(mut plan: Plan) -> Plan {
    for (number, item) in plan.file.items.iter_mut().enumerate() {
        if [item::FRAME_GLOBAL, item::FRAME_GLOBAL_INT].contains(&item.frame) {
            item.frame = item::FRAME_GLOBAL_RELATIVE_ALT;
            if let Some(origin) = plan.items.get_mut(number) {
                origin.shows_other_reference = false;
            }
        }
    }
    plan
}
