//! ArduCopter's sending: streams, single messages, texts, and their queue while the link is blocked.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use super::ArduPilot;
use super::boot::INITIALIZED_S;
use crate::model::core::Core;
use crate::model::telemetry::{self, id};

/// Streams slow down during an upload of a plan, so that the link is free for it.
const SLOWER_IN_UPLOAD: f64 = 4.0;
pub(super) const OWN_CLOCKS: &[u32] = &[id::HEARTBEAT, id::TIMESYNC];
const TEXTS_THAT_WAIT: usize = 30;
const CHUNK: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Transmitter {
    text_id: u16,
    due: Vec<u32>,
    blocked: bool,
    /// Each message waits once, and is composed when it is sent.
    waiting: Vec<u32>,
    waiting_texts: Vec<(MavSeverity, String)>,
}

impl ArduPilot {
    pub(super) fn send(&mut self, core: &mut Core, message: u32) {
        if self.transmitter.blocked {
            if !self.transmitter.waiting.contains(&message) {
                self.transmitter.waiting.push(message);
            }
            return;
        }
        let composed = match message {
            id::TIMESYNC => Some(MavMessage::TIMESYNC(apm::TIMESYNC_DATA {
                ts1: core.boot_us() as i64 * 1000,
                ..apm::TIMESYNC_DATA::DEFAULT
            })),
            other => self.compose(core, other),
        };
        if let Some(message) = composed {
            core.send(message);
        }
    }

    /// Texts before the first reception on the link are lost.
    pub(super) fn text(&mut self, core: &mut Core, severity: MavSeverity, text: &str) {
        if !core.received_from_peer {
            return;
        }
        if self.transmitter.blocked {
            if self.transmitter.waiting_texts.len() < TEXTS_THAT_WAIT {
                self.transmitter.waiting_texts.push((severity, text.to_owned()));
            }
            return;
        }
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(CHUNK).collect();
        let id = if chunks.len() > 1 {
            self.transmitter.text_id = self.transmitter.text_id.wrapping_add(1);
            self.transmitter.text_id
        } else {
            0
        };
        for (number, chunk) in chunks.iter().enumerate() {
            core.send(telemetry::status_text(severity, chunk, id, number as u8));
        }
    }

    pub(super) fn stream_step(&mut self, core: &mut Core) {
        let slower = match () {
            // A request that cannot be sent is first in the queue.
            () if self.plans.has_unsent_request() => f64::INFINITY,
            () if self.plans.is_receiving() => SLOWER_IN_UPLOAD,
            () => 1.0,
        };
        let mut due = std::mem::take(&mut self.transmitter.due);
        core.streams
            .take_due_slowed(core.uptime_s, &mut due, slower, OWN_CLOCKS);
        // Streams requested during the boot keep their timers, but only heartbeats are sent.
        let booting = core.uptime_s < INITIALIZED_S;
        for message in due.drain(..).filter(|message| !booting || *message == id::HEARTBEAT) {
            self.send(core, message);
        }
        self.transmitter.due = due;
    }

    /// A freed link sends everything that waited.
    pub(super) fn block_voice(&mut self, core: &mut Core, blocked: bool) {
        self.transmitter.blocked = blocked;
        if blocked {
            return;
        }
        for message in std::mem::take(&mut self.transmitter.waiting) {
            self.send(core, message);
        }
        for (severity, text) in std::mem::take(&mut self.transmitter.waiting_texts) {
            self.text(core, severity, &text);
        }
    }
}
