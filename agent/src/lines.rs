//! Lines of a log, written by a thread of their own.
//!
//! Writing a line neither waits nor fails: agents log from the thread on which they receive vehicles. A terminal that is paused or gone, a reader
//! that has ended and a full disk cost lines, never an agent.
//!
//!   any thread -> a queue of bounded length -> a thread of its own -> the file;   a full queue: counted, and reported later

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// More would be too old to be of use.
const WAITING: usize = 4096;

enum Item {
    /// `.0`: lines before it that found no place.
    Line(u64, Vec<u8>),
    /// Answered once all before it is written.
    Mark(SyncSender<()>),
}

/// Whole lines go in.
#[derive(Clone, Debug)]
pub struct Lines {
    queue: SyncSender<Item>,
    missing: Arc<AtomicU64>,
}

impl Lines {
    pub fn to_standard_error() -> io::Result<Self> {
        // A file of its own: what else writes to standard error must not wait for the lock of a stuck line.
        Self::to(File::from(io::stderr().as_fd().try_clone_to_owned()?))
    }

    pub fn to(target: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(WAITING);
        let missing = Arc::new(AtomicU64::new(0));
        // It ends with the process, or with the last who could log. It is not waited for: what it writes to may be stuck.
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(&waiting, target))?;
        Ok(Self { queue, missing })
    }

    pub fn write_out(&self, within: Duration) {
        let (written, done) = sync_channel(1);
        // A full queue is a stuck one.
        if self.queue.try_send(Item::Mark(written)).is_ok() {
            let _ = done.recv_timeout(within);
        }
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let left_out = self.missing.swap(0, Ordering::Relaxed);
        if self.queue.try_send(Item::Line(left_out, line.to_vec())).is_err() {
            self.missing.fetch_add(left_out.saturating_add(1), Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn write_all(waiting: &Receiver<Item>, mut target: impl Write) {
    while let Ok(item) = waiting.recv() {
        // What cannot be written is lost; there is nowhere to report it.
        match item {
            Item::Line(left_out, line) => {
                if left_out > 0 {
                    let _ = writeln!(
                        target,
                        "{left_out} lines of the log are missing: it was not read fast enough"
                    );
                }
                let _ = target.write_all(&line);
            }
            Item::Mark(written) => {
                let _ = target.flush();
                let _ = written.try_send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const SOON: Duration = Duration::from_secs(20);

    struct Stuck {
        go: Receiver<()>,
        let_go: bool,
        seen: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if !self.let_go {
                let _ = self.go.recv();
                self.let_go = true;
            }
            self.seen.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn all_written(lines: &Lines) {
        let (written, done) = sync_channel(1);
        lines.queue.send(Item::Mark(written)).unwrap();
        done.recv_timeout(SOON).unwrap();
    }

    #[test]
    fn who_logs_waits_for_nobody_and_what_is_left_out_is_counted() {
        let (let_go, go) = sync_channel(1);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut lines = Lines::to(Stuck {
            go,
            let_go: false,
            seen: Arc::clone(&seen),
        })
        .unwrap();
        let many = 2 * WAITING;
        for number in 0..many {
            lines.write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        let_go.send(()).unwrap();
        all_written(&lines);
        lines.write_all(b"the last\n").unwrap();
        all_written(&lines);
        let text = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
        assert!(
            text.starts_with("line 0\nline 1\n") && text.ends_with("the last\n"),
            "{text:.200}"
        );
        let done: usize = text
            .lines()
            .filter_map(|line| line.strip_suffix(" lines of the log are missing: it was not read fast enough"))
            .map(|count| count.parse::<usize>().unwrap())
            .sum();
        assert!(done > 0);
        assert_eq!(
            text.lines().filter(|line| line.starts_with("line ")).count() + done,
            many
        );
    }

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_error_of_who_logs() {
        let mut lines = Lines::to(Gone).unwrap();
        for _ in 0..10 {
            lines.write_all(b"a line\n").unwrap();
            lines.write_out(SOON);
        }
        assert_eq!(lines.missing.load(Ordering::Relaxed), 0, "they were taken");
    }
}
