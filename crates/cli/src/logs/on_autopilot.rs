//! Has the agent copy a log of its autopilot to its disk.

use super::download::ListedLog;
use super::source::Source;
use super::{DOWNLOAD_TIMEOUT, Progress};
use crate::failure::Failure;
use crate::server::logs::no_sense;
use crate::vehicle::printable;
use model::logs::LogName;
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use std::io::Write;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The agent writes what has come with each question.
const ASK_INTERVAL: Duration = Duration::from_millis(500);

/// Returns the log on the agent's disk. After an error the bytes that came stay there for the next time.
pub async fn brought(source: &mut impl Source, log: &ListedLog) -> Result<ListedLog, Failure> {
    let progress = Progress::of(log.name.as_str(), log.bytes);
    let (mut came, mut last, mut said) = (0, Instant::now(), String::new());
    loop {
        let name = log.name.to_string();
        let Answer::Fetched(fetched) = source.ask(Question::Fetch(v1::LogFetch { name })).await? else {
            return Err(no_sense());
        };
        if fetched.done {
            let name = LogName::on_disk(log.name.as_str(), fetched.size).filter(|name| name.as_str() == fetched.name);
            let bytes = fetched.size;
            return name.map(|name| ListedLog { name, bytes }).ok_or_else(no_sense);
        }
        if fetched.got != came {
            (came, last) = (fetched.got, Instant::now());
            progress.show(came);
        }
        let waits = printable(&fetched.waits);
        if last.elapsed() > DOWNLOAD_TIMEOUT {
            let why = if waits.is_empty() {
                "nothing comes from the autopilot"
            } else {
                &waits
            };
            return Err(Failure::Failed(format!("{why}; call the same command again later")));
        }
        if waits != said && !waits.is_empty() {
            writeln!(std::io::stderr(), "skein: waiting: {waits}")?;
        }
        said = waits;
        sleep(ASK_INTERVAL).await;
    }
}
