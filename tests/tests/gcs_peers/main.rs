//! Ground stations by other authors (pymavlink, MAVProxy, MAVSDK), through the agent, while it flies a Drone; and its
//! flight log, opened by them. The scripts in `tests/peers` judge.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use proto::v1::{Activity, FlightTruth};
use skein_tests::minimal_coordinator::Coordinator;
use std::path::PathBuf;
use std::time::Duration;
use testkit::{Launch, Process, Scratch};

const PATIENCE: Duration = Duration::from_secs(90);
const NODE: &str = "node-1";

struct Flight {
    agent: Process,
    coordinator: Coordinator,
    _simulator: Process,
    tcp: u16,
    udp: u16,
    scratch: Scratch,
}

impl Flight {
    fn begin(autopilot: &str, speedup: &str) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-gcs-")?;
        let logs = scratch.folder("logs")?;
        let simulator = Launch::workspace("skein-sitl")?
            .args(["--autopilot", autopilot, "--speedup", speedup, "--names", NODE])
            .args(["--battery-percent-per-minute", "0.1"])
            .args(["--link", &format!("pty:{}", scratch.folder("ports")?.display())])
            .arg("--wire-log")
            .arg(scratch.folder("wire")?)
            .logs_in(&logs)
            .start()?;
        simulator.wait_for_line(PATIENCE, |line| line.contains(NODE))?;
        let [uplink, tcp] = testkit::ports::free_tcp_ports(2)?
            .try_into()
            .map_err(|_| anyhow::anyhow!("two ports were asked for"))?;
        let udp = testkit::ports::free_udp_port()?;
        let coordinator = Coordinator::serve(uplink)?;
        let agent = Launch::workspace("skein-agent")?
            .env("NODE", NODE)
            .env(
                "SKEIN_LINK",
                format!("serial:{}:57600", scratch.path().join("ports").join(NODE).display()),
            )
            .env("SKEIN_COORDINATOR", format!("http://127.0.0.1:{uplink}"))
            .arg("--state-dir")
            .arg(scratch.folder("state")?)
            .arg("--flight-log-dir")
            .arg(scratch.folder("flights")?)
            .arg(format!("--gcs-listen=tcp:127.0.0.1:{tcp},udp:127.0.0.1:{udp}"))
            .logs_in(&logs)
            .start()?;
        let flight = Self {
            agent,
            coordinator,
            _simulator: simulator,
            tcp,
            udp,
            scratch,
        };
        flight.wait("the vehicle to hold", |report| {
            report.truth() == FlightTruth::InAir && report.activity() == Activity::Holding
        })?;
        Ok(flight)
    }

    fn wait(&self, what: &str, holds: impl Fn(&proto::v1::Report) -> bool) -> anyhow::Result<()> {
        self.agent.wait_until(what, PATIENCE, || {
            let report = self.coordinator.report().context("no report yet")?;
            ensure!(holds(&report), "{:?}, {:?}", report.truth(), report.activity());
            Ok(())
        })
    }

    fn script(&self, name: &str, args: &[&str]) -> anyhow::Result<String> {
        testkit::peer::run(name, args, &[], PATIENCE * 2)
            .with_context(|| format!("the agent said:\n{}", self.agent.tail()))
    }

    fn newest_log(&self) -> anyhow::Result<PathBuf> {
        let files = std::fs::read_dir(self.scratch.path().join("flights"))?;
        let number = |path: &PathBuf| {
            let name = path.file_stem()?.to_str()?;
            name.rsplit_once('-')?.1.parse::<u64>().ok()
        };
        let mut paths: Vec<PathBuf> = files.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
        paths.sort_by_key(number);
        paths.pop().context("there is no flight log")
    }
}

fn ground_stations_fly_along(autopilot: &str) -> anyhow::Result<()> {
    let flight = Flight::begin(autopilot, "10")?;
    let (tcp, udp) = (flight.tcp.to_string(), flight.udp.to_string());
    let said = flight.script("gcs_together.py", &[autopilot, &tcp, &udp])?;
    flight
        .wait("the agent to let go", |report| {
            // It may have landed meanwhile.
            let hands_off = [Activity::HandsOffTakenOver, Activity::HandsOffFlightOver];
            hands_off.contains(&report.activity()) && report.takeovers == 1
        })
        .context(said)?;
    flight.script("gcs_land.py", &[&tcp])?;
    flight.wait("the vehicle to be down", |report| {
        report.truth() == FlightTruth::Disarmed
    })?;

    flight.agent.signal(Signal::SIGTERM)?;
    let status = flight.agent.wait_for_exit(PATIENCE)?;
    ensure!(status.success(), "{status}\n{}", flight.agent.tail());
    let flights = flight.scratch.path().join("flights").display().to_string();
    let newest = flight.newest_log()?.display().to_string();
    let wire = flight.scratch.path().join("wire").join(format!("{NODE}.tlog"));
    flight.script(
        "read_flight_log.py",
        &[autopilot, &flights, &newest, &wire.display().to_string()],
    )?;
    Ok(())
}

#[test]
fn pymavlink_mavproxy_and_mavsdk_fly_along_with_an_ardupilot_and_may_take_over() {
    ground_stations_fly_along("ardupilot").unwrap();
}

#[test]
fn pymavlink_mavproxy_and_mavsdk_fly_along_with_a_px4_and_may_take_over() {
    ground_stations_fly_along("px4").unwrap();
}

/// No faster than a busy machine can keep up with heartbeats.
fn the_failsafe_fires(autopilot: &str) -> anyhow::Result<()> {
    let flight = Flight::begin(autopilot, "4")?;
    flight.script("gcs_failsafe.py", &[autopilot, &flight.tcp.to_string()])?;
    Ok(())
}

#[test]
fn ardupilot_acts_when_the_ground_station_in_charge_is_lost_although_another_beats() {
    the_failsafe_fires("ardupilot").unwrap();
}

#[test]
fn px4_acts_when_the_ground_station_in_charge_is_lost_although_another_beats() {
    the_failsafe_fires("px4").unwrap();
}
