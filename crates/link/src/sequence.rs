//! Frames lost on the way, from the gaps in each sender's sequence numbers (modulo 256).
//! A gap of more than half a round is a late or repeated frame, or a sender that began again: no loss.

use model::units::Address;

const SENDERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderCount {
    pub sender: Address,
    pub frames: u64,
    pub lost: u64,
    /// Last sequence number; `None` when the line has been down since.
    last: Option<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Senders(Vec<SenderCount>);

impl Senders {
    pub fn count(&mut self, sender: Address, sequence: u8) -> u64 {
        let room = self.0.len() < SENDERS;
        let known = self.0.iter_mut().find(|known| known.sender == sender);
        match known {
            Some(known) => {
                let gap = known.last.map_or(0, |last| sequence.wrapping_sub(last).wrapping_sub(1));
                let lost = if gap < 128 { u64::from(gap) } else { 0 };
                known.last = Some(sequence);
                known.frames += 1;
                known.lost += lost;
                lost
            }
            None if room => {
                self.0.push(SenderCount {
                    sender,
                    frames: 1,
                    lost: 0,
                    last: Some(sequence),
                });
                0
            }
            None => 0,
        }
    }

    pub fn list(&self) -> Vec<SenderCount> {
        self.0.clone()
    }

    /// Frames missed while the link was down are no loss of the line.
    pub fn forget_sequences(&mut self) {
        self.0.iter_mut().for_each(|sender| sender.last = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_for_each_sender_and_across_the_wrap() {
        let mut senders = Senders::default();
        assert_eq!(senders.count(Address::new(1, 1), 250), 0);
        assert_eq!(senders.count(Address::new(1, 154), 9), 0);
        assert_eq!(senders.count(Address::new(1, 1), 251), 0);
        assert_eq!(senders.count(Address::new(1, 1), 2), 6, "252 to 255, 0 and 1");
        assert_eq!(senders.count(Address::new(1, 154), 10), 0);
        let list = senders.list();
        assert_eq!((list[0].frames, list[0].lost), (3, 6));
        assert_eq!((list[1].frames, list[1].lost), (2, 0));
    }

    #[test]
    fn a_late_or_repeated_frame_or_a_restart_is_no_loss() {
        let mut senders = Senders::default();
        senders.count(Address::new(1, 1), 100);
        assert_eq!(senders.count(Address::new(1, 1), 100), 0, "repeated");
        assert_eq!(senders.count(Address::new(1, 1), 99), 0, "late");
        assert_eq!(senders.count(Address::new(1, 1), 0), 0, "began again");
        assert_eq!(senders.count(Address::new(1, 1), 1), 0);
    }

    #[test]
    fn frames_sent_while_the_link_was_down_are_not_counted_as_lost() {
        let mut senders = Senders::default();
        senders.count(Address::new(1, 1), 100);
        senders.forget_sequences();
        assert_eq!(senders.count(Address::new(1, 1), 120), 0);
        assert_eq!(senders.count(Address::new(1, 1), 122), 1);
    }

    #[test]
    fn the_table_is_bounded() {
        let mut senders = Senders::default();
        (0..=255).for_each(|system| assert_eq!(senders.count(Address::new(system, 1), 0), 0));
        assert_eq!(senders.list().len(), SENDERS);
    }
}
