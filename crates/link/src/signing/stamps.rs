//! Time stamps of signatures: they only grow, also over restarts and wrong clocks. The file is written at every start
//! and every half minute; after a restart stamps begin a minute after it, even when the clock has been set back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2015-01-01 UTC, in seconds since 1970.
const EPOCH: Duration = Duration::from_secs(1_420_070_400);
const AFTER_RESTART: u64 = 60 * Stamp::SECOND;
/// Largest in 6 bytes; reached in the year 2104.
const LARGEST: u64 = (1 << 48) - 1;
const LONGEST_FILE: usize = 20;

/// Units of 10 µs since 2015-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub u64);

impl Stamp {
    pub const SECOND: u64 = 100_000;

    /// Time by the system's clock; 0 before 2015.
    #[must_use]
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH + EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros() / 10).unwrap_or(LARGEST).min(LARGEST))
    }

    pub(super) fn to_wire(self) -> [u8; 6] {
        let [a, b, c, d, e, f, ..] = self.0.to_le_bytes();
        [a, b, c, d, e, f]
    }

    pub(super) const fn from_wire(&[a, b, c, d, e, f]: &[u8; 6]) -> Self {
        Self(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }
}

#[derive(Debug)]
pub struct Stamps(Stamp);

impl Stamps {
    /// Begins after what is on the disk, and not before the clock.
    #[must_use]
    pub fn after_restart(on_disk: Option<Stamp>, clock: Stamp) -> Self {
        let resumed = on_disk.map_or(0, |stamp| stamp.0.saturating_add(AFTER_RESTART).min(LARGEST));
        Self(clock.max(Stamp(resumed)))
    }

    #[must_use]
    pub const fn last(&self) -> Stamp {
        self.0
    }

    /// Gives a stamp above all before, and not behind the clock.
    pub fn next(&mut self, clock: Stamp) -> Stamp {
        self.0 = clock.max(Stamp(self.0.0.saturating_add(1).min(LARGEST)));
        self.0
    }

    /// Stamp of another holder of the key. Ours continue above it, so that a clock that is behind is believed.
    pub fn see(&mut self, other: Stamp) {
        self.0 = self.0.max(other);
    }
}

#[derive(Clone, Debug)]
pub struct StampFile(PathBuf);

#[derive(Debug, thiserror::Error)]
pub enum StampError {
    #[error("cannot use {file}, which keeps the signing time stamp; check its directory and permissions")]
    Unusable { file: String, source: io::Error },
    #[error(
        "{0} holds no signing time stamp, so signed frames might be taken for old ones; make sure that this computer's clock is right, then remove the file"
    )]
    Corrupt(String),
}

impl StampFile {
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn read(&self) -> Result<Option<Stamp>, StampError> {
        let content = match fs::read(&self.0) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(error)),
        };
        let number = std::str::from_utf8(&content)
            .ok()
            .filter(|_| content.len() <= LONGEST_FILE);
        let number = number.and_then(|text| text.trim_ascii().parse().ok());
        match number.filter(|&n| n <= LARGEST) {
            Some(number) => Ok(Some(Stamp(number))),
            None => Err(StampError::Corrupt(self.0.display().to_string())),
        }
    }

    /// Writes atomically and syncs to disk. Blocks.
    pub fn write(&self, stamp: Stamp) -> Result<(), StampError> {
        self.try_write(stamp).map_err(|error| self.unusable(error))
    }

    fn try_write(&self, stamp: Stamp) -> io::Result<()> {
        let new = self.0.with_extension("new");
        let mut file = File::create(&new)?;
        writeln!(file, "{}", stamp.0)?;
        file.sync_all()?;
        fs::rename(&new, &self.0)?;
        match self.0.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }

    fn unusable(&self, source: io::Error) -> StampError {
        StampError::Unusable {
            file: self.0.display().to_string(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stamps_count_tens_of_microseconds_since_2015() {
        let year_2026 = Stamp(347_155_200 * Stamp::SECOND);
        assert!(Stamp::now() > year_2026 && Stamp::now().0 < LARGEST);
        assert_eq!(Stamp(0x0102_0304_0506).to_wire(), [6, 5, 4, 3, 2, 1]);
        assert_eq!(Stamp::from_wire(&[6, 5, 4, 3, 2, 1]), Stamp(0x0102_0304_0506));
    }

    #[test]
    fn after_a_restart_stamps_begin_a_minute_after_the_disk_or_with_the_clock() {
        let minute = 60 * Stamp::SECOND;
        let begin = |disk: Option<u64>, clock| Stamps::after_restart(disk.map(Stamp), Stamp(clock)).last().0;
        assert_eq!(begin(None, 5), 5);
        assert_eq!(begin(Some(1000), 5), 1000 + minute, "the clock was set back");
        assert_eq!(begin(Some(1000), 2 * minute), 2 * minute);
    }

    #[test]
    fn the_last_stamp_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = StampFile::new(folder.path().join("stamp"));
        assert_eq!(file.read().unwrap(), None);
        file.write(Stamp(7)).unwrap();
        file.write(Stamp(LARGEST)).unwrap();
        assert_eq!(file.read().unwrap(), Some(Stamp(LARGEST)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn on_a_full_disk_the_last_stamp_that_was_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stamp");
        let file = StampFile::new(path.clone());
        file.write(Stamp(7)).unwrap();
        std::os::unix::fs::symlink("/dev/full", path.with_extension("new")).unwrap();
        assert!(matches!(file.write(Stamp(8)), Err(StampError::Unusable { .. })));
        assert_eq!(file.read().unwrap(), Some(Stamp(7)));
    }

    #[test]
    fn a_file_that_makes_no_sense_is_never_a_fresh_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stamp");
        let file = StampFile::new(path.clone());
        for content in ["", "soon", "-1", "281474976710656", "1 2", "0000000000000000000000001"] {
            fs::write(&path, content).unwrap();
            assert!(matches!(file.read(), Err(StampError::Corrupt(_))), "{content}");
        }
        let missing = StampFile::new(folder.path().join("no/such/folder/stamp"));
        assert!(matches!(missing.write(Stamp(1)), Err(StampError::Unusable { .. })));
    }

    proptest! {
        #[test]
        fn stamps_only_grow_whatever_the_clock_and_the_others_do(
            start in 0..LARGEST / 2,
            moves in proptest::collection::vec((0..LARGEST / 2, proptest::option::of(0..LARGEST / 2)), 1..50),
        ) {
            let mut stamps = Stamps::after_restart(None, Stamp(start));
            for (clock, received) in moves {
                let before = stamps.last();
                received.into_iter().for_each(|received| stamps.see(Stamp(received)));
                let next = stamps.next(Stamp(clock));
                prop_assert!(next > before && next >= Stamp(clock));
                prop_assert!(received.is_none_or(|received| next > Stamp(received)));
            }
        }
    }
}
