//! Accuracy of the vehicle's place, as receivers and filters report it.

use link::dialect::{EKF_STATUS_REPORT_DATA, ESTIMATOR_STATUS_DATA, EkfStatusFlags, GPS_RAW_INT_DATA, GpsFixType};
use model::accuracy::Accuracy;

/// ArduPilot's filter rejects a measurement from this ratio of its test on (EKF_STATUS_REPORT: `pos_horiz_variance`, `pos_vert_variance`).
const REJECTS: f32 = 1.0;

/// The receiver reports millimeters. Unknown without a fix in three dimensions.
pub(super) fn of_receiver(m: &GPS_RAW_INT_DATA) -> Accuracy {
    match m.fix_type {
        GpsFixType::GPS_FIX_TYPE_NO_GPS | GpsFixType::GPS_FIX_TYPE_NO_FIX | GpsFixType::GPS_FIX_TYPE_2D_FIX => {
            Accuracy::default()
        }
        _ => Accuracy::of_meters(f64::from(m.h_acc) / 1000.0, f64::from(m.v_acc) / 1000.0),
    }
}

pub(super) fn of_px4_filter(m: &ESTIMATOR_STATUS_DATA) -> Accuracy {
    Accuracy::of_meters(m.pos_horiz_accuracy.into(), m.pos_vert_accuracy.into())
}

/// Unknown while the filter agrees with its receiver, which then reports it.
pub(super) fn of_ardupilot_filter(m: &EKF_STATUS_REPORT_DATA) -> Accuracy {
    let lost = EkfStatusFlags::EKF_CONST_POS_MODE
        .union(EkfStatusFlags::EKF_UNINITIALIZED)
        .union(EkfStatusFlags::EKF_GPS_GLITCHING);
    let over_ground = m.flags.contains(EkfStatusFlags::EKF_POS_HORIZ_ABS) && !m.flags.intersects(lost);
    let in_altitude = m.flags.contains(EkfStatusFlags::EKF_POS_VERT_ABS);
    let account = |trusted: bool| (!trusted).then_some(Accuracy::UNTRUSTED);
    Accuracy {
        horizontal: account(over_ground && m.pos_horiz_variance < REJECTS),
        vertical: account(in_altitude && m.pos_vert_variance < REJECTS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_without_a_fix_says_nothing_and_one_with_a_fix_says_millimeters() {
        let of = |fix_type, h_acc, v_acc| {
            let message = GPS_RAW_INT_DATA {
                fix_type,
                h_acc,
                v_acc,
                ..GPS_RAW_INT_DATA::default()
            };
            of_receiver(&message)
        };
        let known = of(GpsFixType::GPS_FIX_TYPE_3D_FIX, 2300, 4100);
        assert_eq!(known, Accuracy::of_meters(2.3, 4.1));
        assert_eq!(of(GpsFixType::GPS_FIX_TYPE_RTK_FIXED, 0, 0), Accuracy::default());
        assert_eq!(of(GpsFixType::GPS_FIX_TYPE_NO_FIX, 2300, 4100), Accuracy::default());
    }

    #[test]
    fn an_ardupilot_filter_counts_only_while_it_does_not_agree_with_its_receiver() {
        let of = |flags, pos_horiz_variance, pos_vert_variance| {
            let message = EKF_STATUS_REPORT_DATA {
                flags: EkfStatusFlags::from_bits_retain(flags),
                pos_horiz_variance,
                pos_vert_variance,
                ..EKF_STATUS_REPORT_DATA::default()
            };
            let account = of_ardupilot_filter(&message);
            (account.horizontal.is_some(), account.vertical.is_some())
        };
        assert_eq!(of(831, 0.1, 0.1), (false, false), "in flight, all well");
        assert_eq!(of(831, 1.2, 0.1), (true, false), "it rejects the receiver's place");
        assert_eq!(of(831, f32::NAN, 1.0), (true, true));
        assert_eq!(
            of(831 | 0x8000, 0.1, 0.1),
            (true, false),
            "it finds the receiver glitching"
        );
        assert_eq!(of(167, 0.1, 0.1), (true, false), "it has no place");
        assert_eq!(of(0, 0.0, 0.0), (true, true));
    }
}
