//! Logs of vehicles on their way to a person: their names, and how much is sent at once.
//!
//! Owns: [`LogName`], which is safe as the name of a file, [`ReadPace`], by which a download leaves the line to orders and
//! reports, and what is decided of uploads ([`upload`]). Must not: read files, or know what is in one.

pub mod digest_pace;
pub mod file_name;
pub mod log_name;
pub mod upload;

pub use log_name::{BadLogName, LogName, LogsFrom};

use std::time::Duration;

/// Most bytes of a log in one message.
pub const MOST: u32 = 64 * 1024;
/// Fewest bytes that are asked for, and what a download begins with.
const LEAST: u32 = 4 * 1024;
/// A piece that comes within this makes the next one larger.
const SOON: Duration = Duration::from_millis(150);
/// One that takes longer than this makes the next one smaller: a report may have waited behind it.
const LATE: Duration = Duration::from_millis(400);
/// The line rests no longer than this between two pieces.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// How large the next piece of a download is, and how long the line rests before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadPace {
    size: u32,
}

impl Default for ReadPace {
    fn default() -> Self {
        Self { size: LEAST }
    }
}

impl ReadPace {
    /// Bytes to ask for, where `wanted` are wanted.
    pub fn size(self, wanted: u32) -> u32 {
        wanted.min(self.size)
    }

    /// An answer took this long: how long the line rests now. It stays half free.
    pub fn took(&mut self, took: Duration) -> Duration {
        if took <= SOON {
            self.size = (self.size * 2).min(MOST);
        } else if took >= LATE {
            self.size = (self.size / 2).max(LEAST);
        }
        took.min(LONGEST_REST)
    }

    pub const fn lost(&mut self) {
        self.size = LEAST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_line_carries_large_pieces_and_a_slow_one_small_ones() {
        let mut pace = ReadPace::default();
        for _ in 0..10 {
            assert_eq!(pace.took(Duration::from_millis(20)), Duration::from_millis(20));
        }
        assert_eq!((pace.size(u32::MAX), pace.size(10)), (MOST, 10));
        pace.took(Duration::from_millis(200));
        assert_eq!(pace.size(u32::MAX), MOST, "neither soon nor late");
        for _ in 0..10 {
            pace.took(LATE);
        }
        assert_eq!(pace.size(u32::MAX), LEAST);
        assert_eq!(pace.took(Duration::from_secs(60)), LONGEST_REST);
        pace.took(Duration::ZERO);
        pace.lost();
        assert_eq!(pace, ReadPace::default());
    }
}
