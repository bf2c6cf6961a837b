//! Conversions between the wire's messages and `model` types.
//!
//! Owns: what a well-formed message is. Everything of `model` can be said on the wire; what comes off the wire is
//! either a `model` value or a [`BadMessage`] that names the field.
//! Must not: decide, fill in a value that matters for flight, or pass on a number that was not checked.

mod airspace;
mod guest;
mod kill;
mod order;
mod plan;
mod remote_id;
mod report;
mod route;
mod rules;
mod stand_down;

use model::units::Wgs84;

pub use guest::{guest_call_id, read_guest_call_id};
pub use report::report;

/// A message that makes no sense. The receiver refuses it as a whole and keeps what it holds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadMessage {
    /// A field that must be set is not.
    #[error("{field} is not set")]
    Missing { field: &'static str },
    /// A text that must not be empty is.
    #[error("{field} is empty")]
    Empty { field: &'static str },
    /// An enum value that this program does not know; the sender may be newer.
    #[error("{field} is {got}, which this program does not know; is the sender a newer version?")]
    UnknownValue { field: &'static str, got: i32 },
    /// A number outside what it can mean.
    #[error("{field} is {got}; it must be {must}")]
    OutOfRange {
        field: &'static str,
        got: f64,
        /// What is allowed, as the end of a sentence.
        must: &'static str,
    },
}

/// `value`, if it is from `low` to `high`; NaN and the infinities never are.
fn within(field: &'static str, value: f64, low: f64, high: f64, must: &'static str) -> Result<f64, BadMessage> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(BadMessage::OutOfRange {
            field,
            got: value,
            must,
        })
    }
}

/// A place of which the wire says `latitude` and `longitude`, in degrees; each with the path of its field.
fn place(latitude: (&'static str, f64), longitude: (&'static str, f64)) -> Result<Wgs84, BadMessage> {
    Ok(Wgs84 {
        latitude_deg: within(latitude.0, latitude.1, -90.0, 90.0, "from -90 to 90 degrees")?,
        longitude_deg: within(longitude.0, longitude.1, -180.0, 180.0, "from -180 to 180 degrees")?,
    })
}

/// `text`, if there is any.
fn filled(field: &'static str, text: String) -> Result<String, BadMessage> {
    if text.is_empty() {
        Err(BadMessage::Empty { field })
    } else {
        Ok(text)
    }
}

/// The enum value of the number `got`.
fn known<E: TryFrom<i32>>(field: &'static str, got: i32) -> Result<E, BadMessage> {
    E::try_from(got).map_err(|_| BadMessage::UnknownValue { field, got })
}
