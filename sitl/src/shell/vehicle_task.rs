//! One running vehicle: ticks its model, carries frames between model, link and wire log.
//!
//! Owns: the pace of simulated time. Must not: decide anything a vehicle decides.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::wire_log::WireLog;
use crate::model::{Vehicle, VehicleConfig};
use crate::wire::{FrameReader, Incoming, Outgoing, Sender};

/// Real time between steps of the model.
const TICK: Duration = Duration::from_millis(25);
/// A longer gap (a suspended machine) is not caught up with.
const LONGEST_STEP: Duration = Duration::from_millis(500);

/// See the module text.
pub(super) struct VehicleTask {
    name: String,
    vehicle: Vehicle,
    sender: Sender,
    link: Link,
    log: WireLog,
    reader: FrameReader,
    speedup: f64,
    stepped: Instant,
    reboots: u32,
}

impl VehicleTask {
    pub(super) fn new(name: String, config: VehicleConfig, speedup: f64, link: Link, log: WireLog) -> Self {
        let sender = Sender::new(config.system_id, 1);
        let vehicle = Vehicle::new(config);
        let reader = FrameReader::default();
        Self {
            name,
            vehicle,
            sender,
            link,
            log,
            reader,
            speedup,
            stepped: Instant::now(),
            reboots: 0,
        }
    }

    /// Runs until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut buffer = [0u8; 1024];
        self.stepped = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => self.step(),
                received = self.link.receive(&mut buffer) => match received {
                    Ok(len) => self.take(&buffer[..len]),
                    Err(error) => {
                        tracing::error!(vehicle = %self.name, %error, "link failed, the vehicle is off");
                        return;
                    }
                },
            }
        }
    }

    fn step(&mut self) {
        let now = Instant::now();
        let passed = now.duration_since(self.stepped).min(LONGEST_STEP);
        self.stepped = now;
        let said = self.vehicle.step(passed.mul_f64(self.speedup));
        self.send(&said);
        if self.vehicle.reboots() != self.reboots {
            self.reboots = self.vehicle.reboots();
            self.sender = self.sender.restarted();
            self.link.power_cycle();
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.step();
        self.reader.push(bytes);
        while let Some(frame) = self.reader.next_frame() {
            self.log.record(&frame.raw);
            let said = self.vehicle.on_message(&Incoming::decode(&frame));
            self.send(&said);
        }
    }

    fn send(&mut self, said: &[Outgoing]) {
        for message in said {
            let frame = self.sender.encode(message);
            // Logged even when nobody takes it: the log tells what the vehicle said, not who listened.
            self.log.record(&frame);
            self.link.send(&frame);
        }
    }
}
