//! The right of a person to a stream, for as long as it lasts.

use super::{Auth, CallKind, Refusal, Right, Who};
use crate::server::admission::Ticket;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tonic::Status;

/// Credentials are shown again after this.
const CREDENTIALS_SHOWN_EVERY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct StreamRight {
    pub who: Who,
    pub right: Right,
    pub auth: Auth,
    pub ticket: Option<Ticket>,
    /// The right is checked again after this, by answers no older.
    pub recheck: Duration,
}

impl StreamRight {
    /// Done, with the reason, once they may go on no longer.
    pub async fn is_over(&self) -> Status {
        if self.auth.is_open() {
            std::future::pending::<()>().await;
        }
        let until = Instant::now() + CREDENTIALS_SHOWN_EVERY;
        loop {
            sleep(self.recheck).await;
            match self.ask().await {
                Err(refusal) if refusal.is_final() => return refusal.into(),
                // An API server that is away changes nothing for open streams.
                _ if Instant::now() < until => {}
                _ => return Status::unavailable("credentials have to be shown again; reconnect"),
            }
        }
    }

    async fn ask(&self) -> Result<(), Refusal> {
        // The API server knows nothing of a certificate of ours.
        if let (Who::Operator { .. }, Some(ticket)) = (&self.who, &self.ticket) {
            self.auth
                .authenticate(CallKind::People { safe: false }, None, ticket.caller())
                .await?;
        }
        self.auth.may_since(&self.who, &self.right, self.recheck).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::auth::tests::scripted::Scripted;
    use crate::server::security::Security;
    use std::sync::Arc;
    use std::time::SystemTime;
    use tokio::sync::watch;
    use tokio::time::timeout;
    use tonic::Code;
    use trust::server::Clients;
    use trust::{Authority, Caller, Enrolled, Peer, PeerCertificate, Server, Validity};

    #[tokio::test(start_paused = true)]
    async fn an_operator_whose_certificate_is_revoked_watches_no_longer() {
        let now = SystemTime::now();
        let authority = Authority::make(Validity::any_time()).unwrap();
        let (ada, mut list) = (Peer::operator("ada").unwrap(), Enrolled::default());
        let made = list.issue(&authority, &ada, Validity::any_time(), now).unwrap();
        let (list, enrolled) = watch::channel(list);
        let clients = Clients {
            ours: None,
            cluster: None,
            requesters: false,
        };
        let identity = authority.server(&[], Validity::any_time()).unwrap();
        let security = Security::Certificates {
            server: Server::new(identity, clients).unwrap(),
            enrolled: enrolled.clone(),
        };
        let certificate = PeerCertificate::read(&made.chain()[0]).unwrap();
        let recheck = Duration::from_secs(60);
        let watcher = StreamRight {
            who: Who::Operator { name: "ada".to_owned() },
            right: Right::to_see(""),
            auth: Auth::new(&security, &Scripted::new().client(), enrolled, Arc::default()),
            ticket: Some(Ticket::of("127.0.0.1:7", Some(Caller::Peer(certificate)))),
            recheck,
        };
        let mut over = std::pin::pin!(watcher.is_over());
        assert!(timeout(recheck * 2, over.as_mut()).await.is_err());
        list.send_modify(|list| {
            list.revoke(&ada);
        });
        let ended = timeout(recheck * 2, over).await.expect("it goes on watching");
        assert_eq!(ended.code(), Code::Unauthenticated);
    }
}
