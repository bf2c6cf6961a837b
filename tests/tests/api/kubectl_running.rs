//! kubectl while it runs: a case can wait for its output so far.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(90);
const LINES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Output,
    Errors,
}

pub struct Ended {
    pub exit: Option<i32>,
    pub output: String,
    pub errors: String,
}

pub struct Running {
    child: Child,
    lines: Receiver<(Stream, String)>,
    readers: Vec<JoinHandle<()>>,
    output: String,
    errors: String,
    end: Instant,
}

impl Running {
    pub fn begin(mut command: Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = sync_channel(LINES);
        let readers = vec![
            reader(child.stdout.take().unwrap(), Stream::Output, sender.clone()),
            reader(child.stderr.take().unwrap(), Stream::Errors, sender),
        ];
        Self {
            child,
            lines,
            readers,
            output: String::new(),
            errors: String::new(),
            end: Instant::now() + PATIENCE,
        }
    }

    pub fn until(&mut self, stream: Stream, satisfied: impl Fn(&str) -> bool) {
        while !satisfied(self.text(stream)) {
            assert!(self.take(), "it ended too early: {}{}", self.output, self.errors);
        }
    }

    pub fn end(mut self) -> Ended {
        while self.take() {}
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        // kubectl closes both streams by ending.
        let exit = self.child.wait().unwrap().code();
        Ended {
            exit,
            output: std::mem::take(&mut self.output),
            errors: std::mem::take(&mut self.errors),
        }
    }

    fn text(&self, stream: Stream) -> &str {
        match stream {
            Stream::Output => &self.output,
            Stream::Errors => &self.errors,
        }
    }

    fn take(&mut self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok((Stream::Output, line)) => self.output += &line,
            Ok((Stream::Errors, line)) => self.errors += &line,
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("it did not come: {}{}", self.output, self.errors),
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reader(from: impl Read + Send + 'static, stream: Stream, to: SyncSender<(Stream, String)>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).into_owned();
            line.clear();
            if to.send((stream, text)).is_err() {
                return;
            }
        }
    })
}
