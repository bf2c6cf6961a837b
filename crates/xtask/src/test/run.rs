//! Runs the test programs in parallel, as many at once as the machine can run.

use std::collections::{BTreeMap, VecDeque};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use testkit::prerequisites;
use testkit::{Launch, Process};

use super::compile::TestProgram;
use super::needs::{self, Machine, Needs, Unit};
use crate::say;

const POLL: Duration = Duration::from_millis(100);

/// Seconds; the load of a longer program is measured before the next one starts.
const LONG: u32 = 20;

/// Time for which the load is measured before the machine counts as calm.
const LOOKED_AT: Duration = Duration::from_secs(4);

/// Characters of what a test says that it lacks.
const LONGEST_LACK: usize = 100;

/// Percent of their time that the cores of a calm machine are busy at most.
const CALM_PERCENT: u64 = 85;

/// Interval of progress lines without a terminal.
const PRINT_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

struct Running {
    unit: Unit,
    process: Process,
    since: Instant,
    cpu: Duration,
}

struct Ended {
    label: String,
    took: Duration,
    cpu: Duration,
    count: Count,
    /// What was missing for each part of it that was skipped.
    lacked: Vec<String>,
    /// Set for a failed program.
    output: Option<String>,
}

/// Runs all of `programs` with `env`. `set_up` reports once whether [`Needs::Peers`] could be set up: until then those
/// programs wait, and if it failed they fail. While `documentation` is written, no other program that gives way runs,
/// and none that has the machine to itself. The error: a test failed, or a program ended without the result of its
/// tests.
pub fn run(
    programs: &[TestProgram],
    chosen: impl Fn(&TestProgram) -> bool,
    env: &[(&str, PathBuf)],
    logs: &Path,
    (set_up, documentation): (&Receiver<bool>, Option<&JoinHandle<bool>>),
) -> anyhow::Result<()> {
    let beside = needs::documentation(logs.to_owned());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    if logs.exists() {
        std::fs::remove_dir_all(logs)?;
    }
    let mut pending = Vec::new();
    for program in programs.iter().filter(|program| chosen(program)) {
        pending.extend(needs::parts(program, || list(program))?);
    }
    let (all, begun) = (pending.len(), Instant::now());
    let (mut running, mut ended): (Vec<Running>, Vec<Ended>) = (Vec::new(), Vec::new());
    let mut ready = None;
    let mut screen = Screen::new();
    let mut load = Load::default();
    while !pending.is_empty() || !running.is_empty() {
        ready = ready.or_else(|| set_up.try_recv().ok());
        if ready == Some(false) {
            let lost = pending.extract_if(.., |unit| unit.needs == Needs::Peers);
            ended.extend(lost.map(|unit| Ended::never_began(&unit)));
        }
        let documented = documentation.is_none_or(JoinHandle::is_finished);
        let at_work = running.iter().map(|running| &running.unit);
        let at_work: Vec<&Unit> = at_work.chain((!documented).then_some(&beside)).collect();
        let machine = Machine {
            cores,
            // Programs whose set-up failed are pending no more.
            ready: ready.is_some(),
            calm: load.is_calm(),
        };
        if let Some(index) = needs::next(&pending, &at_work, machine) {
            let unit = pending.remove(index);
            if unit.seconds >= LONG && !unit.gives_way {
                load.forget();
            }
            running.push(start(unit, env, logs)?);
            continue;
        }
        let mut index = 0;
        while index < running.len() {
            let one = &mut running[index];
            // Read before the exit status: afterwards the kernel no longer has it.
            one.cpu = cpu(one.process.pid()).unwrap_or(one.cpu);
            let Some(status) = one.process.exit_status()? else {
                index += 1;
                continue;
            };
            let one = running.swap_remove(index);
            let outcome = Ended::of(&one, status.success());
            ended.push(outcome);
            screen.ended(&ended[ended.len() - 1], ended.len(), all);
        }
        let left: Vec<(&Unit, u32)> = running.iter().map(|one| (&one.unit, one.left())).collect();
        screen.progress(ended.len(), all, &running, needs::time_left(&pending, &left, cores));
        std::thread::sleep(POLL);
    }
    screen.clear();
    account(&ended, begun.elapsed(), logs)
}

fn start(unit: Unit, env: &[(&str, PathBuf)], logs: &Path) -> anyhow::Result<Running> {
    let name = unit.label.replace(['/', ' '], "-");
    let launch = if unit.gives_way {
        Launch::program("nice").args(["-n", "19"]).arg(&unit.program.executable)
    } else {
        Launch::program(&unit.program.executable)
    };
    let launch = launch
        .named(name)
        .args(&unit.args)
        .folder(&unit.program.folder)
        .logs_in(logs);
    let launch = launch.env("CARGO_MANIFEST_DIR", &unit.program.folder);
    let process = env
        .iter()
        .fold(launch, |launch, (name, value)| launch.env(name, value))
        .start()?;
    Ok(Running {
        unit,
        process,
        since: Instant::now(),
        cpu: Duration::ZERO,
    })
}

fn list(program: &TestProgram) -> anyhow::Result<Vec<String>> {
    let listed = prerequisites::answer(&program.executable, &["--list", "--format=terse"])
        .with_context(|| format!("{} does not list its tests", program.executable.display()))?;
    Ok(listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

impl Running {
    fn left(&self) -> u32 {
        let gone = u32::try_from(self.since.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.unit.seconds.saturating_sub(gone).max(1)
    }
}

impl Ended {
    fn of(one: &Running, success: bool) -> Self {
        let (output, errors) = (one.process.stdout(), one.process.stderr());
        let count = count(&output);
        let lacked = [&output, &errors].into_iter().flat_map(|text| lacked(text)).collect();
        // A part has not passed if a test of it has no result.
        let named = one.unit.args.iter().skip_while(|arg| *arg != "--exact").skip(1).count();
        let ran = usize::try_from(count.passed + count.failed + count.ignored).unwrap_or(usize::MAX);
        let failed = !success || count.failed > 0 || (named > 0 && ran != named);
        Self {
            label: one.unit.label.clone(),
            took: one.since.elapsed(),
            cpu: one.cpu,
            count,
            lacked,
            output: failed.then(|| output + &errors),
        }
    }

    fn never_began(unit: &Unit) -> Self {
        Self {
            label: unit.label.clone(),
            took: Duration::ZERO,
            cpu: Duration::ZERO,
            count: Count::default(),
            lacked: Vec::new(),
            output: Some("not run: what it needs could not be set up; see above\n".to_owned()),
        }
    }
}

/// What was missing, for each line by which a test says that it skipped something: `ArduCopter` of `skipped: ArduCopter is missing: …`.
fn lacked(output: &str) -> impl Iterator<Item = String> {
    output.lines().filter_map(|line| {
        let behind = || Some(line.split_once("... skipped: ")?.1);
        let why = line.strip_prefix("skipped: ").or_else(behind)?;
        let what = match why.split_once(" is missing") {
            Some((before, _)) => before.rsplit(". ").next().unwrap_or(before),
            None => why,
        };
        Some(what.trim().chars().take(LONGEST_LACK).collect())
    })
}

/// The line of the summary about what tests skipped; `None`: nothing.
fn skipped(ended: &[Ended]) -> Option<String> {
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for what in ended.iter().flat_map(|one| &one.lacked) {
        *times.entry(what).or_default() += 1;
    }
    let each: Vec<String> = times.iter().map(|(what, times)| format!("{what} ({times})")).collect();
    let count: u32 = times.values().sum();
    (count > 0).then(|| {
        let each = each.join(", ");
        format!("skipped {count} times, as something is missing here: {each}; the outputs say how to get it")
    })
}

/// From libtest's closing lines, else the lines of the tests themselves.
fn count(output: &str) -> Count {
    let mut count = Count::default();
    let closing: Vec<&str> = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
        .collect();
    for line in &closing {
        let number = |what: &str| {
            let mut parts = line.split(['.', ';']).map(str::trim);
            parts
                .find_map(|part| part.strip_suffix(what)?.trim().parse::<u32>().ok())
                .unwrap_or(0)
        };
        count += Count {
            passed: number("passed"),
            failed: number("failed"),
            ignored: number("ignored"),
        };
    }
    if closing.is_empty() {
        let ends = |end: &str| {
            output
                .lines()
                .filter(|line| line.starts_with("test ") && line.ends_with(end))
                .count()
        };
        let number = |end: &str| u32::try_from(ends(end)).unwrap_or(u32::MAX);
        count = Count {
            passed: number(" ... ok"),
            failed: number(" ... FAILED"),
            ignored: number(" ... ignored"),
        };
    }
    count
}

/// Processor time of a process and of those of its children that have ended.
fn cpu(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may contain any character: state is field 3, utime, stime, cutime and cstime are 14 to 17.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks: u64 = fields
        .split(' ')
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Some(Duration::from_millis(ticks * 10))
}

#[derive(Default)]
struct Load {
    /// Time of each measurement, and the result of [`ticks`].
    looks: VecDeque<(Instant, (u64, u64))>,
}

impl Load {
    /// If the system does not report its load, the table alone decides.
    fn is_calm(&mut self) -> bool {
        let Some(now) = std::fs::read_to_string("/proc/stat").ok().as_deref().and_then(ticks) else {
            return true;
        };
        self.looks.push_back((Instant::now(), now));
        while self.looks.get(1).is_some_and(|(at, _)| at.elapsed() >= LOOKED_AT) {
            self.looks.pop_front();
        }
        self.looks.front().is_some_and(|(at, (busy, all))| {
            let (busy, all) = (now.0.saturating_sub(*busy), now.1.saturating_sub(*all));
            at.elapsed() >= LOOKED_AT && busy * 100 <= all * CALM_PERCENT
        })
    }

    /// For the start of a program, which changes the load.
    fn forget(&mut self) {
        self.looks.clear();
    }
}

/// Ticks of all cores since the system started, busy ones and all, from the text of /proc/stat.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are already in user. A nice program gives way to a
    // test.
    let all: u64 = fields.get(..8)?.iter().sum();
    Some((all - fields[1] - fields[3] - fields[4], all))
}

fn account(ended: &[Ended], took: Duration, logs: &Path) -> anyhow::Result<()> {
    let mut total = Count::default();
    for one in ended {
        total += one.count;
        if let Some(output) = &one.output {
            say::heading(&format!("{} failed; it printed:", one.label));
            say::line(output);
        }
    }
    let mut programs: BTreeMap<&str, (Duration, Duration)> = BTreeMap::new();
    for one in ended {
        let name = one.label.split(' ').next().unwrap_or(&one.label);
        let times = programs.entry(name).or_default();
        *times = (times.0 + one.took, times.1 + one.cpu);
    }
    let mut longest: Vec<_> = programs.into_iter().collect();
    longest.sort_by_key(|(_, (took, _))| std::cmp::Reverse(*took));
    say::heading("where the time went: program, all its parts one after the other, processor time");
    for (name, (took, cpu)) in longest.iter().take(16) {
        say::note(&format!(
            "{name:<32} {:>12} {:>12}",
            say::duration(*took),
            say::duration(*cpu)
        ));
    }
    let red: Vec<&str> = ended
        .iter()
        .filter(|one| one.output.is_some())
        .map(|one| one.label.as_str())
        .collect();
    say::note(&format!(
        "tests took {}; the output of each program is in {}",
        say::duration(took),
        logs.display()
    ));
    if let Some(skipped) = skipped(ended) {
        say::note(&skipped);
    }
    say::line(&format!(
        "{} passed, {} failed, {} skipped",
        total.passed, total.failed, total.ignored
    ));
    anyhow::ensure!(red.is_empty(), "tests failed in {}; see above", red.join(", "));
    Ok(())
}

/// The state of the run on one line of a terminal; else a line for each program, and one each minute.
struct Screen {
    terminal: bool,
    printed_at: Instant,
}

impl Screen {
    fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            printed_at: Instant::now(),
        }
    }

    fn ended(&mut self, one: &Ended, ended: usize, all: usize) {
        let failed = one.output.is_some();
        if self.terminal && !failed {
            return;
        }
        self.clear();
        let (how, passed) = (if failed { "FAILED" } else { "passed" }, one.count.passed);
        let (took, cpu) = (say::duration(one.took), say::duration(one.cpu));
        say::note(&format!(
            "[{ended}/{all}] {} {how}: {passed} tests, {took}, {cpu} of processor time",
            one.label
        ));
    }

    fn progress(&mut self, ended: usize, all: usize, running: &[Running], left: u32) {
        if !self.terminal && self.printed_at.elapsed() < PRINT_EVERY {
            return;
        }
        self.printed_at = Instant::now();
        let names: Vec<String> = running
            .iter()
            .map(|one| format!("{} ({} s)", one.unit.label, one.since.elapsed().as_secs()))
            .collect();
        let left = say::duration(Duration::from_secs(left.into()));
        let text = format!(
            "{ended} of {all} done, about {left} left; running: {}",
            names.join(", ")
        );
        if self.terminal {
            let short: String = text.chars().take(110).collect();
            let _ = write!(std::io::stderr(), "\r\x1b[K    {short}");
        } else {
            say::note(&text);
        }
    }

    fn clear(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted_and_without_them_the_tests() {
        let libtest = "test a ... ok\n\ntest result: ok. 12 passed; 0 failed; 2 ignored; 0 measured; 3 filtered out; finished in 0.01s\n";
        assert_eq!(
            count(libtest),
            Count {
                passed: 12,
                failed: 0,
                ignored: 2
            }
        );
        let red = "test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(
            count(red),
            Count {
                passed: 1,
                failed: 3,
                ignored: 0
            }
        );
        assert_eq!(
            count("test a ... ok\ntest b ... FAILED\n"),
            Count {
                passed: 1,
                failed: 1,
                ignored: 0
            }
        );
        assert_eq!(count(""), Count::default());
    }

    #[test]
    fn what_tests_skipped_is_counted_by_what_is_missing() {
        let output = "running 2 tests\n\
             skipped: ArduCopter is missing: it is flown by the tests (looked for x). Get it: download it\n\
             test a ... skipped: ArduCopter is missing: it is flown. Get it: there\n\
             skipped: 4 scenarios with px4. PX4 is missing: it is flown. Get it: there\n\
             skipped: missing here: ip, tc\n\
             4 flown, 0 fall short, 4 skipped\n";
        let all: Vec<String> = lacked(output).collect();
        assert_eq!(all, ["ArduCopter", "ArduCopter", "PX4", "missing here: ip, tc"]);
        let ended = |lacked| Ended {
            label: String::new(),
            took: Duration::ZERO,
            cpu: Duration::ZERO,
            count: Count::default(),
            lacked,
            output: None,
        };
        assert_eq!(
            skipped(&[ended(all), ended(Vec::new())]).unwrap(),
            "skipped 4 times, as something is missing here: ArduCopter (2), PX4 (1), missing here: ip, tc (1); the outputs say how to get it"
        );
        assert_eq!(skipped(&[ended(Vec::new())]), None);
    }

    #[test]
    fn idle_cores_and_those_that_wait_for_a_disk_are_not_busy() {
        assert_eq!(ticks("cpu  10 20 30 400 50 6 7 8 9 0\ncpu0 1 1\n"), Some((61, 531)));
        assert_eq!(ticks("cpu  10 20\n"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn the_processor_time_of_a_process_is_read() {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(60) {
            std::hint::black_box(begun.elapsed());
        }
        assert!(cpu(std::process::id()).unwrap() >= Duration::from_millis(10));
        assert_eq!(cpu(0), None);
    }
}
