//! The bearer token of a call, as gRPC metadata `authorization: Bearer TOKEN`.

use std::fmt;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

pub const HEADER: &str = "authorization";

/// Bytes; tokens of Kubernetes have one or two thousand.
const LONGEST: usize = 16 * 1024;

#[derive(Clone, Default)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("it is empty")]
    Empty,
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
    /// Spaces, line ends within it, or characters beyond ASCII.
    #[error("it has characters that no token has")]
    Characters,
}

impl Bearer {
    /// White space around `token`, such as the line end of a file, does not count.
    pub fn new(token: &str) -> Result<Self, BadToken> {
        let token = token.trim();
        match token.len() {
            0 => return Err(BadToken::Empty),
            1..=LONGEST => {}
            _ => return Err(BadToken::TooLong),
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadToken::Characters);
        }
        let value = MetadataValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| BadToken::Characters)?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }

    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "Bearer(...)" } else { "Bearer(none)" })
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert(HEADER, token.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_without_the_line_end_of_its_file() {
        let request = Bearer::new("abc.def\n").unwrap().call(Request::new(())).unwrap();
        assert_eq!(request.metadata().get(HEADER).unwrap(), "Bearer abc.def");
        let none = Bearer::default().call(Request::new(())).unwrap();
        assert!(none.metadata().get(HEADER).is_none());
    }

    #[test]
    fn what_is_no_token_is_refused_and_none_is_ever_printed() {
        assert_eq!(Bearer::new(" \n").unwrap_err(), BadToken::Empty);
        assert_eq!(Bearer::new("two words").unwrap_err(), BadToken::Characters);
        assert_eq!(Bearer::new("ünï").unwrap_err(), BadToken::Characters);
        assert_eq!(Bearer::new(&"a".repeat(LONGEST + 1)).unwrap_err(), BadToken::TooLong);
        let printed = format!("{:?}", Bearer::new("secret").unwrap());
        assert!(!printed.contains("secret"), "{printed}");
    }
}
