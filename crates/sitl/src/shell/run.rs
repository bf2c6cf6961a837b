//! `skein-sitl` itself: prints the list of vehicles, runs until a signal, or the end of standard input if requested.

use std::io::Write;
use std::time::Duration;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use super::simulation::Simulation;
use crate::cli::Args;

pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut terminated = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut simulation = Simulation::start(&args, |vehicle| print_line(&serde_json::to_string(&vehicle)?)).await?;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    let mut closed = std::pin::pin!(stdin_closed(args.until_stdin_closes));
    loop {
        tokio::select! {
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
            () = &mut closed => break,
            () = simulation.all_failed() => anyhow::bail!("every vehicle's link failed; see the lines above"),
            _ = second.tick(), if args.print_pace => print_line(&serde_json::to_string(&simulation.pace())?)?,
        }
    }
    simulation.end().await;
    Ok(())
}

/// Reads in a thread, which ends with the process: a read of standard input cannot be cancelled.
async fn stdin_closed(wanted: bool) {
    if !wanted {
        return std::future::pending().await;
    }
    let (closed, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = wait.await;
}

fn print_line(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("cannot print the list of vehicles")
}
