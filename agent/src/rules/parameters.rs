//! The parameters that are to be in force: read, set with the type that the autopilot reported, and read again.
//!
//!   Read --PARAM_VALUE, as wanted--> Settled
//!        --PARAM_VALUE, another--> Settled, and on the ground --PARAM_SET--> Confirm --PARAM_REQUEST_READ, PARAM_VALUE--> Settled
//!   Settled --PARAM_VALUE heard, no matter who asked--> Settled
//!           --checked again--> Check, which is as good as Settled while the answer may come --PARAM_VALUE--> Settled
//!
//! A parameter that is wanted by meaning, and one that is given back, is asked for under each name that versions have for it
//! ([`model::parameter_meaning`]), until one is answered; it is set under that name, in its unit.
//!
//! Recorded: ArduCopter until 4.7-dev and PX4 until 1.17 do not answer about a name that they do not know, later ones do by PARAM_ERROR. PX4
//! does not answer to a wrong type. ArduPilot answers to a parameter that cannot be written with the old value and the text "Param write
//! denied (NAME)".

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
use model::parameter_meaning::{self, Name};
use model::rules::{Deviation, DeviationWhy, Enforce, Rules, WantedParameter};
use model::time::Moment;
use model::vehicle::{Autopilot, Identity};
use std::collections::BTreeMap;
use std::time::Duration;

const PACE: Duration = Duration::from_millis(100);
/// ArduCopter's fence goes by the kinds that it had when it was switched on: it is switched on once they are as wanted. Of others SYS_STATUS
/// would go on to say that they are on.
const KINDS: &str = "FENCE_TYPE";
const SWITCH: &str = "FENCE_ENABLE";
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

#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    pub to: &'a Identity,
    /// On the ground and disarmed.
    pub may_write: bool,
    /// Milliseconds since boot, as last heard.
    pub boot_ms: u32,
    pub now: Moment,
    /// 0.0 to 1.0.
    pub jitter: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Parameters {
    entries: BTreeMap<String, Entry>,
    not_before: Moment,
}

#[derive(Clone, Debug)]
struct Entry {
    /// In the unit of the name at `given`.
    wanted: f64,
    /// Empty: only its own.
    names: &'static [Name],
    given: usize,
    /// Place of the name that has answered.
    at: usize,
    /// Place of the name that is asked for.
    asks: usize,
    /// A bit for each that the autopilot does not have, by its own account.
    missing: u8,
    enforce: Enforce,
    may_reboot: bool,
    /// No rule names it any more: it gets back what it was.
    back: bool,
    known: Option<(f64, MavParamType)>,
    stage: Stage,
    asked: u32,
    /// Since it last stayed.
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

const STACKS: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

impl Entry {
    fn of(wanted: &WantedParameter) -> Self {
        let entry = Self::new(wanted.value, wanted.enforce, wanted.may_reboot, false);
        if wanted.any_name {
            entry.under_any_name(&wanted.name)
        } else {
            entry
        }
    }

    /// Wanted by `name`, and set under the one that the autopilot has for it.
    fn under_any_name(mut self, name: &str) -> Self {
        let names = STACKS.map(|stack| parameter_meaning::convertible(stack, name));
        self.names = names.into_iter().find(|names| !names.is_empty()).unwrap_or_default();
        self.given = self.place(name, name).unwrap_or_default();
        (self.at, self.asks) = (self.given, self.given);
        self
    }

    fn count(&self) -> u32 {
        u32::try_from(self.names.len().max(1)).unwrap_or(u32::MAX)
    }

    /// The name that the autopilot has for `wanted`, as far as is known.
    fn own<'a>(&self, wanted: &'a str) -> &'a str {
        self.name(self.at, wanted)
    }

    fn name<'a>(&self, at: usize, wanted: &'a str) -> &'a str {
        self.names.get(at).map_or(wanted, |name| name.name)
    }

    fn place(&self, wanted: &str, name: &str) -> Option<usize> {
        match self.names {
            [] => (wanted == name).then_some(0),
            names => names.iter().position(|known| known.name == name),
        }
    }

    fn convert(&self, number: f64, from: usize, to: usize) -> f64 {
        match (self.names.get(from), self.names.get(to)) {
            (Some(one), Some(other)) if from != to => other.write(one.read(number)),
            _ => number,
        }
    }

    fn number(&self) -> f64 {
        self.convert(self.wanted, self.given, self.at)
    }

    /// In the unit in which it is wanted.
    fn as_wanted(&self, number: f64) -> f64 {
        self.convert(number, self.at, self.given)
    }

    /// By the autopilot's own account.
    fn is_missing(&self) -> bool {
        self.missing.count_ones() >= self.count()
    }

    fn ask_by_next_name(&mut self) {
        let count = self.names.len();
        let mut others = (1..count).map(|step| (self.asks + step) % count);
        if let Some(other) = others.find(|other| self.missing & (1_u8 << *other) == 0) {
            self.asks = other;
        }
    }

    fn gave_up(&self) -> bool {
        self.is_missing() || self.asked >= GIVE_UP_AFTER.saturating_mul(self.count())
    }

    fn rests(&self) -> bool {
        self.stage == Stage::Settled || self.gave_up()
    }

    fn will_change(&self) -> bool {
        let gave_up = self.gave_up() || self.sets >= GIVE_UP_AFTER || self.objection.is_some();
        !self.has_value() && !gave_up && self.enforce != Enforce::Report
    }

    /// Keeps what is known by `old`, if that is about the same parameter of the autopilot; both are of `wanted`.
    fn carry(&mut self, old: &Self, wanted: &str) {
        if let Some(at) = self.place(wanted, old.own(wanted)) {
            (self.at, self.asks) = (at, at);
            (self.known, self.stage) = (old.known, old.stage);
        }
    }

    fn new(wanted: f64, enforce: Enforce, may_reboot: bool, back: bool) -> Self {
        Self {
            wanted,
            names: &[],
            given: 0,
            at: 0,
            asks: 0,
            missing: 0,
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
        self.known.is_some_and(|(value, kind)| same(self.number(), value, kind))
    }

    const fn is_known(&self) -> bool {
        matches!(self.stage, Stage::Settled | Stage::Check)
    }
}

impl Parameters {
    /// Parameters of the rules, and those that no rule names any more and that get back what they were. What is known of them stays known.
    pub fn follow(&mut self, memory: &Remembered) {
        let mut old = std::mem::take(&mut self.entries);
        let wanted = memory.held.iter().flat_map(|rules: &Rules| &rules.parameters);
        for wanted in wanted {
            let mut entry = Entry::of(wanted);
            if let Some(old) = old.remove(&wanted.name) {
                entry.carry(&old, &wanted.name);
            }
            self.entries.insert(wanted.name.clone(), entry);
        }
        for (name, value) in &memory.before.parameters {
            let of = |(wanted, entry): (&String, &Entry)| entry.place(wanted, name).is_some();
            if self.entries.iter().any(of) {
                continue;
            }
            let plain = Entry::new(*value, Enforce::Apply, false, true);
            // The autopilot may have another version by now, unless another of its names has an entry of its own.
            let mut entry = plain.clone().under_any_name(name);
            if entry.names.iter().any(|other| self.entries.contains_key(other.name)) {
                entry = plain;
            }
            if let Some(old) = old.remove(name) {
                entry.carry(&old, name);
            }
            self.entries.insert(name.clone(), entry);
        }
    }

    /// After a reboot or an absence of the autopilot.
    pub fn read_again(&mut self) {
        for entry in self.entries.values_mut() {
            (entry.stage, entry.asked, entry.not_before) = (Stage::Read, 0, Moment::default());
            // It may be another version by now.
            entry.missing = 0;
        }
    }

    /// They are read again, and stay as they are known until another value comes: a notice of a change may have been lost.
    pub fn check(&mut self) {
        for entry in self.entries.values_mut().filter(|entry| entry.stage == Stage::Settled) {
            (entry.stage, entry.asked) = (Stage::Check, 0);
        }
    }

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

    /// No matter who asked for it.
    pub fn receive(&mut self, autopilot: Autopilot, m: &PARAM_VALUE_DATA, now: Moment, jitter: f64) {
        let Ok(name) = m.param_id.to_str() else { return };
        if let Some((entry, at)) = self.entry_of(name) {
            (entry.at, entry.asks) = (at, at);
            entry.missing &= !(1_u8 << at);
            entry.receive(autopilot, m, now, jitter);
        }
    }

    /// The entry that has `name` among its names, and its place there.
    fn entry_of(&mut self, name: &str) -> Option<(&mut Entry, usize)> {
        let mut entries = self.entries.iter_mut();
        entries.find_map(|(wanted, entry)| entry.place(wanted, name).map(|at| (entry, at)))
    }

    /// No matter whose message it answers.
    pub fn failed(&mut self, m: &PARAM_ERROR_DATA, now: Moment) {
        let Ok(name) = m.param_id.to_str() else { return };
        let Some((entry, at)) = self.entry_of(name) else { return };
        if m.error == MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST {
            entry.missing |= 1_u8 << at;
            if entry.asks == at {
                entry.stage = Stage::Read;
                entry.ask_by_next_name();
                entry.not_before = now;
            }
            return;
        }
        entry.objection = Some(words(name, m.error));
        entry.asked = entry.asked.max(GIVE_UP_AFTER.saturating_mul(entry.count()));
        entry.not_before = entry.not_before.max(now.plus(ASK_AGAIN.cap));
    }

    pub fn text(&mut self, text: &str) {
        let denied = text.strip_prefix("Param write denied (");
        let Some(name) = denied.and_then(|rest| rest.strip_suffix(')')) else {
            return;
        };
        if let Some((entry, _)) = self.entry_of(name) {
            entry.objection = Some(denied_words(name));
        }
    }

    pub fn at_rest(&self) -> bool {
        self.entries.values().all(Entry::rests)
    }

    /// Those that have what they had before ours, and are to be forgotten.
    pub fn given_back(&mut self) -> Vec<String> {
        // What the autopilot does not have any more, as after another version was flashed, cannot be given back.
        let done = |entry: &Entry| entry.back && (entry.has_value() || entry.is_missing());
        let back = self.entries.iter().filter(|(_, entry)| done(entry));
        let names: Vec<String> = back.map(|(name, _)| name.clone()).collect();
        for name in &names {
            self.entries.remove(name);
        }
        names
    }

    /// Whether a reboot is asked for, and brings one in force.
    pub fn wants_reboot(&self, memory: &Before) -> bool {
        let waits = |(name, entry): (&String, &Entry)| {
            entry.may_reboot && entry.has_value() && memory.waits_for_reboot.contains_key(entry.own(name))
        };
        self.entries.iter().any(waits)
    }

    pub fn in_force(&self, memory: &Before) -> usize {
        let of_rules = self.entries.iter().filter(|(_, entry)| !entry.back);
        of_rules
            .filter(|(name, entry)| entry.deviation(name, memory, true).is_none())
            .count()
    }

    /// Parameters that are not in force, by their urgency; parameters that rules name before parameters that are given back.
    pub fn deviations(&self, memory: &Before, may_write: bool) -> Vec<Deviation> {
        let entries = self.entries.iter();
        let mut all: Vec<(bool, Deviation)> = entries
            .filter_map(|(name, entry)| Some((entry.back, entry.deviation(name, memory, may_write)?)))
            .collect();
        all.sort_by_key(|(back, deviation)| (deviation.why.urgency(), *back));
        all.into_iter().map(|(_, deviation)| deviation).collect()
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
                if self.is_missing() {
                    return None;
                }
                if self.stage == Stage::Check && self.gave_up() {
                    self.stage = Stage::Read;
                }
                // One that has answered under a name has that one until it may have been flashed.
                if self.stage == Stage::Read && self.asked > 0 {
                    self.ask_by_next_name();
                }
                self.asked = self.asked.saturating_add(1);
                // One name after the other, and all of them again later.
                let (rounds, rest) = (self.asked.div_ceil(self.count()), self.asked % self.count());
                let delay = if rest == 0 || self.stage != Stage::Read {
                    ASK_AGAIN.delay(rounds, jitter)
                } else {
                    CONFIRM_AFTER
                };
                self.not_before = now.plus(delay);
                let name = self.name(self.asks, name);
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
        let own = self.own(name);
        let foreign = self.foreign || memory.ours_read.get(own).is_some_and(|ours| !same(*ours, value, kind));
        if self.back && foreign && value.is_finite() {
            // Somebody else has set it since it was ours: that stays.
            (self.given, self.wanted) = (self.at, value);
        }
        let (name, number) = (own, self.number());
        let known = self.names;
        let names = || known.iter().map(|known| known.name).chain([name]);
        let kept = names().find(|name| memory.parameters.contains_key(*name));
        if !self.back && kept.is_some() && same(number, value, kind) {
            memory.parameter_is(name, value);
        }
        if same(number, value, kind) || self.enforce == Enforce::Report || !may_write {
            return None;
        }
        let field = match self
            .may_be_set(to.autopilot, name)
            .and_then(|()| encode(to.autopilot, number, kind))
        {
            Ok(field) => field,
            Err(why) => {
                self.objection = Some(why);
                return None;
            }
        };
        // PX4 keeps what is no number, which nobody wants back.
        if !self.back && value.is_finite() && (foreign || kept.is_none()) {
            if let Some(kept) = kept {
                memory.parameters.remove(kept);
            }
            memory.parameters.insert(name.to_owned(), value);
        }
        for name in names() {
            memory.ours_read.remove(name);
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
        let number = self.number();
        match denied_parameters::aboard(autopilot, name, number) {
            Some(why) => Err(format!(
                "the agent does not set it to {number}: {why}; take it out of the profile"
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
        let has_it = same(self.number(), value, kind);
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
        let waits_for_reboot = !self.back && memory.waits_for_reboot.contains_key(self.own(name));
        if self.has_value() && !waits_for_reboot {
            return None;
        }
        let actual = self.known.map(|(value, _)| self.as_wanted(value));
        let why = if self.has_value() {
            DeviationWhy::NeedsReboot
        } else if !self.is_known() && self.is_missing() {
            DeviationWhy::Missing(format!(
                "{}; correct the name, or take it out of the profile",
                self.none(name)
            ))
        } else if !self.is_known() && self.gave_up() {
            let silent = || {
                let none = self.none(name);
                format!("{none}, or the autopilot does not answer for it; correct the name, or check the link")
            };
            match &self.objection {
                Some(objection) => DeviationWhy::Refused(objection.clone()),
                // It was there before, or was set: it may have changed.
                None if self.known.is_some() => DeviationWhy::Refused(silent()),
                None => DeviationWhy::Missing(silent()),
            }
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

    fn none(&self, name: &str) -> String {
        let names: Vec<&str> = self.names.iter().map(|known| known.name).collect();
        if names.len() > 1 {
            return format!("the autopilot has neither {}", names.join(" nor "));
        }
        if let Some(gone) = STACKS.iter().find_map(|stack| parameter_meaning::gone(*stack, name)) {
            return format!("the autopilot has no parameter {name}, which is {gone}");
        }
        let elsewhere = STACKS.map(|stack| parameter_meaning::elsewhere(stack, name)).concat();
        if elsewhere.is_empty() {
            format!("the autopilot has no parameter {name}")
        } else {
            format!("the autopilot has no parameter {name}; {elsewhere}")
        }
    }
}

fn denied_words(name: &str) -> String {
    format!("the autopilot does not let {name} be written; take it out of the profile")
}

fn words(name: &str, error: MavParamError) -> String {
    match error {
        MavParamError::MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE => {
            format!("the autopilot does not take this value for {name}: it is out of range; give another")
        }
        MavParamError::MAV_PARAM_ERROR_PERMISSION_DENIED | MavParamError::MAV_PARAM_ERROR_READ_ONLY => {
            denied_words(name)
        }
        other => format!("the autopilot refuses {name} ({other:?}); set it with its own tools"),
    }
}
