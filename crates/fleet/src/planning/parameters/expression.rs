//! Values that depend on the vehicle: `{{ 30 + 5*slot }}`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = signed { ("*" | "/") signed }
//! signed  = "-" signed | number | variable | "(" sum ")"
//! ```

use model::vehicle::Autopilot;
use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

const MAX_CHARS: usize = 128;

const MAX_BRACKET_DEPTH: u8 = 16;

/// Whole numbers up to this are exact in single precision, in which ArduPilot sends and takes all values.
const MAX_EXACT_WHOLE: f64 = 16_777_216.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Of the Drone that the vehicle serves.
    Slot,
    /// The label `skein.dev/number` of the vehicle.
    Number,
    /// MAVLink system id.
    SystemId,
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slot => "slot (the vehicle serves no Drone with a slot)",
            Self::Number => "number (the vehicle and its node have no label skein.dev/number that is a whole number)",
            Self::SystemId => "systemId (the autopilot has not reported it)",
        })
    }
}

/// Of one vehicle; `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    pub slot: Option<u32>,
    pub number: Option<u32>,
    pub system_id: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadExpression {
    #[error("{0:?} is no number; write one such as 30 or -1.5, or an expression such as \"{{{{ 30 + 5*slot }}}}\"")]
    NoValue(String),
    #[error(
        "{found} at character {at}, where {wanted} should be; the operators are + - * / and ( ), the variables slot, number and systemId"
    )]
    Grammar {
        found: String,
        /// From 1.
        at: usize,
        wanted: &'static str,
    },
    #[error(
        "it is longer than {MAX_CHARS} characters, or has more than {MAX_BRACKET_DEPTH} brackets in one another; make it shorter"
    )]
    TooLong,
    #[error("{0} is not known")]
    Unknown(Variable),
    /// A division by zero, or an overflow.
    #[error("{0} is no finite number; change the value")]
    NoNumber(f64),
    #[error(
        "ArduPilot takes values in single precision, in which {0} is another number; give one up to {MAX_EXACT_WHOLE}"
    )]
    Inexact(f64),
}

/// # Errors
/// [`BadExpression`].
pub fn evaluate(text: &str, of: &Variables) -> Result<f64, BadExpression> {
    if text.len() > MAX_CHARS {
        return Err(BadExpression::TooLong);
    }
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let value = match inner {
        Some(inner) => {
            let mut reading = Reading {
                left: inner.char_indices().peekable(),
                text: inner,
                of,
            };
            let value = reading.sum(0)?;
            reading.end()?;
            value
        }
        // Rust also parses inf and NaN.
        None => match trimmed.parse::<f64>() {
            Ok(value) if trimmed.chars().any(|c| c.is_ascii_digit()) => value,
            _ => return Err(BadExpression::NoValue(text.to_owned())),
        },
    };
    if value.is_finite() {
        Ok(value)
    } else {
        Err(BadExpression::NoNumber(value))
    }
}

/// Whether the wire to the autopilot carries the value.
///
/// # Errors
/// [`BadExpression`].
pub fn fits(autopilot: Autopilot, value: f64) -> Result<f64, BadExpression> {
    let most = f64::from(f32::MAX);
    if !(-most..=most).contains(&value) {
        return Err(BadExpression::NoNumber(value));
    }
    let whole = value.fract() == 0.0;
    if autopilot == Autopilot::ArduPilot && whole && value.abs() > MAX_EXACT_WHOLE {
        return Err(BadExpression::Inexact(value));
    }
    Ok(value)
}

struct Reading<'a> {
    left: Peekable<CharIndices<'a>>,
    text: &'a str,
    of: &'a Variables,
}

impl Reading<'_> {
    fn next(&mut self) -> Option<(usize, char)> {
        while self.left.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        self.left.peek().copied()
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.next();
        self.left.next_if(|&(_, c)| c == wanted).is_some()
    }

    fn unexpected(&mut self, wanted: &'static str) -> BadExpression {
        match self.next() {
            Some((at, c)) => BadExpression::Grammar {
                found: format!("{c:?}"),
                at: at + 1,
                wanted,
            },
            None => BadExpression::Grammar {
                found: "the end".to_owned(),
                at: self.text.len() + 1,
                wanted,
            },
        }
    }

    fn end(&mut self) -> Result<(), BadExpression> {
        match self.next() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("an operator or the end")),
        }
    }

    fn sum(&mut self, depth: u8) -> Result<f64, BadExpression> {
        let mut value = self.product(depth)?;
        loop {
            if self.takes('+') {
                value += self.product(depth)?;
            } else if self.takes('-') {
                value -= self.product(depth)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self, depth: u8) -> Result<f64, BadExpression> {
        let mut value = self.signed(depth)?;
        loop {
            if self.takes('*') {
                value *= self.signed(depth)?;
            } else if self.takes('/') {
                value /= self.signed(depth)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self, depth: u8) -> Result<f64, BadExpression> {
        if depth > MAX_BRACKET_DEPTH {
            return Err(BadExpression::TooLong);
        }
        if self.takes('-') {
            return Ok(-self.signed(depth + 1)?);
        }
        if self.takes('(') {
            let value = self.sum(depth + 1)?;
            return if self.takes(')') {
                Ok(value)
            } else {
                Err(self.unexpected("an operator or )"))
            };
        }
        match self.next() {
            Some((at, c)) if c.is_ascii_digit() => {
                let number = self.word(at, |c| c.is_ascii_digit() || c == '.');
                number.parse().map_err(|_| BadExpression::NoValue(number.to_owned()))
            }
            Some((at, c)) if c.is_ascii_alphabetic() => {
                let name = self.word(at, |c| c.is_ascii_alphanumeric());
                let known = |variable, value: Option<u32>| value.map(f64::from).ok_or(BadExpression::Unknown(variable));
                match name {
                    "slot" => known(Variable::Slot, self.of.slot),
                    "number" => known(Variable::Number, self.of.number),
                    "systemId" => known(Variable::SystemId, self.of.system_id.map(u32::from)),
                    other => Err(BadExpression::Grammar {
                        found: format!("{other:?}"),
                        at: at + 1,
                        wanted: "a number, a variable or (",
                    }),
                }
            }
            _ => Err(self.unexpected("a number, a variable or (")),
        }
    }

    fn word(&mut self, from: usize, is_part: impl Fn(char) -> bool) -> &str {
        let mut to = from;
        while let Some((at, c)) = self.left.next_if(|&(_, c)| is_part(c)) {
            to = at + c.len_utf8();
        }
        self.text.get(from..to).unwrap_or_default()
    }
}
