//! The command line.
//!
//! Owns: names, help texts and defaults. Must not: do anything.

use crate::server::ServerUrl;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::fmt;
use std::str::FromStr;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  it failed; the message says why
  2  the command line makes no sense
  3  the coordinator cannot be reached, or is not ready yet";

/// Shows and grounds the drones of Skein.
#[derive(Debug, Parser)]
#[command(name = "skein", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    /// Where the coordinator listens, such as http://127.0.0.1:50051.
    ///
    /// On a cluster: kubectl -n skein-system port-forward service/skein-coordinator 50051
    #[arg(
        long,
        global = true,
        env = "SKEIN_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:50051"
    )]
    pub server: ServerUrl,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows every Drone and what its vehicle does now, by its own autopilot's account.
    ///
    /// Vehicles of connected agents that serve no Drone are shown too, as Idle.
    Status(StatusArgs),
    /// Shows the same, live: a table that is redrawn on a terminal, otherwise a line for each change.
    ///
    /// Goes on when the coordinator is away for a while. Ctrl-C ends it.
    Watch(WatchArgs),
    /// Lands the vehicles of a Swarm, or all, at once, and keeps them on the ground until `skein release`.
    ///
    /// Asks nothing back: it is meant for emergencies too. Motors are never stopped in the air.
    #[command(after_help = EXIT_CODES)]
    Ground(GroundArgs),
    /// Ends a ground order: vehicles that are wished to fly take off again.
    #[command(after_help = EXIT_CODES)]
    Release(GroundArgs),
    /// Prints a completion script for a shell, such as: source <(skein completion bash)
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
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
}

/// Arguments of `skein status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
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
    /// Which vehicles.
    #[command(flatten)]
    pub filter: Filter,
    /// More columns.
    #[arg(long)]
    pub wide: bool,
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

/// Arguments of `skein ground` and `skein release`.
#[derive(Debug, Args)]
#[group(skip)]
pub struct GroundArgs {
    /// The Swarm, as NAME or NAMESPACE/NAME.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub swarm: Option<SwarmRef>,
    /// Namespace of the Swarm.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all")]
    pub namespace: Option<String>,
    /// Every Swarm and every Drone of every namespace.
    #[arg(long)]
    pub all: bool,
}

/// A Swarm as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwarmRef {
    /// The namespace, when it was given with the name.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl FromStr for SwarmRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
            return Err("give the Swarm as NAME or NAMESPACE/NAME".into());
        }
        Ok(Self {
            namespace,
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for SwarmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(usage_error(&["ground", "alpha", "--all"]).contains("cannot be used with"));
        assert!(usage_error(&["ground", "--all", "-n", "field"]).contains("cannot be used with"));
        assert!(usage_error(&["ground", "a/b/c"]).contains("NAME or NAMESPACE/NAME"));
    }

    #[test]
    fn a_swarm_may_be_named_with_its_namespace() {
        let of = |text: &str| text.parse::<SwarmRef>().unwrap();
        assert_eq!(
            of("alpha"),
            SwarmRef {
                namespace: None,
                name: "alpha".into()
            }
        );
        assert_eq!(
            of("field/alpha"),
            SwarmRef {
                namespace: Some("field".into()),
                name: "alpha".into()
            }
        );
    }

    #[test]
    fn the_help_tells_the_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("3  the coordinator cannot be reached"), "{help}");
    }
}
