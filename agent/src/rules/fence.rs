//! The fence on the autopilot: read, uploaded on the ground, read back, and listened to for what it discards.
//!
//!   unread --download--> as wanted, heard out --> in force
//!                    --> as wanted, not heard out --> upload in other words
//!                    --> another, on the ground --> upload --ACK--> unread, and texts are listened to for two seconds
//!
//! Recorded from PX4 1.17: an upload is ACCEPTED, and up to 1.1 s later the text or event "Geofence invalid, doesn't contain Home
//! position" says that a part of it is left out; it is read back all the same, under the same id. So a fence that is read back
//! as wanted is in force only if it was heard out after its upload, with the home of now. It does not judge the same items twice, but
//! those of a polygon that begins at another vertex it does, so that no moment passes without a fence. ArduPilot judges before its ACK.

use super::Send;
use super::before::Before;
use super::items::{Item, alike, in_other_words};
use super::transfer::{Ended, Task, Transfer, addressee, name};
use super::unheard::EventCount;
use link::dialect::{EVENT_DATA, MavMessage, MavMissionResult, MavMissionType, PARAM_VALUE_DATA};
use model::backoff::Backoff;
use model::geo::offset;
use model::rules::FenceState;
use model::time::Moment;
use model::units::{Address, Wgs84};
use model::vehicle::{Autopilot, Identity};
use std::time::Duration;

/// How long what the autopilot says after an upload may be about it.
const HEARD_OUT_AFTER: Duration = Duration::from_secs(2);
/// How long what was read has to have been there before another is uploaded, or none is for none: PX4 looks for another id now and then
/// only, and does not judge the same one twice (recorded: 0.1 s are too few).
const NOTICED_AFTER: Duration = Duration::from_millis(1500);
/// Texts that come this long after a refusal belong to it.
const WORDS_WITHIN: Duration = Duration::from_secs(1);
/// On PX4 also its count of events must have come, which it sends every three seconds; without it for this long nobody knows.
const COUNTED_WITHIN: Duration = Duration::from_secs(12);
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(3),
    cap: Duration::from_secs(300),
};
/// No transfer begins so soon after somebody else's was heard.
const AFTER_OTHERS: Duration = Duration::from_secs(3);
/// So many failures without a message from the autopilot, and a person should know.
const SILENT_TOO_OFTEN: u32 = 3;
/// A home that moved by less is the same: the autopilot's judgment of the fence holds for it.
const SAME_HOME_M: f64 = 5.0;
/// How the texts of both begin.
const DISCARD: &str = "Geofence invalid";
/// The events "Geofence invalid, doesn't contain Home position" and "… current vehicle position" of PX4.
const DISCARDS: [(u32, &str); 2] = [
    (27_750_677, "Geofence invalid, doesn't contain Home position"),
    (26_209_321, "Geofence invalid, doesn't contain current vehicle position"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Empty: none.
    pub items: Vec<Item>,
    /// What was there before ours.
    pub back: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub to: &'a Identity,
    pub home: Option<Wgs84>,
    /// Whether anything may be changed on it: it is on the ground and disarmed.
    pub may_write: bool,
}

impl Ground<'_> {
    /// Whether the autopilot accepts a fence first and judges it afterwards.
    fn judges_late(&self, goal: &Goal) -> bool {
        self.to.autopilot == Autopilot::Px4 && !goal.items.is_empty()
    }
}

#[derive(Clone, Debug, Default)]
pub struct FenceKeeper {
    transfer: Option<Transfer>,
    /// The ACK that ends our download.
    farewell: Option<MavMessage>,
    read_back: Option<ReadBack>,
    /// The fence's id in the last MISSION_CURRENT.
    reported_id: Option<u32>,
    /// When our last upload ended, while it is not heard out.
    uploaded_at: Option<Moment>,
    /// Our last upload was heard out, since the autopilot was last away.
    heard_out: bool,
    events: EventCount,
    /// Since when an upload waits for the count of events to be known.
    uncounted_since: Option<Moment>,
    /// What the autopilot said that it leaves out, since.
    discarded: Option<String>,
    words: Option<String>,
    refused_at: Option<(Moment, MavMissionResult)>,
    refusal: Option<String>,
    drift: Option<String>,
    in_force: bool,
    failures: u32,
    not_before: Moment,
    others_at: Option<Moment>,
}

#[derive(Clone, Debug)]
struct ReadBack {
    items: Vec<Item>,
    id: u32,
    at: Moment,
}

impl FenceKeeper {
    pub fn goal_changed(&mut self) {
        (self.transfer, self.uploaded_at, self.discarded) = (None, None, None);
        // A write of before may have come through, or somebody else may have written since.
        self.read_back = None;
        (self.in_force, self.heard_out) = (false, false);
        (self.refusal, self.refused_at, self.drift, self.failures) = (None, None, None, 0);
        self.not_before = Moment::default();
    }

    /// The autopilot has rebooted, or was away: nothing is known of its fence.
    pub fn read_again(&mut self) {
        *self = Self {
            drift: self.drift.take(),
            refusal: self.refusal.take(),
            failures: self.failures,
            not_before: self.not_before,
            ..Self::default()
        };
    }

    /// What is in force is read again, and stays in force as long as nothing else is read: a notice of a change may have been lost.
    pub fn check(&mut self) {
        if self.in_force && self.transfer.is_none() {
            self.read_back = None;
        }
    }

    pub const fn in_force(&self) -> bool {
        self.in_force
    }

    /// Whether what is to be given back was replaced by somebody else's fence, by what was read since it is to be.
    pub fn is_replaced(&self, goal: &Goal, memory: &Before) -> bool {
        let read = self.read_back.as_ref().filter(|_| goal.back && self.transfer.is_none());
        read.is_some_and(|read| memory.is_foreign(&read.items) && !alike(&read.items, &goal.items))
    }

    pub fn next(
        &mut self,
        goal: &Goal,
        memory: &mut Before,
        ground: Ground<'_>,
        now: Moment,
        jitter: f64,
    ) -> Option<Send> {
        let to = ground.to.address();
        let writes = |transfer: &Transfer| *transfer.task() != Task::Download;
        if !ground.may_write && self.transfer.as_ref().is_some_and(writes) {
            // The autopilot gives up by itself, and keeps what it had.
            self.transfer = None;
            self.read_back = None;
        }
        if let Some(transfer) = &mut self.transfer {
            let keep = writes(transfer);
            if let Some(message) = transfer.next(to, now) {
                return Some(Send {
                    message,
                    once_remembered: keep,
                });
            }
        }
        self.take_end(to, now, jitter);
        if let Some(message) = self.farewell.take() {
            return Some(Send::whenever(message));
        }
        let judges_late = ground.judges_late(goal);
        if self.transfer.is_some() || !self.hears_out(judges_late, now, jitter) {
            return None;
        }
        let task = self.wanted(goal, memory, ground, now)?;
        let others = self.others_at.is_some_and(|at| now.since(at) < AFTER_OTHERS);
        if now < self.not_before || others {
            return None;
        }
        if judges_late && task != Task::Download && !self.events.is_known() {
            let since = *self.uncounted_since.get_or_insert(now);
            if now.since(since) >= COUNTED_WITHIN {
                self.uncounted_since = None;
                let words = "the autopilot does not count its events (CURRENT_EVENT_SEQUENCE), so it would not be known what it leaves \
                             out; check the link, and that its firmware has events";
                self.failed(Some(words.to_owned()), now, jitter);
            }
            return None;
        }
        self.uncounted_since = None;
        if task != Task::Download {
            memory.heard_out = None;
            self.uploaded_at = None;
            self.heard_out = false;
            (self.discarded, self.words) = (None, None);
            self.events.begin();
            self.in_force = false;
        }
        let mut transfer = Transfer::new(task, now);
        let message = transfer.next(to, now)?;
        let once_remembered = writes(&transfer);
        self.transfer = Some(transfer);
        Some(Send {
            message,
            once_remembered,
        })
    }

    /// `None`: the goal is reached.
    fn wanted(&mut self, goal: &Goal, memory: &mut Before, ground: Ground<'_>, now: Moment) -> Option<Task> {
        let Some(read_back) = &self.read_back else {
            return Some(Task::Download);
        };
        let equal = alike(&read_back.items, &goal.items);
        let judges_late = ground.judges_late(goal);
        let is_new = ground.to.autopilot == Autopilot::Px4 && now.since(read_back.at) < NOTICED_AFTER;
        if equal {
            // Somebody, or this agent in another life, may have cleared it just now, and the old one holds until that is noticed.
            if is_new && goal.items.is_empty() {
                return None;
            }
            let listens = |at: Moment| {
                let heard_out = at.plus(HEARD_OUT_AFTER);
                now < heard_out || (judges_late && !self.events.complete_at(heard_out))
            };
            match self.uploaded_at {
                Some(at) if listens(at) => return None,
                Some(_) if self.discarded.is_none() => {
                    self.uploaded_at = None;
                    self.heard_out = true;
                    memory.heard_out = ground.home;
                }
                Some(_) | None => {}
            }
            let near = |at: Wgs84, home: Wgs84| {
                let (east, north) = offset(at, home);
                east.hypot(north) < SAME_HOME_M
            };
            let same_home = |at: Wgs84| ground.home.is_some_and(|home| near(at, home));
            // What was judged once stays, wherever its home moves; only after a reboot it is judged again.
            let judged = self.heard_out || memory.heard_out.is_some_and(same_home);
            if !judges_late || (self.discarded.is_none() && judged) {
                self.in_force = true;
                if !goal.back {
                    memory.fence_is(&goal.items);
                }
                (self.refusal, self.drift, self.failures) = (None, None, 0);
                return None;
            }
            // Nothing says that it is wrong, only nothing that it is right.
            ground.home?;
        }
        if self.in_force {
            self.drift = Some("another fence was read than the one that was in force".to_owned());
            self.in_force = false;
        }
        if !ground.may_write || (judges_late && ground.home.is_none()) {
            return None;
        }
        if is_new {
            return None;
        }
        if !goal.back {
            memory.replaces_fence(&read_back.items, &goal.items);
        }
        if goal.items.is_empty() {
            return Some(Task::Clear);
        }
        // What is there already is not judged again in the same words.
        Some(Task::Upload(if equal {
            in_other_words(&goal.items, &read_back.items)
        } else {
            goal.items.clone()
        }))
    }

    fn take_end(&mut self, to: Address, now: Moment, jitter: f64) {
        let Some(ended) = self.transfer.as_ref().and_then(Transfer::ended).cloned() else {
            return;
        };
        self.farewell = self.transfer.as_ref().and_then(|transfer| transfer.farewell(to));
        self.transfer = None;
        match ended {
            Ended::Read(items, id) => self.read_back = Some(ReadBack { items, id, at: now }),
            Ended::Accepted(_) | Ended::Cleared => {
                self.uploaded_at = Some(now);
                self.read_back = None;
            }
            // It may have been refused: what reads back as equal may be what was there before, which is not judged again.
            Ended::Unconfirmed => {
                self.read_back = None;
                self.failed(None, now, jitter);
            }
            Ended::Refused(result) => {
                self.refused_at = Some((now, result));
                self.read_back = None;
            }
            Ended::Strange => self.failed(
                Some("what is on the autopilot cannot be read as a fence; clear it with a ground station".to_owned()),
                now,
                jitter,
            ),
            Ended::Busy => {
                self.others_at = Some(now);
                self.failed(None, now, jitter);
            }
            Ended::Silent => {
                self.read_back = None;
                self.failed(None, now, jitter);
            }
        }
    }

    fn failed(&mut self, why: Option<String>, now: Moment, jitter: f64) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = now.plus(AGAIN.delay(self.failures, jitter));
        let silent = self.failures >= SILENT_TOO_OFTEN && self.refusal.is_none();
        let no_word = || {
            let words = "the autopilot does not carry a fence transfer through; check the link, and whether a ground station is \
                         transferring a mission all the time";
            words.to_owned()
        };
        if let Some(why) = why.or_else(|| silent.then(no_word)) {
            self.refusal = Some(why);
            self.in_force = false;
        }
    }

    /// Whether what the autopilot says to an upload has been waited for.
    fn hears_out(&mut self, judges_late: bool, now: Moment, jitter: f64) -> bool {
        if let Some((at, result)) = self.refused_at {
            if now.since(at) < WORDS_WITHIN {
                return false;
            }
            self.refused_at = None;
            let words = self.words.take().map_or_else(String::new, |words| format!(": {words}"));
            let name = name(result);
            self.failed(Some(format!("the autopilot refused it ({name}){words}")), now, jitter);
        }
        if let Some(at) = self
            .uploaded_at
            .filter(|at| self.read_back.is_some() && now.since(*at) >= HEARD_OUT_AFTER)
        {
            let why = match self.discarded.take() {
                Some(words) => Some(format!(
                    "the autopilot accepted it and then left out a part of it: {words}"
                )),
                None if judges_late
                    && now.since(at) >= COUNTED_WITHIN
                    && !self.events.complete_at(at.plus(HEARD_OUT_AFTER)) =>
                {
                    let words = "the autopilot accepted it, and whether it leaves out a part of it is not known: its events do not \
                                 all come through; check the link";
                    Some(words.to_owned())
                }
                None => None,
            };
            if why.is_some() {
                self.uploaded_at = None;
                self.failed(why, now, jitter);
            }
        }
        true
    }

    /// `us`: our system and component id.
    pub fn receive(&mut self, message: &MavMessage, us: Address, now: Moment) {
        self.events.receive(message, now);
        match message {
            MavMessage::MISSION_CURRENT(m) => {
                let before = self.reported_id.replace(m.fence_id);
                let other = self
                    .read_back
                    .as_ref()
                    .is_some_and(|read_back| read_back.id != m.fence_id);
                if before.is_some_and(|before| before != m.fence_id) && other {
                    self.drifted("the autopilot reports another fence");
                }
            }
            MavMessage::EVENT(m) => self.event(m),
            MavMessage::PARAM_VALUE(m) => self.parameter(m),
            _ => {}
        }
        let Some((whose, kind)) = addressee(message) else {
            return;
        };
        let fences = matches!(
            kind,
            MavMissionType::MAV_MISSION_TYPE_FENCE | MavMissionType::MAV_MISSION_TYPE_ALL
        );
        if whose == us {
            if let Some(transfer) = self.transfer.as_mut().filter(|_| fences) {
                transfer.receive(message, now);
            }
            return;
        }
        self.others_at = Some(now);
        if let MavMessage::MISSION_ACK(ack) = message
            && fences
            && ack.mavtype == MavMissionResult::MAV_MISSION_ACCEPTED
        {
            self.drifted("somebody else has transferred a fence");
        }
    }

    pub fn text(&mut self, text: &str) {
        const OF_REFUSALS: [&str; 5] = [
            "Fence validation",
            "Fence exceeds",
            "vertex count",
            "item",
            "circle radius",
        ];
        if text.starts_with(DISCARD) {
            self.discards(text);
        } else if (self.refused_at.is_some() || self.uploading())
            && OF_REFUSALS.iter().any(|words| text.contains(words))
        {
            // The first says why, those after it only that it was refused.
            self.words.get_or_insert_with(|| text.to_owned());
        }
    }

    /// Whether the autopilot has given no number to the fence that was read.
    pub fn is_unnumbered(&self) -> bool {
        self.read_back
            .as_ref()
            .is_some_and(|read_back| read_back.id == 0 && !read_back.items.is_empty())
    }

    pub const fn is_transferring(&self) -> bool {
        self.transfer.is_some()
    }

    pub fn is_writing(&self) -> bool {
        let writes = |transfer: &Transfer| matches!(transfer.task(), Task::Upload(_) | Task::Clear);
        self.transfer.as_ref().is_some_and(writes)
    }

    pub const fn is_discarded(&self) -> bool {
        self.discarded.is_some()
    }

    fn uploading(&self) -> bool {
        let upload = |transfer: &Transfer| matches!(transfer.task(), Task::Upload(_));
        self.transfer.as_ref().is_some_and(upload)
    }

    fn event(&mut self, event: &EVENT_DATA) {
        if let Some((_, text)) = DISCARDS.iter().find(|(id, _)| *id == event.id) {
            self.discards(text);
        }
    }

    /// Something is left out: of the upload of just now, or of a fence that was in force.
    fn discards(&mut self, text: &str) {
        self.discarded.get_or_insert_with(|| text.to_owned());
        if self.in_force {
            self.drifted(text);
        }
    }

    /// ArduPilot reports to all the number of items after each change of its fence. In a list of all parameters each has its index.
    fn parameter(&mut self, m: &PARAM_VALUE_DATA) {
        if m.param_index == u16::MAX && m.param_id.to_str() == Ok("FENCE_TOTAL") && self.transfer.is_none() {
            self.drifted("the autopilot says that its fence was changed");
        }
    }

    fn drifted(&mut self, why: &str) {
        if self.in_force {
            self.drift = Some(why.to_owned());
            self.in_force = false;
        }
        if !self.uploading() {
            self.transfer = None;
            self.read_back = None;
        }
    }

    pub fn state(&self, may_write: bool) -> FenceState {
        if self.in_force {
            return FenceState::InForce;
        }
        match (&self.refusal, &self.drift) {
            (Some(words), _) => FenceState::Refused(words.clone()),
            (None, Some(words)) if !may_write => FenceState::Drifted(words.clone()),
            (None, _) if !may_write && self.read_back.is_some() => FenceState::WaitsForGround,
            (None, _) => FenceState::Working,
        }
    }
}
