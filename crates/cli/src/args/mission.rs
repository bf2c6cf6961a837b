//! The command lines about Missions: `skein mission preview`, `import` and `export`.

use super::import::MissionChoices;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use model::units::Wgs84;
use std::path::PathBuf;

/// Arguments of `skein mission`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct MissionArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MissionCommand,
}

/// What to do with a Mission.
#[derive(Debug, Subcommand)]
pub enum MissionCommand {
    /// Shows what a Mission would come to: lines, coverage, photos, and the flying time of each vehicle.
    ///
    /// It is planned on this machine, for calm air, and nothing is flown or sent.
    Preview(PreviewArgs),
    /// Prints the Mission that a file of QGroundControl (.plan) or Mission Planner (QGC WPL 110) says.
    ///
    /// The items become waypoints of spec.route. Takeoff and landing are left out, since Skein takes vehicles off and brings
    /// them home. What is left out is said on standard error. Surveys and corridors come as the waypoints that the ground
    /// station has made of them. `skein import` reads other files, too, and takes the fence of a plan.
    Import(ImportArgs),
    /// Prints the waypoints of a Mission as a file for a ground station.
    ///
    /// Takeoff and landing are none of them.
    Export(ExportArgs),
}

/// Which Mission.
#[derive(Debug, Args)]
pub struct MissionFile {
    /// YAML file with the Mission, and with the ConfigMap that it names, if it names one; - is standard input.
    #[arg(value_name = "FILE.yaml")]
    pub file: PathBuf,
    /// Which Mission, where the file has several.
    #[arg(long, value_name = "NAME")]
    pub mission: Option<String>,
}

/// Arguments of `skein mission preview`.
#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// Which Mission.
    #[command(flatten)]
    pub mission: MissionFile,
    /// How many vehicles share it, all starting where the work begins; spec.parallelism when left out.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100), conflicts_with = "start")]
    pub vehicles: Option<u16>,
    /// Where a vehicle takes off and lands, in degrees. Give it once for each vehicle.
    #[arg(long, value_name = "LAT,LON", allow_hyphen_values = true)]
    pub start: Vec<Start>,
    /// How many minutes each vehicle can be on its way before it has to have landed, its reserve left out. When left out:
    /// as long as it takes.
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    pub flying_time: Option<f64>,
    /// Writes what would be flown to this file as GeoJSON; - is standard output, the numbers then go to standard error.
    #[arg(long, value_name = "OUT")]
    pub geojson: Option<PathBuf>,
}

/// Arguments of `skein mission import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A .plan or .waypoints file; - is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Name of the Mission; that of the file when left out.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// How the mission is taken.
    #[command(flatten)]
    pub choices: MissionChoices,
}

/// Arguments of `skein mission export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Which Mission.
    #[command(flatten)]
    pub mission: MissionFile,
    /// The format.
    #[arg(long, value_enum)]
    pub format: FileFormat,
}

/// The format of a file for ground stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// QGroundControl: .plan
    Plan,
    /// Mission Planner and MAVProxy: QGC WPL 110
    Wpl,
}

/// A place where a vehicle takes off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start(pub Wgs84);

impl std::str::FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let read = text.split_once(',').and_then(|(latitude, longitude)| {
            Some(Wgs84 {
                latitude_deg: number(latitude)?,
                longitude_deg: number(longitude)?,
            })
        });
        let place = read.and_then(|at| model::geo::position(at).ok());
        place
            .map(Self)
            .ok_or_else(|| "give LATITUDE,LONGITUDE in degrees, such as 47.3977,8.5456".to_owned())
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|minutes| (1.0..=1440.0).contains(minutes));
    number.ok_or_else(|| "give minutes, from 1 to 1440".to_owned())
}
