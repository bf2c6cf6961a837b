//! How a parameter's number travels: PX4 puts the bits of an integer into the float field, ArduPilot its value (MAVLink guide,
//! services/parameter).
//!
//! Recorded: neither checks a range. ArduCopter 4.7 cuts 2.6 to 2 and takes 300 as 127; PX4 1.17 stores whatever has the right
//! type, and says nothing to a wrong one.

use link::dialect::MavParamType;
use model::vehicle::Autopilot;

/// `None`: a type of 64 bits, which does not fit its field.
pub fn decode(autopilot: Autopilot, field: f32, kind: MavParamType) -> Option<f64> {
    use MavParamType as Kind;
    let bits = field.to_bits();
    // The lowest bytes; what is above them is padding.
    let [first, second, ..] = bits.to_le_bytes();
    match (autopilot, kind) {
        (_, Kind::MAV_PARAM_TYPE_UINT64 | Kind::MAV_PARAM_TYPE_INT64 | Kind::MAV_PARAM_TYPE_REAL64) => None,
        (Autopilot::ArduPilot, _) | (_, Kind::MAV_PARAM_TYPE_REAL32) => Some(f64::from(field)),
        (_, Kind::MAV_PARAM_TYPE_UINT8) => Some(f64::from(first)),
        (_, Kind::MAV_PARAM_TYPE_INT8) => Some(f64::from(first.cast_signed())),
        (_, Kind::MAV_PARAM_TYPE_UINT16) => Some(f64::from(u16::from_le_bytes([first, second]))),
        (_, Kind::MAV_PARAM_TYPE_INT16) => Some(f64::from(i16::from_le_bytes([first, second]))),
        (_, Kind::MAV_PARAM_TYPE_UINT32) => Some(f64::from(bits)),
        (_, Kind::MAV_PARAM_TYPE_INT32) => Some(f64::from(bits.cast_signed())),
    }
}

/// The error is for a person: what is wrong with the number, and what to do.
pub fn encode(autopilot: Autopilot, wanted: f64, kind: MavParamType) -> Result<f32, String> {
    if !wanted.is_finite() {
        return Err("the value is no number; give a finite one".to_owned());
    }
    let Some((low, high)) = range(kind)? else {
        let field = narrow(wanted);
        return if field.is_finite() {
            Ok(field)
        } else {
            Err(format!(
                "{wanted} is more than a number of 32 bits can be; give a smaller one"
            ))
        };
    };
    if wanted.fract() != 0.0 {
        return Err(format!(
            "the autopilot stores a whole number, and {wanted} is none; give a whole number"
        ));
    }
    if !(low..=high).contains(&wanted) {
        return Err(format!(
            "{wanted} does not fit its type; give a whole number from {low} to {high}"
        ));
    }
    match autopilot {
        Autopilot::ArduPilot => {
            let field = narrow(wanted);
            if f64::from(field) == wanted {
                Ok(field)
            } else {
                Err(format!(
                    "ArduPilot carries {wanted} as {field}; give a number that is exact in 24 bits, or set it with its own tools"
                ))
            }
        }
        Autopilot::Px4 => Ok(f32::from_bits(integer_bits(wanted))),
    }
}

/// Whether a parameter that was read as `actual` has the value `wanted`: exactly, as far as its type can.
pub fn same(wanted: f64, actual: f64, kind: MavParamType) -> bool {
    match kind {
        MavParamType::MAV_PARAM_TYPE_REAL32 => f64::from(narrow(wanted)) == actual,
        _ => wanted == actual,
    }
}

/// `None`: a float.
fn range(kind: MavParamType) -> Result<Option<(f64, f64)>, String> {
    use MavParamType as Kind;
    Ok(Some(match kind {
        Kind::MAV_PARAM_TYPE_UINT8 => (0.0, f64::from(u8::MAX)),
        Kind::MAV_PARAM_TYPE_INT8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        Kind::MAV_PARAM_TYPE_UINT16 => (0.0, f64::from(u16::MAX)),
        Kind::MAV_PARAM_TYPE_INT16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        Kind::MAV_PARAM_TYPE_UINT32 => (0.0, f64::from(u32::MAX)),
        Kind::MAV_PARAM_TYPE_INT32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Kind::MAV_PARAM_TYPE_REAL32 => return Ok(None),
        Kind::MAV_PARAM_TYPE_UINT64 | Kind::MAV_PARAM_TYPE_INT64 | Kind::MAV_PARAM_TYPE_REAL64 => {
            return Err(
                "it is a number of 64 bits, which the agent does not set; set it with the autopilot's own tools"
                    .to_owned(),
            );
        }
    }))
}

#[allow(clippy::cast_possible_truncation, reason = "the nearest is wanted")]
fn narrow(value: f64) -> f32 {
    value as f32
}

/// The bits of a whole number in the range of an integer of at most 32 bits.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole, and in the range of u32 or i32"
)]
fn integer_bits(value: f64) -> u32 {
    if value < 0.0 {
        (value as i32).cast_unsigned()
    } else {
        value as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MavParamType::{MAV_PARAM_TYPE_INT8 as INT8, MAV_PARAM_TYPE_INT32 as INT32, MAV_PARAM_TYPE_REAL32 as REAL32};

    #[test]
    fn what_is_encoded_is_decoded_again_on_both() {
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for (value, kind) in [
                (3.0, INT32),
                (-2.0, INT32),
                (127.0, INT8),
                (-128.0, INT8),
                (120.5, REAL32),
                (-0.25, REAL32),
            ] {
                let field = encode(autopilot, value, kind).unwrap();
                assert_eq!(decode(autopilot, field, kind), Some(value), "{autopilot:?} {kind:?}");
            }
            let field = encode(autopilot, 120.7, REAL32).unwrap();
            let back = decode(autopilot, field, REAL32).unwrap();
            assert!(same(120.7, back, REAL32) && !same(120.71, back, REAL32), "{back}");
        }
        assert_eq!(encode(Autopilot::Px4, 3.0, INT32).unwrap().to_bits(), 3, "as recorded");
    }

    #[test]
    fn a_number_that_would_be_changed_on_the_way_is_refused_with_what_to_do() {
        let refused = |autopilot, value, kind| encode(autopilot, value, kind).unwrap_err();
        assert!(refused(Autopilot::ArduPilot, 2.6, INT8).contains("give a whole number"));
        assert!(refused(Autopilot::ArduPilot, 300.0, INT8).contains("from -128 to 127"));
        assert!(refused(Autopilot::ArduPilot, 16_777_217.0, INT32).contains("16777216"));
        assert!(encode(Autopilot::Px4, 16_777_217.0, INT32).is_ok());
        assert!(refused(Autopilot::Px4, 3e9, INT32).contains("2147483647"));
        assert!(refused(Autopilot::Px4, f64::NAN, REAL32).contains("finite"));
        assert!(refused(Autopilot::Px4, 1e39, REAL32).contains("smaller"));
    }
}
