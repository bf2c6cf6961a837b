//! One copy of each short text that many objects share: label keys, phases, namespaces.

use super::object::{Facts, Key};
use std::collections::HashSet;
use std::sync::Arc;

const FEW: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashSet<Arc<str>>,
    sweep_at: usize,
}

impl Names {
    pub(super) fn one(&mut self, text: &Arc<str>) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at.max(FEW) {
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.sweep_at = self.known.len() * 2;
        }
        self.known.insert(Arc::clone(text));
        Arc::clone(text)
    }

    pub(super) fn key(&mut self, key: Key) -> Key {
        Key {
            resource: self.one(&key.resource),
            namespace: self.one(&key.namespace),
            name: key.name,
        }
    }

    pub(super) fn facts(&mut self, mut facts: Facts) -> Facts {
        for (key, value) in facts.labels.iter_mut().chain(facts.fields.iter_mut()) {
            *key = self.one(key);
            *value = self.one(value);
        }
        for owner in facts.owners.iter_mut().chain(facts.blocks.iter_mut()) {
            *owner = self.one(owner);
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_become_one() {
        let mut names = Names::default();
        let (first, second) = (names.one(&"drones".into()), names.one(&"drones".into()));
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn texts_that_nobody_uses_are_let_go() {
        let mut names = Names::default();
        let shared = names.one(&"kept".into());
        for number in 0..10 * FEW {
            names.one(&number.to_string().into());
        }
        assert!(names.known.len() <= FEW + 1, "{} texts", names.known.len());
        assert!(Arc::ptr_eq(&shared, &names.one(&"kept".into())));
    }
}
