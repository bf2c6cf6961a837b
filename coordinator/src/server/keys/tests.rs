//! Clocks that were set.

use super::*;
use crate::server::auth::tests::scripted::Scripted;
use crate::server::security::SESSION_LIFE;

const HOUR: Duration = Duration::from_secs(3600);

/// A keeper with a certificate made at `made`, which it means to renew in ten hours.
fn keeper(made: SystemTime) -> Keeper {
    let authorities = Authorities::of(Validity::any_time()).unwrap();
    let identity = authorities
        .signer(made)
        .server(&names("here"), Validity::of(made, SERVER_LIFE))
        .unwrap();
    let clients = Clients {
        ours: Some(authorities.bundle(made)),
        cluster: None,
        requesters: false,
    };
    Keeper {
        client: crate::cluster::client::Client::new(Scripted::new().client()),
        namespace: "here".to_owned(),
        security: ClusterSecurity {
            tls_dir: None,
            agent_account: (String::new(), String::new()),
            session_life: SESSION_LIFE,
        },
        server: Server::new(identity, clients).unwrap(),
        authorities,
        list: watch::Sender::default(),
        renewal: Some(Instant::now() + 10 * HOUR),
        trouble: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_a_clock_set_right_makes_bad_is_renewed_now_and_not_in_hours() {
    let now = SystemTime::now();
    for (made, is_bad) in [(now - 48 * HOUR, true), (now + 48 * HOUR, true), (now - HOUR, false)] {
        let mut keeper = keeper(made);
        keeper.renew_if_clock_was_set(now);
        let due = keeper.renewal.is_some_and(|at| at <= Instant::now());
        assert_eq!(due, is_bad, "made {made:?}, now {now:?}");
    }
}
