//! The autopilot's line: in memory, with a script at its far end.

use futures::future::BoxFuture;
use link::dialect::{COMMAND_ACK_DATA, HEARTBEAT_DATA, MavAutopilot, MavCmd, MavMessage, MavModeFlag, MavType};
use link::transport::{OpenError, Opener, Wire};
use link::{Events, Link, LinkEvent, LinkHandle};
use mavlink::{MAVLinkV1MessageRaw, MAVLinkV2MessageRaw, MavHeader, calculate_crc};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

pub const DEADLINE: Duration = Duration::from_secs(20);

struct Lines {
    far_ends: mpsc::Sender<DuplexStream>,
    bytes: usize,
}

impl Opener for Lines {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(async {
            let (near, far) = duplex(self.bytes);
            match self.far_ends.send(far).await {
                Ok(()) => Ok(Wire::stream(near)),
                Err(_) => Err(OpenError::Missing("/dev/test".into())),
            }
        })
    }
}

/// An open line that buffers `bytes` each way.
pub struct Line {
    pub far: DuplexStream,
    pub handle: LinkHandle,
    pub events: Events,
    _link: Link,
    heard: Vec<u8>,
}

pub async fn line(bytes: usize) -> Line {
    let (tx, mut far_ends) = mpsc::channel(1);
    let (link, handle, events) = Link::over(Lines { far_ends: tx, bytes }, "test");
    let far = far_ends.recv().await.unwrap();
    let mut line = Line {
        far,
        handle,
        events,
        _link: link,
        heard: Vec::new(),
    };
    let up = line.events.recv().await;
    assert!(matches!(up, Some(LinkEvent::Up)), "{up:?}");
    // Old bytes may have waited, so the link believes nothing at first.
    while line.handle.counters().frames <= line.handle.counters().stale {
        line.says(&v2((7, 1), 255, &ping())).await;
        sleep(Duration::from_millis(10)).await;
    }
    while !matches!(line.events.recv().await, Some(LinkEvent::Frame(_))) {}
    line
}

impl Line {
    pub async fn says(&mut self, bytes: &[u8]) {
        self.far.write_all(bytes).await.unwrap();
    }

    pub async fn receives(&mut self, what: &str, wanted: &[u8]) {
        let until = Instant::now() + DEADLINE;
        while !self.has_received(wanted) {
            let mut buffer = [0; 4096];
            let read = timeout_at(until, self.far.read(&mut buffer)).await;
            let read = read.unwrap_or_else(|_| panic!("not heard in time: {what}"));
            self.heard.extend_from_slice(&buffer[..read.unwrap()]);
        }
    }

    pub fn has_received(&self, wanted: &[u8]) -> bool {
        self.heard.windows(wanted.len()).any(|bytes| bytes == wanted)
    }
}

pub fn v2(from: (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header(from, sequence), message);
    raw.raw_bytes().to_vec()
}

pub fn v1(from: (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut raw = MAVLinkV1MessageRaw::new();
    raw.serialize_message(header(from, sequence), message);
    raw.raw_bytes().to_vec()
}

pub fn signed(from: (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut bytes = v2(from, sequence, message);
    bytes[2] |= 1;
    let end = bytes.len() - 2;
    let extra = crc_extra(message, &v2(from, sequence, message));
    let crc = calculate_crc(&bytes[1..end], extra).to_le_bytes();
    bytes[end..].copy_from_slice(&crc);
    bytes.extend_from_slice(&[1, 9, 8, 7, 6, 5, 4, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6]);
    bytes
}

pub fn unknown(from: (u8, u8), sequence: u8) -> Vec<u8> {
    let id = 54_321_u32.to_le_bytes();
    let mut bytes = vec![0xFD, 4, 0, 0, sequence, from.0, from.1, id[0], id[1], id[2], 1, 2, 3, 4];
    let crc = calculate_crc(&bytes[1..], 77).to_le_bytes();
    bytes.extend_from_slice(&crc);
    bytes
}

pub fn beat(mavtype: MavType, autopilot: MavAutopilot, armed: bool) -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype,
        autopilot,
        base_mode: if armed {
            MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED
        } else {
            MavModeFlag::empty()
        },
        mavlink_version: 3,
        ..HEARTBEAT_DATA::default()
    })
}

pub fn vehicle_beat(armed: bool) -> MavMessage {
    beat(
        MavType::MAV_TYPE_QUADROTOR,
        MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
        armed,
    )
}

pub fn gcs_beat() -> MavMessage {
    beat(MavType::MAV_TYPE_GCS, MavAutopilot::MAV_AUTOPILOT_INVALID, false)
}

pub fn ack(command: MavCmd, to: (u8, u8)) -> MavMessage {
    MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
        command,
        target_system: to.0,
        target_component: to.1,
        ..COMMAND_ACK_DATA::default()
    })
}

#[allow(deprecated, reason = "old, and every autopilot still answers it")]
pub fn ping() -> MavMessage {
    MavMessage::PING(link::dialect::PING_DATA::default())
}

fn header(from: (u8, u8), sequence: u8) -> MavHeader {
    MavHeader {
        system_id: u32::from(from.0),
        component_id: from.1,
        sequence,
    }
}

fn crc_extra(message: &MavMessage, good: &[u8]) -> u8 {
    let end = good.len() - 2;
    let crc = u16::from_le_bytes([good[end], good[end + 1]]);
    let extra = (0..=255).find(|extra| calculate_crc(&good[1..end], *extra) == crc);
    extra.unwrap_or_else(|| panic!("no byte fits {message:?}"))
}
