//! The agents in this process, one task each, on threads of their own, so that a busy API or coordinator holds up none.
//! An agent that died of a fault is restarted; a lost one counts as not landed. Must not: decide anything about flight.
//! Dropping this loses the agents: their vehicles go on by themselves.

use crate::failure::Failure;
use agent::{Agent, Config, Ending};
use model::backoff::Backoff;
use model::ids::NodeName;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{Id, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::error;

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    cap: Duration::from_secs(10),
};

#[derive(Debug)]
pub struct Agents {
    tasks: JoinSet<Ending>,
    lives: Vec<(Id, NodeName)>,
    stop: CancellationToken,
    threads: Option<Runtime>,
}

impl Drop for Agents {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            // Without waiting for the disk or a name server: drop may run where nothing may block.
            threads.shutdown_background();
        }
    }
}

impl Agents {
    /// When `end_requested` is cancelled each agent lands its vehicle and ends, however busy this program is.
    pub fn start(agents: Vec<(Config, Agent)>, end_requested: &CancellationToken) -> Result<Self, Failure> {
        let stop = end_requested.child_token();
        let lives = agents.into_iter().map(|(config, agent)| {
            let node = config.node.clone();
            (node, keep(config, agent, stop.clone()))
        });
        Self::running(lives, stop.clone())
    }

    fn running<L>(lives: impl Iterator<Item = (NodeName, L)>, stop: CancellationToken) -> Result<Self, Failure>
    where
        L: Future<Output = Ending> + Send + 'static,
    {
        let threads = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("agents")
            .enable_all()
            .build()
            .map_err(|why| Failure::Failed(format!("cannot start a thread for the agents: {why}")))?;
        let mut started = Self {
            tasks: JoinSet::new(),
            lives: Vec::new(),
            stop,
            threads: None,
        };
        for (node, life) in lives {
            let task = started.tasks.spawn_on(life, threads.handle());
            started.lives.push((task.id(), node));
        }
        started.threads = Some(threads);
        Ok(started)
    }

    pub fn nodes(&self) -> Vec<NodeName> {
        self.lives.iter().map(|(_, node)| node.clone()).collect()
    }

    /// Asks all to land their vehicles and end.
    pub fn land(&self) {
        self.stop.cancel();
    }

    /// `None` when none is left. Call [`Self::land`] first. Safe to cancel.
    pub async fn next_ended(&mut self) -> Option<(NodeName, Ending)> {
        loop {
            let (task, ending) = match self.tasks.join_next_with_id().await? {
                Ok((task, ending)) => (task, ending),
                // `keep` catches faults in an agent; this one has another cause, and its vehicle must not be forgotten.
                Err(fault) => {
                    error!(%fault, "an agent was lost");
                    (fault.id(), Ending::NotLanded)
                }
            };
            if let Some((_, node)) = self.lives.iter().find(|(life, _)| *life == task) {
                return Some((node.clone(), ending));
            }
        }
    }
}

async fn keep(config: Config, first: Agent, stop: CancellationToken) -> Ending {
    let node = config.node.clone();
    let (mut agent, mut failures) = (Some(first), 0);
    loop {
        if let Some(agent) = agent.take() {
            match tokio::spawn(Box::pin(agent.run(stop.clone()))).await {
                Ok(ending) if stop.is_cancelled() => return ending,
                Ok(_) => error!(%node, "the agent has ended by a fault of its own; it is started again"),
                Err(fault) => error!(%node, %fault, "the agent has died, which is a fault; it is started again"),
            }
        }
        failures += 1;
        // Also when asked to end: an agent has to land the vehicle.
        sleep(RETRY.delay(failures, 0.5)).await;
        let config = config.clone();
        match tokio::task::spawn_blocking(move || Agent::open(config)).await {
            Ok(Ok(opened)) => agent = Some(opened),
            Ok(Err(error)) => error!(%node, %error, "the agent cannot start; will be tried again"),
            Err(fault) => error!(%node, %fault, "the agent cannot start; will be tried again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    #[tokio::test]
    async fn an_agent_that_was_lost_has_not_brought_its_vehicle_down() {
        let of = |name: &str| NodeName::parse(name).unwrap();
        let lives = ["alpha", "bravo"].map(|name| {
            let life = async move {
                assert_eq!(name, "alpha", "a fault");
                Ending::Landed
            };
            (of(name), life)
        });
        let mut agents = Agents::running(lives.into_iter(), CancellationToken::new()).unwrap();
        assert_eq!(agents.nodes(), [of("alpha"), of("bravo")]);
        let mut ended = Vec::new();
        let all = async {
            while let Some((node, ending)) = agents.next_ended().await {
                ended.push((node.to_string(), ending));
            }
        };
        timeout(Duration::from_secs(20), all).await.unwrap();
        ended.sort_by(|a, b| a.0.cmp(&b.0));
        let wanted = [
            ("alpha".to_owned(), Ending::Landed),
            ("bravo".to_owned(), Ending::NotLanded),
        ];
        assert_eq!(ended, wanted);
    }
}
