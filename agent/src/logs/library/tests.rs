//! Questions about logs on a real folder.

use super::*;
use crate::gcs::tests::{heartbeat, ping};
use crate::logs::digest::ThreadClock;
use crate::logs::records::tests::log_of;
use link::dialect::{MavAutopilot, MavType};
use sha2::{Digest as _, Sha256};
use std::path::Path;

const OLD: &str = "skein-pine-20261121T080203Z-9.tlog";
const NEW: &str = "skein-pine-20261121T080303Z-10.tlog";

fn library(folder: &Path) -> Library {
    let config = Config {
        folder: Some(folder.to_owned()),
        ..Config::default()
    };
    Library::of(
        &config,
        NodeName::parse("pine").unwrap(),
        Wanted::default(),
        Sent::default(),
    )
}

fn armed(ms: u64) -> (u64, link::dialect::MavMessage) {
    let beat = heartbeat(MavType::MAV_TYPE_QUADROTOR, MavAutopilot::MAV_AUTOPILOT_PX4, true);
    (ms, beat)
}

#[test]
fn logs_are_listed_with_what_is_in_them_and_those_of_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    let old = log_of(&[armed(1_000), armed(2_500)]);
    write(OLD, &old);
    write(NEW, &log_of(&[(5_000, ping())]));
    write("skein-oak-20261121T080203Z-11.tlog", &old);
    write("notes.txt", b"mine");
    let mut library = library(folder.path());
    let files = library.list().unwrap();
    assert!(!files.unfinished);
    let named: Vec<_> = files
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.growing))
        .collect();
    assert_eq!(named, [(NEW, true), (OLD, false)], "by number, not by name");
    let listed = &files.files[1];
    assert_eq!(
        (listed.bytes, listed.begun_ms, listed.length_ms),
        (old.len() as u64, 1_000, 1_500)
    );
    assert_eq!((listed.armed_ms, listed.in_air_ms), (1_500, 0));

    // The one that grows is read on.
    write(NEW, &log_of(&[(5_000, ping()), armed(6_000), armed(9_000)]));
    let files = library.list().unwrap();
    assert_eq!((files.files[0].length_ms, files.files[0].armed_ms), (4_000, 3_000));
}

#[test]
fn a_piece_and_its_checksum_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(folder.path().join(OLD), &bytes).unwrap();
    let mut library = library(folder.path());
    let read = |offset, most| {
        let name = OLD.to_owned();
        library.read(&v1::LogRead { name, offset, most }).unwrap()
    };
    let piece = read(100, 7);
    assert_eq!((&piece.data[..], piece.size), (&bytes[100..107], 200_000));
    assert_eq!(read(0, u32::MAX).data.len(), usize::try_from(SENT).unwrap());
    assert!(read(200_000, 7).data.is_empty() && read(u64::MAX / 2, 7).data.is_empty());
    for length in [0, 1, 100_000, 200_000] {
        let asked = v1::LogDigest {
            name: OLD.to_owned(),
            bytes: length as u64,
            in_parts: true,
        };
        assert_eq!(
            library.digest(&asked, &mut ThreadClock::default()).unwrap(),
            Digest::Done(Sha256::digest(&bytes[..length]).to_vec())
        );
    }
}

/// Each reading of the clock is half a piece's work later.
struct SlowComputer {
    now: Duration,
    rested: Duration,
}

impl WorkClock for SlowComputer {
    fn now(&mut self) -> Duration {
        self.now += Duration::from_millis(50);
        self.now
    }

    fn rest(&mut self, time: Duration) {
        self.now += time;
        self.rested += time;
    }
}

#[test]
fn checksums_take_a_share_of_the_processor_and_go_on_when_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..12_000_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(folder.path().join(OLD), &bytes).unwrap();
    fs::write(folder.path().join(NEW), b"short").unwrap();
    let mut library = library(folder.path());
    let asked = |name: &str, bytes| v1::LogDigest {
        name: name.to_owned(),
        bytes,
        in_parts: true,
    };
    let (mut before, mut answers) = (0, 0);
    let digest = loop {
        let mut clock = SlowComputer {
            now: Duration::ZERO,
            rested: Duration::ZERO,
        };
        let digest = library.digest(&asked(OLD, 12_000_000), &mut clock).unwrap();
        answers += 1;
        assert!(
            clock.now < Duration::from_secs(4),
            "the coordinator waits 10 s: {:?}",
            clock.now
        );
        match digest {
            Digest::Done(digest) => break digest,
            Digest::Open(done) => {
                assert!(done > before, "it goes on");
                before = done;
                assert!(
                    clock.rested * 4 >= clock.now * 2,
                    "{:?} of {:?}",
                    clock.rested,
                    clock.now
                );
            }
        }
    };
    assert!(answers > 1, "{answers}");
    assert_eq!(digest, Sha256::digest(&bytes).to_vec());

    // A name that leads to another file meanwhile is read from its beginning.
    let mut clock = SlowComputer {
        now: Duration::ZERO,
        rested: Duration::ZERO,
    };
    assert!(matches!(
        library.digest(&asked(OLD, 12_000_000), &mut clock),
        Ok(Digest::Open(_))
    ));
    let other = folder.path().join("other");
    fs::write(&other, b"other").unwrap();
    fs::rename(other, folder.path().join(OLD)).unwrap();
    let digest = library.digest(&asked(OLD, 12_000_000), &mut clock).unwrap();
    assert_eq!(digest, Digest::Done(Sha256::digest(b"other").to_vec()));
    let digest = library.digest(&asked(NEW, 5), &mut clock).unwrap();
    assert_eq!(digest, Digest::Done(Sha256::digest(b"short").to_vec()));
}

#[test]
fn no_answer_is_larger_than_what_a_coordinator_takes() {
    let folder = tempfile::tempdir().unwrap();
    let longest = "n".repeat(63);
    let config = Config {
        folder: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let mut library = Library::of(
        &config,
        NodeName::parse(&longest).unwrap(),
        Wanted::default(),
        Sent::default(),
    );
    for number in 0..150 {
        let name = format!("skein-{longest}-20261121T080203Z-{number}.tlog");
        fs::write(folder.path().join(name), []).unwrap();
    }
    let words = link::dialect::MavMessage::STATUSTEXT(link::dialect::STATUSTEXT_DATA {
        text: "x".repeat(49).as_str().into(),
        ..Default::default()
    });
    let spoken: Vec<_> = (0..3000).map(|ms| (ms, words.clone())).collect();
    let name = format!("skein-{longest}-20261121T080203Z-999.tlog");
    fs::write(folder.path().join(&name), log_of(&spoken)).unwrap();
    let files = library.list().unwrap();
    assert_eq!(files.files.len(), LISTED);
    let names: usize = files.files.iter().map(|file| file.name.len() + 60).sum();
    assert!(names < 48 * 1024, "{names}");
    // What is left out of one answer is in the next ones.
    let mut place = v1::LogLines {
        name,
        ..v1::LogLines::default()
    };
    let (mut told, mut answers) = (0, 0);
    loop {
        let text = library.lines(&place).unwrap();
        let bytes: usize = text.lines.iter().map(|line| line.text.len() + LINE).sum();
        assert!(bytes < 48 * 1024, "{bytes}");
        (told, answers) = (told + text.lines.len(), answers + 1);
        (place.offset, place.context) = (text.next, text.context);
        if text.end {
            break;
        }
    }
    assert_eq!(told, 3000);
    assert!(answers > 3, "{answers}");
}

#[test]
fn nothing_but_logs_of_this_node_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("logs");
    fs::create_dir(&inner).unwrap();
    fs::write(folder.path().join("secret"), b"x").unwrap();
    fs::write(inner.join("key"), b"x").unwrap();
    fs::write(inner.join("skein-oak-20261121T080203Z-1.tlog"), b"x").unwrap();
    let library = library(&inner);
    for name in [
        "../secret",
        "key",
        "skein-oak-20261121T080203Z-1.tlog",
        "",
        OLD,
        "skein-pine-20261121T080203Z-1.tlog/../key",
    ] {
        let asked = v1::LogRead {
            name: name.to_owned(),
            offset: 0,
            most: 10,
        };
        let why = library.read(&asked).unwrap_err();
        assert!(matches!(why, NoAnswer::NoSuchLog(_)), "{name}: {why}");
    }
}

#[test]
fn an_agent_without_logs_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    assert!(library(&folder.path().join("none")).list().unwrap().files.is_empty());
    let mut none = Library::of(
        &Config::default(),
        NodeName::parse("pine").unwrap(),
        Wanted::default(),
        Sent::default(),
    );
    assert!(none.list().unwrap_err().to_string().contains("--flight-log-dir"));
}

#[test]
fn a_log_is_told_on_from_where_it_was_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NEW);
    fs::write(&path, log_of(&[armed(1_000)])).unwrap();
    let library = library(folder.path());
    let told = |asked: &v1::LogLines| {
        let text = library.lines(asked).unwrap();
        let lines: Vec<_> = text.lines.iter().map(|line| line.text.clone()).collect();
        (lines, text)
    };
    let (lines, first) = told(&v1::LogLines::default());
    assert_eq!(
        (lines[0].as_str(), first.name.as_str(), first.end),
        ("armed", NEW, true)
    );
    assert_eq!(first.newer, "");
    fs::write(folder.path().join(OLD), []).unwrap();
    let old = v1::LogLines {
        name: OLD.to_owned(),
        ..v1::LogLines::default()
    };
    assert_eq!(told(&old).1.newer, NEW);
    let go_on = v1::LogLines {
        name: first.name,
        offset: first.next,
        from_the_end: false,
        context: first.context,
    };
    assert!(told(&go_on).0.is_empty());
    let beat = heartbeat(MavType::MAV_TYPE_QUADROTOR, MavAutopilot::MAV_AUTOPILOT_PX4, false);
    fs::write(&path, log_of(&[armed(1_000), armed(2_000), (3_000, beat)])).unwrap();
    assert_eq!(told(&go_on).0, ["disarmed"]);
    let from_the_end = v1::LogLines {
        from_the_end: true,
        ..v1::LogLines::default()
    };
    assert_eq!(told(&from_the_end).0.last().unwrap(), "disarmed");
}
