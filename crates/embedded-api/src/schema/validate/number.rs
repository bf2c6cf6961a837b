//! Limits of numbers.
//!
//! Owns: ranges of formats, bounds and multiples. Must not: know types beyond numbers.
//!
//! Bounds are compared as the value is written: for a whole number only the whole part of a bound counts.

use super::{Format, Node};
use crate::refusal::Cause;
use crate::schema::path::Path;
use crate::schema::{Type, cause, go};
use serde_json::{Number, Value};

/// The largest whole number that a real number holds exactly.
const MAX_WHOLE: f64 = 9_007_199_254_740_991.0;

/// Whether a real number is a whole one, by the definition of JSON's integers.
pub(super) fn is_whole(real: f64) -> bool {
    real.fract() == 0.0 && real.abs() <= MAX_WHOLE
}

/// What is wrong with a number, in the API's order: range, multiple, minimum, maximum.
pub(super) fn judge(number: &Number, node: &Node, path: &Path<'_>) -> Vec<Cause> {
    let limits = &node.limits;
    let value = Value::Number(number.clone());
    let mut causes: Vec<Cause> = range(number, node, path).into_iter().collect();
    let mut say = |shown: &Value, detail: String| causes.push(cause::invalid(path.dotted(), shown, &detail));
    let place = || path.dotted();
    if let Some(factor) = limits.multiple_of {
        match multiple(number, factor) {
            Multiple::Yes => {}
            Multiple::No => say(
                &value,
                format!("{} in body should be a multiple of {}", place(), go::float(factor)),
            ),
            Multiple::Senseless(factor) => say(
                &factor,
                format!(
                    "factor MultipleOf declared for {} must be positive: {}",
                    place(),
                    go::shown(&factor)
                ),
            ),
        }
    }
    if let Some(minimum) = limits.minimum {
        let (than, bound) = compare(number, minimum);
        if than.is_lt() || (limits.above_minimum && than.is_eq()) {
            let or_equal = if limits.above_minimum { "" } else { " or equal to" };
            let detail = format!(
                "{} in body should be greater than{or_equal} {}",
                place(),
                go::shown(&bound)
            );
            say(&value, detail);
        }
    }
    if let Some(maximum) = limits.maximum {
        let (than, bound) = compare(number, maximum);
        if than.is_gt() || (limits.below_maximum && than.is_eq()) {
            let or_equal = if limits.below_maximum { "" } else { " or equal to" };
            let detail = format!(
                "{} in body should be less than{or_equal} {}",
                place(),
                go::shown(&bound)
            );
            say(&value, detail);
        }
    }
    causes
}

/// Whether the type and format can hold the number.
fn range(number: &Number, node: &Node, path: &Path<'_>) -> Option<Cause> {
    let [only] = node.types.as_slice() else { return None };
    let real = number.as_f64().unwrap_or(f64::NAN);
    let whole = number.as_i64().or_else(|| whole_of(real));
    let format = node.format.filter(|format| !format.is_text());
    let fits = match (only, format) {
        (Type::Integer, Some(Format::Int32)) => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        (Type::Integer, _) => whole.is_some(),
        (Type::Number, Some(Format::Float)) => real.abs() <= f64::from(f32::MAX),
        _ => true,
    };
    if fits {
        return None;
    }
    let type_ = only.name();
    let format = match format {
        Some(format) => format!("with format {}", format.name()),
        None => "(default format)".to_owned(),
    };
    let detail = format!("Checked value must be of type {type_} {format} in {}", path.dotted());
    Some(cause::invalid(Path::ROOT.bracketed(), &Value::from(""), &detail))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range is checked before, and both ends of it are exact"
)]
fn whole_of(real: f64) -> Option<i64> {
    // A real number at either limit was rounded to it.
    let within = real > i64::MIN as f64 && real < i64::MAX as f64;
    (within && real.fract() == 0.0).then_some(real as i64)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the whole part of a bound is what whole numbers are compared with; beyond their range, the end of it"
)]
fn whole_part(real: f64) -> i64 {
    real as i64
}

fn compare(number: &Number, bound: f64) -> (std::cmp::Ordering, Value) {
    if let Some(whole) = number.as_i64() {
        let bound = whole_part(bound);
        return (whole.cmp(&bound), bound.into());
    }
    let real = number.as_f64().unwrap_or(f64::NAN);
    (real.total_cmp(&bound), bound.into())
}

enum Multiple {
    Yes,
    No,
    Senseless(Value),
}

fn multiple(number: &Number, factor: f64) -> Multiple {
    let of = |holds: bool| if holds { Multiple::Yes } else { Multiple::No };
    if let Some(whole) = number.as_i64() {
        let factor = whole_part(factor);
        return match whole.checked_rem(factor) {
            Some(rest) if factor > 0 => of(rest == 0),
            _ => Multiple::Senseless(factor.into()),
        };
    }
    if factor <= 0.0 {
        return Multiple::Senseless(factor.into());
    }
    let real = number.as_f64().unwrap_or(f64::NAN);
    of(is_whole(if factor < 1.0 {
        1.0 / factor * real
    } else {
        real / factor
    }))
}
