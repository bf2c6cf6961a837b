//! One agent from its start to its end, in whatever process it lives.

use crate::clock::Clock;
use crate::config::Config;
use crate::drone_span::span_of;
use crate::logs::{LogDesk, Wanted};
use crate::metadata::MetadataCache;
use crate::pilot::Pilot;
use crate::readiness;
use crate::sent::Sent;
use crate::shell::{Blocking, Ending, Wiring, fly};
use crate::state_file::{State, Store, StoreError};
use crate::uplink::{Outward, Uplink};
#[cfg(feature = "upload")]
use crate::upload;
use crate::{flight_log, gcs};
use link::Link;
use link::signing::{Signing, SigningError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use traces::Traces;
use tracing::{Instrument, error_span, info, warn};

const FAREWELL_WITHIN: Duration = Duration::from_secs(3);

const LAST_SPANS: Duration = Duration::from_secs(2);

const GUEST_CALLS: usize = 8;

/// Where the time stamp of signing is kept, in the state directory.
const STAMP_FILE: &str = "signing-stamp";

#[derive(Debug, thiserror::Error)]
pub enum CannotStart {
    #[error(transparent)]
    State(#[from] StoreError),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

/// An agent that holds its state directory and has not begun yet.
#[derive(Debug)]
pub struct Agent {
    config: Config,
    signing: Option<Signing>,
    store: Store,
    state: State,
    traces: Traces,
}

impl Agent {
    /// Blocks while it reads the state directory. An agent whose state was read starts even when its disk cannot be written: its vehicle may be in the
    /// air ([`Store::unwritten`]).
    ///
    /// # Errors
    /// [`CannotStart`]; the agent must not start then.
    pub fn open(config: Config) -> Result<Self, CannotStart> {
        let (store, state) = Store::open(&config.state_dir, &config.node)?;
        let stamps = config.state_dir.join(STAMP_FILE);
        let load = |(key, link_id): &(PathBuf, u8)| Signing::load(key, *link_id, stamps);
        let signing = config.signing.as_ref().map(load).transpose()?;
        Ok(Self {
            config,
            signing,
            store,
            state,
            traces: Traces::default(),
        })
    }

    pub fn tracing(self, traces: Traces) -> Self {
        Self { traces, ..self }
    }

    /// Flies until `stop` is cancelled and the vehicle is on the ground, or was not observed there in time.
    pub async fn run(self, stop: CancellationToken) -> Ending {
        let span = error_span!("agent", node = %self.config.node);
        live(self, stop).instrument(span).await
    }
}

fn sent(config: &Config) -> Sent {
    #[cfg(feature = "upload")]
    if config.upload.is_some() {
        return Sent::none_yet();
    }
    let _ = config;
    Sent::default()
}

async fn finish(traces: Traces) {
    if traces.are_written() {
        // It takes no more than its time.
        let _ = tokio::task::spawn_blocking(move || traces.finish(LAST_SPANS)).await;
    }
}

async fn live(agent: Agent, terminate: CancellationToken) -> Ending {
    let Agent {
        config,
        signing,
        store,
        state,
        traces,
    } = agent;
    let clock = Clock::start();
    info!(version = model::version::version(), link = %config.link, coordinator = %config.coordinator, "agent started");
    if let Some(held) = &state.fence.held {
        let span = span_of(held);
        span.in_scope(|| info!(desired = %held.desired, "remembering an assignment; nothing is sent before the vehicle's state is known"));
    }
    let (link, handle, events) = Link::open_with(
        config.link.clone(),
        link::Options {
            signing,
            ..link::Options::default()
        },
    );
    let wanted = Wanted::default();
    let sent = sent(&config);
    #[cfg(feature = "upload")]
    let to_upload = config.upload.zip(config.flight_log.folder.clone());
    let logs = LogDesk::open(&config.flight_log, config.node.clone(), wanted.clone(), sent.clone());
    let flight_log = flight_log::start(config.flight_log, config.node.clone(), &handle, sent.clone());
    let guests = config.gcs.beside(&config.link, config.ground_station.is_some());
    let (to_guests, calls) = mpsc::channel(GUEST_CALLS);
    let lease = gcs::lease::Lease::default();
    let remote = gcs::FromCoordinator {
        calls,
        coordinator: config.coordinator.clone(),
        lease: lease.clone(),
    };
    let gcs = gcs::start(guests, handle.clone(), Some(remote));
    let outward = Outward {
        highest_term: state.fence.highest_term,
        ..Outward::default()
    };
    let (reports, outward) = watch::channel(outward);
    let readiness = config
        .ready_file
        .map(|file| tokio::spawn(readiness::keep(file, outward.clone()).in_current_span()));
    let (to_pilot, orders) = mpsc::channel(16);
    let farewell = CancellationToken::new();
    #[cfg(not(feature = "upload"))]
    let uploads = None;
    #[cfg(feature = "upload")]
    let uploads = to_upload.map(|(to, folder)| {
        upload::start(upload::Task {
            config: to,
            node: config.node.clone(),
            folder,
            sent,
            outward: outward.clone(),
            stop: farewell.clone(),
        })
    });
    let uplink = Uplink {
        coordinator: config.coordinator,
        node: config.node.clone(),
        life: rand::random(),
        outward,
        pilot: to_pilot,
        guests: to_guests,
        logs,
        farewell: farewell.clone(),
    };
    let uplink = tokio::spawn(uplink.keep().in_current_span());
    let pilot = Pilot::new(config.node, state, clock.now())
        .as_ground_station(config.ground_station)
        .resting(config.rest)
        .driven_by(config.motor_batteries)
        .bringing_logs(wanted)
        .keeping_descriptions(MetadataCache::in_state(&config.state_dir));
    let landing_timeout = config.landing_timeout;
    let wiring = Wiring {
        link: handle.clone(),
        lease,
        events,
        orders,
        reports,
        terminate,
        landing_timeout,
        clock,
        uploads,
        traces: traces.clone(),
        blocking: Blocking::Thread,
    };
    let ending = Box::pin(fly(pilot, wiring, Arc::new(store), farewell.clone())).await;
    farewell.cancel();
    if timeout(FAREWELL_WITHIN, uplink).await.is_err() {
        warn!("the last report may not have reached the coordinator");
    }
    let (counters, guests, logged) = (handle.counters(), gcs.counters(), flight_log.counters());
    finish(traces).await;
    gcs.close().await;
    link.close().await;
    flight_log.close().await;
    if let Some(readiness) = readiness {
        readiness.abort();
    }
    info!(?ending, link = %counters, %guests, flight_log = %logged, "agent ended");
    ending
}
