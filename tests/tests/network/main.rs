//! Coordinators, agents and the network between them, simulated under a seed: the same seed is the same run.
//!
//! Real are both coordinators, the agents (uplink, shell, pilot, link, state on disk), gRPC and HTTP/2 between them,
//! and the embedded Kubernetes API. The network and its time are turmoil's: hosts crash; links break in one direction
//! or both, stall, and are slow; the path to the API breaks, hangs, and answers 429 and 500; its watches are late; its
//! store is restored from a backup. Deposed coordinators repeat old orders, and captured agents claim false terms.
//! After each step an oracle that shares no rule with `fleet` judges vehicles, messages and objects. At the end the
//! desired number flies. Each module below [`world`] has another kind of run.
//!
//! Not covered: TLS and credentials; serial lines; the process around coordinator and agent (`coordinator::run_with`,
//! `agent::life`); SIGTERM; everything that uses the real clock, which does not advance (`replaceLostAfterSeconds`,
//! times in status); a Swarm that is deleted; 410 Gone; two agents that claim one node; batteries below the reserve,
//! which `agent/tests/interleavings` covers.
//!
//! Each seed runs in a process of its own, without random addresses, since hash tables and random numbers use sources
//! that belong to the process. Another build may be another run. A failing seed is printed with the command that runs
//! it alone; `SKEIN_SEEDS=n` sets their number, `SKEIN_VEHICLES`, `SKEIN_FORMATIONS`, `SKEIN_RELIEFS`, `SKEIN_UPLOADS`
//! and `SKEIN_MISSIONS` the size of such runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod api;
mod coordinator;
mod ledger;
mod node;
mod oracle;
mod program;
mod returns;
mod station;
mod vehicle;
mod wire;
mod world;

use k8s_openapi::api::core::v1::Node;
use kube::runtime::scheduler::ScheduleRequest;
use nix::sys::personality::{self, Persona};
use oracle::Tally;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use world::{Size, Theme, wild};

const SEEDS: u64 = 20;
const FORMATION_SEEDS: u64 = 2;
const RULES_SEEDS: u64 = 4;
const UPLOADS: u32 = 50;
const FLEET: usize = 40;
const GATE_SEEDS: u64 = 2;
const WILD_SEEDS: u64 = 2;
const LENT_SEEDS: u64 = 1;
const MISSIONS: usize = 6;
const PRINT_EVERY: u64 = 100;
/// For all futures of a run, unoptimized.
const STACK: usize = 256 << 20;
const REPLAY: &str = "cargo test -p skein-tests --test network";

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// One by one, in the standard harness's format: that harness waits by the clock, which does not advance here.
type Test = (&'static str, fn());
const TESTS: [Test; 18] = [
    (
        "a_landing_leaves_out_those_below_it_only",
        oracle::separation::a_landing_leaves_out_those_below_it_only,
    ),
    (
        "a_return_explains_its_way_only",
        oracle::separation::own_return::a_return_explains_its_way_only,
    ),
    (
        "one_that_is_sent_into_a_known_return_is_not_excused",
        oracle::separation::own_return::one_that_is_sent_into_a_known_return_is_not_excused,
    ),
    (
        "a_return_altitude_is_known_under_each_name",
        oracle::separation::own_return::a_return_altitude_is_known_under_each_name,
    ),
    (
        "a_return_altitude_is_claimed_and_warned_of_as_each_version_stores_it",
        returns::a_return_altitude_is_claimed_and_warned_of_as_each_version_stores_it,
    ),
    (
        "what_leaves_its_airspace_is_known",
        oracle::lent::what_leaves_its_airspace_is_known,
    ),
    (
        "no_disorder_of_the_network_breaks_an_invariant",
        no_disorder_of_the_network_breaks_an_invariant,
    ),
    ("the_same_seed_is_the_same_run", the_same_seed_is_the_same_run),
    (
        "formations_are_kept_by_vehicles_that_keep_apart",
        formations_are_kept_by_vehicles_that_keep_apart,
    ),
    (
        "rules_are_in_force_or_said_not_to_be_whoever_is_killed_while_they_are_uploaded",
        rules_are_in_force_or_said_not_to_be_whoever_is_killed_while_they_are_uploaded,
    ),
    (
        "a_profile_goes_over_forty_vehicles_in_order_and_stops_at_a_refusal",
        a_profile_goes_over_forty_vehicles_in_order_and_stops_at_a_refusal,
    ),
    (
        "missions_of_any_length_are_flown_at_once_with_few_writes",
        missions_of_any_length_are_flown_at_once_with_few_writes,
    ),
    (
        "a_patrol_is_flown_by_three_in_turn_without_a_long_gap",
        a_patrol_is_flown_by_three_in_turn_without_a_long_gap,
    ),
    (
        "missions_keep_apart_whoever_moves_their_vehicles_or_edits_them",
        missions_keep_apart_whoever_moves_their_vehicles_or_edits_them,
    ),
    (
        "all_keep_apart_where_everything_is_edited_and_one_coordinator_plans_otherwise",
        all_keep_apart_where_everything_is_edited_and_one_coordinator_plans_otherwise,
    ),
    (
        "vehicles_of_programs_stay_in_their_airspace_whatever_is_lost_at_speed",
        vehicles_of_programs_stay_in_their_airspace_whatever_is_lost_at_speed,
    ),
    (
        "what_can_be_edited_is_edited_in_wild_worlds",
        what_can_be_edited_is_edited_in_wild_worlds,
    ),
    (
        "the_judge_of_geofences_knows_who_enters_who_leaves_and_who_flies_about",
        the_judge_of_geofences_knows_who_enters_who_leaves_and_who_flies_about,
    ),
];

fn main() -> ExitCode {
    if let Some(seed) = number("SKEIN_SEED") {
        return alone(seed);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--list");
    let parts: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut ended = ExitCode::SUCCESS;
    for (name, test) in TESTS {
        if !parts.is_empty() && !parts.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if list {
            say(&format!("{name}: test"));
            continue;
        }
        let passed = std::panic::catch_unwind(test).is_ok();
        say(&format!("test {name} ... {}", if passed { "ok" } else { "FAILED" }));
        if !passed {
            ended = ExitCode::FAILURE;
        }
    }
    ended
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn no_disorder_of_the_network_breaks_an_invariant() {
    under_seeds(SEEDS, Theme::Disorder);
}

fn formations_are_kept_by_vehicles_that_keep_apart() {
    let usual = Theme::Formations(Size {
        vehicles: 8,
        formations: 2,
        reliefs: 2,
    });
    under_seeds(FORMATION_SEEDS, theme().unwrap_or(usual));
}

fn rules_are_in_force_or_said_not_to_be_whoever_is_killed_while_they_are_uploaded() {
    under_seeds(RULES_SEEDS, theme().unwrap_or(Theme::Uploads(UPLOADS)));
}

fn a_profile_goes_over_forty_vehicles_in_order_and_stops_at_a_refusal() {
    under_seeds(1, Theme::Rollout(FLEET));
}

fn missions_of_any_length_are_flown_at_once_with_few_writes() {
    under_seeds(1, theme().unwrap_or(Theme::Missions(MISSIONS)));
}

fn a_patrol_is_flown_by_three_in_turn_without_a_long_gap() {
    under_seeds(1, Theme::Patrol);
}

fn missions_keep_apart_whoever_moves_their_vehicles_or_edits_them() {
    under_seeds(GATE_SEEDS, Theme::Gate);
}

fn all_keep_apart_where_everything_is_edited_and_one_coordinator_plans_otherwise() {
    under_seeds(WILD_SEEDS, Theme::Wild);
}

fn vehicles_of_programs_stay_in_their_airspace_whatever_is_lost_at_speed() {
    under_seeds(LENT_SEEDS, Theme::Lent);
}

fn what_can_be_edited_is_edited_in_wild_worlds() {
    wild::fields::every_field_is_edited();
}

fn the_judge_of_geofences_knows_who_enters_who_leaves_and_who_flies_about() {
    wild::outline::depths_are_right();
    wild::course::courses_are_judged();
}

fn theme() -> Option<Theme> {
    let number = |name| Some(usize::try_from(number(name)?).expect("a small number"));
    let small = |number: usize| u32::try_from(number).expect("a small number");
    let formations = |vehicles| {
        Theme::Formations(Size {
            vehicles,
            formations: number("SKEIN_FORMATIONS").map_or(10, small),
            reliefs: number("SKEIN_RELIEFS").map_or(20, small),
        })
    };
    let uploads = || number("SKEIN_UPLOADS").map(|uploads| Theme::Uploads(small(uploads)));
    let rollout = || number("SKEIN_ROLLOUT").map(Theme::Rollout);
    let missions = || number("SKEIN_MISSIONS").map(Theme::Missions);
    number("SKEIN_VEHICLES")
        .map(formations)
        .or_else(uploads)
        .or_else(rollout)
        .or_else(missions)
        .or_else(|| number("SKEIN_PATROL").map(|_| Theme::Patrol))
        .or_else(|| number("SKEIN_GATE").map(|_| Theme::Gate))
        .or_else(|| number("SKEIN_WILD").map(|_| Theme::Wild))
        .or_else(|| number("SKEIN_LENT").map(|_| Theme::Lent))
}

fn variables(theme: Theme) -> Vec<(&'static str, String)> {
    match theme {
        Theme::Disorder => Vec::new(),
        Theme::Formations(size) => vec![
            ("SKEIN_VEHICLES", size.vehicles.to_string()),
            ("SKEIN_FORMATIONS", size.formations.to_string()),
            ("SKEIN_RELIEFS", size.reliefs.to_string()),
        ],
        Theme::Uploads(uploads) => vec![("SKEIN_UPLOADS", uploads.to_string())],
        Theme::Rollout(vehicles) => vec![("SKEIN_ROLLOUT", vehicles.to_string())],
        Theme::Missions(count) => vec![("SKEIN_MISSIONS", count.to_string())],
        Theme::Patrol => vec![("SKEIN_PATROL", "1".to_owned())],
        Theme::Gate => vec![("SKEIN_GATE", "1".to_owned())],
        Theme::Wild => vec![("SKEIN_WILD", "1".to_owned())],
        Theme::Lent => vec![("SKEIN_LENT", "1".to_owned())],
    }
}

fn under_seeds(usual: u64, theme: Theme) {
    let seeds = number("SKEIN_SEEDS").unwrap_or(usual);
    let from = number("SKEIN_FROM").unwrap_or(0);
    let (next, done, failed) = (AtomicU64::new(from), AtomicU64::new(0), Mutex::new(Vec::new()));
    let hours = Mutex::new(0.0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let alone = |seed: u64| {
        let of = variables(theme)
            .into_iter()
            .map(|(name, value)| format!("{name}={value} "));
        format!("{}SKEIN_SEED={seed} {REPLAY}", of.collect::<String>())
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + seeds {
                        return;
                    }
                    let began = uptime();
                    let output = in_a_process(seed, theme);
                    let printed = String::from_utf8_lossy(&output.stderr);
                    if !output.status.success() {
                        eprintln!("{}\n{printed}", alone(seed));
                        failed.lock().unwrap().push(seed);
                    } else if theme != Theme::Disorder {
                        *hours.lock().unwrap() += vehicle_hours(&printed);
                        eprintln!("{}, {:.1} s of wall time", printed.trim_end(), uptime() - began);
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(PRINT_EVERY) {
                        eprintln!("{done} of {seeds} seeds run, {} failed", failed.lock().unwrap().len());
                    }
                }
            });
        }
    });
    let hours = hours.into_inner().unwrap();
    if hours > 0.0 {
        eprintln!("{hours:.2} vehicle-hours in the air under {seeds} seeds");
    }
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    let first = failed.first().copied().unwrap_or_default();
    assert!(
        failed.is_empty(),
        "{} of {seeds} seeds fail: {failed:?}; {}",
        failed.len(),
        alone(first)
    );
}

/// Hours in the air, from the line of a seed.
fn vehicle_hours(printed: &str) -> f64 {
    let before = printed.split_once(" vehicle-hours").map(|(before, _)| before);
    let number = before.and_then(|before| before.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn the_same_seed_is_the_same_run() {
    let account = || {
        let output = in_a_process(3, Theme::Disorder);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = printed.lines().find(|line| line.contains("Tally")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no account: {printed}"))
    };
    assert_eq!(account(), account());
}

/// Seconds. The clocks of this process stand still.
fn uptime() -> f64 {
    let printed = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let first = printed.split_whitespace().next();
    first.and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
}

fn in_a_process(seed: u64, theme: Theme) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for name in [
        "SKEIN_VEHICLES",
        "SKEIN_UPLOADS",
        "SKEIN_ROLLOUT",
        "SKEIN_MISSIONS",
        "SKEIN_PATROL",
        "SKEIN_GATE",
        "SKEIN_WILD",
        "SKEIN_LENT",
    ] {
        command.env_remove(name);
    }
    command.envs(variables(theme));
    command.env("SKEIN_SEED", seed.to_string()).output().unwrap()
}

fn alone(seed: u64) -> ExitCode {
    static FAULT: AtomicBool = AtomicBool::new(false);
    at_fixed_addresses();
    // Before the random numbers, which it must not take: a run is the same with a log and without.
    if std::env::var_os("RUST_LOG").is_some() {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        log.without_time().init();
    }
    // Its name is random, and must not be that of another run.
    let memory = std::path::Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let folder = folder.unwrap();
    let place = folder.path().to_owned();
    mad_turmoil::rand::set_rng(StdRng::seed_from_u64(seed));
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        FAULT.store(true, Ordering::Relaxed);
        usual(fault);
    }));
    let theme = theme().unwrap_or(Theme::Disorder);
    let thread = std::thread::Builder::new().stack_size(STACK);
    let ran = move || {
        seed_hash_tables();
        world::run(seed, &place, theme)
    };
    let ran = thread.spawn(ran).unwrap().join();
    let Ok(printed) = ran else {
        eprintln!("seed {seed}: the run panicked, see above");
        return ExitCode::FAILURE;
    };
    match printed {
        Ok(tally) => match theme {
            Theme::Disorder => eprintln!("seed {seed}: {tally:?}"),
            Theme::Formations(size) => eprintln!("seed {seed}: {}", summary(size, &tally)),
            Theme::Uploads(_) => eprintln!(
                "seed {seed}: {} uploads, {} agents killed, {} of them within an upload, {} leaders killed, armed {} times, {} s simulated",
                tally.uploads,
                tally.crashes - tally.leaders,
                tally.kills_within,
                tally.leaders,
                tally.arms,
                tally.simulated.as_secs()
            ),
            Theme::Rollout(_) | Theme::Missions(_) | Theme::Patrol | Theme::Gate | Theme::Wild | Theme::Lent => {
                eprintln!("seed {seed}: {}", tally.course)
            }
        },
        Err(broken) => {
            eprintln!("seed {seed}: {broken}");
            return ExitCode::FAILURE;
        }
    }
    if FAULT.load(Ordering::Relaxed) {
        eprintln!("seed {seed}: a task panicked, see above");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Hash tables of libraries take their seeds from addresses, too.
fn at_fixed_addresses() {
    let now = personality::get().unwrap();
    if now.contains(Persona::ADDR_NO_RANDOMIZE) {
        return;
    }
    if let Err(why) = personality::set(now | Persona::ADDR_NO_RANDOMIZE) {
        return eprintln!("addresses stay random ({why}): another run of this seed may be another run");
    }
    let again = Command::new(std::env::current_exe().unwrap())
        .args(std::env::args_os().skip(1))
        .exec();
    panic!("this program cannot begin again: {again}");
}

/// The tables that give reconciles their order take their seeds now, before another thread has memory.
fn seed_hash_tables() {
    drop(kube::runtime::scheduler(futures::stream::empty::<ScheduleRequest<()>>()));
    drop(kube::runtime::reflector::store::<Node>());
}

fn summary(size: Size, tally: &Tally) -> String {
    let (vehicles, nearest) = (
        size.nodes(),
        tally.nearest.map_or(f64::NAN, |nearest| f64::from(nearest) / 1000.0),
    );
    format!(
        "{vehicles} vehicles for {} slots, {} formations, {} reliefs, {} leaders killed, {} crashes, {} cuts, {} failsafes, \
         nearest {nearest:.2} m, {} s simulated",
        size.vehicles,
        tally.formations,
        tally.reliefs,
        tally.leaders,
        tally.crashes,
        tally.cuts,
        tally.failsafes,
        tally.simulated.as_secs()
    )
}
