//! Shows the fleet while the demo waits for something.

use super::flights::Flights;
use super::view::View;
use crate::output::Output;
use crate::route::Route;
use crate::server::{Server, Which};
use crate::vehicle::Vehicle;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const READ_INTERVAL: Duration = Duration::from_millis(200);

const RETRY_DELAY: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub struct Follow {
    fleet: watch::Receiver<Vec<Vehicle>>,
    receiving: JoinHandle<()>,
    view: View,
    flights: Flights,
    begun: Instant,
}

impl Follow {
    pub fn start(server: Route, out: Output) -> Self {
        let (sender, fleet) = watch::channel(Vec::new());
        Self {
            fleet,
            receiving: tokio::spawn(receive(server, sender)),
            view: View::new(out),
            flights: Flights::default(),
            begun: Instant::now(),
        }
    }

    pub const fn flights(&self) -> &Flights {
        &self.flights
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn fleet(&self) -> watch::Receiver<Vec<Vehicle>> {
        self.fleet.clone()
    }

    /// Shows the fleet until `goal` is done. Safe to cancel.
    pub async fn showing<T>(&mut self, goal: impl Future<Output = T>) -> T {
        let mut goal = std::pin::pin!(goal);
        loop {
            tokio::select! {
                reached = &mut goal => {
                    self.show();
                    return reached;
                }
                changed = self.fleet.changed() => match changed {
                    Ok(()) => self.show(),
                    Err(_) => sleep(RETRY_DELAY).await,
                },
            }
        }
    }

    pub fn keep_shown(&mut self) {
        self.view.keep_shown();
    }

    fn show(&mut self) {
        let elapsed = self.begun.elapsed();
        let fleet = self.fleet.borrow_and_update().clone();
        let changed = self.flights.note(elapsed, &fleet);
        self.view.show(elapsed, &self.flights, &changed);
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

async fn receive(server: Route, sender: watch::Sender<Vec<Vehicle>>) {
    loop {
        // The coordinator may not know the fleet yet, or be away for a moment.
        if let Err(why) = receive_stream(&server, &sender).await {
            tracing::debug!(%why, "the fleet is not reported");
        }
        if sender.is_closed() {
            return;
        }
        sleep(RETRY_DELAY).await;
    }
}

async fn receive_stream(server: &Route, sender: &watch::Sender<Vec<Vehicle>>) -> anyhow::Result<()> {
    let mut stream = Server::connect(server)
        .await?
        .watch(&Which::default(), Some(READ_INTERVAL))
        .await?;
    while let Some(fleet) = stream.message().await? {
        sender.send_replace(fleet.vehicles.into_iter().map(Vehicle::from).collect());
    }
    Ok(())
}
