//! List of the client certificates that count: issued and not revoked.
//! A certificate of ours that is not on it is refused: revoking removes it, and a lost list admits nobody. As in a
//! Kubernetes ConfigMap, the key names the holder (`agent.NODE`, `operator.NAME`); each line of the value is a serial
//! number and the last second of its life since 1970.

use crate::authorities::LONGEST_CLIENT;
use crate::authority::{Authority, AuthorityError};
use crate::certificate::PeerCertificate;
use crate::identity::Identity;
use crate::peer::Peer;
use crate::validity::{self, Validity};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

/// Newest certificates kept for one holder, which may have the old and the new one on its disk.
const MOST: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrolled(BTreeMap<String, Vec<Entry>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    serial: String,
    ends: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "the entry of {holder} in the list of certificates is damaged: {line:?}; each line must be SERIAL SECONDS, remove it and enrol again"
)]
pub struct BadList {
    holder: String,
    line: String,
}

impl Enrolled {
    pub fn from_map(map: &BTreeMap<String, String>) -> Result<Self, BadList> {
        let entry = |holder: &String, line: &str| {
            let parsed = line.split_once(' ').and_then(|(serial, ends)| {
                let fine = !serial.is_empty() && serial.bytes().all(|b| b.is_ascii_hexdigit());
                Some(Entry {
                    serial: fine.then(|| serial.to_ascii_lowercase())?,
                    ends: ends.trim().parse().ok()?,
                })
            });
            parsed.ok_or_else(|| BadList {
                holder: holder.clone(),
                line: line.to_owned(),
            })
        };
        let holders = map.iter().map(|(holder, text)| {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let entries: Result<Vec<_>, _> = lines.map(|line| entry(holder, line.trim())).collect();
            Ok((holder.clone(), entries?))
        });
        Ok(Self(holders.collect::<Result<_, BadList>>()?))
    }

    pub fn to_map(&self) -> BTreeMap<String, String> {
        let text = |entries: &Vec<Entry>| {
            let mut text = String::new();
            for Entry { serial, ends } in entries {
                let _ = writeln!(text, "{serial} {ends}");
            }
            text
        };
        self.0
            .iter()
            .map(|(holder, entries)| (holder.clone(), text(entries)))
            .collect()
    }

    /// Makes a certificate for `peer` and lists it; on an error the list is unchanged. Only certificates long expired
    /// at `now` go: the enrolling person's clock may be ahead, and removing one too soon ends the session of an agent
    /// in the air.
    pub fn issue(
        &mut self,
        authority: &Authority,
        peer: &Peer,
        validity: Validity,
        now: SystemTime,
    ) -> Result<Identity, AuthorityError> {
        if !authority.validity().holds(now) {
            return Err(AuthorityError::Clock);
        }
        let identity = authority.client(peer, validity)?;
        let made = identity.chain().first().map(PeerCertificate::read);
        if let Some(made) = made.transpose()? {
            self.tidy(now);
            let entries = self.0.entry(key(&made.peer)).or_default();
            entries.push(Entry {
                serial: made.serial,
                ends: validity::seconds(made.validity.not_after),
            });
            let old = entries.len().saturating_sub(MOST);
            entries.drain(..old);
        }
        Ok(identity)
    }

    fn tidy(&mut self, now: SystemTime) {
        let now = validity::seconds(now);
        for entries in self.0.values_mut() {
            entries.retain(|entry| entry.ends.saturating_add(LONGEST_CLIENT.as_secs()) >= now);
        }
        self.0.retain(|_, entries| !entries.is_empty());
    }

    pub fn revoke(&mut self, peer: &Peer) -> usize {
        self.0.remove(&key(peer)).map_or(0, |entries| entries.len())
    }

    pub fn admits(&self, certificate: &PeerCertificate) -> bool {
        let entries = self.0.get(&key(&certificate.peer));
        entries.is_some_and(|entries| entries.iter().any(|entry| entry.serial == certificate.serial))
    }
}

fn key(peer: &Peer) -> String {
    match peer {
        Peer::Agent { node } => format!("agent.{node}"),
        // A key of a ConfigMap has no '@'.
        Peer::Operator { name } => format!("operator.{}", name.replace('@', "_at_")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::NodeName;
    use std::time::Duration;

    const DAY: Duration = Duration::from_secs(86_400);

    fn agent(node: &str) -> Peer {
        Peer::agent(NodeName::parse(node).unwrap())
    }

    fn shown(identity: &Identity) -> PeerCertificate {
        PeerCertificate::read(&identity.chain()[0]).unwrap()
    }

    #[test]
    fn what_was_made_counts_until_it_is_revoked_and_so_after_a_restart() {
        let now = validity::at(1_800_000_000);
        let authority = Authority::make(Validity::of(now, 100 * DAY)).unwrap();
        let mut list = Enrolled::default();
        let first = list
            .issue(&authority, &agent("a"), Validity::of(now, DAY), now)
            .unwrap();
        let second = list
            .issue(&authority, &agent("a"), Validity::of(now, DAY), now)
            .unwrap();
        let other = list
            .issue(&authority, &agent("b"), Validity::of(now, DAY), now)
            .unwrap();
        let stranger = authority.client(&agent("a"), Validity::of(now, DAY)).unwrap();
        let mut list = Enrolled::from_map(&list.to_map()).unwrap();
        assert!([&first, &second, &other].iter().all(|made| list.admits(&shown(made))));
        assert!(!list.admits(&shown(&stranger)), "a certificate that is on no list");
        assert_eq!(list.revoke(&agent("a")), 2);
        assert!(!list.admits(&shown(&first)) && !list.admits(&shown(&second)));
        assert!(list.admits(&shown(&other)));
    }

    #[test]
    fn the_list_of_one_holder_does_not_grow_for_ever() {
        let now = validity::at(1_800_000_000);
        let authority = Authority::make(Validity::of(now, 1000 * DAY)).unwrap();
        let mut list = Enrolled::default();
        let made: Vec<_> = (0..=MOST)
            .map(|_| {
                list.issue(&authority, &agent("a"), Validity::of(now, DAY), now)
                    .unwrap()
            })
            .collect();
        assert!(!list.admits(&shown(&made[0])));
        assert!(made[1..].iter().all(|one| list.admits(&shown(one))));
        let later = now + DAY + LONGEST_CLIENT + DAY;
        list.issue(&authority, &agent("b"), Validity::of(later, DAY), later)
            .unwrap();
        assert_eq!(list.to_map().len(), 1, "what is over has gone");
    }

    #[test]
    fn a_clock_that_is_wrong_by_months_or_for_ever_takes_nobody_off_the_list() {
        let now = validity::at(1_800_000_000);
        let authority = Authority::make(Validity::of(now, 1800 * DAY)).unwrap();
        let mut list = Enrolled::default();
        let first = list.issue(&authority, &agent("a"), Validity::of(now, 365 * DAY), now);
        let first = shown(&first.unwrap());
        let ahead = now + 700 * DAY;
        list.issue(&authority, &agent("b"), Validity::of(ahead, DAY), ahead)
            .unwrap();
        assert!(list.admits(&first), "its session would end in the air");
        for wrong in [now + 5000 * DAY, now - 5000 * DAY] {
            let before = list.clone();
            let refused = list
                .issue(&authority, &agent("b"), Validity::of(wrong, DAY), wrong)
                .unwrap_err();
            assert!(refused.to_string().contains("clock"), "{refused}");
            assert_eq!(list, before);
        }
    }

    #[test]
    fn a_damaged_list_is_an_error_and_not_used_in_part() {
        for line in ["12", "xy 7", " 7", "12 soon"] {
            let map = BTreeMap::from([("agent.a".to_owned(), format!("ab 9\n{line}\n"))]);
            assert!(Enrolled::from_map(&map).is_err(), "{line}");
        }
    }
}
