//! Durations as schemas let people write them: `90s`, and also `2 minutes` or `3 weeks 1 day`.
//!
//! Owns: reading the second form. Must not: read what CEL reads itself.

use regex::Regex;
use std::sync::LazyLock;

/// Units by their prefixes, the short ones in full, with their length in nanoseconds.
const UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", 1_000_000_000),
    (&["m"], "min", 60_000_000_000),
    (&["h", "hr"], "hour", 3_600_000_000_000),
    (&["d"], "day", 86_400_000_000_000),
    (&["w", "wk"], "week", 604_800_000_000_000),
];

static PARTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("([0-9]+)\\s*([A-Za-zµ]+)").expect("the expression is fixed, and a test uses it"));

/// The duration in a form that CEL reads. `None` for what is not a duration, or too long.
pub(super) fn plain(text: &str) -> Option<String> {
    let mut total: Option<i64> = None;
    for part in PARTS.captures_iter(text) {
        let (Some(count), Some(unit)) = (part.get(1), part.get(2)) else {
            continue;
        };
        let unit = unit.as_str().to_lowercase();
        let found = UNITS
            .iter()
            .find(|(short, long, _)| short.contains(&unit.as_str()) || unit.starts_with(long));
        if let Some((_, _, length)) = found {
            let part = count.as_str().parse::<i64>().ok()?.checked_mul(*length)?;
            total = Some(total.unwrap_or_default().checked_add(part)?);
        }
    }
    let total = total?;
    Some(format!("{}.{:09}s", total / 1_000_000_000, total % 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        let cases = [
            ("2 minutes", Some("120.000000000s")),
            ("1d", Some("86400.000000000s")),
            ("P1D", Some("86400.000000000s")),
            ("3 weeks 1 day", Some("1900800.000000000s")),
            ("1 hr 30 min", Some("5400.000000000s")),
            ("1500 milliseconds", Some("1.500000000s")),
            ("7 µs", Some("0.000007000s")),
            ("5 parsecs", None),
            ("", None),
            ("99999999999999999999 s", None),
            ("9999999999 weeks", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(plain(text).as_deref(), wanted, "{text}");
        }
    }
}
