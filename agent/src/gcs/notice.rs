//! The notice to a guest that is refused: a STATUSTEXT (253) of the agent.

use super::fields;
use super::own_frame::own_frame;
use super::routes::{Address, GuestId};
use super::switch::Refusal;
use link::dialect::{MavMessage, MavSeverity, STATUSTEXT_DATA};
use link::raw::RawFrame;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// A guest gets the same notice no more often than this.
const EVERY: Duration = Duration::from_secs(10);
/// Different notices to a guest in that time.
const MOST: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    ReadOnly,
    NotNow,
    OutsideVolume,
    AnotherVehicle,
    Message(u32),
    Command(u16),
}

impl Subject {
    fn of(refusal: Refusal, frame: &RawFrame) -> Option<Self> {
        match refusal {
            Refusal::ReadOnly => Some(Self::ReadOnly),
            Refusal::NotNow => Some(Self::NotNow),
            Refusal::OutsideVolume => Some(Self::OutsideVolume),
            Refusal::AnotherVehicle => Some(Self::AnotherVehicle),
            Refusal::NotOfPrograms => {
                let message = Self::Message(frame.message_id);
                Some(fields::command(frame).map_or(message, Self::Command))
            }
            // Programs send these all the time, and miss nothing.
            Refusal::SetupSigning | Refusal::Impostor | Refusal::Radio | Refusal::HeldHeartbeat | Refusal::Repeated => {
                None
            }
        }
    }

    /// At most 50 bytes: one STATUSTEXT.
    fn words(self) -> String {
        match self {
            Self::ReadOnly => "Skein: read-only, this was not passed on".to_owned(),
            Self::NotNow => "Skein: not passed on now; see the Drone's Ready".to_owned(),
            Self::OutsideVolume => "Skein: a set-point leads out of the volume".to_owned(),
            Self::AnotherVehicle => "Skein: that is not the vehicle of this program".to_owned(),
            Self::Message(id) => format!("Skein: a program may not send message {id}"),
            Self::Command(number) => format!("Skein: a program may not send command {number}"),
        }
    }
}

#[derive(Debug, Default)]
pub struct Notices {
    noticed: BTreeMap<GuestId, (Instant, BTreeSet<Subject>)>,
    sequence: u8,
}

impl Notices {
    /// `None` where there is no notice for that, or the guest had it lately.
    pub fn refused(
        &mut self,
        guest: GuestId,
        refusal: Refusal,
        frame: &RawFrame,
        ours: Address,
        now: Instant,
    ) -> Option<RawFrame> {
        let subject = Subject::of(refusal, frame)?;
        let (since, subjects) = self.noticed.entry(guest).or_insert_with(|| (now, BTreeSet::new()));
        if now.saturating_duration_since(*since) >= EVERY {
            *since = now;
            subjects.clear();
        }
        if subjects.len() >= MOST || !subjects.insert(subject) {
            return None;
        }
        self.sequence = self.sequence.wrapping_add(1);
        let text = MavMessage::STATUSTEXT(STATUSTEXT_DATA {
            severity: MavSeverity::MAV_SEVERITY_NOTICE,
            text: subject.words().as_str().into(),
            ..STATUSTEXT_DATA::default()
        });
        own_frame(ours, self.sequence, &text)
    }

    pub fn leave(&mut self, guest: GuestId) {
        self.noticed.remove(&guest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::frame;
    use link::dialect::{COMMAND_LONG_DATA, MANUAL_CONTROL_DATA, MavCmd};

    const PROGRAM: Address = Address::new(245, 190);

    fn command(command: MavCmd) -> RawFrame {
        let data = COMMAND_LONG_DATA {
            command,
            ..COMMAND_LONG_DATA::default()
        };
        frame(PROGRAM, &MavMessage::COMMAND_LONG(data))
    }

    fn notice(notices: &mut Notices, guest: u64, refusal: Refusal, frame: &RawFrame, now: Instant) -> Option<RawFrame> {
        notices.refused(GuestId(guest), refusal, frame, Address::new(7, 191), now)
    }

    fn says(notice: &RawFrame, words: &str) -> bool {
        notice.bytes.windows(words.len()).any(|part| part == words.as_bytes())
    }

    #[test]
    fn a_guest_is_told_once_in_a_while_and_each_guest_for_itself() {
        let (mut notices, began) = (Notices::default(), Instant::now());
        let arms = command(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
        let mut noticed = |guest: u64, s: u64| {
            let now = began + Duration::from_secs(s);
            notice(&mut notices, guest, Refusal::ReadOnly, &arms, now)
        };
        let frame = noticed(1, 0).unwrap();
        assert_eq!((frame.sender(), frame.message_id), (Address::new(7, 191), 253));
        assert!(says(&frame, "read-only"));
        assert!(noticed(1, 9).is_none() && noticed(2, 9).is_some() && noticed(1, 10).is_some());
    }

    #[test]
    fn a_program_is_told_each_thing_that_it_may_not_send_and_not_without_end() {
        let (mut notices, now) = (Notices::default(), Instant::now());
        let arms = command(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
        let sticks = frame(PROGRAM, &MavMessage::MANUAL_CONTROL(MANUAL_CONTROL_DATA::default()));
        let mut told = |refusal, frame: &RawFrame| notice(&mut notices, 1, refusal, frame, now);
        let refusal = Refusal::NotOfPrograms;
        assert!(says(&told(refusal, &sticks).unwrap(), "may not send message 69"));
        assert!(says(&told(refusal, &arms).unwrap(), "may not send command 400"));
        assert!(told(refusal, &arms).is_none());
        assert!(says(&told(Refusal::NotNow, &arms).unwrap(), "not passed on now"));
        assert!(told(Refusal::HeldHeartbeat, &arms).is_none());
        let others = [
            MavCmd::MAV_CMD_NAV_TAKEOFF,
            MavCmd::MAV_CMD_NAV_LAND,
            MavCmd::MAV_CMD_MISSION_START,
        ];
        assert_eq!(
            others
                .iter()
                .filter(|other| told(refusal, &command(**other)).is_some())
                .count(),
            2
        );
    }

    #[test]
    fn the_words_fit() {
        let longest = [
            Subject::ReadOnly,
            Subject::NotNow,
            Subject::OutsideVolume,
            Subject::AnotherVehicle,
            Subject::Message(0x00FF_FFFF),
            Subject::Command(u16::MAX),
        ];
        assert!(longest.iter().all(|subject| subject.words().len() <= 50));
    }
}
