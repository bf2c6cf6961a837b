//! Questions about logs, over connections that break.

use crate::failure::Failure;
use crate::route::Route;
use crate::server::Server;
use crate::server::logs::NoLogs;
use model::backoff::Backoff;
use model::ids::NodeName;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use proto::v1::logs_request::Whose;
use std::io::Write;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const RETRY: Backoff = Backoff {
    first: Duration::from_millis(500),
    cap: Duration::from_secs(5),
};

pub trait Source {
    /// Errors: a retry is of no use.
    async fn ask(&mut self, question: Question) -> Result<Answer, Failure>;

    fn node(&self) -> Option<&NodeName> {
        None
    }
}

#[derive(Debug)]
pub struct Remote {
    route: Route,
    whose: Whose,
    node: Option<NodeName>,
    server: Option<Server>,
    patience: Duration,
}

impl Remote {
    /// Connects later. `patience`: for one answer.
    pub fn new(route: Route, whose: Whose, patience: Duration) -> Self {
        let node = match &whose {
            Whose::Node(node) => NodeName::parse(&node.name).ok(),
            Whose::Drone(_) => None,
        };
        Self {
            route,
            whose,
            node,
            server: None,
            patience,
        }
    }

    async fn ask_once(&mut self, question: Question) -> Result<Answer, NoLogs> {
        let mut server = match self.server.take() {
            Some(server) => server,
            None => match Server::connect(&self.route).await {
                Ok(server) => server,
                Err(why @ (Failure::Unreachable { .. } | Failure::NotReady { .. } | Failure::Away(_))) => {
                    return Err(NoLogs::Gone(why));
                }
                Err(why) => return Err(NoLogs::Refused(why)),
            },
        };
        let (answer, node) = server.logs(&self.whose, question).await?;
        self.server = Some(server);
        if self.node.is_none() {
            self.node = NodeName::parse(&node).ok();
        }
        Ok(answer)
    }
}

impl Source for Remote {
    fn node(&self) -> Option<&NodeName> {
        self.node.as_ref()
    }

    async fn ask(&mut self, question: Question) -> Result<Answer, Failure> {
        let begun = Instant::now();
        let (mut failures, mut shown_anew) = (0, false);
        loop {
            let why = match self.ask_once(question.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(NoLogs::Unknown(why)) if !shown_anew => {
                    shown_anew = true;
                    why
                }
                Err(NoLogs::Unknown(why) | NoLogs::Refused(why)) => return Err(why),
                Err(NoLogs::Gone(why)) => why,
            };
            failures += 1;
            let pause = RETRY.delay(failures, rand::random());
            if begun.elapsed() + pause > self.patience {
                return Err(why);
            }
            if failures == 2 {
                writeln!(std::io::stderr(), "skein: {why}; trying again")?;
            }
            sleep(pause).await;
        }
    }
}
