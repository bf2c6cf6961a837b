//! A base map: a PMTiles file (version 3) with one vector tile, which is water.

const HEADER: u64 = 127;
const METADATA: &[u8] = br#"{"vector_layers":[{"id":"water","fields":{}}],"attribution":"made up"}"#;
/// Nothing is compressed; tiles are Mapbox vector tiles.
const NONE: u8 = 1;
const VECTOR: u8 = 1;

pub fn all_water() -> Vec<u8> {
    let tile = tile();
    // One entry: its tile, run length, bytes, offset plus one.
    let length = u8::try_from(tile.len()).unwrap_or(u8::MAX);
    let directory = [1, 0, 1, length, 1];
    let sections = [&directory[..], METADATA, &[], &tile];
    let mut bytes = b"PMTiles\x03".to_vec();
    let mut offset = HEADER;
    for section in sections {
        let length = section.len() as u64;
        bytes.extend([offset, length].map(u64::to_le_bytes).concat());
        offset += length;
    }
    bytes.extend([1_u64; 3].map(u64::to_le_bytes).concat());
    let clustered = 1;
    let (lowest, highest) = (0, 0);
    bytes.extend([clustered, NONE, NONE, VECTOR, lowest, highest]);
    for degrees in [-180_i32, -85, 180, 85] {
        bytes.extend((degrees * 10_000_000).to_le_bytes());
    }
    bytes.extend([0; 9]);
    bytes.extend(sections.concat());
    bytes
}

fn tile() -> Vec<u8> {
    // MoveTo 0,0; LineTo 4096,0 and on around the square; ClosePath; all but the first as steps.
    let ring = [9, 0, 0, 26, 0x80, 0x40, 0, 0, 0x80, 0x40, 0xff, 0x3f, 0, 15];
    let feature = [&[0x18, 3, 0x22, 14][..], &ring].concat();
    let layer = [
        &[0x78, 2, 0x0a, 5][..],
        b"water",
        &[0x12, 18],
        &feature,
        &[0x28, 0x80, 0x20],
    ]
    .concat();
    [&[0x1a, u8::try_from(layer.len()).unwrap_or(u8::MAX)][..], &layer].concat()
}
