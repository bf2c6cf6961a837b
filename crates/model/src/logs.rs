//! Logs of vehicles on their way to a person: their names, and how much is sent at once.
//!
//! Owns: [`LogName`], a safe file name, [`ReadPace`], by which a download leaves the line to orders and reports, and decisions about
//! uploads ([`upload`]). Must not: read files, or know their content.

pub mod digest_pace;
pub mod file_name;
pub mod log_name;
pub mod upload;

pub use log_name::{BadLogName, LogName, LogsFrom};

use std::time::Duration;

pub const MOST: u32 = 64 * 1024;
/// Fewest bytes asked for; a download begins with these.
const LEAST: u32 = 4 * 1024;
/// A piece that comes within this makes the next one larger.
const SOON: Duration = Duration::from_millis(150);
/// A piece that takes longer makes the next one smaller: a report may have waited behind it.
const LATE: Duration = Duration::from_millis(400);
/// Longest pause of the line between two pieces.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// Size of the next piece of a download, and the pause before it.
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
    pub fn size(self, wanted: u32) -> u32 {
        wanted.min(self.size)
    }

    /// The pause after an answer that took this long: the line stays half free.
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
