//! Objects that a change affects.

use crate::store::{Event, Key, Object};
use crate::verbs::namespaces::STORAGE;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Affected {
    Object(Key),
    DependentsOf(Arc<str>),
    OwnersOf(Arc<Object>),
}

/// Names as little as possible: an owner may have thousands of dependents, each written often while it is deleted.
pub(super) fn affected(event: &Event) -> Vec<Affected> {
    let object = &event.object;
    let (key, facts) = (&object.key, &object.facts);
    let mut all = Vec::new();
    if event.deleted {
        all.push(Affected::DependentsOf(Arc::clone(&facts.uid)));
        if !facts.blocks.is_empty() {
            all.push(Affected::OwnersOf(Arc::clone(object)));
        }
        if !key.namespace.is_empty() {
            // It may have been the last object in a namespace that is being deleted.
            all.push(Affected::Object(Key::new(STORAGE, "", &key.namespace)));
        }
        return all;
    }
    let before = event.previous.as_ref();
    let new_owners = before.is_none_or(|before| before.facts.owners != facts.owners);
    let new = before.is_none() && !key.namespace.is_empty();
    if facts.deleting || new || (new_owners && !facts.owners.is_empty()) {
        all.push(Affected::Object(key.clone()));
    }
    if facts.waits && before.is_none_or(|before| !before.facts.waits) {
        all.push(Affected::DependentsOf(Arc::clone(&facts.uid)));
    }
    if let Some(before) = before
        && before.facts.blocks.iter().any(|owner| !facts.blocks.contains(owner))
    {
        all.push(Affected::OwnersOf(Arc::clone(before)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Facts;

    fn object(owners: &[&str], deleting: bool) -> Arc<Object> {
        with(owners, deleting, |_| {})
    }

    fn with(owners: &[&str], deleting: bool, change: impl FnOnce(&mut Facts)) -> Arc<Object> {
        let mut facts = Facts {
            uid: "u-1".into(),
            owners: owners.iter().map(|&uid| uid.into()).collect(),
            blocks: owners.iter().map(|&uid| uid.into()).collect(),
            deleting,
            ..Facts::default()
        };
        change(&mut facts);
        Arc::new(Object {
            key: Key::new("things", "field", "a"),
            revision: 1,
            json: bytes::Bytes::new(),
            facts,
        })
    }

    fn event(previous: Option<&Arc<Object>>, object: &Arc<Object>, deleted: bool) -> Event {
        Event {
            revision: 2,
            object: Arc::clone(object),
            previous: previous.cloned(),
            deleted,
        }
    }

    fn itself() -> Affected {
        Affected::Object(Key::new("things", "field", "a"))
    }

    #[test]
    fn a_new_object_is_checked() {
        assert_eq!(affected(&event(None, &object(&[], false), false)), [itself()]);
    }

    #[test]
    fn a_change_that_has_nothing_to_do_with_owners_concerns_nobody() {
        let (before, after) = (object(&["o"], false), object(&["o"], false));
        assert_eq!(affected(&event(Some(&before), &after, false)), []);
    }

    #[test]
    fn new_owners_are_searched_and_old_ones_checked() {
        let (before, after) = (object(&["old"], false), object(&["new"], false));
        let expected = [itself(), Affected::OwnersOf(Arc::clone(&before))];
        assert_eq!(affected(&event(Some(&before), &after, false)), expected);
    }

    #[test]
    fn an_owner_that_begins_to_wait_for_its_dependents_concerns_them_once() {
        let (before, going) = (object(&[], false), object(&[], true));
        assert_eq!(affected(&event(Some(&before), &going, false)), [itself()]);
        let waits = with(&[], true, |facts| facts.waits = true);
        let expected = [itself(), Affected::DependentsOf("u-1".into())];
        assert_eq!(affected(&event(Some(&before), &waits, false)), expected);
        assert_eq!(affected(&event(Some(&going), &waits, false)), expected);
        // As when its status reports how many are left.
        assert_eq!(affected(&event(Some(&waits), &waits, false)), [itself()]);
    }

    #[test]
    fn a_dependent_concerns_its_owners_when_it_no_longer_blocks_them() {
        let landing = object(&["o"], true);
        assert_eq!(affected(&event(Some(&landing), &landing, false)), [itself()]);
        let lets_go = with(&["o"], true, |facts| facts.blocks = Box::default());
        let expected = [itself(), Affected::OwnersOf(Arc::clone(&landing))];
        assert_eq!(affected(&event(Some(&landing), &lets_go, false)), expected);
        let gone = affected(&event(Some(&lets_go), &lets_go, true));
        let owners = gone.iter().any(|each| matches!(each, Affected::OwnersOf(_)));
        assert!(!owners, "it blocked nobody: {gone:?}");
    }

    #[test]
    fn the_end_of_an_object_concerns_dependents_owners_and_namespace() {
        let gone = object(&["o"], true);
        let expected = [
            Affected::DependentsOf("u-1".into()),
            Affected::OwnersOf(Arc::clone(&gone)),
            Affected::Object(Key::new("namespaces", "", "field")),
        ];
        assert_eq!(affected(&event(Some(&gone), &gone, true)), expected);
    }
}
