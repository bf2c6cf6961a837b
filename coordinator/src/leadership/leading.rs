//! The leadership that this coordinator has, for all that act under it.

use crate::cluster::world::World;
use crate::leadership::deposition::Deposition;
use crate::leadership::state::LeadershipState;
use model::ids::Term;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Agents come back to a new coordinator within this time: their back-off is capped at 5 s.
const GRACE: Duration = Duration::from_secs(10);

/// A leadership that was taken. A copy is the same.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub term: Term,
    /// Whether we may act just now.
    pub state: Arc<LeadershipState>,
    pub ending: CancellationToken,
    /// What agents report of higher terms.
    pub deposition: Arc<Deposition>,
    /// Since when agents can connect: the caches are filled.
    since: Instant,
}

impl Leadership {
    /// It begins now, with `term`, which was `raised` on the report of agents just before, or not. `secured` is whether agents are
    /// authenticated.
    pub fn new(
        (term, raised): (Term, bool),
        state: Arc<LeadershipState>,
        ending: CancellationToken,
        secured: bool,
        world: Arc<World>,
    ) -> Self {
        let since = Instant::now();
        Self {
            term,
            state,
            ending,
            deposition: Arc::new(Deposition::new((term, raised), since, secured, world)),
            since,
        }
    }

    /// While agents find their way to a coordinator that has just started, their silence is no news; how long that still
    /// holds.
    pub fn grace_left(&self) -> Option<Duration> {
        GRACE.checked_sub(self.since.elapsed()).filter(|left| !left.is_zero())
    }
}
