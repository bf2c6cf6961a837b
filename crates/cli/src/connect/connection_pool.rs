//! Connections to the coordinator, shared by vehicles: it takes 64 streams on one.

use crate::failure::Failure;
use crate::route::Route;
use crate::server::{GuestClient, Server};
use std::sync::Arc;
use tokio::sync::Mutex;
use tonic::{Code, Status};

const STREAMS_PER_CONNECTION: usize = 48;

pub struct ConnectionPool {
    route: Route,
    given: usize,
    last: Arc<SharedConnection>,
}

pub struct SharedConnection {
    route: Route,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    generation: u64,
    server: Option<Server>,
}

impl ConnectionPool {
    pub fn new(route: Route) -> Self {
        let last = Arc::new(SharedConnection::new(route.clone()));
        Self { route, given: 0, last }
    }

    pub fn next(&mut self) -> Arc<SharedConnection> {
        if self.given > 0 && self.given.is_multiple_of(STREAMS_PER_CONNECTION) {
            self.last = Arc::new(SharedConnection::new(self.route.clone()));
        }
        self.given += 1;
        Arc::clone(&self.last)
    }
}

impl SharedConnection {
    fn new(route: Route) -> Self {
        Self {
            route,
            state: Mutex::default(),
        }
    }

    /// Also returns the generation of the connection, for [`Self::ended`].
    pub async fn client(&self) -> Result<(u64, GuestClient), Failure> {
        let mut state = self.state.lock().await;
        let server = match state.server.take() {
            Some(server) => server,
            None => {
                state.generation += 1;
                Server::connect_for_guests(&self.route).await?
            }
        };
        let client = server.guests();
        state.server = Some(server);
        Ok((state.generation, client))
    }

    /// Reconnects where a call ended by its connection. Returns whether a retry with a new proof makes sense.
    pub async fn ended(&self, generation: u64, status: &Status) -> bool {
        let broken = std::error::Error::source(status).is_some();
        if !broken && !matches!(status.code(), Code::Unavailable | Code::Unauthenticated) {
            return false;
        }
        let mut state = self.state.lock().await;
        if state.generation != generation {
            return status.code() == Code::Unauthenticated;
        }
        let old = state.server.take();
        status.code() == Code::Unauthenticated && old.is_some_and(|mut old| old.forget_stored())
    }
}
