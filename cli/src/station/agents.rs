//! The agents in this process.
//!
//! Owns: one task per agent, on threads that nothing else uses: whatever API and coordinator are busy with, an agent has to
//! hear its autopilot. Starting an agent again that has died of a fault, and telling how each has ended.
//! Must not: decide anything about flight. Dropping this is losing the agents: their vehicles go on by themselves.

use crate::failure::Failure;
use agent::{Agent, Config, Ending};
use fleet::backoff::Backoff;
use fleet::ids::NodeName;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::error;

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    cap: Duration::from_secs(10),
};

/// Agents that are kept running.
#[derive(Debug)]
pub struct Agents {
    tasks: JoinSet<(NodeName, Ending)>,
    nodes: Vec<NodeName>,
    stop: CancellationToken,
    /// Taken when this is dropped.
    threads: Option<Runtime>,
}

impl Drop for Agents {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // Without waiting for the disk or a name server: this may be called where nothing may block.
            threads.shutdown_background();
        }
    }
}

impl Agents {
    /// Starts those that are given, each with the configuration it was opened with.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(agents: Vec<(Config, Agent)>) -> Result<Self, Failure> {
        let threads = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("agents")
            .enable_all()
            .build()
            .map_err(|why| Failure::Failed(format!("cannot start a thread for the agents: {why}")))?;
        let mut started = Self {
            tasks: JoinSet::new(),
            nodes: agents.iter().map(|(config, _)| config.node.clone()).collect(),
            stop: CancellationToken::new(),
            threads: None,
        };
        for (config, agent) in agents {
            let life = keep(config, agent, started.stop.clone());
            started.tasks.spawn_on(life, threads.handle());
        }
        started.threads = Some(threads);
        Ok(started)
    }

    /// Their nodes, in the order in which they were given.
    #[must_use]
    pub fn nodes(&self) -> &[NodeName] {
        &self.nodes
    }

    /// Asks all of them to end: each brings its vehicle down first.
    pub fn land(&self) {
        self.stop.cancel();
    }

    /// The next one that has ended, once they were asked to; `None` when none is left. Safe to cancel.
    pub async fn next_ended(&mut self) -> Option<(NodeName, Ending)> {
        loop {
            match self.tasks.join_next().await? {
                Ok(ended) => return Some(ended),
                // What dies in an agent is caught in `keep`; this is said so that nothing is missed in silence.
                Err(fault) => error!(%fault, "an agent was lost"),
            }
        }
    }
}

/// Lives again and again until asked to end.
async fn keep(config: Config, first: Agent, stop: CancellationToken) -> (NodeName, Ending) {
    let node = config.node.clone();
    let (mut agent, mut failures) = (Some(first), 0);
    loop {
        if let Some(agent) = agent.take() {
            // Boxed: an agent's future is large.
            match tokio::spawn(Box::pin(agent.run(stop.clone()))).await {
                Ok(ending) if stop.is_cancelled() => return (node, ending),
                Ok(_) => error!(%node, "the agent has ended by a fault of its own; it is started again"),
                Err(fault) => error!(%node, %fault, "the agent has died, which is a fault; it is started again"),
            }
        }
        failures += 1;
        // Also when asked to end: whoever brings the vehicle down has to live.
        sleep(RETRY.delay(failures, 0.5)).await;
        let config = config.clone();
        match tokio::task::spawn_blocking(move || Agent::open(config)).await {
            Ok(Ok(opened)) => agent = Some(opened),
            Ok(Err(error)) => error!(%node, %error, "the agent cannot start; will be tried again"),
            Err(fault) => error!(%node, %fault, "the agent cannot start; will be tried again"),
        }
    }
}
