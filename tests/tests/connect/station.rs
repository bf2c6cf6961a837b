//! A ground station of ours by TCP, which shows how much comes and whether anything is missing.

use anyhow::{Context, bail};
use link::framing::Framer;
use link::raw::RawFrame;
use mavlink::dialects::ardupilotmega::{HEARTBEAT_DATA, MavAutopilot, MavMessage, MavType};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const GLOBAL_POSITION_INT: u32 = 33;

const BEAT: Duration = Duration::from_secs(1);

pub struct Station {
    stream: TcpStream,
    framer: Framer,
    beat_at: Instant,
    pub bytes: usize,
    /// Creation times of GLOBAL_POSITION_INT, milliseconds since boot.
    pub positions: Vec<u32>,
    pub seen: BTreeMap<u32, (u64, RawFrame)>,
}

impl Station {
    pub fn at(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("no program listens")?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        Ok(Self {
            stream,
            framer: Framer::default(),
            beat_at: Instant::now(),
            bytes: 0,
            positions: Vec::new(),
            seen: BTreeMap::new(),
        })
    }

    pub fn say(&mut self, message: &MavMessage) -> anyhow::Result<()> {
        let header = MavHeader {
            system_id: 255,
            component_id: 190,
            sequence: 0,
        };
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, message);
        Ok(self.stream.write_all(raw.raw_bytes())?)
    }

    /// Sends heartbeats meanwhile. Errors: it was cut off.
    pub fn listen(&mut self, span: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + span;
        let mut buffer = [0; 4096];
        while Instant::now() < until {
            if self.beat_at <= Instant::now() {
                self.beat_at = Instant::now() + BEAT;
                self.say(&MavMessage::HEARTBEAT(HEARTBEAT_DATA {
                    mavtype: MavType::MAV_TYPE_GCS,
                    autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
                    ..HEARTBEAT_DATA::default()
                }))?;
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => bail!("it was cut off"),
                Ok(n) => {
                    self.bytes += n;
                    self.framer.push(&buffer[..n]);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
            while let Some(frame) = self.framer.next_frame() {
                self.take(frame);
            }
        }
        Ok(())
    }

    pub fn count(&self, id: u32) -> u64 {
        self.seen.get(&id).map_or(0, |(count, _)| *count)
    }

    fn take(&mut self, frame: RawFrame) {
        if frame.component.0 != 1 {
            return;
        }
        if frame.message_id == GLOBAL_POSITION_INT
            && let Some(&[a, b, c, d]) = frame.payload().get(..4)
        {
            self.positions.push(u32::from_le_bytes([a, b, c, d]));
        }
        let count = self.count(frame.message_id) + 1;
        self.seen.insert(frame.message_id, (count, frame));
    }
}
