//! STATUSTEXT (253): joining long texts that come in chunks.
//!
//! A chunk without a NUL is not the last one. PX4 counts ids from 0, so a chunked text of id 0 seems unchunked: the id
//! is not used for that, only whether the 50 bytes are full. What stays unfinished is said after a while.

use link::dialect::STATUSTEXT_DATA;
use model::time::Moment;
use std::time::Duration;

const UNFINISHED_AFTER: Duration = Duration::from_secs(1);
const CHUNKS_AT_MOST: u8 = 6;

#[derive(Clone, Debug, Default)]
pub struct TextJoiner {
    open: Option<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    id: u16,
    next: u8,
    bytes: Vec<u8>,
    since: Moment,
}

impl TextJoiner {
    /// None, one, or two when the chunk breaks off an unfinished text.
    pub fn receive(&mut self, chunk: &STATUSTEXT_DATA, now: Moment) -> Vec<String> {
        let bytes: Vec<u8> = chunk.text.iter().copied().take_while(|&b| b != 0).collect();
        let last = bytes.len() < chunk.text.len() || chunk.chunk_seq >= CHUNKS_AT_MOST;
        let mut done = Vec::new();
        let continues = matches!(&self.open, Some(open) if open.id == chunk.id && open.next == chunk.chunk_seq);
        let mut text = match self.open.take() {
            Some(open) if continues => open,
            unfinished => {
                done.extend(unfinished.and_then(|open| clean(&open.bytes)));
                Open {
                    id: chunk.id,
                    next: chunk.chunk_seq,
                    bytes: Vec::new(),
                    since: now,
                }
            }
        };
        text.bytes.extend(bytes);
        text.next = text.next.saturating_add(1);
        if last {
            done.extend(clean(&text.bytes));
        } else {
            self.open = Some(text);
        }
        done
    }

    pub fn overdue(&mut self, now: Moment) -> Option<String> {
        let due = self
            .open
            .as_ref()
            .is_some_and(|open| now.since(open.since) >= UNFINISHED_AFTER);
        if due {
            self.open.take().and_then(|open| clean(&open.bytes))
        } else {
            None
        }
    }
}

/// `None`: not readable.
fn clean(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn chunk(id: u16, chunk_seq: u8, text: &str) -> STATUSTEXT_DATA {
        STATUSTEXT_DATA {
            id,
            chunk_seq,
            text: text.into(),
            ..STATUSTEXT_DATA::default()
        }
    }

    const FIRST: &str = "Arming denied: Resolve system health failures firs";

    #[test]
    fn a_long_text_is_joined_even_when_its_id_is_0() {
        for id in [0, 7] {
            let mut joiner = TextJoiner::default();
            assert!(joiner.receive(&chunk(id, 0, FIRST), at(0)).is_empty());
            assert_eq!(joiner.receive(&chunk(id, 1, "t\t"), at(1)), [format!("{FIRST}t")]);
            assert_eq!(joiner.receive(&chunk(id + 1, 0, "short"), at(2)), ["short"]);
        }
    }

    #[test]
    fn a_text_whose_end_is_lost_is_said_all_the_same() {
        let mut joiner = TextJoiner::default();
        assert!(joiner.receive(&chunk(3, 0, FIRST), at(0)).is_empty());
        assert_eq!(joiner.receive(&chunk(4, 0, "next"), at(1)), [FIRST, "next"]);
        joiner.receive(&chunk(5, 0, FIRST), at(2));
        assert_eq!(joiner.overdue(at(500)), None);
        assert_eq!(joiner.overdue(at(1500)).as_deref(), Some(FIRST));
        assert_eq!(joiner.overdue(at(9000)), None);
    }
}
