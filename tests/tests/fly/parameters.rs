//! All parameters of a vehicle, as a ground station downloads them by TCP.

use anyhow::{Context, ensure};
use link::framing::Framer;
use mavlink::dialects::ardupilotmega::{MavMessage, PARAM_REQUEST_LIST_DATA, PARAM_REQUEST_READ_DATA};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const HEARTBEAT: u32 = 0;
const PARAM_VALUE: u32 = 22;
/// Silence after which missing parameters are requested again.
const QUIET: Duration = Duration::from_secs(2);
const AGAIN: usize = 32;

pub struct Download {
    pub values: BTreeMap<String, f32>,
    pub took: Duration,
    pub again: usize,
}

pub fn download(port: u16, patience: Duration) -> anyhow::Result<Download> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).context("no program listens")?;
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    let (mut framer, mut buffer) = (Framer::default(), [0; 4096]);
    let until = Instant::now() + patience;
    let mut asked: Option<(u8, Instant)> = None;
    let mut newest = Instant::now();
    let (mut found, mut total, mut again) = (BTreeMap::new(), None, 0);
    loop {
        ensure!(
            Instant::now() < until,
            "{} of {total:?} parameters in {patience:?}",
            found.len()
        );
        match stream.read(&mut buffer) {
            Ok(0) => anyhow::bail!("it was cut off"),
            Ok(n) => framer.push(&buffer[..n]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
        while let Some(frame) = framer.next_frame() {
            if frame.component.0 != 1 {
                continue;
            }
            if frame.message_id == HEARTBEAT && asked.is_none() {
                newest = Instant::now();
                asked = Some((frame.system.0, newest));
                say(&mut stream, &list(frame.system.0))?;
            }
            // Trailing zeros are cut off.
            let mut payload = frame.payload().to_vec();
            payload.resize(25, 0);
            if frame.message_id == PARAM_VALUE {
                let count = u16::from_le_bytes([payload[4], payload[5]]);
                let index = u16::from_le_bytes([payload[6], payload[7]]);
                let value = f32::from_le_bytes([payload[0], payload[1], payload[2], payload[3]]);
                let name: String = payload[8..24]
                    .iter()
                    .take_while(|b| **b != 0)
                    .map(|b| char::from(*b))
                    .collect();
                if index < count && found.insert(index, (name, value)).is_none() {
                    (newest, total) = (Instant::now(), Some(count));
                }
            }
        }
        let Some((system, began)) = asked else { continue };
        if total.is_some_and(|total| found.len() >= usize::from(total)) {
            let took = newest - began;
            let values = found.into_values().collect();
            return Ok(Download { values, took, again });
        }
        if newest.elapsed() > QUIET {
            newest = Instant::now();
            match total {
                None => say(&mut stream, &list(system))?,
                Some(total) => {
                    for index in (0..total).filter(|index| !found.contains_key(index)).take(AGAIN) {
                        again += 1;
                        say(&mut stream, &one(system, index))?;
                    }
                }
            }
        }
    }
}

fn list(system: u8) -> MavMessage {
    MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA {
        target_system: system,
        target_component: 1,
    })
}

fn one(system: u8, index: u16) -> MavMessage {
    MavMessage::PARAM_REQUEST_READ(PARAM_REQUEST_READ_DATA {
        param_index: i16::try_from(index).unwrap_or(-1),
        target_system: system,
        target_component: 1,
        ..PARAM_REQUEST_READ_DATA::default()
    })
}

fn say(stream: &mut TcpStream, message: &MavMessage) -> anyhow::Result<()> {
    let header = MavHeader {
        system_id: 255,
        component_id: 190,
        sequence: 0,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    Ok(stream.write_all(raw.raw_bytes())?)
}
