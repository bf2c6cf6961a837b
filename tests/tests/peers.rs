//! Other MAVLink implementations fly simulated vehicles of both profiles: pymavlink over a pseudo-terminal, MAVSDK over UDP.
//!
//! Owns: starting the scripts in `tests/peers` with the right Python and the built simulator.
//! Must not: speak MAVLink itself; the peers do.
#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Set by `cargo xtask test` to the Python of the environment made from `tests/peers/requirements.txt`.
const PYTHON: &str = "SKEIN_TEST_PYTHON";
/// A flight takes about ten seconds; the rest is for a machine under load.
const DEADLINE: Duration = Duration::from_secs(180);

/// The simulator beside this test's binary: target/debug/skein-sitl.
fn simulator() -> PathBuf {
    let here = env::current_exe().expect("this test has a path");
    let binary = here
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("skein-sitl"))
        .unwrap_or_default();
    assert!(
        binary.exists(),
        "{} is missing; run `cargo xtask test` or `cargo build -p sitl`",
        binary.display()
    );
    binary
}

fn run(script: &str, autopilot: &str) {
    let Some(python) = env::var_os(PYTHON) else {
        panic!("{PYTHON} is not set; run `cargo xtask test`, which prepares Python and sets it");
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let log = env::temp_dir().join(format!("skein-peers-{}-{script}-{autopilot}.log", std::process::id()));
    let output = fs::File::create(&log).expect("the temporary folder can be written");
    let child = Command::new(python)
        .args(["-B", script, autopilot])
        .current_dir(folder)
        .env("SKEIN_SITL", simulator())
        .env("PYTHONUNBUFFERED", "1")
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a file can be opened twice"))
        .stderr(output)
        .spawn()
        .unwrap_or_else(|error| panic!("{PYTHON} does not start ({error}); run `cargo xtask test`"));
    let flown = wait(child);
    let said = fs::read_to_string(&log).unwrap_or_default();
    let _ = fs::remove_file(&log);
    assert!(flown, "{script} {autopilot} failed; it said:\n{said}");
}

/// Whether it succeeds before the deadline. A script that hangs is ended; its simulator ends with it, because its input closes.
fn wait(mut child: Child) -> bool {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(50)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[test]
fn pymavlink_arms_flies_and_lands_a_simulated_ardupilot_over_a_pseudo_terminal() {
    run("fly_pymavlink.py", "ardupilot");
}

#[test]
fn pymavlink_arms_flies_and_lands_a_simulated_px4_over_a_pseudo_terminal() {
    run("fly_pymavlink.py", "px4");
}

#[test]
fn mavsdk_arms_flies_and_lands_a_simulated_ardupilot_over_udp() {
    run("fly_mavsdk.py", "ardupilot");
}

#[test]
fn mavsdk_arms_flies_and_lands_a_simulated_px4_over_udp() {
    run("fly_mavsdk.py", "px4");
}
