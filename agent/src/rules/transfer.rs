//! The ground station's side of the mission protocol (MAVLink guide, services/mission): one upload, download or clearing, of fences and
//! missions alike.
//!
//!   upload    COUNT --REQUEST(_INT) n--> ITEM_INT n … --ACK--> ended; the autopilot asks, we answer each request
//!   download  REQUEST_LIST --COUNT--> REQUEST_INT n --ITEM_INT n--> … --> ACK, ended; we ask
//!   clear     CLEAR_ALL --ACK--> ended
//!
//! The autopilot repeats its requests in an upload, so only COUNT is repeated by us, and only until the first request has come.

use super::items::Item;
use link::dialect::{
    MISSION_ACK_DATA, MISSION_CLEAR_ALL_DATA, MISSION_COUNT_DATA, MISSION_ITEM_INT_DATA, MISSION_REQUEST_INT_DATA,
    MISSION_REQUEST_LIST_DATA, MavMessage, MavMissionResult, MavMissionType,
};
use model::time::Moment;
use model::units::Address;
use std::time::Duration;

/// Until a message is sent again: the guide's default.
const AGAIN_AFTER: Duration = Duration::from_millis(1500);
/// Transmissions of one message, the guide's number of retries.
const TRIES: u8 = 5;
/// An upload in which the autopilot is silent for longer has ended on its side: ArduPilot gives up after 8 s, PX4 after 5 s.
const SILENCE: Duration = Duration::from_secs(9);
/// After the last item the ACK is awaited this long: it is not sent again when it was lost.
const ACK_WITHIN: Duration = Duration::from_secs(3);
/// Between two messages of ours, so that a link of 57,600 baud keeps most of its room for others.
const PACE: Duration = Duration::from_millis(40);
/// No autopilot has so many.
const MOST_ITEMS: u16 = 1000;

pub trait Carried: Clone + PartialEq {
    const KIND: MavMissionType;

    fn read(m: &MISSION_ITEM_INT_DATA) -> Option<Self>;

    fn message(&self, seq: u16) -> MISSION_ITEM_INT_DATA;
}

impl Carried for Item {
    const KIND: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;

    fn read(m: &MISSION_ITEM_INT_DATA) -> Option<Self> {
        Self::read(m)
    }

    fn message(&self, seq: u16) -> MISSION_ITEM_INT_DATA {
        self.message(seq)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ended<I = Item> {
    /// The autopilot has accepted the upload, which says nothing of what it does with it; the id that it gave it, or 0.
    Accepted(u32),
    Read(Vec<I>, u32),
    Cleared,
    Refused(MavMissionResult),
    /// What it has is nothing that we understand.
    Strange,
    /// It is busy with somebody else's transfer.
    Busy,
    /// All items were handed over, and no ACK came.
    Unconfirmed,
    /// No answer, or none any more.
    Silent,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Task<I = Item> {
    /// At least one.
    Upload(Vec<I>),
    Download,
    Clear,
}

#[derive(Clone, Debug)]
pub struct Transfer<I = Item> {
    task: Task<I>,
    stage: Stage<I>,
    /// Transmissions of the item of an upload that was asked for last.
    given: u8,
    due: bool,
    tries: u8,
    again_at: Moment,
    not_before: Moment,
    heard_at: Moment,
    ended: Option<Ended<I>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Stage<I> {
    Opening,
    /// Last item asked for.
    Giving(u16),
    /// `count` and `id` are the autopilot's.
    Taking {
        count: u16,
        id: u32,
        got: Vec<I>,
    },
}

impl<I: Carried> Transfer<I> {
    pub fn new(task: Task<I>, now: Moment) -> Self {
        Self {
            task,
            stage: Stage::Opening,
            given: 0,
            due: true,
            tries: 0,
            again_at: now,
            not_before: now,
            heard_at: now,
            ended: None,
        }
    }

    pub const fn task(&self) -> &Task<I> {
        &self.task
    }

    /// How it has ended; then it is to be dropped.
    pub const fn ended(&self) -> Option<&Ended<I>> {
        self.ended.as_ref()
    }

    pub const fn giving(&self) -> Option<u16> {
        match self.stage {
            Stage::Giving(seq) => Some(seq),
            Stage::Opening | Stage::Taking { .. } => None,
        }
    }

    pub fn next(&mut self, to: Address, now: Moment) -> Option<MavMessage> {
        if self.ended.is_some() {
            return None;
        }
        self.time_passes(now);
        if !self.due || self.ended.is_some() || now < self.not_before {
            return None;
        }
        self.due = false;
        self.tries = self.tries.saturating_add(1);
        self.given = self.given.saturating_add(u8::from(self.giving().is_some()));
        self.again_at = now.plus(AGAIN_AFTER);
        self.not_before = now.plus(PACE);
        Some(self.message(to))
    }

    /// The ACK that ends a download, once.
    pub fn farewell(&self, to: Address) -> Option<MavMessage> {
        let read = matches!(self.ended, Some(Ended::Read(..) | Ended::Strange)) && self.task == Task::Download;
        read.then_some(MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            target_system: to.system.0,
            target_component: to.component.0,
            mavtype: MavMissionResult::MAV_MISSION_ACCEPTED,
            mission_type: I::KIND,
            opaque_id: 0,
        }))
    }

    pub fn receive(&mut self, message: &MavMessage, now: Moment) {
        if self.ended.is_some() {
            return;
        }
        match message {
            MavMessage::MISSION_REQUEST_INT(m) => self.asked_for(m.seq, now),
            // ArduPilot asks so; it wants the same item (MAVLink guide).
            #[allow(deprecated, reason = "ArduPilot asks so")]
            MavMessage::MISSION_REQUEST(m) => self.asked_for(m.seq, now),
            MavMessage::MISSION_COUNT(m) => self.counted(m, now),
            MavMessage::MISSION_ITEM_INT(m) => self.given(m, now),
            MavMessage::MISSION_ACK(m) => self.acknowledged(m),
            _ => {}
        }
    }

    fn asked_for(&mut self, seq: u16, now: Moment) {
        let Task::Upload(items) = &self.task else { return };
        if usize::from(seq) >= items.len() {
            return;
        }
        self.heard_at = now;
        if self.stage != Stage::Giving(seq) {
            (self.stage, self.given) = (Stage::Giving(seq), 0);
        }
        self.due = true;
        self.tries = 0;
    }

    fn counted(&mut self, m: &MISSION_COUNT_DATA, now: Moment) {
        // A repeated one is old news.
        if self.task != Task::Download || self.stage != Stage::Opening {
            return;
        }
        self.heard_at = now;
        if m.count == 0 {
            self.ended = Some(Ended::Read(Vec::new(), m.opaque_id));
        } else if m.count > MOST_ITEMS {
            self.ended = Some(Ended::Strange);
        } else {
            self.stage = Stage::Taking {
                count: m.count,
                id: m.opaque_id,
                got: Vec::with_capacity(usize::from(m.count)),
            };
            self.due = true;
            self.tries = 0;
        }
    }

    fn given(&mut self, m: &MISSION_ITEM_INT_DATA, now: Moment) {
        let Stage::Taking { count, id, got } = &mut self.stage else {
            return;
        };
        if usize::from(m.seq) != got.len() {
            return;
        }
        self.heard_at = now;
        let Some(item) = I::read(m) else {
            self.ended = Some(Ended::Strange);
            return;
        };
        got.push(item);
        if got.len() == usize::from(*count) {
            self.ended = Some(Ended::Read(std::mem::take(got), *id));
        } else {
            self.due = true;
            self.tries = 0;
        }
    }

    fn acknowledged(&mut self, m: &MISSION_ACK_DATA) {
        use MavMissionResult as Verdict;
        let opening = self.stage == Stage::Opening;
        self.ended = match (&self.task, m.mavtype) {
            (Task::Clear, Verdict::MAV_MISSION_ACCEPTED) => Some(Ended::Cleared),
            // An ACK to an upload of before, which has come late.
            (Task::Upload(items), Verdict::MAV_MISSION_ACCEPTED) if !self.gave(items.len()) => return,
            (Task::Upload(_), Verdict::MAV_MISSION_ACCEPTED) => Some(Ended::Accepted(m.opaque_id)),
            (Task::Download, Verdict::MAV_MISSION_ACCEPTED) => return,
            // An item that came twice; the autopilot goes on asking (recorded from ArduPilot).
            (Task::Upload(_), Verdict::MAV_MISSION_INVALID_SEQUENCE) if !opening => return,
            // The last item came twice, and the ACK to the first is lost (recorded from ArduPilot). What is stored is read back.
            (Task::Upload(items), Verdict::MAV_MISSION_ERROR) if self.gave(items.len()) && self.given > 1 => {
                Some(Ended::Unconfirmed)
            }
            // Recorded: an upload that begins during somebody else's is DENIED by ArduPilot, and an ERROR on PX4.
            (_, Verdict::MAV_MISSION_DENIED | Verdict::MAV_MISSION_ERROR) if opening => Some(Ended::Busy),
            (_, result) => Some(Ended::Refused(result)),
        };
    }

    /// Whether the last of so many items was handed over.
    fn gave(&self, count: usize) -> bool {
        matches!(self.stage, Stage::Giving(seq) if usize::from(seq) + 1 == count && self.given > 0)
    }

    fn time_passes(&mut self, now: Moment) {
        match &self.task {
            Task::Upload(items) if matches!(self.stage, Stage::Giving(_)) => {
                let silent = now.since(self.heard_at);
                if self.gave(items.len()) && !self.due && silent >= ACK_WITHIN {
                    self.ended = Some(Ended::Unconfirmed);
                } else if silent >= SILENCE {
                    self.ended = Some(Ended::Silent);
                }
            }
            Task::Upload(_) | Task::Download | Task::Clear => {
                if self.due || now < self.again_at {
                    return;
                }
                if self.tries >= TRIES {
                    self.ended = Some(Ended::Silent);
                } else {
                    self.due = true;
                }
            }
        }
    }

    fn message(&self, to: Address) -> MavMessage {
        let (target_system, target_component) = (to.system.0, to.component.0);
        match (&self.task, &self.stage) {
            (Task::Upload(items), Stage::Giving(seq)) => {
                let item = items.get(usize::from(*seq)).or(items.last());
                MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                    target_system,
                    target_component,
                    ..item.map(|item| item.message(*seq)).unwrap_or_default()
                })
            }
            (Task::Upload(items), _) => MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
                count: u16::try_from(items.len()).unwrap_or(u16::MAX),
                target_system,
                target_component,
                mission_type: I::KIND,
                opaque_id: 0,
            }),
            (Task::Download, Stage::Taking { got, .. }) => MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA {
                seq: u16::try_from(got.len()).unwrap_or(u16::MAX),
                target_system,
                target_component,
                mission_type: I::KIND,
            }),
            (Task::Download, _) => MavMessage::MISSION_REQUEST_LIST(MISSION_REQUEST_LIST_DATA {
                target_system,
                target_component,
                mission_type: I::KIND,
            }),
            (Task::Clear, _) => MavMessage::MISSION_CLEAR_ALL(MISSION_CLEAR_ALL_DATA {
                target_system,
                target_component,
                mission_type: I::KIND,
            }),
        }
    }
}

pub fn addressee(message: &MavMessage) -> Option<(Address, MavMissionType)> {
    let (system, component, kind) = match message {
        MavMessage::MISSION_REQUEST_INT(m) => (m.target_system, m.target_component, m.mission_type),
        #[allow(deprecated, reason = "ArduPilot asks so")]
        MavMessage::MISSION_REQUEST(m) => (m.target_system, m.target_component, m.mission_type),
        MavMessage::MISSION_COUNT(m) => (m.target_system, m.target_component, m.mission_type),
        MavMessage::MISSION_ITEM_INT(m) => (m.target_system, m.target_component, m.mission_type),
        MavMessage::MISSION_ACK(m) => (m.target_system, m.target_component, m.mission_type),
        _ => return None,
    };
    Some((Address::new(system, component), kind))
}

pub const fn name(result: MavMissionResult) -> &'static str {
    match result {
        MavMissionResult::MAV_MISSION_NO_SPACE => "it has no room for so many items",
        MavMissionResult::MAV_MISSION_ERROR => "MAV_MISSION_ERROR",
        MavMissionResult::MAV_MISSION_DENIED => "MAV_MISSION_DENIED",
        MavMissionResult::MAV_MISSION_UNSUPPORTED => "it does not take these items",
        MavMissionResult::MAV_MISSION_UNSUPPORTED_FRAME => "it does not take their frame",
        MavMissionResult::MAV_MISSION_OPERATION_CANCELLED => "it has given up waiting",
        MavMissionResult::MAV_MISSION_INVALID_PARAM1 => "parameter 1 is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM2 => "parameter 2 is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM3 => "parameter 3 is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM4 => "parameter 4 is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM5_X => "parameter 5, the latitude, is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM6_Y => "parameter 6, the longitude, is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID_PARAM7 => "parameter 7, the altitude, is wrong for it",
        MavMissionResult::MAV_MISSION_INVALID => "a parameter is wrong for it",
        _ => "it says no more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::items::ItemKind;

    const TO: Address = Address::new(1, 1);

    fn at(millis: u64) -> Moment {
        Moment::at(Duration::from_millis(millis))
    }

    fn asked_twice() -> Transfer {
        let item = Item {
            kind: ItemKind::ReturnPoint,
            parameter: 0.0,
            latitude_e7: 473_977_420,
            longitude_e7: 85_455_940,
        };
        let mut upload = Transfer::new(Task::Upload(vec![item]), at(0));
        assert!(matches!(upload.next(TO, at(0)), Some(MavMessage::MISSION_COUNT(_))));
        let request = MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA::default());
        upload.receive(&request, at(50));
        assert!(matches!(upload.next(TO, at(50)), Some(MavMessage::MISSION_ITEM_INT(_))));
        upload.receive(&request, at(60));
        upload
    }

    fn ack(mavtype: MavMissionResult) -> MavMessage {
        MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            mavtype,
            ..Default::default()
        })
    }

    #[test]
    fn an_upload_is_accepted_though_its_last_item_was_asked_for_again() {
        let mut upload = asked_twice();
        upload.receive(&ack(MavMissionResult::MAV_MISSION_ACCEPTED), at(70));
        assert_eq!(upload.ended(), Some(&Ended::Accepted(0)));
        assert_eq!(upload.next(TO, at(100)), None);
    }

    #[test]
    fn an_error_to_a_last_item_that_came_twice_is_no_refusal() {
        let error = ack(MavMissionResult::MAV_MISSION_ERROR);
        let mut once = asked_twice();
        once.receive(&error, at(70));
        assert_eq!(once.ended(), Some(&Ended::Refused(MavMissionResult::MAV_MISSION_ERROR)));
        let mut twice = asked_twice();
        assert!(twice.next(TO, at(100)).is_some());
        twice.receive(&error, at(110));
        assert_eq!(twice.ended(), Some(&Ended::Unconfirmed));
    }
}
