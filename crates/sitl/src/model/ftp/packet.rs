//! Packet in a FILE_TRANSFER_PROTOCOL message (MAVLink guide, File Transfer Protocol).
//!
//!   seq u16 | session u8 | opcode u8 | size u8 | req_opcode u8 | burst_complete u8 | padding | offset u32 | data 239

const PACKET: usize = 251;
const HEADER: usize = 12;
pub(super) const DATA: usize = PACKET - HEADER;

pub(super) mod opcode {
    pub(in crate::model::ftp) const NONE: u8 = 0;
    pub(in crate::model::ftp) const TERMINATE_SESSION: u8 = 1;
    pub(in crate::model::ftp) const RESET_SESSIONS: u8 = 2;
    pub(in crate::model::ftp) const LIST_DIRECTORY: u8 = 3;
    pub(in crate::model::ftp) const OPEN_FILE_RO: u8 = 4;
    pub(in crate::model::ftp) const READ_FILE: u8 = 5;
    pub(in crate::model::ftp) const CREATE_FILE: u8 = 6;
    pub(in crate::model::ftp) const CREATE_DIRECTORY: u8 = 9;
    pub(in crate::model::ftp) const OPEN_FILE_WO: u8 = 11;
    pub(in crate::model::ftp) const RENAME: u8 = 13;
    pub(in crate::model::ftp) const CALC_FILE_CRC32: u8 = 14;
    pub(in crate::model::ftp) const BURST_READ_FILE: u8 = 15;
    pub(in crate::model::ftp) const ACK: u8 = 128;
    pub(in crate::model::ftp) const NAK: u8 = 129;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    InvalidDataSize = 3,
    InvalidSession = 4,
    NoSessionsAvailable = 5,
    EndOfFile = 6,
    UnknownCommand = 7,
    FileProtected = 9,
    FileNotFound = 10,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) seq: u16,
    pub(super) session: u8,
    pub(super) opcode: u8,
    /// Bytes of data; in a read request, bytes requested.
    pub(super) size: u8,
    pub(super) req_opcode: u8,
    pub(super) burst_complete: bool,
    pub(super) offset: u32,
    pub(super) data: Vec<u8>,
}

impl Packet {
    pub(super) fn decode(payload: &[u8]) -> Self {
        let byte = |index: usize| payload.get(index).copied().unwrap_or(0);
        let size = byte(4);
        Self {
            seq: u16::from_le_bytes([byte(0), byte(1)]),
            session: byte(2),
            opcode: byte(3),
            size,
            req_opcode: byte(5),
            burst_complete: byte(6) != 0,
            offset: u32::from_le_bytes([byte(8), byte(9), byte(10), byte(11)]),
            data: (HEADER..HEADER + usize::from(size).min(DATA)).map(byte).collect(),
        }
    }

    pub(super) fn encode(&self) -> [u8; PACKET] {
        let mut bytes = [0; PACKET];
        bytes[..2].copy_from_slice(&self.seq.to_le_bytes());
        bytes[2..7].copy_from_slice(&[
            self.session,
            self.opcode,
            self.size,
            self.req_opcode,
            u8::from(self.burst_complete),
        ]);
        bytes[8..HEADER].copy_from_slice(&self.offset.to_le_bytes());
        for (slot, byte) in bytes[HEADER..].iter_mut().zip(&self.data) {
            *slot = *byte;
        }
        bytes
    }

    pub(super) fn text(&self) -> &str {
        let end = self.data.iter().position(|byte| *byte == 0).unwrap_or(self.data.len());
        std::str::from_utf8(&self.data[..end]).unwrap_or("")
    }

    pub(super) fn acknowledged(&self, data: &[u8]) -> Self {
        self.answer(opcode::ACK, data)
    }

    pub(super) fn refused(&self, refusal: Refusal) -> Self {
        self.answer(opcode::NAK, &[refusal as u8])
    }

    fn answer(&self, opcode: u8, data: &[u8]) -> Self {
        Self {
            seq: self.seq.wrapping_add(1),
            session: self.session,
            opcode,
            size: data.len() as u8,
            req_opcode: self.opcode,
            burst_complete: false,
            offset: self.offset,
            data: data.to_vec(),
        }
    }
}
