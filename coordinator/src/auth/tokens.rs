//! Bearer tokens, as the API server's TokenReview judges them.
//!
//! Owns: asking, with a deadline and so many questions at a time, and keeping answers for seconds. Must not: keep a token:
//! answers are kept under its SHA-256.

use super::agent_token;
use super::kept::{AWAY, FRESH, Kept, LAST_RESORT};
use super::refusal::Refusal;
use super::user::User;
use crate::api::{self, ApiError};
use crate::security::AUDIENCE;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleet::ids::NodeName;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::api::{Api, PostParams};
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Questions to the API server at a time.
const AT_A_TIME: usize = 32;

/// A question waits so long for its turn, and then so long for its answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longer tokens are none.
const LONGEST: usize = 16 * 1024;

/// What is asked, as failures name it.
const ASK: &str = "ask the API server whose token it is";

/// Judges tokens.
#[derive(Debug)]
pub struct Tokens {
    reviews: Reviews,
    agent_account: (String, String),
    asking: Semaphore,
    people: Kept<Print, Result<User, String>>,
    agents: Kept<Print, NodeName>,
}

/// The SHA-256 of a token.
type Print = [u8; 32];

struct Reviews(Api<TokenReview>);

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviews")
    }
}

impl Tokens {
    /// Asks `client`; agents are `agent_account`, namespace and name.
    #[must_use]
    pub fn new(client: kube::Client, agent_account: (String, String)) -> Self {
        Self {
            reviews: Reviews(Api::all(client)),
            agent_account,
            asking: Semaphore::new(AT_A_TIME),
            people: Kept::default(),
            agents: Kept::default(),
        }
    }

    /// The node whose agent this token is that of.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn agent(&self, token: &str) -> Result<NodeName, Refusal> {
        let print = print(token)?;
        if let Some(node) = self.agents.get(&print, FRESH, Instant::now()) {
            return Ok(node);
        }
        let review = self.ask(token, Some(vec![AUDIENCE.to_owned()])).await?;
        let node = agent_token::node(review, &self.agent_account)?;
        self.agents.keep(print, node.clone(), Instant::now());
        Ok(node)
    }

    /// The person whose token this is; `safe`: an answer of the last hour will do when the API server cannot be asked.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn person(&self, token: &str, safe: bool) -> Result<User, Refusal> {
        let print = print(token)?;
        if let Some(answer) = self.people.get(&print, FRESH, Instant::now()) {
            return answer.map_err(Refusal::BadToken);
        }
        let known = self.people.get(&print, LAST_RESORT, Instant::now());
        let known = known.and_then(Result::ok).filter(|_| safe && !is_over(token));
        let patience = if known.is_some() { AWAY } else { PATIENCE * 2 };
        let answer = timeout(patience, self.ask(token, None)).await;
        let review = match (
            answer.unwrap_or(Err(Refusal::Unasked(ApiError::TimedOut { what: ASK }))),
            known,
        ) {
            (Ok(review), _) => review,
            (Err(_), Some(user)) => return Ok(user),
            (Err(error), None) => return Err(error),
        };
        let answer = match (review.authenticated, review.user) {
            (Some(true), Some(user)) => Ok(User::from(user)),
            _ => Err(agent_token::why(review.error)),
        };
        self.people.keep(print, answer.clone(), Instant::now());
        answer.map_err(Refusal::BadToken)
    }

    async fn ask(&self, token: &str, audiences: Option<Vec<String>>) -> Result<TokenReviewStatus, Refusal> {
        let turn = timeout(PATIENCE, self.asking.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Refusal::Busy);
        };
        let question = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences,
            },
            ..TokenReview::default()
        };
        let what = ASK;
        let params = PostParams::default();
        let asked = api::call(what, self.reviews.0.create(&params, &question));
        let answer = timeout(PATIENCE, asked).await;
        let review = answer.map_err(|_| ApiError::TimedOut { what })??;
        Ok(review.status.unwrap_or_default())
    }
}

fn print(token: &str) -> Result<Print, Refusal> {
    if token.is_empty() || token.len() > LONGEST {
        return Err(Refusal::BadToken(format!("it has {} characters", token.len())));
    }
    Ok(Sha256::digest(token.as_bytes()).into())
}

/// Whether a token says of itself that its time is over. It was checked when its answer was kept; one that says nothing is taken
/// at that.
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
        assert!(print(&"x".repeat(LONGEST + 1)).is_err());
    }
}
