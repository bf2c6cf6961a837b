//! Which coordinator a person means.
//!
//! Owns: the order in which that is looked up, and refusing it where there is nothing to choose. Must not: connect.

use crate::failure::Failure;
use crate::server::ServerUrl;
use std::ffi::OsString;

/// Says where the coordinator is when the command line does not.
pub const VARIABLE: &str = "SKEIN_SERVER";

/// Where it is when nothing says so.
pub const USUAL: &str = "http://127.0.0.1:50051";

/// The one named after the command, or `before` it, or by [`VARIABLE`], or the usual one.
///
/// # Errors
/// [`Failure::Usage`]: the variable holds no address.
pub fn choose(before: Option<ServerUrl>, after: Option<ServerUrl>) -> Result<ServerUrl, Failure> {
    match after.or(before) {
        Some(named) => Ok(named),
        None => by_variable(std::env::var_os(VARIABLE)),
    }
}

fn by_variable(value: Option<OsString>) -> Result<ServerUrl, Failure> {
    let value = value.filter(|value| !value.is_empty()).unwrap_or_else(|| USUAL.into());
    let url = value.to_string_lossy().parse();
    url.map_err(|why| Failure::Usage(format!("{VARIABLE} is {value:?}: {why}")))
}

/// `command` has a coordinator of its own.
///
/// # Errors
/// [`Failure::Usage`]: the person has named another one.
pub fn none(before: Option<&ServerUrl>, command: &str) -> Result<(), Failure> {
    match before {
        None => Ok(()),
        Some(_) => Err(Failure::Usage(format!(
            "--server is for status, watch, ground and release; `skein {command}` runs a coordinator of its own: leave it out"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> ServerUrl {
        text.parse().unwrap()
    }

    #[test]
    fn the_one_that_is_named_last_counts() {
        let (before, after) = (Some(url("http://a:1")), Some(url("http://b:2")));
        assert_eq!(choose(before.clone(), after.clone()).unwrap(), url("http://b:2"));
        assert_eq!(choose(None, after).unwrap(), url("http://b:2"));
        assert_eq!(choose(before, None).unwrap(), url("http://a:1"));
    }

    #[test]
    fn without_a_name_the_variable_counts_and_one_that_is_empty_does_not() {
        assert_eq!(by_variable(Some("c:3".into())).unwrap(), url("http://c:3"));
        assert_eq!(by_variable(Some(OsString::new())).unwrap(), url(USUAL));
        assert_eq!(by_variable(None).unwrap(), url(USUAL));
        let wrong = by_variable(Some("ftp://c:3".into())).unwrap_err();
        assert!(
            wrong.to_string().starts_with("SKEIN_SERVER is \"ftp://c:3\": give"),
            "{wrong}"
        );
        assert!(matches!(wrong, Failure::Usage(_)));
    }
}
