//! Logs: the agent's, and the autopilot's own by MAVLink FTP.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::autopilots::Stack;
use testkit::{Process, wait_for};

use crate::field::{Field, NODES, SWARM};
use crate::figures::Figures;
use crate::scenario::Scenario;

pub const ALL: &[Scenario] = &[Scenario::new(
    "logs",
    "`skein logs` brings the agent's log of a flight and the autopilot's own, byte for byte, over the death of the agent; none in flight",
    logs,
)
.real_time()];

const NODE: &str = NODES[0];
/// A short flight's log, over a line of 921,600 baud that it does not fill.
const PATIENCE: Duration = Duration::from_secs(900);

fn logs(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let kept = field.api.scratch().folder("flight-logs")?.display().to_string();
    field.more_agent_arguments(["--flight-log-dir".to_owned(), kept.clone()]);
    field.kill_agent(NODE);
    field.start_agent(NODE)?;
    field.take_off(10.0)?;
    let refused = field.skein(&["logs", "--vehicle", NODE, "--autopilot"]);
    let why = refused.err().context("the autopilot's logs were listed in flight")?;
    ensure!(why.to_string().contains("not on the ground"), "{why}");
    field.kubectl().run(["delete", "swarm", SWARM])?;
    field.wait_down(NODE)?;

    let folder = field.api.scratch().folder("downloads")?;
    let download = format!("--download={}", folder.display());
    let list = field.skein(&["logs", "--vehicle", NODE])?;
    let flight = list.lines().find(|row| row.contains("10 m"));
    let flight = flight.and_then(|row| row.split_whitespace().next());
    let flight = flight.with_context(|| format!("the flight is not on the list: {list}"))?;
    field.skein(&["logs", "--vehicle", NODE, &download, "--log", flight])?;
    let tlog = only_file(&folder)?;
    let name = tlog.file_name().context("no name")?;
    let (copy, original) = (fs::read(&tlog)?, fs::read(Path::new(&kept).join(name))?);
    ensure!(
        !copy.is_empty() && original.starts_with(&copy),
        "the copy of {} differs",
        tlog.display()
    );
    figures.note(format!(
        "tlog {} KiB of {} KiB",
        copy.len() / 1024,
        original.len() / 1024
    ));
    fs::remove_file(tlog)?;

    let list = field.skein(&["logs", "--vehicle", NODE, "--autopilot"])?;
    let on_autopilot = field.vehicle(NODE).autopilot.folder().join(place(field.stack));
    let listed_at = written(&on_autopilot)?.iter().map(Vec::len).max().unwrap_or_default();
    figures.note(format!("{} logs on the autopilot", list.lines().count() - 1));
    let newest = list.lines().nth(1).and_then(|row| row.split_whitespace().next());
    let newest = newest.with_context(|| format!("no log: {list}"))?.to_owned();
    let begun = Instant::now();
    let args = ["logs", "--vehicle", NODE, "--autopilot", &download, "--log", &newest];
    let copying = field.start_skein(&args)?;
    let comes = PathBuf::from(&kept).join(format!("autopilot-{NODE}"));
    let part = wait_for("the log to come", PATIENCE, || come(&comes, 1, &copying))?;
    wait_for("more of it to come", PATIENCE, || {
        come(&comes, part + 64 * 1024, &copying)
    })?;
    field.kill_agent(NODE);
    field.start_agent(NODE)?;
    let status = copying.wait_for_exit(PATIENCE)?;
    ensure!(status.success(), "{status}: {}", copying.tail());
    let took = begun.elapsed().as_secs_f64();
    let copy = fs::read(only_file(&folder)?)?;
    // An ArduPilot writes on for a while after the flight.
    let is_copied = |log: &Vec<u8>| log.starts_with(&copy) && copy.len() >= listed_at;
    ensure!(
        written(&on_autopilot)?.iter().any(is_copied),
        "the autopilot wrote no log that begins with the copy of {} bytes, and had {listed_at} before",
        copy.len()
    );
    let kib = copy.len() as f64 / 1024.0;
    figures.note(format!(
        "the autopilot's log {kib:.0} KiB in {took:.0} s, {:.1} KiB/s, over a kill of the agent",
        kib / took
    ));
    Ok(())
}

fn place(stack: Stack) -> &'static str {
    match stack {
        Stack::ArduPilot => "logs",
        Stack::Px4 => "log",
    }
}

fn written(folder: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(written(&path)?);
        } else {
            all.push(fs::read(path)?);
        }
    }
    Ok(all)
}

fn only_file(folder: &Path) -> anyhow::Result<PathBuf> {
    let files = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    ensure!(files.len() == 1, "{files:?}");
    Ok(files.first().context("none")?.path())
}

fn come(folder: &Path, least: u64, copying: &Process) -> anyhow::Result<u64> {
    let context = || format!("nothing yet: {}", copying.tail());
    let entry = fs::read_dir(folder).with_context(context)?.next();
    let bytes = entry.with_context(context)??.metadata()?.len();
    ensure!(bytes >= least, "{bytes} of {least}: {}", copying.tail());
    Ok(bytes)
}
