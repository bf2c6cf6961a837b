//! A recorded flight: `NAME.tlog` with both directions, and `NAME.jsonl`, which has the time at which it began.
//!
//! A tlog has Unix time. The autopilot's own clock is used where its messages contain it; elsewhere the transcript's
//! seconds since the link opened, which is about the boot: the same message in both files, an input or the first
//! heartbeat, gives the difference.

use super::boot_clock::BootClock;
use super::changes::Changes;
use super::circumstances::{Circumstances, Wire};
use super::fact::Statement;
use super::gaps::{Gap, Gaps};
use super::home::home;
use super::param_requests::ParamRequests;
use super::tlog::{self, Tlog};
use serde_json::Value;
use sitl::model::{Autopilot, Firmware, Wgs84};
use sitl::wire::{Frame, Incoming};
use std::path::{Path, PathBuf};

const MAV_AUTOPILOT_INVALID: u8 = 8;
const MAV_AUTOPILOT_PX4: u8 = 12;

#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} has no recordings; give a folder with NAME.tlog and NAME.jsonl files", .0.display())]
    Empty(PathBuf),
    #[error("{}: {why}", path.display())]
    Strange { path: PathBuf, why: String },
}

#[derive(Clone, Debug)]
pub struct Recording {
    pub autopilot: Autopilot,
    /// By the folder's name.
    pub firmware: Firmware,
    /// System and component id.
    pub vehicle: (u8, u8),
    pub home: Wgs84,
    /// Inputs with seconds since boot.
    pub inputs: Vec<(f64, Incoming)>,
    pub statements: Vec<Statement>,
    pub param_requests: ParamRequests,
    /// Seconds since boot.
    pub end_s: f64,
    pub gaps: Vec<Gap>,
    pub circumstances: Circumstances,
}

impl Recording {
    pub fn read(folder: &Path, name: &str) -> Result<Self, RecordingError> {
        let tlog = folder.join(format!("{name}.tlog"));
        let transcript = folder.join(format!("{name}.jsonl"));
        let strange = |path: &Path, why: String| RecordingError::Strange {
            path: path.to_owned(),
            why,
        };
        let Tlog { frames, numbers } = tlog::read(&read(&tlog)?).map_err(|why| strange(&tlog, why))?;
        let rows = rows(&read(&transcript)?).map_err(|why| strange(&transcript, why))?;
        let (vehicle, autopilot) =
            autopilot(&frames).ok_or_else(|| strange(&tlog, "has no heartbeat of an autopilot".to_owned()))?;
        let is_vehicle = |frame: &Frame| (frame.system, frame.component) == vehicle;
        let zero = zero(&frames, &rows, is_vehicle)
            .ok_or_else(|| strange(&transcript, "has no message that is also in the tlog".to_owned()))?;

        let mut clock = BootClock::default();
        for (at, frame) in frames.iter().filter(|(_, frame)| is_vehicle(frame)) {
            clock.receive(at - zero, frame);
        }
        let its_time = |at: f64| clock.at(at - zero).unwrap_or(at - zero);
        let frames: Vec<(f64, Frame)> = frames.into_iter().map(|(at, frame)| (its_time(at), frame)).collect();
        let mut gaps = Gaps::default();
        for (at, _, number) in numbers.iter().filter(|(_, sender, _)| *sender == vehicle) {
            gaps.receive(its_time(*at), *number);
        }
        let inputs: Vec<(f64, Incoming)> = frames
            .iter()
            .filter(|(_, frame)| !is_vehicle(frame))
            .map(|(at_s, frame)| (*at_s, Incoming::decode(frame)))
            .collect();
        let param_requests = ParamRequests::of(&inputs);
        let (mut changes, mut end_s) = (Changes::new(&param_requests), 0.0_f64);
        for (at_s, frame) in &frames {
            end_s = end_s.max(*at_s);
            if is_vehicle(frame) {
                changes.receive(*at_s, frame);
            }
        }
        let statements = changes.done();
        let wire = Wire {
            frames: &frames,
            vehicle,
        };
        Ok(Self {
            autopilot,
            firmware: firmware(folder, autopilot),
            vehicle,
            home: home(&wire),
            inputs,
            statements,
            param_requests,
            end_s,
            gaps: gaps.done(),
            circumstances: Circumstances::read(autopilot, &wire, &rows, &clock),
        })
    }
}

/// The first sender of a HEARTBEAT that is an autopilot.
fn autopilot(frames: &[(f64, Frame)]) -> Option<((u8, u8), Autopilot)> {
    frames.iter().filter(|(_, frame)| frame.id == 0).find_map(|(_, frame)| {
        let stack = match *frame.payload.get(5)? {
            MAV_AUTOPILOT_INVALID => return None,
            MAV_AUTOPILOT_PX4 => Autopilot::Px4,
            _ => Autopilot::ArduPilot,
        };
        Some(((frame.system, frame.component), stack))
    })
}

/// The simulated version that the folder's name begins with, such as `copter-4.8-dev` or `px4-1.18`; else that of 4.7-dev
/// or 1.17-alpha.
fn firmware(folder: &Path, autopilot: Autopilot) -> Firmware {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_named = |firmware: &Firmware| {
        let rest = name.strip_prefix(firmware.name());
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    let mut versions = Firmware::VERSIONS
        .into_iter()
        .filter(|firmware| firmware.autopilot() == Some(autopilot));
    versions.find(is_named).unwrap_or_default()
}

pub fn names(folder: &Path) -> Result<Vec<String>, RecordingError> {
    let unreadable = |source| RecordingError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_tlog = path.extension().is_some_and(|extension| extension == "tlog");
        if let (true, Some(stem)) = (is_tlog, path.file_stem()) {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        return Err(RecordingError::Empty(folder.to_owned()));
    }
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<Vec<u8>, RecordingError> {
    std::fs::read(path).map_err(|source| RecordingError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn rows(transcript: &[u8]) -> Result<Vec<Value>, String> {
    let text = std::str::from_utf8(transcript).map_err(|error| error.to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1)))
        .collect()
}

/// Unix seconds of the transcript's zero.
fn zero(frames: &[(f64, Frame)], rows: &[Value], is_vehicle: impl Fn(&Frame) -> bool) -> Option<f64> {
    // The tlog lacks inputs before the link is open, so they count only after the first message from the autopilot.
    let first = rows.iter().position(|row| row["dir"] == "rx").unwrap_or(0);
    let first_row = |direction: &str, messages: &[(&str, u32)]| {
        rows.iter().skip(first).find_map(|row| {
            let known = messages.iter().find(|(name, _)| row["msg"] == *name)?;
            (row["dir"] == direction).then_some((row["t"].as_f64()?, known.1))
        })
    };
    let first = frames.iter().position(|(_, frame)| is_vehicle(frame)).unwrap_or(0);
    let first_frame = |id: u32, vehicle: bool| {
        let mut later = frames.iter().skip(first);
        let found = later.find(|(_, frame)| frame.id == id && is_vehicle(frame) == vehicle);
        found.map(|(at, _)| *at)
    };
    let sent = [("COMMAND_LONG", 76), ("COMMAND_INT", 75), ("PARAM_SET", 23)];
    let by_input = first_row("tx", &sent).and_then(|(at, id)| Some(first_frame(id, false)? - at));
    let by_heartbeat = || first_row("rx", &[("HEARTBEAT", 0)]).and_then(|(at, id)| Some(first_frame(id, true)? - at));
    by_input.or_else(by_heartbeat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_played_by_the_version_that_its_name_begins_with() {
        let played = |folder: &str, autopilot| firmware(Path::new(folder), autopilot);
        for (folder, version) in [
            ("recordings/copter-4.8", Firmware::Copter48),
            ("copter-4.8-dev/", Firmware::Copter48),
            ("copter-4.6.2", Firmware::Copter46),
            ("copter-4.80", Firmware::Recorded),
            ("copter-4.7-dev", Firmware::Recorded),
            ("recordings/ardupilot", Firmware::Recorded),
            (".", Firmware::Recorded),
        ] {
            assert_eq!(played(folder, Autopilot::ArduPilot), version, "{folder}");
        }
        assert_eq!(played("px4-1.18", Autopilot::Px4), Firmware::Px4V118);
        assert_eq!(
            played("px4-1.18", Autopilot::ArduPilot),
            Firmware::Recorded,
            "a version of the other autopilot"
        );
    }
}
