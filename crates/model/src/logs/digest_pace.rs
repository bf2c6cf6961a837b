//! The share of the flight computer's processor that checksums of logs may take.

use std::time::Duration;

/// Bytes of a log that are hashed between two rests: some milliseconds on a small computer.
pub const DIGEST_PIECE_BYTES: usize = 256 * 1024;

/// Rest time per work time: a quarter of one core is used.
const RESTS_PER_WORK: u32 = 3;
/// The longest rest: a piece that took longer waited for the disk, which takes no processor.
const LONGEST_REST: Duration = Duration::from_millis(500);
/// An answer is due after this: the coordinator waits 10 s for one, and an agent that shuts down waits for it.
const ANSWER_AFTER: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestPace {
    begun: Duration,
    worked_since: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterPiece {
    Rest(Duration),
    /// Rest, then answer with the progress.
    Answer(Duration),
}

impl DigestPace {
    /// `now` counts from any fixed time.
    pub const fn begin(now: Duration) -> Self {
        Self {
            begun: now,
            worked_since: now,
        }
    }

    pub fn after_piece(self, now: Duration) -> AfterPiece {
        let worked = now.saturating_sub(self.worked_since);
        let rest = worked.saturating_mul(RESTS_PER_WORK).min(LONGEST_REST);
        if (now + rest).saturating_sub(self.begun) >= ANSWER_AFTER {
            AfterPiece::Answer(rest)
        } else {
            AfterPiece::Rest(rest)
        }
    }

    pub const fn rested(&mut self, now: Duration) {
        self.worked_since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_digest_takes_a_quarter_of_a_processor_whatever_a_piece_takes() {
        for piece in [1, 5, 40, 160] {
            let mut now = MS * 77;
            let mut pace = DigestPace::begin(now);
            let mut worked = Duration::ZERO;
            let begun = now;
            loop {
                worked += MS * piece;
                now += MS * piece;
                let (rest, is_due) = match pace.after_piece(now) {
                    AfterPiece::Rest(rest) => (rest, false),
                    AfterPiece::Answer(rest) => (rest, true),
                };
                now += rest;
                pace.rested(now);
                if is_due {
                    break;
                }
            }
            let took = now - begun;
            assert!(worked * 4 <= took, "{piece} ms: {worked:?} of {took:?}");
            assert!(took >= ANSWER_AFTER && took < ANSWER_AFTER + MS * 1000, "{took:?}");
        }
    }

    #[test]
    fn a_disk_that_hangs_is_not_rested_from_for_long() {
        let pace = DigestPace::begin(Duration::ZERO);
        assert_eq!(pace.after_piece(MS * 2000), AfterPiece::Rest(LONGEST_REST));
        assert_eq!(pace.after_piece(MS * 60_000), AfterPiece::Answer(LONGEST_REST));
    }
}
