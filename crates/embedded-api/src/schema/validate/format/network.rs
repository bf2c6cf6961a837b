//! Formats of names and addresses in a network.
//!
//! Owns: hosts, addresses and URIs, as API servers read them. Must not: resolve any of them.

use regex::Regex;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

/// A single name, or a domain whose last part has two letters or more and nothing else.
const HOST: &str = "^([a-zA-Z0-9\\p{S}\\p{L}](-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?\
                    |([a-zA-Z0-9\\p{S}\\p{L}]([-a-zA-Z0-9\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?\\.)+[a-zA-Z\\p{L}]{2,63})$";
static HOSTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(HOST).expect("the expression is fixed, and a test uses it"));

/// `hostname`.
pub(super) fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && HOSTS.is_match(text) && text.split('.').all(|label| label.len() <= 63)
}

/// `ipv4`. Leading zeros are ignored.
pub(super) fn is_ipv4(text: &str) -> bool {
    let byte = |part: &str| !part.is_empty() && is_number(part) && part.parse::<u128>().is_ok_and(|byte| byte < 256);
    text.split('.').count() == 4 && text.split('.').all(byte)
}

/// `ipv6`.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// `cidr`: an address and its prefix length.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => 128,
        _ if is_ipv4(address) => 32,
        _ => return false,
    };
    is_number(length) && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// `mac`: six, eight or twenty bytes, in pairs of digits separated by `:` or `-`, or in fours separated by `.`.
pub(super) fn is_mac(text: &str) -> bool {
    let parts = |separator: char, digits: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        let hex = |part: &&str| part.len() == digits && part.chars().all(|each| each.is_ascii_hexdigit());
        parts.iter().all(hex).then_some(parts.len() * digits / 2)
    };
    let bytes = parts(':', 2).or_else(|| parts('-', 2)).or_else(|| parts('.', 4));
    matches!(bytes, Some(6 | 8 | 20))
}

/// `uri`: a path from the root, or anything with a scheme.
pub(super) fn is_uri(text: &str) -> bool {
    if text.chars().any(|each| each.is_ascii_control() || each.is_whitespace()) {
        return false;
    }
    let rest = match text.split_once(':') {
        _ if text.starts_with('/') => text,
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => return false,
    };
    let before_query = rest.split('?').next().unwrap_or_default();
    match before_query.strip_prefix("//") {
        Some(authority) => {
            let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            is_authority(authority) && is_escaped(path)
        }
        // The text after a scheme without a slash is not checked.
        None => !rest.starts_with('/') || is_escaped(before_query),
    }
}

fn is_scheme(text: &str) -> bool {
    let inner = |each: char| each.is_ascii_alphanumeric() || matches!(each, '+' | '-' | '.');
    text.starts_with(|each: char| each.is_ascii_alphabetic()) && text.chars().all(inner)
}

/// User, host and port; the port is a number.
fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let port = match host.strip_prefix('[') {
        Some(literal) => match literal.rsplit_once(']') {
            Some((_, port)) => port,
            None => return false,
        },
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or_default(),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => is_number(port),
        None => port.is_empty(),
    };
    port && is_escaped(host)
}

fn is_number(text: &str) -> bool {
    text.chars().all(|each| each.is_ascii_digit())
}

/// Whether each percent sign is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    let hex = |part: &str| {
        part.get(..2)
            .is_some_and(|two| two.chars().all(|each| each.is_ascii_hexdigit()))
    };
    text.split('%').skip(1).all(hex)
}
