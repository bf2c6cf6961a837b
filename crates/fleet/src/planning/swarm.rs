//! What a Swarm should do about its Drones: how many to make, which to let go, and when.
//!
//! Owns: [`plan`]; which Drones should be replaced ([`replacement`], [`assessment`], [`placement`]); which may take off
//! ([`takeoff_slots`]); the Ready summary ([`readiness`]). Must not: name Drones ([`crate::planning::names`]) or read Drones of another
//! Swarm: the caller passes its own only.

pub mod assessment;
pub mod placement;
mod readiness;
pub mod replacement;
pub mod rollout;
pub mod takeoff_slots;

pub use readiness::{Readiness, Tally, readiness};

use model::ids::DroneUid;
use model::units::Percent;
use replacement::Replace;
use std::collections::BTreeSet;

/// What a Drone's vehicle does, as far as removing it matters. The order is the order of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Serving {
    /// It never had a vehicle.
    NoVehicle,
    /// It has a vehicle, which is known not to fly.
    OnGround,
    /// It has a vehicle of which nothing is known just now.
    Unknown,
    /// Its vehicle flies; an unknown battery (`None`) counts as the lowest.
    Flying { battery: Option<Percent> },
}

/// One Drone of the Swarm, by owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub uid: DroneUid,
    /// Its name, the tie-break.
    pub name: String,
    pub serving: Serving,
    pub ready: bool,
    /// Whether, as things are, it will not fly as asked: no vehicle is free for it, the autopilot refuses to arm, somebody else
    /// is in command, its flight is over, it is to stay down, or nothing is known of it.
    pub stuck: bool,
    pub replace: Option<Replace>,
    /// Whether it is being deleted, or its deletion was asked for and is not observed yet.
    pub leaving: bool,
    /// The slot of the Swarm's formation that it was given.
    pub slot: Option<usize>,
    /// Whether it waits on the ground for the very place of another that it is to relieve ([`mark_awaiting`]).
    pub awaits: bool,
}

/// How far a Swarm may go above and below what is desired while Drones are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub replicas: usize,
    /// Drones that there may be beyond these.
    pub surge: usize,
    /// Drones, of those desired, that may be missing because others were ordered to land.
    pub unavailable: usize,
}

impl Bounds {
    /// Never more than this are in the air.
    pub const fn most(&self) -> usize {
        self.replicas.saturating_add(self.surge)
    }
}

/// What to do about a Swarm's Drones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub create: usize,
    /// Which Drones to delete, first things first.
    pub delete: Vec<DroneUid>,
    /// Whether Drones are surplus that nothing is known of yet, so that it is better to wait before choosing.
    pub unsure: bool,
}

/// What brings the Swarm to as many Drones as are desired, in places that are good for it. `settled` is whether agents have had
/// time to find their way to this coordinator; before that, none is chosen to go while some are unknown.
///
/// Those leaving do not count: they are on their way, whatever they do. For each that should be replaced and flies, one more is
/// made, within the surge; it goes once it is not missed, or, where no other can be had, within what may be missing. A low battery
/// alone sends none home before another flies in its place: the agent sees to its reserve. Where that other cannot take off before the place
/// is free, one goes first, and one at a time. One that is lost is neither
/// counted nor removed: when it comes back it is one too many, and the least of them goes. Where none is desired, all go.
pub fn plan(bounds: Bounds, members: &[Member], settled: bool) -> Plan {
    let live: Vec<&Member> = members.iter().filter(|m| !m.leaving).collect();
    // On the ground nothing is lost with them.
    let spare = |m: &&&Member| m.replace.is_some() && matches!(m.serving, Serving::OnGround | Serving::NoVehicle);
    let mut delete: Vec<&Member> = live.iter().filter(spare).copied().collect();
    let lost = |m: &&Member| m.replace == Some(Replace::Lost) && bounds.replicas > 0;
    let rest: Vec<&Member> = live.iter().filter(|m| !spare(m) && !lost(m)).copied().collect();
    let flying_out = rest
        .iter()
        .filter(|m| m.replace.is_some() && bounds.replicas > 0)
        .count();
    let desired = bounds.replicas + flying_out.min(bounds.surge);

    let mut surplus = rest.clone();
    // The slots that stay are the lowest.
    let has_no_slot = |m: &Member| m.slot.is_some_and(|slot| slot >= bounds.replicas);
    surplus.sort_by(|a, b| order_of_removal(a, has_no_slot(a)).cmp(&order_of_removal(b, has_no_slot(b))));
    surplus.truncate(rest.len().saturating_sub(desired));
    // Where all go, there is nothing to choose.
    let unsure = !settled
        && !surplus.is_empty()
        && surplus.len() < rest.len()
        && rest.iter().any(|m| m.serving == Serving::Unknown);
    if unsure {
        surplus.clear();
    }
    let staying: Vec<&Member> = rest.into_iter().filter(|m| !surplus.contains(m)).collect();
    let create = desired.saturating_sub(staying.len());
    delete.extend(surplus);
    delete.extend(not_missed(bounds, &staying, create));
    Plan {
        create,
        delete: delete.into_iter().map(|m| m.uid.clone()).collect(),
        unsure,
    }
}

impl Plan {
    /// The plan of a coordinator that receives too few agents: one that is lost to it may be in the air, so none is made in the
    /// place of those.
    pub fn while_cut_off(self, members: &[Member]) -> Self {
        let lost = members
            .iter()
            .filter(|m| !m.leaving && m.replace == Some(Replace::Lost));
        Self {
            create: self.create.saturating_sub(lost.count()),
            ..self
        }
    }
}

/// Marks those as stuck that wait on the ground for a takeoff slot and will not get one: as many are up as may be (`full`), and
/// none of these is on its way down. `has_slot` is whether one has had its slot.
pub fn mark_stuck(members: &mut [Member], full: bool, has_slot: impl Fn(&DroneUid) -> bool) {
    let flies = |m: &Member| matches!(m.serving, Serving::Flying { .. });
    if !full || members.iter().any(|m| m.leaving && flies(m)) {
        return;
    }
    for member in members.iter_mut().filter(|m| m.serving == Serving::OnGround) {
        member.stuck |= !has_slot(&member.uid);
    }
}

/// Marks those that wait on the ground for the very place of another that they are to relieve, as no place beside it is free: they do not fly
/// before that one leaves, however long that one waits for them. `asks_for_slot` is whether a Drone is asked to hold just in its slot.
pub fn mark_awaiting(members: &mut [Member], asks_for_slot: impl Fn(&DroneUid) -> bool) {
    let is_relieved = |m: &&Member| {
        !m.leaving && !matches!(m.replace, None | Some(Replace::Lost)) && matches!(m.serving, Serving::Flying { .. })
    };
    let relieved = members.iter().filter(is_relieved);
    let held: BTreeSet<usize> = relieved.filter_map(|m| m.slot).collect();
    for m in members.iter_mut() {
        let waits = m.serving == Serving::OnGround && !m.stuck && !m.leaving && m.replace.is_none();
        m.awaits = waits && m.slot.is_some_and(|slot| held.contains(&slot)) && asks_for_slot(&m.uid);
        m.stuck |= m.awaits;
    }
}

/// Which goes first: from the least to the greatest loss, and of those that fly, one that should be replaced anyway, then one whose slot
/// is gone.
fn order_of_removal(m: &Member, has_no_slot: bool) -> (u8, bool, bool, Serving, &str) {
    let loss = match m.serving {
        Serving::NoVehicle => 0,
        Serving::OnGround => 1,
        Serving::Unknown => 2,
        Serving::Flying { .. } => 3,
    };
    (loss, m.replace.is_none(), !has_no_slot, m.serving, &m.name)
}

/// Of those that fly and should be replaced, the ones that may land now.
fn not_missed<'a>(bounds: Bounds, staying: &[&'a Member], about_to_be_made: usize) -> Vec<&'a Member> {
    let flies = |m: &&&Member| matches!(m.serving, Serving::Flying { .. });
    let mut out: Vec<&Member> = staying
        .iter()
        .filter(|m| m.replace.is_some() && flies(m))
        .copied()
        .collect();
    out.sort_by(|a, b| (a.replace, a.serving, &a.name).cmp(&(b.replace, b.serving, &b.name)));
    let others = |m: &&&Member| m.replace.is_none();
    let coming = about_to_be_made > 0 || staying.iter().filter(others).any(|m| !m.ready && !m.stuck);
    let mut available = staying.iter().filter(|m| m.ready).count();
    let mut chosen = vec![];
    let is_awaited =
        |m: &Member| m.slot.is_some() && staying.iter().any(|relief| relief.awaits && relief.slot == m.slot);
    for m in out {
        let missing = match m.replace {
            // To wait for the one that waits for it would be for ever.
            Some(_) if is_awaited(m) => bounds.unavailable.max(1),
            // As long as another may still come, it is waited for.
            Some(Replace::Drained | Replace::Misplaced) if !coming => bounds.unavailable,
            _ => 0,
        };
        let least = bounds.replicas.saturating_sub(missing);
        let left = available.saturating_sub(usize::from(m.ready));
        if left >= least {
            available = left;
            chosen.push(m);
        }
    }
    chosen
}

#[cfg(test)]
mod tests;
