//! `cargo xtask simulate`: coordinators, agents and the network between them, under thousands of seeds.

use anyhow::Context;

use crate::generate::cargo;
use crate::say;

#[derive(clap::Args)]
pub struct Args {
    /// The number of seeds.
    #[arg(value_name = "SEEDS")]
    seeds: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 0, value_name = "SEED")]
    from: u64,
    /// One Swarm with a formation of so many vehicles, instead of many small worlds.
    #[arg(long, value_name = "VEHICLES", num_args = 0..=1, default_missing_value = "200")]
    vehicles: Option<u32>,
    /// Fences and parameters that change all the time, while agents and leaders are killed: so many uploads under each
    /// seed.
    #[arg(long, value_name = "UPLOADS", num_args = 0..=1, default_missing_value = "50", conflicts_with = "vehicles")]
    rules: Option<u32>,
    /// So many Missions at once, each flown by a vehicle of its own, and what is written for each.
    #[arg(long, value_name = "MISSIONS", num_args = 0..=1, default_missing_value = "500", conflicts_with_all = ["vehicles", "rules"])]
    missions: Option<u32>,
    /// Missions in layers, with pilots who move vehicles, returns that ground stations order, and edits of what is
    /// flown.
    #[arg(long, conflicts_with_all = ["vehicles", "rules", "missions"])]
    gate: bool,
    /// The same, where each field is edited, receivers and winds differ, Geofences come over vehicles, an agent lies,
    /// everything is grounded at times, and one coordinator plans otherwise.
    #[arg(long, conflicts_with_all = ["vehicles", "rules", "missions", "gate"])]
    wild: bool,
    /// Programs that fly vehicles fast, each in airspace of its own, whose agents, radios and leaders are lost
    /// meanwhile.
    #[arg(long, conflicts_with_all = ["vehicles", "rules", "missions", "gate", "wild"])]
    lent: bool,
    /// Random formations that it goes through.
    #[arg(long, default_value_t = 10, requires = "vehicles", value_name = "FORMATIONS")]
    formations: u32,
    /// Vehicles of it that are relieved for their batteries.
    #[arg(long, default_value_t = 20, requires = "vehicles", value_name = "RELIEFS")]
    reliefs: u32,
}

const SEEDS: u64 = 2000;
/// Worlds of Missions, each as long as ten small ones.
const GATES: u64 = 200;
const LARGE: u64 = 2;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let seeds = args.seeds.unwrap_or(match (args.missions, args.vehicles) {
        (Some(_), _) => 1,
        (None, Some(_)) => LARGE,
        (None, None) if args.gate || args.wild || args.lent => GATES,
        (None, None) => SEEDS,
    });
    say::heading(&format!("{seeds} seeds from {} on", args.from));
    let mut command = cargo();
    // Thousands of seeds justify an optimized build; the seeds of every test run have the debug build's checks.
    command.args([
        "test",
        "--release",
        "--package",
        "skein-tests",
        "--test",
        "network",
        "--",
    ]);
    if let Some(vehicles) = args.vehicles {
        command.arg("formations_are_kept");
        command.env("SKEIN_VEHICLES", vehicles.to_string());
        command.env("SKEIN_FORMATIONS", args.formations.to_string());
        command.env("SKEIN_RELIEFS", args.reliefs.to_string());
    } else if let Some(uploads) = args.rules {
        command.arg("rules_are_in_force");
        command.env("SKEIN_UPLOADS", uploads.to_string());
    } else if let Some(missions) = args.missions {
        command.arg("missions_of_any_length");
        command.env("SKEIN_MISSIONS", missions.to_string());
    } else if args.gate {
        command.arg("missions_keep_apart");
    } else if args.wild {
        command.arg("all_keep_apart");
    } else if args.lent {
        command.arg("vehicles_of_programs");
    } else {
        command.arg("no_disorder");
    }
    command.env("SKEIN_SEEDS", seeds.to_string());
    command.env("SKEIN_FROM", args.from.to_string());
    let status = command.status().context("cannot start cargo")?;
    anyhow::ensure!(
        status.success(),
        "a seed fails; the command that runs it alone is above"
    );
    Ok(())
}
