//! Bytes of a file as text, whatever program wrote them.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

#[must_use]
pub fn decode(bytes: &[u8]) -> String {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, bytes.get(mark..).unwrap_or_default()),
        None => (guess(bytes), bytes),
    };
    let text = encoding.decode_without_bom_handling(bytes).0;
    // Old programs end a line with \r alone, and a file with the end mark of DOS.
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.truncate(text.trim_end_matches('\u{1a}').len());
    text
}

/// UTF-8, or UTF-16 as Windows saves it, without byte order mark.
#[must_use]
pub fn unicode(bytes: &[u8]) -> Option<String> {
    let (encoding, bytes) = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) => (encoding, bytes.get(mark..).unwrap_or_default()),
        None => (guess(bytes), bytes),
    };
    if encoding == WINDOWS_1252 {
        return None;
    }
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    Some(text.into_owned())
}

/// UTF-16 of Latin letters has a zero in every second byte.
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

#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let parsed = if text.matches(',').count() == 1 && !text.contains('.') {
        text.replace(',', ".").parse()
    } else {
        text.parse()
    };
    parsed.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_is_read_as_programs_save_it_and_nothing_is_guessed_from_other_bytes() {
        let text = "kind: Mission\nname: é\n";
        let utf16 = |to_bytes: fn(u16) -> [u8; 2], mark: bool| {
            let mark = mark.then_some(0xfeff);
            let units = mark.into_iter().chain(text.encode_utf16());
            units.flat_map(to_bytes).collect::<Vec<u8>>()
        };
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            marked,
            utf16(u16::to_le_bytes, true),
            utf16(u16::to_be_bytes, true),
        ] {
            assert_eq!(unicode(&bytes).as_deref(), Some(text), "{bytes:?}");
        }
        assert_eq!(unicode(b"k\0:\0 \x001\0").as_deref(), Some("k: 1"));
        for bytes in [
            &b"name: \xe9\n"[..],
            b"\xff\xfea",
            b"\xff\xfe\x00\xd8",
            b"\xef\xbb\xbf\xff",
        ] {
            assert_eq!(unicode(bytes), None, "{bytes:?}");
        }
    }
}
