//! The node that an agent's token speaks for.

use super::refusal::Refusal;
use crate::server::security::AUDIENCE;
use k8s_openapi::api::authentication::v1::TokenReviewStatus;
use model::ids::NodeName;

/// The node that a token is bound to, or that its pod runs on, in a TokenReview (Kubernetes 1.33 and later).
const NODE: &str = "authentication.kubernetes.io/node-name";

/// The node of a reviewed token's agent; `account` is the agents' ServiceAccount, namespace and name.
pub fn node(review: TokenReviewStatus, account: &(String, String)) -> Result<NodeName, Refusal> {
    if review.authenticated != Some(true) {
        return Err(Refusal::BadToken(why(review.error)));
    }
    // An API server that does not know of audiences returns none; then it did not check ours.
    let audiences = review.audiences.unwrap_or_default();
    if !audiences.iter().any(|audience| audience == AUDIENCE) {
        return Err(Refusal::OtherAudience(audiences));
    }
    let user = review.user.unwrap_or_default();
    let name = user.username.unwrap_or_default();
    let wanted = format!("system:serviceaccount:{}:{}", account.0, account.1);
    if name != wanted {
        return Err(Refusal::OtherAccount { user: name, wanted });
    }
    let extra = user.extra.unwrap_or_default();
    match extra.get(NODE).map(Vec::as_slice) {
        Some([node]) => NodeName::parse(node).map_err(|_| Refusal::BadNode(node.clone())),
        _ => Err(Refusal::NoNode),
    }
}

/// In the API server's words.
pub fn why(error: Option<String>) -> String {
    error
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| "the API server does not know it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::authentication::v1::UserInfo;
    use std::collections::BTreeMap;

    fn account() -> (String, String) {
        ("skein-system".to_owned(), "skein-agent".to_owned())
    }

    fn good() -> TokenReviewStatus {
        let extra = BTreeMap::from([(NODE.to_owned(), vec!["node-1".to_owned()])]);
        TokenReviewStatus {
            authenticated: Some(true),
            audiences: Some(vec![AUDIENCE.to_owned()]),
            user: Some(UserInfo {
                username: Some("system:serviceaccount:skein-system:skein-agent".to_owned()),
                extra: Some(extra),
                ..UserInfo::default()
            }),
            error: None,
        }
    }

    fn with(change: impl FnOnce(&mut TokenReviewStatus, &mut UserInfo)) -> Result<NodeName, Refusal> {
        let mut review = good();
        let mut user = review.user.take().unwrap();
        change(&mut review, &mut user);
        review.user = Some(user);
        node(review, &account())
    }

    #[test]
    fn the_node_comes_from_the_token() {
        assert_eq!(node(good(), &account()).unwrap().as_str(), "node-1");
    }

    #[test]
    fn each_thing_that_is_wrong_is_refused_by_its_name() {
        let bad = with(|review, _| review.authenticated = Some(false));
        assert!(matches!(bad, Err(Refusal::BadToken(_))));
        let bad = with(|review, _| review.authenticated = None);
        assert!(matches!(bad, Err(Refusal::BadToken(_))));
        let bad = with(|review, _| review.audiences = None);
        assert!(matches!(bad, Err(Refusal::OtherAudience(_))));
        let bad = with(|review, _| review.audiences = Some(vec!["https://kubernetes.default.svc".to_owned()]));
        assert!(matches!(bad, Err(Refusal::OtherAudience(_))));
        let bad = with(|_, user| user.username = Some("system:serviceaccount:other:skein-agent".to_owned()));
        assert!(matches!(bad, Err(Refusal::OtherAccount { .. })));
        let bad = with(|_, user| user.username = None);
        assert!(matches!(bad, Err(Refusal::OtherAccount { .. })));
        let bad = with(|_, user| user.extra = None);
        assert!(matches!(bad, Err(Refusal::NoNode)));
        let two = |user: &mut UserInfo| {
            user.extra
                .as_mut()
                .unwrap()
                .get_mut(NODE)
                .unwrap()
                .push("node-2".to_owned())
        };
        assert!(matches!(with(|_, user| two(user)), Err(Refusal::NoNode)));
        let not = |user: &mut UserInfo| user.extra = Some(BTreeMap::from([(NODE.to_owned(), vec!["No".to_owned()])]));
        assert!(matches!(with(|_, user| not(user)), Err(Refusal::BadNode(_))));
        assert!(matches!(
            node(TokenReviewStatus::default(), &account()),
            Err(Refusal::BadToken(_))
        ));
    }
}
