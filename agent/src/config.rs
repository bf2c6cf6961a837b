//! The agent's settings, by flags and environment, checked.

use crate::coordinator::{Coordinator, CoordinatorFlags};
use crate::flight_log::{self, FlightLogFlags};
use crate::gcs::{self, GcsFlags};
#[cfg(feature = "upload")]
use crate::upload::{self, UploadFlags};
use clap::Parser;
use fleet::safety::Rest;
use link::LinkUrl;
use model::ids::NodeName;
use model::monitored_battery::MotorBatteries;
use model::units::SystemId;
use std::path::PathBuf;
use std::time::Duration;

/// How long an agent that shares its process waits for its vehicle: nobody kills it, and a person who is there can.
const PATIENT_LANDING: Duration = Duration::from_secs(900);

/// Flies the vehicle of one node as the coordinator orders.
#[derive(Debug, Parser)]
#[command(name = "skein-agent", version = model::version::version())]
pub struct Flags {
    /// Kubernetes name of this node (from the downward API: spec.nodeName).
    #[arg(long, env = "NODE")]
    node: Option<String>,
    /// The autopilot.
    #[arg(long, env = "SKEIN_LINK", help = format!("The autopilot: auto (finds it on the serial ports), {}", link::url::FORMS))]
    link: Option<String>,
    /// Ids of the batteries that drive the motors, where others are monitored too and the autopilot does not say which is which: ArduPilot
    /// never does, and PX4 says "all" of each. Numbers from 0, separated by commas: ArduPilot's BATT is 0, its BATT2 is 1. Others are reported
    /// and never count for the reserve. Left out: all but those of which the autopilot says that they are a payload's or the avionics'.
    #[arg(long, env = "SKEIN_MOTOR_BATTERIES", value_name = "IDS")]
    motor_batteries: Option<String>,
    #[command(flatten)]
    coordinator: CoordinatorFlags,
    /// Directory for what must survive a restart.
    #[arg(long, env = "SKEIN_STATE_DIR", default_value = "/var/lib/skein")]
    pub(crate) state_dir: PathBuf,
    /// Log format: text or json.
    #[arg(long, env = "SKEIN_LOG_FORMAT", default_value = "text")]
    log: String,
    /// Seconds that an ending agent waits for its vehicle to land and disarm; keep it below the pod's
    /// terminationGracePeriodSeconds.
    #[arg(long, env = "SKEIN_LANDING_TIMEOUT", default_value = "280")]
    landing_timeout: String,
    /// Seconds that the vehicle rests on the ground after any landing before it is armed, so that nobody who walks up to it is met
    /// by turning propellers.
    #[arg(long, env = "SKEIN_SETTLE", default_value = "5", value_name = "SECONDS")]
    settle: String,
    /// Seconds of quiet after somebody else flew the vehicle while it served no Drone, or armed it on the ground; then it is offered
    /// again.
    #[arg(long, env = "SKEIN_QUIET_AFTER_OTHERS", default_value = "60", value_name = "SECONDS")]
    quiet_after_others: String,
    /// A file that is kept fresh while the autopilot is heard, for a readiness probe; best on a memory file system.
    #[arg(long, env = "SKEIN_READY_FILE", value_name = "PATH")]
    pub(crate) ready_file: Option<PathBuf>,
    /// Also send the heartbeat of a ground station, while the coordinator is in contact and for up to 20 s after (at most 3/4 of
    /// coordinatorLossSeconds: a fail-over is bridged), so that the autopilot's own failsafe for the loss of its ground station
    /// (NAV_DLL_ACT after COM_DL_LOSS_T, FS_GCS_ENABLE after FS_GCS_TIMEOUT) acts when Skein is gone. Off by default.
    #[arg(long, env = "SKEIN_GCS_HEARTBEAT")]
    gcs_heartbeat: bool,
    /// System id of that heartbeat; ArduPilot counts only the one in its MAV_GCS_SYSID (older: SYSID_MYGCS).
    #[arg(long, env = "SKEIN_GCS_SYSTEM", default_value = "255", value_name = "ID")]
    gcs_system: String,
    #[command(flatten)]
    gcs: GcsFlags,
    #[command(flatten)]
    flight_log: FlightLogFlags,
    #[cfg(feature = "upload")]
    #[command(flatten)]
    upload: UploadFlags,
    /// File with the key of MAVLink 2 signing: 32 bytes, or 64 hexadecimal digits, readable by its owner alone. With it our
    /// frames are signed, and the autopilot's must be. Off by default.
    #[arg(long, env = "SKEIN_SIGNING_KEY", value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// Link id of our signatures; programs that use the same key need different ones.
    #[arg(long, env = "SKEIN_SIGNING_LINK_ID", default_value = "0", value_name = "ID")]
    signing_link_id: String,
    /// Only check the ready file of the agent that runs: status 0 when it is fresh, else 1. For a readiness probe.
    #[arg(long, requires = "ready_file")]
    pub(crate) check_ready: bool,
    /// Only give the state folder, which the kubelet makes for root, to this user and group (UID:GID). For an init container.
    #[arg(long, value_name = "UID:GID")]
    pub(crate) give_state_dir_to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

#[derive(Clone, Debug)]
pub struct Config {
    pub node: NodeName,
    pub link: LinkUrl,
    pub motor_batteries: MotorBatteries,
    pub coordinator: Coordinator,
    pub state_dir: PathBuf,
    pub log: LogFormat,
    pub landing_timeout: Duration,
    pub rest: Rest,
    pub ready_file: Option<PathBuf>,
    /// Key file and link id of MAVLink 2 signing.
    pub signing: Option<(PathBuf, u8)>,
    /// System id as which the agent plays the ground station while the coordinator is in contact; `None`: it does not.
    pub ground_station: Option<SystemId>,
    pub gcs: gcs::Config,
    pub flight_log: flight_log::Config,
    #[cfg(feature = "upload")]
    pub upload: Option<upload::Config>,
}

impl Config {
    /// For a process shared with others: the usual settings, and no ready file.
    pub fn new(node: NodeName, link: LinkUrl, coordinator: Coordinator, state_dir: PathBuf) -> Self {
        Self {
            node,
            link,
            motor_batteries: MotorBatteries::default(),
            coordinator,
            state_dir,
            log: LogFormat::Text,
            landing_timeout: PATIENT_LANDING,
            rest: Rest::default(),
            ready_file: None,
            signing: None,
            ground_station: None,
            gcs: gcs::Config::default(),
            flight_log: flight_log::Config::default(),
            #[cfg(feature = "upload")]
            upload: None,
        }
    }
}

impl Flags {
    /// The error is one line about the first value that is bad or missing.
    pub fn check(self) -> Result<Config, String> {
        let node = required(
            self.node,
            "the node's name is missing: set NODE (downward API: spec.nodeName) or --node",
        )?;
        let node = NodeName::parse(&node).map_err(|e| format!("NODE: {e}"))?;
        let link = required(
            self.link,
            "the link to the autopilot is missing: set SKEIN_LINK or --link, such as serial:/dev/ttyACM0:921600",
        )?;
        let link = link
            .parse()
            .map_err(|e: link::url::BadLinkUrl| format!("SKEIN_LINK: {e}"))?;
        let ids = self.motor_batteries.unwrap_or_default();
        let motor_batteries: MotorBatteries = ids.parse().map_err(|_| {
            format!("SKEIN_MOTOR_BATTERIES: {ids:?} is not a list of battery ids; use numbers from 0 to 255, separated by commas, such as 0,1")
        })?;
        let coordinator = self.coordinator.check().map_err(|e| e.to_string())?;
        let log = match self.log.as_str() {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            other => {
                return Err(format!(
                    "SKEIN_LOG_FORMAT: {other:?} is not a log format; use text or json"
                ));
            }
        };
        let seconds = self.landing_timeout.parse().ok().filter(|s| (1..=3600).contains(s));
        let seconds = seconds.ok_or_else(|| {
            format!(
                "SKEIN_LANDING_TIMEOUT: {:?} is not a number of seconds from 1 to 3600",
                self.landing_timeout
            )
        })?;
        let landing_timeout = Duration::from_secs(seconds);
        let rest = Rest {
            settle: rests("SKEIN_SETTLE", &self.settle)?,
            quiet: rests("SKEIN_QUIET_AFTER_OTHERS", &self.quiet_after_others)?,
        };
        let link_id: u8 = self.signing_link_id.parse().map_err(|_| {
            format!(
                "SKEIN_SIGNING_LINK_ID: {:?} is not a link id; use a number from 0 to 255",
                self.signing_link_id
            )
        })?;
        let system = self.gcs_system.parse().ok().filter(|&id| id != 0).map(SystemId);
        let system = system.ok_or_else(|| {
            format!(
                "SKEIN_GCS_SYSTEM: {:?} is not a MAVLink system id; use a number from 1 to 255",
                self.gcs_system
            )
        })?;
        let flight_log: flight_log::Config = self.flight_log.into();
        #[cfg(feature = "upload")]
        let upload = {
            let checked = self
                .upload
                .check(flight_log.folder.is_some(), |name| std::env::var(name).ok());
            checked.map_err(|e| e.to_string())?
        };
        Ok(Config {
            node,
            link,
            motor_batteries,
            coordinator,
            state_dir: self.state_dir,
            log,
            landing_timeout,
            rest,
            ready_file: self.ready_file,
            signing: self.signing_key.map(|file| (file, link_id)),
            ground_station: self.gcs_heartbeat.then_some(system),
            gcs: self.gcs.try_into().map_err(|e: gcs::BadGcs| e.to_string())?,
            flight_log,
            #[cfg(feature = "upload")]
            upload,
        })
    }
}

fn rests(name: &str, value: &str) -> Result<Duration, String> {
    let seconds = value.parse().ok().filter(|s| (0..=86_400).contains(s));
    let seconds = seconds.ok_or_else(|| format!("{name}: {value:?} is not a number of seconds from 0 to 86400"))?;
    Ok(Duration::from_secs(seconds))
}

fn required(value: Option<String>, missing: &str) -> Result<String, String> {
    value.filter(|v| !v.is_empty()).ok_or_else(|| missing.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> CoordinatorFlags {
        CoordinatorFlags {
            coordinator: Some(address.into()),
            ..CoordinatorFlags::default()
        }
    }

    fn flags() -> Flags {
        Flags {
            node: Some("pine".into()),
            link: Some("udp:127.0.0.1:14580".into()),
            motor_batteries: Some("0,1".into()),
            coordinator: at("http://127.0.0.1:50051"),
            state_dir: "/var/lib/skein".into(),
            log: "json".into(),
            landing_timeout: "280".into(),
            settle: "5".into(),
            quiet_after_others: "60".into(),
            ready_file: None,
            check_ready: false,
            give_state_dir_to: None,
            gcs_heartbeat: false,
            gcs_system: "255".into(),
            signing_key: None,
            signing_link_id: "0".into(),
            gcs: GcsFlags::default(),
            flight_log: FlightLogFlags::default(),
            #[cfg(feature = "upload")]
            upload: UploadFlags::default(),
        }
    }

    #[test]
    fn good_values_are_taken() {
        let config = flags().check().unwrap();
        assert_eq!(config.node.as_str(), "pine");
        assert_eq!((config.log, config.landing_timeout.as_secs()), (LogFormat::Json, 280));
    }

    #[test]
    fn each_bad_value_is_one_line_that_names_it_and_says_what_to_do() {
        let cases: [(Flags, &str); 12] = [
            (
                Flags {
                    motor_batteries: Some("BATT2".into()),
                    ..flags()
                },
                "SKEIN_MOTOR_BATTERIES",
            ),
            (
                Flags {
                    settle: "-1".into(),
                    ..flags()
                },
                "SKEIN_SETTLE",
            ),
            (
                Flags {
                    quiet_after_others: "a minute".into(),
                    ..flags()
                },
                "SKEIN_QUIET_AFTER_OTHERS",
            ),
            (Flags { node: None, ..flags() }, "set NODE"),
            (
                Flags {
                    node: Some("Pine 1".into()),
                    ..flags()
                },
                "NODE: \"Pine 1\" is not a node name",
            ),
            (Flags { link: None, ..flags() }, "set SKEIN_LINK"),
            (
                Flags {
                    link: Some("/dev/ttyACM0".into()),
                    ..flags()
                },
                "use auto, auto:57600, serial:/dev/ttyACM0:921600",
            ),
            (
                Flags {
                    coordinator: CoordinatorFlags::default(),
                    ..flags()
                },
                "set SKEIN_COORDINATOR",
            ),
            (
                Flags {
                    coordinator: at("https://coordinator:50051"),
                    ..flags()
                },
                "set SKEIN_COORDINATOR_CA",
            ),
            (
                Flags {
                    log: "xml".into(),
                    ..flags()
                },
                "use text or json",
            ),
            (
                Flags {
                    landing_timeout: "soon".into(),
                    ..flags()
                },
                "SKEIN_LANDING_TIMEOUT",
            ),
            (
                Flags {
                    gcs_system: "0".into(),
                    ..flags()
                },
                "SKEIN_GCS_SYSTEM",
            ),
        ];
        for (flags, words) in cases {
            let line = flags.check().unwrap_err();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
    }
}
