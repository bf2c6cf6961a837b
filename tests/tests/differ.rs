//! A few random scripts on real autopilots, if there are any, and on the simulated ones: the short form of `cargo xtask
//! differ`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::io::Write;

use testkit::autopilots::{Firmware, Stack};
use testkit::differ::{Count, Plan, run};
use testkit::launch::workspace_binary;

/// First seed, count and speed; the scripts last about as long as the time allows.
const ARDUPILOT: (u64, u64, u32) = (1, 3, 10);
const PX4: (u64, u64, u32) = (1, 2, 5);

fn same(stack: Stack, (seed, scripts, speedup): (u64, u64, u32)) {
    let say = |line: &str| drop(writeln!(std::io::stderr(), "{stack}: {line}"));
    let firmware = match Firmware::find(stack) {
        Ok(firmware) => firmware,
        Err(missing) => return say(&format!("skipped: {missing}")),
    };
    let plan = Plan {
        scripts,
        seed,
        speedup,
        tries: 0,
        firmware: firmware.simulated_version().map(str::to_owned),
        keep: None,
    };
    let program = workspace_binary("skein-differ").unwrap();
    let count = run(&firmware, &program, &plan, &mut |line| say(line)).unwrap();
    let Count {
        same, differ, spoilt, ..
    } = count;
    assert_eq!((same, differ, spoilt), (scripts, 0, 0), "{count}");
}

#[test]
fn a_real_arducopter_and_the_simulated_one_answer_the_same_scripts_alike() {
    same(Stack::ArduPilot, ARDUPILOT);
}

#[test]
fn a_real_px4_and_the_simulated_one_answer_the_same_scripts_alike() {
    same(Stack::Px4, PX4);
}
