//! The flight log: every frame of the link, in both directions, in `.tlog` files that MAVProxy, pymavlink and QGroundControl open.
//!
//! Owns: taking frames from the link and handing them to the writer's thread ([`record`], [`writer`], `log_store`, [`flags`]). Must not: slow the link or the agent: frames are lost, and counted, before anything waits.
//!
//!   link --tap--> this task, four times a second --bounded queue--> writer's thread --> disk
//!
//! A new file is begun at each start, each time that the vehicle arms, when one has become long, and, where logs are uploaded, some seconds
//! after the vehicle was disarmed, so that the flight can go. What happened in
//! the last quarter of a second may be missing after a crash of the agent, and in the last 5 s after a loss of power.

pub mod counters;
pub mod flags;
pub mod log_store;
pub mod record;
pub mod writer;

pub use counters::Snapshot;
pub use flags::{Config, FlightLogFlags};
pub use model::logs::file_name;

use crate::gcs::autopilots::{ArmingChange, Autopilots};
use crate::sent::Sent;
use counters::Counters;
use link::raw::{Direction, RawFrame};
use link::{LinkHandle, Tap};
use log_store::{Folder, LogStore};
use model::ids::NodeName;
use record::Anchor;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, debug, warn};
use writer::{Chunk, Writer};

/// How often frames are taken from the link.
const EVERY: Duration = Duration::from_millis(250);
/// Where logs are uploaded, the log of a flight ends so long after the vehicle was disarmed.
const AFTER_FLIGHT: Duration = Duration::from_secs(10);
/// Frames: nearly two seconds of the busiest autopilot.
const TAPPED: usize = 1024;
const CHUNK: usize = 32 * 1024;
/// Waiting for the disk: a few seconds of the busiest autopilot, one MiB at most.
const CHUNKS: usize = 32;
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct FlightLog {
    counters: Arc<Counters>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: CancellationToken,
    taker: JoinHandle<()>,
    written: oneshot::Receiver<()>,
}

/// Needs a tokio runtime. Logs that are `sent` make room first.
pub fn start(config: Config, node: NodeName, link: &LinkHandle, sent: Sent) -> FlightLog {
    let Some(path) = config.folder.clone() else {
        return FlightLog {
            counters: Arc::default(),
            running: None,
        };
    };
    let store = Folder {
        path,
        node: node.clone(),
    };
    start_on(store, &config, node, link, sent)
}

pub fn start_on(store: impl LogStore, config: &Config, node: NodeName, link: &LinkHandle, sent: Sent) -> FlightLog {
    let counters = Arc::new(Counters::default());
    let ends_after_flight = sent.is_kept();
    let writer = Writer::new(store, node, config.limit, config.longest(), Arc::clone(&counters)).removing_first(sent);
    let (chunks, waiting) = sync_channel(CHUNKS);
    let (done, written) = oneshot::channel();
    if let Err(error) = write_in_thread(writer, waiting, done) {
        warn!(%error, "no thread for the flight log; nothing is logged");
    }
    let stop = CancellationToken::new();
    let taker = Taker {
        tap: link.tap(TAPPED),
        chunks,
        counters: Arc::clone(&counters),
        autopilots: Autopilots::default(),
        anchor: Anchor::new(Instant::now(), SystemTime::now()),
        new_file: true,
        flight_over: None,
        ends_after_flight,
        lost: 0,
    };
    let taker = tokio::spawn(taker.run(stop.clone()).in_current_span());
    FlightLog {
        counters,
        running: Some(Running { stop, taker, written }),
    }
}

impl FlightLog {
    pub fn counters(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// A disk that hangs is not waited for.
    pub async fn close(self) {
        let Some(running) = self.running else { return };
        running.stop.cancel();
        if let Err(error) = running.taker.await {
            debug!(%error, "flight log task ended oddly");
        }
        if timeout(CLOSE_WITHIN, running.written).await.is_err() {
            warn!("the disk of the flight log does not answer; its end may be missing");
        }
    }
}

/// The thread is waited for no longer than [`CLOSE_WITHIN`]: one that hangs with its disk ends with the process.
fn write_in_thread<S: LogStore>(
    writer: Writer<S>,
    waiting: Receiver<Chunk>,
    done: oneshot::Sender<()>,
) -> std::io::Result<()> {
    let span = Span::current();
    let write = move || {
        let _entered = span.enter();
        writer.run(&waiting);
        // The other end may have stopped waiting.
        let _ = done.send(());
    };
    std::thread::Builder::new()
        .name("flight-log".to_owned())
        .spawn(write)
        .map(drop)
}

struct Taker {
    tap: Tap,
    chunks: SyncSender<Chunk>,
    counters: Arc<Counters>,
    autopilots: Autopilots,
    anchor: Anchor,
    new_file: bool,
    flight_over: Option<Instant>,
    ends_after_flight: bool,
    lost: u64,
}

impl Taker {
    async fn run(mut self, stop: CancellationToken) {
        let mut every = interval(EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = every.tick() => self.take_all(),
                () = stop.cancelled() => {
                    self.take_all();
                    return;
                }
            }
        }
    }

    fn take_all(&mut self) {
        if self.flight_over.is_some_and(|at| at.elapsed() >= AFTER_FLIGHT) {
            self.flight_over = None;
            self.begin_file();
        }
        let mut chunk = self.empty();
        while let Some(frame) = self.tap.try_recv() {
            let arms = self.arms(&frame);
            if arms || chunk.bytes.len() >= CHUNK {
                self.hand_on(chunk);
                if arms {
                    self.begin_file();
                }
                chunk = self.empty();
            }
            if record::append(&mut chunk.bytes, &frame, &self.anchor) {
                chunk.frames += 1;
            } else {
                self.counters.left_out(1);
            }
        }
        self.hand_on(chunk);
        let lost = self.tap.lost();
        self.counters.lost(lost - self.lost);
        self.lost = lost;
    }

    fn begin_file(&mut self) {
        self.anchor = Anchor::new(Instant::now(), SystemTime::now());
        self.new_file = true;
    }

    const fn empty(&self) -> Chunk {
        Chunk {
            new_file: if self.new_file { Some(self.anchor.wall()) } else { None },
            bytes: Vec::new(),
            frames: 0,
        }
    }

    fn hand_on(&mut self, chunk: Chunk) {
        let frames = chunk.frames;
        if frames == 0 {
            return;
        }
        match self.chunks.try_send(chunk) {
            Ok(()) => self.new_file = false,
            Err(_) => self.counters.lost(frames),
        }
    }

    /// A frame in which an autopilot arms is the first of a new file.
    fn arms(&mut self, frame: &RawFrame) -> bool {
        if frame.from != Direction::Autopilot {
            return false;
        }
        let was_armed = self.autopilots.armed();
        let arms = self.autopilots.receive(frame) == Some(ArmingChange::Arms);
        if self.autopilots.armed() {
            self.flight_over = None;
        } else if was_armed && self.ends_after_flight {
            self.flight_over = Some(Instant::now());
        }
        arms
    }
}
