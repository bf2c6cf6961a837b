//! Opens every vehicle's endpoint, prints the list, runs until SIGTERM or SIGINT, or the end of standard input if asked.
//!
//! Owns: start-up order, the printed lines, the end. Must not: know how a link works.

use std::io::Write;
use std::net::SocketAddr;

use anyhow::Context;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::pty::PtyLink;
use super::tcp::TcpLink;
use super::udp::UdpLink;
use super::vehicle_task::VehicleTask;
use super::wire_log::WireLog;
use crate::cli::{Args, LinkSpec};

/// One line of the list on standard output.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    system_id: u8,
    autopilot: &'static str,
    endpoint: String,
}

/// Runs the simulator. Errors name what could not be opened and what to do.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let plans = args.vehicles()?;
    let mut terminated = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    for (index, plan) in plans.into_iter().enumerate() {
        let link = open(&args.link, index, &plan.name).await?;
        let log = WireLog::open(args.wire_log.as_deref(), &plan.name)?;
        let listed = Listed {
            name: &plan.name,
            system_id: plan.config.system_id,
            autopilot: plan.config.autopilot.name(),
            endpoint: link.endpoint(),
        };
        print_line(&serde_json::to_string(&listed)?)?;
        tasks.spawn(VehicleTask::new(plan.name, plan.config, args.speedup, link, log).run(stop.clone()));
    }
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
        () = stdin_closed(args.until_stdin_closes) => {}
        () = all_ended(&mut tasks) => anyhow::bail!("every vehicle's link failed; see the lines above"),
    }
    stop.cancel();
    all_ended(&mut tasks).await;
    Ok(())
}

/// Waits for the end of standard input, or for ever when that is not asked for. A thread of its own reads, because
/// a read of standard input cannot be cancelled; it ends with the process.
async fn stdin_closed(asked: bool) {
    if !asked {
        return std::future::pending().await;
    }
    let (closed, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = wait.await;
}

async fn all_ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

fn print_line(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("cannot print the list of vehicles")
}

async fn open(spec: &LinkSpec, index: usize, name: &str) -> anyhow::Result<Link> {
    Ok(match spec {
        LinkSpec::Pty(folder) => Link::Pty(PtyLink::open(folder, name)?),
        LinkSpec::Udp(first) => Link::Udp(UdpLink::open(counted_up(*first, index)).await?),
        LinkSpec::Tcp(first) => Link::Tcp(TcpLink::open(counted_up(*first, index)).await?),
    })
}

fn counted_up(first: SocketAddr, index: usize) -> SocketAddr {
    let mut address = first;
    // Port 0 lets the system choose, for every vehicle anew.
    if first.port() != 0 {
        address.set_port(first.port().saturating_add(index as u16));
    }
    address
}
