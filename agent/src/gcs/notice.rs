//! The notice to a guest that is refused: a STATUSTEXT (253) of the agent.

use super::routes::{Address, GuestId};
use link::dialect::{MavMessage, MavSeverity, STATUSTEXT_DATA};
use link::raw::RawFrame;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// A guest gets a notice no more often than this.
const EVERY: Duration = Duration::from_secs(10);
/// At most 50 bytes.
const READ_ONLY: &str = "Skein: read-only, this was not passed on";
const OUTSIDE: &str = "Skein: a set-point leads out of the volume";

/// Notifies guests that they were refused.
#[derive(Debug, Default)]
pub struct Notices {
    noticed: BTreeMap<GuestId, Instant>,
    sequence: u8,
}

impl Notices {
    /// The notice to `guest` from `ours` that it may only watch, if it had none lately.
    pub fn read_only(&mut self, guest: GuestId, ours: Address, now: Instant) -> Option<RawFrame> {
        self.notice(READ_ONLY, guest, ours, now)
    }

    /// The notice to a program that what it has sent leads out of its volume, if it had none lately.
    pub fn outside_volume(&mut self, guest: GuestId, ours: Address, now: Instant) -> Option<RawFrame> {
        self.notice(OUTSIDE, guest, ours, now)
    }

    fn notice(&mut self, words: &str, guest: GuestId, ours: Address, now: Instant) -> Option<RawFrame> {
        let lately = |at: &Instant| now.saturating_duration_since(*at) < EVERY;
        if self.noticed.get(&guest).is_some_and(lately) {
            return None;
        }
        self.noticed.insert(guest, now);
        self.sequence = self.sequence.wrapping_add(1);
        let header = MavHeader {
            system_id: u32::from(ours.system.0),
            component_id: ours.component.0,
            sequence: self.sequence,
        };
        let text = MavMessage::STATUSTEXT(STATUSTEXT_DATA {
            severity: MavSeverity::MAV_SEVERITY_NOTICE,
            text: words.into(),
            ..STATUSTEXT_DATA::default()
        });
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, &text);
        RawFrame::parse(raw.raw_bytes()).ok()
    }

    pub fn leave(&mut self, guest: GuestId) {
        self.noticed.remove(&guest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_told_once_in_a_while_and_each_guest_for_itself() {
        let (mut notices, now) = (Notices::default(), Instant::now());
        let mut noticed = |guest: u64, s: u64| {
            let now = now + Duration::from_secs(s);
            notices.read_only(GuestId(guest), Address::new(7, 191), now)
        };
        let frame = noticed(1, 0).unwrap();
        assert_eq!((frame.sender(), frame.message_id), (Address::new(7, 191), 253));
        assert!(frame.bytes.windows(9).any(|w| w == b"read-only"));
        assert!(noticed(1, 9).is_none() && noticed(2, 9).is_some() && noticed(1, 10).is_some());
    }

    #[test]
    fn the_words_fit() {
        assert!(READ_ONLY.len() <= 50 && OUTSIDE.len() <= 50);
    }
}
