//! The program: reads its configuration, runs one agent, waits for signals, and ends with a code.

use crate::config::{Flags, LogFormat};
use crate::life::Agent;
use crate::lines::Lines;
use crate::readiness;
use crate::shell::Ending;
use crate::state_folder;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use traces::{Program, Traces};
use tracing::{Instrument, Span, error_span, info};
use tracing_subscriber::EnvFilter;

const CANNOT_START: u8 = 2;
const STOP_WITHIN: Duration = Duration::from_secs(1);
const LAST_LINES: Duration = Duration::from_secs(1);
/// Those of some hundred takeoffs.
const MOST_SPANS: usize = 512;

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
    if let Some(owner) = &flags.give_state_dir_to {
        return match state_folder::give(&flags.state_dir, owner) {
            Ok(()) => ExitCode::SUCCESS,
            Err(line) => refuse(&line),
        };
    }
    let config = match flags.check() {
        Ok(config) => config,
        Err(line) => return refuse(&line),
    };
    let (log, node) = (config.log, config.node.clone());
    let agent = match Agent::open(config) {
        Ok(agent) => agent,
        Err(error) => return refuse(&error.to_string()),
    };
    let log = match start_log(log) {
        Ok(lines) => lines,
        Err(error) => {
            return refuse(&format!(
                "cannot start the log: {error}; end other programs, or allow more threads"
            ));
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&format!("cannot start: {error}")),
    };
    let program = Program {
        name: "skein-agent",
        version: model::version::version().to_owned(),
        instance: node.to_string(),
        queue: MOST_SPANS,
    };
    let served = runtime.block_on(serve(agent, program, error_span!("agent", %node)));
    // A disk or a name server that does not answer must not keep an agent from ending.
    runtime.shutdown_timeout(STOP_WITHIN);
    log.write_out(LAST_LINES);
    match served {
        Ok(Ending::Landed) => ExitCode::SUCCESS,
        Ok(Ending::NotLanded) => ExitCode::FAILURE,
        Err(error) => refuse(&format!("cannot wait for signals: {error}")),
    }
}

fn refuse(line: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "skein-agent: {line}");
    ExitCode::from(CANNOT_START)
}

/// Written out at the end.
fn start_log(format: LogFormat) -> std::io::Result<Lines> {
    let lines = Lines::to_standard_error()?;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(lines.clone())
        .with_target(false);
    match format {
        LogFormat::Text => log.with_ansi(false).init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    Ok(lines)
}

async fn serve(agent: Agent, program: Program, span: Span) -> std::io::Result<Ending> {
    let stop = CancellationToken::new();
    let agent = agent.tracing(span.in_scope(|| Traces::from_environment(&program)));
    let signals = tokio::spawn(watch_signals(stop.clone())?.instrument(span));
    let ending = Box::pin(agent.run(stop)).await;
    signals.abort();
    Ok(ending)
}

/// Asking again does not hurry the agent.
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
                info!("asked to end again: the vehicle still lands first");
            }
            terminate.cancel();
        }
    })
}
