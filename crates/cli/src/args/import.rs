//! The command line of `skein import`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `skein import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of any kind that is read; - is standard input. The .prj file beside a Shapefile is read, too.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the objects; that of the file when left out. A fence beside a mission is named NAME-fence.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Takes only objects of this kind. May be given several times; all when left out.
    #[arg(long = "kind", value_enum, value_name = "KIND")]
    pub kinds: Vec<Kind>,
    /// Reports what each file holds and what is wrong with it, and prints no objects.
    #[arg(long, conflicts_with = "output")]
    pub check: bool,
    /// Writes each object to a file KIND-NAME.yaml of its own in this folder, instead of all to standard output.
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How missions are taken.
    #[command(flatten)]
    pub mission: MissionChoices,
    /// What the polygons of a map are: an area that is flown over, or one that vehicles stay inside or outside of.
    #[arg(long = "as", value_enum, value_name = "WHAT")]
    pub purpose: Option<AreaPurpose>,
    /// With --as survey: altitude in meters above home, 1 to 120.
    #[arg(long, value_name = "METERS", value_parser = super::altitude)]
    pub altitude: Option<f64>,
    /// With --as survey: from one line to the next in meters, 1 to 1000.
    #[arg(long, value_name = "METERS", value_parser = spacing)]
    pub spacing: Option<f64>,
    /// For which autopilot parameters are, where the file does not say.
    #[arg(long, value_enum)]
    pub autopilot: Option<Stack>,
    /// Takes only parameters whose names begin so. May be given several times.
    #[arg(long, value_name = "PREFIX")]
    pub only: Vec<String>,
    /// Label of the Vehicles for which a Geofence or ParameterProfile holds. May be given several times; all Vehicles when left out.
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub vehicles: Vec<(String, String)>,
}

/// How missions are taken.
#[derive(Debug, Clone, Default, Args)]
pub struct MissionChoices {
    /// Keeps the items unchanged: prints a ConfigMap with the file and a Mission that names it. For items that no
    /// route has.
    #[arg(long, conflicts_with = "leave_out")]
    pub keep_items: bool,
    /// Leaves out items that no route has (gimbal, servo, region of interest), and names each. When left out, a mission with such
    /// items is kept unchanged where it can be flown so.
    #[arg(long)]
    pub leave_out: bool,
    /// Takes altitudes above mean sea level for altitudes above home. For files that were saved with the wrong reference.
    #[arg(long, conflicts_with = "keep_items")]
    pub above_home: bool,
}

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Missions.
    Mission,
    /// Geofences.
    Geofence,
    /// ParameterProfiles.
    Parameterprofile,
}

/// What a polygon of a map is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AreaPurpose {
    /// A Mission each, whose survey covers the polygon.
    Survey,
    /// A Geofence: vehicles stay inside, and outside of its holes.
    Inclusion,
    /// A Geofence: vehicles stay outside.
    Exclusion,
}

/// An autopilot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stack {
    /// ArduPilot Copter.
    Ardupilot,
    /// PX4.
    Px4,
}

fn spacing(text: &str) -> Result<f64, String> {
    super::in_range(text, 1.0, 1000.0)
}

fn label(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or_else(|| "give KEY=VALUE, such as team=red".to_owned())?;
    crate::labels::possible(key, value)?;
    Ok((key.to_owned(), value.to_owned()))
}
