//! Token with which a client asks for the next page of a list.

use crate::refusal::Refusal;
use crate::store::Place;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

const VERSION: &str = "meta.k8s.io/v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Continuation {
    /// `None` if the client accepts the present state.
    pub(super) revision: Option<u64>,
    pub(super) after: Place,
}

#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl Continuation {
    pub(super) fn token(&self, within: Option<&str>) -> String {
        let (namespace, name) = &self.after;
        let start = match within {
            Some(_) => format!("{name}\0"),
            None if namespace.is_empty() => format!("{name}\0"),
            None => format!("{namespace}/{name}\0"),
        };
        let token = Token {
            v: VERSION.to_owned(),
            rv: self
                .revision
                .and_then(|revision| i64::try_from(revision).ok())
                .unwrap_or(-1),
            start,
        };
        let json = serde_json::to_vec(&token).unwrap_or_default();
        BASE64_URL_SAFE_NO_PAD.encode(json)
    }

    /// Errors: 400 for a token of another server.
    pub(super) fn read(token: &str, within: Option<&str>) -> Result<Self, Refusal> {
        let bad = |why: &str| Refusal::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token.trim_end_matches('='));
        let bytes = bytes.map_err(|error| bad(&error.to_string()))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| bad(&error.to_string()))?;
        if token.v != VERSION {
            return Err(bad(&format!(
                "server does not recognize this encoded version {}",
                token.v
            )));
        }
        let start = token.start.trim_end_matches('\0');
        if start.is_empty() || token.rv == 0 {
            return Err(bad("it says no place to go on from"));
        }
        let after = match (within, start.split_once('/')) {
            (Some(namespace), _) => (namespace.to_owned(), start.to_owned()),
            (None, Some((namespace, name))) => (namespace.to_owned(), name.to_owned()),
            (None, None) => (String::new(), start.to_owned()),
        };
        Ok(Self {
            revision: u64::try_from(token.rv).ok(),
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(namespace: &str, name: &str) -> Place {
        (namespace.to_owned(), name.to_owned())
    }

    #[test]
    fn a_token_leads_back_to_its_place() {
        let table = [
            (Some("field"), place("field", "a")),
            (None, place("field", "a")),
            (None, place("", "n-1")),
        ];
        for (within, after) in table {
            for revision in [Some(7), None] {
                let continuation = Continuation {
                    revision,
                    after: after.clone(),
                };
                let token = continuation.token(within);
                assert_eq!(Continuation::read(&token, within), Ok(continuation));
            }
        }
    }

    #[test]
    fn a_token_that_was_not_issued_is_refused() {
        let start = "invalid continue token: continue key is not valid: ";
        for token in ["garbage", "%%", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MH0"] {
            let refusal = Continuation::read(token, None).expect_err(token);
            assert_eq!(refusal.code, 400);
            assert!(refusal.message.starts_with(start), "{}", refusal.message);
        }
        let unversioned = Continuation::read("e30", None).expect_err("no version");
        assert_eq!(
            unversioned.message,
            format!("{start}server does not recognize this encoded version ")
        );
    }
}
