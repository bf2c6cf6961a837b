//! One running vehicle: its time, its bytes to and from the link, its wire log.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::pace::Pace;
use super::speedup::Speedup;
use super::wire_log::WireLog;
use crate::faults::What;
use crate::wired::{Event, WiredVehicle};

const TICK: Duration = Duration::from_millis(25);
/// A longer gap (a suspended machine) is not made up for.
const LONGEST_STEP: Duration = Duration::from_millis(500);

pub(super) struct VehicleTask {
    pub(super) name: String,
    pub(super) vehicle: WiredVehicle,
    pub(super) link: Link,
    pub(super) log: WireLog,
    pub(super) speedup: Speedup,
    pub(super) pace: Arc<Pace>,
    pub(super) injected: mpsc::Receiver<What>,
}

impl VehicleTask {
    /// `offset` delays its steps, so that vehicles that start together do not step at the same time.
    pub(super) async fn run(mut self, offset: Duration, stop: CancellationToken) {
        let mut stepped = Instant::now();
        let mut tick = interval_at(stepped + offset, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut buffer = [0u8; 1024];
        loop {
            let done = tokio::select! {
                () = stop.cancelled() => return,
                due = tick.tick() => {
                    let now = Instant::now();
                    self.pace.stepped(now.saturating_duration_since(due));
                    self.step(&mut stepped, now)
                }
                Some(what) = self.injected.recv() => {
                    self.vehicle.inject(what);
                    Ok(())
                }
                received = self.link.receive(&mut buffer) => match received {
                    Ok(len) => self.take(&buffer[..len], &mut stepped),
                    Err(error) => Err(error.into()),
                },
            };
            if let Err(error) = done {
                tracing::error!(vehicle = %self.name, %error, "link failed, the vehicle is off");
                return;
            }
        }
    }

    fn step(&mut self, stepped: &mut Instant, now: Instant) -> anyhow::Result<()> {
        let passed = now.duration_since(*stepped).min(LONGEST_STEP);
        *stepped = now;
        let events = self.vehicle.step(passed.mul_f64(self.speedup.factor()));
        if self.vehicle.vehicle().has_position() && self.speedup.booted() {
            let seconds = self.speedup.seconds_per_peer_second();
            self.vehicle.vehicle_mut().set_seconds_per_peer_second(seconds);
        }
        self.act(events)
    }

    fn take(&mut self, bytes: &[u8], stepped: &mut Instant) -> anyhow::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.step(stepped, Instant::now())?;
        let events = self.vehicle.receive(bytes);
        self.act(events)
    }

    fn act(&mut self, events: Vec<Event>) -> anyhow::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        for event in events {
            match event {
                // Logged even without a client: the log contains what the vehicle sent, not who received it.
                Event::Sent(frame) => {
                    self.log.record(&frame);
                    self.link.send(&frame);
                }
                Event::Frame(frame) => self.log.record(&frame),
                Event::Bytes(bytes) => self.link.send(&bytes),
                Event::Link(change) => {
                    self.link.flush();
                    self.link.change(change)?;
                }
            }
        }
        self.link.flush();
        Ok(())
    }
}
