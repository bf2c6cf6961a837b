//! `skein`: the command line of the fleet, and all of Skein on one machine (`up`, `demo`).
//!
//! Owns: the command line, texts, tables and exit codes; one process of API, coordinator, agents and simulated vehicles
//! ([`station`]). Must not: decide about flight, or show and ground the fleet by the Kubernetes API ([`cluster`]).

pub mod args;
pub mod changes;
pub mod cluster;
pub mod connect;
pub mod data_dir;
pub mod demo;
pub mod enroll;
pub mod failure;
pub mod fleet_api;
pub mod ground;
pub mod interrupt;
pub mod kill;
pub mod labels;
pub mod live;
pub mod log;
pub mod logs;
pub mod map;
pub mod mission;
pub mod node_link;
pub mod objects;
pub mod orders;
pub mod output;
pub mod resume;
pub mod route;
pub mod screen;
pub mod server;
pub mod server_choice;
pub mod server_url;
pub mod station;
pub mod station_record;
pub mod status;
pub mod table;
pub mod terminal;
pub mod top;
pub mod up;
pub mod vehicle;
pub mod watch;

use args::{Cli, Command, WhereArgs};
use clap::FromArgMatches;
use failure::Failure;
use output::Output;
use server_choice::Environment;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const STOP_TIMEOUT: Duration = Duration::from_secs(2);

pub fn main() -> ExitCode {
    let (is_plugin, command) = called();
    let parsed = command
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        // clap exits with 0 after help and version, with 2 after a usage error.
        Err(error) => error.exit(),
    };
    match run(cli, is_plugin) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "skein: {failure}");
            failure.exit_code()
        }
    }
}

/// kubectl calls plugins by program name; the command line follows from that.
fn called() -> (bool, clap::Command) {
    let program = std::env::args_os().next().map(PathBuf::from);
    let stem = program.as_deref().and_then(Path::file_stem);
    let command = args::command();
    if stem.is_some_and(|stem| stem == "kubectl-skein") {
        (true, command.bin_name("kubectl skein").display_name("kubectl skein"))
    } else {
        (false, command)
    }
}

fn run(cli: Cli, is_plugin: bool) -> Result<(), Failure> {
    let out = Output::of_this_process();
    let Cli {
        place: before,
        namespace,
        command,
    } = cli;
    let ask = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let environment = || Environment::read(is_plugin);
    let chosen = |after: &WhereArgs| server_choice::choose(after.clone().or(before.clone()), &environment());
    match command {
        Command::Status(mut args) => {
            args.filter.default_namespace(namespace)?;
            ask()?.block_on(status::run(&chosen(&args.place)?, &args, &out))
        }
        Command::Watch(mut args) => {
            args.filter.default_namespace(namespace)?;
            ask()?.block_on(watch::run(&chosen(&args.place)?, &args, &out))
        }
        Command::Top(mut args) => {
            args.filter.default_namespace(namespace)?;
            let named = named_kubeconfig(args.place.clone().or(before.clone()), &environment());
            run_parts(top::run(chosen(&args.place)?, args, named))
        }
        Command::Map(mut args) => {
            args.filter.default_namespace(namespace)?;
            let named = named_kubeconfig(args.place.clone().or(before.clone()), &environment());
            run_parts(map::run(chosen(&args.place)?, args, named))
        }
        Command::Ground(mut args) => {
            let route = chosen(&args.place)?;
            args.default_namespace(namespace, || route.default_namespace())?;
            ask()?.block_on(ground::ground(&route, &args))
        }
        Command::Release(mut args) => {
            let route = chosen(&args.place)?;
            args.default_namespace(namespace, || route.default_namespace())?;
            let named = named_kubeconfig(args.place.clone().or(before.clone()), &environment());
            ask()?.block_on(ground::release(&route, &args, named))
        }
        Command::Resume(mut args) => {
            let route = chosen(&args.place)?;
            args.default_namespace(namespace.or_else(|| route.default_namespace()));
            ask()?.block_on(resume::run(&route, &args))
        }
        Command::Kill(mut args) => {
            let route = chosen(&args.drone.place)?;
            args.drone
                .default_namespace(namespace.or_else(|| route.default_namespace()));
            ask()?.block_on(kill::run(&route, &args))
        }
        Command::Connect(mut args) => {
            let route = chosen(&args.place)?;
            let drones = args.named(namespace, || route.default_namespace())?;
            run_parts(connect::run(route, args, drones))
        }
        Command::Logs(mut args) => {
            let route = chosen(&args.place)?;
            args.default_namespace(namespace.or_else(|| route.default_namespace()));
            ask()?.block_on(logs::run(route, &args))
        }
        Command::Enroll(args) => {
            let issuer = server_choice::issuer(args.place().or(before), &environment())?;
            ask()?.block_on(enroll::run(&issuer, &args))
        }
        Command::Up(args) => {
            server_choice::none(&before, "up")?;
            run_parts(up::run(args))
        }
        Command::Demo(args) => {
            server_choice::none(&before, "demo")?;
            run_parts(demo::run(args))
        }
        Command::Import(args) => {
            if before != WhereArgs::default() || namespace.is_some() {
                let what = "`skein import` asks no coordinator: leave out -n, --server and the like";
                return Err(Failure::Usage(what.to_owned()));
            }
            mission::import::run(&args)
        }
        Command::Mission(args) => {
            if before != WhereArgs::default() || namespace.is_some() {
                let what = "`skein mission` asks no coordinator: leave out -n, --server and the like";
                return Err(Failure::Usage(what.to_owned()));
            }
            mission::run(&args)
        }
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "skein", &mut script);
            Ok(std::io::stdout().write_all(&script)?)
        }
    }
}

fn named_kubeconfig(place: WhereArgs, environment: &Environment) -> Option<cluster::Choice> {
    let named = place.kubeconfig.is_some() || place.context.is_some() || environment.kubeconfig.is_some();
    named.then_some(cluster::Choice {
        kubeconfig: place.kubeconfig,
        context: place.context,
        coordinator_namespace: None,
    })
}

fn run_parts(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(Box::pin(work));
    // A disk that does not answer must not delay the end.
    runtime.shutdown_timeout(STOP_TIMEOUT);
    result
}
