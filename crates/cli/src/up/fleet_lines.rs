//! Prints a line for each change of the fleet while a station runs.

use crate::changes;
use crate::failure::Failure;
use crate::route::Route;
use crate::server::{Server, Which};
use crate::vehicle::Vehicle;
use crate::watch::now;
use agent::lines::Lines;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

const RETRY_DELAY: Duration = Duration::from_secs(1);

const LAST_LINES_TIMEOUT: Duration = Duration::from_millis(500);

/// Dropping it ends it.
#[derive(Debug)]
pub struct FleetLines {
    following: JoinHandle<()>,
    lines: Lines,
}

impl FleetLines {
    pub fn start(server: Route) -> Result<Self, Failure> {
        let out = std::io::stdout().as_fd().try_clone_to_owned().map(File::from)?;
        let lines = Lines::to(out)?;
        let following = tokio::spawn(follow(server, lines.clone()));
        Ok(Self { following, lines })
    }
}

impl Drop for FleetLines {
    fn drop(&mut self) {
        self.following.abort();
        self.lines.write_out(LAST_LINES_TIMEOUT);
    }
}

async fn follow(server: Route, mut lines: Lines) {
    let mut last = Vec::new();
    loop {
        // The coordinator may not know the fleet yet, or be away for a moment.
        if let Err(why) = follow_once(&server, &mut last, &mut lines).await {
            tracing::debug!(%why, "the fleet is not shown");
        }
        sleep(RETRY_DELAY).await;
    }
}

async fn follow_once(server: &Route, last: &mut Vec<Vehicle>, lines: &mut Lines) -> anyhow::Result<()> {
    let mut stream = Server::connect(server).await?.watch(&Which::default(), None).await?;
    while let Some(fleet) = stream.message().await? {
        let vehicles: Vec<Vehicle> = fleet.vehicles.into_iter().map(Vehicle::from).collect();
        let changed = changes::lines(last, &vehicles);
        *last = vehicles;
        if !changed.is_empty() {
            let at = now();
            let text: String = changed.iter().map(|change| format!("{at} {change}\n")).collect();
            // Without a reader the vehicles still fly.
            let _ = lines.write_all(text.as_bytes());
        }
    }
    Ok(())
}
