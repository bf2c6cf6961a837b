//! Authorities of one fleet over the years: pure functions of their dates and the time say which signs, which are
//! believed, and when the next is made.
//! ```text
//! first   |--------- signs ----------------------------|- believed -|
//! second                               |- believed -----|---- signs ----------- …
//!                                      made: 2 years     signs: 400 days later
//!                                      before the end
//! ```
//! An agent outside a cluster learns of a new authority only when it enrolls again. So the new one signs nothing until
//! every agent certificate made before it has ended: [`LONGEST_CLIENT`] is shorter than [`OVERLAP`].

use crate::authority::{Authority, AuthorityError};
use crate::bundle::Bundle;
use crate::validity::Validity;
use std::time::{Duration, SystemTime};

pub const LIFE: Duration = Duration::from_secs(5 * 365 * 86_400);

/// Time before the end of the newest authority at which the next is made.
pub const AHEAD: Duration = Duration::from_secs(2 * 365 * 86_400);

/// Age at which an authority begins to sign.
pub const OVERLAP: Duration = Duration::from_secs(400 * 86_400);

pub const LONGEST_CLIENT: Duration = Duration::from_secs(366 * 86_400);

const MOST: usize = 4;

/// At least one authority, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorities(Vec<Authority>);

#[derive(Debug, thiserror::Error)]
pub enum AuthoritiesError {
    #[error(
        "there is no authority in it; put back the copy that was saved, or remove it: a new one is made, and every agent outside the cluster has to be enrolled again"
    )]
    Empty,
    #[error("authority {0}: {1}")]
    Damaged(usize, AuthorityError),
}

impl Authorities {
    pub fn make(now: SystemTime) -> Result<Self, AuthorityError> {
        Self::of(Validity::of(now, LIFE))
    }

    pub fn of(validity: Validity) -> Result<Self, AuthorityError> {
        Ok(Self(vec![Authority::make(validity)?]))
    }

    /// Reads certificates and keys alternating, as [`Authorities::to_pem`] writes them.
    pub fn from_pem(text: &str) -> Result<Self, AuthoritiesError> {
        const KEY_ENDS: &str = "PRIVATE KEY-----\n";
        let mut all = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let place = all.len() + 1;
            let key = rest.find("-----BEGIN PRIVATE KEY-----").unwrap_or(rest.len());
            let (certificate, after) = rest.split_at(key);
            // The second occurrence ends the key: the first is in its first line.
            let ends = after
                .match_indices(KEY_ENDS)
                .nth(1)
                .map_or(after.len(), |(at, found)| at + found.len());
            let (key, after) = after.split_at(ends);
            let authority = Authority::from_pem(certificate, key);
            all.push(authority.map_err(|error| AuthoritiesError::Damaged(place, error))?);
            rest = after.trim_start();
        }
        if all.is_empty() {
            return Err(AuthoritiesError::Empty);
        }
        Ok(Self(all))
    }

    /// Certificates and keys alternating: the secret that all else depends on.
    pub fn to_pem(&self) -> String {
        self.0
            .iter()
            .map(|one| format!("{}{}", one.certificate_pem(), one.key_pem()))
            .collect()
    }

    pub fn signer(&self, now: SystemTime) -> &Authority {
        let lives: Vec<Validity> = self.lives();
        self.0
            .get(signer(&lives, now))
            .expect("there is at least one, and the place is one of theirs")
    }

    /// Authorities that have not ended at `now`, and the newest in any case.
    pub fn bundle(&self, now: SystemTime) -> Bundle {
        let good = self.0.iter().filter(|one| now <= one.validity().not_after);
        let bundles = good.map(Authority::bundle).reduce(|all, one| all.with(&one));
        bundles.unwrap_or_else(|| self.signer(now).bundle())
    }

    pub fn next(&self, now: SystemTime) -> Result<Option<Self>, AuthorityError> {
        if !is_time(&self.lives(), now) {
            return Ok(None);
        }
        let made = Authority::make(Validity::of(now, LIFE))?;
        let remaining = self.0.len().min(MOST - 1);
        let oldest = self.0.len() - remaining;
        let mut next: Vec<Authority> = self.0.iter().skip(oldest).cloned().collect();
        next.push(made);
        Ok(Some(Self(next)))
    }

    fn lives(&self) -> Vec<Validity> {
        self.0.iter().map(Authority::validity).collect()
    }
}

/// The newest that is good and was made [`OVERLAP`] ago; else the oldest that is good; else the last.
fn signer(lives: &[Validity], now: SystemTime) -> usize {
    let good = |life: &Validity| life.holds(now);
    let known = |life: &Validity| good(life) && life.not_before + OVERLAP <= now;
    let last = lives.len().saturating_sub(1);
    lives
        .iter()
        .rposition(known)
        .or_else(|| lives.iter().position(good))
        .unwrap_or(last)
}

/// Authorities dated into the future by a wrong clock do not count.
fn is_time(lives: &[Validity], now: SystemTime) -> bool {
    let begun = lives.iter().filter(|life| life.not_before <= now);
    begun
        .map(|life| life.not_after)
        .max()
        .is_none_or(|ends| ends < now + AHEAD)
}

#[cfg(test)]
mod tests;
