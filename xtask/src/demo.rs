//! `cargo xtask demo`: a swarm of simulated vehicles, from boot to holding and back to the ground.
//!
//! Owns: the story: set up, fly, hold, land, sum up. Must not: start processes itself (`stage`), read objects
//! (`picture`) or draw (`view`).

mod flight_log;
mod follow;
mod picture;
mod stage;
mod view;

use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::interrupt::Interrupt;
use crate::say;
use follow::{Ended, Follow};
use stage::Stage;

/// From power-up to holding: an ArduPilot takes about 45 s to be ready and 15 s to climb; a busy machine takes longer.
const UNTIL_HOLDING: Duration = Duration::from_secs(300);

/// From the highest hold there is, 120 m, at the slowest landing speed.
const UNTIL_LANDED: Duration = Duration::from_secs(300);

/// What is flown.
#[derive(clap::Args)]
pub struct Args {
    /// How many vehicles fly.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50))]
    drones: u16,
    /// Which autopilot the vehicles have.
    #[arg(long, value_enum, default_value_t = Autopilot::Mixed)]
    autopilot: Autopilot,
    /// How much faster than in life the vehicles' time runs.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR")]
    speedup: f64,
    /// Height to hold, in metres above home, 1 to 120.
    #[arg(long, default_value_t = 10.0, value_name = "METRES")]
    altitude: f64,
    /// Lands as soon as all hold, prints a summary and ends; with a failure status if not all flew and landed.
    #[arg(long)]
    once: bool,
}

/// The simulated autopilots.
#[derive(Clone, Copy, ValueEnum)]
enum Autopilot {
    Ardupilot,
    Px4,
    /// One after the other.
    Mixed,
}

impl Autopilot {
    fn name(self) -> &'static str {
        match self {
            Self::Ardupilot => "ardupilot",
            Self::Px4 => "px4",
            Self::Mixed => "mixed",
        }
    }
}

/// Flies it.
pub fn run(args: &Args) -> anyhow::Result<()> {
    // A build that is interrupted ends at once; what runs afterwards is ended in order.
    stage::build_programs()?;
    let interrupt = Interrupt::catch()?;

    let start = Instant::now();
    let stage = Stage::set_up(args)?;
    stage.apply_swarm(args)?;
    let wanted = usize::from(args.drones);
    say::heading(&format!(
        "{wanted} vehicles boot, arm, take off and hold at {} m (Ctrl-C lands them)",
        args.altitude
    ));

    let mut follow = Follow::new(&stage, interrupt);
    let flown = follow.until(UNTIL_HOLDING, |rows| {
        rows.iter().filter(|row| row.holding).count() == wanted
    })?;
    if matches!(flown, Ended::Reached) {
        say::heading(&format!(
            "all {wanted} hold, {} after the start",
            say::duration(start.elapsed())
        ));
        if !args.once {
            say::line(&stage.things_to_try());
            follow.until_interrupted()?;
        }
    }
    let landed = land(&stage, &mut follow)?;
    say::line(&follow.flights().summary());
    if !matches!(landed, Ended::Reached) {
        stage.show_logs();
    }
    stage.tear_down()?;
    match (flown, landed) {
        (Ended::TimedOut(seen), _) => anyhow::bail!("not all vehicles came to hold: {seen}"),
        (Ended::Interrupted, Ended::Reached) if args.once => anyhow::bail!("interrupted; all that flew has landed"),
        (_, Ended::TimedOut(seen)) => anyhow::bail!("not all vehicles landed: {seen}"),
        _ => {
            say::heading(&format!("done in {}", say::duration(start.elapsed())));
            Ok(())
        }
    }
}

/// Deletes the Swarm and waits until its Drones are gone: they stay until their autopilots report them landed and disarmed.
fn land(stage: &Stage, follow: &mut Follow<'_>) -> anyhow::Result<Ended> {
    say::heading("deleting the swarm: all land (Ctrl-C again quits at once)");
    stage.delete_swarm()?;
    follow.ignore_interrupt();
    follow.until(UNTIL_LANDED, |rows| rows.iter().all(|row| row.drone.is_none()))
}
