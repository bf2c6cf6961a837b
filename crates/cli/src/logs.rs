//! `skein logs`: lists, prints and copies logs. Must not: change anything on the vehicle.

mod download;
mod lines;
mod list;
mod on_autopilot;
mod size_caps;
mod source;

use crate::args::{LogsArgs, ObjectKey};
use crate::failure::Failure;
use crate::output::Output;
use crate::route::Route;
use crate::server::logs::no_sense;
use crate::vehicle::printable;
use download::ListedLog;
use jiff::tz::TimeZone;
use model::logs::LogsFrom;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use proto::v1::logs_request::Whose;
use proto::v1::{DroneTarget, LogFile, LogList, NodeTarget};
use size_caps::SizeCaps;
use source::{Remote, Source};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const LIST_TIMEOUT: Duration = Duration::from_secs(5);
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(120);
/// Time for the agent to read logs for a list, which is printed as far as it is known then.
const READ_LOGS_TIMEOUT: Duration = Duration::from_secs(15);
const ASK_INTERVAL: Duration = Duration::from_millis(200);

pub async fn run(route: Route, args: &LogsArgs) -> Result<(), Failure> {
    let whose = whose(args)?;
    let short = args.download.is_none() && !args.follow;
    let patience = if short { LIST_TIMEOUT } else { DOWNLOAD_TIMEOUT };
    let mut source = Remote::new(route, whose, patience);
    if args.follow {
        return lines::follow(&mut source, &TimeZone::system(), &mut std::io::stdout()).await;
    }
    let logs = listed(&mut source, args.autopilot).await?;
    match &args.download {
        None if !args.log.is_empty() => {
            for log in list::chosen(&logs, &args.log, false)? {
                lines::print(&mut source, &log.name, &TimeZone::system(), &mut std::io::stdout()).await?;
            }
            Ok(())
        }
        None => {
            let text = if logs.is_empty() {
                "No logs yet.\n".to_owned()
            } else {
                list::table(&logs, &TimeZone::system())
            };
            Ok(std::io::stdout().write_all(text.as_bytes())?)
        }
        Some(folder) => {
            let chosen = list::chosen(&logs, &args.log, args.all)?;
            if chosen.is_empty() {
                return Err(Failure::Failed("there are no logs yet".to_owned()));
            }
            download(&mut source, &chosen, args, folder).await
        }
    }
}

fn whose(args: &LogsArgs) -> Result<Whose, Failure> {
    match (&args.vehicle, &args.drone) {
        (Some(node), _) => Ok(Whose::Node(NodeTarget { name: node.clone() })),
        (None, Some(drone)) => {
            let ObjectKey { namespace, name } = drone.key(args.namespace.as_deref(), None).map_err(Failure::Usage)?;
            Ok(Whose::Drone(DroneTarget { namespace, name }))
        }
        (None, None) => Err(Failure::Usage("name a Drone, or a node with --vehicle".to_owned())),
    }
}

/// Starts only once all names are valid for that vehicle and the sizes within limits.
async fn download(source: &mut impl Source, chosen: &[LogFile], args: &LogsArgs, folder: &Path) -> Result<(), Failure> {
    let from = if args.autopilot {
        LogsFrom::Autopilot
    } else {
        LogsFrom::Agent(source.node())
    };
    let caps = SizeCaps::of_mib(args.max_log_mib, args.max_total_mib);
    let logs = ListedLog::all_of(chosen, from, caps)?;
    let mut caps = caps;
    for log in &logs {
        if args.autopilot {
            let log = on_autopilot::brought(source, log).await?;
            // It may have grown since the listing.
            caps.take(&log.name, log.bytes)?;
            copy(source, &log, folder).await?;
        } else {
            copy(source, log, folder).await?;
        }
    }
    Ok(())
}

/// Newest first, once the agent has read them.
async fn listed(source: &mut impl Source, on_autopilot: bool) -> Result<Vec<LogFile>, Failure> {
    let (begun, mut said) = (Instant::now(), String::new());
    let patience = if on_autopilot {
        DOWNLOAD_TIMEOUT
    } else {
        READ_LOGS_TIMEOUT
    };
    loop {
        match source.ask(Question::List(LogList { on_autopilot })).await? {
            Answer::Files(files) if files.unfinished && begun.elapsed() < patience => {
                let waits = printable(&files.waits);
                if !waits.is_empty() && waits != said {
                    writeln!(std::io::stderr(), "skein: waiting: {waits}")?;
                    said = waits;
                }
                sleep(ASK_INTERVAL).await;
            }
            Answer::Files(files) if files.unfinished && on_autopilot => {
                let why = "the autopilot has not listed its logs in time; try again later";
                return Err(Failure::Failed(why.to_owned()));
            }
            Answer::Files(files) => return Ok(files.files),
            _ => return Err(no_sense()),
        }
    }
}

async fn copy(source: &mut impl Source, log: &ListedLog, folder: &Path) -> Result<(), Failure> {
    let begun = Instant::now();
    let progress = Progress::of(log.name.as_str(), log.bytes);
    let copied = download::copy(source, log, folder, |bytes| progress.show(bytes)).await;
    drop(progress);
    let copied = copied?;
    let how = if copied.before {
        "was there already".to_owned()
    } else {
        format!("copied in {:.1} s", begun.elapsed().as_secs_f64())
    };
    let (path, size, sha256) = (copied.path.display(), list::size(log.bytes), copied.sha256);
    Ok(writeln!(std::io::stdout(), "{path}: {size}, {how}, sha256 {sha256}")?)
}

struct Progress<'a> {
    what: &'a str,
    all: u64,
    terminal: bool,
}

impl<'a> Progress<'a> {
    fn of(what: &'a str, all: u64) -> Self {
        let terminal = Output::of_this_process().terminal;
        Self { what, all, terminal }
    }

    fn show(&self, bytes: u64) {
        if self.terminal {
            let (what, bytes, all) = (self.what, list::size(bytes), list::size(self.all));
            // Progress that cannot be shown is no fault.
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{what}: {bytes} of {all}");
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
