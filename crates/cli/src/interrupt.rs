//! Signals to end: the first ends in order, the second at once.
//!
//!   SIGINT, SIGTERM, SIGHUP -> in order;   SIGINT or SIGTERM again, at least a second later -> at once

use crate::failure::Failure;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A held key, or a shell that passes the signal on, is no second request.
const ONE_REQUEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Interrupt {
    pub in_order: CancellationToken,
    pub at_once: CancellationToken,
    listening: JoinHandle<()>,
}

impl Interrupt {
    /// Catches signals until it is dropped.
    pub fn catch() -> Result<Self, Failure> {
        let of = |kind| signal(kind).map_err(|why| Failure::Failed(format!("cannot wait for signals: {why}")));
        let interrupt = of(SignalKind::interrupt())?;
        let terminate = of(SignalKind::terminate())?;
        let hangup = of(SignalKind::hangup())?;
        let (in_order, at_once) = (CancellationToken::new(), CancellationToken::new());
        let listening = tokio::spawn(listen(
            [interrupt, terminate],
            hangup,
            in_order.clone(),
            at_once.clone(),
        ));
        Ok(Self {
            in_order,
            at_once,
            listening,
        })
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(
    [mut interrupt, mut terminate]: [Signal; 2],
    mut hangup: Signal,
    in_order: CancellationToken,
    at_once: CancellationToken,
) {
    let mut requests = EndRequests::default();
    loop {
        let urgent = tokio::select! {
            _ = interrupt.recv() => true,
            _ = terminate.recv() => true,
            // A terminal that goes away is no reason to hurry.
            _ = hangup.recv() => false,
        };
        match requests.take(urgent, Instant::now()) {
            Some(EndRequest::InOrder) => in_order.cancel(),
            Some(EndRequest::AtOnce) => at_once.cancel(),
            None => {}
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndRequest {
    InOrder,
    AtOnce,
}

#[derive(Default)]
struct EndRequests {
    first: Option<Instant>,
}

impl EndRequests {
    fn take(&mut self, urgent: bool, now: Instant) -> Option<EndRequest> {
        match self.first {
            None => {
                self.first = Some(now);
                Some(EndRequest::InOrder)
            }
            Some(first) if urgent && now.duration_since(first) >= ONE_REQUEST => Some(EndRequest::AtOnce),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_ctrl_c_hurries_and_a_key_held_down_or_a_lost_terminal_does_not() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut requests = EndRequests::default();
        assert_eq!(requests.take(true, after(0)), Some(EndRequest::InOrder));
        assert_eq!(requests.take(true, after(30)), None);
        assert_eq!(requests.take(false, after(5000)), None);
        assert_eq!(requests.take(true, after(5000)), Some(EndRequest::AtOnce));
    }

    #[test]
    fn a_lost_terminal_is_a_request_to_end_in_order() {
        assert_eq!(
            EndRequests::default().take(false, Instant::now()),
            Some(EndRequest::InOrder)
        );
    }
}
