//! First inputs, without which it takes minutes until chance takes off; coverage finds the rest.

use std::io;
use std::path::Path;

/// Most bytes of one recording, and of one input.
const PART: usize = 2048;

/// Inputs for the target `link`, from the telemetry logs in `recordings`; the eight bytes of time before each frame of
/// a log are the noise between them. Errors: the folder cannot be read.
pub fn reader(recordings: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut logs: Vec<_> = std::fs::read_dir(recordings)?.collect::<Result<Vec<_>, _>>()?;
    logs.sort_by_key(std::fs::DirEntry::path);
    let mut inputs = vec![
        // True frames; signed ones, one of them damaged, and one again; a silence; the end of a datagram.
        vec![2, 10, 3, 1, 3, 1, 4, 0, 3, 0, 20, 0, 1],
        // PARAM_VALUE, BATTERY_STATUS, EVENT, and one that is cut short, with odd payloads.
        [
            &[5, 22, 0, 25][..],
            &[b'A'; 25],
            &[1, 1, 1, 5, 147, 0, 54],
            &[0xFF; 54],
            &[2, 1, 1, 5, 154, 1, 9, 1, 2, 3],
        ]
        .concat(),
    ];
    for log in logs
        .iter()
        .filter(|log| log.path().extension().is_some_and(|e| e == "tlog"))
    {
        let content = std::fs::read(log.path())?;
        // Some of the beginning, and some of the middle, where it flies.
        for part in [
            content.get(..PART),
            content.get(content.len() / 2..).and_then(|rest| rest.get(..PART)),
        ] {
            inputs.push(part.unwrap_or_default().chunks(31 * 16).flat_map(as_chunk).collect());
        }
    }
    Ok(inputs)
}

/// Bytes as one chunk that the target understands: the largest number of sixteens.
fn as_chunk(bytes: &[u8]) -> Vec<u8> {
    let sixteens = u8::try_from(bytes.len() / 16).unwrap_or(31).min(31);
    let mut chunk = vec![6 | sixteens << 3];
    chunk.extend_from_slice(bytes.get(..usize::from(sixteens) * 16).unwrap_or_default());
    chunk
}

/// Three seconds in which everything goes its way.
const CALM: u8 = 240;
/// An order, which the next byte names.
const ORDER: u8 = 13;
const FLY: [u8; 2] = [ORDER, 0];
const COME_DOWN: [u8; 2] = [ORDER, 3];

pub fn flight() -> Vec<Vec<u8>> {
    let found = [CALM; 2];
    let up = [&found[..], &FLY, &[CALM; 6]].concat();
    let in_flight: [&[u8]; 12] = [
        // Up and down again.
        &[&COME_DOWN[..], &[CALM; 8]].concat(),
        // A ground order, a release, and up again.
        &[
            ORDER, 4, 1, CALM, CALM, CALM, CALM, CALM, CALM, ORDER, 1, CALM, ORDER, 5, 1, CALM, CALM, CALM,
        ],
        // A pilot takes over, gives it back, and the agent is ordered to go on.
        &[6, 0, CALM, 6, 1, CALM, ORDER, 10, 1, CALM, ORDER, 3, CALM, CALM],
        // The coordinator is lost, and it was to land, or to return.
        &[ORDER, 11, 0, 0, 1, 0, 0, 15, CALM, CALM, CALM, CALM],
        &[ORDER, 11, 1, 0, 1, 0, 0, 15, CALM, CALM, CALM, CALM],
        // The battery runs low.
        &[6, 5, 12, CALM, CALM, CALM, CALM],
        // The agent is asked to end.
        &[77, CALM, CALM, CALM, CALM],
        // It restarts in flight, before and after it has heard its vehicle, and gets its order again.
        &[157, CALM, ORDER, 0, CALM, 37, CALM, ORDER, 3, CALM, CALM, CALM],
        // A kill, and an order to fly again.
        &[18, 1, 0, 1, CALM, ORDER, 0, CALM, CALM, CALM],
        // The line fails, and comes back.
        &[16, 4, 30, 16, CALM, 19, 3, CALM, 19, 0, CALM],
        // The autopilot reboots on the ground; another Drone.
        &[
            ORDER, 3, CALM, CALM, CALM, CALM, CALM, 6, 6, CALM, ORDER, 14, CALM, ORDER, 9, 2, ORDER, 0, CALM, CALM,
            CALM,
        ],
        // Deposed coordinators, and a new one.
        &[ORDER, 8, 1, ORDER, 7, CALM, ORDER, 13, ORDER, 12, 5, CALM],
    ];
    let on_the_ground: [&[u8]; 2] = [
        // Single words of the vehicle and of strangers, answers, and noise.
        &[
            7, 0, 16, 5, 8, 0, 2, 9, 0, 0, 1, 12, 5, 12, 0x27, 10, 0, 14, 8, 1, 2, 3, 4, 5, 6, 7, 8, 11, 8, 0xFD, 1, 0,
            0, 0, 1, 1, 0,
        ],
        // The mode is set and reported; what the arming checks said before says nothing about it.
        &[FLY[0], FLY[1], 7, 0, 0, 1, CALM],
    ];
    let begins = [0, 1, 2, 5];
    let after = |begin: &[u8], stories: &[&[u8]]| -> Vec<Vec<u8>> {
        let each = stories
            .iter()
            .flat_map(|story| begins.map(|kind| [&[kind][..], begin, story].concat()));
        each.collect()
    };
    [after(&up, &in_flight), after(&found, &on_the_ground)].concat()
}

/// Inputs for the target `guests`: two stations and a vehicle that is armed, with each policy.
pub fn guests() -> Vec<Vec<u8>> {
    let beat = |guest: u8, name: u8| [7, guest, name, 0, 9, 0, 0, 0, 0, 6, 8, 0, 0, 3];
    let asks = |guest: u8, message: u8| [&[7, guest, 3, message, 34][..], &[7; 34]].concat();
    let story = [
        &[1, 1][..],
        &beat(1, 3),
        &[3, 1],
        &beat(2, 4),
        &[0, 200],
        &asks(1, 1),
        &asks(2, 4),
        &[5, 0, 1, 33],
        &[7; 33],
        &[0, 200, 2, 1],
        &beat(2, 4),
        &[3, 0],
        &beat(2, 4),
        &[6],
    ]
    .concat();
    (0..4).map(|how| [&[how][..], &story].concat()).collect()
}

/// Inputs for the target `metadata`: good files, one of them packed, and an invalid one.
pub fn metadata() -> Vec<Vec<u8>> {
    const EVENTS: &[u8] = br#"{"components":{"1":{"namespace":"a","enums":{"m_t":{"type":"uint8_t","is_bitfield":true,
        "separator":"/","entries":{"1":{"name":"x","description":"one"},"2":{"name":"y"}}}},"event_groups":{"arming_check":{"events":{
        "3":{"name":"e","message":"Found {2:.1m} <param>P</param> of {1}","description":"<profile name=\"dev\">no</profile>yes",
        "arguments":[{"type":"m_t"},{"type":"float"}]}}},"default":{"events":{"4":{"name":"f","message":"Hello \\{ {1}"}}}},
        "navigation_mode_groups":{"groups":{"4":[50593792]}}}}}"#;
    let with = |how: &[u8], file: &[u8]| [how, file].concat();
    let packed = include_bytes!("../../../agent/src/metadata/unpack/sample.xz");
    let faults: Vec<u8> = (0..16).map(|n| n * 9).collect();
    vec![
        with(&[0], EVENTS),
        with(
            &[&[1][..], &[2, 0, 2, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0]].concat(),
            EVENTS,
        ),
        with(&[&[1][..], &faults].concat(), EVENTS),
        with(&[4], packed.get(6..).unwrap_or_default()),
        with(
            &[2],
            br#"{"metadataTypes":[{"type":1,"uri":"mftp://p"},{"type":4,"uri":"mftp://[;comp=1]e","fileCrc":5}]}"#,
        ),
    ]
}

/// Writes all seeds into `folder`, a folder for each target. Errors: the recordings cannot be read, or the folder not
/// written.
pub fn write(folder: &Path, recordings: &Path) -> io::Result<()> {
    let mut link = reader(&recordings.join("ardupilot"))?;
    link.extend(reader(&recordings.join("px4"))?);
    let all = [
        ("link", link),
        ("agent", flight()),
        ("guests", guests()),
        ("metadata", metadata()),
    ];
    for (target, inputs) in all {
        let folder = folder.join(target);
        std::fs::create_dir_all(&folder)?;
        for (number, input) in inputs.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), input)?;
        }
    }
    Ok(())
}
