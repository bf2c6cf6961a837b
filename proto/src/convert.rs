//! Conversions between the wire's messages and `model` types. Owns: what a well-formed message is; any other is a
//! [`BadMessage`]. Must not: decide, fill in a value that matters for flight, or pass on an unchecked number.

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

/// The receiver refuses such a message as a whole and keeps what it holds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadMessage {
    #[error("{field} is not set")]
    Missing { field: &'static str },
    #[error("{field} is empty")]
    Empty { field: &'static str },
    /// The sender may be newer.
    #[error("{field} is {got}, which this program does not know; is the sender a newer version?")]
    UnknownValue { field: &'static str, got: i32 },
    #[error("{field} is {got}; it must be {must}")]
    OutOfRange {
        field: &'static str,
        got: f64,
        must: &'static str,
    },
}

/// Refuses NaN and the infinities, too.
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

/// Degrees, each with the path of its field.
fn place(latitude: (&'static str, f64), longitude: (&'static str, f64)) -> Result<Wgs84, BadMessage> {
    Ok(Wgs84 {
        latitude_deg: within(latitude.0, latitude.1, -90.0, 90.0, "from -90 to 90 degrees")?,
        longitude_deg: within(longitude.0, longitude.1, -180.0, 180.0, "from -180 to 180 degrees")?,
    })
}

fn filled(field: &'static str, text: String) -> Result<String, BadMessage> {
    if text.is_empty() {
        Err(BadMessage::Empty { field })
    } else {
        Ok(text)
    }
}

fn known<E: TryFrom<i32>>(field: &'static str, got: i32) -> Result<E, BadMessage> {
    E::try_from(got).map_err(|_| BadMessage::UnknownValue { field, got })
}
