//! Wire format of protobuf: numbers and bytes, each with the number of its field.

use jiff::Timestamp;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Fields in order; `None` ends a malformed message.
pub(super) fn fields(mut bytes: &[u8]) -> impl Iterator<Item = Option<(u32, Field<'_>)>> {
    let mut broken = false;
    std::iter::from_fn(move || {
        if broken || bytes.is_empty() {
            return None;
        }
        let field = field(&mut bytes);
        broken = field.is_none();
        Some(field)
    })
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u32, Field<'a>)> {
    let tag = varint(bytes)?;
    let number = u32::try_from(tag >> 3).ok()?;
    let content = match tag & 7 {
        0 => Field::Number(varint(bytes)?),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (content, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Field::Bytes(content)
        }
        // No Kubernetes message that is read here has fixed-size numbers or groups.
        _ => return None,
    };
    Some((number, content))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Reads to the second or, with `micro`, to the microsecond; null when it is empty.
pub(super) fn time(bytes: &[u8], micro: bool) -> Option<Value> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    for field in fields(bytes) {
        match field? {
            (1, Field::Number(number)) => seconds = number.cast_signed(),
            (2, Field::Number(number)) => nanos = i32::try_from(number.cast_signed()).ok()?,
            _ => return None,
        }
    }
    if bytes.is_empty() {
        return Some(Value::Null);
    }
    let time = Timestamp::new(seconds, nanos).ok()?;
    Some(Value::String(match micro {
        true => format!("{time:.6}"),
        false => format!("{time:.0}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_are_read_with_their_field() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i'];
        let all: Vec<_> = fields(&bytes).collect();
        assert_eq!(all, [Some((1, Field::Number(150))), Some((2, Field::Bytes(b"hi")))]);
    }

    #[test]
    fn what_is_cut_off_is_broken() {
        for bytes in [&[0x08][..], &[0x12, 0x05, b'h'], &[0x0d, 1, 2, 3, 4], &[0xff; 12]] {
            assert_eq!(fields(bytes).last(), Some(None), "{bytes:?}");
        }
    }

    #[test]
    fn a_time_is_text_and_an_empty_one_null() {
        let bytes = [0x08, 0xa5, 0xeb, 0xdc, 0xca, 0x06, 0x10, 0xf0, 0x2e];
        assert_eq!(time(&bytes, true), Some("2026-01-02T03:04:05.000006Z".into()));
        assert_eq!(time(&bytes, false), Some("2026-01-02T03:04:05Z".into()));
        assert_eq!(time(&[], true), Some(Value::Null));
        assert_eq!(time(&[0xff], true), None);
    }
}
