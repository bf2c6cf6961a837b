//! The simulated side: a fresh vehicle hears the same messages at the same seconds after its boot.
//!
//! Owns: the pace. Must not: shift an input in time or leave one out.

use super::fact::{Changes, Heard};
use super::recording::Recording;
use crate::model::{Vehicle, VehicleConfig, Wgs84};
use crate::wire::{FrameReader, Outgoing, Sender};
use std::time::Duration;

/// Where all recordings begin, as their notes say.
const HOME: Wgs84 = Wgs84 {
    lat_deg: 47.397742,
    lon_deg: 8.545594,
    amsl_m: 488.0,
};

/// What a simulated vehicle of the same stack says to the inputs of `recording`.
#[must_use]
pub fn simulate(recording: &Recording) -> Vec<Heard> {
    let mut vehicle = Vehicle::new(VehicleConfig::new(recording.autopilot, 1, HOME));
    let mut sender = Sender::new(1, 1);
    let mut changes = Changes::default();
    let mut now_s = 0.0;
    for (at_s, incoming) in &recording.inputs {
        pass(&mut vehicle, &mut now_s, *at_s, &mut sender, &mut changes);
        let said = vehicle.on_message(incoming);
        hear(&said, now_s, &mut sender, &mut changes);
    }
    pass(&mut vehicle, &mut now_s, recording.end_s, &mut sender, &mut changes);
    changes.done()
}

/// One step of the model at a time, so that each statement has its time.
const STEP_S: f64 = 0.02;

fn pass(vehicle: &mut Vehicle, now_s: &mut f64, until_s: f64, sender: &mut Sender, changes: &mut Changes) {
    while *now_s < until_s {
        let step_s = STEP_S.min(until_s - *now_s);
        let said = vehicle.step(Duration::from_secs_f64(step_s));
        *now_s += step_s;
        hear(&said, *now_s, sender, changes);
    }
}

fn hear(said: &[Outgoing], at_s: f64, sender: &mut Sender, changes: &mut Changes) {
    let mut reader = FrameReader::default();
    for message in said {
        reader.push(&sender.encode(message));
        while let Some(frame) = reader.next_frame() {
            changes.hear(at_s, &frame);
        }
    }
}
