//! The file server against a client that loses packets and sends invalid requests.

use super::packet::{DATA, Packet, opcode};
use super::*;

static FILES: [File; 3] = [
    File::new("etc/extras/big.json", || (0..1000_u32).map(|n| n as u8).collect()),
    File::new("etc/extras/empty", Vec::new),
    File::new("etc/version", || b"1".to_vec()),
];

const CLIENT: Address = Address {
    system: 255,
    component: 190,
};

fn request(seq: u16, opcode: u8, offset: u32, data: &[u8]) -> [u8; 251] {
    let packet = Packet {
        seq,
        opcode,
        offset,
        size: data.len() as u8,
        data: data.to_vec(),
        ..Packet::default()
    };
    packet.encode()
}

fn packet(message: &MavMessage) -> Packet {
    let MavMessage::FILE_TRANSFER_PROTOCOL(message) = message else {
        unreachable!("the server says nothing else")
    };
    assert_eq!((message.target_system, message.target_component), (255, 190));
    Packet::decode(&message.payload)
}

fn request_of(server: &mut FileServer, seq: u16, opcode: u8, offset: u32, data: &[u8]) -> Packet {
    let answer = server.receive(CLIENT, &request(seq, opcode, offset, data)).unwrap();
    let answer = packet(&answer);
    assert_eq!((answer.seq, answer.req_opcode), (seq.wrapping_add(1), opcode));
    answer
}

fn refusal(answer: &Packet) -> Option<u8> {
    (answer.opcode == opcode::NAK).then(|| answer.data[0])
}

#[test]
fn a_file_is_opened_with_its_size_read_in_pieces_and_ended() {
    let mut server = FileServer::new(&FILES);
    let opened = request_of(&mut server, 0, opcode::OPEN_FILE_RO, 0, b"/etc/extras/big.json");
    assert_eq!(
        (opened.opcode, &opened.data[..]),
        (opcode::ACK, &1000_u32.to_le_bytes()[..])
    );
    let mut read = Vec::new();
    let mut seq = 1;
    loop {
        let piece = request_of(&mut server, seq, opcode::READ_FILE, read.len() as u32, &[]);
        if let Some(why) = refusal(&piece) {
            assert_eq!(why, 6, "end of file");
            break;
        }
        read.extend(piece.data);
        seq += 1;
    }
    assert_eq!(read, FILES[0].bytes());
    assert_eq!(
        request_of(&mut server, 20, opcode::TERMINATE_SESSION, 0, &[]).opcode,
        opcode::ACK
    );
    assert_eq!(
        refusal(&request_of(&mut server, 22, opcode::READ_FILE, 0, &[])),
        Some(4),
        "session over"
    );
}

#[test]
fn a_burst_brings_the_whole_file_with_rising_numbers_and_ends_with_end_of_file() {
    let mut server = FileServer::new(&FILES);
    request_of(&mut server, 7, opcode::OPEN_FILE_RO, 0, b"etc/extras/big.json");
    assert_eq!(
        server.receive(CLIENT, &request(9, opcode::BURST_READ_FILE, 0, &[])),
        None
    );
    let packets: Vec<Packet> = (0..3)
        .flat_map(|_| server.step())
        .map(|message| packet(&message))
        .collect();
    let (last, pieces) = packets.split_last().unwrap();
    assert_eq!(refusal(last), Some(6));
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.data.clone()).collect();
    assert_eq!(bytes, FILES[0].bytes());
    let numbers: Vec<u16> = packets.iter().map(|packet| packet.seq).collect();
    assert_eq!(numbers, (10..10 + packets.len() as u16).collect::<Vec<_>>());
    assert!(pieces.iter().rev().skip(1).all(|piece| piece.data.len() == DATA));
    assert!(server.step().is_empty(), "nothing more");
}

#[test]
fn a_lost_piece_of_a_burst_is_requested_again_by_its_offset() {
    let mut server = FileServer::new(&FILES);
    request_of(&mut server, 0, opcode::OPEN_FILE_RO, 0, b"etc/extras/big.json");
    server.receive(CLIENT, &request(2, opcode::BURST_READ_FILE, 0, &[]));
    while !server.step().is_empty() {}
    let piece = request_of(&mut server, 30, opcode::READ_FILE, 239, &[]);
    assert_eq!(piece.data, &FILES[0].bytes()[239..478]);
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_opens_nothing_twice() {
    let mut server = FileServer::new(&FILES);
    let first = request_of(&mut server, 5, opcode::OPEN_FILE_RO, 0, b"etc/version");
    assert_eq!(
        request_of(&mut server, 5, opcode::OPEN_FILE_RO, 0, b"etc/version"),
        first
    );
    let second = request_of(&mut server, 8, opcode::OPEN_FILE_RO, 0, b"etc/version");
    assert_eq!(refusal(&second), Some(5), "there is one session");
    request_of(&mut server, 10, opcode::RESET_SESSIONS, 0, &[]);
    assert_eq!(
        request_of(&mut server, 12, opcode::OPEN_FILE_RO, 0, b"etc/version").opcode,
        opcode::ACK
    );
}

#[test]
fn a_client_that_numbers_its_sessions_gets_the_number_there_is() {
    let mut server = FileServer::new(&FILES);
    let mut open = request(0, opcode::OPEN_FILE_RO, 0, b"etc/version");
    open[2] = 7;
    let opened = server.receive(CLIENT, &open).map(|message| packet(&message)).unwrap();
    assert_eq!((opened.opcode, opened.session), (opcode::ACK, 0));
    let mut read = request(2, opcode::READ_FILE, 0, &[]);
    read[2] = 7;
    let refused = server.receive(CLIENT, &read).map(|message| packet(&message)).unwrap();
    assert_eq!(refusal(&refused), Some(4), "the other number is none");
}

#[test]
fn folders_are_listed_with_sizes_and_past_their_end_is_end_of_file() {
    let mut server = FileServer::new(&FILES);
    assert_eq!(
        request_of(&mut server, 0, opcode::LIST_DIRECTORY, 0, b"/").data,
        b"Detc\0"
    );
    assert_eq!(
        request_of(&mut server, 2, opcode::LIST_DIRECTORY, 0, b"/etc").data,
        b"Dextras\0Fversion\t1\0"
    );
    assert_eq!(
        request_of(&mut server, 4, opcode::LIST_DIRECTORY, 1, b"etc/extras/").data,
        b"Fempty\t0\0"
    );
    assert_eq!(
        refusal(&request_of(&mut server, 6, opcode::LIST_DIRECTORY, 2, b"etc/extras")),
        Some(6)
    );
    assert_eq!(
        refusal(&request_of(&mut server, 8, opcode::LIST_DIRECTORY, 0, b"fs")),
        Some(10)
    );
}

#[test]
fn nonsense_is_refused_by_name() {
    let mut server = FileServer::new(&FILES);
    let cases: [(u8, &[u8], u8); 5] = [
        (opcode::OPEN_FILE_RO, b"etc/none", 10),
        (opcode::BURST_READ_FILE, b"", 4),
        (opcode::TERMINATE_SESSION, b"", 4),
        (opcode::CREATE_FILE, b"etc/version", 9),
        (77, b"", 7),
    ];
    for (number, (opcode, data, why)) in cases.into_iter().enumerate() {
        let answer = request_of(&mut server, 2 * number as u16, opcode, 0, data);
        assert_eq!(refusal(&answer), Some(why), "operation {opcode}");
    }
    let mut too_long = request(40, opcode::READ_FILE, 0, &[]);
    too_long[4] = 240;
    let answer = server
        .receive(CLIENT, &too_long)
        .map(|message| packet(&message))
        .unwrap();
    assert_eq!(refusal(&answer), Some(3));
}

#[test]
fn the_checksum_is_the_one_of_the_protocol() {
    // The usual check text of CRC-32.
    assert_eq!(crc32(b"123456789"), 0x2DFD_2D88);
    let mut server = FileServer::new(&FILES);
    let answer = request_of(&mut server, 0, opcode::CALC_FILE_CRC32, 0, b"etc/version");
    assert_eq!(answer.data, crc32(b"1").to_le_bytes());
}
