//! Security of a station's links by its own authority, with certificates for its agents and its operator that live as
//! long as this process, beside those of `skein enroll`.

use crate::enroll::station::Keys;
use crate::failure::Failure;
use agent::Credentials;
use coordinator::Security;
use model::ids::NodeName;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::sleep;
use trust::server::Clients;
use trust::{Bundle, Enrolled, Identity, Peer, Validity, client_config};

/// A revoked certificate is refused within this time.
const READ_INTERVAL: Duration = Duration::from_secs(2);

/// Operator whose name the system does not tell.
const SOMEBODY: &str = "local";

#[derive(Debug)]
pub struct Guard {
    keys: Arc<Keys>,
    own: Enrolled,
    agents: BTreeMap<NodeName, Credentials>,
    operator: Identity,
    server: trust::Server,
    list: watch::Sender<Enrolled>,
}

impl Guard {
    /// Makes certificates for the agents of `nodes` and for the operator. Errors: unusable keys, with advice.
    pub fn open(folder: &Path, nodes: impl Iterator<Item = NodeName>) -> Result<Self, Failure> {
        let fault = |why: &dyn std::error::Error| Failure::Failed(why.to_string());
        let keys = Keys::open(folder)?;
        let now = SystemTime::now();
        let signer = keys.authorities().signer(now);
        let bundle = keys.bundle();
        let mut own = Enrolled::default();
        let mut issue = |peer: &Peer| {
            own.issue(signer, peer, Validity::any_time(), now)
                .map_err(|why| fault(&why))
        };
        let agents = nodes.map(|node| {
            let identity = issue(&Peer::agent(node.clone()))?;
            let tls = client_config(&bundle, Some(&identity)).map_err(|why| fault(&why))?;
            let credentials = Credentials {
                tls: Arc::new(tls),
                bearer: proto::bearer::Bearer::default(),
            };
            Ok((node, credentials))
        });
        let agents = agents.collect::<Result<_, Failure>>()?;
        let operator = issue(&person())?;
        let server = signer.server(&[], Validity::any_time()).map_err(|why| fault(&why))?;
        let clients = Clients {
            ours: Some(bundle),
            cluster: None,
            requesters: false,
        };
        let server = trust::Server::new(server, clients).map_err(|why| fault(&why))?;
        // Vehicles reached from here must not wait until it is corrected.
        let stored = keys.list().unwrap_or_else(|why| {
            tracing::error!(%why, "no certificate of `skein enroll` counts until this is corrected");
            Enrolled::default()
        });
        let list = watch::Sender::new(together(&stored, &own));
        Ok(Self {
            keys: Arc::new(keys),
            own,
            agents,
            operator,
            server,
            list,
        })
    }

    pub fn security(&self) -> Security {
        Security::Certificates {
            server: self.server.clone(),
            enrolled: self.list.subscribe(),
        }
    }

    /// `None` for a node of another process.
    pub fn agent(&self, node: &NodeName) -> Option<Credentials> {
        self.agents.get(node).cloned()
    }

    pub const fn operator(&self) -> &Identity {
        &self.operator
    }

    pub fn bundle(&self) -> Bundle {
        self.keys.bundle()
    }

    pub async fn keep(&self) {
        let mut last_error = String::new();
        loop {
            sleep(READ_INTERVAL).await;
            let keys = Arc::clone(&self.keys);
            let read = tokio::task::spawn_blocking(move || keys.list()).await;
            match read.map_err(|fault| Failure::Failed(fault.to_string())).flatten() {
                Ok(stored) => {
                    last_error.clear();
                    let now = together(&stored, &self.own);
                    self.list.send_if_modified(|list| {
                        let changed = *list != now;
                        *list = now;
                        changed
                    });
                }
                // The last list stays valid: a faulty disk cuts off no flying vehicle.
                Err(why) => {
                    let why = why.to_string();
                    if why != last_error {
                        tracing::error!(why, "the list of certificates cannot be read; the last one counts");
                        last_error = why;
                    }
                }
            }
        }
    }
}

fn person() -> Peer {
    let name = std::env::var("USER").unwrap_or_default();
    let named = Peer::operator(&name).or_else(|_| Peer::operator(SOMEBODY));
    named.expect("the name is made of letters")
}

fn together(stored: &Enrolled, own: &Enrolled) -> Enrolled {
    let mut all = stored.to_map();
    for (holder, lines) in own.to_map() {
        all.entry(holder).or_default().push_str(&lines);
    }
    // Cannot fail: both halves were valid lists.
    Enrolled::from_map(&all).unwrap_or_else(|_| own.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;
    use trust::PeerCertificate;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn shown(identity: &Identity) -> PeerCertificate {
        PeerCertificate::read(&identity.chain()[0]).unwrap()
    }

    #[tokio::test]
    async fn who_is_enrolled_or_revoked_while_a_station_runs_is_known_to_it_soon() {
        let folder = tempfile::tempdir().unwrap();
        let guard = Guard::open(folder.path(), [node("alpha")].into_iter()).unwrap();
        assert!(guard.agent(&node("alpha")).is_some() && guard.agent(&node("bravo")).is_none());
        let Security::Certificates { mut enrolled, .. } = guard.security() else {
            panic!("it is not secured")
        };
        let operator = shown(guard.operator());
        assert!(enrolled.borrow_and_update().admits(&operator));
        let elsewhere = Keys::open(folder.path()).unwrap();
        let bravo = Peer::agent(node("bravo"));
        let signed = elsewhere
            .issue(&bravo, Validity::any_time(), SystemTime::now())
            .unwrap();
        let bravos = shown(&signed.identity);
        let watch_list = async {
            enrolled.wait_for(|list| list.admits(&bravos)).await.unwrap();
            elsewhere.revoke(&bravo).unwrap();
            enrolled.wait_for(|list| !list.admits(&bravos)).await.unwrap();
            assert!(enrolled.borrow().admits(&operator), "its own count as before");
        };
        tokio::select! {
            () = guard.keep() => {}
            done = timeout(Duration::from_secs(30), watch_list) => done.unwrap(),
        }
    }

    #[test]
    fn a_station_whose_list_is_damaged_starts_for_the_vehicles_that_it_reaches_itself() {
        let folder = tempfile::tempdir().unwrap();
        Keys::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("enrolled.json"), "{").unwrap();
        let guard = Guard::open(folder.path(), [node("alpha")].into_iter()).unwrap();
        assert!(guard.agent(&node("alpha")).is_some());
    }
}
