//! The parameters that are to be in force: read, set with the type that the autopilot reported, and read again.
//!
//! Owns: [`Parameters`], a plain state machine over all of them, one message at a time and paced, with a capped back-off each.
//! Must not: send, or take an answer to PARAM_SET for a proof: a parameter is in force once it was asked for and came back so.
//!
//!   Read --PARAM_VALUE, as wanted--> Settled
//!        --PARAM_VALUE, another--> Settled, and on the ground --PARAM_SET--> Confirm --PARAM_REQUEST_READ, PARAM_VALUE--> Settled
//!   Settled --PARAM_VALUE heard, no matter who asked--> Settled
//!           --checked again--> Check, which is as good as Settled while the answer may come --PARAM_VALUE--> Settled
//!
//! Recorded: neither autopilot answers about a name that it does not know, nor PX4 to a wrong type; ArduPilot answers to a
//! parameter that cannot be written with the old value and the text "Param write denied (NAME)".

use super::before::Before;
use super::reboot::counts_after_reboot;
use super::value::{decode, encode, same};
use super::{Remembered, Send};
use link::dialect::{
    MavMessage, MavParamError, MavParamType, PARAM_ERROR_DATA, PARAM_REQUEST_READ_DATA, PARAM_SET_DATA,
    PARAM_VALUE_DATA,
};
use model::backoff::Backoff;
use model::denied_parameters;
use model::rules::{Deviation, DeviationWhy, Enforce, Rules};
use model::time::Moment;
use model::vehicle::{Autopilot, Identity};
use std::collections::BTreeMap;
use std::time::Duration;

/// Between two messages.
const PACE: Duration = Duration::from_millis(100);
/// ArduCopter's fence goes by the kinds that it had when it was switched on: it is switched on once they are as wanted. Of others SYS_STATUS
/// would go on to say that they are on.
const KINDS: &str = "FENCE_TYPE";
const SWITCH: &str = "FENCE_ENABLE";
/// Before a parameter that did not come is asked for again.
const ASK_AGAIN: Backoff = Backoff {
    first: Duration::from_secs(1),
    cap: Duration::from_secs(60),
};
/// Before a parameter that did not take its value, or lost it again, is set again.
const SET_AGAIN: Backoff = Backoff {
    first: Duration::from_secs(2),
    cap: Duration::from_secs(300),
};
/// After so many requests without an answer the autopilot is taken not to have it.
const GIVE_UP_AFTER: u32 = 4;
/// What was set is read again after this long, or as soon as the autopilot has answered.
const CONFIRM_AFTER: Duration = Duration::from_millis(500);
/// A value that stays for this long has stayed.
const STAYED: Duration = Duration::from_secs(60);

/// What a step goes by.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Our autopilot.
    pub to: &'a Identity,
    /// Whether anything may be changed on it: it is on the ground and disarmed.
    pub may_write: bool,
    /// Its time since boot, as last heard, milliseconds.
    pub boot_ms: u32,
    /// The moment.
    pub now: Moment,
    /// 0.0 to 1.0.
    pub jitter: f64,
}

/// See the module text.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    entries: BTreeMap<String, Entry>,
    not_before: Moment,
}

#[derive(Clone, Debug)]
struct Entry {
    wanted: f64,
    enforce: Enforce,
    may_reboot: bool,
    /// No rule names it any more: it gets back what it was.
    back: bool,
    known: Option<(f64, MavParamType)>,
    stage: Stage,
    /// Requests without an answer.
    asked: u32,
    /// Times that it was set, since it last stayed.
    sets: u32,
    set_at: Option<Moment>,
    not_before: Moment,
    /// What the autopilot says against it, or we do.
    objection: Option<String>,
    /// It had the wanted value, and somebody else has set another since.
    foreign: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Read,
    Confirm,
    Settled,
    Check,
}

impl Entry {
    fn rests(&self) -> bool {
        self.stage == Stage::Settled || self.asked >= GIVE_UP_AFTER
    }

    /// Whether it is, as far as is known, still to be set.
    fn will_change(&self) -> bool {
        let gave_up = self.asked.max(self.sets) >= GIVE_UP_AFTER || self.objection.is_some();
        !self.has_value() && !gave_up && self.enforce != Enforce::Report
    }

    fn new(wanted: f64, enforce: Enforce, may_reboot: bool, back: bool) -> Self {
        Self {
            wanted,
            enforce,
            may_reboot,
            back,
            known: None,
            stage: Stage::Read,
            asked: 0,
            sets: 0,
            set_at: None,
            not_before: Moment::default(),
            objection: None,
            foreign: false,
        }
    }

    fn has_value(&self) -> bool {
        self.is_known() && self.had_value()
    }

    /// Whether it had the wanted value when it was read last, however long ago.
    fn had_value(&self) -> bool {
        self.known.is_some_and(|(value, kind)| same(self.wanted, value, kind))
    }

    const fn is_known(&self) -> bool {
        matches!(self.stage, Stage::Settled | Stage::Check)
    }
}

impl Parameters {
    /// Those that `memory` names: of its rules, and those of before that no rule names any more. What is known of them stays known.
    pub fn follow(&mut self, memory: &Remembered) {
        let mut old = std::mem::take(&mut self.entries);
        let wanted = memory.held.iter().flat_map(|rules: &Rules| &rules.parameters);
        let wanted = wanted.map(|p| (p.name.clone(), Entry::new(p.value, p.enforce, p.may_reboot, false)));
        for (name, mut entry) in wanted {
            if let Some(old) = old.remove(&name) {
                (entry.known, entry.stage) = (old.known, old.stage);
            }
            self.entries.insert(name, entry);
        }
        for (name, value) in &memory.before.parameters {
            if self.entries.contains_key(name) {
                continue;
            }
            let mut entry = Entry::new(*value, Enforce::Apply, false, true);
            if let Some(old) = old.remove(name) {
                (entry.known, entry.stage) = (old.known, old.stage);
            }
            self.entries.insert(name.clone(), entry);
        }
    }

    /// What is known may be wrong by now: the autopilot has rebooted, or was away.
    pub fn read_again(&mut self) {
        for entry in self.entries.values_mut() {
            (entry.stage, entry.asked, entry.not_before) = (Stage::Read, 0, Moment::default());
        }
    }

    /// They are read again, and stay as they are known until another value comes: a notice of a change may have been lost.
    pub fn check(&mut self) {
        for entry in self.entries.values_mut().filter(|entry| entry.stage == Stage::Settled) {
            (entry.stage, entry.asked) = (Stage::Check, 0);
        }
    }

    /// The next message, if one is due.
    pub fn next(&mut self, memory: &mut Before, input: StepInput<'_>) -> Option<Send> {
        if input.now < self.not_before {
            return None;
        }
        let kinds_wait = self.entries.get(KINDS).is_some_and(Entry::will_change);
        let due = self
            .entries
            .iter_mut()
            .filter(|(name, entry)| input.now >= entry.not_before && !(kinds_wait && *name == SWITCH));
        for (name, entry) in due {
            if let Some(send) = entry.next(name, memory, input) {
                self.not_before = input.now.plus(PACE);
                return Some(send);
            }
        }
        None
    }

    /// Takes a PARAM_VALUE (22) of our autopilot, no matter who asked for it.
    pub fn receive(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment, jitter: f64) {
        let Ok(name) = m.param_id.to_str() else { return };
        if let Some(entry) = self.entries.get_mut(name) {
            entry.receive(autopilot, m, now, jitter);
        }
    }

    /// Takes a PARAM_ERROR (345) of our autopilot, no matter whose message it answers.
    pub fn failed(&mut self, m: &PARAM_ERROR_DATA, now: Moment) {
        let Ok(name) = m.param_id.to_str() else { return };
        if let Some(entry) = self.entries.get_mut(name) {
            entry.objection = Some(words(name, m.error));
            entry.asked = entry.asked.max(GIVE_UP_AFTER);
            entry.not_before = entry.not_before.max(now.plus(ASK_AGAIN.cap));
        }
    }

    /// Takes a text of our autopilot.
    pub fn text(&mut self, text: &str) {
        let denied = text.strip_prefix("Param write denied (");
        let Some(name) = denied.and_then(|rest| rest.strip_suffix(')')) else {
            return;
        };
        if let Some(entry) = self.entries.get_mut(name) {
            entry.objection = Some(denied_words(name));
        }
    }

    /// Whether nothing is under way or about to be.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.entries.values().all(Entry::rests)
    }

    /// Those that have what they had before ours, and are to be forgotten.
    pub fn given_back(&mut self) -> Vec<String> {
        let back = self.entries.iter().filter(|(_, entry)| entry.back && entry.has_value());
        let names: Vec<String> = back.map(|(name, _)| name.clone()).collect();
        for name in &names {
            self.entries.remove(name);
        }
        names
    }

    /// Whether a reboot is asked for, and brings one in force.
    #[must_use]
    pub fn wants_reboot(&self, memory: &Before) -> bool {
        let waits = |(name, entry): (&String, &Entry)| {
            entry.may_reboot && entry.has_value() && memory.waits_for_reboot.contains_key(name)
        };
        self.entries.iter().any(waits)
    }

    /// How many that rules name are in force.
    #[must_use]
    pub fn in_force(&self, memory: &Before) -> usize {
        let of_rules = self.entries.iter().filter(|(_, entry)| !entry.back);
        of_rules
            .filter(|(name, entry)| entry.deviation(name, memory, true).is_none())
            .count()
    }

    /// Those that are not in force.
    pub fn deviations<'a>(&'a self, memory: &'a Before, may_write: bool) -> impl Iterator<Item = Deviation> + use<'a> {
        let entries = self.entries.iter();
        entries.filter_map(move |(name, entry)| entry.deviation(name, memory, may_write))
    }
}

impl Entry {
    fn next(&mut self, name: &str, memory: &mut Before, input: StepInput<'_>) -> Option<Send> {
        let StepInput {
            to,
            may_write,
            boot_ms,
            now,
            jitter,
        } = input;
        let (target_system, target_component) = (to.system.0, to.component.0);
        let (value, kind) = match (self.stage, self.known) {
            (Stage::Settled, Some(known)) => known,
            (Stage::Read | Stage::Confirm | Stage::Check, _) | (Stage::Settled, None) => {
                if self.stage == Stage::Check && self.asked >= GIVE_UP_AFTER {
                    self.stage = Stage::Read;
                }
                self.asked = self.asked.saturating_add(1);
                self.not_before = now.plus(ASK_AGAIN.delay(self.asked, jitter));
                return Some(Send::whenever(MavMessage::PARAM_REQUEST_READ(
                    PARAM_REQUEST_READ_DATA {
                        param_index: -1,
                        target_system,
                        target_component,
                        param_id: name.into(),
                    },
                )));
            }
        };
        if same(self.wanted, value, kind) || self.enforce == Enforce::Report || !may_write {
            return None;
        }
        let field = match self
            .may_be_set(to.autopilot, name)
            .and_then(|()| encode(to.autopilot, self.wanted, kind))
        {
            Ok(field) => field,
            Err(why) => {
                self.objection = Some(why);
                return None;
            }
        };
        // PX4 keeps what is no number, which nobody wants back.
        if !self.back && value.is_finite() && (self.foreign || !memory.parameters.contains_key(name)) {
            memory.parameters.insert(name.to_owned(), value);
        }
        self.foreign = false;
        if counts_after_reboot(to.autopilot, name) {
            memory.waits_for_reboot.insert(name.to_owned(), boot_ms);
        }
        if self.set_at.is_some_and(|at| now.since(at) >= STAYED) {
            self.sets = 0;
        }
        self.sets = self.sets.saturating_add(1);
        self.set_at = Some(now);
        (self.stage, self.asked) = (Stage::Confirm, 0);
        self.not_before = now.plus(CONFIRM_AFTER);
        Some(Send::once_remembered(MavMessage::PARAM_SET(PARAM_SET_DATA {
            param_value: field,
            target_system,
            target_component,
            param_id: name.into(),
            param_type: kind,
        })))
    }

    /// The coordinator has refused it already; what an autopilot is given is not left to that alone. A value of before is its own.
    fn may_be_set(&self, autopilot: Autopilot, name: &str) -> Result<(), String> {
        if self.back {
            return Ok(());
        }
        match denied_parameters::aboard(autopilot, name, self.wanted) {
            Some(why) => Err(format!(
                "the agent does not set it to {}: {why}; take it out of the profile",
                self.wanted
            )),
            None => Ok(()),
        }
    }

    fn receive(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment, jitter: f64) {
        let Some(value) = decode(autopilot, m.param_value, m.param_type) else {
            self.objection =
                Some("it is a number of 64 bits, which the agent does not read; take it out of the profile".to_owned());
            self.not_before = now.plus(ASK_AGAIN.cap);
            return;
        };
        if self.stage == Stage::Confirm && self.asked == 0 {
            // The answer to the setting; that it is so is asked for.
            self.not_before = now.plus(PACE);
            return;
        }
        let kind = match (autopilot, m.param_type, self.known) {
            // ArduPilot answers to a setting as if it were a float where its storage had no value before (recorded).
            (Autopilot::ArduPilot, MavParamType::MAV_PARAM_TYPE_REAL32, Some((_, known))) => known,
            _ => m.param_type,
        };
        let has_it = same(self.wanted, value, kind);
        self.foreign = !has_it && (self.foreign || self.had_value());
        self.known = Some((value, kind));
        (self.stage, self.asked) = (Stage::Settled, 0);
        if has_it {
            self.objection = None;
            self.not_before = Moment::default();
        } else if self.sets > 0 {
            self.not_before = self.set_at.unwrap_or(now).plus(SET_AGAIN.delay(self.sets, jitter));
        } else {
            self.not_before = Moment::default();
        }
    }

    fn deviation(&self, name: &str, memory: &Before, may_write: bool) -> Option<Deviation> {
        let waits_for_reboot = !self.back && memory.waits_for_reboot.contains_key(name);
        if self.has_value() && !waits_for_reboot {
            return None;
        }
        let actual = self.known.map(|(value, _)| value);
        let why = if self.has_value() {
            DeviationWhy::NeedsReboot
        } else if !self.is_known() && self.asked >= GIVE_UP_AFTER {
            let none = || {
                format!(
                    "the autopilot has no parameter {name}, or does not answer for it; correct the name, or check the link"
                )
            };
            DeviationWhy::Refused(self.objection.clone().unwrap_or_else(none))
        } else if let (true, Some(objection)) = (self.is_known(), &self.objection) {
            DeviationWhy::Refused(objection.clone())
        } else if self.enforce == Enforce::Report && self.is_known() {
            DeviationWhy::ReportOnly
        } else if !self.is_known() && self.sets == 0 {
            DeviationWhy::Working
        } else if !may_write {
            DeviationWhy::WaitsForGround
        } else if self.sets >= GIVE_UP_AFTER {
            DeviationWhy::Refused(format!(
                "it does not stay: it was set {} times and is another again; find who sets it, or take it out of the profile",
                self.sets
            ))
        } else {
            DeviationWhy::Working
        };
        Some(Deviation {
            name: name.to_owned(),
            wanted: self.wanted,
            actual,
            why,
        })
    }
}

fn denied_words(name: &str) -> String {
    format!("the autopilot does not let {name} be written; take it out of the profile")
}

fn words(name: &str, error: MavParamError) -> String {
    match error {
        MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST => {
            format!("the autopilot has no parameter {name}; correct the name, or take it out of the profile")
        }
        MavParamError::MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE => {
            format!("the autopilot does not take this value for {name}: it is out of range; give another")
        }
        MavParamError::MAV_PARAM_ERROR_PERMISSION_DENIED | MavParamError::MAV_PARAM_ERROR_READ_ONLY => {
            denied_words(name)
        }
        other => format!("the autopilot refuses {name} ({other:?}); set it with its own tools"),
    }
}
