//! Lists of vehicles for watchers, made once for all who watch the same at the same time.
//!
//! Owns: which watchers share, when each is due, and whether there is news for it. Must not: know how a list is made, or who may see it.

use proto::v1;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// A list serves all who ask for it this soon after it was made: the shortest span between two messages.
const LIST_FRESH_FOR: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watched {
    pub namespace: String,
    pub selector: String,
    pub airspace: bool,
}

#[derive(Debug)]
pub struct SharedLists {
    of: Mutex<HashMap<Watched, Weak<SharedList>>>,
    /// The zero of time, common to all watchers.
    began: Instant,
}

impl Default for SharedLists {
    fn default() -> Self {
        Self {
            of: Mutex::default(),
            began: Instant::now(),
        }
    }
}

impl SharedLists {
    /// The list for one more watcher, which holds it for as long as it watches.
    pub fn join(&self, watched: &Watched) -> Arc<SharedList> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        of.retain(|_, list| list.strong_count() > 0);
        if let Some(list) = of.get(watched).and_then(Weak::upgrade) {
            return list;
        }
        let list = Arc::new(SharedList::default());
        of.insert(watched.clone(), Arc::downgrade(&list));
        list
    }

    /// The next message of a watcher that was due at `due`. From the second on all are due at the same times, so that they share.
    pub fn next(&self, due: Instant, every: Duration, now: Instant) -> Instant {
        let since = |at: Instant| at.saturating_duration_since(self.began);
        self.began + next_due(since(due), every, since(now))
    }
}

/// The first whole multiple of `every` that is not before `now` and not less than `every` after `due`; all since the same moment.
fn next_due(due: Duration, every: Duration, now: Duration) -> Duration {
    let least = due.saturating_add(every).max(now);
    let over = least.as_nanos().checked_rem(every.as_nanos()).unwrap_or_default();
    // Below `every`, which is at most a minute.
    let over = Duration::from_nanos(u64::try_from(over).unwrap_or_default());
    if over.is_zero() { least } else { least + (every - over) }
}

#[derive(Debug, Default)]
pub struct SharedList {
    keys: RandomState,
    last: tokio::sync::Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    at: Instant,
    digest: u64,
    list: v1::ListResponse,
}

impl SharedList {
    /// The list as of now, and its digest, unless that is the one that was `sent`: the age of a report by itself is no news.
    pub async fn news(
        self: &Arc<Self>,
        sent: Option<u64>,
        make: impl FnOnce() -> v1::ListResponse,
    ) -> Option<(u64, v1::ListResponse)> {
        let mut last = self.last.lock().await;
        let now = Instant::now();
        let make = || {
            let mut list = make();
            let digest = list.digest_without_ages(&self.keys);
            Made { at: now, digest, list }
        };
        if Arc::strong_count(self) < 2 {
            // For one watcher nothing is copied.
            *last = None;
            let Made { digest, list, .. } = make();
            return (sent != Some(digest)).then_some((digest, list));
        }
        let fresh = last
            .take()
            .filter(|made| now.saturating_duration_since(made.at) < LIST_FRESH_FOR);
        let made = last.insert(fresh.unwrap_or_else(make));
        let older = u64::try_from(now.saturating_duration_since(made.at).as_millis()).unwrap_or(u64::MAX);
        (sent != Some(made.digest)).then(|| (made.digest, aged(&made.list, older)))
    }
}

fn aged(list: &v1::ListResponse, older_ms: u64) -> v1::ListResponse {
    let mut list = list.clone();
    for vehicle in list.vehicles.iter_mut().filter(|vehicle| vehicle.report.is_some()) {
        vehicle.report_age_ms = vehicle.report_age_ms.saturating_add(older_ms);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn everything() -> Watched {
        Watched {
            namespace: String::new(),
            selector: String::new(),
            airspace: true,
        }
    }

    fn list(made_ms: u64) -> v1::ListResponse {
        let report = Some(v1::Report {
            made_ms,
            ..v1::Report::default()
        });
        v1::ListResponse {
            vehicles: vec![v1::Vehicle {
                report,
                report_age_ms: 7,
                ..v1::Vehicle::default()
            }],
        }
    }

    #[test]
    fn all_are_due_at_the_same_times_and_never_sooner_than_they_asked() {
        let next = |due, every, now| {
            let ms = Duration::from_millis;
            next_due(ms(due), ms(every), ms(now)).as_millis()
        };
        // A watcher that came at 1,234 ms is in step from the second message on.
        assert_eq!(next(1_234, 500, 1_234), 2_000);
        assert_eq!(next(2_000, 500, 2_003), 2_500);
        // A message that took long delays the next ones, and is not made up for.
        assert_eq!(next(2_500, 500, 4_100), 4_500);
        assert_eq!(next(0, 1_000, 0), 1_000);
        for came in 0..1_000 {
            assert!(next(came, 500, came) >= u128::from(came) + 500);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_who_watch_the_same_have_it_made_once_and_each_gets_its_news() {
        let (lists, made) = (SharedLists::default(), &Cell::new(0));
        let make = |made_ms| {
            move || {
                made.set(made.get() + 1);
                list(made_ms)
            }
        };
        let (one, other) = (lists.join(&everything()), lists.join(&everything()));
        let (digest, sent) = one.news(None, make(1)).await.unwrap();
        tokio::time::advance(Duration::from_millis(50)).await;
        let (same, shared) = other.news(None, make(2)).await.unwrap();
        assert_eq!((made.get(), digest), (1, same));
        assert_eq!(
            (sent.vehicles[0].report_age_ms, shared.vehicles[0].report_age_ms),
            (7, 57)
        );
        // An older list is made again.
        tokio::time::advance(Duration::from_millis(60)).await;
        assert!(
            one.news(Some(digest), make(1)).await.is_none(),
            "only its age has changed"
        );
        assert!(other.news(Some(same), make(1)).await.is_none());
        assert_eq!(made.get(), 2);
        tokio::time::advance(LIST_FRESH_FOR).await;
        assert!(other.news(Some(same), make(2)).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_watches_alone_gets_all_as_of_now_and_others_something_else() {
        let lists = SharedLists::default();
        let alone = lists.join(&everything());
        let namespace = Watched {
            namespace: "north".to_owned(),
            ..everything()
        };
        let other = lists.join(&namespace);
        let (digest, _) = alone.news(None, || list(1)).await.unwrap();
        assert!(alone.news(Some(digest), || list(2)).await.is_some());
        assert_eq!(other.news(None, || list(9)).await.unwrap().1, list(9));
        drop((alone, other));
        drop(lists.join(&namespace));
        assert!(lists.of.lock().unwrap().len() <= 1, "what nobody watches is forgotten");
    }
}
