//! The program `skein-agent`: errors at its start, and its end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(20);

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein-agent"));
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn lonely(dir: &std::path::Path) -> Command {
    let mut command = program();
    command
        .env("NODE", "pine")
        .arg("--link=serial:/dev/no-such-autopilot:57600");
    command
        .arg("--coordinator=http://127.0.0.1:9")
        .arg("--state-dir")
        .arg(dir);
    command
}

/// Permissions would not stop root.
fn obstruct(dir: &std::path::Path) {
    std::fs::create_dir(dir.join("state.json.new")).unwrap();
}

fn ends_after(dir: &std::path::Path, words: &str) -> Option<i32> {
    let mut child = lonely(dir).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains(words) {}
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    wait(&mut child)
}

fn wait(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(began.elapsed() < DEADLINE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_is_bad_or_missing_is_one_line_and_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let broken = tempfile::tempdir().unwrap();
    std::fs::write(broken.path().join("state.json"), "{").unwrap();
    let full = tempfile::tempdir().unwrap();
    obstruct(full.path());
    let mut no_node = lonely(dir.path());
    no_node.env_remove("NODE");
    let mut bad_link = program();
    bad_link
        .env("NODE", "pine")
        .env("SKEIN_LINK", "ttyACM0")
        .env("SKEIN_COORDINATOR", "http://127.0.0.1:9");
    let mut unknown_flag = lonely(dir.path());
    unknown_flag.arg("--fly-now");
    let mut no_dir = lonely(std::path::Path::new("/proc/none"));
    no_dir.arg("--log=json");
    for (mut command, words) in [
        (no_node, "set NODE"),
        (bad_link, "use auto, auto:57600, serial:/dev/ttyACM0:921600"),
        (unknown_flag, "unexpected argument '--fly-now'"),
        (no_dir, "cannot use state directory /proc/none"),
        (lonely(broken.path()), "make sure that the vehicle is on the ground"),
        (lonely(full.path()), "Is a directory"),
    ] {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words) && said.trim_end().lines().count() == 1, "{said}");
    }
}

#[test]
fn one_that_has_a_state_starts_although_its_disk_is_full_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ends_after(dir.path(), "agent started"), Some(0));
    obstruct(dir.path());
    assert_eq!(ends_after(dir.path(), "repair the volume or make room"), Some(0));
}

#[test]
fn it_tells_its_version_and_its_flags() {
    for (flag, words) in [("--version", "skein-agent 0."), ("--help", "SKEIN_LINK")] {
        let output = program().arg(flag).output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains(words));
    }
}

#[test]
fn it_waits_for_autopilot_and_coordinator_with_one_warning_each_and_ends_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = lonely(dir.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    while !(said.iter().any(|l: &String| l.contains("is missing")) && said.iter().any(|l| l.contains("no coordinator")))
    {
        said.push(lines.next().unwrap().unwrap());
    }
    // Long enough for several tries of both, which are not reported again.
    std::thread::sleep(Duration::from_secs(3));
    let probe = program()
        .arg("--check-ready")
        .arg("--ready-file")
        .arg(dir.path().join("ready"))
        .output()
        .unwrap();
    assert_eq!(probe.status.code(), Some(1));
    let second = lonely(dir.path()).output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(
        String::from_utf8(second.stderr)
            .unwrap()
            .contains("another skein-agent is using")
    );
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(wait(&mut child), Some(0));
    said.extend(lines.map_while(Result::ok));
    let warnings: Vec<_> = said.iter().filter(|l| l.contains("WARN")).collect();
    assert_eq!(warnings.len(), 2, "{said:#?}");
    assert!(said.iter().all(|l| l.contains("node=pine")), "{said:#?}");
}
