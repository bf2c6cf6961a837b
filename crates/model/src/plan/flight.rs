//! One vehicle's share of a mission: items of the mission protocol, and its agent's reports about them.
//!
//! Owns: [`FlightPlan`] and its checks ([`FlightPlan::new`], [`FlightPlan::check`]); which items are reached ([`Reached`]); the items that
//! fly the rest ([`rest`]); [`PlanReport`].
//! Must not: cut work into shares (`fleet::planning::mission::share`), upload, or count an item as reached that no vehicle reported.
//!
//! Items are counted from 0 without home, whatever number an autopilot gives them.

use super::item::{self, Item};
use crate::ids::Term;
use crate::units::Meters;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// Most items of one plan. PX4 holds 500 or more on all but its smallest boards, ArduCopter 700 or more with 16 KiB of storage.
pub const MOST_ITEMS: usize = 700;

/// Most ranges in a report: every second item reached.
pub const MOST_RANGES: usize = MOST_ITEMS / 2;

/// A float32 holds each whole number up to it.
const LARGEST: f64 = 16_777_216.0;

/// 32 hexadecimal digits of the items: equal items, equal digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlanDigest(pub String);

impl PlanDigest {
    pub fn of(items: &[Item]) -> Self {
        let mut hash = Sha256::new();
        for item in items {
            hash.update(item.command.to_be_bytes());
            hash.update([item.frame, u8::from(item.goes_on)]);
            for param in item.params {
                hash.update([u8::from(param.is_some())]);
                // -0.0 and 0.0 are equal.
                hash.update((param.unwrap_or_default() + 0.0).to_bits().to_be_bytes());
            }
        }
        let digits = hash.finalize();
        Self(digits.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A level: sent again, it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlightPlan {
    pub term: Term,
    pub digest: PlanDigest,
    /// Without takeoff, which is the agent's.
    pub items: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadPlan {
    #[error("there is no item")]
    Empty,
    #[error("{0} items are more than {MOST_ITEMS}; fly it in several shares")]
    TooMany(usize),
    /// A command outside of a plan: takeoff, jumps, arming, modes and fences are decided elsewhere, and a command without end is never
    /// done.
    #[error("item {number} ({name}, command {command}) cannot be part of a flight; remove it")]
    Command {
        /// From 0.
        number: usize,
        /// MAV_CMD.
        command: u16,
        name: &'static str,
    },
    #[error("item {0} comes after a landing or return, which has to be the last")]
    AfterLanding(usize),
    /// It waits for a person, so it would never be done.
    #[error("at item {0} the vehicle waits for a person; let it go on by itself (autocontinue)")]
    Waits(usize),
    #[error("item {0} has no place; give latitude, longitude and altitude above home or above mean sea level")]
    Place(usize),
    #[error("parameter {parameter} of item {number} is no number that an item can hold")]
    Number {
        /// From 0.
        number: usize,
        /// From 1.
        parameter: usize,
    },
}

/// Allowed MAV_CMDs, and whether what one sets lasts until it is changed; for photos see [`stays`].
const ALLOWED: [(u16, bool); 27] = [
    (item::NAV_WAYPOINT, false),
    (18, false), // NAV_LOITER_TURNS
    (item::NAV_LOITER_TIME, false),
    (item::NAV_RETURN_TO_LAUNCH, false),
    (item::NAV_LAND, false),
    (item::NAV_SPLINE_WAYPOINT, false),
    (item::NAV_DELAY, false),
    (112, false), // CONDITION_DELAY
    (114, false), // CONDITION_DISTANCE
    (115, true),  // CONDITION_YAW
    (item::DO_CHANGE_SPEED, true),
    (181, true),  // DO_SET_RELAY
    (183, true),  // DO_SET_SERVO
    (189, false), // DO_LAND_START
    (195, true),  // DO_SET_ROI_LOCATION
    (197, true),  // DO_SET_ROI_NONE
    (201, true),  // DO_SET_ROI
    (205, true),  // DO_MOUNT_CONTROL
    (item::DO_SET_CAM_TRIGG_DIST, true),
    (211, false), // DO_GRIPPER
    (214, true),  // DO_SET_CAM_TRIGG_INTERVAL
    (530, true),  // SET_CAMERA_MODE
    (1000, true), // DO_GIMBAL_MANAGER_PITCHYAW
    (item::IMAGE_START_CAPTURE, false),
    (2001, true), // IMAGE_STOP_CAPTURE
    (2500, true), // VIDEO_START_CAPTURE
    (2501, true), // VIDEO_STOP_CAPTURE
];

fn allowed(command: u16) -> Option<bool> {
    let found = ALLOWED.iter().find(|(allowed, _)| *allowed == command);
    found.map(|(_, stays)| *stays)
}

/// Whether what `item` sets lasts until it is changed.
fn stays(item: &Item) -> bool {
    match (item.command, item.params) {
        // A series without end; without an interval it is one photo.
        (item::IMAGE_START_CAPTURE, [_, every, count, ..]) => {
            every.is_some_and(|every| every > 0.0) && count.is_none_or(|count| count <= 0.0)
        }
        (command, _) => allowed(command) == Some(true),
    }
}

impl FlightPlan {
    /// # Errors
    /// [`BadPlan`], the first invalid item.
    pub fn new(term: Term, items: Vec<Item>) -> Result<Self, BadPlan> {
        let digest = PlanDigest::of(&items);
        let plan = Self { term, digest, items };
        plan.check()?;
        Ok(plan)
    }

    /// # Errors
    /// [`BadPlan`], when an agent may not fly it.
    pub fn check(&self) -> Result<(), BadPlan> {
        if self.items.is_empty() {
            return Err(BadPlan::Empty);
        }
        if self.items.len() > MOST_ITEMS {
            return Err(BadPlan::TooMany(self.items.len()));
        }
        let mut landed = false;
        for (number, item) in self.items.iter().enumerate() {
            if landed {
                return Err(BadPlan::AfterLanding(number));
            }
            check_item(number, item)?;
            landed = [item::NAV_RETURN_TO_LAUNCH, item::NAV_LAND].contains(&item.command);
        }
        Ok(())
    }
}

pub fn check_item(number: usize, item: &Item) -> Result<(), BadPlan> {
    if allowed(item.command).is_none() {
        return Err(BadPlan::Command {
            number,
            command: item.command,
            name: item.name(),
        });
    }
    let sound = |param: &Option<f64>| param.is_none_or(|param| param.abs() <= LARGEST);
    if let Some(at) = item.params.iter().position(|param| !sound(param)) {
        let parameter = at + 1;
        return Err(BadPlan::Number { number, parameter });
    }
    if !item.goes_on {
        return Err(BadPlan::Waits(number));
    }
    // Autopilots read 0, 0 as the present position.
    let given = matches!(item.params, [.., Some(x), Some(y), Some(_)] if x != 0.0 || y != 0.0);
    match item.place() {
        _ if !is_flown_to(item.command) => Ok(()),
        Some(Ok((at, _))) if given && at.latitude_deg.abs() <= 90.0 && at.longitude_deg.abs() <= 180.0 => Ok(()),
        Some(_) | None => Err(BadPlan::Place(number)),
    }
}

pub const fn is_flown_to(command: u16) -> bool {
    matches!(
        command,
        item::NAV_WAYPOINT | 18 | item::NAV_LOITER_TIME | item::NAV_LAND | item::NAV_SPLINE_WAYPOINT
    )
}

/// An item to upload, and its number in the plan; `None` for an earlier setting that is repeated.
pub type Uploaded = (Item, Option<u16>);

/// The items that fly `items` from number `from` on: first what was set before and lasts (speed, camera, heading), each as it was set last,
/// then the rest unchanged.
pub fn rest(items: &[Item], from: usize) -> Vec<Uploaded> {
    let states = states(items.get(..from).unwrap_or(items));
    let states = states.into_iter().map(|item| (item, None));
    let left = items.iter().enumerate().skip(from);
    let left = left.map(|(number, item)| (*item, u16::try_from(number).ok()));
    states.chain(left).collect()
}

/// The lasting settings of `items`, each as it was set last.
pub fn states(items: &[Item]) -> Vec<Item> {
    let mut states: Vec<Item> = Vec::new();
    for item in items.iter().filter(|item| stays(item)) {
        states.retain(|known| !replaces(item, known));
        states.push(*item);
    }
    // An end without a beginning has no effect.
    let ends = |item: &Item| match item.command {
        item::DO_SET_CAM_TRIGG_DIST | 214 => item.params.first().copied().flatten().unwrap_or_default() <= 0.0,
        197 | 2001 | 2501 => true,
        _ => false,
    };
    states.retain(|item| !ends(item));
    states
}

/// Whether `new` replaces what `old` has set.
fn replaces(new: &Item, old: &Item) -> bool {
    let one_of = |group: &[u16]| group.contains(&new.command) && group.contains(&old.command);
    if one_of(&[195, 197, 201]) || one_of(&[2500, 2501]) {
        return true;
    }
    if one_of(&[item::IMAGE_START_CAPTURE, 2001]) {
        // One camera by its number; 0 means all.
        let camera = |item: &Item| item.params.first().copied().flatten().filter(|camera| *camera > 0.0);
        return camera(new).is_none() || camera(new) == camera(old);
    }
    // Each kind of speed, and each relay and servo, is set by itself.
    let own = [item::DO_CHANGE_SPEED, 181, 183].contains(&new.command);
    new.command == old.command && (!own || new.params.first() == old.params.first())
}

/// Reached items as inclusive ranges; sorted, with at least one item between two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached(Vec<(u16, u16)>);

impl Reached {
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// In any order.
    pub fn of(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().filter(|(first, last)| first <= last).collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    pub fn with(&self, item: u16) -> Self {
        Self::of(self.0.iter().copied().chain([(item, item)]))
    }

    pub fn has(&self, item: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&item))
    }

    /// The first item not reached, of a plan of any length.
    pub fn first_left(&self) -> u16 {
        match self.0.first() {
            Some((0, last)) => last.saturating_add(1),
            _ => 0,
        }
    }

    pub fn count(&self) -> usize {
        let each = |(first, last): &(u16, u16)| usize::from(last - first) + 1;
        self.0.iter().map(each).sum()
    }

    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.0
    }
}

/// Reached places that a vehicle passed farther away than their radius and its accuracy allow, by its own positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassedBeside {
    pub places: u32,
    /// Of the one that was passed farthest away.
    pub farthest: Meters,
}

impl Default for PassedBeside {
    fn default() -> Self {
        Self {
            places: 0,
            farthest: Meters(0.0),
        }
    }
}

impl PassedBeside {
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            places: self.places.saturating_add(other.places),
            farthest: Meters(self.farthest.0.max(other.farthest.0)),
        }
    }

    #[must_use]
    pub const fn with(self, distance: Meters) -> Self {
        self.and(Self {
            places: 1,
            farthest: distance,
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanReport {
    /// `None`: it never took any. All below is about this plan.
    pub held: Option<PlanDigest>,
    pub state: PlanState,
    /// Whether the vehicle flies it now, by its autopilot's own account and by our order.
    pub flying: bool,
    /// The item in progress; `None` also while an earlier setting is repeated.
    pub current: Option<u16>,
    /// By the autopilot's account and the vehicle's own position. Kept over landings and restarts.
    pub reached: Reached,
    /// Whether its autopilot has come to the end of the rest, though an item may have been skipped. The vehicle then holds, or comes home
    /// where its last item says so.
    pub ended: bool,
    pub finished: bool,
    /// Of `reached`; none from an agent that is older than this field.
    pub passed_beside: PassedBeside,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlanState {
    /// The assignment does not name it, or it is finished.
    #[default]
    Idle,
    /// Being uploaded, read back, or judged by the autopilot.
    Uploading,
    /// Read back equal, and not rejected by the autopilot.
    Ready,
    /// The autopilot refused it; its text, or ours. Tried again with a capped back-off.
    Refused(String),
    /// Somebody else uploaded another mission. It is never flown as ours; ours is uploaded again once the vehicle no longer flies that one.
    Foreign,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn waypoint(latitude: f64) -> Item {
        Item::written(item::NAV_WAYPOINT, [0.0, 0.0, 0.0, 0.0, latitude, 8.5, 30.0])
    }

    const fn speed(m_s: f64) -> Item {
        Item::written(item::DO_CHANGE_SPEED, [1.0, m_s, -1.0, 0.0, 0.0, 0.0, 0.0])
    }

    const fn camera(meters: f64) -> Item {
        Item::written(item::DO_SET_CAM_TRIGG_DIST, [meters, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    }

    #[test]
    fn what_arms_jumps_waits_or_goes_on_after_a_landing_is_no_plan() {
        let new = |items: &[Item]| FlightPlan::new(Term(1), items.to_vec()).map(|plan| plan.items.len());
        let command = |number, command, name| BadPlan::Command { number, command, name };
        let home = Item::written(item::NAV_RETURN_TO_LAUNCH, [0.0; 7]);
        let waits = Item {
            goes_on: false,
            ..waypoint(47.0)
        };
        let terrain = Item {
            frame: item::FRAME_GLOBAL_TERRAIN_ALT,
            ..waypoint(47.0)
        };
        assert_eq!(new(&[speed(3.0), waypoint(47.0), camera(5.0), home]), Ok(4));
        assert_eq!(new(&[]), Err(BadPlan::Empty));
        assert_eq!(new(&vec![speed(3.0); 701]), Err(BadPlan::TooMany(701)));
        for (number, name) in [
            (22, "NAV_TAKEOFF"),
            (177, "DO_JUMP"),
            (17, "NAV_LOITER_UNLIM"),
            (300, "no command that Skein knows"),
            (400, "no command that Skein knows"),
            (176, "no command that Skein knows"),
        ] {
            let bad = Item::written(number, [0.0; 7]);
            assert_eq!(new(&[waypoint(47.0), bad]), Err(command(1, number, name)));
        }
        assert_eq!(new(&[home, waypoint(47.0)]), Err(BadPlan::AfterLanding(1)));
        assert_eq!(new(&[waits]), Err(BadPlan::Waits(0)));
        assert_eq!(new(&[waypoint(91.0)]), Err(BadPlan::Place(0)));
        assert_eq!(new(&[terrain]), Err(BadPlan::Place(0)));
        let (number, parameter) = (0, 2);
        assert_eq!(new(&[speed(f64::NAN)]), Err(BadPlan::Number { number, parameter }));
    }

    #[test]
    fn equal_items_have_an_equal_digest_and_others_another() {
        let of = |items: &[Item]| PlanDigest::of(items);
        assert_eq!(of(&[waypoint(47.0)]), of(&[waypoint(47.0)]));
        assert_eq!(of(&[camera(0.0)]), of(&[camera(-0.0)]));
        assert_eq!(of(&[waypoint(47.0)]).0.len(), 32);
        for other in [vec![waypoint(47.1)], vec![waypoint(47.0); 2], vec![speed(1.0)], vec![]] {
            assert_ne!(of(&other), of(&[waypoint(47.0)]));
        }
    }

    #[test]
    fn what_is_left_begins_with_the_state_that_was_set_before_it() {
        let items = [
            speed(3.0),
            waypoint(47.0),
            camera(5.0),
            waypoint(47.1),
            speed(6.0),
            waypoint(47.2),
            camera(0.0),
            waypoint(47.3),
        ];
        let numbers = |from| {
            let rest = rest(&items, from);
            rest.into_iter()
                .map(|(item, number)| (item.command, item.params[1], number))
                .map(|(command, second, number)| match command {
                    item::DO_CHANGE_SPEED => (format!("speed {}", second.unwrap()), number),
                    item::DO_SET_CAM_TRIGG_DIST => ("camera".to_owned(), number),
                    _ => ("place".to_owned(), number),
                })
                .collect::<Vec<_>>()
        };
        let expected = |list: &[(&str, Option<u16>)]| -> Vec<(String, Option<u16>)> {
            list.iter()
                .map(|(text, number)| ((*text).to_owned(), *number))
                .collect()
        };
        assert_eq!(numbers(0).len(), 8, "all of it, and nothing before it");
        assert_eq!(
            numbers(5),
            expected(&[
                ("camera", None),
                ("speed 6", None),
                ("place", Some(5)),
                ("camera", Some(6)),
                ("place", Some(7))
            ])
        );
        assert_eq!(
            numbers(7),
            expected(&[("speed 6", None), ("place", Some(7))]),
            "the camera was stopped"
        );
        assert_eq!(numbers(8), expected(&[("speed 6", None)]));
    }

    #[test]
    fn photos_at_an_interval_stay_until_they_are_stopped_and_so_many_do_not() {
        let photos = |camera: f64, every_s: f64, count: Option<f64>| {
            let mut item = Item::written(item::IMAGE_START_CAPTURE, [camera, every_s, 0.0, 0.0, 0.0, 0.0, 0.0]);
            item.params[2] = count;
            item
        };
        let stop = |camera: f64| Item::written(2001, [camera, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let states = |items: &[Item]| -> Vec<Item> {
            let items = [items, &[waypoint(47.0)]].concat();
            let rest = rest(&items, items.len() - 1).into_iter();
            rest.filter(|(_, number)| number.is_none())
                .map(|(item, _)| item)
                .collect()
        };
        let on = photos(0.0, 2.0, Some(0.0));
        let (open, slower) = (photos(0.0, 2.0, None), photos(0.0, 5.0, Some(0.0)));
        let (one, some) = (photos(0.0, 0.0, Some(1.0)), photos(0.0, 2.0, Some(5.0)));
        assert_eq!(states(&[on]), [on]);
        assert_eq!(states(&[open]), [open]);
        assert_eq!(states(&[on, slower]), [slower]);
        assert_eq!(states(&[on, one, some]), [on]);
        assert_eq!(states(&[on, stop(0.0), slower]), [slower]);
        for ended in [
            vec![on, stop(0.0)],
            vec![stop(0.0)],
            vec![one],
            vec![some],
            vec![photos(0.0, 0.0, Some(0.0))],
        ] {
            assert!(states(&ended).is_empty(), "{ended:?}");
        }
        let (first, second) = (photos(1.0, 2.0, Some(0.0)), photos(2.0, 2.0, Some(0.0)));
        assert_eq!(states(&[first, second]), [first, second], "each camera has its own");
        assert_eq!(states(&[first, second, stop(1.0)]), [second]);
        assert!(states(&[first, second, stop(0.0)]).is_empty(), "all of them");
    }

    #[test]
    fn reached_items_are_joined_and_what_was_jumped_over_is_left() {
        let reached = [4, 0, 1, 3, 9]
            .into_iter()
            .fold(Reached::none(), |r, item| r.with(item));
        assert_eq!(reached.ranges(), [(0, 1), (3, 4), (9, 9)]);
        assert_eq!((reached.first_left(), reached.count()), (2, 5));
        assert!(reached.has(4) && !reached.has(2));
        let all = reached.with(2);
        assert_eq!((all.ranges().first(), all.first_left()), (Some(&(0, 4)), 5));
        assert_eq!(Reached::none().first_left(), 0);
        assert_eq!(Reached::of([(3, 2), (5, 7), (1, 5)]).ranges(), [(1, 7)]);
    }
}
