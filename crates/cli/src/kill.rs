//! `skein kill`: stops the motors of one vehicle, in the air too.

use crate::args::{KillArgs, ObjectKey};
use crate::failure::Failure;
use crate::route::Route;
use crate::server::Server;
use crate::vehicle::{Vehicle, aged};
use proto::v1;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// To observe the motors off. Reports come at least once a second.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);
const READ_INTERVAL: Duration = Duration::from_millis(250);

const CONFIRMATION: &str = "KILL";

pub async fn run(route: &Route, args: &KillArgs) -> Result<(), Failure> {
    let drone = args.drone.key().map_err(Failure::Usage)?;
    let ask = must_ask(args, &drone, std::io::stdin().is_terminal())?;
    let mut server = Server::connect(route).await?;
    let (vehicle, _) = server.offer_kill(&drone).await?;
    print(&warning(&drone, &Vehicle::from(vehicle)))?;
    if ask {
        confirm(&format!("Type the name of the Drone ({}): ", drone.name), &drone.name).await?;
    }
    // A new code, as it lives for seconds and the first question took its time.
    let (_, offer) = server.offer_kill(&drone).await?;
    if ask {
        let seconds = offer.lives_ms / 1000;
        confirm(
            &format!("Type {CONFIRMATION} within {seconds} s to stop the motors: "),
            CONFIRMATION,
        )
        .await?;
    }
    let answer = server.kill(&drone, offer.code).await?;
    let outcome = answer.outcome();
    if outcome == v1::KillOutcome::NotSent {
        return Err(Failure::Failed(format!("nothing was sent: {}", answer.words)));
    }
    print(&answer_text(outcome, &answer.words))?;
    let vehicle = until_stopped(&mut server, &drone).await?;
    verdict(outcome, &vehicle)
        .map_err(Failure::Failed)
        .and_then(|text| print(&text))
}

fn print(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// A script gives both flags instead.
fn must_ask(args: &KillArgs, drone: &ObjectKey, terminal: bool) -> Result<bool, Failure> {
    match (&args.confirm, args.yes_stop_the_motors) {
        (Some(name), _) if *name != drone.name => Err(Failure::Usage(format!(
            "--confirm is {name:?}, but the Drone is {}; nothing was done",
            drone.name
        ))),
        (Some(_), true) => Ok(false),
        _ if terminal => Ok(true),
        _ => Err(Failure::Usage(
            "there is nobody to ask: give both --confirm NAME and --yes-stop-the-motors; nothing was done".into(),
        )),
    }
}

async fn confirm(question: &str, expected: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    write!(out, "{question}")?;
    out.flush()?;
    // On another thread, as this one serves the connection.
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = line.await.map_err(|fault| Failure::Failed(fault.to_string()))??;
    if line.trim() == expected {
        Ok(())
    } else {
        Err(Failure::Failed("that is something else; nothing was done".into()))
    }
}

fn warning(drone: &ObjectKey, vehicle: &Vehicle) -> String {
    let place = match vehicle.flying {
        Some(true) => "in the air: IT WILL FALL",
        Some(false) => "on the ground",
        None => "perhaps in the air: IT MAY FALL",
    };
    let height = vehicle.position.as_ref().map_or_else(String::new, |p| {
        let height = format!("{:.1} m above home", p.altitude_above_home_meters);
        match aged(&height, vehicle.position_age_ms).as_str() {
            "-" => String::new(),
            height => format!(", {height}"),
        }
    });
    let mode = vehicle.mode.as_deref().unwrap_or("unknown");
    format!(
        "This stops the motors of Drone {drone}, the vehicle of node {}, at once. It is {place} ({}, mode {mode}{height}).\n\
         To land it instead: skein ground --drone {drone}",
        vehicle.node, vehicle.truth
    )
}

fn answer_text(outcome: v1::KillOutcome, detail: &str) -> String {
    match outcome {
        v1::KillOutcome::Accepted => "The autopilot accepted it.".into(),
        v1::KillOutcome::Refused => format!("The autopilot refused it ({detail})."),
        v1::KillOutcome::NotSent | v1::KillOutcome::NoAnswer | v1::KillOutcome::Unspecified => {
            "The command was sent once; the autopilot did not answer.".into()
        }
    }
}

/// The vehicle with its motors off, or as reported at the deadline.
async fn until_stopped(server: &mut Server, drone: &ObjectKey) -> Result<Vehicle, Failure> {
    let until = Instant::now() + CONFIRM_TIMEOUT;
    loop {
        let vehicle = Vehicle::from(server.get(drone).await?);
        if motors_off(&vehicle) || Instant::now() >= until {
            return Ok(vehicle);
        }
        sleep(READ_INTERVAL).await;
    }
}

/// By its own account; a falling vehicle is disarmed and not on the ground.
fn motors_off(vehicle: &Vehicle) -> bool {
    matches!(vehicle.truth.as_str(), "Disarmed" | "UnknownContradiction")
}

fn verdict(outcome: v1::KillOutcome, vehicle: &Vehicle) -> Result<String, String> {
    if motors_off(vehicle) {
        return Ok(
            "The vehicle says that its motors are off. It stays down: delete the Drone once the vehicle is fit to \
                   fly again."
                .into(),
        );
    }
    let state = format!(
        "the vehicle says {} (mode {})",
        vehicle.truth,
        vehicle.mode.as_deref().unwrap_or("unknown")
    );
    Err(match outcome {
        v1::KillOutcome::Refused => format!("the motors were not stopped: {state}"),
        _ => format!("it is not known whether the motors have stopped: {state}; check it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::vehicle::tests::holding;
    use clap::Parser;

    fn args(more: &[&str]) -> (KillArgs, ObjectKey) {
        let line = [&["skein", "kill", "goose", "-n", "field"], more].concat();
        match Cli::try_parse_from(line).unwrap().command {
            crate::args::Command::Kill(args) => {
                let key = args.drone.key().unwrap();
                (args, key)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_script_needs_both_flags_and_a_person_is_asked() {
        let ask = |more: &[&str], terminal| {
            let (args, key) = args(more);
            must_ask(&args, &key, terminal)
        };
        let both = ["--confirm", "goose", "--yes-stop-the-motors"];
        for terminal in [true, false] {
            assert!(!ask(&both, terminal).unwrap());
        }
        for one in [&[][..], &["--confirm", "goose"], &["--yes-stop-the-motors"]] {
            assert!(ask(one, true).unwrap(), "{one:?}");
            assert!(matches!(ask(one, false), Err(Failure::Usage(_))), "{one:?}");
        }
        for terminal in [true, false] {
            let wrong = ask(&["--confirm", "gosling", "--yes-stop-the-motors"], terminal);
            assert!(matches!(wrong, Err(Failure::Usage(_))));
        }
    }

    fn reported(truth: v1::FlightTruth) -> Vehicle {
        let mut vehicle = holding("goose");
        if let Some(report) = vehicle.report.as_mut() {
            report.truth = truth.into();
        }
        Vehicle::from(vehicle)
    }

    #[test]
    fn a_person_reads_what_would_fall_and_what_to_do_instead() {
        let (_, key) = args(&[]);
        let text = warning(&key, &reported(v1::FlightTruth::InAir));
        assert!(
            text.contains("Drone field/goose, the vehicle of node node-goose"),
            "{text}"
        );
        assert!(
            text.contains("IT WILL FALL (InAir, mode AUTO.LOITER, 10.0 m above home)"),
            "{text}"
        );
        assert!(text.contains("skein ground"), "{text}");
        assert!(warning(&key, &reported(v1::FlightTruth::UnknownLinkLost)).contains("IT MAY FALL"));
        assert!(warning(&key, &reported(v1::FlightTruth::Disarmed)).contains("It is on the ground"));
    }

    #[test]
    fn success_is_what_the_vehicle_reports_and_not_what_the_autopilot_answered() {
        use v1::KillOutcome::{Accepted, NoAnswer, Refused};
        for outcome in [Accepted, NoAnswer, Refused] {
            for off in [v1::FlightTruth::Disarmed, v1::FlightTruth::UnknownContradiction] {
                assert!(verdict(outcome, &reported(off)).is_ok());
            }
            assert!(verdict(outcome, &reported(v1::FlightTruth::InAir)).is_err());
        }
        let refused = verdict(Refused, &reported(v1::FlightTruth::InAir)).unwrap_err();
        assert!(
            refused.starts_with("the motors were not stopped: the vehicle says InAir"),
            "{refused}"
        );
        let open = verdict(Accepted, &reported(v1::FlightTruth::UnknownLinkLost)).unwrap_err();
        assert!(open.starts_with("it is not known"), "{open}");
        assert!(answer_text(Refused, "FAILED").contains("(FAILED)"));
    }
}
