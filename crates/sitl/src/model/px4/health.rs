//! PX4's health and arming checks: the failing checks, and the events that report them.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::battery_watch::Charge;
use super::events::{self, Kind};
use super::modes::Mode;

const ALL_MODES: [u8; 4] = [0xFF; 4];

/// Indices in bit fields and in arguments of check events.
mod component {
    pub(super) const REMOTE_CONTROL: u8 = 7;
    pub(super) const MOTORS: u8 = 8;
    pub(super) const BATTERY: u8 = 11;
    pub(super) const LINKS: u8 = 12;
    pub(super) const ATTITUDE: u8 = 16;
    pub(super) const LOCAL_POSITION: u8 = 17;
    pub(super) const SYSTEM: u8 = 20;
    pub(super) const GLOBAL_POSITION: u8 = 24;
    pub(super) const COMPASS: u8 = 27;
    pub(super) const REMOTE_ID: u8 = 30;
}

/// Inputs of the checks; a change is reported without a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Health {
    pub(super) attitude: bool,
    pub(super) position: bool,
    pub(super) compass_missing: bool,
    pub(super) motor_failed: bool,
    pub(super) charge: Charge,
    pub(super) ground_station: bool,
    pub(super) ground_station_needed: bool,
    pub(super) outside_fence: bool,
    pub(super) remote_id_missing: bool,
    /// COM_ARM_ODID beyond a warning.
    pub(super) remote_id_needed: bool,
    pub(super) mission: bool,
    /// COM_ARM_MIS_REQ: every mode needs a mission for arming.
    pub(super) mission_needed: bool,
    pub(super) offboard: bool,
    pub(super) mode: Mode,
}

impl Health {
    /// Prearm bit of SYS_STATUS.
    pub(super) fn can_arm(self) -> bool {
        self.attitude && self.position && !self.fails_in_all_modes() && self.mode.armable(self.mission, self.offboard)
    }

    fn battery_critical(self) -> bool {
        self.charge >= Charge::Critical
    }

    fn link_missing(self) -> bool {
        self.ground_station_needed && !self.ground_station
    }

    fn mission_missing(self) -> bool {
        self.mission_needed && !self.mission
    }

    fn remote_id_fails(self) -> bool {
        self.remote_id_needed && self.remote_id_missing
    }

    fn fails_in_all_modes(self) -> bool {
        self.compass_missing
            || self.mission_missing()
            || self.motor_failed
            || self.battery_critical()
            || self.link_missing()
            || self.outside_fence
            || self.remote_id_fails()
    }

    /// States that differ only in modes which fail alike report alike.
    pub(super) fn reports_as(self, other: Self) -> bool {
        let key = |health: Self| {
            (
                health.mode.is_descending(),
                Self {
                    mode: Mode::Hold,
                    ..health
                },
            )
        };
        key(self) == key(other)
    }

    pub(super) fn report(self) -> Vec<(Kind, Vec<u8>)> {
        let mut report = vec![(events::ARMING_CHECK_SUMMARY, self.summary())];
        let mut check = |kind: Kind, modes: [u8; 4], rest: &[u8]| {
            let mut arguments = modes.to_vec();
            arguments.extend(rest);
            report.push((kind, arguments));
        };
        if self.compass_missing {
            check(events::COMPASS_MISSING, ALL_MODES, &[component::COMPASS, 1, 2]);
        }
        if self.motor_failed {
            check(events::MOTOR_FAILED, ALL_MODES, &[component::MOTORS]);
        }
        if self.mode.is_descending() {
            check(
                events::MODE_NOT_SUITABLE,
                [0x20, 0x30, 0x3C, 0x00],
                &[component::SYSTEM],
            );
        }
        if !self.attitude {
            check(events::NO_ATTITUDE, [0x7E, 0xD0, 0x7E, 0x00], &[component::ATTITUDE]);
        }
        if !self.position {
            check(
                events::NO_LOCAL_POSITION,
                [0x7C, 0x00, 0x7E, 0x00],
                &[component::LOCAL_POSITION],
            );
            check(
                events::NO_GLOBAL_POSITION,
                [0x38, 0x00, 0x00, 0x00],
                &[component::GLOBAL_POSITION],
            );
        }
        if !self.attitude {
            check(events::NO_ALTITUDE, [0x7E, 0x00, 0x7E, 0x00], &[component::SYSTEM]);
        }
        if !self.mission {
            // Still no more than information when it keeps the vehicle from arming.
            let modes = if self.mission_needed {
                ALL_MODES
            } else {
                [0x08, 0x00, 0x00, 0x00]
            };
            check(events::NO_MISSION, modes, &[component::SYSTEM]);
        }
        if !self.offboard {
            check(
                events::NO_OFFBOARD_SIGNAL,
                [0x00, 0x40, 0x00, 0x00],
                &[component::SYSTEM],
            );
        }
        check(events::NO_MANUAL_CONTROL, ALL_MODES, &[component::REMOTE_CONTROL]);
        match self.charge {
            Charge::Ok => {}
            Charge::Low => check(events::BATTERY_LOW_CHECK, ALL_MODES, &[component::BATTERY]),
            Charge::Critical => check(events::BATTERY_CRITICAL_CHECK, ALL_MODES, &[component::BATTERY]),
            Charge::Emergency => check(events::BATTERY_EMERGENCY_CHECK, ALL_MODES, &[component::BATTERY]),
        }
        if self.link_missing() {
            check(events::GROUND_STATION_NEEDED, ALL_MODES, &[component::LINKS]);
        } else if !self.ground_station {
            check(events::NO_GROUND_STATION, ALL_MODES, &[component::LINKS]);
        }
        if self.outside_fence {
            check(events::FENCE_VIOLATED, ALL_MODES, &[component::SYSTEM, 0]);
        }
        if self.remote_id_missing {
            let modes = if self.remote_id_needed { ALL_MODES } else { [0; 4] };
            check(events::REMOTE_ID_MISSING, modes, &[component::REMOTE_ID]);
        }
        report.push((events::HEALTH_SUMMARY, vec![0x00, 0x02, 0x08, 0x02, 0x38]));
        report
    }

    pub(super) fn texts(self) -> Vec<(MavSeverity, &'static str)> {
        use MavSeverity::{MAV_SEVERITY_CRITICAL, MAV_SEVERITY_EMERGENCY, MAV_SEVERITY_WARNING};
        let mut texts = Vec::new();
        if self.compass_missing {
            texts.push((MAV_SEVERITY_CRITICAL, "Preflight Fail: Found 1 compass (required: 2)"));
        }
        match self.charge {
            Charge::Ok => {}
            Charge::Low => texts.push((MAV_SEVERITY_CRITICAL, "Low battery\t")),
            Charge::Critical => texts.push((MAV_SEVERITY_CRITICAL, "Critical battery\t")),
            Charge::Emergency => texts.push((MAV_SEVERITY_EMERGENCY, "Emergency battery level\t")),
        }
        if self.link_missing() {
            texts.push((MAV_SEVERITY_WARNING, "Preflight Fail: No connection to the GCS"));
        }
        if self.remote_id_missing {
            texts.push((MAV_SEVERITY_CRITICAL, "Preflight Fail: Open Drone ID system missing"));
        }
        texts
    }

    /// Chunk number, then four bit fields: components in error, in warning, modes that can arm, modes that can run.
    fn summary(self) -> Vec<u8> {
        const NO_ATTITUDE_MODES: u32 = 0x8001_2B80;
        const NO_POSITION_MODES: u32 = 0x8001_3B80;
        const POSITION_MODES: u32 = 0x807F_3BB0;
        const AFTER_MODE_UNSUITABLE: u32 = 0x8043_0B90;
        const MISSION_MODE: u32 = 0x08;
        let bit = |component: u8, fails: bool| if fails { 1_u32 << component } else { 0 };
        let error = bit(component::SYSTEM, true)
            | bit(component::ATTITUDE, !self.attitude)
            | bit(component::LOCAL_POSITION, !self.position)
            | bit(component::GLOBAL_POSITION, !self.position)
            | bit(component::COMPASS, self.compass_missing)
            | bit(component::MOTORS, self.motor_failed)
            | bit(component::BATTERY, self.charge > Charge::Ok)
            | bit(component::LINKS, self.link_missing())
            | bit(component::REMOTE_ID, self.remote_id_missing);
        let mission = if self.mission { MISSION_MODE } else { 0 };
        let run = match self {
            Self { attitude: false, .. } => NO_ATTITUDE_MODES,
            Self { position: false, .. } => NO_POSITION_MODES,
            _ => POSITION_MODES | mission,
        };
        let arm = match self {
            _ if self.fails_in_all_modes() => 0,
            Self { attitude: false, .. } | Self { position: false, .. } => run,
            _ if self.mode.is_descending() => AFTER_MODE_UNSUITABLE | mission,
            _ => run,
        };
        let mut bytes = vec![0u8];
        for field in [error, 1 << component::REMOTE_CONTROL, arm, run] {
            bytes.extend(field.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: Health = Health {
        attitude: true,
        position: true,
        compass_missing: false,
        motor_failed: false,
        charge: Charge::Ok,
        ground_station: true,
        ground_station_needed: false,
        mission_needed: false,
        outside_fence: false,
        remote_id_missing: false,
        remote_id_needed: false,
        mission: false,
        offboard: false,
        mode: Mode::Hold,
    };

    fn summary(health: Health) -> String {
        health.report()[0].1.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn every_summary_is_the_recorded_one() {
        let cases = [
            (READY, "000000100080000000b03b7f80b03b7f80"),
            (
                Health {
                    position: false,
                    ..READY
                },
                "000000120180000000803b0180803b0180",
            ),
            (
                Health {
                    position: false,
                    attitude: false,
                    ..READY
                },
                "000000130180000000802b0180802b0180",
            ),
            (
                Health {
                    mode: Mode::Land,
                    ..READY
                },
                "000000100080000000900b4380b03b7f80",
            ),
            (Health { mission: true, ..READY }, "000000100080000000b83b7f80b83b7f80"),
            (
                Health {
                    compass_missing: true,
                    ..READY
                },
                "00000010088000000000000000b03b7f80",
            ),
            (
                Health {
                    charge: Charge::Low,
                    ..READY
                },
                "000008100080000000b03b7f80b03b7f80",
            ),
            (
                Health {
                    charge: Charge::Critical,
                    ..READY
                },
                "00000810008000000000000000b03b7f80",
            ),
            (
                Health {
                    ground_station: false,
                    ground_station_needed: true,
                    ..READY
                },
                "00001010008000000000000000b03b7f80",
            ),
            (
                Health {
                    mission_needed: true,
                    ..READY
                },
                "00000010008000000000000000b03b7f80",
            ),
        ];
        for (health, recorded) in cases {
            assert_eq!(summary(health), recorded, "{health:?}");
        }
    }
}
