//! Agents in a process of their own: many sessions, each with a fake vehicle that reports once a second.

use anyhow::Context;
use futures::StreamExt;
use futures::channel::mpsc;
use model::assignment::{Desired, Order};
use model::backoff::Backoff;
use proto::v1;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::large_fleet::way::{self, Way};
use crate::scripted_agent::{State, from};

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(5),
};

/// As in real agents: a stream that lived this long resets the back-off.
const STEADY: Duration = Duration::from_secs(10);

/// Time within which all connect first; companion computers that are switched on in a morning do so much more slowly.
const SPREAD: Duration = Duration::from_secs(10);

pub fn node(number: usize) -> String {
    format!("vehicle-{number:05}")
}

pub fn asked() -> Option<anyhow::Result<()>> {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == "--agents")?;
    let arg = |n: usize| args.get(at + n).context("--agents SERVER COUNT STREAMS");
    let credentials = args.get(at + 4).filter(|arg| !arg.starts_with('-')).map(Path::new);
    Some((|| run(arg(1)?, arg(2)?.parse()?, arg(3)?.parse()?, credentials))())
}

/// `per_connection` streams to a connection in plain text, or each on its own by TLS with the credentials in a folder.
fn run(server: &str, count: usize, per_connection: usize, credentials: Option<&Path>) -> anyhow::Result<()> {
    raise_limit();
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let ways = match credentials {
            Some(folder) => way::secured(server, count, folder)?,
            None => shared(server, count, per_connection.max(1))?,
        };
        let all = Arc::new(All::of(count));
        for (number, way) in ways.into_iter().enumerate() {
            tokio::spawn(live(number, count, way, Arc::clone(&all)));
        }
        std::future::pending().await
    })
}

fn shared(server: &str, count: usize, per_connection: usize) -> anyhow::Result<Vec<Way>> {
    let mut ways = Vec::with_capacity(count);
    while ways.len() < count {
        let way = Way::plain(server)?;
        let streams = per_connection.min(count - ways.len());
        ways.extend(std::iter::repeat_n(way, streams));
    }
    Ok(ways)
}

fn raise_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

struct All {
    count: usize,
    connected: AtomicUsize,
}

impl All {
    fn of(count: usize) -> Self {
        Self {
            count,
            connected: AtomicUsize::new(0),
        }
    }

    fn came(&self) {
        if self.connected.fetch_add(1, Ordering::Relaxed) + 1 == self.count {
            say("all");
        }
    }

    fn went(&self) {
        if self.connected.fetch_sub(1, Ordering::Relaxed) == self.count {
            say("lost");
        }
    }
}

/// Prints for the measuring process: microseconds since 1970, and the event.
fn say(what: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{} {what}", now.as_micros()).and_then(|()| out.flush());
}

async fn live(number: usize, count: usize, way: Way, all: Arc<All>) {
    let mut vehicle = State::new(&node(number));
    (vehicle.tick, vehicle.pace) = (Duration::from_secs(1), 1);
    #[allow(clippy::cast_precision_loss, reason = "a share of a span")]
    tokio::time::sleep(SPREAD.mul_f64(number as f64 / count as f64)).await;
    let mut failures = 0;
    loop {
        let (mut connected, began) = (false, Instant::now());
        let _ = session(&mut vehicle, number, &way, &all, &mut connected).await;
        if connected {
            all.went();
        }
        if began.elapsed() >= STEADY {
            failures = 0;
        }
        failures += 1;
        #[allow(clippy::cast_precision_loss, reason = "any fraction will do")]
        let jitter = (number.wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
        tokio::time::sleep(RETRY.delay(failures, jitter)).await;
    }
}

/// A circle at about 5 m/s around a place of its own in a square grid.
fn place(number: usize, since: Duration) -> v1::Position {
    const COLUMNS: usize = 71;
    const APART: f64 = 60.0;
    const RADIUS: f64 = 20.0;
    #[allow(clippy::cast_precision_loss, reason = "a number of agents")]
    let of = |places: usize| places as f64 * APART / 111_195.0;
    let (sin, cos) = (since.as_secs_f64() / 4.0 + number as f64).sin_cos();
    let off = RADIUS / 111_195.0;
    v1::Position {
        latitude_deg: 47.0 + of(number / COLUMNS) + off * sin,
        longitude_deg: 8.0 + (of(number % COLUMNS) + off * cos) / 47f64.to_radians().cos(),
        altitude_amsl_m: 500.0,
        altitude_above_home_m: 10.0,
    }
}

async fn session(vehicle: &mut State, number: usize, way: &Way, all: &All, connected: &mut bool) -> anyhow::Result<()> {
    let (mut sender, receiver) = mpsc::channel(4);
    sender.try_send(vehicle.hello(u64::try_from(number)? + 1))?;
    let (channel, bearer) = way.open().await?;
    let mut orders = v1::uplink_client::UplinkClient::with_interceptor(channel, bearer)
        .session(receiver)
        .await?
        .into_inner();
    let mut ticks = tokio::time::interval(vehicle.tick);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                vehicle.step();
                let report = vehicle.report();
                let report = v1::Report {
                    link: Some(v1::LinkQuality { frames: 1_000_000, lost: 0, damaged: 0 }),
                    position: Some(place(number, Duration::from_millis(report.made_ms))),
                    ..report
                };
                sender.try_send(from(v1::from_agent::Message::Report(report)))?;
            }
            order = orders.next() => {
                let order = Order::try_from(order.context("the stream has ended")??)?;
                let word = match &order {
                    Order::Unassigned { .. } => "unassigned",
                    Order::Assigned(a) if matches!(a.desired, Desired::Flying { .. }) => "fly",
                    Order::Assigned(_) => "ground",
                };
                say(&format!("order {number} {word}"));
                vehicle.take(order);
                vehicle.orders.clear();
                if !std::mem::replace(connected, true) {
                    all.came();
                }
            }
        }
    }
}
