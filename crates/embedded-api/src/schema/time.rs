//! Times in RFC 3339, as the API takes them.

use jiff::Timestamp;
use regex::Regex;
use std::sync::LazyLock;

static FORM: LazyLock<Regex> = LazyLock::new(|| {
    let form = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.]([0-9]+))?(?:Z|[+-][0-9]{2}:[0-9]{2})$";
    Regex::new(form).expect("the expression is fixed, and a test uses it")
});

#[must_use]
pub fn parse(text: &str) -> Option<(Timestamp, usize)> {
    let digits = FORM.captures(text)?.get(1).map_or(0, |digits| digits.len());
    Some((text.parse().ok()?, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_date_a_time_and_a_zone() {
        for (text, digits) in [("2020-01-01T00:00:00Z", 0), ("2020-01-01T00:00:00.123456+01:00", 6)] {
            assert_eq!(parse(text).map(|(_, digits)| digits), Some(digits), "{text}");
        }
        for text in [
            "",
            "x",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00:00:00",
            "2020-02-31T00:00:00Z",
            "2020-13-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
