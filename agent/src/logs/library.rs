//! The logs on the agent's disk: which there are, what is in them, and pieces of them.
//!
//! Blocks, and for as long as the disk hangs: nothing that flies may call it.

use super::LISTED;
use super::autopilot::{AutopilotLogs, Listing};
use super::digest::{Digest, Digests, WorkClock};
use super::lines::Teller;
use super::no_answer::NoAnswer;
use super::records::{self, Records};
use super::shelf::Shelf;
use super::summary::Summary;
use super::wanted::{Wait, Wanted};
use crate::flight_log::{Config, file_name};
use crate::sent::Sent;
use model::ids::NodeName;
use model::logs::LogName;
use proto::v1;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What was not read by then is read for the next list.
const LIST_WITHIN: Duration = Duration::from_millis(300);
const PIECE: usize = 64 * 1024;
/// Bytes of a log, unless only its end is wanted.
const READ_FOR_ANSWER: u64 = 1024 * 1024;
/// Bytes of an answer. The coordinator ends the session over a message of more than 64 KiB: no answer comes near that, not even a list of
/// the longest names.
const SENT: u32 = 32 * 1024;
const TEXT: usize = 32 * 1024;

#[derive(Debug)]
pub struct Library {
    folder: Option<PathBuf>,
    node: NodeName,
    read: HashMap<String, (Summary, u64)>,
    shelf: Option<Shelf>,
    autopilot: AutopilotLogs,
    sent: Sent,
    digests: Digests,
}

struct Log {
    number: u64,
    name: String,
    bytes: u64,
}

impl Library {
    pub fn of(config: &Config, node: NodeName, wanted: Wanted, sent: Sent) -> Self {
        let shelf = config
            .folder
            .as_deref()
            .map(|folder| Shelf::beside(folder, &node, config.limit, sent.clone()));
        Self {
            folder: config.folder.clone(),
            node,
            read: HashMap::new(),
            shelf,
            autopilot: AutopilotLogs::of(wanted),
            sent,
            digests: Digests::default(),
        }
    }

    pub fn list_on_autopilot(&mut self) -> Result<v1::LogFiles, NoAnswer> {
        Ok(match self.autopilot.list()? {
            Listing::There(files) => v1::LogFiles {
                files,
                ..v1::LogFiles::default()
            },
            Listing::NotYet(Some(Wait::Long(why))) => return Err(NoAnswer::Autopilot(why.to_owned())),
            Listing::NotYet(waits) => v1::LogFiles {
                unfinished: true,
                waits: waits.map_or("", Wait::why).to_owned(),
                ..v1::LogFiles::default()
            },
        })
    }

    pub fn fetch(&mut self, asked: &v1::LogFetch) -> Result<v1::LogFetched, NoAnswer> {
        let shelf = self.shelf.as_ref().ok_or(NoAnswer::NotKept)?;
        self.autopilot.fetch(&asked.name, shelf)
    }

    fn folder(&self) -> Result<&PathBuf, NoAnswer> {
        self.folder.as_ref().ok_or(NoAnswer::NotKept)
    }

    fn logs(&self) -> Result<Vec<Log>, NoAnswer> {
        let mut logs = Vec::new();
        let entries = match fs::read_dir(self.folder()?) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(logs),
            Err(error) => return Err(error.into()),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(number) = file_name::number(&self.node, &name) {
                let bytes = entry.metadata()?.len();
                logs.push(Log { number, name, bytes });
            }
        }
        logs.sort_by_key(|log| std::cmp::Reverse(log.number));
        Ok(logs)
    }

    pub fn list(&mut self) -> Result<v1::LogFiles, NoAnswer> {
        let mut logs = self.logs()?;
        logs.truncate(LISTED);
        self.read.retain(|name, _| logs.iter().any(|log| log.name == *name));
        let until = Instant::now() + LIST_WITHIN;
        let mut unfinished = false;
        let mut files = Vec::new();
        for (index, log) in logs.iter().enumerate() {
            let mut known = self.read.remove(&log.name).unwrap_or_default();
            match self.open(&log.name) {
                Ok(file) => unfinished |= !read_on(file, &mut known, until)?,
                // The writer has just removed it to make room.
                Err(NoAnswer::NoSuchLog(_)) => continue,
                Err(other) => return Err(other),
            }
            let (summary, _) = &known;
            files.push(v1::LogFile {
                name: log.name.clone(),
                bytes: log.bytes,
                begun_ms: summary.begun_ms(),
                length_ms: millis(summary.length()),
                growing: index == 0,
                autopilot: false,
                armed_ms: millis(summary.armed()),
                in_air_ms: millis(summary.in_air()),
                highest_m: summary.highest_m(),
                uploaded_as: self.sent.key(&log.name).unwrap_or_default(),
            });
            self.read.insert(log.name.clone(), known);
        }
        Ok(v1::LogFiles {
            files,
            unfinished,
            ..v1::LogFiles::default()
        })
    }

    fn open(&self, name: &str) -> Result<File, NoAnswer> {
        let no_such = || NoAnswer::NoSuchLog(name.chars().take(200).collect());
        let checked = LogName::parse(name).map_err(|_| no_such())?;
        let path = if file_name::number(&self.node, checked.as_str()).is_some() {
            self.folder()?.join(checked.as_str())
        } else {
            let shelf = self.shelf.as_ref().ok_or(NoAnswer::NotKept)?;
            shelf.path(&checked).ok_or_else(no_such)?
        };
        File::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => no_such(),
            _ => error.into(),
        })
    }

    pub fn read(&self, asked: &v1::LogRead) -> Result<v1::LogBytes, NoAnswer> {
        let mut file = self.open(&asked.name)?;
        let size = file.metadata()?.len();
        if asked.offset >= size {
            let data = Vec::new();
            return Ok(v1::LogBytes { data, size });
        }
        file.seek(SeekFrom::Start(asked.offset))?;
        let mut data = Vec::new();
        file.take(asked.most.min(SENT).into()).read_to_end(&mut data)?;
        Ok(v1::LogBytes { data, size })
    }

    pub fn digest(&mut self, asked: &v1::LogDigest, clock: &mut impl WorkClock) -> Result<Digest, NoAnswer> {
        let file = self.open(&asked.name)?;
        Ok(self.digests.answer(asked, file, clock)?)
    }

    pub fn lines(&self, asked: &v1::LogLines) -> Result<v1::LogText, NoAnswer> {
        let logs = self.logs()?;
        let name = match logs.first() {
            _ if !asked.name.is_empty() => asked.name.clone(),
            Some(newest) => newest.name.clone(),
            None => return Err(NoAnswer::NoneYet),
        };
        // The newest is first.
        let place = logs.iter().position(|log| log.name == name);
        let newer = place.and_then(|place| logs.get(place.checked_sub(1)?));
        let newer = newer.map(|log| log.name.clone()).unwrap_or_default();
        let mut file = self.open(&name)?;
        let size = file.metadata()?.len();
        // A place in the middle of a log need not begin a record, so that one is read from its beginning, and only its end is sent.
        let (mut next, context) = if asked.from_the_end {
            (0, 0)
        } else {
            (asked.offset, asked.context)
        };
        let mut teller = Teller::going_on(context);
        if next > size {
            return Err(NoAnswer::NoSuchLog(name));
        }
        let mut lines = Vec::new();
        let until = if asked.from_the_end {
            u64::MAX
        } else {
            next.saturating_add(READ_FOR_ANSWER)
        };
        let mut end = false;
        let mut text = 0;
        while !end && next < until && text < TEXT {
            let piece = piece(&mut file, next)?;
            let mut records = Records::of(&piece);
            while text < TEXT
                && let Some(record) = records.next()
            {
                teller.take(&record);
                for line in teller.lines() {
                    text += if asked.from_the_end { 0 } else { LINE + line.text.len() };
                    lines.push(line);
                }
            }
            next += u64::try_from(records.used()).unwrap_or(u64::MAX);
            end = records.used() == 0 || next >= size;
            if asked.from_the_end {
                lines.drain(..lines.len().saturating_sub(TAIL));
            }
        }
        let lines = lines.into_iter().map(|line| v1::LogLine {
            at_ms: line.at_ms,
            text: line.text,
        });
        Ok(v1::LogText {
            lines: lines.collect(),
            name,
            next,
            end,
            context: teller.context(),
            newer,
        })
    }
}

const LINE: usize = 16;
/// Lines before the end that are shown when only the end is wanted.
const TAIL: usize = 10;

fn piece(file: &mut File, offset: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(PIECE.max(records::LONGEST)).unwrap_or(u64::MAX);
    (&*file).take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(feature = "upload")]
pub(crate) fn summary_of(file: File) -> io::Result<Summary> {
    let mut known = (Summary::default(), 0);
    let a_day = Instant::now() + Duration::from_secs(86_400);
    read_on(file, &mut known, a_day)?;
    Ok(known.0)
}

/// Returns whether that is the end of the log.
fn read_on(mut file: File, known: &mut (Summary, u64), until: Instant) -> io::Result<bool> {
    let (summary, offset) = known;
    while Instant::now() < until {
        let piece = piece(&mut file, *offset)?;
        let mut records = Records::of(&piece);
        records.by_ref().for_each(|record| summary.take(&record));
        *offset += u64::try_from(records.used()).unwrap_or(u64::MAX);
        if records.used() == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
