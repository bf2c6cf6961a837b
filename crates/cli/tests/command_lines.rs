//! Impossible command lines of `skein up` and `skein demo`: the error, and that nothing is started.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

fn skein(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skein"));
    command.args(args).stdin(Stdio::null()).env_clear();
    command.output().unwrap()
}

fn refusal(args: &[&str]) -> (Option<i32>, String) {
    let output = skein(args);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_flag_that_makes_no_sense_is_named_with_what_to_write_instead() {
    for (args, expected) in [
        (vec!["up", "--node", "alpha"], ["--node", "NAME=LINK"]),
        (
            vec!["up", "--node", "alpha=/dev/ttyUSB0"],
            ["--node", "use auto, auto:57600, serial:/dev/ttyACM0:921600"],
        ),
        (vec!["up", "--node", "Alpha=udp:h:1"], ["--node", "is not a node name"]),
        (
            vec!["up", "--api-listen", "0.0.0.0:6443"],
            ["--api-listen 0.0.0.0:6443", "on this machine only"],
        ),
        (vec!["up", "--listen", "50051"], ["--listen", "invalid socket address"]),
        (
            vec!["--server", "http://127.0.0.1:1", "up"],
            [
                "--server and the like are for status",
                "`skein up` runs a coordinator of its own",
            ],
        ),
        (
            vec!["--server", "http://127.0.0.1:1", "demo"],
            [
                "--server and the like are for status",
                "`skein demo` runs a coordinator of its own",
            ],
        ),
        (vec!["demo", "--drones", "0"], ["--drones", "1..=200"]),
        (vec!["demo", "--drones", "201"], ["--drones", "1..=200"]),
        (vec!["demo", "--altitude", "500"], ["--altitude", "from 1 to 120"]),
        (vec!["demo", "--altitude", "-40"], ["--altitude", "from 1 to 120"]),
        (vec!["demo", "--drones", "-1"], ["--drones", "1..=200"]),
        (
            vec!["import", "a.kml", "--spacing", "-4"],
            ["--spacing", "from 1 to 1000"],
        ),
        (
            vec!["mission", "preview", "a.yaml", "--vehicles", "-3"],
            ["--vehicles", "1..=100"],
        ),
        (
            vec!["mission", "preview", "a.yaml", "--flying-time", "-2.5"],
            ["--flying-time", "from 1 to 1440"],
        ),
        (
            vec!["demo", "--flight-log-dir", "/proc/none"],
            ["--flight-log-dir /proc/none", "name a folder that you may write"],
        ),
        (
            vec!["up", "--data-dir", "/proc/none", "--flight-log-dir", "/proc/logs"],
            ["--flight-log-dir /proc/logs", "name a folder that you may write"],
        ),
        (
            vec!["import", "a.param", "--vehicles", "my team=red"],
            ["no label can have the key \"my team\"", "63 letters"],
        ),
        (
            vec!["--server", "https://127.0.0.1:1", "status"],
            ["cannot use the kubeconfig", "--server-ca with --client-cert"],
        ),
        (vec!["demo", "--speedup", "0"], ["--speedup", "from 0.5 to 20"]),
        // Its heartbeats would be 10 s apart, and it could never be flown.
        (vec!["demo", "--speedup", "0.1"], ["--speedup", "from 0.5 to 20"]),
        (
            vec!["demo", "--autopilot", "betaflight"],
            ["--autopilot", "ardupilot, px4, mixed"],
        ),
    ] {
        let (code, text) = refusal(&args);
        assert_eq!(code, Some(2), "{args:?}: {text}");
        assert!(expected.iter().all(|part| text.contains(part)), "{args:?}: {text}");
    }
}

#[test]
fn two_agents_on_one_autopilot_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (code, text) = refusal(&[
        "up",
        "--data-dir",
        data.to_str().unwrap(),
        "--node=alpha=udp:127.0.0.1:14550",
        "--node=bravo=udp:127.0.0.1:14550",
    ]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--node: alpha and bravo have the same link"), "{text}");
    assert!(!data.exists());
}

#[test]
fn a_taken_port_and_an_unusable_folder_are_each_one_line_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    for (args, expected) in [
        (
            vec!["up", "--data-dir", data, "--listen", &address],
            "choose another address with --listen",
        ),
        (vec!["up", "--data-dir", "/proc/none"], "choose another with --data-dir"),
        (vec!["up"], "name a folder with --data-dir"),
    ] {
        let (code, text) = refusal(&args);
        assert!(
            matches!(code, Some(1 | 2)) && text.contains(expected),
            "{args:?}: {text}"
        );
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
}

#[test]
fn the_state_of_a_vehicle_that_cannot_be_understood_keeps_the_station_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("agents/alpha");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("state.json"), "{").unwrap();
    let data = folder.path().to_str().unwrap();
    let (code, text) = refusal(&[
        "up",
        "--data-dir",
        data,
        "--listen=127.0.0.1:0",
        "--node=alpha=udp:127.0.0.1:14550",
    ]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("node alpha: state file") && text.contains("on the ground"),
        "{text}"
    );
}

#[test]
fn the_help_says_who_is_admitted_at_the_port_for_agents() {
    let help = String::from_utf8(skein(&["up", "--help"]).stdout).unwrap();
    let expected = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        expected.contains("speaks TLS and admits everybody with a certificate of `skein enroll`"),
        "{expected}"
    );
    assert!(expected.contains("Ctrl-C lands the vehicles"), "{expected}");
}

#[test]
fn without_a_station_and_a_kubeconfig_no_coordinator_is_guessed() {
    for args in [&["status"][..], &["ground", "--all"], &["enroll", "alpha"]] {
        let (code, text) = refusal(args);
        assert_eq!(code, Some(2), "{text}");
        assert!(
            text.contains("no coordinator is known here") && text.contains("--kubeconfig"),
            "{text}"
        );
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
}

#[test]
fn where_nothing_answers_one_who_named_the_server_is_not_told_to_name_it() {
    let (code, text) = refusal(&["--server", "http://127.0.0.1:1", "status"]);
    assert_eq!(code, Some(3));
    assert!(
        text.contains("Correct --server") && !text.contains("Say which one"),
        "{text}"
    );
}

#[test]
fn called_as_a_kubectl_plugin_its_help_says_so_and_it_connects_to_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-skein");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skein"), &plugin).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(&plugin);
        command.args(args).stdin(Stdio::null()).env_clear().output().unwrap()
    };
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(help.contains("Usage: kubectl skein "), "{help}");
    let none = folder.path().join("none").display().to_string();
    let output = run(&["--kubeconfig", &none, "status"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(&format!("cannot use the kubeconfig {none}")), "{text}");
}

#[test]
fn enrolling_writes_all_that_an_agent_needs_and_never_overwrites_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (station, out) = (path("station"), path("alpha"));
    let enroll = |more: &[&str]| skein(&[&["enroll", "alpha", "--station", &station], more].concat());
    let mistyped = enroll(&["--out", &out]);
    assert_eq!(mistyped.status.code(), Some(2));
    assert!(
        String::from_utf8(mistyped.stderr)
            .unwrap()
            .contains("no ground station has its keys in")
    );
    assert!(!folder.path().join("station").exists() && !folder.path().join("alpha").exists());
    cli::enroll::station::Keys::open(&folder.path().join("station/trust")).unwrap();
    let output = enroll(&["--out", &out, "--coordinator", "10.0.0.1:50051"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("skein-agent --node alpha") && text.contains("--coordinator https://10.0.0.1:50051"),
        "{text}"
    );
    let key = std::fs::metadata(folder.path().join("alpha/agent.key")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777,
        0o600
    );
    for file in ["ca.crt", "agent.crt", "agent.key"] {
        assert!(text.contains(&path(&format!("alpha/{file}"))), "{text}");
    }
    let again = enroll(&["--out", &out]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8(again.stderr).unwrap().contains("is there already"));
    let revoked = enroll(&["--revoke"]);
    assert!(
        String::from_utf8(revoked.stdout)
            .unwrap()
            .contains("1 certificate of alpha counts no more")
    );
}
