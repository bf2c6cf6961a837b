//! Amounts of a resource, such as `4`, `1.5`, `500m` and `8Gi`.
//!
//! Owns: sign, wholeness, and how a message prints one. Must not: read what is not a quantity: that was refused before.

use std::fmt;

/// An amount: a number and the power that its suffix stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quantity<'a> {
    text: &'a str,
    negative: bool,
    /// In billionths; smaller parts are rounded away from zero, as the API does.
    billionths: i128,
}

/// `None` for what is not a quantity, and for what is too large for this type.
pub(super) fn parse(text: &str) -> Option<Quantity<'_>> {
    let number = |each: char| each.is_ascii_digit() || matches!(each, '+' | '-' | '.');
    let end = text.find(|each| !number(each)).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let negative = digits.starts_with('-');
    let digits = digits.trim_start_matches(['+', '-']);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let (base, power) = scale(suffix)?;
    let mantissa: i128 = match format!("{whole}{part}") {
        none if none.is_empty() => return None,
        all => all.parse().ok()?,
    };
    // mantissa * base^power * 10^9 / 10^part, exactly or rounded up.
    let ten = 9 - i32::try_from(part.len()).ok()?;
    let (mut above, mut below) = (mantissa, 1_i128);
    for (base, power) in [(base, power), (10, ten)] {
        let factor = base.checked_pow(power.unsigned_abs())?;
        match power < 0 {
            true => below = below.checked_mul(factor)?,
            false => above = above.checked_mul(factor)?,
        }
    }
    let rounded_up = above / below + i128::from(above % below != 0);
    Some(Quantity {
        text,
        negative: negative && rounded_up != 0,
        billionths: rounded_up,
    })
}

fn scale(suffix: &str) -> Option<(i128, i32)> {
    const DECIMAL: [(&str, i32); 9] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    let find = |all: &[(&str, i32)]| all.iter().find(|(name, _)| *name == suffix).map(|(_, power)| *power);
    if suffix.is_empty() {
        return Some((10, 0));
    }
    if let Some(power) = find(&DECIMAL) {
        return Some((10, power));
    }
    if let Some(power) = find(&BINARY) {
        return Some((2, power));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((10, exponent.parse().ok()?))
}

impl Quantity<'_> {
    /// Whether it is below zero.
    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether it is a whole number, to a thousandth.
    pub(super) fn is_whole(&self) -> bool {
        // Thousandths are rounded up, too.
        let thousandths = (self.billionths + 999_999) / 1_000_000;
        thousandths % 1000 == 0
    }
}

impl fmt::Display for Quantity<'_> {
    /// Without a decimal point: `1500m` for 1.5. A quantity without one is printed as it was written.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.text.contains('.') {
            return out.write_str(self.text);
        }
        let units = [(1_000_000_000, ""), (1_000_000, "m"), (1000, "u"), (1, "n")];
        let fits = units.into_iter().find(|(unit, _)| self.billionths % unit == 0);
        let (unit, suffix) = fits.unwrap_or((1, "n"));
        let sign = if self.negative { "-" } else { "" };
        write!(out, "{sign}{}{suffix}", self.billionths / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_whole_or_not_and_shown_without_a_point() {
        for (text, negative, whole, shown) in [
            ("4", false, true, "4"),
            ("+4", false, true, "+4"),
            ("-1", true, true, "-1"),
            ("-0", false, true, "-0"),
            ("1.5", false, false, "1500m"),
            ("-1.5", true, false, "-1500m"),
            ("1500m", false, false, "1500m"),
            ("2000m", false, true, "2000m"),
            ("0.5Ki", false, true, "512"),
            ("8Gi", false, true, "8Gi"),
            ("1.5e3", false, true, "1500"),
            ("1e-3", false, false, "1e-3"),
            ("0.0000001", false, false, "100n"),
            (".5", false, false, "500m"),
        ] {
            let amount = parse(text).unwrap_or_else(|| panic!("{text} is an amount"));
            let found = (amount.is_negative(), amount.is_whole(), amount.to_string());
            assert_eq!(found, (negative, whole, shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_or_beyond_counting_is_none() {
        for text in [
            "",
            ".",
            "x",
            "1x",
            "1e",
            "1e999",
            "9999999999999999999999999999999999999999",
            "1Ei1",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
