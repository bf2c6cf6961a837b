//! One link to one autopilot, kept open for ever.

use crate::counters::Counters;
use crate::events::{Events, queue};
use crate::handle::{LinkHandle, Shared};
use crate::opener::UrlOpener;
use crate::signing::Signing;
use crate::signing::stamps::StampFile;
use crate::supervisor::Supervisor;
use crate::tap::Taps;
use crate::transport::Opener;
use crate::url::LinkUrl;
use std::future::pending;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{Instrument, debug, warn};

/// Half of what the protocol asks for, so that one late write does no harm.
const KEEP_STAMPS_EVERY: Duration = Duration::from_secs(30);

/// Task that keeps a link open; dropping it closes the link.
#[derive(Debug)]
pub struct Link {
    task: JoinHandle<()>,
    stop: DropGuard,
}

#[derive(Debug)]
pub struct Options {
    /// Signs what is sent and refuses what is not signed with the same key; guests' frames pass unchanged.
    pub signing: Option<Signing>,
    pub devices: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            signing: None,
            devices: PathBuf::from("/dev"),
        }
    }
}

impl Link {
    /// Needs a tokio runtime.
    #[must_use]
    pub fn open(url: LinkUrl) -> (Self, LinkHandle, Events) {
        Self::open_with(url, Options::default())
    }

    #[must_use]
    pub fn open_with(url: LinkUrl, options: Options) -> (Self, LinkHandle, Events) {
        let counters = Arc::new(Counters::default());
        let name = url.to_string();
        let opener = UrlOpener::new(url, options.devices, Arc::clone(&counters));
        Self::start(opener, name, counters, options.signing)
    }

    #[must_use]
    pub fn over(opener: impl Opener, name: &str) -> (Self, LinkHandle, Events) {
        Self::over_with(opener, name, None)
    }

    #[must_use]
    pub fn over_with(opener: impl Opener, name: &str, signing: Option<Signing>) -> (Self, LinkHandle, Events) {
        Self::start(opener, name.to_owned(), Arc::new(Counters::default()), signing)
    }

    fn start(
        opener: impl Opener,
        name: String,
        counters: Arc<Counters>,
        signing: Option<Signing>,
    ) -> (Self, LinkHandle, Events) {
        let file = signing.as_ref().map(|signing| signing.file.clone());
        let (tx, events) = queue(Arc::clone(&counters));
        let shared = Arc::new(Shared {
            writer: Mutex::new(None),
            stuck: Notify::new(),
            up: AtomicBool::new(false),
            sequence: AtomicU8::new(0),
            counters,
            taps: Taps::default(),
            senders: std::sync::Mutex::default(),
            signer: signing.map(|signing| std::sync::Mutex::new(signing.signer)),
        });
        let stop = CancellationToken::new();
        let supervisor = Supervisor::new(opener, name, Arc::clone(&shared), tx);
        let token = stop.clone();
        let closed = Arc::clone(&shared);
        let keep = async move {
            tokio::select! {
                () = supervisor.run() => {}
                () = keep_stamps(&closed, file) => {}
                () = token.cancelled() => {}
            }
            // Remaining handles must not hold the device open.
            closed.set_down().await;
            closed.taps.close();
        };
        let task = tokio::spawn(keep.in_current_span());
        (
            Self {
                task,
                stop: stop.drop_guard(),
            },
            LinkHandle(shared),
            events,
        )
    }

    pub async fn close(self) {
        drop(self.stop);
        if let Err(error) = self.task.await {
            debug!(%error, "link task ended oddly");
        }
    }
}

async fn keep_stamps(shared: &Shared, file: Option<StampFile>) {
    let (Some(signer), Some(file)) = (&shared.signer, file) else {
        return pending().await;
    };
    loop {
        sleep(KEEP_STAMPS_EVERY).await;
        let last = signer.lock().unwrap_or_else(PoisonError::into_inner).last();
        let file = file.clone();
        // The disk may be slow; the line must not wait for it.
        match spawn_blocking(move || file.write(last)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "signed frames may be refused after a restart"),
            Err(error) => debug!(%error, "the task that writes the signing time stamp ended oddly"),
        }
    }
}
