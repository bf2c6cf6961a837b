//! Little-endian fields of a MAVLink payload by offset.

/// MAVLink 2 cuts trailing zero bytes, so a read past the end gives zero.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(self, offset: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0.get(offset + i).copied().unwrap_or(0))
    }

    #[must_use]
    pub fn u8(self, offset: usize) -> u8 {
        self.bytes::<1>(offset)[0]
    }

    #[must_use]
    pub fn u16(self, offset: usize) -> u16 {
        u16::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn i16(self, offset: usize) -> i16 {
        i16::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn u32(self, offset: usize) -> u32 {
        u32::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn i32(self, offset: usize) -> i32 {
        i32::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn i64(self, offset: usize) -> i64 {
        i64::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn u64(self, offset: usize) -> u64 {
        u64::from_le_bytes(self.bytes(offset))
    }

    #[must_use]
    pub fn f32(self, offset: usize) -> f32 {
        f32::from_le_bytes(self.bytes(offset))
    }

    /// Text up to its first NUL; replaces bytes that are not UTF-8.
    #[must_use]
    pub fn text(self, offset: usize, len: usize) -> String {
        let bytes: Vec<u8> = (offset..offset + len)
            .map(|i| self.0.get(i).copied().unwrap_or(0))
            .collect();
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(len);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
