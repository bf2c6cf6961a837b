//! PX4's component metadata, from the message that names it to the decoded event descriptions.

mod support;

use mavlink::dialects::ardupilotmega::MavMessage;
use serde_json::Value;
use sitl::wire::Request;
use support::px4::*;
use support::{Bench, US, Verdict};

/// The packet's header is 12 bytes.
fn request(seq: u16, opcode: u8, offset: u32, data: &[u8]) -> Request {
    let mut packet = seq.to_le_bytes().to_vec();
    packet.extend([0, opcode, data.len() as u8, 0, 0, 0]);
    packet.extend(offset.to_le_bytes());
    packet.extend(data);
    Request::Ftp { to: US, packet }
}

fn packets(bench: &Bench, from: usize) -> Vec<[u8; 251]> {
    let packet = |sent: &(f64, sitl::wire::Outgoing)| match &sent.1 {
        sitl::wire::Outgoing::Message(message) => match &**message {
            MavMessage::FILE_TRANSFER_PROTOCOL(packet) => Some(packet.payload),
            _ => None,
        },
        _ => None,
    };
    bench.sent[from..].iter().filter_map(packet).collect()
}

fn fetch(bench: &mut Bench, seq: u16, path: &str) -> Vec<u8> {
    let (open, burst, close, ack) = (4, 15, 1, 128);
    let before = bench.sent.len();
    bench.receive(request(seq, open, 0, path.as_bytes()));
    let opened = packets(bench, before)[0];
    assert_eq!(opened[3], ack, "{path} can be opened");
    let size = u32::from_le_bytes([opened[12], opened[13], opened[14], opened[15]]);
    let before = bench.sent.len();
    bench.receive(request(seq + 2, burst, 0, &[]));
    bench.until("the end of the burst", 30.0, |bench| {
        packets(bench, before).last().is_some_and(|packet| packet[3] != ack)
    });
    let bytes: Vec<u8> = packets(bench, before)
        .iter()
        .filter(|packet| packet[3] == ack)
        .flat_map(|packet| packet[12..12 + usize::from(packet[4])].to_vec())
        .collect();
    assert_eq!(bytes.len(), size as usize);
    bench.receive(request(seq + 1000, close, 0, &[]));
    bytes
}

fn uncompressed(mut bytes: &[u8]) -> Value {
    let mut text = Vec::new();
    lzma_rs::xz_decompress(&mut bytes, &mut text).expect("an .xz file");
    serde_json::from_slice(&text).expect("JSON")
}

fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}

fn metadata_uri(bench: &mut Bench, message: f32) -> (String, u32) {
    let before = bench.sent.len();
    assert_eq!(
        bench.command(512, [message, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        Verdict::Accepted
    );
    #[allow(deprecated, reason = "peers still ask for the older message")]
    let metadata_uri = bench.sent[before..].iter().find_map(|(_, sent)| match sent {
        sitl::wire::Outgoing::Message(message) => match &**message {
            MavMessage::COMPONENT_METADATA(metadata_uri) => {
                Some((metadata_uri.uri.to_str().ok()?.to_owned(), metadata_uri.file_crc))
            }
            MavMessage::COMPONENT_INFORMATION(metadata_uri) => Some((
                metadata_uri.general_metadata_uri.to_str().ok()?.to_owned(),
                metadata_uri.general_metadata_file_crc,
            )),
            _ => None,
        },
        _ => None,
    });
    metadata_uri.expect("it answers with the message")
}

#[test]
fn a_peer_finds_the_descriptions_of_all_events_from_one_message() {
    let mut bench = ready();
    let (uri, crc) = metadata_uri(&mut bench, 397.0);
    assert_eq!(
        (uri.clone(), crc),
        metadata_uri(&mut bench, 395.0),
        "the older message says the same"
    );
    assert_eq!(uri, "mftp://etc/extras/component_general.json.xz");
    let general = fetch(&mut bench, 10, uri.trim_start_matches("mftp://"));
    let general = uncompressed(&general);
    let plain = fetch(
        &mut bench,
        2500,
        uri.trim_start_matches("mftp://").trim_end_matches(".xz"),
    );
    assert_eq!(
        crc32(&plain),
        crc,
        "of the file before it was compressed, as PX4's build has it"
    );
    assert_eq!(serde_json::from_slice::<Value>(&plain).unwrap(), general);
    let events = &general["metadataTypes"][0];
    assert_eq!((&general["version"], &events["type"]), (&1.into(), &4.into()));
    let uri = events["uri"].as_str().unwrap();
    let file = fetch(&mut bench, 5000, uri.trim_start_matches("mftp://"));
    assert_eq!(Some(u64::from(crc32(&file))), events["fileCrc"].as_u64());
    let described = uncompressed(&file);
    let groups = &described["components"]["1"]["event_groups"];
    // ARM_DENIED, without the component in its high byte.
    let sub_id = (ARM_DENIED_EVENT & 0x00FF_FFFF).to_string();
    assert_eq!(
        groups["default"]["events"][&sub_id]["message"],
        "Arming denied: Resolve system health failures first"
    );
}

#[test]
fn every_event_that_a_flight_raises_is_described_with_arguments_of_the_right_size() {
    let mut bench = hovering(10.0);
    bench.heartbeat = None;
    set_parameter(&mut bench, "NAV_DLL_ACT", 2);
    bench.until("down", 120.0, |bench| !bench.truth().armed);
    let file = uncompressed(&fetch(&mut bench, 10, "etc/extras/all_events.json.xz"));
    let px4 = &file["components"]["1"];
    let size = |kind: &str| match kind {
        "uint8_t" | "int8_t" => 1,
        "uint16_t" | "int16_t" => 2,
        "uint32_t" | "int32_t" | "float" => 4,
        other => match px4["enums"][other]["type"].as_str() {
            Some("uint8_t") => 1,
            Some("uint32_t") => 4,
            _ => unreachable!("{other} is described"),
        },
    };
    let events = bench.events_since(0.0);
    assert!(events.len() > 30);
    for (id, arguments) in events {
        let sub_id = (id & 0x00FF_FFFF).to_string();
        let found = ["default", "arming_check", "health"]
            .iter()
            .map(|group| &px4["event_groups"][*group]["events"][&sub_id])
            .find(|event| !event.is_null())
            .unwrap_or_else(|| unreachable!("event {id} is described"));
        let sizes = found["arguments"].as_array().into_iter().flatten();
        let length: usize = sizes.map(|argument| size(argument["type"].as_str().unwrap())).sum();
        assert!(
            arguments[length..].iter().all(|byte| *byte == 0),
            "{found} has nothing beyond its arguments: {arguments:?}"
        );
    }
}
