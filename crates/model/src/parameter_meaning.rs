//! Parameters by meaning: the names, units and encodings under which versions of autopilots have them.
//!
//! ArduCopter renamed and rescaled many parameters between 4.6 and 4.7, and development builds mix both. So an autopilot is asked for each
//! name; versions here are only text for people. Read in the sources of ArduCopter 4.5.7, 4.6.2 and 4.8-dev (April 2026), and of PX4 1.15,
//! 1.16, 1.18 and main (August 2026).

use crate::vehicle::Autopilot;
use Autopilot::{ArduPilot, Px4};
use Encoding::{Bits, Code, Scaled, SkippedBits};

/// The purpose of a parameter, whatever an autopilot calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    /// Altitude to which a return climbs, meters above home.
    ReturnAltitude,
    /// Reference of the return altitude: 0 for home.
    ReturnAltitudeType,
    /// Least climb at the beginning of a return, meters.
    ReturnClimbMinimum,
    /// Altitude at which a return ends, meters above home; 0 lands.
    ReturnFinalAltitude,
    /// Time before a return lands, seconds; negative never lands.
    ReturnHoverTime,
    /// Destination and way of a return: 0 for straight home.
    ReturnType,
    /// Number of rally points, to which a return may lead instead of home.
    RallyPoints,
    /// Speed over ground of a return, m/s.
    ReturnSpeed,
    /// Distance from a waypoint at which it counts as reached, meters.
    WaypointRadius,
    /// Speed over ground between places, m/s.
    WaypointSpeed,
    /// Speed of a climb, m/s.
    ClimbSpeed,
    /// Speed of a descent, m/s.
    DescentSpeed,
    /// Speed just above the ground, m/s.
    LandingSpeed,
    /// Speed of a landing before it slows down, m/s.
    LandingSpeedHigh,
    /// Altitude at which a landing slows down, meters.
    LandingAltitudeLow,
    /// Acceleration between places, m/s².
    WaypointAcceleration,
    /// Largest speed of a climb by stick, m/s.
    PilotClimbSpeed,
    /// Largest speed of a descent by stick, m/s.
    PilotDescentSpeed,
    /// Vertical acceleration by stick, m/s².
    PilotAcceleration,
    /// Largest lean of ArduCopter's PosHold while it brakes, degrees.
    BrakeAngle,
    /// Change of that lean, degrees per second.
    BrakeRate,
    /// Altitude of a takeoff by a pilot's order, meters.
    TakeoffAltitude,
    /// Largest lean in flight, degrees.
    LeanAngleMaximum,
    /// Action when the ground station is lost.
    GroundStationLossAction,
    /// Time without a heartbeat after which the ground station counts as lost, seconds.
    GroundStationLossTime,
    /// Cases in which the loss of the ground station, or of other links on ArduPilot, changes nothing.
    GroundStationLossExceptions,
    LowBatteryAction,
    /// Voltage of a low battery, volts; 0 for none.
    LowBatteryVoltage,
    /// Charge of a low battery, mAh; 0 for none.
    LowBatteryCharge,
    CriticalBatteryAction,
    /// Part of a full charge at which PX4's battery is critical.
    CriticalBatteryPart,
    /// Action when the remote control is lost.
    RemoteControlLossAction,
    /// Whether Remote ID is checked before arming, or in flight too.
    RemoteIdAction,
    /// Checks before arming.
    ArmingChecks,
    FenceSwitch,
    /// Kinds of fence that are in effect.
    FenceKinds,
    FenceAction,
    /// Highest altitude in the fence, meters above home.
    FenceCeiling,
    /// MAVLink system id of the vehicle.
    SystemId,
    /// MAVLink system id of the ground station.
    GroundStationSystemId,
    /// Whether no other ground station counts.
    GroundStationEnforced,
    /// Time from boot to the first telemetry, seconds.
    TelemetryDelay,
}

/// Conversion from the stored number to the unit of the meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// The stored unit, in units of the meaning.
    Scaled(f64),
    /// An enumeration, different for each stack.
    Code,
    /// A set bit selects.
    Bits,
    /// A set bit leaves out.
    SkippedBits,
}

/// A name of a parameter in some versions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name {
    pub name: &'static str,
    pub encoding: Encoding,
    /// Empty for codes and bits.
    pub unit: &'static str,
    /// The versions that have it, as text.
    pub versions: &'static str,
}

impl Name {
    pub fn read(&self, stored: f64) -> f64 {
        match self.encoding {
            Scaled(unit) => stored * unit,
            Code | Bits | SkippedBits => stored,
        }
    }

    pub fn write(&self, value: f64) -> f64 {
        match self.encoding {
            // Rounded, as some are stored as integers.
            Scaled(unit) if unit < 1.0 => (value / unit).round(),
            Scaled(unit) => value / unit,
            Code | Bits | SkippedBits => value,
        }
    }

    pub fn converts_to(&self, other: &Self) -> bool {
        match (self.encoding, other.encoding) {
            (Scaled(_), Scaled(_)) => true,
            (one, other) => one == other,
        }
    }

    pub fn words(&self) -> String {
        match self.unit {
            "" => self.name.to_owned(),
            unit => format!("{} ({unit})", self.name),
        }
    }

    /// `stored` for people: also in the unit of the meaning where that differs.
    pub fn value_words(&self, stored: f64) -> String {
        let meant = self.read(stored);
        match (self.encoding, self.unit) {
            (Scaled(1.0), unit) if !unit.is_empty() => format!("{stored} {unit}"),
            (Scaled(_), "cm") => format!("{stored} cm ({meant} m)"),
            (Scaled(_), "cm/s") => format!("{stored} cm/s ({meant} m/s)"),
            (_, "") => stored.to_string(),
            (_, unit) => format!("{stored} {unit}"),
        }
    }
}

const ALL: &str = "every version";
const OLD: &str = "ArduCopter until 4.6";
const NEW: &str = "ArduCopter from 4.7";

const fn name(name: &'static str, encoding: Encoding, unit: &'static str, versions: &'static str) -> Name {
    Name {
        name,
        encoding,
        unit,
        versions,
    }
}

/// The same name and unit in every version.
const fn one(of: &'static str, encoding: Encoding, unit: &'static str) -> [Name; 1] {
    [name(of, encoding, unit, ALL)]
}

/// Renamed, and rescaled from hundredths of its unit.
const fn rescaled(new: &'static str, old: &'static str, unit: &'static str, unit_before: &'static str) -> [Name; 2] {
    [
        name(new, Scaled(1.0), unit, NEW),
        name(old, Scaled(0.01), unit_before, OLD),
    ]
}

/// The names of a parameter on a stack, the newest first.
type Row = (Autopilot, Meaning, &'static [Name]);

const TABLE: &[Row] = &[
    (
        ArduPilot,
        Meaning::ReturnAltitude,
        &rescaled("RTL_ALT_M", "RTL_ALT", "m", "cm"),
    ),
    (Px4, Meaning::ReturnAltitude, &one("RTL_RETURN_ALT", Scaled(1.0), "m")),
    (ArduPilot, Meaning::ReturnAltitudeType, &one("RTL_ALT_TYPE", Code, "")),
    (
        ArduPilot,
        Meaning::ReturnClimbMinimum,
        &rescaled("RTL_CLIMB_MIN_M", "RTL_CLIMB_MIN", "m", "cm"),
    ),
    (
        ArduPilot,
        Meaning::ReturnFinalAltitude,
        &rescaled("RTL_ALT_FINAL_M", "RTL_ALT_FINAL", "m", "cm"),
    ),
    (Px4, Meaning::ReturnHoverTime, &one("RTL_LAND_DELAY", Scaled(1.0), "s")),
    (Px4, Meaning::ReturnType, &one("RTL_TYPE", Code, "")),
    (
        ArduPilot,
        Meaning::RallyPoints,
        &[name(
            "RALLY_TOTAL",
            Scaled(1.0),
            "",
            "ArduCopter on boards with room for rally points",
        )],
    ),
    (
        ArduPilot,
        Meaning::ReturnSpeed,
        &rescaled("RTL_SPEED_MS", "RTL_SPEED", "m/s", "cm/s"),
    ),
    (
        ArduPilot,
        Meaning::WaypointRadius,
        &rescaled("WP_RADIUS_M", "WPNAV_RADIUS", "m", "cm"),
    ),
    (Px4, Meaning::WaypointRadius, &one("NAV_ACC_RAD", Scaled(1.0), "m")),
    (
        ArduPilot,
        Meaning::WaypointSpeed,
        &rescaled("WP_SPD", "WPNAV_SPEED", "m/s", "cm/s"),
    ),
    (Px4, Meaning::WaypointSpeed, &one("MPC_XY_CRUISE", Scaled(1.0), "m/s")),
    (
        ArduPilot,
        Meaning::ClimbSpeed,
        &rescaled("WP_SPD_UP", "WPNAV_SPEED_UP", "m/s", "cm/s"),
    ),
    (Px4, Meaning::ClimbSpeed, &one("MPC_Z_V_AUTO_UP", Scaled(1.0), "m/s")),
    (
        ArduPilot,
        Meaning::DescentSpeed,
        &rescaled("WP_SPD_DN", "WPNAV_SPEED_DN", "m/s", "cm/s"),
    ),
    (Px4, Meaning::DescentSpeed, &one("MPC_Z_V_AUTO_DN", Scaled(1.0), "m/s")),
    (
        ArduPilot,
        Meaning::LandingSpeed,
        &rescaled("LAND_SPD_MS", "LAND_SPEED", "m/s", "cm/s"),
    ),
    (Px4, Meaning::LandingSpeed, &one("MPC_LAND_SPEED", Scaled(1.0), "m/s")),
    (
        ArduPilot,
        Meaning::LandingSpeedHigh,
        &rescaled("LAND_SPD_HIGH_MS", "LAND_SPEED_HIGH", "m/s", "cm/s"),
    ),
    (
        ArduPilot,
        Meaning::LandingAltitudeLow,
        &rescaled("LAND_ALT_LOW_M", "LAND_ALT_LOW", "m", "cm"),
    ),
    (
        ArduPilot,
        Meaning::WaypointAcceleration,
        &rescaled("WP_ACC", "WPNAV_ACCEL", "m/s²", "cm/s²"),
    ),
    (
        ArduPilot,
        Meaning::PilotClimbSpeed,
        &rescaled("PILOT_SPD_UP", "PILOT_SPEED_UP", "m/s", "cm/s"),
    ),
    (
        ArduPilot,
        Meaning::PilotDescentSpeed,
        &rescaled("PILOT_SPD_DN", "PILOT_SPEED_DN", "m/s", "cm/s"),
    ),
    (
        ArduPilot,
        Meaning::PilotAcceleration,
        &rescaled("PILOT_ACC_Z", "PILOT_ACCEL_Z", "m/s²", "cm/s²"),
    ),
    (
        ArduPilot,
        Meaning::BrakeAngle,
        &rescaled("PHLD_BRK_ANGLE", "PHLD_BRAKE_ANGLE", "degrees", "centidegrees"),
    ),
    (
        ArduPilot,
        Meaning::BrakeRate,
        &[
            name("PHLD_BRK_RATE", Scaled(1.0), "degrees/s", NEW),
            name("PHLD_BRAKE_RATE", Scaled(1.0), "degrees/s", OLD),
        ],
    ),
    (
        ArduPilot,
        Meaning::TakeoffAltitude,
        &rescaled("PILOT_TKO_ALT_M", "PILOT_TKOFF_ALT", "m", "cm"),
    ),
    (Px4, Meaning::TakeoffAltitude, &one("MIS_TAKEOFF_ALT", Scaled(1.0), "m")),
    (
        ArduPilot,
        Meaning::LeanAngleMaximum,
        &rescaled("ATC_ANGLE_MAX", "ANGLE_MAX", "degrees", "centidegrees"),
    ),
    (
        Px4,
        Meaning::LeanAngleMaximum,
        &one("MPC_TILTMAX_AIR", Scaled(1.0), "degrees"),
    ),
    (
        ArduPilot,
        Meaning::GroundStationLossAction,
        &one("FS_GCS_ENABLE", Code, ""),
    ),
    (Px4, Meaning::GroundStationLossAction, &one("NAV_DLL_ACT", Code, "")),
    (
        ArduPilot,
        Meaning::GroundStationLossTime,
        &[name("FS_GCS_TIMEOUT", Scaled(1.0), "s", "ArduCopter from 4.1")],
    ),
    (
        Px4,
        Meaning::GroundStationLossTime,
        &one("COM_DL_LOSS_T", Scaled(1.0), "s"),
    ),
    (
        ArduPilot,
        Meaning::GroundStationLossExceptions,
        &one("FS_OPTIONS", Bits, ""),
    ),
    (
        Px4,
        Meaning::GroundStationLossExceptions,
        &[name("COM_DLL_EXCEPT", Bits, "", "PX4 from 1.16")],
    ),
    (ArduPilot, Meaning::LowBatteryAction, &one("BATT_FS_LOW_ACT", Code, "")),
    (Px4, Meaning::LowBatteryAction, &one("COM_LOW_BAT_ACT", Code, "")),
    (
        ArduPilot,
        Meaning::LowBatteryVoltage,
        &one("BATT_LOW_VOLT", Scaled(1.0), "V"),
    ),
    (
        ArduPilot,
        Meaning::LowBatteryCharge,
        &one("BATT_LOW_MAH", Scaled(1.0), "mAh"),
    ),
    (
        ArduPilot,
        Meaning::CriticalBatteryAction,
        &one("BATT_FS_CRT_ACT", Code, ""),
    ),
    (Px4, Meaning::CriticalBatteryPart, &one("BAT_CRIT_THR", Scaled(1.0), "")),
    (
        ArduPilot,
        Meaning::RemoteControlLossAction,
        &one("FS_THR_ENABLE", Code, ""),
    ),
    (Px4, Meaning::RemoteControlLossAction, &one("NAV_RCL_ACT", Code, "")),
    (
        Px4,
        Meaning::RemoteIdAction,
        &[name("COM_ARM_ODID", Code, "", "PX4 from 1.14")],
    ),
    (
        ArduPilot,
        Meaning::ArmingChecks,
        &[
            name("ARMING_SKIPCHK", SkippedBits, "", NEW),
            name("ARMING_CHECK", Bits, "", OLD),
        ],
    ),
    (ArduPilot, Meaning::FenceSwitch, &one("FENCE_ENABLE", Code, "")),
    (ArduPilot, Meaning::FenceKinds, &one("FENCE_TYPE", Bits, "")),
    (ArduPilot, Meaning::FenceAction, &one("FENCE_ACTION", Code, "")),
    (Px4, Meaning::FenceAction, &one("GF_ACTION", Code, "")),
    (
        ArduPilot,
        Meaning::FenceCeiling,
        &one("FENCE_ALT_MAX", Scaled(1.0), "m"),
    ),
    (Px4, Meaning::FenceCeiling, &one("GF_MAX_VER_DIST", Scaled(1.0), "m")),
    (
        ArduPilot,
        Meaning::SystemId,
        &[name("MAV_SYSID", Code, "", NEW), name("SYSID_THISMAV", Code, "", OLD)],
    ),
    (Px4, Meaning::SystemId, &one("MAV_SYS_ID", Code, "")),
    (
        ArduPilot,
        Meaning::GroundStationSystemId,
        &[name("MAV_GCS_SYSID", Code, "", NEW), name("SYSID_MYGCS", Code, "", OLD)],
    ),
    (
        ArduPilot,
        Meaning::GroundStationEnforced,
        &[name("MAV_OPTIONS", Bits, "", NEW), name("SYSID_ENFORCE", Code, "", OLD)],
    ),
    (
        ArduPilot,
        Meaning::TelemetryDelay,
        &[
            name("MAV_TELEM_DELAY", Scaled(1.0), "s", NEW),
            name("TELEM_DELAY", Scaled(1.0), "s", OLD),
        ],
    ),
];

/// Parameters that later versions do not have under any name: the version without it, and the rest of the sentence that says so.
const GONE: &[(Autopilot, &str, &str, &str)] = &[
    (
        Px4,
        "COM_RC_OVERRIDE",
        "PX4 1.18",
        "; a pilot takes over by the speed of a stick, with MAN_OVERRIDE_SPD instead",
    ),
    (Px4, "COM_TAKEOFF_ACT", "PX4 1.18", ""),
    (Px4, "COM_OBC_LOSS_T", "PX4 1.18", ""),
    (
        Px4,
        "MAV_SIGN_CFG",
        "PX4 1.18",
        "; a key on its SD card switches signing on instead",
    ),
    (Px4, "GF_PREDICT", "PX4 1.17", ""),
];

/// Since when no version has `parameter`, and what is there instead: `gone from PX4 1.18`. `None`: nothing is known of that.
pub fn gone(autopilot: Autopilot, parameter: &str) -> Option<String> {
    let row = GONE
        .iter()
        .find(|(of, name, ..)| (*of, *name) == (autopilot, parameter));
    row.map(|(_, _, version, instead)| format!("gone from {version}{instead}"))
}

/// The names of a parameter on both stacks, for a vehicle whose own is not known: `RTL_ALT_M, RTL_ALT, RTL_RETURN_ALT`.
pub fn all_names(meaning: Meaning) -> String {
    let rows = TABLE.iter().filter(|(_, known, _)| *known == meaning);
    let all: Vec<&str> = rows
        .flat_map(|(.., names)| names.iter().map(|name| name.name))
        .collect();
    all.join(", ")
}

/// Newest first. An autopilot has one of them, or none; it is asked for each.
pub fn names(autopilot: Autopilot, meaning: Meaning) -> &'static [Name] {
    let row = TABLE
        .iter()
        .find(|(of, known, _)| (*of, *known) == (autopilot, meaning));
    row.map_or(&[], |(.., names)| names)
}

/// The names of a parameter on a stack, with their versions where there are more: `MAV_SYSID (ArduCopter from 4.7) or SYSID_THISMAV (…)`.
pub fn names_with_versions(autopilot: Autopilot, meaning: Meaning) -> String {
    let names = names(autopilot, meaning);
    let words = |name: &Name| match names.len() {
        1 => name.name.to_owned(),
        _ => format!("{} ({})", name.name, name.versions),
    };
    names.iter().map(words).collect::<Vec<_>>().join(" or ")
}

pub fn is_in_every_version(autopilot: Autopilot, meaning: Meaning) -> bool {
    let names = names(autopilot, meaning);
    names.len() > 1 || names.iter().any(|name| name.versions == ALL)
}

pub fn find(autopilot: Autopilot, parameter: &str) -> Option<(Meaning, &'static Name)> {
    let rows = TABLE.iter().filter(|(of, ..)| *of == autopilot);
    let mut rows = rows.flat_map(|(_, meaning, names)| names.iter().map(|name| (*meaning, name)));
    rows.find(|(_, name)| name.name == parameter)
}

pub fn others(autopilot: Autopilot, parameter: &str) -> impl Iterator<Item = &'static Name> {
    let known = find(autopilot, parameter).map(|(meaning, name)| (names(autopilot, meaning), name.name));
    let (names, own) = known.unwrap_or((&[], ""));
    names.iter().filter(move |name| name.name != own)
}

/// The newest name of `parameter`, or itself.
pub fn newest(autopilot: Autopilot, parameter: &str) -> &str {
    let known = find(autopilot, parameter).and_then(|(meaning, _)| names(autopilot, meaning).first());
    known.map_or(parameter, |name| name.name)
}

/// The names under which an autopilot may have `parameter`, the newest first, if its number can be converted to each. Empty where nothing
/// is known of it.
pub fn convertible(autopilot: Autopilot, parameter: &str) -> &'static [Name] {
    let names = find(autopilot, parameter).map_or(&[][..], |(meaning, _)| names(autopilot, meaning));
    match names.split_first() {
        Some((newest, others)) if others.iter().all(|other| other.converts_to(newest)) => names,
        _ => &[],
    }
}

/// The other names of `parameter` as a sentence: `ArduCopter from 4.7 has it as RTL_ALT_M (m)`. Empty: none is known.
pub fn elsewhere(autopilot: Autopilot, parameter: &str) -> String {
    let each = others(autopilot, parameter).map(|name| format!("{} has it as {}", name.versions, name.words()));
    each.collect::<Vec<_>>().join(", ")
}

/// Smallest and largest plausible value, in the unit of the meaning, and whether 0 has a special meaning besides. The ranges that autopilots
/// document, some of them wider, but not so wide that the usual value of a hundredth of the unit fits.
const fn plausible(meaning: Meaning) -> Option<(f64, f64, bool)> {
    Some(match meaning {
        Meaning::ReturnAltitude => (2.0, 500.0, true),
        Meaning::ReturnClimbMinimum => (0.5, 30.0, true),
        Meaning::ReturnFinalAltitude => (0.5, 40.0, true),
        // PX4's goes up to 80.
        Meaning::TakeoffAltitude => (0.5, 80.0, true),
        Meaning::ReturnSpeed => (0.3, 30.0, true),
        Meaning::WaypointRadius => (0.1, 50.0, false),
        Meaning::WaypointSpeed => (0.3, 30.0, false),
        Meaning::ClimbSpeed | Meaning::DescentSpeed => (0.2, 15.0, false),
        Meaning::LandingSpeed => (0.2, 3.0, false),
        Meaning::LandingSpeedHigh | Meaning::PilotDescentSpeed => (0.3, 15.0, true),
        Meaning::PilotClimbSpeed => (0.3, 15.0, false),
        Meaning::LandingAltitudeLow => (1.0, 100.0, false),
        Meaning::WaypointAcceleration | Meaning::PilotAcceleration => (0.3, 10.0, false),
        Meaning::BrakeAngle => (10.0, 60.0, false),
        Meaning::LeanAngleMaximum => (10.0, 80.0, false),
        Meaning::GroundStationLossTime => (1.0, 300.0, false),
        _ => return None,
    })
}

/// Why `stored` must be in another unit. `None`: it is plausible, or nothing is known of it.
pub fn implausible(autopilot: Autopilot, parameter: &str, stored: f64) -> Option<String> {
    let (meaning, name) = find(autopilot, parameter)?;
    let (low, high, zero) = plausible(meaning)?;
    let value = name.read(stored);
    if (low..=high).contains(&value) || (zero && value == 0.0) {
        return None;
    }
    let other = others(autopilot, parameter)
        .map(|other| format!("; {} has it in {} as {}", other.versions, other.unit, other.name));
    Some(format!(
        "{} is not plausible, which is from {} to {}{}",
        name.value_words(stored),
        name.value_words(name.write(low)),
        name.value_words(name.write(high)),
        other.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_parameter_is_the_same_quantity_in_another_unit() {
        let [new, old] = names(ArduPilot, Meaning::ReturnAltitude) else {
            panic!("two names")
        };
        assert_eq!((new.name, old.name), ("RTL_ALT_M", "RTL_ALT"));
        assert_eq!((new.read(100.0), old.read(10_000.0)), (100.0, 100.0));
        assert_eq!((new.write(35.5), old.write(35.5)), (35.5, 3550.0));
        assert_eq!(old.value_words(10_000.0), "10000 cm (100 m)");
        assert_eq!(new.value_words(100.0), "100 m");
        let [others] = &others(ArduPilot, "RTL_ALT").collect::<Vec<_>>()[..] else {
            panic!("one other name")
        };
        assert_eq!(others.words(), "RTL_ALT_M (m)");
    }

    #[test]
    fn a_value_of_another_unit_is_not_plausible() {
        for (name, fine, slip) in [
            ("RTL_ALT_M", 30.0, 3000.0),
            ("RTL_ALT", 3000.0, 30.0),
            ("WP_SPD", 5.0, 500.0),
            ("WPNAV_SPEED", 500.0, 5.0),
            ("ATC_ANGLE_MAX", 30.0, 3000.0),
            ("RTL_CLIMB_MIN_M", 1.0, 100.0),
            ("RTL_ALT_FINAL_M", 1.0, 100.0),
            ("PILOT_TKO_ALT_M", 1.0, 100.0),
            ("LAND_ALT_LOW_M", 10.0, 1000.0),
            ("LAND_SPD_HIGH_MS", 2.0, 200.0),
            ("PILOT_SPD_UP", 2.5, 250.0),
            ("WP_ACC", 2.5, 250.0),
            ("PHLD_BRK_ANGLE", 30.0, 3000.0),
        ] {
            assert_eq!(implausible(ArduPilot, name, fine), None, "{name}");
            assert!(implausible(ArduPilot, name, slip).is_some(), "{name}");
        }
        let words = implausible(ArduPilot, "RTL_ALT_M", 3000.0).unwrap();
        assert_eq!(
            words,
            "3000 m is not plausible, which is from 2 m to 500 m; ArduCopter until 4.6 has it in cm as RTL_ALT"
        );
        assert_eq!(implausible(ArduPilot, "RTL_ALT", 0.0), None, "as high as it is");
        assert!(implausible(Px4, "RTL_RETURN_ALT", f64::NAN).is_some());
    }

    #[test]
    fn each_rescaled_parameter_refuses_the_number_of_its_other_unit() {
        let mut count = 0;
        for (autopilot, meaning, names) in TABLE {
            let [new, old] = *names else { continue };
            if new.encoding == old.encoding || !new.converts_to(old) {
                continue;
            }
            count += 1;
            let Some((low, high, zero)) = plausible(*meaning) else {
                panic!("{} has no range", new.name)
            };
            for value in [(low * high).sqrt(), high] {
                for (own, other) in [(new, old), (old, new)] {
                    let (fine, slip) = (own.write(value), other.write(value));
                    assert_eq!(implausible(*autopilot, own.name, fine), None, "{}: {fine}", own.name);
                    if value < high || own == new {
                        assert!(
                            implausible(*autopilot, own.name, slip).is_some(),
                            "{}: {slip}",
                            own.name
                        );
                    }
                }
            }
            assert_eq!(implausible(*autopilot, new.name, 0.0).is_none(), zero, "{}", new.name);
        }
        assert!(count > 10, "{count}");
    }

    #[test]
    fn a_number_is_converted_between_names_only_where_both_count_the_same() {
        assert_eq!(convertible(ArduPilot, "RTL_ALT").len(), 2);
        assert_eq!(convertible(ArduPilot, "FS_GCS_ENABLE").len(), 1);
        assert_eq!(convertible(ArduPilot, "SYSID_THISMAV").len(), 2);
        assert!(convertible(ArduPilot, "ARMING_CHECK").is_empty(), "inverted");
        assert!(convertible(ArduPilot, "SCR_ENABLE").is_empty(), "not known");
        assert_eq!(
            elsewhere(ArduPilot, "RTL_ALT"),
            "ArduCopter from 4.7 has it as RTL_ALT_M (m)"
        );
        assert_eq!(elsewhere(ArduPilot, "FS_GCS_ENABLE"), "");
    }

    #[test]
    fn a_name_has_one_meaning_on_a_stack_and_a_meaning_one_row() {
        for autopilot in [ArduPilot, Px4] {
            let rows = TABLE.iter().filter(|(of, ..)| *of == autopilot);
            let mut all: Vec<&str> = rows
                .clone()
                .flat_map(|(.., names)| names.iter().map(|n| n.name))
                .collect();
            let mut meanings: Vec<Meaning> = rows.map(|(_, meaning, _)| *meaning).collect();
            let count = (all.len(), meanings.len());
            all.sort_unstable();
            meanings.sort_unstable();
            all.dedup();
            meanings.dedup();
            assert_eq!((all.len(), meanings.len()), count);
            assert!(all.iter().all(|name| name.len() <= 16));
        }
        for (autopilot, name, ..) in GONE {
            assert_eq!(find(*autopilot, name), None, "{name} is gone, and has a row");
        }
        assert_eq!(find(Px4, "RTL_ALT"), None, "of the other stack");
        assert!(is_in_every_version(ArduPilot, Meaning::ReturnAltitude));
        assert!(!is_in_every_version(Px4, Meaning::GroundStationLossExceptions));
    }

    #[test]
    fn a_parameter_that_is_gone_is_named_with_its_successor() {
        assert_eq!(
            gone(Px4, "COM_RC_OVERRIDE").unwrap(),
            "gone from PX4 1.18; a pilot takes over by the speed of a stick, with MAN_OVERRIDE_SPD instead"
        );
        assert_eq!(gone(Px4, "COM_OBC_LOSS_T").unwrap(), "gone from PX4 1.18");
        assert_eq!(gone(Px4, "RTL_RETURN_ALT"), None);
        assert_eq!(gone(ArduPilot, "COM_OBC_LOSS_T"), None, "of the other stack");
        assert_eq!(
            elsewhere(ArduPilot, "PHLD_BRAKE_RATE"),
            "ArduCopter from 4.7 has it as PHLD_BRK_RATE (degrees/s)"
        );
    }

    #[test]
    fn all_names_of_a_meaning_are_those_of_both_stacks_with_the_newest_first() {
        assert_eq!(all_names(Meaning::ReturnAltitude), "RTL_ALT_M, RTL_ALT, RTL_RETURN_ALT");
        assert_eq!(all_names(Meaning::TelemetryDelay), "MAV_TELEM_DELAY, TELEM_DELAY");
        assert_eq!(
            names_with_versions(ArduPilot, Meaning::SystemId),
            "MAV_SYSID (ArduCopter from 4.7) or SYSID_THISMAV (ArduCopter until 4.6)"
        );
        assert_eq!(names_with_versions(Px4, Meaning::SystemId), "MAV_SYS_ID");
    }
}
