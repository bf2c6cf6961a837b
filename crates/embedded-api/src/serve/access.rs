//! The credential: a random bearer token, kept in the data folder and readable by its owner only.

use crate::refusal::Refusal;
use crate::serve::folder::Folder;
use crate::serve::private_file::{self, PrivateFileError};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, header};
use std::fmt;
use std::path::PathBuf;
use subtle::ConstantTimeEq;

/// 256 random bits in base64url: 43 characters.
#[derive(Clone)]
pub struct Token(String);

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{} is damaged; remove it and start again: a new one is made, and copied kubeconfigs need a new copy", .0.display())]
    Damaged(PathBuf),
}

impl Token {
    pub fn open(folder: &Folder) -> Result<Self, TokenError> {
        let path = folder.path().join("token");
        let Some(text) = private_file::read(&path)? else {
            let token = Self(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()));
            private_file::write(&path, &format!("{}\n", token.0))?;
            return Ok(token);
        };
        let text = text.trim_end();
        match URL_SAFE_NO_PAD.decode(text) {
            Ok(bits) if bits.len() == 32 => Ok(Self(text.to_owned())),
            _ => Err(TokenError::Damaged(path)),
        }
    }

    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on how much of a token is right.
    #[must_use]
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let Some((scheme, given)) = given.and_then(|value| value.split_at_checked(7)) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"bearer ") && given.trim_ascii().ct_eq(self.0.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}

#[must_use]
pub fn unauthorized() -> Refusal {
    Refusal::new(401, "Unauthorized", "Unauthorized")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::folder::scratch as folder;
    use http::HeaderValue;

    fn with(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_token_is_made_once_and_differs_between_folders() {
        let ((_a, first), (_b, second)) = (folder(), folder());
        let token = Token::open(&first).unwrap();
        assert_eq!(token.secret().len(), 43);
        assert_eq!(Token::open(&first).unwrap().secret(), token.secret());
        assert_ne!(Token::open(&second).unwrap().secret(), token.secret());
    }

    #[test]
    fn only_the_whole_token_is_admitted() {
        let (_directory, folder) = folder();
        let token = Token::open(&folder).unwrap();
        let secret = token.secret();
        for good in [format!("Bearer {secret}"), format!("bearer  {secret} ")] {
            assert!(token.admits(&with(&good)), "{good}");
        }
        let nearly = format!("Bearer {}", &secret[..42]);
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            &format!("Basic {secret}"),
            secret,
            &nearly,
            &format!("Bearer {secret}x"),
        ] {
            assert!(!token.admits(&with(bad)), "{bad}");
        }
        assert!(!token.admits(&HeaderMap::new()));
    }

    #[test]
    fn a_damaged_token_is_reported_and_not_replaced() {
        let (_directory, folder) = folder();
        for damaged in ["", "short", &"=".repeat(43)] {
            private_file::write(&folder.path().join("token"), damaged).unwrap();
            assert!(matches!(Token::open(&folder), Err(TokenError::Damaged(_))));
        }
    }

    #[test]
    fn the_token_is_not_printed_by_accident() {
        let (_directory, folder) = folder();
        let token = Token::open(&folder).unwrap();
        assert!(!format!("{token:?}").contains(token.secret()));
    }
}
