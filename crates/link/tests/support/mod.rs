//! Shared by tests of links.

#![allow(dead_code, reason = "each test file uses a part")]

use futures::future::BoxFuture;
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavMessage};
use link::transport::{OpenError, Opener, Wire};
use link::{Events, LinkEvent};
use mavlink::{MAVLinkV1MessageRaw, MAVLinkV2MessageRaw, MavHeader, calculate_crc};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

pub const DEADLINE: Duration = Duration::from_secs(60);

/// Opens one end of each in-memory line that it receives; waits while there is none.
pub struct Lines(pub mpsc::Receiver<DuplexStream>);

impl Opener for Lines {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(async {
            match self.0.recv().await {
                Some(line) => Ok(Wire::stream(line)),
                None => std::future::pending().await,
            }
        })
    }
}

pub fn frame((system, component): (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header(system, component, sequence), message);
    raw.raw_bytes().to_vec()
}

pub fn frame_v1((system, component): (u8, u8), sequence: u8, message: &MavMessage) -> Vec<u8> {
    let mut raw = MAVLinkV1MessageRaw::new();
    raw.serialize_message(header(system, component, sequence), message);
    raw.raw_bytes().to_vec()
}

pub fn unknown(sequence: u8) -> Vec<u8> {
    let mut bytes = vec![0xFD, 4, 0, 0, sequence, 1, 1, 0xEF, 0xCD, 0xAB, 1, 2, 3, 4];
    let crc = calculate_crc(&bytes[1..], 111).to_le_bytes();
    bytes.extend_from_slice(&crc);
    bytes
}

const fn header(system: u8, component: u8, sequence: u8) -> MavHeader {
    MavHeader {
        system_id: system as u32,
        component_id: component,
        sequence,
    }
}

pub fn heartbeat(autopilot: MavAutopilot) -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        autopilot,
        ..HEARTBEAT_DATA::default()
    })
}

pub fn beat(sequence: u8) -> Vec<u8> {
    frame((1, 1), sequence, &heartbeat(MavAutopilot::MAV_AUTOPILOT_PX4))
}

pub async fn next(events: &mut Events) -> LinkEvent {
    let event = timeout(DEADLINE, events.recv()).await;
    event.expect("an event in time").expect("the link lives")
}

pub async fn until(events: &mut Events, wanted: impl Fn(&LinkEvent) -> bool) -> LinkEvent {
    loop {
        let event = next(events).await;
        if wanted(&event) {
            return event;
        }
    }
}

pub const fn up(event: &LinkEvent) -> bool {
    matches!(event, LinkEvent::Up)
}

pub fn down(reason: &'static str) -> impl Fn(&LinkEvent) -> bool {
    move |e| matches!(e, LinkEvent::Down(why) if why.contains(reason))
}
