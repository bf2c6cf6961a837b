//! The simulated side: a fresh vehicle receives the same messages at the same seconds after its boot.

use super::changes::Changes;
use super::fact::Statement;
use super::recording::Recording;
use sitl::model::{Vehicle, VehicleConfig};
use sitl::wire::{FrameReader, Outgoing, Sender};
use std::time::Duration;

pub fn simulate(recording: &Recording) -> Vec<Statement> {
    let circumstances = &recording.circumstances;
    let (system, component) = recording.vehicle;
    let mut config = VehicleConfig::new(recording.autopilot, system, recording.home);
    config.firmware = recording.firmware;
    config.parameters.clone_from(&circumstances.parameters);
    config.battery_refills = circumstances.battery_refills;
    config.can_reboot = !circumstances.is_process;
    config.port = circumstances.port.unwrap_or(config.port);
    let mut replay = Replay {
        vehicle: Vehicle::new(config),
        sender: Sender::new(system, component),
        changes: Changes::new(&recording.param_requests),
        deaf: &circumstances.deaf,
        is_deaf: false,
        now_s: 0.0,
    };
    let mut power_cycles = circumstances.power_cycles.iter();
    let mut next_cycle = power_cycles.next();
    let mut console = circumstances.console.iter().peekable();
    let inputs = recording.inputs.iter();
    for (at_s, incoming) in inputs.filter(|(at_s, _)| !within(&circumstances.unheard, *at_s)) {
        if let Some((off_s, on_s)) = next_cycle.filter(|(_, on_s)| on_s <= at_s) {
            replay.pass(*off_s);
            replay.power_cycle(*on_s);
            next_cycle = power_cycles.next();
        }
        while let Some((written_s, name, value)) = console.next_if(|(written_s, ..)| written_s <= at_s) {
            replay.pass(*written_s);
            replay.vehicle.write_parameter(name, *value);
        }
        replay.pass(*at_s);
        let sent = replay.vehicle.on_message(incoming);
        replay.receive(&sent);
    }
    replay.pass(recording.end_s + LATER_S);
    replay.changes.done()
}

/// Extra time, as statements at the end of the recording may be late.
const LATER_S: f64 = 5.0;

/// Short, so that each statement has its time.
const STEP_S: f64 = 0.02;

struct Replay<'a> {
    vehicle: Vehicle,
    sender: Sender,
    changes: Changes<'a>,
    /// Times in which the recorder was not connected; the link is blocked then.
    deaf: &'a [(f64, f64)],
    is_deaf: bool,
    now_s: f64,
}

impl Replay<'_> {
    fn pass(&mut self, until_s: f64) {
        while self.now_s < until_s {
            let step_s = STEP_S.min(until_s - self.now_s);
            let sent = self.vehicle.step(Duration::from_secs_f64(step_s));
            self.now_s += step_s;
            self.receive(&sent);
            let is_deaf = within(self.deaf, self.now_s);
            if is_deaf != self.is_deaf {
                self.is_deaf = is_deaf;
                let waited = self.vehicle.set_link_blocked(is_deaf);
                self.receive(&waited);
            }
        }
    }

    fn power_cycle(&mut self, boots_s: f64) {
        self.vehicle.power_cycle();
        self.now_s = boots_s;
        self.sender = self.sender.restarted();
    }

    fn receive(&mut self, sent: &[Outgoing]) {
        let mut reader = FrameReader::default();
        for message in sent {
            reader.push(&self.sender.encode(message));
            while let Some(frame) = reader.next_frame() {
                if !self.is_deaf {
                    self.changes.receive(self.now_s, &frame);
                }
            }
        }
    }
}

fn within(spans: &[(f64, f64)], at_s: f64) -> bool {
    spans.iter().any(|(from, to)| (*from..*to).contains(&at_s))
}
