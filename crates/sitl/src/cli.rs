//! Command line of `skein-sitl`. Owns: flags, their checks and error lines. Must not: open anything.

mod error;
mod firmware;
mod places;
mod port;

pub use error::ArgsError;
pub use firmware::FirmwareKind;
pub use places::{Home, LinkSpec};
pub use port::PortKind;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::model::{Autopilot, Firmware, GpsError, VehicleConfig};

/// Distance of neighbors at boot: a vehicle that holds above its home is in nobody's way.
const SPACING_M: f64 = 15.0;
const ROW: usize = 10;

/// Simulated ArduPilot and PX4 vehicles that speak MAVLink.
///
/// Prints one JSON line per vehicle once its endpoint can be opened:
/// {"name":..,"system_id":..,"autopilot":..,"endpoint":..}
#[derive(Clone, Debug, Parser)]
#[command(name = "skein-sitl", version, after_long_help = crate::faults::HELP)]
pub struct Args {
    /// Number of vehicles (default: as many as --names, else 1)
    #[arg(long)]
    pub count: Option<usize>,
    /// Which autopilot to imitate; mixed alternates, beginning with ArduPilot
    #[arg(long, value_enum, default_value_t = Fleet::Mixed)]
    pub autopilot: Fleet,
    /// Versions to imitate, one for each autopilot (default: those that were recorded, ArduCopter 4.7-dev and PX4 1.17-alpha)
    #[arg(long, value_enum, value_delimiter = ',')]
    pub firmware: Vec<FirmwareKind>,
    /// Simulated seconds per real second
    #[arg(long, allow_negative_numbers = true, default_value_t = 1.0)]
    pub speedup: f64,
    /// The same until a vehicle's estimator has a position for the first time, as it needs for a flight (default: as --speedup)
    #[arg(long, allow_negative_numbers = true)]
    pub boot_speedup: Option<f64>,
    /// Endpoints of the vehicles: pty:FOLDER, udp:HOST:PORT or tcp:HOST:PORT (PORT is the first vehicle's, then counted
    /// up); none: no endpoint
    #[arg(long)]
    pub link: LinkSpec,
    /// Names become PREFIX-1, PREFIX-2, ...
    #[arg(long, default_value = "vehicle")]
    pub name_prefix: String,
    /// Names of the vehicles, instead of the prefix and a number
    #[arg(long, value_delimiter = ',')]
    pub names: Vec<String>,
    /// MAVLink system id of the first vehicle; the next ones count up
    #[arg(long, allow_negative_numbers = true, default_value_t = 1)]
    pub system_id_base: u16,
    /// All vehicles have the system id of the first, as autopilots have that nobody has set up
    #[arg(long)]
    pub same_system_id: bool,
    /// Folder for NAME.tlog files with every frame in both directions
    #[arg(long)]
    pub wire_log: Option<PathBuf>,
    /// Battery drain while armed: PERCENT, or NAME=PERCENT for one vehicle
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub battery_percent_per_minute: Vec<String>,
    /// Battery at boot: PERCENT, or NAME=PERCENT for one vehicle
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub initial_battery: Vec<String>,
    /// How much too high a vehicle's receiver reports altitudes above mean sea level, at home as in flight: METERS, or NAME=METERS for one vehicle
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub gps_altitude_offset: Vec<String>,
    /// How far the estimate of a vehicle's place wanders over ground in the air: METERS, or NAME=METERS for one vehicle
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub gps_wander: Vec<String>,
    /// What a vehicle's receiver reports as its accuracy over ground (0: not known): METERS, or NAME=METERS for one vehicle
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub gps_horizontal_accuracy: Vec<String>,
    /// The same in altitude: METERS, or NAME=METERS for one vehicle
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true)]
    pub gps_vertical_accuracy: Vec<String>,
    /// Parameters of all vehicles: NAME=NUMBER
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub param: Vec<String>,
    /// Vehicles that never pass their preflight checks
    #[arg(long, value_delimiter = ',')]
    pub never_ready: Vec<String>,
    /// Also end when standard input closes, so that the simulator never outlives the process that started it
    #[arg(long)]
    pub until_stdin_closes: bool,
    /// File of scripted faults, a fault per line; --help lists them
    #[arg(long)]
    pub faults: Option<PathBuf>,
    /// What the port of a PX4 is set up for
    #[arg(long, value_enum, default_value_t = PortKind::Radio)]
    pub port: PortKind,
    /// Each second print one more JSON line: how late the steps of the vehicles were in it, in milliseconds
    #[arg(long)]
    pub print_pace: bool,
    /// Place of the first vehicle: latitude, longitude, meters above mean sea level
    #[arg(long, default_value_t = Home::USUAL, allow_hyphen_values = true)]
    pub home: Home,
}

impl Args {
    #[must_use]
    pub fn on(link: LinkSpec) -> Self {
        Self {
            count: None,
            autopilot: Fleet::Mixed,
            firmware: Vec::new(),
            speedup: 1.0,
            boot_speedup: None,
            link,
            name_prefix: "vehicle".to_owned(),
            names: Vec::new(),
            system_id_base: 1,
            same_system_id: false,
            wire_log: None,
            battery_percent_per_minute: Vec::new(),
            initial_battery: Vec::new(),
            gps_altitude_offset: Vec::new(),
            gps_wander: Vec::new(),
            gps_horizontal_accuracy: Vec::new(),
            gps_vertical_accuracy: Vec::new(),
            param: Vec::new(),
            never_ready: Vec::new(),
            until_stdin_closes: false,
            faults: None,
            port: PortKind::Radio,
            print_pace: false,
            home: Home::USUAL,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fleet {
    /// Only ArduCopter.
    Ardupilot,
    /// Only PX4.
    Px4,
    /// Both, alternating.
    Mixed,
}

#[derive(Clone, Debug)]
pub struct VehiclePlan {
    pub name: String,
    pub config: VehicleConfig,
}

impl Args {
    /// Ids count up from the base and wrap from 255 to 1; repeats are harmless, as every vehicle has a link of its own.
    pub fn vehicles(&self) -> Result<Vec<VehiclePlan>, ArgsError> {
        for (flag, factor) in [("--speedup", Some(self.speedup)), ("--boot-speedup", self.boot_speedup)] {
            if let Some(factor) = factor.filter(|factor| !(0.01..=100.0).contains(factor)) {
                return Err(ArgsError::Speedup(flag, factor.to_string()));
            }
        }
        if !(1..=255).contains(&self.system_id_base) {
            return Err(ArgsError::SystemId(self.system_id_base));
        }
        let names = self.vehicle_names()?;
        if let LinkSpec::Udp(address) | LinkSpec::Tcp(address) = &self.link
            && usize::from(address.port()) + names.len() > 1 + usize::from(u16::MAX)
        {
            return Err(ArgsError::Ports {
                count: names.len(),
                port: address.port(),
            });
        }
        let drain = PerVehicle::parse("--battery-percent-per-minute", &self.battery_percent_per_minute, &names)?;
        let flag = "--initial-battery";
        let charge = PerVehicle::parse_from(0.0..=100.0, flag, &self.initial_battery, &names)?;
        let receivers = self.receivers(&names)?;
        for name in &self.never_ready {
            known_name("--never-ready", name, &names)?;
        }
        let parameters = self
            .param
            .iter()
            .map(|text| parameter(text))
            .collect::<Result<Vec<_>, _>>()?;
        let plan = |(index, name): (usize, &String)| {
            let autopilot = match self.autopilot {
                Fleet::Ardupilot => Autopilot::ArduPilot,
                Fleet::Px4 => Autopilot::Px4,
                Fleet::Mixed if index % 2 == 0 => Autopilot::ArduPilot,
                Fleet::Mixed => Autopilot::Px4,
            };
            let further = if self.same_system_id { 0 } else { index };
            let system_id = ((usize::from(self.system_id_base) - 1 + further) % 255 + 1) as u8;
            let place = self
                .home
                .0
                .offset_meters((index / ROW) as f64 * SPACING_M, (index % ROW) as f64 * SPACING_M);
            let mut config = VehicleConfig::new(autopilot, system_id, place);
            let versions = self.firmware.iter().map(|kind| Firmware::from(*kind));
            let version = versions.rev().find(|version| version.autopilot() == Some(autopilot));
            config.firmware = version.unwrap_or_default();
            config.battery_percent = charge.get(name).unwrap_or(config.battery_percent);
            config.battery_percent_per_minute = drain.get(name).unwrap_or(config.battery_percent_per_minute);
            config.gps = receivers.of(name);
            config.parameters.clone_from(&parameters);
            config.never_ready = self.never_ready.contains(name);
            config.port = self.port.into();
            VehiclePlan {
                name: name.clone(),
                config,
            }
        };
        Ok(names.iter().enumerate().map(plan).collect())
    }

    fn receivers(&self, names: &[String]) -> Result<Receivers, ArgsError> {
        let parse = |flag, values| PerVehicle::parse(flag, values, names);
        let flag = "--gps-altitude-offset";
        Ok(Receivers {
            altitude_offset: PerVehicle::parse_from(f64::MIN..=f64::MAX, flag, &self.gps_altitude_offset, names)?,
            wander: parse("--gps-wander", &self.gps_wander)?,
            horizontal: parse("--gps-horizontal-accuracy", &self.gps_horizontal_accuracy)?,
            vertical: parse("--gps-vertical-accuracy", &self.gps_vertical_accuracy)?,
        })
    }

    fn vehicle_names(&self) -> Result<Vec<String>, ArgsError> {
        let count = self.count.unwrap_or(self.names.len().max(1));
        if count == 0 {
            return Err(ArgsError::None);
        }
        if self.names.is_empty() {
            let names: Vec<String> = (1..=count)
                .map(|number| format!("{}-{number}", self.name_prefix))
                .collect();
            check_name(&names[0])?;
            return Ok(names);
        }
        if count != self.names.len() {
            return Err(ArgsError::CountAndNames {
                count,
                names: self.names.len(),
            });
        }
        for (index, name) in self.names.iter().enumerate() {
            check_name(name)?;
            if self.names[..index].contains(name) {
                return Err(ArgsError::NameTwice(name.clone()));
            }
        }
        Ok(self.names.clone())
    }
}

fn parameter(text: &str) -> Result<(String, f32), ArgsError> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let value = value.parse().ok().filter(|value: &f32| value.is_finite());
    let value = value.ok_or_else(|| ArgsError::BadParameter(text.to_owned()))?;
    Ok((name.to_owned(), value))
}

fn check_name(name: &str) -> Result<(), ArgsError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fine) {
        return Err(ArgsError::BadName(name.to_owned()));
    }
    Ok(())
}

fn known_name(flag: &'static str, name: &str, names: &[String]) -> Result<(), ArgsError> {
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(ArgsError::NoSuchVehicle {
        flag,
        name: name.to_owned(),
        known: names.join(", "),
    })
}

struct Receivers {
    altitude_offset: PerVehicle,
    wander: PerVehicle,
    horizontal: PerVehicle,
    vertical: PerVehicle,
}

impl Receivers {
    fn of(&self, name: &str) -> GpsError {
        let usual = GpsError::default();
        GpsError {
            altitude_offset_m: self.altitude_offset.get(name).unwrap_or(usual.altitude_offset_m),
            wander_m: self.wander.get(name).unwrap_or(usual.wander_m),
            horizontal_accuracy_m: self.horizontal.get(name).unwrap_or(usual.horizontal_accuracy_m),
            vertical_accuracy_m: self.vertical.get(name).unwrap_or(usual.vertical_accuracy_m),
        }
    }
}

/// A number for all vehicles, with exceptions by name.
struct PerVehicle {
    all: Option<f64>,
    named: BTreeMap<String, f64>,
}

impl PerVehicle {
    fn parse(flag: &'static str, values: &[String], names: &[String]) -> Result<Self, ArgsError> {
        Self::parse_from(0.0..=f64::MAX, flag, values, names)
    }

    fn parse_from(
        range: RangeInclusive<f64>,
        flag: &'static str,
        values: &[String],
        names: &[String],
    ) -> Result<Self, ArgsError> {
        let mut parsed = Self {
            all: None,
            named: BTreeMap::new(),
        };
        for value in values {
            let wrong = || ArgsError::BadNumber {
                flag,
                value: value.clone(),
                range: match (*range.start(), *range.end()) {
                    (f64::MIN, f64::MAX) => "a number".to_owned(),
                    (least, f64::MAX) => format!("a number from {least} up"),
                    (least, most) => format!("a number from {least} to {most}"),
                },
            };
            let (name, number) = match value.split_once('=') {
                Some((name, number)) => (Some(name), number),
                None => (None, value.as_str()),
            };
            let number: f64 = number.parse().map_err(|_| wrong())?;
            if !range.contains(&number) {
                return Err(wrong());
            }
            match name {
                Some(name) => {
                    known_name(flag, name, names)?;
                    parsed.named.insert(name.to_owned(), number);
                }
                None => parsed.all = Some(number),
            }
        }
        Ok(parsed)
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.named.get(name).copied().or(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vehicles(flags: &[&str]) -> Result<Vec<VehiclePlan>, ArgsError> {
        let line = ["skein-sitl", "--link", "pty:/tmp/x"]
            .into_iter()
            .chain(flags.iter().copied());
        Args::try_parse_from(line).unwrap().vehicles()
    }

    #[test]
    fn a_program_and_a_person_get_the_same_vehicle_by_default() {
        let link = LinkSpec::Pty("/tmp/x".into());
        let typed = Args::parse_from(["skein-sitl", "--link", "pty:/tmp/x"]);
        assert_eq!(format!("{:?}", Args::on(link)), format!("{typed:?}"));
    }

    #[test]
    fn a_mixed_fleet_alternates_and_is_fifteen_meters_apart() {
        let plans = vehicles(&["--count", "3"]).unwrap();
        let kinds: Vec<_> = plans.iter().map(|plan| plan.config.autopilot).collect();
        assert_eq!(kinds, [Autopilot::ArduPilot, Autopilot::Px4, Autopilot::ArduPilot]);
        assert_eq!(plans[2].name, "vehicle-3");
        let east_m = (plans[1].config.home.lon_deg - plans[0].config.home.lon_deg)
            * 111_319.5
            * 47.397742_f64.to_radians().cos();
        assert!((east_m - 15.0).abs() < 0.01, "{east_m}");
    }

    #[test]
    fn a_speed_that_is_out_of_range_is_refused_by_the_name_of_its_flag() {
        for flag in ["--speedup", "--boot-speedup"] {
            let refused = vehicles(&[flag, "0"]).unwrap_err().to_string();
            assert_eq!(refused, format!("{flag} 0 is out of range; use 0.01 to 100"));
        }
    }

    #[test]
    fn each_autopilot_of_a_mixed_fleet_plays_the_version_that_was_named_for_it() {
        let versions = |flags: &[&str]| {
            let plans = vehicles(flags).unwrap();
            let versions = plans.iter().map(|plan| plan.config.firmware);
            versions.collect::<Vec<_>>()
        };
        let mixed = versions(&["--count", "2", "--firmware", "copter-4.8,px4-1.16"]);
        assert_eq!(mixed, [Firmware::Copter48, Firmware::Px4V116]);
        let one = versions(&["--count", "2", "--firmware", "px4-1.18"]);
        assert_eq!(one, [Firmware::Recorded, Firmware::Px4V118]);
    }

    #[test]
    fn a_battery_setting_by_name_beats_the_one_for_all() {
        let plans = vehicles(&["--names", "a,b", "--initial-battery", "80,b=20"]).unwrap();
        assert_eq!(
            (plans[0].config.battery_percent, plans[1].config.battery_percent),
            (80.0, 20.0)
        );
    }

    #[test]
    fn a_charge_that_no_battery_has_is_refused_with_the_range() {
        for value in ["500", "-5", "b=100.5", "NaN"] {
            let refused = vehicles(&["--names", "a,b", "--initial-battery", value])
                .unwrap_err()
                .to_string();
            let said =
                format!("--initial-battery: `{value}` is not a number from 0 to 100; write NUMBER or NAME=NUMBER");
            assert_eq!(refused, said);
        }
        let refused = vehicles(&["--gps-wander", "-1"]).unwrap_err().to_string();
        assert!(refused.contains("is not a number from 0 up"), "{refused}");
        assert!(vehicles(&["--gps-altitude-offset", "-3"]).is_ok());
    }

    #[test]
    fn a_receiver_has_no_error_and_reports_its_accuracy_unless_flags_say_otherwise() {
        let gps = |flags: &[&str]| {
            let plans = vehicles(flags).unwrap();
            plans.iter().map(|plan| plan.config.gps).collect::<Vec<_>>()
        };
        assert_eq!(gps(&["--count", "2"]), [GpsError::default(); 2]);
        let flags = [
            "--names",
            "a,b",
            "--gps-altitude-offset",
            "a=-6.5",
            "--gps-wander",
            "2",
            "--gps-vertical-accuracy",
            "b=0",
        ];
        let [a, b] = gps(&flags)[..] else { panic!() };
        assert_eq!(
            (a.altitude_offset_m, a.wander_m, a.vertical_accuracy_m),
            (-6.5, 2.0, 1.78)
        );
        assert_eq!(
            (b.altitude_offset_m, b.wander_m, b.vertical_accuracy_m),
            (0.0, 2.0, 0.0)
        );
        assert!(vehicles(&["--gps-wander=-1"]).is_err());
    }

    #[test]
    fn a_flag_for_a_vehicle_that_does_not_exist_is_refused_with_the_names_there_are() {
        let error = vehicles(&["--names", "a,b", "--never-ready", "c"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--never-ready: there is no vehicle `c`; vehicles are a, b"
        );
    }

    #[test]
    fn a_name_that_could_leave_the_folder_is_refused() {
        assert_eq!(
            vehicles(&["--names", "../a"]).unwrap_err(),
            ArgsError::BadName("../a".into())
        );
    }
}
