//! Batteries that do not drive the motors.

use crate::v1;
use model::monitored_battery::{Drives, OtherBattery};
use model::units::Percent;

const AT_MOST: usize = 8;

impl From<&OtherBattery> for v1::OtherBattery {
    fn from(battery: &OtherBattery) -> Self {
        let drives = match battery.drives {
            Drives::Avionics => v1::OtherBatteryDrives::Avionics,
            Drives::Payload => v1::OtherBatteryDrives::Payload,
            Drives::LeftOut | Drives::Motors => v1::OtherBatteryDrives::Unspecified,
        };
        Self {
            id: battery.id.into(),
            drives: drives.into(),
            remaining_percent: battery.remaining.map(|left| left.get().into()),
        }
    }
}

/// Leaves out impossible ones: nothing is decided by them.
pub(super) fn other_batteries(batteries: &[v1::OtherBattery]) -> Vec<OtherBattery> {
    batteries.iter().take(AT_MOST).filter_map(other_battery).collect()
}

fn other_battery(battery: &v1::OtherBattery) -> Option<OtherBattery> {
    let left = battery.remaining_percent.and_then(|left| u8::try_from(left).ok());
    Some(OtherBattery {
        id: u8::try_from(battery.id).ok()?,
        drives: match battery.drives() {
            v1::OtherBatteryDrives::Unspecified => Drives::LeftOut,
            v1::OtherBatteryDrives::Avionics => Drives::Avionics,
            v1::OtherBatteryDrives::Payload => Drives::Payload,
        },
        remaining: left.and_then(Percent::new),
    })
}
