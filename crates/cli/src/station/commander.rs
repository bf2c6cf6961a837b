//! The coordinator in this process.

use crate::failure::Failure;
use model::backoff::Backoff;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(100),
    cap: Duration::from_secs(5),
};

/// Running time.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Commander {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Commander {
    pub async fn bind(listen: SocketAddr) -> Result<TcpListener, Failure> {
        coordinator::listener::bind(listen).await.map_err(|why| {
            Failure::Failed(format!(
                "cannot listen on {listen} for agents: {why}; choose another address with --listen HOST:PORT"
            ))
        })
    }

    pub fn start(setup: coordinator::Setup, listener: TcpListener, address: SocketAddr) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(keep(setup, listener, address, stop.clone()));
        Self { stop, task }
    }

    /// Vehicles go on as assigned.
    pub async fn end(self) {
        self.stop.cancel();
        // Cannot fail: `keep` catches faults.
        let _ = self.task.await;
    }
}

async fn keep(setup: coordinator::Setup, first: TcpListener, address: SocketAddr, stop: CancellationToken) {
    let (mut listener, mut failures) = (Some(first), 0_u32);
    while !stop.is_cancelled() {
        let began = Instant::now();
        match listener.take() {
            None => match TcpListener::bind(address).await {
                Ok(bound) => {
                    listener = Some(bound);
                    continue;
                }
                Err(error) => warn!(%address, %error, "cannot listen for agents; will be tried again"),
            },
            Some(listener) => {
                let life = coordinator::run_with(setup.clone(), listener, stop.clone().cancelled_owned());
                match tokio::spawn(life).await {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => warn!("{error:#}"),
                    Err(fault) => error!(%fault, "the coordinator has died, which is a fault; it is started again"),
                }
            }
        }
        failures = if began.elapsed() >= BACKOFF_RESET_AFTER {
            1
        } else {
            failures.saturating_add(1)
        };
        stop.run_until_cancelled(sleep(RETRY.delay(failures, 0.5))).await;
    }
}
