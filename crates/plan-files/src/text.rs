//! Bytes of a file as text, whatever program has written them.
//!
//! Owns: byte order marks, UTF-16 with and without one, old Windows text. Must not: know a format.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The text of a file, without byte order mark and with `\n` at the end of each line.
#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, bytes.get(mark..).unwrap_or_default()),
        None => (guess(bytes), bytes),
    };
    let text = encoding.decode_without_bom_handling(bytes).0;
    // Old programs end a line with \r alone.
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// UTF-16 of a text in Latin letters has a zero in every second byte.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let zeros = |odd: usize| {
        let mut pairs = bytes.chunks_exact(2).take(32).peekable();
        pairs.peek().is_some() && pairs.all(|pair| pair.get(odd) == Some(&0))
    };
    if zeros(1) {
        UTF_16LE
    } else if zeros(0) {
        UTF_16BE
    } else if std::str::from_utf8(bytes).is_ok() {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

/// A number as people write it, with a point or with a comma.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let parsed = if text.matches(',').count() == 1 && !text.contains('.') {
        text.replace(',', ".").parse()
    } else {
        text.parse()
    };
    parsed.ok()
}
