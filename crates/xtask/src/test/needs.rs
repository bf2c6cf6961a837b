//! Needs of each test program, so that many can run side by side on two cores.
//!
//! Most long programs wait: for vehicles that fly, leases that run out, faults that last. Their tests take turns on one
//! stage (an API server with all that runs on it), so such a program runs as several parts, each with a stage of its
//! own.

use std::path::PathBuf;

use super::compile::TestProgram;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// The control plane, Helm, kubectl; Python and JavaScript packages.
    Peers,
}

/// Times and shares of one program, on two cores with nothing else on them, rounded.
struct Known {
    package: &'static str,
    target: &'static str,
    parts: usize,
    /// Seconds that one part takes.
    seconds: u32,
    /// Percent of a core that it keeps busy meanwhile, its children included: also API servers, which end after it and are not in the
    /// processor time of the summary.
    percent: u32,
}

const fn known(package: &'static str, target: &'static str, parts: usize, seconds: u32, percent: u32) -> Known {
    Known {
        package,
        target,
        parts,
        seconds,
        percent,
    }
}

/// Programs that take longer than a few seconds. Real autopilots fly faster than in life, and fall out of the sky on a
/// busy machine.
const KNOWN: &[Known] = &[
    known("tests", "nodes", 1, 350, 60),
    known("tests", "coordinator", 4, 320, 45),
    known("tests", "attacks", 2, 250, 30),
    known("tests", "upgrades", 2, 200, 30),
    known("tests", "gitops", 2, 130, 40),
    known("tests", "authorities", 1, 165, 30),
    known("tests", "api_faults", 2, 115, 30),
    known("tests", "e2e", 3, 130, 40),
    known("tests", "faults", 1, 160, 25),
    known("tests", "kubectl_skein", 1, 160, 35),
    known("tests", "api", 1, 70, 60),
    known("tests", "network", 1, 90, 190),
    known("tests", "deploy", 1, 50, 85),
    known("tests", "up", 3, 50, 45),
    known("tests", "top", 1, 45, 40),
    known("tests", "map", 1, 90, 90),
    known("tests", "fly", 1, 110, ALONE),
    known("tests", "differ", 1, 40, ALONE),
    known("tests", "gcs_peers", 1, 40, 40),
    known("tests", "connect", 1, 90, 35),
    known("tests", "border_parts", 1, 140, 40),
    known("tests", "logs", 1, 90, 50),
    known("tests", "upload", 3, 60, 40),
    known("tests", "traces", 1, 90, 35),
    known("tests", "flown_examples", 1, 115, 35),
    known("tests", "documented_commands", 1, 100, 45),
    known("tests", "crds", 1, 25, 50),
    known("tests", "control_plane", 1, 20, 45),
    known("tests", "clients", 1, 20, 60),
    known("tests", "peers", 1, 15, 20),
    known("fleet", "fleet", 1, 18, 180),
    known("agent", "rules_on_real_autopilots", 1, 50, 25),
    known("workspace", "examples", 1, 35, 150),
    known("embedded-api", "crash", 1, 20, 100),
    known("link", "auto_link", 1, 25, 5),
    known("cli", "fleet", 1, 10, 10),
    known("agent", "uplink", 1, 7, 5),
];

/// Tests of a promised time, by package, program and end of name, with the seconds that each takes. Each has the
/// machine to itself, since beside other programs it would time those.
const TIMED: [(&str, &str, &str, u32); 4] = [
    (
        "tests",
        "api_faults",
        "a_ground_order_reaches_vehicles_in_a_second_while_the_api_server_hangs",
        70,
    ),
    (
        "tests",
        "attacks",
        "while_the_api_server_is_away_who_could_ground_can_and_nothing_else_goes",
        30,
    ),
    (
        "tests",
        "coordinator",
        "a_leader_that_cannot_renew_keeps_what_flies_begins_no_flight_and_still_grounds",
        50,
    ),
    (
        "tests",
        "coordinator",
        "a_selector_grounds_what_it_selects_and_nothing_else",
        30,
    ),
];

/// Programs that only compute: no process, line or clock of the machine is in them. They run one at a time with the
/// lowest priority, while others wait.
const GIVE_WAY: [(&str, &str); 9] = [
    ("tests", "network"),
    ("workspace", "examples"),
    ("model", "model"),
    ("fleet", "fleet"),
    ("fleet", "invariants"),
    ("fleet", "plans"),
    ("agent", "fuzzed"),
    ("agent", "interleavings"),
    ("conformance", "replay"),
];

/// Tests of a time that run one after the other in one program.
const TIMED_TOGETHER: usize = 2;

/// Percent of a core times seconds below which a known program is quick.
const QUICK: u32 = 1000;

/// Percent that keeps every other program from running beside.
const ALONE: u32 = 100_000;

/// Percent of a core that the set-up takes.
const SET_UP_PERCENT: u32 = 100;

/// Seconds and percent of a program that the table does not name.
const OTHERWISE: (u32, u32) = (5, 100);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// `crate/program`, and which part of how many.
    pub label: String,
    pub program: TestProgram,
    pub args: Vec<String>,
    pub needs: Needs,
    /// Seconds that it takes, about.
    pub seconds: u32,
    /// Percent of a core that it takes meanwhile.
    pub percent: u32,
    /// Whether it tests a promised time. Such programs run side by side, as they mostly wait, and with nothing else;
    /// the start of their API servers, which is expensive, is over when they begin to measure.
    pub timed: bool,
    /// Whether it runs in the time that others leave; see [`GIVE_WAY`].
    pub gives_way: bool,
}

pub fn documentation(folder: PathBuf) -> Unit {
    Unit {
        label: "documentation of the code".to_owned(),
        program: TestProgram {
            package: "workspace".to_owned(),
            target: "documentation".to_owned(),
            executable: "cargo".into(),
            args: Vec::new(),
            folder,
        },
        args: Vec::new(),
        needs: Needs::Nothing,
        seconds: 0,
        percent: 0,
        timed: false,
        gives_way: true,
    }
}

/// Whether a developer waits for it: it needs only what was compiled, and a few seconds of a core, or has the
/// decisions.
pub fn is_quick(program: &TestProgram) -> bool {
    let is = |known: &&Known| known.package == program.package && known.target == program.target;
    let known = KNOWN.iter().find(is);
    let is_short = known.is_none_or(|known| known.seconds * known.percent < QUICK);
    program.package == "fleet" || (program.package != "tests" && is_short)
}

/// The program in its parts; `tests` are the names of its tests, in the order in which it lists them.
pub fn parts(program: &TestProgram, list: impl FnOnce() -> anyhow::Result<Vec<String>>) -> anyhow::Result<Vec<Unit>> {
    let known = KNOWN
        .iter()
        .find(|known| known.package == program.package && known.target == program.target);
    let (seconds, percent) = known.map_or(OTHERWISE, |known| (known.seconds, known.percent));
    let named = (program.package.as_str(), program.target.as_str());
    let gives_way = GIVE_WAY.contains(&named);
    let unit = |label: String, args: Vec<String>| Unit {
        label,
        program: program.clone(),
        args: program.args.iter().cloned().chain(args).collect(),
        needs: if program.package == "tests" && !gives_way {
            Needs::Peers
        } else {
            Needs::Nothing
        },
        seconds,
        percent,
        timed: false,
        gives_way,
    };
    let label = format!("{}/{}", program.package, program.target);
    let count = known.map_or(1, |known| known.parts);
    if count < 2 {
        return Ok(vec![unit(label, Vec::new())]);
    }
    let exact = |part: &[String]| {
        let exact = std::iter::once("--exact".to_owned());
        exact.chain(part.iter().cloned()).collect::<Vec<_>>()
    };
    let (timed, names): (Vec<String>, Vec<String>) =
        list()?.into_iter().partition(|name| timed(program, name).is_some());
    let mut units: Vec<Unit> = (cut(&names, count).into_iter().enumerate())
        .map(|(index, part)| unit(format!("{label} {}/{count}", index + 1), exact(part)))
        .collect();
    // Tests on the same kind of API server are listed together and share one.
    units.extend(timed.chunks(TIMED_TOGETHER).enumerate().map(|(index, part)| Unit {
        seconds: part.iter().filter_map(|name| self::timed(program, name)).sum(),
        percent: ALONE,
        timed: true,
        ..unit(format!("{label} timed {}", index + 1), exact(part))
    }));
    Ok(units)
}

/// Seconds that a test of a time takes; `None`: it is no such test.
fn timed(program: &TestProgram, name: &str) -> Option<u32> {
    let is = |(package, target, end, _): &&(&str, &str, &str, u32)| {
        program.package == *package && program.target == *target && (name.rsplit("::").next() == Some(end))
    };
    TIMED.iter().find(is).map(|(_, _, _, seconds)| *seconds)
}

/// Cuts `names` into at most `count` runs of nearly the same length, in order: neighbors use the same kind of API
/// server.
fn cut(names: &[String], count: usize) -> Vec<&[String]> {
    let at = |index: usize| names.len() * index / count;
    let parts = (0..count).map(|index| &names[at(index)..at(index + 1)]);
    // A part without a name would run all of them.
    parts.filter(|part| !part.is_empty()).collect()
}

#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub cores: usize,
    pub ready: bool,
    /// Whether cores were idle for a part of the last seconds: the table knows averages, and programs that all work at
    /// the same time keep each other waiting until what they wait for is late.
    pub calm: bool,
}

/// Which of `pending` to start beside `running`: the longest that still fits, `None` if none does.
///
/// A program that runs alone may be larger than the machine, one that gives way counts for nothing, and the set-up,
/// which compiles and unpacks, counts as a program that takes a core.
pub fn next(pending: &[Unit], running: &[&Unit], machine: Machine) -> Option<usize> {
    let Machine { cores, ready, calm } = machine;
    let capacity = 100 * u32::try_from(cores).unwrap_or(u32::MAX);
    let set_up = if ready { 0 } else { SET_UP_PERCENT };
    let counted = running.iter().filter(|unit| !unit.gives_way);
    let busy = counted.fold(set_up, |busy, unit| busy.saturating_add(unit.percent));
    let may_fill = !running.iter().any(|unit| unit.gives_way || unit.percent >= ALONE);
    let alone = running.is_empty() && ready;
    let only_timed = ready && running.iter().all(|unit| unit.timed);
    let fits = |unit: &Unit| {
        let beside = || (unit.timed && only_timed) || (calm && busy.saturating_add(unit.percent) <= capacity);
        if unit.gives_way { may_fill } else { alone || beside() }
    };
    let there = |unit: &Unit| ready || unit.needs == Needs::Nothing;
    let candidates = pending.iter().enumerate().filter(|(_, unit)| there(unit) && fits(unit));
    candidates
        .max_by_key(|(index, unit)| (unit.seconds, usize::MAX - index))
        .map(|(index, _)| index)
}

/// Seconds until all of `pending` have run beside `running`, each of which has so many seconds left, by [`next`].
pub fn time_left(pending: &[Unit], running: &[(&Unit, u32)], cores: usize) -> u32 {
    let mut pending = pending.to_vec();
    let mut running: Vec<(Unit, u32)> = running.iter().map(|(unit, left)| ((*unit).clone(), *left)).collect();
    let mut total = 0;
    loop {
        while let Some(index) = next(
            &pending,
            &running.iter().map(|(unit, _)| unit).collect::<Vec<_>>(),
            Machine {
                cores,
                ready: true,
                calm: true,
            },
        ) {
            let unit = pending.remove(index);
            let seconds = unit.seconds;
            running.push((unit, seconds));
        }
        let Some(step) = running.iter().map(|(_, left)| *left).min() else {
            return total;
        };
        total += step;
        running.iter_mut().for_each(|(_, left)| *left -= step);
        running.retain(|(_, left)| *left > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Machine = Machine {
        cores: 2,
        ready: true,
        calm: true,
    };

    fn program(package: &str, target: &str) -> TestProgram {
        TestProgram {
            package: package.into(),
            target: target.into(),
            executable: "x".into(),
            args: vec![],
            folder: "/".into(),
        }
    }

    fn unit(label: &str, seconds: u32, percent: u32, needs: Needs) -> Unit {
        Unit {
            label: label.into(),
            program: program("a", label),
            args: vec![],
            needs,
            seconds,
            percent,
            timed: false,
            gives_way: false,
        }
    }

    #[test]
    fn one_that_gives_way_runs_beside_any_but_those_that_have_the_machine_to_themselves() {
        let fills = |label: &str| Unit {
            gives_way: true,
            ..unit(label, 90, 190, Needs::Nothing)
        };
        let (one, busy) = (fills("one"), unit("busy", 10, 200, Needs::Nothing));
        let loaded = Machine { calm: false, ..CALM };
        assert_eq!(next(std::slice::from_ref(&one), &[&busy], loaded), Some(0));
        assert_eq!(next(&[fills("other")], &[&busy, &one], CALM), None);
        let alone = unit("alone", 10, ALONE, Needs::Nothing);
        assert_eq!(next(std::slice::from_ref(&one), &[&alone], CALM), None);
        assert_eq!(next(std::slice::from_ref(&alone), &[&one], CALM), None);
        assert_eq!(next(&[busy], &[&one], CALM), Some(0), "it counts for nothing");
    }

    #[test]
    fn each_test_is_in_exactly_one_part() {
        for (tests, count) in [(0, 3), (1, 3), (3, 3), (10, 4), (127, 5)] {
            let names: Vec<String> = (0..tests).map(|n| format!("t{n}")).collect();
            let parts = cut(&names, count);
            assert_eq!(parts.concat(), names);
            assert!(parts.iter().all(|part| !part.is_empty()));
            assert!(parts.len() <= count);
        }
    }

    #[test]
    fn a_program_that_the_table_does_not_name_runs_whole_and_is_not_asked_for_its_tests() {
        let units = parts(&program("fleet", "fleet"), || anyhow::bail!("asked")).unwrap();
        assert_eq!(units.len(), 1);
        assert_eq!((units[0].args.len(), units[0].needs), (0, Needs::Nothing));
    }

    #[test]
    fn a_part_names_its_tests_in_full() {
        let names = ["a::one", "a::two", "b::one", "b::two", "b::three"];
        let units = parts(&program("tests", "coordinator"), || {
            Ok(names.map(str::to_owned).to_vec())
        })
        .unwrap();
        assert_eq!(units[0].label, "tests/coordinator 1/4");
        assert_eq!(units[0].args, ["--exact", "a::one"]);
    }

    #[test]
    fn a_test_of_a_time_runs_alone_and_once() {
        let names = TIMED.map(|(_, _, name, _)| format!("on_embedded::{name}"));
        let all = || Ok(names.iter().cloned().chain(["other".to_owned()]).collect());
        let units = parts(&program("tests", "attacks"), all).unwrap();
        let alone: Vec<_> = units.iter().filter(|unit| unit.label.contains(" timed")).collect();
        assert_eq!(alone.len(), 1);
        assert_eq!(alone[0].args, ["--exact", &names[1]]);
        let elsewhere = units.iter().filter(|unit| unit.args.contains(&names[1])).count();
        assert_eq!(elsewhere, 1);
        let busy = unit("busy", 10, 1, Needs::Nothing);
        assert_eq!(next(&units, &[&busy], CALM), Some(0));
        assert_eq!(next(std::slice::from_ref(alone[0]), &[&busy], CALM), None);
        assert_eq!(next(std::slice::from_ref(&busy), &[alone[0]], CALM), None);
        let another = Unit {
            timed: true,
            ..unit("another", 1, ALONE, Needs::Peers)
        };
        assert_eq!(next(&[busy, another], &[alone[0]], CALM), Some(1));
    }

    #[test]
    fn the_longest_that_fits_runs_next_and_waits_for_what_it_needs() {
        let pending = [
            unit("short", 5, 100, Needs::Nothing),
            unit("long", 90, 50, Needs::Peers),
            unit("wide", 200, 190, Needs::Nothing),
        ];
        let busy = unit("busy", 10, 100, Needs::Nothing);
        assert_eq!(next(&pending, &[&busy], CALM), Some(1));
        let loaded = Machine { calm: false, ..CALM };
        assert_eq!(next(&pending, &[&busy], loaded), None);
        assert_eq!(next(&pending, &[], loaded), Some(2));
        let setting_up = Machine { ready: false, ..CALM };
        assert_eq!(next(&pending, &[], setting_up), Some(0));
        assert_eq!(next(&pending[2..], &[], setting_up), None);
        assert_eq!(next(&pending, &[], CALM), Some(2));
        assert_eq!(next(&pending, &[&busy, &busy], CALM), None);
        assert_eq!(next(&[], &[], CALM), None);
    }

    #[test]
    fn the_time_left_is_that_of_the_schedule() {
        let pending = [
            unit("a", 30, 100, Needs::Nothing),
            unit("b", 20, 100, Needs::Peers),
            unit("c", 10, 100, Needs::Nothing),
        ];
        assert_eq!(time_left(&pending, &[], 2), 30);
        assert_eq!(time_left(&pending, &[], 1), 60);
        let running = unit("r", 100, 100, Needs::Nothing);
        assert_eq!(time_left(&pending[..1], &[(&running, 25)], 1), 55);
        assert_eq!(time_left(&[], &[], 2), 0);
    }
}
