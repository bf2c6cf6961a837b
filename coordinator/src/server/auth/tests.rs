//! Which credentials count for which calls, without a cluster.

mod by_request;
mod neighbors;
pub(crate) mod scripted;
mod while_away;

use super::*;
use tokio::time::timeout;
use trust::{Authority, Identity, Validity};

const DAY: Duration = Duration::from_secs(86_400);

struct Field {
    auth: Auth,
    list: watch::Sender<Enrolled>,
    authority: Authority,
}

fn field() -> Field {
    let (list, enrolled) = watch::channel(Enrolled::default());
    let judge = Inner {
        kind: Kind::Certificates(enrolled),
        session_life: Some(DAY),
        refusals: Arc::default(),
    };
    Field {
        auth: Auth(Arc::new(judge)),
        list,
        authority: Authority::make(Validity::any_time()).unwrap(),
    }
}

impl Field {
    fn enrol(&self, peer: &Peer) -> Caller {
        let now = SystemTime::now();
        let mut made: Option<Identity> = None;
        self.list.send_modify(|list| {
            made = list.issue(&self.authority, peer, Validity::of(now, DAY), now).ok();
        });
        Caller::Peer(PeerCertificate::read(&made.unwrap().chain()[0]).unwrap())
    }
}

fn agent(node: &str) -> Peer {
    Peer::agent(NodeName::parse(node).unwrap())
}

const PEOPLE: CallKind = CallKind::People { safe: true };

#[tokio::test(start_paused = true)]
async fn each_kind_of_call_has_its_own_credentials_and_none_is_admitted_without() {
    let field = field();
    let (node, person) = (field.enrol(&agent("a")), field.enrol(&Peer::operator("ada").unwrap()));
    let who = async |kind, caller: Option<&Caller>| field.auth.authenticate(kind, None, caller).await;
    assert_eq!(who(CallKind::Uplink, Some(&node)).await.unwrap().name(), "agent a");
    assert_eq!(who(PEOPLE, Some(&person)).await.unwrap().name(), "operator ada");
    assert!(matches!(
        who(CallKind::Uplink, Some(&person)).await,
        Err(Refusal::NoAgent(_))
    ));
    assert!(matches!(
        who(CallKind::Uplink, None).await,
        Err(Refusal::NoAgentCredentials)
    ));
    assert!(matches!(who(PEOPLE, None).await, Err(Refusal::NoCredentials)));
    let token = field.auth.authenticate(PEOPLE, Some("token"), None).await;
    assert!(matches!(token, Err(Refusal::TokensMeanNothing)));
    let user = Caller::KubernetesUser {
        name: "skein://agent/a".to_owned(),
        groups: vec![],
        validity: Validity::any_time(),
    };
    assert!(matches!(
        who(CallKind::Uplink, Some(&user)).await,
        Err(Refusal::NoAgent(_))
    ));
    assert!(who(PEOPLE, Some(&user)).await.is_err(), "there is no cluster");
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_do_nothing_that_is_for_people_and_an_operator_may_do_all() {
    let field = field();
    let right = Right::to_order_all(crate::server::auth::right::GROUND, None);
    let node = field.enrol(&agent("a"));
    let node = field.auth.authenticate(PEOPLE, None, Some(&node)).await.unwrap();
    assert!(matches!(
        field.auth.may(&node, &right).await,
        Err(Refusal::AgentIsNoPerson(_))
    ));
    let person = Who::Operator { name: "ada".to_owned() };
    assert!(field.auth.may(&person, &right).await.is_ok());
    // A caller that another judge has admitted is unknown to this one.
    assert!(field.auth.may(&Who::Unauthenticated, &right).await.is_err());
    assert!(Auth::open().may(&Who::Unauthenticated, &right).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_has_ended_since_the_connection_began_counts_no_more() {
    let field = field();
    let (now, peer) = (SystemTime::now(), agent("a"));
    let mut list = Enrolled::default();
    let ended = Validity::of(now - 2 * DAY, DAY);
    let made = list.issue(&field.authority, &peer, ended, now - 2 * DAY).unwrap();
    field.list.send_replace(list);
    let caller = Caller::Peer(PeerCertificate::read(&made.chain()[0]).unwrap());
    for kind in [CallKind::Uplink, PEOPLE] {
        let refused = field.auth.authenticate(kind, None, Some(&caller)).await;
        assert!(matches!(refused, Err(Refusal::Ended)), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_is_over_when_its_certificate_is_revoked_or_its_time_has_come() {
    let field = field();
    let caller = field.enrol(&agent("a"));
    let who = field
        .auth
        .authenticate(CallKind::Uplink, None, Some(&caller))
        .await
        .unwrap();
    assert!(
        timeout(DAY - Duration::from_secs(1), field.auth.is_over(&who, 0.0))
            .await
            .is_err()
    );
    assert_eq!(field.auth.is_over(&who, 1.0).await, Over::Aged);
    field.enrol(&agent("b"));
    assert!(timeout(DAY / 2, field.auth.is_over(&who, 0.0)).await.is_err());
    field.list.send_modify(|list| {
        list.revoke(&agent("a"));
    });
    let over = timeout(Duration::from_secs(1), field.auth.is_over(&who, 0.0)).await;
    assert_eq!(over.unwrap(), Over::Revoked);
    assert!(matches!(
        field.auth.authenticate(CallKind::Uplink, None, Some(&caller)).await,
        Err(Refusal::NotEnrolled(_))
    ));
}
