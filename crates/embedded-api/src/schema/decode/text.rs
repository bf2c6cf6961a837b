//! Texts that built-in types parse: times and quantities.
//!
//! Owns: their forms, and the error messages for other forms. Must not: know fields.

use super::DecodeError;
use crate::schema::go;
use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// A quantity such as `100m` or `4Gi`. From the API's own message.
const QUANTITY: &str = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";
/// Nanoseconds in a second.
const NANOS: i128 = 1_000_000_000;
static QUANTITIES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(QUANTITY).expect("the expression is fixed, and a test uses it"));

/// Reads a `Time`, `MicroTime` or `Quantity` in place, in the form in which the API writes it. A value that is not a text
/// is not changed.
///
/// # Errors
/// When it has another form.
pub(super) fn special(value: &mut Value, definition: &str) -> Result<(), DecodeError> {
    if let (Value::Number(number), "Quantity") = (&*value, definition) {
        *value = Value::String(go::json(&Value::Number(number.clone())));
    }
    let Value::String(text) = value else {
        return Ok(());
    };
    match definition {
        "Quantity" if QUANTITIES.is_match(text) && text.matches('.').count() < 2 => match has_suffix(text) {
            true => Ok(()),
            false => Err(DecodeError("unable to parse quantity's suffix".to_owned())),
        },
        "Quantity" => Err(DecodeError(format!(
            "quantities must match the regular expression '{QUANTITY}'"
        ))),
        "MicroTime" => {
            *text = time(text, Some(6))?;
            Ok(())
        }
        _ => {
            *text = time(text, None)?;
            Ok(())
        }
    }
}

/// Whether the text after the number is a unit or an exponent: the regular expression above accepts more.
fn has_suffix(quantity: &str) -> bool {
    const UNITS: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let suffix = quantity.trim_start_matches(|each: char| each.is_ascii_digit() || matches!(each, '+' | '-' | '.'));
    let exponent = suffix.strip_prefix(['e', 'E']);
    UNITS.contains(&suffix) || exponent.is_some_and(|exponent| exponent.parse::<i32>().is_ok())
}

/// The time in UTC, in whole seconds, or with the required number of decimal digits.
fn time(text: &str, digits: Option<usize>) -> Result<String, DecodeError> {
    let layout = match digits {
        Some(_) => "2006-01-02T15:04:05.000000Z07:00",
        None => "2006-01-02T15:04:05Z07:00",
    };
    let quoted = go::quoted(text);
    if let Some((rest, wanted)) = misfit(text, digits) {
        let rest = go::quoted(rest);
        return Err(DecodeError(format!(
            "parsing time {quoted} as \"{layout}\": cannot parse {rest} as \"{wanted}\""
        )));
    }
    let Ok(time) = text.parse::<Timestamp>() else {
        return Err(DecodeError(format!("parsing time {quoted}: day out of range")));
    };
    Ok(match digits {
        Some(_) => format!("{time:.6}"),
        None => {
            let seconds = time.as_nanosecond().div_euclid(NANOS);
            let whole = i64::try_from(seconds)
                .ok()
                .and_then(|seconds| Timestamp::from_second(seconds).ok());
            whole.unwrap_or(time).to_string()
        }
    })
}

/// Where the text is not RFC 3339, and what is expected there.
fn misfit(text: &str, digits: Option<usize>) -> Option<(&str, &'static str)> {
    let mut rest = text;
    let steps = [
        (4, "2006"),
        (0, "-"),
        (2, "01"),
        (0, "-"),
        (2, "02"),
        (0, "T"),
        (2, "15"),
        (0, ":"),
        (2, "04"),
        (0, ":"),
        (2, "05"),
    ];
    for (numbers, wanted) in steps {
        rest = match numbers {
            0 => match rest.strip_prefix(wanted) {
                Some(rest) => rest,
                None => return Some((rest, wanted)),
            },
            count => match after_digits(rest, count) {
                Some(rest) => rest,
                None => return Some((rest, wanted)),
            },
        };
    }
    let fraction = rest.strip_prefix('.').map(|behind| {
        let end = behind.find(|each: char| !each.is_ascii_digit()).unwrap_or(behind.len());
        (end, behind.get(end..).unwrap_or_default())
    });
    rest = match (fraction, digits) {
        (Some((found, after)), Some(wanted)) if found == wanted => after,
        (_, Some(_)) => return Some((rest, ".000000")),
        (Some((found, after)), None) if found > 0 => after,
        (_, None) => rest,
    };
    let zone = rest == "Z"
        || (rest.starts_with(['+', '-'])
            && rest.len() == 6
            && rest.is_ascii()
            && rest.get(3..4) == Some(":")
            && rest.get(1..3).is_some_and(all_digits)
            && rest.get(4..6).is_some_and(all_digits));
    (!zone).then_some((rest, "Z07:00"))
}

fn after_digits(text: &str, count: usize) -> Option<&str> {
    text.get(..count).filter(|front| all_digits(front))?;
    text.get(count..)
}

fn all_digits(text: &str) -> bool {
    text.chars().all(|each| each.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, definition: &str) -> Result<String, String> {
        let mut value = Value::from(text);
        special(&mut value, definition).map_err(|error| error.0)?;
        Ok(value.as_str().unwrap().to_owned())
    }

    #[test]
    fn times_are_stored_in_utc_and_whole_seconds() {
        assert_eq!(
            read("2020-01-01T00:00:00.9+01:00", "Time").unwrap(),
            "2019-12-31T23:00:00Z"
        );
        assert_eq!(read("1960-01-01T00:00:00.9Z", "Time").unwrap(), "1960-01-01T00:00:00Z");
        assert_eq!(
            read("2020-01-01T00:00:00.120000Z", "MicroTime").unwrap(),
            "2020-01-01T00:00:00.120000Z"
        );
    }

    #[test]
    fn what_is_no_time_is_reported_with_the_place_where_it_ends_to_be_one() {
        let layout = r#"as "2006-01-02T15:04:05Z07:00": cannot parse"#;
        let cases = [
            ("bad", format!(r#"parsing time "bad" {layout} "bad" as "2006""#)),
            ("", format!(r#"parsing time "" {layout} "" as "2006""#)),
            ("2020-13", format!(r#"parsing time "2020-13" {layout} "" as "-""#)),
            (
                "2020-01-01 00:00:00Z",
                format!(r#"parsing time "2020-01-01 00:00:00Z" {layout} " 00:00:00Z" as "T""#),
            ),
            (
                "2020-01-01T00:00:00",
                format!(r#"parsing time "2020-01-01T00:00:00" {layout} "" as "Z07:00""#),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text, "Time").unwrap_err(), expected);
        }
        assert_eq!(
            read("2020-01-01T00:00:00Z", "MicroTime").unwrap_err(),
            r#"parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
        );
        assert!(
            read("2020-02-31T00:00:00Z", "Time")
                .unwrap_err()
                .contains("out of range")
        );
    }

    #[test]
    fn quantities_may_be_numbers_and_are_stored_as_texts() {
        let mut four = Value::from(4);
        special(&mut four, "Quantity").unwrap();
        assert_eq!(four, "4");
        assert_eq!(read("100Mi", "Quantity").unwrap(), "100Mi");
        let mut half = Value::from(1_234_567.5);
        special(&mut half, "Quantity").unwrap();
        assert_eq!(half, "1234567.5");
        assert!(read("x", "Quantity").unwrap_err().contains("quantities must match"));
    }

    #[test]
    fn quantities_have_a_unit_that_is_known_or_an_exponent() {
        for good in [
            "1", "1.", ".5", "-3", "+1", "100m", "1n", "4Gi", "2Ei", "1E", "1e3", "1E+3", "1e-1000", "1.5k",
        ] {
            assert_eq!(read(good, "Quantity").unwrap(), good);
        }
        for bad in [
            "1K",
            "1e",
            "1i",
            "1mi",
            "1Kii",
            "1kk",
            "1M5",
            "1e+",
            "1e99999999999999999999",
        ] {
            let error = read(bad, "Quantity").unwrap_err();
            assert_eq!(error, "unable to parse quantity's suffix", "{bad}");
        }
        for bad in ["", "x", "1.2.3", "1e3.5"] {
            let error = read(bad, "Quantity").unwrap_err();
            assert!(error.starts_with("quantities must match"), "{bad}");
        }
    }
}
