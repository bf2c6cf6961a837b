//! Formats of texts and numbers that schemas may ask for.
//!
//! Owns: which are known, and whether a text has one. Must not: know schemas.
//!
//! Unknown formats ask for nothing, and so do `isbn…`, `creditcard` and `bsonobjectid` here.

use crate::schema::Type;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use regex::Regex;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// A known format.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Of a text.
    Text(&'static TextFormat),
}

/// A format of texts.
#[derive(Debug)]
pub struct TextFormat {
    name: &'static str,
    fits: fn(&str) -> bool,
}

impl Format {
    /// The format of that name, if it is known and fits the types.
    #[must_use]
    pub fn of(name: &str, types: &[Type]) -> Option<Self> {
        match (types, name) {
            ([Type::Integer], "int32") => Some(Self::Int32),
            ([Type::Integer], "int64") => Some(Self::Int64),
            ([Type::Number], "float") => Some(Self::Float),
            ([Type::Number], "double") => Some(Self::Double),
            ([Type::Integer | Type::Number | Type::Boolean | Type::Array | Type::Object], _) => None,
            (_, name) => TEXTS.iter().find(|format| format.name == name).map(Self::Text),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Text(format) => format.name,
        }
    }

    /// Whether it is one of texts.
    #[must_use]
    pub fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Whether a text has the format; formats of numbers say yes.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::Text(format) => (format.fits)(text),
            Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

macro_rules! texts {
    ($($name:literal => $fits:expr,)*) => { &[$(TextFormat { name: $name, fits: $fits }),*] };
}

static TEXTS: &[TextFormat] = texts! {
    "byte" => |text| STANDARD.decode(text).is_ok(),
    "cidr" => is_cidr,
    "date" => |text| matches("date", text) && text.parse::<Date>().is_ok(),
    "date-time" => is_date_time,
    "datetime" => is_date_time,
    "duration" => |text| matches("go-duration", text) || matches("duration", text),
    "email" => |text| matches("email", text),
    "hexcolor" => |text| matches("hexcolor", text),
    "hostname" => is_hostname,
    "ipv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
    "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
    "k8s-long-name" => |text| text.len() <= 253 && matches("k8s-long-name", text),
    "k8s-short-name" => |text| text.len() <= 63 && matches("k8s-short-name", text),
    "mac" => is_mac,
    "password" => |_| true,
    "rgbcolor" => |text| matches("rgbcolor", text),
    "ssn" => |text| matches("ssn", text),
    "uri" => |text| matches("uri", text),
    "uuid" => |text| matches("uuid", text),
    "uuid3" => |text| matches("uuid3", text),
    "uuid4" => |text| matches("uuid4", text),
    "uuid5" => |text| matches("uuid5", text),
};

/// Expressions for what is easier matched than parsed.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("date", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    (
        "date-time",
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    ),
    (
        "duration",
        "(?i)[0-9]+\\s*(ns|us|µs|ms|s|m|h|hr|d|w|wk|(nano|micro|milli|sec|min|hour|day|week)[a-zµ]*)([^a-zµ]|$)",
    ),
    (
        "go-duration",
        "^[+-]?(0|((([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(ns|us|µs|μs|ms|s|m|h))+)$",
    ),
    ("email", "^([^<>]*<)?[^\\s@<>\"]+@[^\\s@<>\"]+>?$"),
    ("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    (
        "k8s-long-name",
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
    ("k8s-short-name", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    (
        "hostname",
        "^([a-zA-Z0-9\\p{S}\\p{L}]([-a-zA-Z0-9\\p{S}\\p{L}]*[a-zA-Z0-9\\p{S}\\p{L}])?\\.?)+$",
    ),
    ("rgbcolor", "^rgb\\(\\s*[0-9]{1,3}\\s*(,\\s*[0-9]{1,3}\\s*){2}\\)$"),
    ("ssn", "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"),
    ("uri", "^(/|[a-zA-Z][-a-zA-Z0-9+.]*:)[^\\s\\x00-\\x1f\\x7f]*$"),
    (
        "uuid",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid3",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$",
    ),
    (
        "uuid4",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
    (
        "uuid5",
        "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
    ),
];

static COMPILED: LazyLock<HashMap<&'static str, Regex>> = LazyLock::new(|| {
    let compile = |text: &str| Regex::new(text).expect("the expressions are fixed, and a test uses each of them");
    EXPRESSIONS.iter().map(|(name, text)| (*name, compile(text))).collect()
});

fn matches(name: &str, text: &str) -> bool {
    COMPILED.get(name).is_some_and(|expression| expression.is_match(text))
}

fn is_date_time(text: &str) -> bool {
    let date = text.get(..10).unwrap_or_default();
    matches("date-time", text) && date.parse::<Date>().is_ok()
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && matches("hostname", text) && text.split('.').all(|label| label.len() <= 63)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    let plain = length.chars().all(|each| each.is_ascii_digit());
    plain && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// Six, eight or twenty bytes: in pairs of digits with `:` or `-` between, or in fours with `.` between.
fn is_mac(text: &str) -> bool {
    let parts = |separator: char, digits: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        let hex = |part: &&str| part.len() == digits && part.chars().all(|each| each.is_ascii_hexdigit());
        parts.iter().all(hex).then_some(parts.len() * digits / 2)
    };
    let bytes = parts(':', 2).or_else(|| parts('-', 2)).or_else(|| parts('.', 4));
    matches!(bytes, Some(6 | 8 | 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_format_or_not() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("byte", &["", "YQ=="], &["?", "YQ"]),
            (
                "cidr",
                &["10.0.0.0/8", "::/0"],
                &["x", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8"],
            ),
            ("date", &["2020-02-29"], &["x", "2021-02-29", "2020-2-1"]),
            (
                "date-time",
                &[
                    "2020-01-01T00:00:00Z",
                    "2020-01-01T00:00:00.123456+01:00",
                    "2020-01-01t00:00:00z",
                ],
                &[
                    "x",
                    "2020-01-01 00:00:00Z",
                    "2020-01-01T00:00:00",
                    "2020-13-01T00:00:00Z",
                    "2020-01-01T25:00:00Z",
                ],
            ),
            (
                "duration",
                &["1h", "1.5h30m", "22 ns", "3 weeks", "0"],
                &["x", "", "5", "5mx"],
            ),
            ("email", &["a@b.c", "A <a@b>"], &["x", "a@", "a b@c"]),
            ("hexcolor", &["#fff", "00ff00"], &["#ff"]),
            ("hostname", &["a", "a.example.com"], &["-x", "a_b", "a b"]),
            ("ipv4", &["127.0.0.1"], &["x", "1.2.3", "::1"]),
            ("ipv6", &["::1"], &["127.0.0.1"]),
            ("k8s-short-name", &["a-b"], &["A_", "a.b"]),
            ("k8s-long-name", &["a-b.c"], &["A_"]),
            (
                "mac",
                &["00:11:22:33:44:55", "0011.2233.4455"],
                &["x", "00:11", "00-11:22:33:44:55"],
            ),
            ("password", &["", "x"], &[]),
            ("rgbcolor", &["rgb(1,2,3)"], &["rgb(1,2)"]),
            ("ssn", &["123-45-6789"], &["1"]),
            ("uri", &["http://a/b", "/a"], &["x y", "x", ""]),
            ("uuid", &["66e3ffa1-db4e-48cf-8f81-4f21984454ea"], &["x"]),
            ("uuid3", &["66e3ffa1-db4e-38cf-8f81-4f21984454ea"], &["x"]),
            (
                "uuid4",
                &["66E3FFA1-db4e-48cf-8f81-4f21984454ea"],
                &["66e3ffa1-db4e-38cf-8f81-4f21984454ea"],
            ),
            ("uuid5", &["66e3ffa1-db4e-58cf-8f81-4f21984454ea"], &["x"]),
        ];
        for (name, good, bad) in cases {
            let format = Format::of(name, &[Type::String]).unwrap();
            for text in *good {
                assert!(format.fits(text), "{text:?} has format {name}");
            }
            for text in *bad {
                assert!(!format.fits(text), "{text:?} does not have format {name}");
            }
        }
    }

    #[test]
    fn a_format_that_does_not_fit_the_type_asks_for_nothing() {
        assert!(Format::of("int32", &[Type::String]).is_none());
        assert!(Format::of("date-time", &[Type::Integer]).is_none());
        assert!(Format::of("int64", &[Type::Number]).is_none());
        assert!(Format::of("made-up", &[Type::String]).is_none());
        assert!(Format::of("ipv4", &[Type::Integer, Type::String]).is_some());
    }
}
