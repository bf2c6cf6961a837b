//! Bearer tokens, as the API server's TokenReview checks them.

use super::agent_token;
use super::answer_cache::{AnswerCache, NEWER_ANSWER_TIMEOUT, Verdicts};
use super::questions::{QUESTION_TIMEOUT, Questions};
use super::refusal::Refusal;
use super::user::User;
use crate::server::security::{AUDIENCE, SESSION_LIFE};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::PostParams;
use model::ids::NodeName;
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// Tokens of agents whose answers are kept: above the largest fleet that one coordinator is made for, each with an old and a new one.
const MAX_AGENT_TOKENS: usize = 60_000;

const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// An agent that comes back this soon is let in by the answer before, until its token's own end. Its session would have gone on for a day;
/// and when a whole fleet comes back, again and again, each is asked about once.
const AGENT_RETURN_GRACE: Duration = Duration::from_secs(60);

/// Completes "cannot …".
const ASK: &str = "ask the API server whose token it is";

#[derive(Debug)]
pub struct Tokens {
    agent_account: (String, String),
    /// Apart from those about people: a fleet that comes back keeps no person from grounding it.
    about_agents: Questions<TokenReview>,
    about_people: Questions<TokenReview>,
    agents: AnswerCache<Print, NodeName>,
    people: Verdicts<Print, User, String>,
}

/// SHA-256.
type Print = [u8; 32];

impl Tokens {
    /// `agent_account` is namespace and name.
    pub fn new(client: kube::Client, agent_account: (String, String)) -> Self {
        Self {
            agent_account,
            about_agents: Questions::new(client.clone()),
            about_people: Questions::new(client),
            agents: AnswerCache::of_at_most(MAX_AGENT_TOKENS),
            people: Verdicts::default(),
        }
    }

    /// The node of this agent's token. While the API server cannot be asked, a token that was good counts for as long as a session would,
    /// until its own end: an agent that is not let in would take its coordinator for lost, and land.
    pub async fn agent(&self, token: &str) -> Result<NodeName, Refusal> {
        let print = print(token)?;
        let fresh = self.agents.get(&print, AGENT_RETURN_GRACE, Instant::now());
        if let Some(node) = fresh.filter(|_| !is_over(token)) {
            return Ok(node);
        }
        let known = self.agents.get(&print, SESSION_LIFE, Instant::now());
        let known = known.filter(|_| !is_over(token));
        let review = match (self.ask_about_agent(token).await, known) {
            (Ok(review), _) => review,
            (Err(error), Some(node)) => {
                tracing::warn!(%node, %error, "an agent comes back by what was known of its token");
                return Ok(node);
            }
            (Err(error), None) => return Err(error),
        };
        match agent_token::node(review, &self.agent_account) {
            Ok(node) => {
                self.agents.keep(print, node.clone(), Instant::now());
                Ok(node)
            }
            Err(refusal) => {
                self.agents.forget(&print);
                Err(refusal)
            }
        }
    }

    /// The person of this token. `safe`: an answer of the last hour counts when the API server does not answer at once.
    pub async fn person(&self, token: &str, safe: bool) -> Result<User, Refusal> {
        let (print, now) = (print(token)?, Instant::now());
        if let Some(answer) = self.people.fresh(&print, now) {
            return answer.map_err(Refusal::BadToken);
        }
        let known = self.people.last_resort(&print, now).filter(|_| safe && !is_over(token));
        let patience = if known.is_some() {
            NEWER_ANSWER_TIMEOUT
        } else {
            QUESTION_TIMEOUT
        };
        let review = match review(&self.about_people, token, None, patience).await {
            Ok(review) => review,
            Err(error) => return known.ok_or(error),
        };
        let answer = match (review.authenticated, review.user) {
            (Some(true), Some(user)) => Ok(User::from(user)),
            _ => Err(agent_token::why(review.error)),
        };
        self.people.keep(print, &answer, Instant::now());
        answer.map_err(Refusal::BadToken)
    }

    /// Whether a token was good recently (an agent's: within a session's life), or is known to be bad: checking it has a bounded cost.
    pub fn knows(&self, token: &str, is_agent: bool) -> bool {
        let (Ok(print), now) = (print(token), Instant::now()) else {
            return true;
        };
        if is_agent {
            return self.agents.get(&print, SESSION_LIFE, now).is_some();
        }
        self.people.knows(&print, now)
    }

    /// Whether the API server can be asked about agents' tokens just now.
    pub async fn answers(&self) -> bool {
        self.ask_about_agent("none").await.is_ok()
    }

    async fn ask_about_agent(&self, token: &str) -> Result<TokenReviewStatus, Refusal> {
        let audiences = Some(vec![AUDIENCE.to_owned()]);
        review(&self.about_agents, token, audiences, QUESTION_TIMEOUT).await
    }
}

async fn review(
    reviews: &Questions<TokenReview>,
    token: &str,
    audiences: Option<Vec<String>>,
    patience: Duration,
) -> Result<TokenReviewStatus, Refusal> {
    let question = TokenReview {
        spec: TokenReviewSpec {
            token: Some(token.to_owned()),
            audiences,
        },
        ..TokenReview::default()
    };
    let params = PostParams::default();
    let answer = reviews.ask(ASK, patience, |reviews| reviews.create(&params, &question));
    Ok(answer.await?.status.unwrap_or_default())
}

fn print(token: &str) -> Result<Print, Refusal> {
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
        return Err(Refusal::BadToken(format!("it has {} characters", token.len())));
    }
    Ok(Sha256::digest(token.as_bytes()).into())
}

/// Whether a token itself says that it has ended. The API server checked it when its answer was kept; one that says nothing has not ended.
fn is_over(token: &str) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    ends(token).is_some_and(|ends| ends <= now)
}

/// When a JWT ends (RFC 7519, 4.1.4), in seconds since 1970.
fn ends(token: &str) -> Option<u64> {
    let claims = token.split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    claims.get("exp")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_end_and_one_that_says_nothing_has_none() {
        let token = |claims: &str| format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims));
        assert_eq!(ends(&token(r#"{"exp":1000}"#)), Some(1000));
        assert!(is_over(&token(r#"{"exp":1000}"#)));
        assert!(!is_over(&token(r#"{"exp":99999999999}"#)));
        for other in ["opaque", "a.b.c", "", &token("{}"), &token("[]")] {
            assert_eq!(ends(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_kept_is_no_token_and_what_is_too_long_is_none() {
        assert_eq!(print("secret").unwrap().len(), 32);
        assert_ne!(print("secret").unwrap(), print("Secret").unwrap());
        assert!(print("").is_err());
        assert!(print(&"x".repeat(MAX_TOKEN_BYTES + 1)).is_err());
    }
}
