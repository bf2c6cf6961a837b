//! The plan brought onto the autopilot: uploaded, read back, judged, and set to begin.

use super::items::{WireItem, alike};
use super::{Keeper, ReadBack, Situation};
use crate::recipe::Command;
use crate::rules::Send;
use crate::rules::transfer::{Ended, Task, Transfer, name};
use fleet::flight::following::Following;
#[allow(deprecated, reason = "PX4 knows no other way to set an item")]
use link::dialect::MISSION_SET_CURRENT_DATA;
use link::dialect::{MavCmd, MavMessage, MissionState};
use model::backoff::Backoff;
use model::plan::flight::rest;
use model::time::Moment;
use model::units::Address;
use model::vehicle::Identity;
use std::time::Duration;
use tracing::{info, warn};

/// After an upload PX4 makes up its mind for this long (recorded: up to 1.1 s), and MISSION_CURRENT comes once a second.
const JUDGED_AFTER: Duration = Duration::from_millis(2500);
/// A mission that the autopilot takes for none for so long is refused.
const NONE_FOR: Duration = Duration::from_secs(3);
/// Texts that come this long after a refusal belong to it.
const WORDS_WITHIN: Duration = Duration::from_secs(1);
/// Without MISSION_CURRENT for this long it is asked for.
const CURRENT_WITHIN: Duration = Duration::from_secs(3);
const CURRENT_EVERY: Duration = Duration::from_secs(1);
const SET_AGAIN: Duration = Duration::from_secs(2);
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(3),
    cap: Duration::from_secs(300),
};
/// No transfer begins so soon after somebody else's was heard.
const AFTER_OTHERS: Duration = Duration::from_secs(3);
/// So many failures without a message from the autopilot, and a person should know.
const SILENT_TOO_OFTEN: u32 = 3;
/// Precedes the autopilot's words.
const NOT_FLOWN: &str = "the autopilot accepted it and will not fly it";
const WORDLESS: &str = ", and does not say why; check it against its geofence, home and limits";
const MISSION_CURRENT_ID: f32 = 42.0;

impl Keeper {
    /// Call it only while nothing else is to be sent.
    pub fn next(&mut self, s: Situation<'_>, now: Moment, jitter: f64) -> Option<Send> {
        self.autopilot = Some(s.to.autopilot);
        let to = s.to.address();
        let done = self.memory.ended || self.is_finished();
        let barred = self.fault.is_some() || self.moved_home.is_some();
        if !self.holds(s.named) || barred || (done && !self.memory.flown) {
            self.break_off();
            return None;
        }
        let writes = |transfer: &Transfer<WireItem>| *transfer.task() != Task::Download;
        if (!s.may_go_on || self.memory.flown) && self.transfer.as_ref().is_some_and(writes) {
            self.break_off();
        }
        if let Some(transfer) = &mut self.transfer {
            let once_remembered = writes(transfer);
            if let Some(message) = transfer.next(to, now) {
                return Some(Send {
                    message,
                    once_remembered,
                });
            }
        }
        self.take_end(to, now, jitter);
        if let Some(message) = self.farewell.take() {
            return Some(Send::whenever(message));
        }
        if self.transfer.is_some() {
            return None;
        }
        if let Some(message) = self.ask_for_current(s.to, now) {
            return Some(Send::whenever(message));
        }
        self.hear_out(now, jitter);
        let others = self.others_at.is_some_and(|at| now.since(at) < AFTER_OTHERS);
        if now >= self.not_before && !others && self.refused_at.is_none() {
            if let Some(task) = self.wanted(s.may_write) {
                return self.begin(task, to, now);
            }
            self.judge(now, jitter);
        }
        self.set_current(s, now).map(Send::whenever)
    }

    /// Nothing is transferred any more. The autopilot gives up by itself, and what it has then is found out.
    pub fn break_off(&mut self) {
        if self
            .transfer
            .take()
            .is_some_and(|transfer| *transfer.task() != Task::Download)
        {
            self.memory.uploaded_from = None;
        }
    }

    fn begin(&mut self, task: Task<WireItem>, to: Address, now: Moment) -> Option<Send> {
        let once_remembered = task != Task::Download;
        if once_remembered {
            self.uploaded_at = None;
            self.words = None;
        }
        let mut transfer = Transfer::new(task, now);
        let message = transfer.next(to, now)?;
        self.transfer = Some(transfer);
        Some(Send {
            message,
            once_remembered,
        })
    }

    fn wanted(&mut self, may_write: bool) -> Option<Task<WireItem>> {
        let from = self.memory.reached.first_left();
        let stale = !self.memory.flown && self.memory.uploaded_from != Some(from);
        match self.read_back {
            None if !stale => return Some(Task::Download),
            Some(read_back) if read_back.equal && !stale => return None,
            Some(_) | None => {}
        }
        if self.memory.flown || !may_write {
            return None;
        }
        if self.to_clear {
            return Some(Task::Clear);
        }
        let items = self
            .memory
            .held
            .as_ref()
            .map(|plan| rest(&plan.0.items, usize::from(from)))?;
        self.following = Following::new(items);
        (self.memory.uploaded_from, self.memory.at) = (Some(from), 0);
        self.prepare_again();
        Some(Task::Upload(self.wire()))
    }

    fn take_end(&mut self, to: Address, now: Moment, jitter: f64) {
        let Some(ended) = self.transfer.as_ref().and_then(Transfer::ended).cloned() else {
            return;
        };
        let transfer = self.transfer.take();
        self.farewell = transfer.as_ref().and_then(|transfer| transfer.farewell(to));
        let at = transfer.as_ref().and_then(Transfer::giving);
        let uploads = transfer.is_some_and(|transfer| *transfer.task() != Task::Download);
        match ended {
            Ended::Read(items, id) => self.has_read(&items, id, now, jitter),
            Ended::Accepted(_) | Ended::Unconfirmed => {
                self.uploaded_at = Some(now);
                self.read_back = None;
            }
            Ended::Cleared => self.to_clear = false,
            Ended::Refused(result) => {
                self.refused_at = Some((now, result, at));
                self.memory.uploaded_from = self.memory.uploaded_from.filter(|_| !uploads);
            }
            Ended::Strange => {
                let words = "what is on the autopilot cannot be read as a mission; clear it with a ground station";
                self.failed(Some(words.to_owned()), now, jitter);
            }
            Ended::Busy => {
                self.others_at = Some(now);
                self.memory.uploaded_from = self.memory.uploaded_from.filter(|_| !uploads);
                self.failed(None, now, jitter);
            }
            Ended::Silent => {
                self.memory.uploaded_from = self.memory.uploaded_from.filter(|_| !uploads);
                self.failed(None, now, jitter);
            }
        }
    }

    fn has_read(&mut self, items: &[WireItem], id: u32, now: Moment, jitter: f64) {
        let Some(autopilot) = self.autopilot else { return };
        let equal = alike(&self.wire(), items, autopilot, self.memory.flown);
        self.read_back = Some(ReadBack { equal, id, at: now });
        if equal {
            (self.foreign, self.doubted) = (false, false);
            return;
        }
        (self.ready, self.is_set) = (false, false);
        if self.uploaded_at.take().is_some() {
            self.memory.uploaded_from = None;
            let words = "what it has stored reads back as another mission; check the link, and that its firmware takes these items";
            self.failed(Some(words.to_owned()), now, jitter);
            return;
        }
        warn!("another mission is on the autopilot; it is not flown as ours");
        self.foreign = true;
        self.memory.uploaded_from = None;
        if self.memory.flown {
            self.stop();
        }
    }

    fn failed(&mut self, why: Option<String>, now: Moment, jitter: f64) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.plus(AGAIN.delay(self.failures, jitter));
        let silent = self.failures >= SILENT_TOO_OFTEN && self.refusal.is_none();
        let no_word = || {
            let words = "the autopilot does not carry the transfer of a mission through; check the link, and whether a ground station is \
                         transferring one all the time";
            words.to_owned()
        };
        if let Some(why) = why.or_else(|| silent.then(no_word)) {
            warn!(why, "the plan is not on the autopilot");
            self.refusal = Some(why);
        }
    }

    fn hear_out(&mut self, now: Moment, jitter: f64) {
        if let Some((at, result, seq)) = self.refused_at
            && now.since(at) >= WORDS_WITHIN
        {
            self.refused_at = None;
            let words = self.words.take().map_or_else(String::new, |words| format!(": {words}"));
            let (result, place) = (name(result), self.refused_item(seq).unwrap_or_default());
            let why = format!("the autopilot refused it{place} ({result}){words}");
            self.failed(Some(why), now, jitter);
        }
    }

    fn refused_item(&self, seq: Option<u16>) -> Option<String> {
        let index = usize::from(seq?.checked_sub(self.first())?);
        let (item, number) = self.following.list().get(index)?;
        let (name, command) = (item.name(), item.command);
        Some(match number {
            Some(number) => format!(" at item {number} ({name}, command {command})"),
            None => format!(" at what is set again before it goes on ({name}, command {command})"),
        })
    }

    fn judge(&mut self, now: Moment, jitter: f64) {
        let Some(read_back) = self.read_back.filter(|read_back| read_back.equal) else {
            return;
        };
        let judged_at = self.uploaded_at.map_or(read_back.at, |at| at.plus(JUDGED_AFTER));
        let Some(current) = self.current.filter(|current| current.at >= judged_at) else {
            return;
        };
        if current.state != MissionState::MISSION_STATE_NO_MISSION {
            self.none_since = None;
            self.uploaded_at = None;
            if !self.ready {
                info!(from = self.memory.uploaded_from, "the plan is on the autopilot");
            }
            self.ready = true;
            (self.refusal, self.failures) = (None, 0);
            return;
        }
        self.ready = false;
        let since = *self.none_since.get_or_insert(now);
        if self.memory.flown || now.since(since) < NONE_FOR {
            return;
        }
        // What it said before stays where it says nothing this time.
        let why = match self.words.take() {
            Some(words) => Some(format!("{NOT_FLOWN}: {words}")),
            None if self.refusal.is_some() => None,
            None => Some(format!("{NOT_FLOWN}{WORDLESS}")),
        };
        self.memory.uploaded_from = None;
        self.to_clear = true;
        self.prepare_again();
        self.failed(why, now, jitter);
    }

    /// ArduPilot sends MISSION_CURRENT only where it was asked to.
    fn ask_for_current(&mut self, to: &Identity, now: Moment) -> Option<MavMessage> {
        let heard = self
            .current
            .is_some_and(|current| now.since(current.at) < CURRENT_WITHIN);
        let asked = self.asked_at.is_some_and(|at| now.since(at) < CURRENT_WITHIN);
        if heard || asked {
            return None;
        }
        self.asked_at = Some(now);
        let command = Command::long(
            MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
            [MISSION_CURRENT_ID, CURRENT_EVERY.as_secs_f32() * 1e6, 0.0, 0.0],
        );
        Some(command.message(to, 0))
    }

    /// Both may still stand in the middle of the mission before, or at its end.
    #[allow(deprecated, reason = "PX4 knows no other way to set an item")]
    fn set_current(&mut self, s: Situation<'_>, now: Moment) -> Option<MavMessage> {
        if !self.ready || self.is_set || self.memory.flown || !s.may_write {
            return None;
        }
        if self.set_at.is_some_and(|at| now.since(at) < SET_AGAIN) {
            return None;
        }
        self.set_at = Some(now);
        Some(MavMessage::MISSION_SET_CURRENT(MISSION_SET_CURRENT_DATA {
            seq: self.first(),
            target_system: s.to.system.0,
            target_component: s.to.component.0,
        }))
    }

    fn wire(&self) -> Vec<WireItem> {
        let home = (self.first() > 0).then(WireItem::home);
        let items = self.following.list().iter().filter_map(|(item, _)| WireItem::of(item));
        let items = items.map(|item| item.taken_by(self.autopilot));
        home.into_iter().chain(items).collect()
    }

    pub fn text(&mut self, text: &str) {
        // On another link than ours nothing else is heard of it.
        if text.contains("mission changed") {
            self.doubt("the autopilot says that its mission was changed");
        }
        let awaited = self.refused_at.is_some() || self.transfer.is_some() || self.uploaded_at.is_some();
        if !refuses_a_mission(text) {
            return;
        }
        if awaited {
            // The first says why.
            self.words.get_or_insert_with(|| text.trim().to_owned());
        } else if let Some(refusal) = self.refusal.as_mut().filter(|words| words.ends_with(WORDLESS)) {
            // On a slow link descriptions of events come late.
            *refusal = format!("{NOT_FLOWN}: {}", text.trim());
        }
    }
}

/// Whether an autopilot's text may say why it does not take a mission. PX4 from 1.18 gives more reasons than before.
fn refuses_a_mission(text: &str) -> bool {
    const PLAIN: [&str; 5] = [
        "mission rejected",
        "geofence requires",
        "waypoint",
        "mission_item",
        "mission item",
    ];
    const REFUSED: [&str; 6] = [
        "reject",
        "refuse",
        "invalid",
        "not valid",
        "unsupported",
        "not supported",
    ];
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| text.contains(words));
    has(&PLAIN) || (text.contains("mission") && has(&REFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_mission_has_the_autopilots_words_and_no_others() {
        for text in [
            "Mission rejected: landing without approach",
            "Geofence requires valid home position",
            "Distance between waypoints too far",
            "Invalid mission: no room for it",
            "MISSION upload rejected, command not supported",
        ] {
            assert!(refuses_a_mission(text), "{text}");
        }
        for text in [
            "Mission changed",
            "New mission received",
            "Takeoff detected",
            "Preflight Fail: compass",
        ] {
            assert!(!refuses_a_mission(text), "{text}");
        }
    }
}
