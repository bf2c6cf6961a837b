//! PX4's health and arming checks: what stands against arming, and the events that report it.
//!
//! Owns: the set of failing checks and its encoding. Must not: send anything.

use super::events::{self, Kind};
use super::modes::Mode;

/// Seconds after boot until there is a position.
pub(super) const POSITION_S: f64 = 4.4;

/// All modes, in the mode bit field of check events.
const ALL_MODES: [u8; 4] = [0xFF; 4];

/// The inputs of the checks; a change of it is reported unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Health {
    pub(super) position: bool,
    pub(super) compass_missing: bool,
    pub(super) battery_critical: bool,
    pub(super) ground_station: bool,
    /// NAV_DLL_ACT is set: arming needs a ground station.
    pub(super) ground_station_needed: bool,
    pub(super) mode: Mode,
}

impl Health {
    /// Nothing stands against arming: the prearm bit of SYS_STATUS.
    pub(super) fn can_arm(self) -> bool {
        self.position && !self.compass_missing && !self.battery_critical && !self.link_missing() && self.mode.armable()
    }

    fn link_missing(self) -> bool {
        self.ground_station_needed && !self.ground_station
    }

    /// Two states that differ only in modes which fail alike report alike.
    pub(super) fn reports_as(self, other: Self) -> bool {
        let key = |health: Self| {
            (
                health.mode.comes_down(),
                Self {
                    mode: Mode::Hold,
                    ..health
                },
            )
        };
        key(self) == key(other)
    }

    /// The events of one report: summary, one per failing check, health summary.
    pub(super) fn report(self) -> Vec<(Kind, Vec<u8>)> {
        let mut report = vec![(events::ARMING_CHECK_SUMMARY, self.summary())];
        let mut check = |kind: Kind, modes: [u8; 4], rest: &[u8]| {
            let mut arguments = modes.to_vec();
            arguments.extend(rest);
            report.push((kind, arguments));
        };
        if self.compass_missing {
            check(events::COMPASS_MISSING, ALL_MODES, &[27, 1, 2]);
        }
        if self.battery_critical {
            check(events::BATTERY_CRITICAL_CHECK, ALL_MODES, &[11]);
        }
        if self.mode.comes_down() {
            check(events::MODE_NOT_SUITABLE, [0x20, 0x30, 0x3C, 0x00], &[20]);
        }
        if !self.position {
            check(events::NO_LOCAL_POSITION, [0x7C, 0x00, 0x7E, 0x00], &[17]);
            check(events::NO_GLOBAL_POSITION, [0x38, 0x00, 0x00, 0x00], &[24]);
        }
        check(events::NO_MISSION, [0x08, 0x00, 0x00, 0x00], &[20]);
        check(events::NO_OFFBOARD_SIGNAL, [0x00, 0x40, 0x00, 0x00], &[20]);
        check(events::NO_MANUAL_CONTROL, ALL_MODES, &[7]);
        if self.link_missing() {
            check(events::GROUND_STATION_NEEDED, ALL_MODES, &[12]);
        } else if !self.ground_station {
            check(events::NO_GROUND_STATION, ALL_MODES, &[12]);
        }
        report.push((events::HEALTH_SUMMARY, vec![0x00, 0x02, 0x08, 0x02, 0x38]));
        report
    }

    /// "Preflight Fail" texts; only health checks have one.
    pub(super) fn texts(self) -> Vec<&'static str> {
        let mut texts = Vec::new();
        if self.compass_missing {
            texts.push("Preflight Fail: Found 1 compass (required: 2)");
        }
        if self.link_missing() {
            texts.push("Preflight Fail: No connection to the GCS");
        }
        texts
    }

    /// Chunk number, then four bit fields: components in error, in warning, modes that can arm, modes that can run.
    fn summary(self) -> Vec<u8> {
        const SYSTEM: u32 = 1 << 20;
        const LOCAL_POSITION: u32 = 1 << 17;
        const GLOBAL_POSITION: u32 = 1 << 24;
        const COMPASS: u32 = 1 << 27;
        const BATTERY: u32 = 1 << 11;
        const LINKS: u32 = 1 << 12;
        const REMOTE_CONTROL: u32 = 1 << 7;
        const NO_POSITION_MODES: u32 = 0x8001_3B80;
        const POSITION_MODES: u32 = 0x807F_3BB0;
        const AFTER_MODE_UNSUITABLE: u32 = 0x8043_0B90;
        let mut error = SYSTEM;
        if !self.position {
            error |= LOCAL_POSITION | GLOBAL_POSITION;
        }
        if self.compass_missing {
            error |= COMPASS;
        }
        if self.battery_critical {
            error |= BATTERY;
        }
        if self.link_missing() {
            error |= LINKS;
        }
        let run = if self.position {
            POSITION_MODES
        } else {
            NO_POSITION_MODES
        };
        let arm = match self {
            _ if self.link_missing() => 0,
            Self {
                compass_missing: true, ..
            }
            | Self {
                battery_critical: true, ..
            } => 0,
            Self { position: false, .. } => NO_POSITION_MODES,
            _ if self.mode.comes_down() => AFTER_MODE_UNSUITABLE,
            _ => POSITION_MODES,
        };
        let mut bytes = vec![0u8];
        for field in [error, REMOTE_CONTROL, arm, run] {
            bytes.extend(field.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_before_a_position_is_the_recorded_one() {
        let health = Health {
            position: false,
            compass_missing: false,
            battery_critical: false,
            ground_station: true,
            ground_station_needed: false,
            mode: Mode::Hold,
        };
        let recorded = [
            0x00, 0x00, 0x00, 0x12, 0x01, 0x80, 0, 0, 0, 0x80, 0x3b, 0x01, 0x80, 0x80, 0x3b, 0x01, 0x80,
        ];
        assert_eq!(health.report()[0].1, recorded);
    }

    #[test]
    fn the_summary_in_land_mode_is_the_recorded_one() {
        let health = Health {
            position: true,
            compass_missing: false,
            battery_critical: false,
            ground_station: true,
            ground_station_needed: false,
            mode: Mode::Land,
        };
        let recorded = [
            0x00, 0x00, 0x00, 0x10, 0x00, 0x80, 0, 0, 0, 0x90, 0x0b, 0x43, 0x80, 0xb0, 0x3b, 0x7f, 0x80,
        ];
        assert_eq!(health.report()[0].1, recorded);
    }
}
