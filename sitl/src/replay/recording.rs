//! A recorded flight: `NAME.tlog` with both directions, and `NAME.jsonl`, which has the time at which it began.
//!
//! Owns: reading the two files, and telling the autopilot's frames from its peers'. Must not: compare.
//!
//! A tlog has Unix time. The autopilot's own clock is taken where it tells it; elsewhere the transcript's seconds since
//! the link opened, which is about the boot: the same message in both, an input or the first heartbeat, gives the
//! difference.

use super::boot_clock::BootClock;
use super::fact::{Changes, Heard};
use crate::model::Autopilot;
use crate::wire::{Frame, FrameReader, Incoming};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The autopilot of every recording.
const VEHICLE: (u8, u8) = (1, 1);

const MAV_AUTOPILOT_PX4: u8 = 12;

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to replay.
    #[error("{} has no recordings; give a folder with NAME.tlog and NAME.jsonl files", .0.display())]
    Empty(PathBuf),
    /// The files do not hold what they should.
    #[error("{}: {why}", path.display())]
    Strange {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// One flight.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Which stack flew it.
    pub autopilot: Autopilot,
    /// What its peers sent, with seconds since boot.
    pub inputs: Vec<(f64, Incoming)>,
    /// What the autopilot said.
    pub heard: Vec<Heard>,
    /// When it ends, in seconds.
    pub end_s: f64,
}

impl Recording {
    /// Reads `NAME.tlog` and `NAME.jsonl` in `folder`.
    ///
    /// # Errors
    /// [`RecordingError`].
    pub fn read(folder: &Path, name: &str) -> Result<Self, RecordingError> {
        let tlog = folder.join(format!("{name}.tlog"));
        let transcript = folder.join(format!("{name}.jsonl"));
        let strange = |path: &Path, why: String| RecordingError::Strange {
            path: path.to_owned(),
            why,
        };
        let frames = frames(&read(&tlog)?).map_err(|why| strange(&tlog, why))?;
        let rows = rows(&read(&transcript)?).map_err(|why| strange(&transcript, why))?;
        let zero = zero(&frames, &rows)
            .ok_or_else(|| strange(&transcript, "has no message that is also in the tlog".to_owned()))?;

        let mut clock = BootClock::default();
        for (at, frame) in frames.iter().filter(|(_, frame)| is_vehicle(frame)) {
            clock.hear(at - zero, frame);
        }
        let (mut changes, mut inputs, mut autopilot) = (Changes::default(), Vec::new(), None);
        let mut end_s = 0.0_f64;
        for (at, frame) in &frames {
            let at_s = clock.at(at - zero).unwrap_or(at - zero);
            end_s = end_s.max(at_s);
            if is_vehicle(frame) {
                if frame.id == 0 {
                    autopilot = autopilot.or(frame.payload.get(5).copied());
                }
                changes.hear(at_s, frame);
            } else {
                inputs.push((at_s, Incoming::decode(frame)));
            }
        }
        let autopilot = match autopilot {
            Some(MAV_AUTOPILOT_PX4) => Autopilot::Px4,
            Some(_) => Autopilot::ArduPilot,
            None => return Err(strange(&tlog, "has no heartbeat of an autopilot".to_owned())),
        };
        Ok(Self {
            autopilot,
            inputs,
            heard: changes.done(),
            end_s,
        })
    }
}

/// The names of all recordings in `folder`.
pub fn names(folder: &Path) -> Result<Vec<String>, RecordingError> {
    let unreadable = |source| RecordingError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_tlog = path.extension().is_some_and(|extension| extension == "tlog");
        if let (true, Some(stem)) = (is_tlog && path.with_extension("jsonl").is_file(), path.file_stem()) {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        return Err(RecordingError::Empty(folder.to_owned()));
    }
    Ok(names)
}

fn read(path: &Path) -> Result<Vec<u8>, RecordingError> {
    std::fs::read(path).map_err(|source| RecordingError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn is_vehicle(frame: &Frame) -> bool {
    (frame.system, frame.component) == VEHICLE
}

/// All frames of a tlog whose checksum is right, with Unix seconds.
fn frames(tlog: &[u8]) -> Result<Vec<(f64, Frame)>, String> {
    let (mut rest, mut found) = (tlog, Vec::new());
    while let Some((stamp, after)) = rest.split_first_chunk::<8>() {
        let length = match after {
            [0xFD, length, flags, ..] => 12 + usize::from(*length) + if flags & 1 == 0 { 0 } else { 13 },
            [0xFE, length, ..] => 8 + usize::from(*length),
            [] => break,
            [other, ..] => {
                let place = tlog.len() - rest.len();
                return Err(format!("byte {place}: no frame begins with {other:#04x}"));
            }
        };
        // The last frame may be half written.
        let Some((frame, after)) = after.split_at_checked(length) else {
            break;
        };
        let mut reader = FrameReader::default();
        reader.push(frame);
        if let Some(frame) = reader.next_frame() {
            found.push((u64::from_be_bytes(*stamp) as f64 / 1e6, frame));
        }
        rest = after;
    }
    Ok(found)
}

fn rows(transcript: &[u8]) -> Result<Vec<Value>, String> {
    let text = std::str::from_utf8(transcript).map_err(|error| error.to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1)))
        .collect()
}

/// Unix seconds of the transcript's zero.
fn zero(frames: &[(f64, Frame)], rows: &[Value]) -> Option<f64> {
    // Before the link is open nothing is in the tlog, so an input counts only once the autopilot was heard.
    let heard = rows.iter().position(|row| row["dir"] == "rx").unwrap_or(0);
    let first_row = |direction: &str, messages: &[(&str, u32)]| {
        rows.iter().skip(heard).find_map(|row| {
            let known = messages.iter().find(|(name, _)| row["msg"] == *name)?;
            (row["dir"] == direction).then_some((row["t"].as_f64()?, known.1))
        })
    };
    let heard = frames.iter().position(|(_, frame)| is_vehicle(frame)).unwrap_or(0);
    let first_frame = |id: u32, vehicle: bool| {
        let mut later = frames.iter().skip(heard);
        let found = later.find(|(_, frame)| frame.id == id && is_vehicle(frame) == vehicle);
        found.map(|(at, _)| *at)
    };
    let sent = [("COMMAND_LONG", 76), ("COMMAND_INT", 75), ("PARAM_SET", 23)];
    let by_input = first_row("tx", &sent).and_then(|(at, id)| Some(first_frame(id, false)? - at));
    let by_heartbeat = || first_row("rx", &[("HEARTBEAT", 0)]).and_then(|(at, id)| Some(first_frame(id, true)? - at));
    by_input.or_else(by_heartbeat)
}
