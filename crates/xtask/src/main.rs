//! `cargo xtask`: developers' commands besides plain cargo.

mod bench;
mod cluster;
mod command;
mod demo;
mod dependencies;
mod differ;
mod fly;
mod fuzz;
mod generate;
mod image;
mod interrupt;
mod mutate;
mod node_packages;
mod picture;
mod release;
mod replay;
mod say;
mod simulate;
mod soak;
mod test;
mod venv;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, tests and shows Skein on one machine.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that must pass: formatting, lints, generated files, all tests. Sets up what it needs first.
    Test(test::Args),
    /// Writes the generated files (crds/*.yaml, and deploy/*.yaml from the chart).
    Generate,
    /// The picture of the README: a recording of `skein demo`.
    Picture(picture::Args),
    /// Container images of the programs, as archives for any registry or container engine.
    Image(image::Args),
    /// A release in one folder: programs, images, wheels, chart, plugin manifest, SBOMs, checksums, provenance.
    Release(release::Args),
    /// A real Kubernetes control plane on this machine.
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// `skein demo` on a real Kubernetes control plane.
    Demo(demo::Args),
    /// Measures, beside a peer.
    Bench(bench::Args),
    /// Runs random scripts on real autopilots and on the simulated ones and compares their answers.
    Differ(differ::Args),
    /// Flies scenarios with real autopilots, ArduCopter and PX4, and judges by the messages on the wire.
    Fly(fly::Args),
    /// Sends recorded inputs of real autopilots to the simulator and compares its answers.
    Replay(replay::Args),
    /// Tries inputs, guided by coverage, on the link's reader and the agent's pilot.
    Fuzz(fuzz::Args),
    /// Breaks each safety invariant on purpose and checks that a test fails.
    Mutate(mutate::Args),
    /// Runs coordinators, agents and a network that fails, under many seeds.
    Simulate(simulate::Args),
    /// Runs the end-to-end tests repeatedly beside a busy core.
    Soak(soak::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Generate => generate::run(),
        Command::Picture(args) => picture::run(&args),
        Command::Image(args) => image::run(&args),
        Command::Release(args) => release::run(&args),
        Command::Cluster(command) => cluster::run(&command),
        Command::Demo(args) => demo::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Differ(args) => differ::run(&args),
        Command::Fly(args) => return ended(fly::run(&args)),
        Command::Replay(args) => replay::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Mutate(args) => mutate::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Soak(args) => soak::run(&args),
    };
    ended(result.map(|()| ExitCode::SUCCESS))
}

fn ended(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        say::error(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
