//! Names, help texts and defaults of the command line.

mod agents;
mod connect;
mod drone;
mod enroll;
pub mod import;
mod logs;
pub mod map;
pub mod mission;
mod place;
mod swarm;

pub use agents::{AgentArgs, AgentSettings, OfNode, SigningArgs};
pub use connect::{ConnectArgs, Port};
pub use drone::{DroneArgs, KillArgs, ObjectKey, ObjectRef, ResumeArgs, Resumed};
pub use enroll::EnrollArgs;
pub use logs::LogsArgs;
pub use place::WhereArgs;
pub use swarm::GroundArgs;

use crate::failure::Failure;
use crate::node_link::NodeLink;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use fleet::planning::selector::Selector;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  it failed; the message says why
  2  the command line makes no sense
  3  the coordinator cannot be reached, or is not ready yet
130  ended at once by a second Ctrl-C";

/// Shows and grounds the drones of Skein.
#[derive(Debug, Parser)]
#[command(name = "skein", version = model::version::version(), disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// Which coordinator to ask; may be given before the command, too.
    #[command(flatten)]
    pub place: WhereArgs,

    /// Namespace of Swarms and Drones; may be given before the command, too.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows every Drone and what its vehicle does now, by its own autopilot's account.
    ///
    /// Vehicles of connected agents that serve no Drone are shown too, as Idle, and why none can be bound to them if so.
    Status(StatusArgs),
    /// Shows the same, live: a table that is redrawn on a terminal, otherwise a line for each change.
    ///
    /// Goes on when the coordinator is away for a while. Ctrl-C ends it.
    Watch(WatchArgs),
    /// Shows the fleet on the whole terminal, with the keys of k9s: lists, details with conditions and Events, a map, orders.
    ///
    /// Drones, Swarms and Vehicles live; `?` lists the keys. Objects are read with the rights of your kubeconfig. Orders (ground, release,
    /// resume) are given after a confirmation that lists whom they concern. Goes on when the coordinator is away, and says how old
    /// everything is. Works at 80×24, over ssh, and without colors (NO_COLOR). q or Ctrl-C ends it; nothing that flies is touched.
    Top(TopArgs),
    /// Shows the fleet on a live map in the browser of this machine; orders, formations, surveys and fences from there.
    ///
    /// Serves a page on 127.0.0.1 and prints its address, which is good once, for one browser. The page reaches the coordinator and the API as
    /// this command does, with your own rights; nothing is opened to a network and nothing is fetched from one. What it orders or makes is shown
    /// before, and confirmed. Ctrl-C ends it; nothing that flies is touched.
    Map(map::MapArgs),
    /// Lands the vehicles of a Swarm, a Drone, a node, a selector, or all, at once, and keeps them on the ground until `skein
    /// release`.
    ///
    /// Say exactly one: a Swarm, --drone, --vehicle, --selector, or --all; the Drones of a Mission are -l skein.dev/mission=NAME. The
    /// order is an object of its own (`kubectl get groundorders`): what is made or edited later falls under it, and only `skein
    /// release` ends it. What you may not ground is reported, and the rest is grounded all the same (exit code 1). A selector that
    /// selects nothing is an error. Asks nothing back: it is meant for emergencies too. Motors are never stopped in the air.
    #[command(after_help = EXIT_CODES)]
    Ground(GroundArgs),
    /// Ends a ground order: vehicles that should fly take off again.
    ///
    /// Say exactly one: a Swarm, --drone, --vehicle, --selector, or --all.
    #[command(after_help = EXIT_CODES)]
    Release(GroundArgs),
    /// Lets Skein go on with a vehicle that somebody else has taken over in flight.
    ///
    /// A pilot or a ground station that changes the mode is left in command, and stays so after giving the vehicle back,
    /// until this is said. It counts for what was taken over before, never for what is taken over later.
    ///
    /// With --vehicle NODE: lets a vehicle fly again that landed without an order of Skein and was left to you; its Drone is gone. It may be
    /// armed at once for another, so see that everybody is clear.
    #[command(after_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// STOPS THE MOTORS of one vehicle at once, in the air too: it falls.
    ///
    /// For when a falling vehicle is the lesser harm. It asks twice: for the Drone's name, and for the word KILL. It is sent
    /// once and never repeated. The vehicle does not fly again for this Drone. To land instead: skein ground.
    #[command(after_help = EXIT_CODES)]
    Kill(KillArgs),
    /// Connects a ground station (QGroundControl, MAVProxy, MAVSDK) to vehicles, through the coordinator and their agents.
    ///
    /// What the ground station sends reaches a vehicle if you have the verb connect on its Drone; else you need get, and it only watches. Its
    /// commands are its own: Skein lets go of a vehicle that it steers, until `skein resume`. Vehicles of the same system id get numbers of
    /// their own, which are printed. Your rights are asked about again while it goes on. Ctrl-C ends it; nothing that flies is touched.
    #[command(after_help = EXIT_CODES)]
    Connect(ConnectArgs),
    /// Lists the flight logs of a vehicle, or copies them to this machine.
    ///
    /// The logs are on the disk of the vehicle's agent (`--flight-log-dir`). They come through the coordinator, behind orders and reports.
    #[command(after_help = EXIT_CODES)]
    Logs(LogsArgs),
    /// Makes the certificate of an agent outside a cluster, or of another person, with which it is known to the coordinator.
    ///
    /// It is signed by the authority of the ground station of this machine, or of the cluster of the kubeconfig, whose Secret
    /// skein-ca has to be readable. The files are the agent's alone: everybody who has them can speak for its node.
    #[command(after_help = EXIT_CODES)]
    Enroll(EnrollArgs),
    /// Runs a ground station on this machine: a Kubernetes API of its own, the coordinator, and agents for vehicles that
    /// are reached from here.
    ///
    /// It is for one machine without a cluster. kubectl and client libraries work with the kubeconfig that it writes.
    /// Agents on companion computers connect to --listen, with a certificate of `skein enroll`, and become Nodes. Everything
    /// is kept in one folder; started again, it takes vehicles that are in the air up again.
    ///
    /// Ctrl-C lands the vehicles of --node and waits for them. Ctrl-C once more ends at once: vehicles in the air then go
    /// on by themselves, under their autopilots' own failsafe.
    #[command(after_help = EXIT_CODES)]
    Up(UpArgs),
    /// Flies simulated vehicles on this machine, with all of Skein in this process.
    ///
    /// Shows each vehicle from its boot to holding, and things to try meanwhile. Ctrl-C lands them all.
    #[command(after_help = EXIT_CODES)]
    Demo(DemoArgs),
    /// Plans work in the air: shows what a Mission would come to, and reads and writes the files of ground stations.
    ///
    /// It asks no coordinator and flies nothing: a Mission is flown once it is applied (kubectl apply).
    Mission(mission::MissionArgs),
    /// Makes Missions, Geofences and ParameterProfiles of the files that people have, and prints them as YAML.
    ///
    /// A file is recognized by its content: plans of QGroundControl, QGC WPL 110, fences and rally points of Mission Planner and
    /// MAVProxy, parameter files, and polygons in KML, KMZ, GeoJSON or a Shapefile, zipped or not. A plan may become several objects.
    /// What is left out is said on standard error, and why; a file that contradicts itself is refused. It asks no coordinator and flies
    /// nothing.
    Import(Box<import::ImportArgs>),
    /// Prints a completion script for a shell, such as: source <(skein completion bash)
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Arguments of `skein up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Folder for everything that is kept; $XDG_DATA_HOME/skein or ~/.local/share/skein when left out.
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where agents and tools reach the coordinator, which speaks TLS and admits everybody with a certificate of
    /// `skein enroll`. For companion computers: 0.0.0.0:50051
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50051")]
    pub listen: SocketAddr,
    /// Where kubectl reaches the API; only addresses of this machine itself. Port 0: the one of the last time, or a free
    /// one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub api_listen: SocketAddr,
    /// Where the kubeconfig is written; DIR/kubeconfig when left out. Your own ~/.kube/config is never touched.
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// Runs an agent for a vehicle that is reached from here, as node NAME.
    #[arg(long = "node", value_name = "NAME=LINK", help = format!(
        "Runs an agent for a vehicle that is reached from here, as node NAME. May be given several times. LINK is {}",
        agent::LINK_FORMS
    ))]
    pub nodes: Vec<NodeLink>,
    /// Begins with a ground order on every Swarm and Drone that is kept from before: nothing takes off, and what flies
    /// lands, until `skein release`.
    #[arg(long)]
    pub grounded: bool,
    /// Writes the log to standard error, in this format. When left out: where standard output is a terminal, which shows the
    /// state of the fleet then, the log goes to DIR/skein.log; elsewhere to standard error as text.
    #[arg(long, value_enum)]
    pub log: Option<LogFormat>,
    /// Ground stations, flight logs, metrics.
    #[command(flatten)]
    pub agents: AgentArgs,
    /// MAVLink signing.
    #[command(flatten)]
    pub signing: SigningArgs,
    /// Stations and the airspace.
    #[command(flatten)]
    pub site: coordinator::options::SiteArgs,
}

/// Arguments of `skein demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How many vehicles fly, 1 to 200.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub drones: u16,
    /// Which autopilot the vehicles have; mixed alternates.
    #[arg(long, value_enum, default_value_t = Autopilots::Mixed)]
    pub autopilot: Autopilots,
    /// How fast simulated time runs, 0.5 to 20 times real time. Slower, a report would be too old before the next one
    /// comes.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = speedup)]
    pub speedup: f64,
    /// Altitude to hold, in meters above home, 1 to 120.
    #[arg(long, default_value_t = 10.0, value_name = "METERS", value_parser = altitude)]
    pub altitude: f64,
    /// Lands as soon as all hold, prints a summary and ends: with status 0 if all flew and landed, else 1.
    #[arg(long)]
    pub once: bool,
    /// Folder for NAME.tlog files with every frame that the vehicles send and receive.
    #[arg(long, value_name = "DIR")]
    pub wire_log: Option<PathBuf>,
    /// Ground stations, flight logs, metrics. The vehicles are named drone-1 and so on.
    #[command(flatten)]
    pub agents: AgentArgs,
    /// Use the API server of this kubeconfig instead of one of our own.
    #[arg(long, value_name = "KUBECONFIG", hide = true)]
    pub on: Option<PathBuf>,
}

/// The simulated autopilots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Autopilots {
    /// ArduPilot Copter.
    Ardupilot,
    /// PX4.
    Px4,
    /// One after the other.
    Mixed,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Option values may begin with a minus sign, so that a negative one is refused with the range of its option.
pub fn command() -> clap::Command {
    with_negative_numbers(Cli::command())
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = command.mut_args(|arg| {
        let takes_a_value = !arg.is_positional() && arg.get_action().takes_values();
        if takes_a_value && !arg.is_allow_hyphen_values_set() {
            arg.allow_negative_numbers(true)
        } else {
            arg
        }
    });
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, with_negative_numbers)
    })
}

fn speedup(text: &str) -> Result<f64, String> {
    in_range(text, 0.5, 20.0)
}

fn altitude(text: &str) -> Result<f64, String> {
    in_range(text, 1.0, 120.0)
}

fn in_range(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("give a number from {least} to {most}"))
}

/// Which vehicles to show.
#[derive(Debug, Clone, Default, Args)]
pub struct Filter {
    /// Only Drones of this namespace.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    pub namespace: Option<String>,
    /// Drones of all namespaces and idle vehicles; this is the default.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only Drones of this Swarm.
    #[arg(long, value_name = "SWARM")]
    pub swarm: Option<String>,
    /// Only Drones with these labels, their own or their Swarm's, as kubectl's -l has it: team=red,model in (a,b),!retired
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<Selector>,
}

impl Filter {
    /// Falls back to the namespace that was named before the command.
    pub fn default_namespace(&mut self, before: Option<String>) -> Result<(), Failure> {
        if before.is_some() && self.all_namespaces {
            return Err(Failure::Usage(
                "-n and -A exclude one another: leave out one of them".to_owned(),
            ));
        }
        self.namespace = self.namespace.take().or(before);
        Ok(())
    }
}

/// Arguments of `skein status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// Which vehicles.
    #[command(flatten)]
    pub filter: Filter,
    /// How to print them.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

/// Arguments of `skein watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// Which vehicles.
    #[command(flatten)]
    pub filter: Filter,
    /// More columns.
    #[arg(long)]
    pub wide: bool,
}

/// Arguments of `skein top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// Which vehicles.
    #[command(flatten)]
    pub filter: Filter,
}

/// How to print vehicles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    #[default]
    Table,
    /// A table with more columns.
    Wide,
    /// For programs: {"vehicles": [...]}; "flying" is null while unknown.
    Json,
    /// One drone.skein.dev/NAME on each line, for kubectl.
    Name,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_choice::VARIABLE;
    use clap::CommandFactory;

    fn usage_error(args: &[&str]) -> String {
        Cli::try_parse_from([&["skein"], args].concat())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ground_wants_a_swarm_or_all_and_not_both() {
        assert!(usage_error(&["ground"]).contains("required"));
        let ways = usage_error(&["ground"]);
        for way in [
            "SWARM|",
            "--selector <SELECTOR>",
            "--all",
            "--drone <DRONE>",
            "--vehicle <NODE>",
        ] {
            assert!(ways.contains(way), "{way}: {ways}");
        }
        assert!(usage_error(&["ground", "alpha", "--all"]).contains("cannot be used with"));
        assert!(usage_error(&["ground", "--all", "-n", "field"]).contains("cannot be used with"));
        assert!(usage_error(&["ground", "a/b/c"]).contains("NAME or NAMESPACE/NAME"));
        assert!(usage_error(&["ground", "--drone", "alpha-1", "--all"]).contains("cannot be used with"));
        assert!(usage_error(&["release", "--vehicle", "pi-1", "-n", "field"]).contains("cannot be used with"));
    }

    #[test]
    fn a_selector_stands_for_itself_and_an_empty_one_does_not_mean_all() {
        let parsed = |args: &[&str]| Cli::try_parse_from([&["skein"], args].concat());
        for fine in [
            &["ground", "-l", "team=red"][..],
            &["release", "--selector", "team in (red, blue),!retired", "-n", "field"],
            &["ground", "-A", "-l", "team!=red"],
            &["status", "-l", "team"],
            &["watch", "-l", "!team"],
        ] {
            assert!(parsed(fine).is_ok(), "{fine:?}");
        }
        for (wrong, expected) in [
            (&["ground", "alpha", "-l", "team=red"][..], "cannot be used with"),
            (&["release", "--all", "-l", "team=red"], "cannot be used with"),
            (
                &["ground", "-l", "team=red", "-A", "-n", "field"],
                "cannot be used with",
            ),
            (&["ground", "-A"], "required"),
            (&["ground", "--all", "-A"], "cannot be used with"),
            (&["ground", "-l", ""], "an empty selector would select everything"),
            (&["ground", "-l", "team red"], "where =, ==, !=, in or notin should be"),
            (&["status", "-l", " "], "an empty selector would select everything"),
        ] {
            let error = usage_error(wrong);
            assert!(error.contains(expected), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn a_command_that_has_a_coordinator_of_its_own_does_not_offer_another() {
        let help = |name: &str| {
            let mut all = Cli::command();
            all.build();
            all.find_subcommand_mut(name).unwrap().render_long_help().to_string()
        };
        for name in ["up", "demo"] {
            assert!(!help(name).contains("--server"), "{name}");
        }
        for name in ["status", "watch", "ground", "release"] {
            assert!(help(name).contains(&format!("[env: {VARIABLE}]")), "{name}");
        }
        assert!(!help("enroll").contains("--server-ca"));
        assert!(usage_error(&["up", "--server", "http://a:1"]).contains("unexpected argument '--server'"));
    }

    #[test]
    fn the_help_lists_the_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("3  the coordinator cannot be reached"), "{help}");
    }
}
