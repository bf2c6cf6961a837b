//! The leadership that this coordinator has, for all that act under it.

use crate::cluster::world::World;
use crate::leadership::deposition::Deposition;
use crate::leadership::periodic::Loops;
use crate::leadership::state::LeadershipState;
use crate::metrics::Metrics;
use model::ids::Term;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Agents come back to a new coordinator within this time: their back-off is capped at 5 s.
const AGENT_RETURN_GRACE: Duration = Duration::from_secs(10);

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub term: Term,
    pub state: Arc<LeadershipState>,
    pub ending: CancellationToken,
    pub deposition: Arc<Deposition>,
    pub loops: Loops,
    /// When agents could connect: the caches are filled.
    since: Instant,
}

impl Leadership {
    /// `raised`: the `term` was raised on the report of agents just before. `secured`: agents are authenticated.
    pub fn new(
        (term, raised): (Term, bool),
        state: Arc<LeadershipState>,
        (ending, metrics): (CancellationToken, Metrics),
        secured: bool,
        world: Arc<World>,
    ) -> Self {
        let since = Instant::now();
        Self {
            term,
            loops: Loops::new(Arc::clone(&state), metrics, ending.clone()),
            state,
            ending,
            deposition: Arc::new(Deposition::new((term, raised), since, secured, world)),
            since,
        }
    }

    /// How long agents could connect to this leader, by its own clock.
    pub fn led_for(&self) -> Duration {
        self.since.elapsed()
    }

    /// How much longer the silence of agents is no news, while they find their way to a coordinator that has just started.
    pub fn grace_left(&self) -> Option<Duration> {
        AGENT_RETURN_GRACE
            .checked_sub(self.since.elapsed())
            .filter(|left| !left.is_zero())
    }
}
