//! The words of a script: names of faults, commands, results, modes and states.

use super::script::ModeNumber;

pub const HELP: &str = "\
Faults (--faults FILE): a fault per line; # begins a comment. Seconds are simulated ones.

  [VEHICLE:] at SECONDS FAULT            counted from when the vehicle was first switched on
  [VEHICLE:] on COMMAND [NTH|every] [+SECONDS] FAULT
                                         when COMMAND arrives (first, NTH, or every time), or so long after
  seed NUMBER                            the same number, the same chance (default 1)

COMMAND is arm, takeoff, land, rtl, set-mode, reposition, prearm-checks, set-interval, request-message, any, or a
MAV_CMD number. RESULT is accepted, temporarily-rejected, denied, unsupported, failed, in-progress, cancelled or a number.

With the command (after `on`):
  lose-command                the vehicle never gets it
  lose-ack                    it is carried out, no ack comes
  duplicate-ack [TIMES]       the ack comes again
  delay-ack SECONDS           the ack comes late
  deny RESULT                 it is not carried out, the ack says RESULT
  answer RESULT               it is carried out, the ack says RESULT
  in-progress SECONDS         IN_PROGRESS for a while, then the ack
  ack-to SYSTEM/COMPONENT     the ack is addressed to another system or component
  ack-untargeted              the ack has no target fields
On the wire, both ways (add `for SECONDS`, else for ever):
  lose-bytes PERCENT          bytes are lost
  noise PERCENT               bytes are changed
  stray PERCENT               stray 0xFD and 0xFE between bytes
  truncate PERCENT            frames of the vehicle end early
What is sent and received (add `for SECONDS`, else for ever):
  silence                     the vehicle says nothing
  deaf                        the vehicle receives nothing
  hang-up                     the link hangs up and comes back: a new terminal, a TCP connection closed
  backlog                     what is said is held back, then comes all at once
  mavlink1                    frames of MAVLink 1
  signed KEYFILE              signed frames (32 bytes or 64 hexadecimal digits)
  signed-only KEYFILE         and nothing unsigned is accepted
  unknown-ids HERTZ           frames with ids that no dialect knows
  extra-message ID HERTZ      the vehicle also sends message ID, its content means nothing
  landed-state STATE          undefined, on-ground, in-air, taking-off or landing, whatever is true
  second-autopilot ID         another autopilot on the wire, armed and in the air
  gimbal                      the vehicle's gimbal on the wire
  ground-station              a ground station on the wire, which the vehicle receives, too
  aircraft NORTH EAST UP      the vehicle's receiver reports a helicopter that hovers so many meters from its home
  no-gps                      the satellite receiver has no fix
  wind SPEED FROM             the wind blows in the air: meters a second, and degrees clockwise from north
  drift METERS                the autopilot's estimate of its place wanders by up to so much over ground
With the vehicle, at once:
  reboot                      the board restarts; in the air its motors stop
  motor-failure               a motor stops
  battery PERCENT             the charge is this
  mode NAME|NUMBER            a pilot changes the mode by radio control; one that the autopilot lacks changes nothing
";

pub(super) const FAULTS: &[&str] = &[
    "lose-command",
    "lose-ack",
    "duplicate-ack",
    "delay-ack",
    "deny",
    "answer",
    "in-progress",
    "ack-to",
    "ack-untargeted",
    "lose-bytes",
    "noise",
    "stray",
    "truncate",
    "silence",
    "deaf",
    "hang-up",
    "backlog",
    "mavlink1",
    "signed",
    "signed-only",
    "unknown-ids",
    "extra-message",
    "landed-state",
    "second-autopilot",
    "gimbal",
    "ground-station",
    "aircraft",
    "no-gps",
    "wind",
    "drift",
    "reboot",
    "motor-failure",
    "battery",
    "mode",
];

const COMMANDS: &[(&str, u16)] = &[
    ("rtl", 20),
    ("land", 21),
    ("takeoff", 22),
    ("set-mode", 176),
    ("reposition", 192),
    ("arm", 400),
    ("prearm-checks", 401),
    ("set-interval", 511),
    ("request-message", 512),
];

const RESULTS: &[(&str, u8)] = &[
    ("accepted", 0),
    ("temporarily-rejected", 1),
    ("denied", 2),
    ("unsupported", 3),
    ("failed", 4),
    ("in-progress", 5),
    ("cancelled", 6),
];

const LANDED_STATES: &[(&str, u8)] = &[
    ("undefined", 0),
    ("on-ground", 1),
    ("in-air", 2),
    ("taking-off", 3),
    ("landing", 4),
];

/// Name, PX4's main and sub mode, ArduCopter's number.
type Mode = (&'static str, Option<(u8, u8)>, Option<u32>);

const MODES: &[Mode] = &[
    ("manual", Some((1, 0)), None),
    ("stabilize", Some((7, 0)), Some(0)),
    ("altitude", Some((2, 0)), Some(2)),
    ("position", Some((3, 0)), Some(16)),
    ("loiter", Some((4, 3)), Some(5)),
    ("hold", Some((4, 3)), Some(17)),
    ("brake", None, Some(17)),
    ("guided", None, Some(4)),
    ("auto", Some((4, 4)), Some(3)),
    ("mission", Some((4, 4)), Some(3)),
    ("takeoff", Some((4, 2)), None),
    ("return", Some((4, 5)), Some(6)),
    ("rtl", Some((4, 5)), Some(6)),
    ("land", Some((4, 6)), Some(9)),
];

fn number<T: Copy>(table: &[(&str, T)], keyword: &str) -> Option<T> {
    table
        .iter()
        .find(|(known, _)| *known == keyword)
        .map(|&(_, number)| number)
}

/// MAV_CMD; `Some(None)` for any.
pub(super) fn command(keyword: &str) -> Option<Option<u16>> {
    match keyword {
        "any" => Some(None),
        _ => number(COMMANDS, keyword).or_else(|| keyword.parse().ok()).map(Some),
    }
}

/// MAV_RESULT.
pub(super) fn result(keyword: &str) -> Option<u8> {
    number(RESULTS, keyword).or_else(|| keyword.parse().ok())
}

/// MAV_LANDED_STATE.
pub(super) fn landed_state(keyword: &str) -> Option<u8> {
    number(LANDED_STATES, keyword)
}

pub(super) fn mode(keyword: &str) -> Option<ModeNumber> {
    if let Ok(number) = keyword.parse() {
        return Some(ModeNumber {
            px4: Some(number),
            ardupilot: Some(number),
        });
    }
    let (_, px4, ardupilot) = MODES.iter().find(|(known, ..)| *known == keyword)?;
    Some(ModeNumber {
        px4: px4.map(|(main, sub)| u32::from(main) << 16 | u32::from(sub) << 24),
        ardupilot: *ardupilot,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_lists_every_fault_and_every_keyword() {
        let listed = |keyword: &str| {
            HELP.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .any(|w| w == keyword)
        };
        for keyword in FAULTS {
            assert!(HELP.contains(&format!("\n  {keyword} ")), "{keyword}");
        }
        let others = COMMANDS.iter().map(|c| c.0).chain(RESULTS.iter().map(|r| r.0));
        for keyword in others.chain(LANDED_STATES.iter().map(|s| s.0)) {
            assert!(listed(keyword), "{keyword}");
        }
    }
}
