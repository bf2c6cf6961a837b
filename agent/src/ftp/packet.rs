//! The packet inside a FILE_TRANSFER_PROTOCOL message (110), from the side that asks (MAVLink guide, services/ftp).
//!
//!   seq u16 | session u8 | opcode u8 | size u8 | req_opcode u8 | burst_complete u8 | padding | offset u32 | data 239

pub(crate) const PACKET: usize = 251;
const HEADER: usize = 12;
pub(crate) const DATA: usize = PACKET - HEADER;

const ACK: u8 = 128;
const NAK: u8 = 129;

/// Requests that change nothing on the vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Terminate,
    Reset,
    /// Entries of a folder, from number `offset` on.
    List,
    Open,
    Read,
    Checksum,
}

impl Operation {
    const fn code(self) -> u8 {
        match self {
            Self::Terminate => 1,
            Self::Reset => 2,
            Self::List => 3,
            Self::Open => 4,
            Self::Read => 5,
            Self::Checksum => 14,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    InvalidSession,
    NoSessionsAvailable,
    EndOfFile,
    FileNotFound,
    Other(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) seq: u16,
    pub(crate) session: u8,
    pub(crate) operation: Operation,
    pub(crate) offset: u32,
    pub(crate) want: u8,
    /// Cut at [`DATA`] bytes.
    pub(crate) data: Vec<u8>,
}

impl Request {
    pub(crate) fn encode(&self) -> [u8; PACKET] {
        let mut bytes = [0; PACKET];
        let (header, data) = bytes.split_at_mut(HEADER);
        let size = match self.operation {
            Operation::Read => self.want,
            _ => u8::try_from(self.data.len().min(DATA)).unwrap_or(u8::MAX),
        };
        let [low, high] = self.seq.to_le_bytes();
        let fields = [low, high, self.session, self.operation.code(), size, 0, 0, 0];
        let all = fields.into_iter().chain(self.offset.to_le_bytes());
        header.iter_mut().zip(all).for_each(|(slot, byte)| *slot = byte);
        data.iter_mut().zip(&self.data).for_each(|(slot, byte)| *slot = *byte);
        bytes
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) seq: u16,
    pub(crate) session: u8,
    pub(crate) offset: u32,
    operation: u8,
    pub(crate) result: Result<Vec<u8>, Refusal>,
}

impl Answer {
    /// `None`: it is no answer. Bytes that are not there count as zero.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let byte = |index: usize| payload.get(index).copied().unwrap_or(0);
        let size = usize::from(byte(4)).min(DATA);
        let result = match byte(3) {
            ACK => Ok((HEADER..HEADER + size).map(byte).collect()),
            NAK => Err(match byte(HEADER) {
                4 => Refusal::InvalidSession,
                5 => Refusal::NoSessionsAvailable,
                6 => Refusal::EndOfFile,
                10 => Refusal::FileNotFound,
                other => Refusal::Other(other),
            }),
            _ => return None,
        };
        Some(Self {
            seq: u16::from_le_bytes([byte(0), byte(1)]),
            session: byte(2),
            offset: u32::from_le_bytes([byte(8), byte(9), byte(10), byte(11)]),
            operation: byte(5),
            result,
        })
    }

    pub(crate) const fn is_to(&self, request: &Request) -> bool {
        self.seq == request.seq.wrapping_add(1) && self.operation == request.operation.code()
    }
}

/// The checksum of the protocol and of component metadata: CRC-32 (reflected 0x04C11DB7) from 0, without a final
/// inversion.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    crc32_on(0, bytes)
}

pub(crate) fn crc32_on(crc: u32, bytes: &[u8]) -> u32 {
    let mut digest = crc32fast::Hasher::new_with_initial(!crc);
    digest.update(bytes);
    !digest.finalize()
}

#[cfg(test)]
pub(crate) use tests::answer as server_answer;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn answer(request: &[u8; PACKET], result: Result<&[u8], u8>) -> Vec<u8> {
        let mut bytes = request.to_vec();
        let seq = u16::from_le_bytes([bytes[0], bytes[1]]).wrapping_add(1);
        bytes[..2].copy_from_slice(&seq.to_le_bytes());
        bytes[5] = bytes[3];
        let (code, data) = match result {
            Ok(data) => (ACK, data.to_vec()),
            Err(why) => (NAK, vec![why]),
        };
        bytes[3] = code;
        bytes[4] = u8::try_from(data.len()).unwrap();
        bytes.truncate(HEADER);
        bytes.extend(data);
        bytes
    }

    #[test]
    fn a_request_is_laid_out_as_the_guide_says() {
        let request = Request {
            seq: 0x0102,
            session: 3,
            operation: Operation::Read,
            offset: 0x0405_0607,
            want: 239,
            data: Vec::new(),
        };
        assert_eq!(request.encode()[..HEADER], [2, 1, 3, 5, 239, 0, 0, 0, 7, 6, 5, 4]);
        let open = Request {
            operation: Operation::Open,
            data: b"etc/x".to_vec(),
            ..request
        };
        assert_eq!(open.encode()[3..5], [4, 5]);
        assert_eq!(&open.encode()[HEADER..HEADER + 6], b"etc/x\0");
    }

    #[test]
    fn an_answer_belongs_to_the_request_before_it_and_to_no_other() {
        let request = Request {
            seq: u16::MAX,
            session: 0,
            operation: Operation::Read,
            offset: 0,
            want: 10,
            data: Vec::new(),
        };
        let answer = Answer::decode(&answer(&request.encode(), Ok(b"ab"))).unwrap();
        assert!(answer.is_to(&request));
        assert_eq!(answer.result, Ok(b"ab".to_vec()));
        assert!(!answer.is_to(&Request {
            operation: Operation::Open,
            ..request.clone()
        }));
        assert!(!answer.is_to(&Request { seq: 7, ..request }));
    }

    #[test]
    fn the_checksum_is_that_of_the_protocol() {
        // Of "123456789": computed from the usual CRC-32's table, from 0 and without the final inversion.
        assert_eq!(crc32(b"123456789"), 0x2DFD_2D88);
        assert_eq!(crc32(b""), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_with_bounded_data_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(Answer { result: Ok(data), .. }) = Answer::decode(&bytes) {
                prop_assert!(data.len() <= DATA);
            }
        }
    }
}
