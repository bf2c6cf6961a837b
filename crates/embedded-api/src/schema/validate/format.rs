//! Formats of texts and numbers in schemas.
//!
//! Owns: which are known, and whether a text has one. Must not: know schemas.
//!
//! Unknown formats are not checked, and neither are `isbn…`, `creditcard` and `bsonobjectid` here.

mod network;

use crate::schema::Type;
use jiff::civil::Date;
use network::{is_cidr, is_hostname, is_ipv4, is_ipv6, is_mac, is_uri};
use regex::Regex;
use std::collections::HashMap;
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
    /// A format of texts.
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

    /// Whether a text has the format; always true for formats of numbers.
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
    "byte" => |text| matches("byte", text),
    "cidr" => is_cidr,
    "date" => |text| matches("date", text) && text.parse::<Date>().is_ok(),
    "date-time" => is_date_time,
    "datetime" => is_date_time,
    "duration" => |text| matches("go-duration", text) || matches("duration", text),
    "email" => |text| matches("email", text),
    "hexcolor" => |text| matches("hexcolor", text),
    "hostname" => is_hostname,
    "ipv4" => is_ipv4,
    "ipv6" => is_ipv6,
    "k8s-long-name" => |text| text.len() <= 253 && matches("k8s-long-name", text),
    "k8s-short-name" => |text| text.len() <= 63 && matches("k8s-short-name", text),
    "mac" => is_mac,
    "password" => |_| true,
    "rgbcolor" => |text| matches("rgbcolor", text),
    "ssn" => |text| matches("ssn", text),
    "uri" => is_uri,
    "uuid" => |text| matches("uuid", text),
    "uuid3" => |text| matches("uuid3", text),
    "uuid4" => |text| matches("uuid4", text),
    "uuid5" => |text| matches("uuid5", text),
};

/// Regular expressions for formats that are easier to match than to parse.
const EXPRESSIONS: &[(&str, &str)] = &[
    (
        "byte",
        "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$",
    ),
    ("date", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    (
        "date-time",
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.,][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    ),
    (
        "duration",
        "(?i)[0-9]+\\s*(ns|us|µs|ms|s|m|h|hr|d|w|wk|(nano|micro|milli|sec|min|hour|day|week)[a-zµ]*)([^a-zµ]|$)",
    ),
    (
        "go-duration",
        "^[+-]?(0|((([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(ns|us|µs|μs|ms|s|m|h))+)$",
    ),
    (
        "email",
        concat!(
            "^([^<>]*<)?(\"([^\"\\\\]|\\\\.)*\"|[^\\s@<>\"(),:;\\\\.\\[\\]]+(\\.[^\\s@<>\"(),:;\\\\.\\[\\]]+)*)",
            "@([^\\s@<>\"(),:;\\\\.\\[\\]]+(\\.[^\\s@<>\"(),:;\\\\.\\[\\]]+)*|\\[[^\\s\\[\\]]+\\])>?$"
        ),
    ),
    ("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    (
        "k8s-long-name",
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
    ("k8s-short-name", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    (
        "rgbcolor",
        "^rgb\\(\\s*(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\\s*(,\\s*(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\\s*){2}\\)$",
    ),
    ("ssn", "^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_format_or_not() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("byte", &["YQ==", "YW==", "YWJj"], &["", "?", "YQ", "====", "YWJj\n"]),
            (
                "cidr",
                &["10.0.0.0/8", "::/0", "10.0.0.0/08", "010.0.0.0/8"],
                &["x", "::/129", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8"],
            ),
            ("date", &["2020-02-29"], &["x", "2021-02-29", "2020-2-1"]),
            (
                "date-time",
                &[
                    "2020-01-01T00:00:00Z",
                    "2020-01-01T00:00:00.123456+01:00",
                    "2020-01-01t00:00:00z",
                    "2020-01-01T00:00:00,5Z",
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
            (
                "email",
                &["a@b.c", "A <a@b>", "\"a b\"@c", "a@[1.2.3.4]"],
                &["x", "a@", "a b@c", "a.@b", "a@b@c", "(c)a@b", ""],
            ),
            ("hexcolor", &["#fff", "00ff00"], &["#ff"]),
            (
                "hostname",
                &["a", "a.example.com", "a-", "ü.de"],
                &["-x", "a_b", "a b", "", "a.b", "1.2.3.4", "a.b.", "a..bc", "*.ab"],
            ),
            (
                "ipv4",
                &["127.0.0.1", "01.2.3.4"],
                &["x", "1.2.3", "::1", "1.2.3.256", "1.2.3.", "+1.2.3.4", ""],
            ),
            ("ipv6", &["::1"], &["127.0.0.1"]),
            ("k8s-short-name", &["a-b"], &["A_", "a.b"]),
            ("k8s-long-name", &["a-b.c"], &["A_"]),
            (
                "mac",
                &["00:11:22:33:44:55", "0011.2233.4455"],
                &["x", "00:11", "00-11:22:33:44:55"],
            ),
            ("password", &["", "x"], &[]),
            (
                "rgbcolor",
                &["rgb(1,2,3)", "rgb( 0 , 99 , 255 )"],
                &["rgb(1,2)", "rgb(256,2,3)"],
            ),
            ("ssn", &["123-45-6789", "123 45 6789"], &["1", "123456789"]),
            (
                "uri",
                &[
                    "http://a/b",
                    "/a",
                    "a:b",
                    "mailto:x",
                    "http://",
                    "//a",
                    "http://[::1]:80/",
                    "http://a:80?x=%zz",
                    "http://u:p@a/",
                ],
                &[
                    "x y",
                    "x",
                    "",
                    "http://a b",
                    "http://a/%zz",
                    "/%2",
                    "http://[::1",
                    "http://a:port/",
                    "http://a\n",
                    "#x",
                ],
            ),
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
