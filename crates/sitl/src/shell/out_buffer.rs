//! Bytes that a stream did not accept yet. When too many wait, whole frames are dropped, never parts of one.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

/// An absent reader gets gaps, the vehicle never blocks.
const LIMIT: usize = 8 * 1024;

#[derive(Default)]
pub(super) struct OutBuffer(VecDeque<u8>);

impl OutBuffer {
    pub(super) fn push(&mut self, frame: &[u8]) -> bool {
        let fits = self.0.len() + frame.len() <= LIMIT;
        if fits {
            self.0.extend(frame);
        }
        fits
    }

    /// Writes until `write` accepts no more; `WouldBlock` is not an error.
    pub(super) fn flush(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while !self.0.is_empty() {
            let (front, _) = self.0.as_slices();
            match write(front) {
                Ok(0) => return Ok(()),
                Ok(taken) => drop(self.0.drain(..taken)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_away_costs_whole_frames_and_nothing_else() {
        let mut buffer = OutBuffer::default();
        let taken = (0..1000).filter(|_| buffer.push(&[7; 40])).count();
        assert_eq!(taken, LIMIT / 40);
        let mut got = 0;
        buffer
            .flush(|bytes| {
                got += bytes.len();
                Ok(bytes.len())
            })
            .unwrap();
        assert_eq!(got, taken * 40);
        assert!(buffer.push(&[7; 40]));
    }
}
