//! To which of several ground stations with one system and component id an answer goes.
//!
//! Most call themselves 255/190, and by its address alone an answer would reach all of them: one that transfers a mission would take another's
//! item or verdict. So questions are remembered: a command by its number, an item by its place, a file operation by its sequence number.

use super::fields::{self, COMMAND_INT, COMMAND_LONG, FILE_TRANSFER, MISSION_ACK};
use super::routes::{Address, GuestId};
use link::raw::RawFrame;
use model::units::{ComponentId, SystemId};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

const COMMAND_ACK: u32 = 77;
const MISSION_WRITE_PARTIAL_LIST: u32 = 38;
const MISSION_ITEM: u32 = 39;
const MISSION_REQUEST: u32 = 40;
const MISSION_REQUEST_LIST: u32 = 43;
const MISSION_COUNT: u32 = 44;
const MISSION_CLEAR_ALL: u32 = 45;
const MISSION_REQUEST_INT: u32 = 51;
const MISSION_ITEM_INT: u32 = 73;

/// More would be a fault or a joke; the oldest is forgotten.
const REMEMBERED: usize = 512;

/// Holds also for the last answer to a command that takes its time; each item of an upload asks anew.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Command(u16),
    /// By MAV_MISSION_TYPE.
    Count(u8),
    Item(u8, u16),
    Upload(u8),
    /// By the sequence number of its answer.
    File(u16),
}

#[derive(Clone, Copy, Debug)]
struct Question {
    guest: GuestId,
    by: Address,
    /// 0: all.
    of: SystemId,
    topic: Topic,
    at: Instant,
    answered: bool,
}

#[derive(Debug, Default)]
pub struct Askers(VecDeque<Question>);

impl Askers {
    pub fn ask(&mut self, guest: GuestId, frame: &RawFrame, now: Instant) {
        let Some(topic) = asked(frame) else { return };
        let question = Question {
            guest,
            by: frame.sender(),
            of: frame.target.map_or(SystemId(0), |to| to.system),
            topic,
            at: now,
            answered: false,
        };
        let same = |other: &Question| (other.by, other.of, other.topic) == (question.by, question.of, topic);
        let continues = matches!(frame.message_id, MISSION_ITEM | MISSION_ITEM_INT);
        if continues {
            // An item of an upload that another has begun since does not bring back this one.
            if let Some(own) = self.0.iter_mut().find(|other| same(other) && other.guest == guest) {
                own.at = now;
            }
            return;
        }
        // A vehicle takes one upload at a time, the last that has begun.
        let replaces = |other: &Question| other.guest == guest || matches!(topic, Topic::Upload(_));
        self.0.retain(|other| !(same(other) && replaces(other)));
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(question);
    }

    /// Empty: it is not known who asked, or it is no answer.
    pub fn answer(&mut self, frame: &RawFrame, now: Instant) -> Vec<GuestId> {
        let topics = answered(frame);
        let Some(to) = frame.target.filter(|_| !topics.is_empty()) else {
            return Vec::new();
        };
        self.0
            .retain(|question| now.saturating_duration_since(question.at) < ANSWERED_WITHIN);
        let fits = |question: &Question, topic: &Wanted| {
            let system = question.of == SystemId(0) || question.of == frame.system;
            let component = to.component == ComponentId(0) || to.component == question.by.component;
            system && component && question.by.system == to.system && topic.is(question.topic)
        };
        for topic in &topics {
            let open = self
                .0
                .iter()
                .any(|question| fits(question, topic) && !question.answered);
            let mut guests = Vec::new();
            for question in &mut self.0 {
                if fits(question, topic) && question.answered != open {
                    question.answered = true;
                    guests.push(question.guest);
                }
            }
            if !guests.is_empty() {
                return guests;
            }
        }
        Vec::new()
    }

    pub fn leave(&mut self, guest: GuestId) {
        self.0.retain(|question| question.guest != guest);
    }
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Exactly(Topic),
    /// By MAV_MISSION_TYPE.
    Download(u8),
}

impl Wanted {
    fn is(self, topic: Topic) -> bool {
        match (self, topic) {
            (Self::Exactly(wanted), topic) => wanted == topic,
            (Self::Download(of), Topic::Count(kind) | Topic::Item(kind, _)) => of == kind,
            (Self::Download(_), Topic::Command(_) | Topic::Upload(_) | Topic::File(_)) => false,
        }
    }
}

fn asked(frame: &RawFrame) -> Option<Topic> {
    Some(match frame.message_id {
        COMMAND_LONG | COMMAND_INT => Topic::Command(fields::command(frame)?),
        MISSION_REQUEST_LIST => Topic::Count(fields::byte(frame, 2)),
        MISSION_REQUEST | MISSION_REQUEST_INT => Topic::Item(fields::byte(frame, 4), fields::number(frame, 0)),
        MISSION_COUNT => Topic::Upload(fields::byte(frame, 4)),
        MISSION_WRITE_PARTIAL_LIST => Topic::Upload(fields::byte(frame, 6)),
        MISSION_CLEAR_ALL => Topic::Upload(fields::byte(frame, 2)),
        MISSION_ITEM | MISSION_ITEM_INT => Topic::Upload(fields::byte(frame, 37)),
        FILE_TRANSFER => Topic::File(fields::number(frame, 3).wrapping_add(1)),
        _ => return None,
    })
}

/// The most likely first.
fn answered(frame: &RawFrame) -> Vec<Wanted> {
    use Wanted::{Download, Exactly};
    match frame.message_id {
        COMMAND_ACK => vec![Exactly(Topic::Command(fields::number(frame, 0)))],
        MISSION_COUNT => vec![Exactly(Topic::Count(fields::byte(frame, 4)))],
        MISSION_ITEM | MISSION_ITEM_INT => {
            vec![Exactly(Topic::Item(fields::byte(frame, 37), fields::number(frame, 28)))]
        }
        MISSION_REQUEST | MISSION_REQUEST_INT => vec![Exactly(Topic::Upload(fields::byte(frame, 4)))],
        // The end of an upload, or the refusal of a download.
        MISSION_ACK => {
            let kind = fields::byte(frame, 3);
            vec![Exactly(Topic::Upload(kind)), Download(kind)]
        }
        FILE_TRANSFER => vec![Exactly(Topic::File(fields::number(frame, 3)))],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::frame;
    use link::dialect::{
        COMMAND_ACK_DATA, COMMAND_LONG_DATA, FILE_TRANSFER_PROTOCOL_DATA, MISSION_ACK_DATA, MISSION_COUNT_DATA,
        MISSION_ITEM_INT_DATA, MISSION_REQUEST_INT_DATA, MISSION_REQUEST_LIST_DATA, MavCmd, MavMessage, MavMissionType,
    };

    const A: GuestId = GuestId(1);
    const B: GuestId = GuestId(2);
    const STATION: Address = Address::new(255, 190);
    const VEHICLE: Address = Address::new(7, 1);
    const FENCE: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;

    fn command(command: MavCmd) -> RawFrame {
        let data = COMMAND_LONG_DATA {
            command,
            target_system: 7,
            target_component: 1,
            ..COMMAND_LONG_DATA::default()
        };
        frame(STATION, &MavMessage::COMMAND_LONG(data))
    }

    fn ack(command: MavCmd) -> RawFrame {
        let data = COMMAND_ACK_DATA {
            command,
            target_system: 255,
            target_component: 190,
            ..COMMAND_ACK_DATA::default()
        };
        frame(VEHICLE, &MavMessage::COMMAND_ACK(data))
    }

    fn asks_for(seq: u16, mission_type: MavMissionType) -> RawFrame {
        let data = MISSION_REQUEST_INT_DATA {
            seq,
            target_system: 7,
            target_component: 1,
            mission_type,
        };
        frame(STATION, &MavMessage::MISSION_REQUEST_INT(data))
    }

    fn item(from: Address, to: Address, seq: u16, mission_type: MavMissionType) -> RawFrame {
        let data = MISSION_ITEM_INT_DATA {
            seq,
            target_system: to.system.0,
            target_component: to.component.0,
            mission_type,
            ..MISSION_ITEM_INT_DATA::default()
        };
        frame(from, &MavMessage::MISSION_ITEM_INT(data))
    }

    fn count(from: Address, to: Address) -> RawFrame {
        let data = MISSION_COUNT_DATA {
            count: 3,
            target_system: to.system.0,
            target_component: to.component.0,
            ..MISSION_COUNT_DATA::default()
        };
        frame(from, &MavMessage::MISSION_COUNT(data))
    }

    fn ends(mission_type: MavMissionType) -> RawFrame {
        let data = MISSION_ACK_DATA {
            target_system: 255,
            target_component: 190,
            mission_type,
            ..MISSION_ACK_DATA::default()
        };
        frame(VEHICLE, &MavMessage::MISSION_ACK(data))
    }

    #[test]
    fn of_two_stations_of_one_id_each_receives_the_items_and_verdicts_that_it_asked_for() {
        const MISSION: MavMissionType = MavMissionType::MAV_MISSION_TYPE_MISSION;
        let (mut askers, now) = (Askers::default(), Instant::now());
        askers.ask(A, &command(MavCmd::MAV_CMD_DO_SET_HOME), now);
        askers.ask(B, &command(MavCmd::MAV_CMD_REQUEST_MESSAGE), now);
        assert_eq!(askers.answer(&ack(MavCmd::MAV_CMD_REQUEST_MESSAGE), now), [B]);
        assert_eq!(askers.answer(&ack(MavCmd::MAV_CMD_DO_SET_HOME), now), [A]);
        assert_eq!(askers.answer(&ack(MavCmd::MAV_CMD_DO_JUMP), now), [], "nobody is known");

        let list = MISSION_REQUEST_LIST_DATA {
            target_system: 7,
            ..MISSION_REQUEST_LIST_DATA::default()
        };
        askers.ask(A, &frame(STATION, &MavMessage::MISSION_REQUEST_LIST(list)), now);
        assert_eq!(askers.answer(&count(VEHICLE, STATION), now), [A]);
        for seq in 0..5 {
            askers.ask(A, &asks_for(seq + 1, MISSION), now);
            askers.ask(B, &asks_for(seq, MISSION), now);
            assert_eq!(askers.answer(&item(VEHICLE, STATION, seq + 1, MISSION), now), [A]);
            assert_eq!(askers.answer(&item(VEHICLE, STATION, seq, MISSION), now), [B]);
        }
        askers.ask(B, &asks_for(9, FENCE), now);
        assert_eq!(askers.answer(&ends(FENCE), now), [B], "there is no such item");
    }

    #[test]
    fn both_guests_that_asked_receive_the_answer_and_a_late_one_goes_where_it_did() {
        let (mut askers, now) = (Askers::default(), Instant::now());
        let home = MavCmd::MAV_CMD_DO_SET_HOME;
        askers.ask(A, &command(home), now);
        askers.ask(B, &command(home), now);
        assert_eq!(askers.answer(&ack(home), now), [A, B]);
        askers.ask(B, &command(home), now);
        assert_eq!(askers.answer(&ack(home), now), [B], "A has its answer");
        askers.leave(A);
        assert_eq!(askers.answer(&ack(home), now), [B], "in progress, then accepted");
        assert_eq!(askers.answer(&ack(home), now + ANSWERED_WITHIN), []);
    }

    #[test]
    fn the_requests_of_an_upload_go_to_the_last_station_that_began_one() {
        const MISSION: MavMissionType = MavMissionType::MAV_MISSION_TYPE_MISSION;
        let (mut askers, now) = (Askers::default(), Instant::now());
        let requests = || {
            let data = MISSION_REQUEST_INT_DATA {
                target_system: 255,
                target_component: 190,
                ..MISSION_REQUEST_INT_DATA::default()
            };
            frame(VEHICLE, &MavMessage::MISSION_REQUEST_INT(data))
        };
        askers.ask(A, &count(STATION, VEHICLE), now);
        assert_eq!(askers.answer(&requests(), now), [A]);
        askers.ask(B, &count(STATION, VEHICLE), now);
        askers.ask(A, &item(STATION, VEHICLE, 0, MISSION), now);
        assert_eq!(askers.answer(&requests(), now), [B]);
        assert_eq!(askers.answer(&ends(MISSION), now), [B]);
    }

    #[test]
    fn the_answer_of_a_file_operation_is_known_by_its_number_and_of_which_vehicle_it_is() {
        let (mut askers, now) = (Askers::default(), Instant::now());
        let file = |from, to: Address, seq: u16| {
            let mut payload = [0; 251];
            payload[..2].copy_from_slice(&seq.to_le_bytes());
            let data = FILE_TRANSFER_PROTOCOL_DATA {
                target_network: 0,
                target_system: to.system.0,
                target_component: to.component.0,
                payload,
            };
            frame(from, &MavMessage::FILE_TRANSFER_PROTOCOL(data))
        };
        askers.ask(A, &file(STATION, VEHICLE, 4), now);
        askers.ask(B, &file(STATION, VEHICLE, 40), now);
        askers.ask(B, &file(STATION, Address::new(8, 1), 4), now);
        assert_eq!(askers.answer(&file(VEHICLE, STATION, 41), now), [B]);
        assert_eq!(askers.answer(&file(VEHICLE, STATION, 5), now), [A]);
    }

    #[test]
    fn questions_are_not_remembered_without_bound() {
        let (mut askers, now) = (Askers::default(), Instant::now());
        for seq in 0..2000 {
            askers.ask(A, &asks_for(seq, FENCE), now);
        }
        assert_eq!(askers.0.len(), REMEMBERED);
    }
}
