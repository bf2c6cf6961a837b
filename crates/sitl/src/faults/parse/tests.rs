//! Scripts as text: accepted lines, and messages of refusals.

use super::*;

fn parse(text: &str) -> Result<Script, ScriptError> {
    Script::parse(text, &|file| Err(format!("there is no {file}")))
}

#[test]
fn a_script_has_a_time_a_vehicle_and_a_fault() {
    let script = parse(
        "# a bad day\nseed 42\n\nat 12.5 noise 1% for 20 # then it is quiet\nsouth: on takeoff 2 lose-ack\non arm every +3 reboot\n",
    )
    .unwrap();
    let line = |vehicle: Option<&str>, when, what| Line {
        vehicle: vehicle.map(str::to_owned),
        when,
        what,
    };
    let on = |command, occurrence, after_s| When::On {
        command: Some(command),
        occurrence,
        after_s,
    };
    let lines = [
        line(None, When::At(12.5), What::Bytes(Bytes::Noise(1.0), Some(20.0))),
        line(
            Some("south"),
            on(22, Occurrence::Nth(2), 0.0),
            What::Command(CommandFault::LoseAck),
        ),
        line(None, on(400, Occurrence::Every, 3.0), What::Sudden(Sudden::Reboot)),
    ];
    assert_eq!((script.seed, &script.lines[..]), (42, &lines[..]));
    assert_eq!(
        (script.lines_of("south").count(), script.lines_of("north").count()),
        (3, 2)
    );
}

#[test]
fn every_fault_in_the_help_can_be_written() {
    let lines = "on arm lose-command\non arm lose-ack\non arm duplicate-ack\non arm duplicate-ack 3\non any delay-ack 2
        on 31999 deny 4\non land answer failed\non rtl in-progress 3\non set-mode ack-to 250/1\non arm ack-untargeted
        at 1 lose-bytes 1%\nat 1 noise 0.5 for 3\nat 1 stray 2%\nat 1 truncate 3% for 1\nat 1 silence for 5\nat 1 deaf
        at 1 hang-up for 3\nat 1 backlog for 6\nat 1 mavlink1\nat 1 unknown-ids 20\nat 1 extra-message 105 50\nat 1 landed-state undefined for 9
        at 1 second-autopilot 42\nat 1 gimbal\nat 1 ground-station for 10\nat 1 aircraft 30 -400.5 15\nat 1 no-gps for 10\nat 1 reboot
        at 1 motor-failure\nat 1 battery 14%\nat 1 mode land\nat 1 mode 5
        at 1 wind 8 270 for 60\nat 1 drift 0.8";
    let script = parse(lines).unwrap();
    assert_eq!(script.lines.len(), 34);
    let key = |_: &str| Key::from_contents(&[7; 32]).map_err(|error| error.to_string());
    assert!(Script::parse("at 0 signed k\nat 0 signed-only k", &key).is_ok());
}

#[test]
fn each_bad_line_gives_one_error_with_its_number_that_says_what_to_do() {
    let cases = [
        (
            "\n\nsometimes reboot",
            "line 3: begin with `at SECONDS`, `on COMMAND` or `seed NUMBER`, not with `sometimes`",
        ),
        ("at dawn reboot", "line 1: `dawn` is not a number of seconds"),
        (
            "at 1 aircraft 30 far 15",
            "line 1: `far` is not a number of meters up to 100000",
        ),
        (
            "at 1 aircraft 30 15",
            "line 1: three numbers of meters: NORTH EAST UP is missing at the end",
        ),
        (
            "at 1 wind 80 270",
            "line 1: `80` is not a speed from 0 to 60 meters a second",
        ),
        (
            "at 1 wind 8 west",
            "line 1: `west` is not a direction from 0 up to 360 degrees",
        ),
        ("at 1 wind 8", "line 1: a direction is missing at the end"),
        (
            "at 1 drift much",
            "line 1: `much` is not a number of meters from 0 to 100",
        ),
        ("at -1 reboot", "line 1: `-1` is not a number of seconds"),
        ("at 3", "line 1: a fault is missing at the end"),
        (
            "on dance lose-ack",
            "line 1: `dance` is no command; write a name such as takeoff, a MAV_CMD number, or any",
        ),
        ("on arm 0 lose-ack", "line 1: `0` is not a turn, counted from 1"),
        ("on arm +soon reboot", "line 1: `+soon` is not a number of seconds"),
        (
            "at 3 lose-ack",
            "line 1: lose-ack happens to a command; write `on COMMAND lose-ack`, without + and without `at`",
        ),
        (
            "on arm +1 deny denied",
            "line 1: deny happens to a command; write `on COMMAND deny`, without + and without `at`",
        ),
        (
            "on arm deny perhaps",
            "line 1: `perhaps` is not a result such as denied",
        ),
        ("at 3 reboot for 5", "line 1: reboot happens at once; leave `for` out"),
        ("at 3 noise 101", "line 1: `101` is not a percentage from 0 to 100"),
        ("at 3 noise 1% long", "line 1: `long` is too much"),
        ("at 3 silence for", "line 1: a number of seconds is missing at the end"),
        (
            "at 3 second-autopilot 0",
            "line 1: `0` is not a system id from 1 to 255",
        ),
        ("at 3 mode upside-down", "line 1: `upside-down` is not a flight mode"),
        ("at 3 signed key", "line 1: key file `key`: there is no key"),
        (
            "at 3 extra-message 60001 5",
            "line 1: `60001` is not the id of a message",
        ),
        ("at 3 unknown-ids 0", "line 1: `0` is not a rate from 0.01 to 1000"),
        (
            "on arm in-progress 1e9",
            "line 1: `1e9` is not a number of seconds up to 3600",
        ),
        ("seed x", "line 1: `x` is not a whole number"),
        (
            "on arm duplicate-ack 0",
            "line 1: `0` is not a number of times from 1 to 100",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    let unknown = parse("at 3 explode").unwrap_err().to_string();
    assert!(
        unknown.starts_with("line 1: `explode` is no fault; faults are lose-command, "),
        "{unknown}"
    );
}
