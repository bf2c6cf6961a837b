//! The agent's process flies a vehicle with severe faults: the flight ends safely or is reported correctly, and the
//! wire log contains no unsafe command.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod log;

use anyhow::{Context, ensure};
use log::Log;
use mavlink::dialects::ardupilotmega::MavCmd;
use nix::sys::signal::Signal;
use proto::v1::{Activity, DiversionWhy, FlightTruth, Report};
use skein_tests::minimal_coordinator::Coordinator;
use std::path::PathBuf;
use std::time::Duration;
use testkit::{Launch, Process, Scratch};

const PATIENCE: Duration = Duration::from_secs(90);
/// An ArduPilot takes 41.5 s to be ready.
const SPEEDUP: &str = "5";
/// A PX4 that is not lifted off disarms after 10 s: only in real time a lost takeoff is repeated before that.
const REAL_TIME: &str = "1";
const NODE: &str = "node-1";

struct Flight {
    agent: Process,
    coordinator: Coordinator,
    _simulator: Process,
    scratch: Scratch,
}

impl Flight {
    fn begin(autopilot: &str, faults: &str) -> anyhow::Result<Self> {
        Self::begin_with(autopilot, faults, &[], SPEEDUP)
    }

    fn begin_with(autopilot: &str, faults: &str, parameters: &[&str], speedup: &str) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-faults-")?;
        let logs = scratch.folder("logs")?;
        let script = scratch.path().join("faults.txt");
        std::fs::write(&script, faults)?;
        std::fs::write(scratch.path().join("key"), [7; 32])?;
        let simulator = Launch::workspace("skein-sitl")?
            .args(["--autopilot", autopilot, "--speedup", speedup, "--names", NODE])
            .args(["--link", &format!("pty:{}", scratch.folder("ports")?.display())])
            .arg("--faults")
            .arg(script)
            .args(parameters.iter().flat_map(|parameter| ["--param", parameter]))
            .arg("--wire-log")
            .arg(scratch.folder("wire")?)
            .logs_in(&logs)
            .start()?;
        simulator.wait_for_line(PATIENCE, |line| line.contains(NODE))?;
        let uplink = testkit::ports::free_tcp_port()?;
        let coordinator = Coordinator::serve(uplink)?;
        let port = scratch.path().join("ports").join(NODE);
        let agent = Launch::workspace("skein-agent")?
            .env("NODE", NODE)
            .env("SKEIN_LINK", format!("serial:{}:57600", port.display()))
            .env("SKEIN_COORDINATOR", format!("http://127.0.0.1:{uplink}"))
            .arg("--state-dir")
            .arg(scratch.folder("state")?)
            .logs_in(&logs)
            .start()?;
        Ok(Self {
            agent,
            coordinator,
            _simulator: simulator,
            scratch,
        })
    }

    fn wait(&self, what: &str, holds: impl Fn(&Report) -> bool) -> anyhow::Result<Report> {
        self.agent.wait_until(what, PATIENCE, || {
            let report = self.coordinator.report().context("no report yet")?;
            ensure!(
                holds(&report),
                "{:?}, {:?}; commands {:#?}",
                report.truth(),
                report.activity(),
                self.log().commands
            );
            Ok(report)
        })
    }

    fn wait_holding(&self) -> anyhow::Result<Report> {
        self.wait("the vehicle to hold", |report| {
            report.truth() == FlightTruth::InAir && report.activity() == Activity::Holding
        })
    }

    fn log_path(&self) -> PathBuf {
        self.scratch.path().join("wire").join(format!("{NODE}.tlog"))
    }

    fn log(&self) -> Log {
        Log::read(&self.log_path())
    }

    fn ends_well(&self) -> anyhow::Result<Log> {
        self.agent.signal(Signal::SIGTERM)?;
        let status = self.agent.wait_for_exit(PATIENCE)?;
        ensure!(status.success(), "{status}\n{}", self.agent.tail());
        let log = self.log();
        ensure!(log.down(), "the vehicle is not down: {log:#?}");
        log.check()?;
        Ok(log)
    }
}

fn flies_and_lands(autopilot: &str, faults: &str) -> anyhow::Result<Log> {
    let flight = Flight::begin(autopilot, faults)?;
    flight.wait_holding()?;
    flight.ends_well()
}

#[test]
fn a_takeoff_whose_ack_is_lost_while_the_vehicle_climbs_ends_well() {
    // The repeated takeoff is then refused: "FAILED while climbing".
    let log = flies_and_lands("ardupilot", "on takeoff lose-ack").unwrap();
    assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1);
    let log = flies_and_lands("px4", "on takeoff every lose-ack").unwrap();
    assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1);
}

#[test]
fn acks_that_come_late_twice_in_progress_or_for_nobody_change_nothing() {
    let faults = "on arm duplicate-ack 3\non takeoff in-progress 4\non set-mode delay-ack 4\non land ack-untargeted
        on takeoff 2 ack-to 250/1\non set-interval 2 lose-command\non request-message lose-ack";
    for autopilot in ["px4", "ardupilot"] {
        let log = flies_and_lands(autopilot, faults).unwrap();
        assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1, "{log:#?}");
    }
}

#[test]
fn another_autopilot_that_comes_in_flight_a_gimbal_and_a_station_are_sent_nothing() {
    let faults = "on takeoff +5 second-autopilot 42\nat 0 gimbal\nat 0 ground-station\nat 0 unknown-ids 20";
    let flight = Flight::begin("px4", faults).unwrap();
    let report = flight.wait_holding().unwrap();
    assert_eq!(report.identity.unwrap().system_id, 1);
    let height = report.position.unwrap().altitude_above_home_m;
    assert!(height < 20.0, "{height}; the other one says 77 m");
    flight.ends_well().unwrap();
}

#[test]
fn two_autopilots_on_the_wire_from_the_start_are_left_alone_and_not_reported() {
    let flight = Flight::begin("px4", "at 0 second-autopilot 42").unwrap();
    let logged = |line: &str| line.contains("several autopilots are on the link") && line.contains("42");
    flight.agent.wait_for_line(PATIENCE, logged).unwrap();
    let report = flight.wait("a report", |report| report.held.is_some()).unwrap();
    assert_eq!(report.truth(), FlightTruth::UnknownNeverHeard);
    flight.agent.signal(Signal::SIGTERM).unwrap();
    flight.agent.wait_for_exit(PATIENCE).unwrap();
    assert_eq!(flight.log().commands, []);
}

#[test]
fn one_byte_in_a_hundred_changed_both_ways_still_makes_a_flight() {
    let flight = Flight::begin_with("px4", "seed 11\nat 0 noise 1%\nat 0 stray 0.1%", &[], REAL_TIME).unwrap();
    flight.wait_holding().unwrap();
    flight.ends_well().unwrap();
}

#[test]
fn a_link_that_hangs_up_in_flight_is_reported_and_the_flight_goes_on_afterwards() {
    let flight = Flight::begin("px4", "on takeoff +30 hang-up for 60\non takeoff +60 backlog for 40").unwrap();
    flight.wait_holding().unwrap();
    flight
        .wait("the link to be lost", |report| {
            report.truth() == FlightTruth::UnknownLinkLost
        })
        .unwrap();
    flight.wait_holding().unwrap();
    let log = flight.ends_well().unwrap();
    assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1);
}

#[test]
fn a_landed_state_stuck_at_undefined_is_unknown_and_nothing_is_sent_meanwhile() {
    let flight = Flight::begin("px4", "on takeoff +30 landed-state undefined for 60").unwrap();
    flight.wait_holding().unwrap();
    flight
        .wait("the truth to be unknown", |report| {
            report.truth() == FlightTruth::UnknownLandedState
        })
        .unwrap();
    let before = flight.log().commands.len();
    flight.wait_holding().unwrap();
    assert_eq!(flight.log().commands.len(), before);
    flight.ends_well().unwrap();
}

#[test]
fn an_autopilot_that_reboots_in_flight_is_reported_down_and_not_as_flying() {
    let flight = Flight::begin("px4", "on takeoff +30 reboot").unwrap();
    flight.wait_holding().unwrap();
    let report = flight
        .wait("the vehicle to be known as down", |report| {
            report.truth() == FlightTruth::Disarmed
        })
        .unwrap();
    assert_eq!(report.activity(), Activity::HandsOffFlightOver);
    let log = flight.ends_well().unwrap();
    assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1, "{log:#?}");
}

#[test]
fn an_autopilot_that_reboots_on_the_ground_is_asked_for_its_streams_again_and_flies() {
    flies_and_lands("px4", "at 4 reboot\nat 9 reboot").unwrap();
}

#[test]
fn a_pilot_who_takes_over_by_radio_control_keeps_the_vehicle() {
    let faults = "on takeoff +40 mode brake\non takeoff +80 mode land";
    let flight = Flight::begin("ardupilot", faults).unwrap();
    flight.wait_holding().unwrap();
    flight
        .wait("the agent to let go", |report| {
            report.activity() == Activity::HandsOffOtherMode && report.takeovers == 1
        })
        .unwrap();
    let before = flight.log().commands;
    flight
        .wait("the pilot to be down", |report| {
            report.truth() == FlightTruth::Disarmed && report.takeovers == 1
        })
        .unwrap();
    let log = flight.log();
    log.check().unwrap();
    assert_eq!(log.commands, before);
}

#[test]
fn a_vehicle_that_speaks_mavlink_1_is_flown() {
    for autopilot in ["px4", "ardupilot"] {
        flies_and_lands(autopilot, "at 0 mavlink1").unwrap();
    }
}

#[test]
fn a_vehicle_that_signs_is_flown_by_an_agent_that_has_no_key() {
    flies_and_lands("px4", "at 0 signed key").unwrap();
}

#[test]
fn a_vehicle_that_falls_is_reported_down_and_is_not_armed_again() {
    let flight = Flight::begin("px4", "on takeoff +40 motor-failure").unwrap();
    flight.wait_holding().unwrap();
    flight
        .wait("the vehicle to be known as down", |report| {
            report.truth() == FlightTruth::Disarmed
        })
        .unwrap();
    let log = flight.ends_well().unwrap();
    assert_eq!(log.count(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), 1, "{log:#?}");
}

/// Checks that nothing is sent from the failsafe that `faults` triggers to its landing; `why` is the agent's report.
fn failsafe_is_left_alone(autopilot: &str, faults: &str, parameters: &[&str], why: DiversionWhy) -> anyhow::Result<()> {
    let flight = Flight::begin_with(autopilot, faults, parameters, SPEEDUP)?;
    flight.wait_holding()?;
    let by_autopilot = |report: &Report| report.diversion.as_ref().is_some_and(|d| d.why() == why);
    let begun = flight.wait("the autopilot's failsafe", by_autopilot)?;
    ensure!(
        matches!(
            begun.activity(),
            Activity::HandsOffAutopilotFailsafe | Activity::HandsOffOtherMode
        ),
        "{begun:#?}"
    );
    ensure!(
        begun.diversion.is_some_and(|d| !d.words.is_empty()),
        "without its words"
    );
    let before = flight.log().commands;
    let over = flight.wait("the vehicle to be down", |report| {
        report.truth() == FlightTruth::Disarmed
    })?;
    ensure!(by_autopilot(&over), "{over:#?}");
    let log = flight.log();
    log.check()?;
    // Commands are only added, and some contain NaN, which equals nothing.
    ensure!(log.commands.len() == before.len(), "sent into a failsafe: {log:#?}");
    Ok(())
}

#[test]
fn px4s_failsafe_for_an_empty_battery_is_not_overridden_by_a_return_of_ours() {
    let faults = "on takeoff +40 battery 4";
    failsafe_is_left_alone("px4", faults, &["COM_LOW_BAT_ACT=3"], DiversionWhy::AutopilotBattery).unwrap();
}

#[test]
fn ardupilots_failsafe_for_an_empty_battery_is_not_overridden_by_a_return_of_ours() {
    let faults = "on takeoff +40 battery 4";
    let lands = ["BATT_FS_LOW_ACT=1", "BATT_LOW_TIMER=1"];
    failsafe_is_left_alone("ardupilot", faults, &lands, DiversionWhy::AutopilotBattery).unwrap();
}

#[test]
fn px4_that_lost_its_position_comes_down_by_itself() {
    let faults = "on takeoff +40 no-gps";
    failsafe_is_left_alone("px4", faults, &[], DiversionWhy::AutopilotPosition).unwrap();
}
