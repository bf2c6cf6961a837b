//! What a Swarm should do about its Drones: how many to make, which to delete, and when.
//!
//! Owns: [`plan`]; which Drones should be replaced ([`replacement`], [`assessment`], [`placement`]); which may take off
//! ([`takeoff_slots`]); the Ready summary ([`readiness`]). Must not: name Drones ([`crate::planning::names`]) or read another Swarm's: the
//! caller passes its own only.

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

/// State of a Drone's vehicle, in the order of removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Serving {
    NoVehicle,
    /// Known not to fly.
    OnGround,
    Unknown,
    /// An unknown battery (`None`) counts as the lowest.
    Flying {
        battery: Option<Percent>,
    },
}

/// By owner reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub uid: DroneUid,
    /// The tie-break.
    pub name: String,
    pub serving: Serving,
    pub ready: bool,
    /// Whether it will not fly as asked without a change: no vehicle is free, the autopilot refuses to arm, somebody else is in command,
    /// its flight is over, it is to stay down, or nothing is known of it.
    pub stuck: bool,
    pub replace: Option<Replace>,
    /// Being deleted, or its deletion was requested and is not observed yet.
    pub leaving: bool,
    /// In the Swarm's formation.
    pub slot: Option<usize>,
    /// Whether it waits on the ground for the very place of another that it is to relieve ([`mark_awaiting`]).
    pub awaits: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub replicas: usize,
    /// Drones beyond `replicas`.
    pub surge: usize,
    /// Desired Drones that may be missing because others were ordered to land.
    pub unavailable: usize,
}

impl Bounds {
    /// In the air at once.
    pub const fn most(&self) -> usize {
        self.replicas.saturating_add(self.surge)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub create: usize,
    /// In this order.
    pub delete: Vec<DroneUid>,
    /// Drones are surplus of which nothing is known yet, so it is better to wait before choosing.
    pub unsure: bool,
}

/// What brings the Swarm to the desired number of Drones in good places. `settled`: agents have had time to reconnect to this coordinator;
/// before that, none is chosen to go while some are unknown.
///
/// Drones that leave do not count. For each flying one that should be replaced one more is made, within the surge; it goes once it is not
/// missed, or within `unavailable` where no other can be had. A low battery alone sends none home before another flies in its place: the
/// agent guards its reserve. Where that other cannot take off before the place is free, one goes first, one at a time. A lost Drone is
/// neither counted nor removed: when it comes back it is surplus, and the least of them goes. With none desired, all go.
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
    /// For a coordinator that receives too few agents: a Drone that is lost to it may be in the air, so none is made in its place.
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

/// Marks Drones as stuck that wait on the ground for a takeoff slot they will not get: as many are up as may be (`full`), and none of these
/// is on its way down. `has_slot`: has had its slot.
pub fn mark_stuck(members: &mut [Member], full: bool, has_slot: impl Fn(&DroneUid) -> bool) {
    let flies = |m: &Member| matches!(m.serving, Serving::Flying { .. });
    if !full || members.iter().any(|m| m.leaving && flies(m)) {
        return;
    }
    for member in members.iter_mut().filter(|m| m.serving == Serving::OnGround) {
        member.stuck |= !has_slot(&member.uid);
    }
}

/// Marks Drones that wait on the ground for the very place of another that they are to relieve, without a free place beside it: they do not
/// fly before that one leaves. `asks_for_slot`: asked to hold just in its slot.
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

/// From the least to the greatest loss; of flying ones, first those that should be replaced anyway, then those whose slot is gone.
fn order_of_removal(m: &Member, has_no_slot: bool) -> (u8, bool, bool, Serving, &str) {
    let loss = match m.serving {
        Serving::NoVehicle => 0,
        Serving::OnGround => 1,
        Serving::Unknown => 2,
        Serving::Flying { .. } => 3,
    };
    (loss, m.replace.is_none(), !has_no_slot, m.serving, &m.name)
}

/// Flying Drones to be replaced that may land now.
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
            // The two would wait for each other for ever.
            Some(_) if is_awaited(m) => bounds.unavailable.max(1),
            // Wait as long as another may still come.
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
