//! Checksums of logs, for people who check their copies.

use model::logs::digest_pace::{AfterPiece, DIGEST_PIECE_BYTES, DigestPace};
use proto::v1;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// As many as people who wait for one agent.
const OPEN_DIGESTS: usize = 5;

#[derive(Debug, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256.
    Done(Vec<u8>),
    Open(u64),
}

pub trait WorkClock {
    fn now(&mut self) -> Duration;
    fn rest(&mut self, time: Duration);
}

#[derive(Debug)]
pub struct ThreadClock(Instant);

impl Default for ThreadClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl WorkClock for ThreadClock {
    fn now(&mut self) -> Duration {
        self.0.elapsed()
    }

    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The one that was asked for last first.
#[derive(Debug, Default)]
pub struct Digests(Vec<OpenDigest>);

#[derive(Debug)]
struct OpenDigest {
    name: String,
    bytes: u64,
    /// A name may be given to another file meanwhile.
    inode: u64,
    done: u64,
    hash: Sha256,
}

impl Digests {
    /// Nobody can take more of the processor than a share by asking: questions are answered one after the other, and each rests as it works.
    pub fn answer(&mut self, asked: &v1::LogDigest, mut file: File, clock: &mut impl WorkClock) -> io::Result<Digest> {
        let inode = file.metadata()?.ino();
        let is_it = |open: &OpenDigest| open.name == asked.name && open.bytes == asked.bytes && open.inode == inode;
        let mut open = match self.0.iter().position(is_it) {
            Some(place) => self.0.remove(place),
            None => OpenDigest {
                name: asked.name.clone(),
                bytes: asked.bytes,
                inode,
                done: 0,
                hash: Sha256::new(),
            },
        };
        file.seek(SeekFrom::Start(open.done))?;
        let mut bytes = file.take(asked.bytes.saturating_sub(open.done));
        let mut piece = vec![0; DIGEST_PIECE_BYTES];
        let mut pace = DigestPace::begin(clock.now());
        loop {
            let read = bytes.read(&mut piece)?;
            if read == 0 {
                return Ok(Digest::Done(open.hash.finalize().to_vec()));
            }
            open.hash.update(piece.get(..read).unwrap_or_default());
            open.done += u64::try_from(read).unwrap_or(0);
            match pace.after_piece(clock.now()) {
                AfterPiece::Rest(rest) => clock.rest(rest),
                AfterPiece::Answer(rest) => {
                    clock.rest(rest);
                    let done = open.done;
                    self.0.truncate(OPEN_DIGESTS - 1);
                    self.0.insert(0, open);
                    return Ok(Digest::Open(done));
                }
            }
            pace.rested(clock.now());
        }
    }
}
