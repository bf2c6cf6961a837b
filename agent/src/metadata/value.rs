//! The arguments of an event: bytes laid end to end, little-endian, without padding.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Unsigned(usize),
    Signed(usize),
    Float,
}

impl Base {
    /// `name` is that of the metadata.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "uint8_t" => Self::Unsigned(1),
            "uint16_t" => Self::Unsigned(2),
            "uint32_t" => Self::Unsigned(4),
            "uint64_t" => Self::Unsigned(8),
            "int8_t" => Self::Signed(1),
            "int16_t" => Self::Signed(2),
            "int32_t" => Self::Signed(4),
            "int64_t" => Self::Signed(8),
            "float" => Self::Float,
            _ => return None,
        })
    }

    pub(super) const fn size(self) -> usize {
        match self {
            Self::Unsigned(size) | Self::Signed(size) => size,
            Self::Float => 4,
        }
    }

    /// `None`: too few bytes.
    pub(super) fn read(self, bytes: &[u8]) -> Option<Value> {
        let bytes = bytes.get(..self.size())?;
        let raw = bytes.iter().rev().fold(0_u64, |raw, byte| raw << 8 | u64::from(*byte));
        Some(match self {
            Self::Unsigned(_) => Value::Unsigned(raw),
            Self::Signed(size) => {
                let spare = 64 - 8 * size;
                Value::Signed((raw << spare).cast_signed() >> spare)
            }
            Self::Float => Value::Float(f32::from_le_bytes(*bytes.first_chunk()?)),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f32),
}

impl Value {
    /// The bits as an enum counts them.
    pub(super) const fn bits(self) -> u64 {
        match self {
            Self::Unsigned(value) => value,
            Self::Signed(value) => value.cast_unsigned(),
            Self::Float(_) => 0,
        }
    }

    pub(super) fn shown(self, decimals: Option<usize>) -> String {
        match (self, decimals) {
            (Self::Unsigned(value), _) => value.to_string(),
            (Self::Signed(value), _) => value.to_string(),
            (Self::Float(value), None) => value.to_string(),
            (Self::Float(value), Some(decimals)) => format!("{value:.decimals$}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_basic_type_is_read_with_its_size_and_sign() {
        let read = |name: &str, bytes: &[u8]| Base::named(name).unwrap().read(bytes);
        assert_eq!(read("uint8_t", &[200]), Some(Value::Unsigned(200)));
        assert_eq!(read("int8_t", &[0xFD]), Some(Value::Signed(-3)));
        assert_eq!(read("uint16_t", &[0xDE, 0x23]), Some(Value::Unsigned(9182)));
        assert_eq!(read("int16_t", &(-9238_i16).to_le_bytes()), Some(Value::Signed(-9238)));
        assert_eq!(read("uint32_t", &[0xFF; 4]), Some(Value::Unsigned(u64::from(u32::MAX))));
        assert_eq!(read("int32_t", &[0xFF; 4]), Some(Value::Signed(-1)));
        assert_eq!(read("uint64_t", &[0xFF; 8]), Some(Value::Unsigned(u64::MAX)));
        assert_eq!(read("int64_t", &i64::MIN.to_le_bytes()), Some(Value::Signed(i64::MIN)));
        assert_eq!(read("float", &0.5_f32.to_le_bytes()), Some(Value::Float(0.5)));
        assert_eq!(read("float", &[0; 3]), None, "too few bytes");
        assert_eq!(Base::named("double"), None);
    }

    #[test]
    fn decimals_count_for_fractions_only() {
        assert_eq!(Value::Float(321.313_45).shown(Some(1)), "321.3");
        assert_eq!(Value::Float(0.5).shown(None), "0.5");
        assert_eq!(Value::Float(f32::NAN).shown(Some(2)), "NaN");
        assert_eq!(Value::Signed(-3).shown(Some(2)), "-3");
    }
}
