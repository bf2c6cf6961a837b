//! The program: reads its configuration, wires the parts, waits for signals, and ends with a code.
//!
//! Owns: start-up, signals and exit codes: 0 ended in order, 1 the vehicle was not seen down in time, 2 cannot start.
//! Must not: decide anything about flight.

use crate::clock::Clock;
use crate::config::{Config, Flags, LogFormat};
use crate::pilot::Pilot;
use crate::readiness;
use crate::shell::{Ending, Wiring, fly};
use crate::state_file::Store;
use crate::uplink::{Outward, Uplink};
use clap::Parser;
use link::Link;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info, info_span, warn};
use tracing_subscriber::EnvFilter;

const CANNOT_START: u8 = 2;
const FAREWELL_WITHIN: Duration = Duration::from_secs(3);
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) if error.use_stderr() => {
            let text = error.to_string();
            return refuse(
                text.lines()
                    .next()
                    .unwrap_or("bad arguments")
                    .trim_start_matches("error: "),
            );
        }
        Err(help) => {
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    if let (true, Some(file)) = (flags.check_ready, &flags.ready_file) {
        return match readiness::check(file, SystemTime::now()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(line) => {
                let _ = writeln!(std::io::stderr(), "skein-agent: {line}");
                ExitCode::FAILURE
            }
        };
    }
    let config = match flags.check() {
        Ok(config) => config,
        Err(line) => return refuse(&line),
    };
    let (store, state) = match Store::open(&config.state_dir, &config.node) {
        Ok(opened) => opened,
        Err(error) => return refuse(&error.to_string()),
    };
    start_log(config.log);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&format!("cannot start: {error}")),
    };
    let span = info_span!("agent", node = %config.node);
    let served = runtime.block_on(serve(config, store, state).instrument(span));
    // A disk or a name server that does not answer must not keep an agent from ending.
    runtime.shutdown_timeout(STOP_WITHIN);
    match served {
        Ok(Ending::Settled) => ExitCode::SUCCESS,
        Ok(Ending::NotSettled) => ExitCode::FAILURE,
        Err(error) => refuse(&format!("cannot wait for signals: {error}")),
    }
}

fn refuse(line: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "skein-agent: {line}");
    ExitCode::from(CANNOT_START)
}

fn start_log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

async fn serve(config: Config, store: Store, state: crate::state_file::State) -> std::io::Result<Ending> {
    let terminate = CancellationToken::new();
    let signals = tokio::spawn(watch_signals(terminate.clone())?.in_current_span());
    let clock = Clock::start();
    info!(version = env!("CARGO_PKG_VERSION"), link = %config.link, coordinator = %config.coordinator, "agent started");
    if let Some(held) = &state.fence.held {
        info!(drone = %held.name, desired = ?held.desired, "remembering an assignment; nothing is sent before the vehicle's state is known");
    }
    let (link, handle, events) = Link::open(config.link.clone());
    let outward = Outward {
        report: None,
        highest_term: state.fence.highest_term,
    };
    let (reports, outward) = watch::channel(outward);
    let readiness = config
        .ready_file
        .map(|file| tokio::spawn(readiness::keep(file, outward.clone()).in_current_span()));
    let (to_pilot, orders) = mpsc::channel(16);
    let farewell = CancellationToken::new();
    let uplink = Uplink {
        endpoint: config.endpoint,
        address: config.coordinator,
        node: config.node.clone(),
        outward,
        pilot: to_pilot,
        farewell: farewell.clone(),
    };
    let uplink = tokio::spawn(uplink.keep().in_current_span());
    let pilot = Pilot::new(config.node, state, clock.now());
    let landing_timeout = config.landing_timeout;
    let wiring = Wiring {
        link: handle.clone(),
        events,
        orders,
        reports,
        terminate,
        landing_timeout,
        clock,
    };
    let ending = Box::pin(fly(pilot, wiring, Arc::new(store), farewell.clone())).await;
    farewell.cancel();
    if timeout(FAREWELL_WITHIN, uplink).await.is_err() {
        warn!("the last report may not have reached the coordinator");
    }
    let counters = handle.counters();
    link.close().await;
    signals.abort();
    if let Some(readiness) = readiness {
        readiness.abort();
    }
    info!(?ending, ?counters, "agent ended");
    Ok(ending)
}

/// SIGTERM and SIGINT ask the agent to end; asking again does not hurry it.
fn watch_signals(terminate: CancellationToken) -> std::io::Result<impl Future<Output = ()>> {
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = interrupt.recv() => {}
            }
            if terminate.is_cancelled() {
                info!("asked to end again: the vehicle still comes down first");
            }
            terminate.cancel();
        }
    })
}
