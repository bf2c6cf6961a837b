//! The signing key, from a file that nobody else can read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const LEN: usize = 32;
const LONGEST_FILE: u64 = 128;

#[derive(Clone)]
pub struct Key([u8; LEN]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot read the signing key {file}; check the path and that this user may read it")]
    Unreadable { file: String, source: io::Error },
    #[error(
        "the signing key {file} is open to others (mode {mode:03o}); set it to 400 (chmod 400, or defaultMode 0400 of the Secret's volume)"
    )]
    OpenToOthers { file: String, mode: u32 },
    #[error("{0} holds no signing key; it must be 32 bytes, or 64 hexadecimal digits, and not all zero")]
    NoKey(String),
}

impl Key {
    #[must_use]
    pub const fn new(bytes: [u8; LEN]) -> Self {
        Self(bytes)
    }

    /// 32 bytes, or 64 hexadecimal digits.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let name = file.display().to_string();
        let unreadable = |source| KeyError::Unreadable {
            file: name.clone(),
            source,
        };
        let open = File::open(file).map_err(unreadable)?;
        let mode = open.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeyError::OpenToOthers { file: name, mode });
        }
        let mut content = Vec::new();
        open.take(LONGEST_FILE).read_to_end(&mut content).map_err(unreadable)?;
        Self::parse(&content).ok_or(KeyError::NoKey(name))
    }

    pub(super) const fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let key = match <[u8; LEN]>::try_from(content) {
            Ok(raw) => raw,
            Err(_) => from_hex(content.trim_ascii())?,
        };
        (key != [0; LEN]).then_some(Self(key))
    }
}

fn from_hex(digits: &[u8]) -> Option<[u8; LEN]> {
    let (pairs, rest) = digits.as_chunks::<2>();
    let mut key = [0; LEN];
    if pairs.len() != LEN || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(pairs) {
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    fn read(content: &[u8], mode: u32) -> Result<Key, KeyError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        Key::read(&file)
    }

    #[test]
    fn a_key_is_32_bytes_or_64_digits() {
        let raw: [u8; 32] = std::array::from_fn(|n| u8::try_from(n * 8).unwrap());
        let digits: String = raw.iter().map(|b| format!("{b:02x}")).collect();
        let upper = format!("{}\r\n", digits.to_uppercase());
        for content in [
            &raw[..],
            digits.as_bytes(),
            format!("{digits}\n").as_bytes(),
            upper.as_bytes(),
        ] {
            assert_eq!(read(content, 0o400).unwrap().bytes(), &raw);
        }
    }

    #[test]
    fn anything_else_is_no_key() {
        let digits = "0a".repeat(32);
        for content in [
            "",
            "secret",
            &digits[1..],
            &format!("{digits}0a"),
            &digits.replace('a', "g"),
            &"0".repeat(64),
        ] {
            let error = read(content.as_bytes(), 0o400).unwrap_err();
            assert!(matches!(&error, KeyError::NoKey(_)), "{content}: {error}");
        }
        assert!(matches!(read(&[0; 32], 0o400), Err(KeyError::NoKey(_))));
    }

    #[test]
    fn a_key_that_others_can_read_is_refused_and_the_error_says_what_to_do() {
        for mode in [0o440, 0o404, 0o644, 0o420, 0o402] {
            let error = read(&[1; 32], mode).unwrap_err();
            assert!(matches!(error, KeyError::OpenToOthers { mode: m, .. } if m == mode));
            assert!(error.to_string().contains("chmod 400"), "{error}");
        }
        assert!(read(&[1; 32], 0o600).is_ok());
        assert!(matches!(
            Key::read(Path::new("/no/such/key")),
            Err(KeyError::Unreadable { .. })
        ));
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", Key::new([0x41; 32])), "Key(secret)");
    }
}
