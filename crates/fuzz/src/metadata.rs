//! Target `metadata`: an autopilot that offers descriptions of its events and is not what it seems.
//!
//! The server loses, repeats, refuses and makes up answers, and the files are anything, packed or not. Fails when more
//! than reading is asked for, when another than the autopilot is asked, or when a text is not one short line. Must not:
//! touch a disk: the cache is in a place where nothing can be kept.

use crate::bytes::Bytes;
use agent::metadata::{Fetch, MetadataCache, Table};
use fleet::flight::memory::Outcome;
use link::dialect::{COMPONENT_METADATA_DATA, FILE_TRANSFER_PROTOCOL_DATA, MavMessage};
use model::time::Moment;
use model::units::{Address, ComponentId, SystemId};
use model::vehicle::{Autopilot, Identity};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const US: (u8, u8) = (7, 191);
/// TerminateSession, ResetSessions, OpenFileRO, ReadFile.
const READING: [u8; 4] = [1, 2, 4, 5];
const INDEX: &[u8] = br#"{"metadataTypes":[{"type":4,"uri":"mftp://e"}]}"#;
const XZ: [u8; 6] = [0xFD, b'7', b'z', b'X', b'Z', 0];
/// Rounds of asking and answering; a file of some kilobytes takes a few dozen.
const ROUNDS: u32 = 400;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub requests: u64,
    pub files: u64,
    /// Tables that were read from files.
    pub tables: u64,
    pub described: u64,
}

/// Runs one input: how the server behaves, and then the file. Panics when the agent does what it must not.
pub fn run(input: &[u8]) -> Tally {
    let mut bytes = Bytes::new(input);
    let how = bytes.byte();
    let faults: Vec<u8> = if how & 1 == 0 {
        Vec::new()
    } else {
        bytes.take(16).to_vec()
    };
    let file = file(how, bytes.take(usize::MAX));
    // Either file may be the arbitrary one.
    let files = if how & 2 == 0 {
        [INDEX.to_vec(), file]
    } else {
        [file.clone(), file]
    };
    let mut tally = Tally::default();
    if let Some(table) = fetch(&files, &faults, &mut tally) {
        tally.tables += 1;
        describe(&table, input, &mut tally);
    }
    tally
}

/// The file of an input; with a bit of `how`, what follows the header of a packed one.
fn file(how: u8, bytes: &[u8]) -> Vec<u8> {
    if how & 4 == 0 {
        return bytes.to_vec();
    }
    [&XZ, bytes].concat()
}

fn fetch(files: &[Vec<u8>; 2], faults: &[u8], tally: &mut Tally) -> Option<Arc<Table>> {
    let autopilot = Identity {
        autopilot: Autopilot::Px4,
        system: SystemId(US.0),
        component: ComponentId(1),
        firmware: None,
        hardware: None,
    };
    let mut fetch = Fetch::new(Some(MetadataCache::in_state(Path::new("/proc/none"))));
    let mut now = Duration::ZERO;
    let mut opened = 0;
    for round in 0..ROUNDS {
        now += Duration::from_millis(700);
        let at = Moment::at(now);
        if fetch.wanted(at).is_some() {
            fetch.asked(at);
            fetch.answered(&Outcome::Accepted, at, 0.5);
            let named = COMPONENT_METADATA_DATA {
                file_crc: crc32(&files[0]),
                uri: "mftp://i".into(),
                ..COMPONENT_METADATA_DATA::default()
            };
            fetch.receive(
                &MavMessage::COMPONENT_METADATA(named),
                Address::new(US.0, US.1),
                at,
                0.5,
            );
        }
        if let Some(job) = fetch.take_job() {
            tally.files += 1;
            let table = fetch.done(Some(job.run()), at, 0.5);
            if table.is_some() {
                return table;
            }
        }
        let Some(message) = fetch.next(&autopilot, at, 0.5) else {
            continue;
        };
        let MavMessage::FILE_TRANSFER_PROTOCOL(request) = message else {
            panic!("asked with {message:?}")
        };
        tally.requests += 1;
        assert!(
            READING.contains(&request.payload[3]),
            "operation {}",
            request.payload[3]
        );
        assert_eq!((request.target_system, request.target_component), (US.0, 1));
        let fault = faults.get(round as usize % faults.len().max(1)).copied().unwrap_or(0);
        for payload in answers(&request.payload, files, &mut opened, fault) {
            let answer = FILE_TRANSFER_PROTOCOL_DATA {
                target_system: US.0,
                target_component: US.1,
                payload,
                ..FILE_TRANSFER_PROTOCOL_DATA::default()
            };
            fetch.receive(
                &MavMessage::FILE_TRANSFER_PROTOCOL(answer),
                Address::new(US.0, US.1),
                at,
                0.5,
            );
        }
    }
    None
}

/// The server's answers to a request; `fault` says what goes wrong.
fn answers(request: &[u8; 251], files: &[Vec<u8>; 2], opened: &mut usize, fault: u8) -> Vec<[u8; 251]> {
    let mut answer = [0; 251];
    let seq = u16::from_le_bytes([request[0], request[1]]).wrapping_add(1);
    answer[..2].copy_from_slice(&seq.to_le_bytes());
    (answer[2], answer[3], answer[5]) = (request[2], 128, request[3]);
    answer[8..12].copy_from_slice(&request[8..12]);
    match request[3] {
        4 => {
            *opened = usize::from(request[12] == b'e');
            let size = u32::try_from(files[*opened].len()).unwrap_or(u32::MAX);
            answer[4] = 4;
            answer[12..16].copy_from_slice(&size.to_le_bytes());
        }
        5 => {
            let offset = u32::from_le_bytes([request[8], request[9], request[10], request[11]]) as usize;
            let rest = files[*opened].get(offset..).unwrap_or_default();
            let piece = &rest[..rest.len().min(usize::from(request[4]).min(239))];
            answer[4] = u8::try_from(piece.len()).unwrap_or(239);
            answer[12..12 + piece.len()].copy_from_slice(piece);
        }
        _ => {}
    }
    let place = usize::from(fault >> 3) * 8 % 251;
    match fault % 8 {
        1 => return Vec::new(),
        2 => return vec![answer, answer],
        3 => (answer[3], answer[12]) = (129, fault >> 3),
        4 => answer[place] ^= 0x40,
        5 => answer[4] = fault,
        6 => answer[8] = answer[8].wrapping_add(1),
        _ => {}
    }
    vec![answer]
}

/// Lets the table describe events of all the low numbers that an input may use.
fn describe(table: &Table, arguments: &[u8], tally: &mut Tally) {
    for id in (0..8).flat_map(|component| (0..32).map(move |id| component << 24 | id)) {
        if let Some(described) = table.describe(id, arguments) {
            tally.described += 1;
            for text in [&described.message, &described.description] {
                assert!(
                    text.chars().count() <= 400 && !text.contains(char::is_control),
                    "{text:?}"
                );
            }
        }
    }
}

/// CRC-32 as MAVLink FTP counts it: from 0, without a last inversion.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = 0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xEDB8_8320 };
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_fetched_and_some_describe_events() {
        let tallies: Vec<Tally> = crate::seeds::metadata().iter().map(|seed| run(seed)).collect();
        assert!(tallies.iter().all(|tally| tally.files > 0), "{tallies:?}");
        assert!(
            tallies.iter().filter(|tally| tally.described > 0).count() >= 2,
            "{tallies:?}"
        );
    }
}
