//! The next authority: created in time, and signing when all have had time to receive it, while streams stay open.

use crate::kept::{DAY, authorities, both, bundle, coming, ending, one, secret, write_list, write_secret};
use crate::place::{Coordinator, alone, plane, until};
use futures::StreamExt;
use model::ids::NodeName;
use proto::v1;
use proto::v1::uplink_client::UplinkClient;
use skein_tests::session::{Bystander, hello, report};
use skein_tests::tokens;
use skein_tests::way::Way;
use std::time::{Duration, SystemTime};
use trust::authorities::{AHEAD, LIFE};
use trust::{Authorities, Enrolled, Identity, Peer, Validity};

fn enrolled(authorities: &Authorities, now: SystemTime) -> Identity {
    let mut list = Enrolled::default();
    let peer = Peer::agent(NodeName::parse("a").unwrap());
    let made = list.issue(authorities.signer(now), &peer, Validity::of(now, 100 * DAY), now);
    write_list(plane(), &list);
    made.unwrap()
}

async fn session(way: &Way, identity: &Identity) -> tonic::Streaming<v1::ToAgent> {
    let open = async || {
        let channel = way.channel(Some(identity)).await.map_err(|error| error.to_string())?;
        let reports = futures::stream::unfold(2_u64, |number| async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Some((report(number * 500), number + 1))
        });
        let stream = futures::stream::iter([hello("a"), report(1)]).chain(reports);
        let opened = UplinkClient::new(channel).session(stream).await;
        let mut orders = opened.map_err(|status| status.to_string())?.into_inner();
        let first = orders.message().await.map_err(|status| status.to_string())?;
        first.map(|_| orders).ok_or_else(|| "closed".to_owned())
    };
    until("the session of an enrolled agent", open).await
}

async fn goes_on(mut stream: tonic::Streaming<v1::ToAgent>) {
    let heard = tokio::time::timeout(Duration::from_secs(2), async {
        while let Ok(Some(_)) = stream.message().await {}
    });
    assert!(heard.await.is_err(), "the session was ended");
}

async fn until_believed(way: &Way, only: &Authorities) {
    let way = Way {
        bundle: only.bundle(SystemTime::now()),
        ..way.clone()
    };
    until("a certificate of the other authority", async || {
        way.tls(None).await.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

async fn why_refused(way: &Way, only: &Authorities) -> String {
    let way = Way {
        bundle: only.bundle(SystemTime::now()),
        ..way.clone()
    };
    way.tls(None).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_authority_is_published_two_years_ahead_and_old_believers_go_on() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    let made = now - (LIFE - AHEAD) - DAY;
    let old = one(made, made + LIFE);
    write_secret(plane, old.to_pem());
    let agent = enrolled(&old, now);

    let coordinator = Coordinator::start();
    until("both to be published", async || {
        let known = bundle(plane).map_or(0, |bundle| bundle.certificates().len());
        (known == 2).then_some(()).ok_or_else(|| format!("{known} are"))
    })
    .await;
    coordinator.until_logged(&["next authority made"]);
    let kept = authorities(plane);
    assert_eq!(kept.signer(now), old.signer(now), "the next one signs nothing yet");
    assert_eq!(kept.bundle(now).to_pem(), bundle(plane).unwrap().to_pem());
    assert!(kept.next(now).unwrap().is_none());

    let way = Way::new(&coordinator.address, old.bundle(now));
    let bystander = Bystander::start(way.clone(), &tokens::of_agent(plane, "bystander")).await;
    let session = session(&way, &agent).await;
    let text = secret(plane);
    let other = Coordinator::start();
    until_believed(&Way::new(&other.address, old.bundle(now)), &old).await;
    assert_eq!(secret(plane), text);
    goes_on(session).await;
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_next_authority_signs_streams_go_on_and_who_knew_it_connects_again() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    // Coordinators check every 10 s; that check, too, is within the wait.
    let (first, second) = (ending(now), coming(now, Duration::from_secs(25)));
    let all = both(&first, &second);
    write_secret(plane, all.to_pem());
    let agent = enrolled(&first, now);

    let coordinator = Coordinator::start();
    let way = Way::new(&coordinator.address, all.bundle(now));
    until_believed(&way, &first).await;
    assert!(why_refused(&way, &second).await.contains("UnknownIssuer"));
    let old = Way::new(&coordinator.address, first.bundle(now));
    let bystander = Bystander::start(old, &tokens::of_agent(plane, "bystander")).await;
    let before = session(&way, &agent).await;

    until_believed(&way, &second).await;
    goes_on(before).await;
    bystander.stays_unharmed().await;
    assert!(why_refused(&way, &first).await.contains("UnknownIssuer"));
    goes_on(session(&way, &agent).await).await;
    Bystander::start(way, &tokens::of_agent(plane, "bystander"))
        .await
        .stays_unharmed()
        .await;
    assert_eq!(authorities(plane), all);
}
