//! The built `skein-sitl` as a process: its list, its pseudo-terminals and ports, its wire log, its end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc::O_NONBLOCK;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sitl::wire::{Frame, FrameReader, Outgoing, Sender};

const DEADLINE: Duration = Duration::from_secs(20);
const HEARTBEAT: u32 = 0;
const COMMAND_ACK: u32 = 77;

struct Simulator {
    process: Child,
    list: Vec<serde_json::Value>,
}

impl Simulator {
    fn start(count: usize, flags: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
            .args(flags)
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let list = lines
            .take(count)
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        Self { process, list }
    }

    fn endpoint(&self, index: usize) -> &str {
        self.list[index]["endpoint"].as_str().unwrap()
    }

    fn ends_well(mut self) {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.process.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end");
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Client<S>(S, FrameReader);

impl<S: Read> Client<S> {
    fn new(stream: S) -> Self {
        Self(stream, FrameReader::default())
    }

    fn wait_for(&mut self, what: &str, mut wanted: impl FnMut(&Frame) -> bool) -> Frame {
        let deadline = Instant::now() + DEADLINE;
        let mut buffer = [0u8; 4096];
        while Instant::now() < deadline {
            while let Some(frame) = self.1.next_frame() {
                if wanted(&frame) {
                    return frame;
                }
            }
            match self.0.read(&mut buffer) {
                Ok(len) => self.1.push(&buffer[..len]),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        panic!("not seen: {what}");
    }
}

fn open_port(path: impl AsRef<Path>) -> Client<File> {
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
        .unwrap();
    Client::new(port)
}

fn ask_version(target: u8) -> Vec<u8> {
    use mavlink::dialects::ardupilotmega as apm;
    let command = apm::MavMessage::COMMAND_LONG(apm::COMMAND_LONG_DATA {
        param1: 148.0,
        command: apm::MavCmd::MAV_CMD_REQUEST_MESSAGE,
        target_system: target,
        target_component: 1,
        ..apm::COMMAND_LONG_DATA::DEFAULT
    });
    Sender::new(255, 190).encode(&Outgoing::from(command))
}

#[test]
fn a_pseudo_terminal_works_for_one_client_after_another_and_its_link_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let link = format!("pty:{}", folder.path().display());
    let simulator = Simulator::start(
        2,
        &["--names", "north,south", "--link", &link, "--system-id-base", "11"],
    );
    let names: Vec<&str> = simulator
        .list
        .iter()
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["north", "south"]);
    assert_eq!(simulator.list[1]["autopilot"], "px4");
    assert_eq!(PathBuf::from(simulator.endpoint(1)), folder.path().join("south"));
    for _ in 0..2 {
        let mut port = open_port(simulator.endpoint(1));
        let beat = port.wait_for("a heartbeat", |frame| frame.id == HEARTBEAT);
        assert_eq!((beat.system, beat.component), (12, 1));
        port.0.write_all(&ask_version(12)).unwrap();
        port.wait_for("an ack", |frame| frame.id == COMMAND_ACK);
    }
    kill(Pid::from_raw(simulator.process.id() as i32), Signal::SIGTERM).unwrap();
    simulator.ends_well();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "links are left");
}

#[test]
fn a_client_that_did_not_read_for_a_while_gets_whole_frames_and_then_fresh_ones() {
    let folder = tempfile::tempdir().unwrap();
    let link = format!("pty:{}", folder.path().display());
    let log = folder.path().join("log");
    let flags = [
        "--autopilot",
        "px4",
        "--link",
        &link,
        "--speedup",
        "100",
        "--wire-log",
        log.to_str().unwrap(),
    ];
    let simulator = Simulator::start(1, &flags);
    // More than the port and the simulator hold back together.
    let deadline = Instant::now() + DEADLINE;
    while fs::metadata(log.join("vehicle-1.tlog")).unwrap().len() < 200_000 {
        assert!(
            Instant::now() < deadline,
            "the vehicle stopped talking because nobody reads"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut port = open_port(simulator.endpoint(0));
    // An answer for which there is no place yet is dropped.
    let (deadline, mut is_answered) = (Instant::now() + DEADLINE, false);
    while !is_answered {
        assert!(Instant::now() < deadline, "no ack behind the old frames");
        port.0.write_all(&ask_version(1)).unwrap();
        port.wait_for("an ack or the next heartbeat", |frame| {
            is_answered = frame.id == COMMAND_ACK;
            is_answered || frame.id == HEARTBEAT
        });
    }
}

#[test]
fn the_wire_log_holds_both_directions_at_once_with_times() {
    let folder = tempfile::tempdir().unwrap();
    let link = format!("pty:{}", folder.path().display());
    let log = folder.path().join("log");
    let flags = [
        "--autopilot",
        "ardupilot",
        "--link",
        &link,
        "--wire-log",
        log.to_str().unwrap(),
    ];
    let simulator = Simulator::start(1, &flags);
    let mut port = open_port(simulator.endpoint(0));
    port.wait_for("a heartbeat", |frame| frame.id == HEARTBEAT);
    port.0.write_all(&ask_version(1)).unwrap();
    let ack = port.wait_for("an ack", |frame| frame.id == COMMAND_ACK);
    // An ack that we hold was logged before it was readable here, or a moment later.
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        let records = records(&fs::read(log.join("vehicle-1.tlog")).unwrap());
        let sent = records.iter().any(|(_, frame)| *frame == ack.raw);
        let received = records.iter().any(|(_, frame)| frame[5] == 255);
        if sent && received {
            assert!(
                records.windows(2).all(|pair| pair[0].0 <= pair[1].0),
                "times do not go back"
            );
            break;
        }
        assert!(Instant::now() < deadline, "sent {sent}, received {received}");
    }
}

/// Unix microseconds and frame.
fn records(log: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut records = Vec::new();
    let mut rest = log;
    while rest.len() > 10 {
        let time = u64::from_be_bytes(rest[..8].try_into().unwrap());
        let len = usize::from(rest[9]) + 12;
        if rest.len() < 8 + len {
            break;
        }
        records.push((time, rest[8..8 + len].to_vec()));
        rest = &rest[8 + len..];
    }
    records
}

#[test]
fn a_tcp_port_serves_one_client_after_another() {
    let simulator = Simulator::start(2, &["--count", "2", "--link", "tcp:127.0.0.1:0"]);
    for index in [0, 1, 1] {
        let address = simulator.endpoint(index).strip_prefix("tcp:").unwrap().to_owned();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nonblocking(true).unwrap();
        let beat = Client::new(stream).wait_for("a heartbeat", |frame| frame.id == HEARTBEAT);
        assert_eq!(usize::from(beat.system), index + 1);
    }
}

#[test]
fn it_ends_when_the_process_that_started_it_closes_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulator = Simulator::start(1, &["--link", &format!("pty:{}", folder.path().display())]);
    drop(simulator.process.stdin.take());
    simulator.ends_well();
}

#[test]
fn a_file_in_the_way_of_a_link_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("vehicle-1"), "precious").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_skein-sitl"))
        .args(["--link", &format!("pty:{}", folder.path().display())])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("move it away"));
    assert_eq!(fs::read_to_string(folder.path().join("vehicle-1")).unwrap(), "precious");
}
