//! Scripted faults of the built `skein-sitl`: effects on real pseudo-terminals and ports, and refusal of a bad file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc::O_NONBLOCK;
use sitl::wire::FrameReader;

const DEADLINE: Duration = Duration::from_secs(30);
const HEARTBEAT: u32 = 0;

struct Simulator {
    process: Child,
    endpoint: String,
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn simulator(folder: &Path, link: &str, faults: &str) -> Simulator {
    let file = folder.join("faults.txt");
    fs::write(&file, faults).unwrap();
    let mut process = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
        .args([
            "--autopilot",
            "px4",
            "--speedup",
            "10",
            "--until-stdin-closes",
            "--link",
            link,
        ])
        .arg("--faults")
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let listed: serde_json::Value = serde_json::from_str(&line).unwrap();
    let endpoint = listed["endpoint"].as_str().unwrap().to_owned();
    Simulator { process, endpoint }
}

fn wait<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(Instant::now() < deadline, "not seen: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn open(path: &str) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(O_NONBLOCK).open(path).ok()
}

fn heartbeat(port: &mut impl Read) {
    let (mut reader, mut buffer) = (FrameReader::default(), [0; 4096]);
    wait("a heartbeat", || {
        if let Ok(len) = port.read(&mut buffer) {
            reader.push(&buffer[..len]);
        }
        std::iter::from_fn(|| reader.next_frame()).find(|frame| frame.id == HEARTBEAT)
    });
}

#[test]
fn a_pseudo_terminal_that_hangs_up_fails_for_its_reader_and_returns_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let link = format!("pty:{}", folder.path().display());
    let simulator = simulator(folder.path(), &link, "at 20 hang-up for 80");
    let mut port = wait("the port", || open(&simulator.endpoint));
    heartbeat(&mut port);
    wait("an error or the end on the old port", || {
        match port.read(&mut [0; 4096]) {
            Ok(0) => Some(()),
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => Some(()),
            _ => None,
        }
    });
    assert!(open(&simulator.endpoint).is_none(), "the name is gone meanwhile");
    let mut port = wait("the port again", || open(&simulator.endpoint));
    heartbeat(&mut port);
}

#[test]
fn a_tcp_port_that_hangs_up_ends_the_connection_and_refuses_new_ones_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let simulator = simulator(folder.path(), "tcp:127.0.0.1:0", "at 20 hang-up for 80");
    let address = simulator.endpoint.strip_prefix("tcp:").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nonblocking(true).unwrap();
    heartbeat(&mut stream);
    wait("the end of the connection", || match stream.read(&mut [0; 4096]) {
        Ok(0) => Some(()),
        Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => Some(()),
        _ => None,
    });
    assert!(TcpStream::connect(address).is_err(), "nobody listens meanwhile");
    let mut stream = wait("a new connection", || TcpStream::connect(address).ok());
    stream.set_nonblocking(true).unwrap();
    heartbeat(&mut stream);
}

fn refused(faults: Option<&str>, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("faults.txt");
    if let Some(faults) = faults {
        fs::write(&file, faults).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
        .args(["--link", "none", "--names", "north", "--faults"])
        .arg(&file)
        .args(more)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.lines().count(), 1, "{output}");
    output
}

#[test]
fn a_bad_line_is_one_error_with_file_and_line() {
    let output = refused(Some("at 1 reboot\nat 2 explode\n"), &[]);
    assert!(
        output.contains("faults.txt: line 2: `explode` is no fault; faults are "),
        "{output}"
    );
}

#[test]
fn a_file_that_is_missing_and_a_key_that_is_missing_are_named() {
    assert!(refused(None, &[]).contains("--faults: cannot read "));
    assert!(refused(Some("at 1 signed my.key"), &[]).contains("line 1: key file `my.key`: No such file"));
}

#[test]
fn a_fault_for_a_vehicle_that_does_not_exist_is_refused_with_the_names_there_are() {
    let output = refused(Some("south: at 1 reboot"), &[]);
    assert!(
        output.contains("name a vehicle `south` that does not exist; vehicles are north"),
        "{output}"
    );
}

#[test]
fn the_help_lists_the_faults() {
    let output = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
        .arg("--help")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&output.stdout);
    assert!(output.contains("lose-ack") && output.contains("[VEHICLE:] on COMMAND [NTH|every] [+SECONDS] FAULT"));
}

#[test]
fn vehicles_without_a_peer_run_too_and_the_pace_is_reported_each_second() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
        .args(["--link", "none", "--count", "2", "--print-pace", "--until-stdin-closes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    for _ in 0..2 {
        assert!(lines.next().unwrap().unwrap().contains("\"endpoint\":\"none\""));
    }
    let mut steps = 0;
    while steps < 50 {
        let pace: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert!(pace["late_max_ms"].is_u64(), "{pace}");
        steps += pace["steps"].as_u64().unwrap();
    }
    drop(process.stdin.take());
    assert!(process.wait().unwrap().success());
}
