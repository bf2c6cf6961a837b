//! Agents' reports that a higher term was led.

use crate::cluster::world::World;
use fleet::planning::deposition::TermReports;
use model::ids::{NodeName, Term};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time for others to report a higher term before we give in to a few: whether most do decides whether the Lease is an old one.
const OTHERS_REPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// A term higher than ours that agents have received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Higher {
    pub term: Term,
    /// Whether most of the fleet reports one.
    pub most: bool,
}

#[derive(Debug)]
pub struct Deposition {
    term: Term,
    /// Whether our term was raised on the report of agents just before.
    raised: bool,
    since: Instant,
    secured: bool,
    world: Arc<World>,
    higher: watch::Sender<Option<Term>>,
    term_reports: Mutex<TermReports>,
}

impl Deposition {
    /// `raised`: our `term` was raised on the report of agents just before. `secured`: agents are authenticated.
    pub fn new((term, raised): (Term, bool), since: Instant, secured: bool, world: Arc<World>) -> Self {
        Self {
            term,
            raised,
            since,
            secured,
            world,
            higher: watch::Sender::new(None),
            term_reports: Mutex::default(),
        }
    }

    /// The agent of `node` has received term `reported`. If it is higher than ours and can be led, we lead no more. Where links are not
    /// secured, agents cannot be distinguished, and the first report counts.
    pub fn note_reported_term(&self, node: &NodeName, reported: Term) {
        if reported <= self.term || !reported.can_be() {
            return;
        }
        let leading = self.since.elapsed();
        let nodes = if self.secured { self.world.drone_nodes() } else { 1 };
        let mut term_reports = self.term_reports.lock().unwrap_or_else(PoisonError::into_inner);
        term_reports.add(node, reported);
        match term_reports.believed(self.term, nodes, leading, self.raised && self.secured) {
            Some(higher) if higher > self.term => {
                self.higher.send_replace(Some(higher));
            }
            _ => {
                tracing::debug!(%node, seen = %reported, ours = %self.term, "an agent says that a higher term was led; it is not believed yet")
            }
        }
    }

    /// Done, with the higher term, once this coordinator is deposed.
    pub async fn deposed(&self) -> Higher {
        let mut higher = self.higher.subscribe();
        // Fails only if the sender is gone, which `self` owns.
        let heard = higher.wait_for(Option::is_some).await.ok().and_then(|term| *term);
        if heard.is_none() {
            std::future::pending::<()>().await;
        }
        let most = || {
            let term_reports = self.term_reports.lock().unwrap_or_else(PoisonError::into_inner);
            term_reports.are_most(self.world.drone_nodes())
        };
        if !most() {
            tokio::time::sleep(OTHERS_REPORT_TIMEOUT).await;
        }
        let newest = *higher.borrow();
        Higher {
            term: newest.or(heard).unwrap_or_default(),
            most: most(),
        }
    }
}
