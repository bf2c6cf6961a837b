//! MAVLink FTP server over fixed files (FILE_TRANSFER_PROTOCOL, 110). Owns: the one session, bursts, and answers. Must
//! not: know the files' content, or write any. As on PX4, a repeated request gets the same answer; a burst streams
//! until the end of the file, which is signalled by a refusal with "end of file".

mod files;
mod packet;

#[cfg(test)]
mod tests;

pub(super) use files::{File, crc32};

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use self::packet::{DATA, Packet, Refusal, opcode};
use crate::wire::Address;

const SESSION: u8 = 0;
const BURST_PACKETS: usize = 3;
/// Length after which the burst is complete and the client requests the rest.
const BURST_BYTES: usize = 35 * 1024;
const KEPT_BYTES: u8 = 4;

#[derive(Clone, Copy, Debug)]
struct Burst {
    to: Address,
    offset: usize,
    seq: u16,
    sent: usize,
}

#[derive(Clone, Debug)]
pub(super) struct FileServer {
    files: &'static [File],
    open: Option<&'static File>,
    burst: Option<Burst>,
    last: Option<Packet>,
}

impl FileServer {
    pub(super) fn new(files: &'static [File]) -> Self {
        Self {
            files,
            open: None,
            burst: None,
            last: None,
        }
    }

    pub(super) fn receive(&mut self, from: Address, payload: &[u8]) -> Option<MavMessage> {
        let request = Packet::decode(payload);
        if let Some(last) = self
            .last
            .as_ref()
            .filter(|last| request.seq.wrapping_add(1) == last.seq)
        {
            return Some(message(from, last));
        }
        let mut answer = match self.answer(from, &request) {
            Ok(None) => {
                self.last = None;
                return None;
            }
            Ok(Some(data)) => request.acknowledged(&data),
            Err(refusal) => request.refused(refusal),
        };
        if request.opcode == opcode::OPEN_FILE_RO {
            // Whatever number the client sent, this is the only session.
            answer.session = SESSION;
        }
        self.last = (answer.size <= KEPT_BYTES).then(|| answer.clone());
        Some(message(from, &answer))
    }

    pub(super) fn step(&mut self) -> Vec<MavMessage> {
        (0..BURST_PACKETS).map_while(|_| self.burst_packet()).collect()
    }

    fn burst_packet(&mut self) -> Option<MavMessage> {
        let burst = self.burst.as_mut()?;
        let request = Packet {
            opcode: opcode::BURST_READ_FILE,
            offset: burst.offset as u32,
            seq: burst.seq.wrapping_sub(1),
            ..Packet::default()
        };
        let rest = self.open?.bytes().get(burst.offset..).unwrap_or(&[]);
        let data = &rest[..rest.len().min(DATA)];
        if data.is_empty() {
            let ended = request.refused(Refusal::EndOfFile);
            let to = burst.to;
            self.burst = None;
            return Some(message(to, &ended));
        }
        let mut packet = request.acknowledged(data);
        let to = burst.to;
        burst.seq = burst.seq.wrapping_add(1);
        burst.offset += data.len();
        burst.sent += data.len();
        if burst.sent >= BURST_BYTES {
            packet.burst_complete = true;
            self.burst = None;
        }
        Some(message(to, &packet))
    }

    /// `None`: a burst follows instead.
    fn answer(&mut self, from: Address, request: &Packet) -> Result<Option<Vec<u8>>, Refusal> {
        if usize::from(request.size) > DATA {
            return Err(Refusal::InvalidDataSize);
        }
        let path = || files::clean(request.text());
        Ok(Some(match request.opcode {
            opcode::NONE => Vec::new(),
            opcode::TERMINATE_SESSION => {
                self.session(request)?;
                (self.open, self.burst) = (None, None);
                Vec::new()
            }
            opcode::RESET_SESSIONS => {
                (self.open, self.burst) = (None, None);
                Vec::new()
            }
            opcode::LIST_DIRECTORY => files::list(self.files, &path(), request.offset as usize)?,
            opcode::OPEN_FILE_RO if self.open.is_some() => return Err(Refusal::NoSessionsAvailable),
            opcode::OPEN_FILE_RO => {
                let file = files::find(self.files, &path())?;
                self.open = Some(file);
                (file.bytes().len() as u32).to_le_bytes().to_vec()
            }
            opcode::READ_FILE => {
                let rest = self.session(request)?.bytes().get(request.offset as usize..);
                let rest = rest.filter(|rest| !rest.is_empty()).ok_or(Refusal::EndOfFile)?;
                rest[..rest.len().min(DATA)].to_vec()
            }
            opcode::BURST_READ_FILE => {
                self.session(request)?;
                self.burst = Some(Burst {
                    to: from,
                    offset: request.offset as usize,
                    seq: request.seq.wrapping_add(1),
                    sent: 0,
                });
                return Ok(None);
            }
            opcode::CALC_FILE_CRC32 => crc32(files::find(self.files, &path())?.bytes()).to_le_bytes().to_vec(),
            opcode::CREATE_FILE..=opcode::CREATE_DIRECTORY | opcode::OPEN_FILE_WO..=opcode::RENAME => {
                return Err(Refusal::FileProtected);
            }
            _ => return Err(Refusal::UnknownCommand),
        }))
    }

    fn session(&self, request: &Packet) -> Result<&'static File, Refusal> {
        self.open
            .filter(|_| request.session == 0)
            .ok_or(Refusal::InvalidSession)
    }
}

fn message(to: Address, packet: &Packet) -> MavMessage {
    MavMessage::FILE_TRANSFER_PROTOCOL(apm::FILE_TRANSFER_PROTOCOL_DATA {
        target_network: 0,
        target_system: to.system,
        target_component: to.component,
        payload: packet.encode(),
    })
}
