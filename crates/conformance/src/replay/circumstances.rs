//! The conditions under which a recording was made, so that the simulated vehicle starts under the same ones.
//!
//! Sources, strongest first: the value of a parameter that the autopilot itself sends before a peer set it; a failing
//! check of its first reports, which names the parameter's effect; the notes of the transcript; the notes of the set.

use super::boot_clock::BootClock;
use serde_json::Value;
use sitl::model::{Autopilot, Port};
use sitl::wire::{Fields, Frame};

/// Start-up values of all recordings of PX4, by their notes: a simulated sky that satisfies the estimator at once,
/// failures that can be injected, and the battery simulation at its own default.
const PX4_SET: &[(&str, f32)] = &[
    ("COM_LOW_BAT_ACT", 3.0),
    ("COM_MODE_ARM_CHK", 1.0),
    ("EKF2_REQ_GPS_H", 0.5),
    ("SIM_BAT_DRAIN", 60.0),
    ("SIM_BAT_MIN_PCT", 50.0),
    ("SYS_FAILURE_EN", 1.0),
];

/// Notes around a time in which the autopilot ignores our messages: PX4 on UDP accepts only the first port that sent to
/// it.
const OTHER_PORT: (&str, &str) = ("another source port", "first source port");

/// Events that begin and end a time without the recorder.
const CLOSED: (&str, &str) = ("tcp_connection_closed_by_us", "tcp_connection_reopened");

/// Marks a serial line in the note on the link, where the recorded PX4 was configured for a companion.
const SERIAL: &str = "pty";
/// A link with a higher throughput, in bytes a second, had room for everything.
const ROOM_BYTES_PER_S: f64 = 5000.0;

const PARAM_REQUEST_READ: u32 = 20;
const PARAM_REQUEST_LIST: u32 = 21;
const PARAM_VALUE: u32 = 22;
const PARAM_SET: u32 = 23;
const ESTIMATOR_STATUS: u32 = 230;
const EVENT: u32 = 410;

/// ESTIMATOR_STATUS flag: the receiver's fix does not satisfy the estimator.
const GPS_UNSATISFYING: u16 = 1024;
/// Events of the arming checks that name a parameter's effect.
const COMPASS_MISSING: u32 = 22_720_449;
const NO_GROUND_STATION: u32 = 23_579_003;
/// Log level "error" in the low half: the check prevents arming.
const LEVEL_ERROR: u8 = 3;

#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Parameters as they were before the start.
    pub parameters: Vec<(String, f32)>,
    /// Changes on the autopilot's console: sent although no peer requested them.
    pub console: Vec<(f64, String, f32)>,
    /// PX4's own battery simulation: full again whenever the motors stop.
    pub battery_refills: bool,
    /// A process, which cannot restart itself.
    pub is_process: bool,
    pub port: Option<Port>,
    /// Pairs of the last transmission and the boot.
    pub power_cycles: Vec<(f64, f64)>,
    /// Begin and end of times in which it received nothing from us.
    pub unheard: Vec<(f64, f64)>,
    /// Begin and end of times in which the recorder was not connected.
    pub deaf: Vec<(f64, f64)>,
}

/// Frames with their senders, in the autopilot's time.
pub struct Wire<'a> {
    pub frames: &'a [(f64, Frame)],
    /// System and component id.
    pub vehicle: (u8, u8),
}

impl Wire<'_> {
    pub fn is_vehicle(&self, frame: &Frame) -> bool {
        (frame.system, frame.component) == self.vehicle
    }
}

impl Circumstances {
    /// `clock` converts the transcript's seconds into the autopilot's.
    pub fn read(autopilot: Autopilot, wire: &Wire<'_>, transcript: &[Value], clock: &BootClock) -> Self {
        let notes = Notes { transcript, clock };
        let mut found = Self {
            is_process: notes.event("px4_process_started").is_some(),
            port: notes.port(),
            unheard: notes.between("text", OTHER_PORT),
            deaf: notes.between("event", CLOSED),
            ..Self::default()
        };
        if autopilot == Autopilot::Px4 {
            found.battery_refills = found.is_process;
            for (name, value) in PX4_SET {
                found.set(name, *value);
            }
            found.take_checks(wire);
            found.take_sky(wire);
        }
        if notes.event("autopilot_started_again").is_some() {
            found.power_cycles = clock.restarts().to_vec();
        }
        found.take_reported_values(autopilot, wire);
        found
    }

    fn set(&mut self, name: &str, value: f32) {
        match self.parameters.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.parameters.push((name.to_owned(), value)),
        }
    }

    /// Uses a check that fails before a peer set its parameter.
    fn take_checks(&mut self, wire: &Wire<'_>) {
        let before_set = |name: &str| {
            let set = wire.frames.iter().position(|(_, frame)| sets(frame, name));
            wire.frames[..set.unwrap_or(wire.frames.len())]
                .iter()
                .map(|(_, frame)| frame)
                .filter(|frame| frame.id == EVENT && wire.is_vehicle(frame))
        };
        // Arguments: modes (4 bytes), component, found, required.
        let compass = before_set("SYS_HAS_MAG").find(|event| Fields(&event.payload).u32(0) == COMPASS_MISSING);
        if let Some(event) = compass {
            self.set("SYS_HAS_MAG", f32::from(Fields(&event.payload).u8(13 + 6)));
        }
        let station = before_set("NAV_DLL_ACT").any(|event| {
            let fields = Fields(&event.payload);
            fields.u32(0) == NO_GROUND_STATION && fields.u8(12) & 0x0F == LEVEL_ERROR
        });
        if station {
            // Return; which action it is shows only when it is executed.
            self.set("NAV_DLL_ACT", 2.0);
        }
    }

    /// Computes the check time from the first reports that the fix does not satisfy the estimator.
    fn take_sky(&mut self, wire: &Wire<'_>) {
        let mut readings = wire
            .frames
            .iter()
            .filter(|(_, frame)| frame.id == ESTIMATOR_STATUS && wire.is_vehicle(frame))
            .map(|(at_s, frame)| (*at_s, Fields(&frame.payload).u16(40) & GPS_UNSATISFYING != 0));
        let Some((mut last_s, true)) = readings.next() else {
            return;
        };
        for (at_s, unsatisfied) in readings {
            if !unsatisfied {
                return self.set("EKF2_REQ_GPS_H", ((last_s + at_s) / 2.0) as f32);
            }
            last_s = at_s;
        }
    }

    /// Uses values that the autopilot sends before a peer set them.
    fn take_reported_values(&mut self, autopilot: Autopilot, wire: &Wire<'_>) {
        let mut set = Vec::new();
        let mut requested_all = false;
        for (at_s, frame) in wire.frames {
            let fields = Fields(&frame.payload);
            match frame.id {
                PARAM_SET => set.push(fields.text(6, 16)),
                PARAM_REQUEST_READ | PARAM_REQUEST_LIST => requested_all = true,
                PARAM_VALUE if wire.is_vehicle(frame) => {
                    let (name, kind) = (fields.text(8, 16), fields.u8(24));
                    let whole = autopilot == Autopilot::Px4 && (1..=6).contains(&kind);
                    let value = if whole { fields.i32(0) as f32 } else { fields.f32(0) };
                    if set.contains(&name) {
                        continue;
                    }
                    self.set(&name, value);
                    let known = self.console.iter().any(|(_, known, _)| *known == name);
                    if autopilot == Autopilot::Px4 && !requested_all && !known {
                        self.console.push((*at_s, name, value));
                    }
                }
                _ => {}
            }
        }
    }
}

fn sets(frame: &Frame, name: &str) -> bool {
    frame.id == PARAM_SET && Fields(&frame.payload).text(6, 16) == name
}

struct Notes<'a> {
    transcript: &'a [Value],
    clock: &'a BootClock,
}

impl Notes<'_> {
    fn port(&self) -> Option<Port> {
        let carried = self.transcript.iter().filter_map(|row| row["bytes_per_s"].as_f64());
        let link = self.transcript.iter().find_map(|row| row["link"].as_str())?;
        Some(match () {
            () if carried.fold(0.0, f64::max) > ROOM_BYTES_PER_S => Port::Network,
            () if link.contains(SERIAL) => Port::Companion,
            () => Port::Radio,
        })
    }

    fn event(&self, event: &str) -> Option<f64> {
        let row = self.transcript.iter().find(|row| row["event"] == event)?;
        self.time(row)
    }

    fn time(&self, row: &Value) -> Option<f64> {
        let at = row["t"].as_f64()?;
        Some(self.clock.at(at).unwrap_or(at))
    }

    /// From each note with the first words in `field` to the next with the second, or to the end.
    fn between(&self, field: &str, (begin, end): (&str, &str)) -> Vec<(f64, f64)> {
        let mut found: Vec<(f64, f64)> = Vec::new();
        for row in self.transcript {
            let (Some(text), Some(at_s)) = (row[field].as_str(), self.time(row)) else {
                continue;
            };
            match found.last_mut().filter(|last| last.1.is_infinite()) {
                Some(last) if text.contains(end) => last.1 = at_s,
                None if text.contains(begin) => found.push((at_s, f64::INFINITY)),
                _ => {}
            }
        }
        found
    }
}
