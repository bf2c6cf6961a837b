//! Several agents in one process, as a ground station has them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use agent::{Agent, Config, Coordinator, Ending};
use model::ids::NodeName;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_secs(20);

fn lonely(node: &str, folder: &Path) -> Config {
    let name = NodeName::parse(node).unwrap();
    let link = format!("serial:/dev/no-such-autopilot-{node}:57600").parse().unwrap();
    Config::new(
        name,
        link,
        Coordinator::plain("http://127.0.0.1:9").unwrap(),
        folder.join(node),
    )
}

#[tokio::test]
async fn agents_in_one_process_end_by_themselves_when_they_are_asked_to() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (CancellationToken::new(), CancellationToken::new());
    let open = |node: &str| Agent::open(lonely(node, folder.path())).unwrap();
    let pine = tokio::spawn(open("pine").run(first.clone()));
    let oak = tokio::spawn(open("oak").run(second.clone()));
    first.cancel();
    let ending = timeout(DEADLINE, pine).await.unwrap().unwrap();
    assert_eq!(ending, Ending::Landed, "there is no vehicle to bring down");
    assert!(!oak.is_finished(), "the other one goes on");
    second.cancel();
    assert_eq!(timeout(DEADLINE, oak).await.unwrap().unwrap(), Ending::Landed);
    open("pine");
}

#[tokio::test]
async fn two_agents_never_share_what_they_remember() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Agent::open(lonely("pine", folder.path())).unwrap();
    let second = Agent::open(lonely("pine", folder.path())).unwrap_err().to_string();
    assert!(second.contains("another skein-agent is using"), "{second}");
}
