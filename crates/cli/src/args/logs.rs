//! The command line of `skein logs`.

use super::WhereArgs;
use super::drone::ObjectRef;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `skein logs`.
#[derive(Debug, Args)]
#[group(skip)]
pub struct LogsArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Drone, as NAME or NAMESPACE/NAME: logs of the vehicle that serves it.
    #[arg(required_unless_present = "vehicle", conflicts_with = "vehicle")]
    pub drone: Option<ObjectRef>,
    /// Namespace of the Drone.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "vehicle")]
    pub namespace: Option<String>,
    /// Logs of the vehicle of this node, whatever Drone it serves.
    #[arg(long, value_name = "NODE")]
    pub vehicle: Option<String>,
    /// Shows what the newest log says, line by line, and goes on as it grows: arming, modes, the autopilot's words, commands and what came
    /// of them. Ctrl-C ends it.
    #[arg(short, long, conflicts_with_all = ["download", "autopilot"])]
    pub follow: bool,
    /// Copies logs into DIR, or the present folder: those of --log, all with --all, else the last one with a flight.
    ///
    /// What was interrupted goes on where it stopped. A log that is there is not copied again, and no other file is replaced. Each is checked
    /// by its SHA-256, and has its name only when it is whole.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = ".")]
    pub download: Option<PathBuf>,
    /// Which log, by its number or name in the list; may be given several times. Without --download: shows what it says.
    #[arg(long, value_name = "LOG", conflicts_with_all = ["all", "follow"])]
    pub log: Vec<String>,
    /// The autopilot's own logs, by MAVLink FTP and only on the ground; with --download over the agent's disk, where they stay.
    #[arg(long)]
    pub autopilot: bool,
    /// All logs.
    #[arg(long, requires = "download")]
    pub all: bool,
    /// The longest log that is downloaded, MiB. Nothing is downloaded if a log is longer.
    #[arg(long, value_name = "MIB", default_value_t = 2048, requires = "download")]
    pub max_log_mib: u64,
    /// The most that one call downloads, MiB. Nothing is downloaded if the logs are longer together.
    #[arg(long, value_name = "MIB", default_value_t = 8192, requires = "download")]
    pub max_total_mib: u64,
}

impl LogsArgs {
    pub fn default_namespace(&mut self, namespace: Option<String>) {
        let named = self.drone.as_ref().is_some_and(ObjectRef::names_namespace);
        if self.vehicle.is_none() && !named && self.namespace.is_none() {
            self.namespace = namespace;
        }
    }
}
