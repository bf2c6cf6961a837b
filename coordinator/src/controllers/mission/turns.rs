//! A queue in which namespaces take turns, so that one with many requests does not delay the others.

use std::collections::{BTreeMap, VecDeque};

/// The rest is asked for again later.
pub const MAX_WAITING_PER_NAMESPACE: usize = 256;

/// Waiting requests, by key.
#[derive(Debug)]
pub struct Turns<K, T> {
    waiting: BTreeMap<String, VecDeque<(K, T)>>,
    last: Option<String>,
}

impl<K, T> Default for Turns<K, T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last: None,
        }
    }
}

impl<K: PartialEq, T> Turns<K, T> {
    /// Puts a request at the end of its namespace's row, or in the place of the one with its key. Dropped where there is no room.
    pub fn put(&mut self, namespace: &str, key: K, request: T) {
        let row = self.waiting.entry(namespace.to_owned()).or_default();
        let is_full = row.len() >= MAX_WAITING_PER_NAMESPACE;
        match row.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = request,
            None if is_full => {}
            None => row.push_back((key, request)),
        }
    }

    /// The next request, of the namespaces that `may` have one; with its namespace.
    pub fn take(&mut self, may: impl Fn(&str) -> bool) -> Option<(String, K, T)> {
        self.waiting.retain(|_, row| !row.is_empty());
        let after = |name: &&String| self.last.as_ref().is_none_or(|last| *name > last);
        let mut names = self.waiting.keys().filter(|name| may(name));
        let turn = names.clone().find(after).or_else(|| names.next())?.clone();
        let (key, request) = self.waiting.get_mut(&turn)?.pop_front()?;
        self.last = Some(turn.clone());
        Some((turn, key, request))
    }

    /// Requests that come before the one with this key: those of its own row, and as many of each other namespace. `None`: it does not
    /// wait.
    pub fn before(&self, key: &K) -> Option<usize> {
        let place = |row: &VecDeque<(K, T)>| row.iter().position(|(known, _)| known == key);
        let own = self.waiting.values().find_map(place)?;
        let turns = self.waiting.values().map(|row| row.len().min(own + 1)).sum::<usize>();
        Some(turns.saturating_sub(1))
    }

    pub fn get(&self, key: &K) -> Option<&T> {
        let mut all = self.waiting.values().flatten();
        all.find_map(|(known, request)| (known == key).then_some(request))
    }

    pub fn retain(&mut self, known: impl Fn(&K) -> bool) {
        for row in self.waiting.values_mut() {
            row.retain(|(key, _)| known(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_take_turns_however_much_one_of_them_asks_for() {
        let mut turns = Turns::default();
        for number in 0..100 {
            turns.put("hostile", format!("h{number}"), ());
        }
        for name in ["a", "b", "z"] {
            turns.put(name, name.to_owned(), ());
        }
        assert_eq!(turns.before(&"z".to_owned()), Some(3));
        assert_eq!(turns.before(&"h99".to_owned()), Some(102));
        let order: Vec<String> = (0..6).map(|_| turns.take(|_| true).unwrap().1).collect();
        assert_eq!(order, ["a", "b", "h0", "z", "h1", "h2"]);
        for number in 100..1000 {
            turns.put("hostile", format!("h{number}"), ());
        }
        assert_eq!(turns.waiting["hostile"].len(), MAX_WAITING_PER_NAMESPACE);
        assert_eq!(turns.before(&"h999".to_owned()), None, "there is no room for it");
        turns.put("a", "again".to_owned(), ());
        assert_eq!(turns.take(|name| name != "hostile").unwrap().1, "again");
        assert!(turns.take(|name| name != "hostile").is_none());
    }

    #[test]
    fn an_edit_takes_the_place_of_what_waits() {
        let mut turns = Turns::default();
        turns.put("a", 1, "one");
        turns.put("a", 2, "two");
        turns.put("a", 1, "edited");
        assert_eq!(turns.get(&1), Some(&"edited"));
        assert_eq!(turns.take(|_| true), Some(("a".to_owned(), 1, "edited")));
        assert_eq!(turns.take(|_| true), Some(("a".to_owned(), 2, "two")));
        assert_eq!(turns.take(|_| true), None);
    }
}
