//! PX4's component metadata: where a peer finds the descriptions of its events, and the files themselves.
//! COMPONENT_METADATA (397), or the older COMPONENT_INFORMATION (395), names the index `component_general.json.xz`,
//! which names `all_events.json.xz`; both are fetched by MAVLink FTP.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::types::CharArray;

use crate::model::core::Core;
use crate::model::ftp::{File, FileServer, crc32};
use crate::model::outdated;

const GENERAL: &str = "etc/extras/component_general.json.xz";
const EVENTS: &str = "etc/extras/all_events.json.xz";
/// COMP_METADATA_TYPE_EVENTS.
const TYPE_EVENTS: u8 = 4;

/// Every raised event: id, name, arguments and message, in libevents' format.
const ALL_EVENTS: &str = include_str!("all_events.json");

static FILES: [File; 4] = [
    File::new(EVENTS, || compressed(ALL_EVENTS.as_bytes())),
    File::new("etc/extras/all_events.json", || ALL_EVENTS.as_bytes().to_vec()),
    File::new(GENERAL, || compressed(general().as_bytes())),
    File::new("etc/extras/component_general.json", || general().into_bytes()),
];

pub(super) fn server() -> FileServer {
    FileServer::new(&FILES)
}

pub(super) fn component_metadata(core: &Core) -> MavMessage {
    MavMessage::COMPONENT_METADATA(apm::COMPONENT_METADATA_DATA {
        time_boot_ms: core.boot_ms(),
        file_crc: general_crc(),
        uri: uri_field(),
    })
}

pub(super) fn component_information(core: &Core) -> MavMessage {
    outdated::component_information(core, general_crc(), uri_field())
}

/// Checksum before compression, although the URI names the compressed file: PX4's build does the same.
fn general_crc() -> u32 {
    crc32(FILES[3].bytes())
}

fn uri(path: &str) -> String {
    format!("mftp://{path}")
}

fn uri_field() -> CharArray<100> {
    let mut bytes = [0; 100];
    for (slot, byte) in bytes.iter_mut().zip(uri(GENERAL).into_bytes()) {
        *slot = byte;
    }
    CharArray::new(bytes)
}

fn general() -> String {
    let events = serde_json::json!({
        "type": TYPE_EVENTS,
        "uri": uri(EVENTS),
        "fileCrc": crc32(FILES[0].bytes()),
    });
    serde_json::json!({ "version": 1, "metadataTypes": [events] }).to_string()
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let (mut input, mut output) = (bytes, Vec::new());
    lzma_rs::xz_compress(&mut input, &mut output).expect("reading and writing memory cannot fail");
    output
}
