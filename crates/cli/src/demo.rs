//! `skein demo`: simulated vehicles of a Swarm fly from boot to landing, all in this process.
//!
//! Owns: the story. Must not: start parts ([`crate::station`], [`sitl`]), read (`follow`) or draw (`view`) the fleet.

pub mod flights;
pub mod follow;
pub mod keys;
pub mod messages;
pub mod set_up;
pub mod stage;
pub mod view;

use crate::args::DemoArgs;
use crate::cluster::Choice;
use crate::data_dir::try_flight_logs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::map;
use crate::objects::Objects;
use crate::output::Output;
use crate::route::Route;
use crate::terminal;
use crate::vehicle::Vehicle;
use agent::Ending;
use follow::Follow;
use keys::{Key, Keys};
use set_up::Parts;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

pub const SWARM: &str = "demo";

/// An ArduPilot takes about 45 s to be ready in real time and 15 s to climb; a busy machine takes longer.
const HOLDING_TIMEOUT: Duration = Duration::from_secs(300);

/// Enough for 120 m, the highest hold, at the slowest landing speed.
const LANDED_TIMEOUT: Duration = Duration::from_secs(300);

const LAST_WAIT: Duration = Duration::from_secs(2);

const RETRY_DELAY: Duration = Duration::from_secs(1);

pub async fn run(args: DemoArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    tokio::select! {
        result = Box::pin(narrate(&args, &interrupt)) => result,
        // Without waiting: the simulation ends with this process.
        () = interrupt.at_once.cancelled() => Err(Failure::AtOnce(messages::AT_ONCE.to_owned())),
    }
}

async fn narrate(args: &DemoArgs, interrupt: &Interrupt) -> Result<(), Failure> {
    let begun = Instant::now();
    try_flight_logs(args.agents.flight_log_dir.as_deref())?;
    let mut parts = Parts::start(args).await?;
    let result = fly(args, &mut parts, interrupt).await;
    match result {
        Ok(()) => {
            parts.clear(true).await;
            terminal::heading(&format!("done in {}", terminal::duration(begun.elapsed())));
            Ok(())
        }
        Err(failure) => {
            let log = parts.log().display().to_string();
            parts.clear(false).await;
            Err(Failure::Failed(format!("{failure}; the log is kept in {log}")))
        }
    }
}

enum Flown {
    All,
    Interrupted,
    NotInTime,
}

async fn fly(args: &DemoArgs, parts: &mut Parts, interrupt: &Interrupt) -> Result<(), Failure> {
    let objects = Objects::new(parts.station().api.client());
    let server = Route::Plain(parts.station().server().parse().map_err(Failure::Failed)?);
    objects.apply_swarm(SWARM, args.drones, args.altitude).await?;
    let wanted = usize::from(args.drones);
    terminal::heading(&messages::boarding(wanted, args.altitude));
    if let Some(boot) = set_up::boot_speedup(args) {
        terminal::line(&messages::boots_faster(boot, args.speedup));
    }
    let kubeconfig = Choice {
        kubeconfig: Some(parts.station().api.kubeconfig().to_owned()),
        ..Choice::default()
    };
    let _map = match args.once {
        true => None,
        false => map::beside(server.clone(), Some(kubeconfig)).await,
    };
    let out = Output::of_this_process();
    let mut follow = Follow::start(server, out);
    let charging = tokio::spawn(keys::charge(follow.fleet(), parts.simulation()));

    let goal = all_hold(follow.fleet(), wanted, &objects);
    let flown = tokio::select! {
        flown = timeout(HOLDING_TIMEOUT, follow.showing(goal)) => flown.map_or(Flown::NotInTime, |()| Flown::All),
        () = interrupt.in_order.cancelled() => Flown::Interrupted,
    };
    follow.keep_shown();
    if matches!(flown, Flown::All) {
        terminal::heading(&messages::all_hold(wanted, follow.elapsed()));
        if !args.once {
            terminal::line(&messages::things_to_try(parts.station(), args.drones, args.altitude));
            hold(parts, interrupt, &mut follow, Keys::listen(out)).await;
            follow.keep_shown();
        }
    }
    charging.abort();
    let not_down = land(parts, &objects, &mut follow).await;
    terminal::line(&follow.flights().summary());
    match (flown, not_down) {
        (Flown::NotInTime, _) => Err(Failure::Failed(messages::not_flown(follow.flights()))),
        (_, Err(why)) => Err(Failure::Failed(why)),
        (Flown::Interrupted, Ok(())) if args.once => Err(Failure::Failed(messages::INTERRUPTED.to_owned())),
        (Flown::All | Flown::Interrupted, Ok(())) => Ok(()),
    }
}

async fn hold(parts: &Parts, interrupt: &Interrupt, follow: &mut Follow, mut keys: Option<Keys>) {
    if keys.is_some() {
        terminal::line(keys::HELP);
    }
    let (simulation, fleet) = (parts.simulation(), follow.fleet());
    loop {
        let pressed = async {
            tokio::select! {
                () = interrupt.in_order.cancelled() => None,
                key = next(&mut keys) => Some(key),
            }
        };
        let Some(key) = follow.showing(pressed).await else {
            return;
        };
        if let Some(keys) = &mut keys {
            let text = keys.press(key, &fleet.borrow(), &simulation);
            follow.keep_shown();
            terminal::line(&text);
        }
    }
}

async fn next(keys: &mut Option<Keys>) -> Key {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

async fn all_hold(mut fleet: watch::Receiver<Vec<Vehicle>>, wanted: usize, objects: &Objects) {
    let all = |fleet: &Vec<Vehicle>| fleet.iter().filter(|vehicle| stage::holds(vehicle)).count() >= wanted;
    if fleet.wait_for(all).await.is_err() {
        // The task that follows the fleet has died, so nothing is reached.
        std::future::pending::<()>().await;
    }
    objects.swarm_ready(SWARM).await;
}

/// Deletes the Swarm, whose Drones stay until reported landed and disarmed, then ends the agents, which land the rest.
/// Errors: vehicles that were not observed landed.
async fn land(parts: &mut Parts, objects: &Objects, follow: &mut Follow) -> Result<(), String> {
    terminal::heading(messages::LANDING);
    let mut fleet = follow.fleet();
    let with_pilots = keys::with_pilots(&fleet.borrow());
    if !with_pilots.is_empty() {
        terminal::line(&messages::landed_by_pilots(&with_pilots));
    }
    let pilots = tokio::spawn(keys::land_by_pilots(follow.fleet(), parts.simulation()));
    let gone = async {
        while let Err(why) = objects.delete_swarm(SWARM).await {
            tracing::warn!(%why, "the Swarm is not deleted yet; will be tried again");
            sleep(RETRY_DELAY).await;
        }
        objects.all_gone(SWARM).await;
        // For the picture only: deleted Drones have landed.
        let all_down = |fleet: &Vec<Vehicle>| fleet.iter().all(|vehicle| vehicle.truth == "Disarmed");
        let _ = timeout(LAST_WAIT, fleet.wait_for(all_down)).await;
    };
    let gone = timeout(LANDED_TIMEOUT, follow.showing(gone)).await;
    let agents = &mut parts.station_mut().agents;
    agents.land();
    let ended = async {
        let mut not_down = Vec::new();
        while let Some((node, ending)) = agents.next_ended().await {
            if ending == Ending::NotLanded {
                not_down.push(node);
            }
        }
        not_down
    };
    let not_down = timeout(LANDED_TIMEOUT, follow.showing(ended)).await;
    pilots.abort();
    // It shares the simulation, which is ended as a whole.
    let _ = pilots.await;
    follow.keep_shown();
    match (gone, not_down) {
        (Ok(()), Ok(not_down)) if not_down.is_empty() => Ok(()),
        _ => Err(messages::not_landed(follow.flights())),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command, DemoArgs};
    use crate::demo::set_up::{boot_speedup, names};
    use clap::Parser;

    fn args(flags: &[&str]) -> DemoArgs {
        let line = ["skein", "demo"].into_iter().chain(flags.iter().copied());
        match Cli::parse_from(line).command {
            Command::Demo(args) => args,
            other => panic!("{other:?} is not the demo"),
        }
    }

    #[test]
    fn a_small_fleet_boots_faster_and_none_boots_slower_than_it_flies() {
        assert_eq!(boot_speedup(&args(&[])), Some(4.0));
        assert_eq!(boot_speedup(&args(&["--speedup", "10"])), None);
        assert_eq!(boot_speedup(&args(&["--drones", "200"])), None);
    }

    #[test]
    fn vehicles_are_numbered_so_that_they_sort_as_they_count() {
        assert_eq!(names(2), ["drone-1", "drone-2"]);
        let many = names(200);
        assert_eq!((many[0].as_str(), many[199].as_str()), ("drone-001", "drone-200"));
        assert!(many.is_sorted());
    }
}
