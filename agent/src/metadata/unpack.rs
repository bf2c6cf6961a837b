//! Unpacks an .xz file without ever taking more memory than allowed.
//!
//! The decoder keeps a whole block in memory, so the sizes that the file itself declares are added up first: an LZMA2 chunk says how many
//! bytes it unpacks to, and the decoder holds it to that.
//!
//! Layout (The .xz File Format, 1.2): header 12 | blocks: size byte, header, chunks, padding to 4, check | index (0x00) …

pub(super) const LARGEST: usize = 4 * 1024 * 1024;
const MAGIC: [u8; 6] = [0xFD, b'7', b'z', b'X', b'Z', 0];
const HEADER: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unpacking {
    #[error("the packed file is damaged")]
    Damaged,
    #[error("the file unpacks to more than {LARGEST} bytes, which is too much")]
    TooLarge,
}

pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, Unpacking> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes.to_vec());
    }
    let declared = declared(bytes).ok_or(Unpacking::Damaged)?;
    if declared > LARGEST {
        return Err(Unpacking::TooLarge);
    }
    let (mut input, mut output) = (bytes, Vec::with_capacity(declared));
    lzma_rs::xz_decompress(&mut input, &mut output).map_err(|_| Unpacking::Damaged)?;
    Ok(output)
}

/// Unpacked bytes, as the file declares; more than [`LARGEST`] may be counted only in part.
fn declared(bytes: &[u8]) -> Option<usize> {
    // The low half of the second flag byte is the kind of check at the end of each block.
    let check = match bytes.get(7)? & 0x0F {
        0 => 0,
        1..=3 => 4,
        4..=6 => 8,
        7..=9 => 16,
        10..=12 => 32,
        _ => 64,
    };
    let (mut at, mut total) = (HEADER, 0_usize);
    while total <= LARGEST {
        let size = usize::from(*bytes.get(at)?);
        if size == 0 {
            return Some(total);
        }
        let start = at;
        at += (size + 1) * 4;
        while total <= LARGEST {
            let control = *bytes.get(at)?;
            let number = |offset: usize| {
                let pair = bytes.get(at + offset..at + offset + 2)?.first_chunk()?;
                Some(usize::from(u16::from_be_bytes(*pair)) + 1)
            };
            at += match control {
                0 => {
                    at += 1;
                    break;
                }
                1 | 2 => {
                    total += number(1)?;
                    3 + number(1)?
                }
                3..=0x7F => return None,
                _ => {
                    total += (usize::from(control & 0x1F) << 16) + number(1)?;
                    let properties = usize::from(control >= 0xC0);
                    5 + properties + number(3)?
                }
            };
        }
        // Blocks begin at multiples of 4.
        let padding = (at - start).wrapping_neg() % 4;
        at += padding + check;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let (mut input, mut output) = (bytes, Vec::new());
        lzma_rs::xz_compress(&mut input, &mut output).unwrap();
        output
    }

    /// 60 000 times the letter a, then "end", packed by the usual program with its usual check (CRC64).
    const REAL: [u8; 144] = *include_bytes!("unpack/sample.xz");

    #[test]
    fn what_is_packed_comes_out_as_it_went_in_and_what_is_not_stays() {
        let text = br#"{"version": 1}"#.repeat(20_000);
        assert_eq!(unpack(&packed(&text)).unwrap(), text);
        assert_eq!(unpack(&text).unwrap(), text);
        assert_eq!(unpack(b"").unwrap(), b"");
    }

    #[test]
    fn what_the_usual_program_packed_is_unpacked() {
        let text = unpack(&REAL).unwrap();
        assert_eq!(text.len(), 60_003);
        assert!(text.starts_with(b"aaaa") && text.ends_with(b"aend"));
        assert_eq!(declared(&REAL), Some(60_003));
    }

    #[test]
    fn a_file_that_declares_too_much_is_refused_before_it_is_unpacked() {
        // Chunks of 2 MiB each, of which none is there: two of them are as much as is allowed.
        let mut bomb = REAL[..12 + 4 * (usize::from(REAL[12]) + 1)].to_vec();
        for _ in 0..3 {
            bomb.extend([0xFF, 0xFF, 0xFF, 0, 0, 0x5D, 0]);
        }
        assert_eq!(unpack(&bomb), Err(Unpacking::TooLarge));
    }

    #[test]
    fn a_file_that_ends_early_or_has_a_wrong_bit_is_damaged() {
        for len in 6..REAL.len() - 12 {
            assert_eq!(unpack(&REAL[..len]), Err(Unpacking::Damaged), "{len}");
        }
        let mut wrong = REAL;
        wrong[60] ^= 0x10;
        assert_eq!(unpack(&wrong), Err(Unpacking::Damaged));
    }

    proptest! {
        #[test]
        fn nothing_unpacks_to_more_than_is_allowed_and_nothing_panics(
            tail in prop::collection::vec(any::<u8>(), 0..400), place in 8_usize..100, bit in 0_u8..8,
        ) {
            let mut bytes = REAL.to_vec();
            bytes[place] ^= 1 << bit;
            if let Ok(out) = unpack(&bytes) {
                prop_assert!(out.len() <= LARGEST);
            }
            let made_up = [&REAL[..24], &tail].concat();
            if let Ok(out) = unpack(&made_up) {
                prop_assert!(out.len() <= LARGEST);
            }
        }
    }
}
