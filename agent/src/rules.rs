//! Rules on board: the fence and the parameters that are to be in force on the autopilot, brought about and watched.
//!
//! Owns: [`Board`], a plain state machine: what to send next for the rules that are held, and what is reported of them; and
//! [`Remembered`], what of it is kept on the disk. Must not: send, read a clock, or change anything on a vehicle that is armed or not
//! known to be on the ground; there it only reads.
//!
//! The fence goes first, then the parameters, one message at a time. What was on the autopilot before ours is on the disk before the
//! first message that changes it, and is given back when no rule is left; what somebody else has put in the place of ours since then is
//! what was before. Each airframe has its own. Nothing is sent while no rules are held and none ever were, and nothing while nothing
//! changes, but for a check now and then on the ground: PX4's `_HASH_CHECK`, one message in five minutes, and on ArduPilot, which reports a
//! change only once, fence and parameters again after each flight, and ever more rarely, down to once in fifteen minutes.

mod before;
mod fence;
mod items;
mod parameters;
mod reboot;
mod switch;
pub(crate) mod transfer;
mod unheard;
mod value;

use self::before::Before;
use self::fence::{FenceKeeper, Goal, Ground};
use self::items::items;
use self::parameters::{Parameters, StepInput};
use self::switch::FenceSwitch;
use link::dialect::{MavMessage, PARAM_REQUEST_READ_DATA};
use model::backoff::Backoff;
use model::rules::{FenceState, MOST_DEVIATIONS, Outline, Rules, RulesReport};
use model::time::Moment;
use model::units::{Address, Wgs84};
use model::vehicle::{Autopilot, HardwareUid, Identity};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tracing::{info, warn};

/// PX4's number of all its parameters.
const HASH: &str = "_HASH_CHECK";
const HASH_EVERY: Duration = Duration::from_secs(300);
/// From one check of what is in force on ArduPilot to the next.
const CHECK_AGAIN: Backoff = Backoff {
    first: Duration::from_secs(60),
    cap: Duration::from_secs(900),
};
/// What was not checked for this long because of a flight is checked after it.
const FLOWN: Duration = Duration::from_secs(10);
/// After a silence of the autopilot of this long its rules are read again.
const AWAY_AFTER: Duration = Duration::from_secs(15);
/// Between two reboots, so that one that does not help does not go on for ever.
const REBOOT_AGAIN_AFTER: Duration = Duration::from_secs(600);
/// After a write the vehicle is not armed for this long, whatever its Drone wants: the fence may be half of one.
const WRITE_SETTLES: Duration = Duration::from_secs(3);
/// Nor after a reboot was ordered: what was last heard of the autopilot is of before.
const REBOOT_TAKES: Duration = Duration::from_secs(15);

/// Most airframes besides the one on the line of which it is remembered what was on them before.
const MOST_OTHERS: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    pub held: Option<Rules>,
    /// Airframe that all below is about; `None`: it has no number.
    #[serde(default)]
    pub hardware: Option<HardwareUid>,
    #[serde(flatten)]
    pub before: Before,
    /// What was on other airframes before ours, that were on this line and have not got it back.
    #[serde(default)]
    pub others: Vec<(HardwareUid, Before)>,
}

impl Remembered {
    fn goal(&self) -> Option<Goal> {
        let ours = self.held.as_ref().and_then(|rules| rules.fence.as_ref());
        match (ours, &self.before.fence) {
            (Some(fence), _) => Some(Goal {
                items: items(fence),
                back: false,
            }),
            (None, Some(before)) => Some(Goal {
                items: before.clone(),
                back: true,
            }),
            (None, None) => None,
        }
    }

    fn is_idle(&self) -> bool {
        self.held.as_ref().is_none_or(Rules::is_empty) && self.before.is_nothing() && self.others.is_empty()
    }

    fn change_airframe(&mut self, to: HardwareUid) {
        let left = std::mem::take(&mut self.before);
        if let Some(known) = self.hardware.replace(to).filter(|_| !left.is_nothing()) {
            self.others.retain(|(uid, _)| *uid != known);
            self.others.push((known, left));
        }
        if let Some(at) = self.others.iter().position(|(uid, _)| *uid == to) {
            self.before = self.others.remove(at).1;
            // Whatever it is now, it was somewhere else meanwhile.
            self.before.heard_out = None;
        }
        if self.others.len() > MOST_OTHERS {
            let (uid, _) = self.others.remove(0);
            warn!(%uid, "too many airframes were on the line: what was on this one before is forgotten");
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    pub message: MavMessage,
    /// It changes something: what is remembered must be on the disk first.
    pub once_remembered: bool,
}

impl Send {
    pub(crate) const fn whenever(message: MavMessage) -> Self {
        Self {
            message,
            once_remembered: false,
        }
    }

    const fn once_remembered(message: MavMessage) -> Self {
        Self {
            message,
            once_remembered: true,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub to: &'a Identity,
    pub home: Option<Wgs84>,
    /// Whether it is on the ground and disarmed, and stays so for now as far as we know.
    pub may_write: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Board {
    memory: Remembered,
    goal: Option<Goal>,
    fence: FenceKeeper,
    switch: FenceSwitch,
    parameters: Parameters,
    may_write: bool,
    /// Which airframe this is is not known, though that of before was.
    unread: bool,
    heard_at: Option<Moment>,
    /// The autopilot's time since boot, as last heard, milliseconds.
    boot_ms: Option<u32>,
    hash: Option<u32>,
    hash_asked_at: Option<Moment>,
    /// Checks of what is in force, since something changed, and when the last one was, or the change.
    checks: u32,
    checked_at: Option<Moment>,
    /// Since when it has not been on the ground, as far as is known; whether that was long enough to check again.
    held_up_since: Option<Moment>,
    flown: bool,
    rebooted_at: Option<Moment>,
    wrote_at: Option<Moment>,
}

impl Board {
    /// Nothing is in force until it was read back.
    pub fn new(memory: Remembered) -> Self {
        let mut board = Self {
            memory,
            ..Self::default()
        };
        board.goal = board.memory.goal();
        board.parameters.follow(&board.memory);
        board
    }

    pub fn is_idle(&self) -> bool {
        self.memory.is_idle()
    }

    pub const fn memory(&self) -> &Remembered {
        &self.memory
    }

    /// Those that it has already change nothing.
    pub fn take(&mut self, rules: Rules) {
        if !is_finite(&rules) {
            warn!(digest = %rules.digest, "rules refused: a number of theirs is none, which is a fault of the coordinator");
            return;
        }
        let old = self.memory.held.as_ref();
        if old.is_some_and(|old| old.digest == rules.digest) {
            self.memory.held = Some(rules);
            return;
        }
        info!(
            digest = %rules.digest,
            fence_items = rules.fence.as_ref().map(model::rules::Fence::items),
            parameters = rules.parameters.len(),
            "rules taken"
        );
        if self.memory.is_idle() {
            // What was read last may be long ago.
            self.read_again();
        }
        self.memory.held = Some(rules);
        self.hash = None;
        self.parameters.follow(&self.memory);
        self.set_goal();
    }

    fn set_goal(&mut self) {
        let goal = self.memory.goal();
        if goal != self.goal {
            self.goal = goal;
            self.memory.before.heard_out = None;
            self.fence.goal_changed();
        }
    }

    pub fn rebooted(&mut self) {
        self.memory.before.waits_for_reboot.clear();
        self.boot_ms = None;
        self.read_again();
    }

    fn read_again(&mut self) {
        self.hash = None;
        self.fence.read_again();
        self.parameters.read_again();
    }

    /// `us`: our system and component id.
    pub fn receive(&mut self, message: &MavMessage, from: &Identity, us: Address, now: Moment, jitter: f64) {
        if self.memory.is_idle() {
            return;
        }
        if self.heard_at.is_some_and(|at| now.since(at) >= AWAY_AFTER) {
            self.read_again();
        }
        self.heard_at = Some(now);
        if let Some(ms) = link::backlog::boot_ms(message).filter(|_| !matches!(message, MavMessage::EVENT(_))) {
            // What is known from an earlier life is judged by the first time that is heard in this one.
            if self.boot_ms.is_none() && self.memory.before.waits_for_reboot.values().any(|at| ms < *at) {
                self.memory.before.waits_for_reboot.clear();
            }
            self.boot_ms = Some(ms);
        }
        self.fence.receive(message, us, now);
        self.heed_discards();
        match message {
            MavMessage::PARAM_VALUE(m) => {
                if m.param_id.to_str() == Ok(HASH) {
                    self.hashed(m.param_value.to_bits());
                }
                self.parameters.receive(from.autopilot, m, now, jitter);
            }
            MavMessage::PARAM_ERROR(m) => self.parameters.failed(m, now),
            MavMessage::SYS_STATUS(m) => self.switch.receive(m, from.autopilot, self.wrote_at, now),
            _ => {}
        }
    }

    fn hashed(&mut self, hash: u32) {
        let before = self.hash.replace(hash);
        if before.is_some_and(|before| before != hash) {
            info!("a parameter of the autopilot was changed; those of the rules are read again");
            self.parameters.read_again();
        }
    }

    pub fn text(&mut self, text: &str) {
        self.fence.text(text);
        self.heed_discards();
        self.parameters.text(text);
    }

    /// That nothing of our fence was discarded is remembered no longer, also over a restart.
    fn heed_discards(&mut self) {
        if self.fence.is_discarded() {
            self.memory.before.heard_out = None;
        }
    }

    /// Call it only while nothing else is to be sent.
    pub fn next(&mut self, situation: Situation<'_>, now: Moment, jitter: f64) -> Option<Send> {
        if situation.may_write {
            self.flown |= self.held_up_since.take().is_some_and(|since| now.since(since) >= FLOWN);
        } else {
            let _ = self.held_up_since.get_or_insert(now);
        }
        self.may_write = situation.may_write;
        if self.memory.is_idle() {
            return None;
        }
        self.unread = !self.is_same_airframe(situation.to);
        if self.unread {
            return None;
        }
        let Situation { to, home, may_write } = situation;
        let is_replaced = |goal: &Goal| self.fence.is_replaced(goal, &self.memory.before);
        if self.goal.as_ref().is_some_and(is_replaced) {
            info!("somebody else has put a fence in the place of ours, and it stays");
            self.memory.before.forget_fence();
            self.set_goal();
        }
        if let Some(goal) = &self.goal {
            let ground = Ground { to, home, may_write };
            if let Some(send) = self.fence.next(goal, &mut self.memory.before, ground, now, jitter) {
                if self.fence.is_writing() {
                    self.wrote_at = Some(now);
                }
                return Some(send);
            }
            if goal.back && self.fence.in_force() {
                info!("the fence of before was given back");
                self.memory.before.forget_fence();
                self.set_goal();
            }
        }
        let input = StepInput {
            to,
            may_write,
            boot_ms: self.boot_ms.unwrap_or(0),
            now,
            jitter,
        };
        if let Some(send) = self.parameters.next(&mut self.memory.before, input) {
            if send.once_remembered {
                self.hash = None;
                self.wrote_at = Some(now);
            }
            return Some(send);
        }
        for name in self.parameters.given_back() {
            info!(name, "a parameter has the value of before again");
            self.memory.before.forget_parameter(&name);
        }
        let rest = may_write && self.parameters.at_rest() && (self.goal.is_none() || self.fence.in_force());
        if rest
            && self.switch.is_off(self.memory.held.as_ref())
            && let Some(message) = self.switch.next(to, now, jitter)
        {
            warn!("{}", switch::OFF);
            self.wrote_at = Some(now);
            return Some(Send::whenever(message));
        }
        self.check_again(to, now, jitter);
        self.next_hash(to, now)
    }

    /// ArduPilot says once that its fence or a parameter was changed, and that may be lost on the line. A PX4 that gives its fence no number
    /// never says it.
    fn check_again(&mut self, to: &Identity, now: Moment, jitter: f64) {
        let in_force = self.goal.is_none() || self.fence.in_force();
        let reports = to.autopilot == Autopilot::Px4 && !self.fence.is_unnumbered();
        if reports || !self.may_write || !in_force || !self.parameters.at_rest() {
            return;
        }
        let changed = |at: &Moment| self.wrote_at.is_none_or(|wrote| wrote <= *at);
        let Some(at) = self.checked_at.filter(changed) else {
            (self.checked_at, self.checks) = (Some(now), 0);
            return;
        };
        let flown = std::mem::take(&mut self.flown);
        if !flown && now.since(at) < CHECK_AGAIN.delay(self.checks.saturating_add(1), jitter) {
            return;
        }
        (self.checked_at, self.checks) = (Some(now), self.checks.saturating_add(1));
        self.fence.check();
        self.parameters.check();
    }

    /// What was there before belongs to an airframe. On another nothing is given back; while it is not known which one this is, nothing
    /// is done.
    fn is_same_airframe(&mut self, to: &Identity) -> bool {
        match (self.memory.hardware, to.hardware) {
            (None, Some(uid)) => self.memory.hardware = Some(uid),
            (None, None) => {}
            (Some(known), Some(uid)) if known == uid => {}
            (Some(known @ HardwareUid::Short(_)), Some(uid @ HardwareUid::Short(_)))
            | (Some(known @ HardwareUid::Long(_)), Some(uid @ HardwareUid::Long(_))) => {
                warn!(%known, %uid, "another airframe is on the line: what was on each before is given back to that one only");
                self.memory.change_airframe(uid);
                self.boot_ms = None;
                self.goal = None;
                self.set_goal();
                self.parameters = Parameters::default();
                self.parameters.follow(&self.memory);
                self.read_again();
            }
            // On a MAVLink 1 link the same one may show the other number, or none.
            (Some(_), Some(_) | None) => return false,
        }
        true
    }

    fn next_hash(&mut self, to: &Identity, now: Moment) -> Option<Send> {
        let watched = self
            .memory
            .held
            .as_ref()
            .is_some_and(|rules| !rules.parameters.is_empty());
        let due = self.hash_asked_at.is_none_or(|at| now.since(at) >= HASH_EVERY);
        if to.autopilot != Autopilot::Px4 || !self.may_write || !watched || !due || !self.parameters.at_rest() {
            return None;
        }
        self.hash_asked_at = Some(now);
        Some(Send::whenever(MavMessage::PARAM_REQUEST_READ(
            PARAM_REQUEST_READ_DATA {
                param_index: -1,
                target_system: to.system.0,
                target_component: to.component.0,
                param_id: HASH.into(),
            },
        )))
    }

    /// Whether the autopilot is to be rebooted now: a rule asks for it, all else is done, and the vehicle is on the ground. The caller
    /// sees to it that it is idle.
    pub fn wants_reboot(&self, now: Moment) -> bool {
        self.may_write
            && !self.unread
            && self.parameters.at_rest()
            && self.parameters.wants_reboot(&self.memory.before)
            && (self.goal.is_none() || self.fence.in_force())
            && self.rebooted_at.is_none_or(|at| now.since(at) >= REBOOT_AGAIN_AFTER)
    }

    pub const fn reboot_ordered(&mut self, now: Moment) {
        self.rebooted_at = Some(now);
    }

    /// PX4 takes part in one transfer at a time.
    pub const fn is_transferring(&self) -> bool {
        self.fence.is_transferring()
    }

    /// Whether fence or parameters are being changed just now, or the autopilot is being rebooted: the vehicle is not armed meanwhile.
    pub fn is_changing(&self, now: Moment) -> bool {
        let lately = |at: Option<Moment>, span| at.is_some_and(|at| now.since(at) < span);
        lately(self.wrote_at, WRITE_SETTLES) || lately(self.rebooted_at, REBOOT_TAKES)
    }

    pub fn report(&self) -> RulesReport {
        let held = self.memory.held.as_ref();
        let fence = match &self.goal {
            None => FenceState::None,
            Some(_) if self.unread => FenceState::Working,
            Some(_) => self.fence.state(self.may_write),
        };
        let fence = match fence {
            FenceState::None | FenceState::InForce if self.switch.is_off(held) => {
                FenceState::Drifted(switch::OFF.to_owned())
            }
            fence => fence,
        };
        let mut named = self.parameters.deviations(&self.memory.before, self.may_write);
        named.truncate(MOST_DEVIATIONS);
        let fence_done = matches!(fence, FenceState::None | FenceState::InForce);
        RulesReport {
            held: held.map(|rules| rules.digest.clone()),
            parameters_in_force: u32::try_from(self.parameters.in_force(&self.memory.before)).unwrap_or(u32::MAX),
            in_force: held.is_some() && fence_done && named.is_empty() && !self.unread,
            fence,
            deviations: named,
        }
    }
}

/// A number that is not finite could not be read back from the disk.
fn is_finite(rules: &Rules) -> bool {
    let finite = |at: Wgs84| at.latitude_deg.is_finite() && at.longitude_deg.is_finite();
    let shapes = rules.fence.iter().flat_map(|fence| &fence.shapes);
    let mut outlines = shapes.map(|shape| &shape.outline);
    outlines.all(|outline| match outline {
        Outline::Polygon(vertices) => vertices.iter().all(|at| finite(*at)),
        Outline::Circle { center, radius } => finite(*center) && radius.0.is_finite(),
    }) && rules.parameters.iter().all(|parameter| parameter.value.is_finite())
}

#[cfg(test)]
mod tests;
