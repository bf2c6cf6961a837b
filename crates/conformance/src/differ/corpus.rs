//! Runs of scripts on a real autopilot, saved in files, so that they can be judged again without it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::encode::Scene;
use super::run::Run;
use crate::replay::{Fact, Statement};
use sitl::model::{Autopilot, Firmware, Wgs84};

#[derive(Serialize, Deserialize)]
struct File {
    autopilot: String,
    /// Left out in files of the recorded versions.
    #[serde(default)]
    firmware: String,
    system: u8,
    place: [f64; 3],
    parameters: Vec<(String, f32)>,
    steps_s: Vec<f64>,
    end_s: f64,
    /// Seconds, and the frame in hexadecimal digits.
    inputs: Vec<(f64, String)>,
    /// Seconds, kind of statement, and one or two numbers.
    #[serde(rename = "heard")]
    statements: Vec<(f64, String, u32, u8)>,
    script: Vec<String>,
}

pub fn save(folder: &Path, number: u64, run: &Run, script: &str) -> io::Result<()> {
    let Scene {
        place,
        system,
        autopilot,
        firmware,
    } = run.scene;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let row = |statement: &Statement| {
        let (what, number, more) = match statement.fact {
            Fact::Ack { command, result } => ("ack", u32::from(command), result),
            Fact::Armed(armed) => ("armed", u32::from(armed), 0),
            Fact::Mode(mode) => ("mode", mode, 0),
            Fact::Landed(landed) => ("landed", u32::from(landed), 0),
            _ => return None,
        };
        Some((statement.at_s, what.to_owned(), number, more))
    };
    let file = File {
        autopilot: autopilot.name().to_owned(),
        firmware: firmware.name().to_owned(),
        system,
        place: [place.lat_deg, place.lon_deg, place.amsl_m],
        parameters: run.parameters.clone(),
        steps_s: run.steps_s.clone(),
        end_s: run.end_s,
        inputs: run.inputs.iter().map(|(at_s, bytes)| (*at_s, hex(bytes))).collect(),
        statements: run.statements.iter().filter_map(row).collect(),
        script: script.lines().map(str::to_owned).collect(),
    };
    fs::create_dir_all(folder)?;
    let name = format!("{}-{number}.json", autopilot.name());
    fs::write(folder.join(name), serde_json::to_vec(&file).map_err(io::Error::other)?)
}

pub fn load(folder: &Path) -> io::Result<Vec<(String, Run, String)>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> io::Result<(String, Run, String)> {
    let file: File = serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)?;
    let bad = |what: &str| io::Error::other(format!("{}: {what}", path.display()));
    let autopilot = [Autopilot::ArduPilot, Autopilot::Px4]
        .into_iter()
        .find(|autopilot| autopilot.name() == file.autopilot)
        .ok_or_else(|| bad("no such autopilot"))?;
    let firmware = Firmware::VERSIONS
        .into_iter()
        .find(|firmware| firmware.name() == file.firmware)
        .unwrap_or_default();
    let bytes = |hex: &str| -> Option<Vec<u8>> {
        let digits = |place: usize| u8::from_str_radix(hex.get(place..place + 2)?, 16).ok();
        (0..hex.len()).step_by(2).map(digits).collect()
    };
    let input = |(at_s, hex): &(f64, String)| Some((*at_s, bytes(hex)?));
    let statement = |(at_s, what, number, more): &(f64, String, u32, u8)| {
        let fact = match what.as_str() {
            "ack" => Fact::Ack {
                command: u16::try_from(*number).ok()?,
                result: *more,
            },
            "armed" => Fact::Armed(*number != 0),
            "mode" => Fact::Mode(*number),
            "landed" => Fact::Landed(u8::try_from(*number).ok()?),
            _ => return None,
        };
        Some(Statement { at_s: *at_s, fact })
    };
    let [lat_deg, lon_deg, amsl_m] = file.place;
    let run = Run {
        scene: Scene {
            place: Wgs84 {
                lat_deg,
                lon_deg,
                amsl_m,
            },
            system: file.system,
            autopilot,
            firmware,
        },
        inputs: file
            .inputs
            .iter()
            .map(input)
            .collect::<Option<_>>()
            .ok_or_else(|| bad("a frame is not hexadecimal"))?,
        steps_s: file.steps_s,
        statements: file
            .statements
            .iter()
            .map(statement)
            .collect::<Option<_>>()
            .ok_or_else(|| bad("a statement is unknown"))?,
        end_s: file.end_s,
        parameters: file.parameters,
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, run, file.script.join("\n")))
}
