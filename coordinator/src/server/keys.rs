//! The coordinator's own keys and certificates in a cluster, and the authorities that it trusts.
//!
//! Owns: keeping them good while the process lives: made, renewed, published, read again. Must not: decide when
//! ([`trust::Authorities`], [`trust::Validity`]).
//!
//! | object | holds | who reads it |
//! |---|---|---|
//! | Secret `skein-ca`, key `authorities.pem` | our authorities with their keys | coordinators; `skein enroll` |
//! | ConfigMap `skein-ca`, key `ca.crt` | authorities to trust for coordinators | agents, tools |
//! | ConfigMap `skein-enrolled` | client certificates that count | coordinators, and what they read last counts while it is away; `skein enroll` writes it |
//! | ConfigMap `kube-system/extension-apiserver-authentication` | the cluster's authorities for clients | coordinators |

mod authorities;
mod cluster;
mod enrolled;
mod published;

use crate::cluster::api::ApiError;
use crate::cluster::retry::RETRY;
use crate::server::security::ClusterSecurity;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use trust::files::FileError;
use trust::server::Clients;
use trust::{Authorities, Bundle, Enrolled, Identity, SERVER_NAME, Server, Validity};

const SERVER_LIFE: Duration = Duration::from_secs(24 * 3600);

/// Between two readings of objects other than the list.
const REREAD: Duration = Duration::from_secs(600);

/// Between two readings of the list of certificates and of the files: the delay of a revocation.
const REREAD_SOON: Duration = Duration::from_secs(10);

/// The keys for admission and the judging of credentials.
#[derive(Clone, Debug)]
pub struct Keys {
    /// The certificate to show, and the trusted authorities.
    pub server: Server,
    pub enrolled: watch::Receiver<Enrolled>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("Secret skein-ca: {0}")]
    Secret(#[from] trust::authorities::AuthoritiesError),
    #[error("ConfigMap skein-enrolled: {0}")]
    List(#[from] trust::enrolled::BadList),
    #[error(transparent)]
    Authority(#[from] trust::AuthorityError),
    #[error(transparent)]
    Config(#[from] trust::server::ConfigError),
}

#[derive(Debug)]
pub struct Keeper {
    client: crate::cluster::client::Client,
    namespace: String,
    security: ClusterSecurity,
    server: Server,
    /// Those read last, which sign while the Secret cannot be read.
    authorities: Authorities,
    list: watch::Sender<Enrolled>,
    /// When our own certificate has to be replaced.
    renewal: Option<Instant>,
    /// The last trouble that was logged, so that each is logged once.
    trouble: Option<String>,
}

/// The first keys; `None` when `ending` comes first.
pub async fn open(
    client: &kube::Client,
    namespace: &str,
    security: &ClusterSecurity,
    ending: &CancellationToken,
) -> Option<(Keys, Keeper)> {
    let mut failures = 0_u32;
    loop {
        match ending.run_until_cancelled(first(client, namespace, security)).await? {
            Ok(opened) => return Some(opened),
            Err(error) => {
                failures = failures.saturating_add(1);
                // Often enough to be noticed, not so often as to hide all else.
                if failures.is_power_of_two() {
                    tracing::warn!(%error, failures, "no certificate to serve with yet; will be tried again");
                }
                let rest = tokio::time::sleep(RETRY.delay(failures, rand::random()));
                ending.run_until_cancelled(rest).await?;
            }
        }
    }
}

async fn first(
    client: &kube::Client,
    namespace: &str,
    security: &ClusterSecurity,
) -> Result<(Keys, Keeper), KeysError> {
    let now = SystemTime::now();
    let snapshot = read(client, namespace, security, now).await?;
    let enrolled = match enrolled::read(client, namespace).await {
        // Agents with tokens must not wait until it is corrected.
        Err(error @ KeysError::List(_)) => {
            tracing::warn!(%error, "no client certificate counts until it is corrected");
            None
        }
        other => other?,
    };
    let enrolled = enrolled.unwrap_or_default();
    let renewal = snapshot.renewal(now);
    let server = Server::new(snapshot.identity, snapshot.clients)?;
    let (list, enrolled) = watch::channel(enrolled);
    let keys = Keys {
        server: server.clone(),
        enrolled,
    };
    let keeper = Keeper {
        client: crate::cluster::client::Client::new(client.clone()),
        namespace: namespace.to_owned(),
        security: security.clone(),
        server,
        authorities: snapshot.authorities,
        list,
        renewal,
        trouble: None,
    };
    Ok((keys, keeper))
}

impl Keeper {
    pub async fn keep(mut self, ending: CancellationToken) {
        let mut next_read = Instant::now() + jittered(REREAD);
        let mut next_list = Instant::now() + REREAD_SOON;
        let keeping = async {
            loop {
                let due = self.renewal.map_or(next_read, |at| at.min(next_read));
                if due <= next_list {
                    sleep_until(due).await;
                    let result = self.reconcile().await;
                    self.log_trouble(result);
                    next_read = Instant::now() + jittered(REREAD);
                    // A failed renewal is not tried again at once.
                    self.renewal = self.renewal.map(|at| at.max(Instant::now() + REREAD_SOON));
                } else {
                    sleep_until(next_list).await;
                    self.renew_if_clock_was_set(SystemTime::now());
                    let result = self.reread_list().await;
                    self.log_trouble(result);
                    next_list = Instant::now() + REREAD_SOON;
                }
            }
        };
        ending.run_until_cancelled(keeping).await;
    }

    async fn reconcile(&mut self) -> Result<(), KeysError> {
        let now = SystemTime::now();
        let shown = self.server.identity();
        let snapshot = read(&self.client, &self.namespace, &self.security, now).await;
        let mut snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.renew_alone(now)?;
                return Err(error);
            }
        };
        self.authorities = snapshot.authorities.clone();
        // A certificate of ours that is valid for long goes on, unless another authority signs now.
        let stays = self.security.tls_dir.is_none()
            && self.renewal.is_some_and(|at| at > Instant::now())
            && snapshot.signed(&shown, now);
        if stays {
            snapshot.identity = shown;
        } else {
            self.renewal = snapshot.renewal(now);
        }
        let another = self.server.show(snapshot.identity)?;
        let others = self.server.believe(snapshot.clients)?;
        if another || others {
            tracing::info!("certificates renewed; open streams go on");
        }
        Ok(())
    }

    /// Renews our certificate also while nobody can be asked: an API server that is away must not keep agents from their coordinator.
    fn renew_alone(&mut self, now: SystemTime) -> Result<(), KeysError> {
        if self.renewal.is_none_or(|at| at > Instant::now()) {
            return Ok(());
        }
        let identity = serving(&self.authorities, &self.namespace, now)?;
        self.renewal = Some(Instant::now() + identity.validity().renewal_in(now));
        self.server.show(identity)?;
        tracing::info!("certificate renewed by the authority that was read last; open streams go on");
        Ok(())
    }

    /// A clock that was set may have made the certificate invalid long before its renewal.
    fn renew_if_clock_was_set(&mut self, now: SystemTime) {
        if self.security.tls_dir.is_none() && !self.server.identity().validity().holds(now) {
            self.renewal = Some(Instant::now());
        }
    }

    async fn reread_list(&mut self) -> Result<(), KeysError> {
        if let Some(folder) = &self.security.tls_dir {
            let read = read_folder(folder).await;
            if self.server.show(read?.0)? {
                tracing::info!(folder = %folder.display(), "another certificate is shown; open streams go on");
                self.reconcile().await?;
            }
        }
        // A list that is gone or damaged by mistake must not end the sessions of airborne vehicles: the last reading counts.
        let Some(list) = enrolled::read(&self.client, &self.namespace).await? else {
            return Ok(());
        };
        self.list.send_if_modified(|now| {
            let new = *now != list;
            if new {
                *now = list;
            }
            new
        });
        Ok(())
    }

    fn log_trouble(&mut self, result: Result<(), KeysError>) {
        let trouble = result.err().map(|error| error.to_string());
        if let Some(error) = &trouble
            && self.trouble != trouble
        {
            tracing::warn!(
                error,
                "keys and certificates stay as they are; they are read again later"
            );
        }
        self.trouble = trouble;
    }
}

fn jittered(span: Duration) -> Duration {
    span + span.mul_f64(rand::random::<f64>() / 10.0)
}

#[derive(Debug)]
struct KeySnapshot {
    identity: Identity,
    clients: Clients,
    authorities: Authorities,
    made_by_us: bool,
}

impl KeySnapshot {
    fn renewal(&self, now: SystemTime) -> Option<Instant> {
        let wait = self.identity.validity().renewal_in(now);
        self.made_by_us.then(|| Instant::now() + wait)
    }

    /// Whether the authority that signs at `now` has signed `shown`.
    fn signed(&self, shown: &Identity, now: SystemTime) -> bool {
        let signer = self.authorities.signer(now);
        signer.has_signed(shown.chain())
    }
}

async fn read(
    client: &kube::Client,
    namespace: &str,
    security: &ClusterSecurity,
    now: SystemTime,
) -> Result<KeySnapshot, KeysError> {
    let authorities = authorities::current(client, namespace, now).await?;
    let (identity, believed) = match &security.tls_dir {
        Some(folder) => {
            let (identity, believed) = read_folder(folder).await?;
            (identity, believed)
        }
        None => {
            let identity = serving(&authorities, namespace, now)?;
            (identity, Some(authorities.bundle(now)))
        }
    };
    if let Some(believed) = &believed {
        published::publish(client, namespace, believed).await?;
    }
    let clients = Clients {
        ours: Some(authorities.bundle(now)),
        cluster: cluster::authorities(client).await?,
        requesters: true,
    };
    Ok(KeySnapshot {
        identity,
        clients,
        authorities,
        made_by_us: security.tls_dir.is_none(),
    })
}

fn serving(authorities: &Authorities, namespace: &str, now: SystemTime) -> Result<Identity, trust::AuthorityError> {
    let life = Validity::of(now, SERVER_LIFE);
    authorities.signer(now).server(&names(namespace), life)
}

/// Names that people may dial, besides the one that our own clients check.
fn names(namespace: &str) -> Vec<String> {
    let service = format!("{SERVER_NAME}.{namespace}");
    vec![
        service.clone(),
        format!("{service}.svc"),
        format!("{service}.svc.cluster.local"),
        "localhost".to_owned(),
    ]
}

/// Reads on another thread; a pair that does not belong together is read again for a while.
async fn read_folder(folder: &Path) -> Result<(Identity, Option<Bundle>), FileError> {
    let path = folder.to_owned();
    let read = tokio::task::spawn_blocking(move || read_blocking(&path)).await;
    read.unwrap_or_else(|died| {
        Err(FileError::Unread {
            path: folder.to_owned(),
            source: std::io::Error::other(died),
        })
    })
}

fn read_blocking(folder: &Path) -> Result<(Identity, Option<Bundle>), FileError> {
    let identity = trust::files::identity(&folder.join("tls.crt"), &folder.join("tls.key"))?;
    let authorities = folder.join("ca.crt");
    let believed = authorities
        .exists()
        .then(|| trust::files::bundle(&authorities))
        .transpose()?;
    Ok((identity, believed))
}

#[cfg(test)]
mod tests;
