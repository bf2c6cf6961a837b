//! Logs that are in the object store, for those who list logs and those who make room for new ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys of the logs, by their names on the agent's disk. The default is that of an agent that uploads none.
#[derive(Clone, Debug, Default)]
pub struct Sent(Option<Arc<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    keys: Mutex<BTreeMap<String, String>>,
    removed_before: AtomicU64,
}

impl Sent {
    pub fn none_yet() -> Self {
        Self(Some(Arc::default()))
    }

    pub const fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    fn keys(inner: &Inner) -> MutexGuard<'_, BTreeMap<String, String>> {
        inner.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn replace(&self, keys: impl Iterator<Item = (String, String)>) {
        if let Some(inner) = &self.0 {
            *Self::keys(inner) = keys.collect();
        }
    }

    pub fn key(&self, name: &str) -> Option<String> {
        Self::keys(self.0.as_deref()?).get(name).cloned()
    }

    /// Whether a log that is about to be removed should have been uploaded before; it is counted then.
    pub fn is_lost_with(&self, name: &str) -> bool {
        let Some(inner) = &self.0 else { return false };
        let lost = !Self::keys(inner).contains_key(name);
        if lost {
            inner.removed_before.fetch_add(1, Ordering::Relaxed);
        }
        lost
    }

    pub fn removed_before(&self) -> u64 {
        self.0
            .as_ref()
            .map_or(0, |inner| inner.removed_before.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_was_not_uploaded_is_missed_only_where_logs_are_uploaded() {
        let (sent, off) = (Sent::none_yet(), Sent::default());
        let entry = |name: &str| (name.to_owned(), format!("pine/{name}"));
        for one in [&sent, &off] {
            one.replace([entry("a")].into_iter());
        }
        assert_eq!((sent.key("a").as_deref(), sent.key("b")), (Some("pine/a"), None));
        assert_eq!(off.key("a"), None);
        assert!(!sent.is_lost_with("a") && sent.is_lost_with("b") && !off.is_lost_with("b"));
        assert_eq!((sent.removed_before(), off.removed_before()), (1, 0));
    }
}
