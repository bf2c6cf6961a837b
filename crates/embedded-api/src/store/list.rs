//! Lists: complete or in pages; an older revision is the present one with the newer changes undone.

use super::error::Compacted;
use super::object::Object;
use super::state::{Objects, Spot, State};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Namespace and name, the order of lists.
pub type Place = (String, String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// `None`, or a future revision: the newest.
    pub at: Option<u64>,
    pub after: Option<Place>,
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub revision: u64,
    pub objects: Vec<Arc<Object>>,
    pub more: Option<Place>,
    /// Objects after this page, selected or not; `None` on the last one.
    pub remaining: Option<usize>,
}

/// States at an older revision that differ from the present ones.
type Undone = BTreeMap<Spot, Option<Arc<Object>>>;

pub(super) fn list(
    state: &State,
    resource: &str,
    namespace: Option<&str>,
    page: &Page,
    keep: impl Fn(&Object) -> bool,
) -> Result<Listed, Compacted> {
    let revision = page.at.unwrap_or(state.revision()).min(state.revision());
    let undone = undo(state, resource, revision)?;
    let none = Objects::new();
    let objects = state.kind(resource).unwrap_or(&none);
    let mut found = Vec::new();
    let mut more = None;
    let candidates = between(objects, &undone, start(namespace, page), namespace);
    for object in candidates.filter(|object| keep(object)) {
        if page.limit.is_some_and(|limit| found.len() >= limit.max(1)) {
            more = found.last().map(|last: &Arc<Object>| place(last));
            break;
        }
        found.push(Arc::clone(object));
    }
    let remaining = more.as_ref().map(|last| {
        let start = Bound::Excluded(spot(last));
        between(objects, &undone, start, namespace).count()
    });
    Ok(Listed {
        revision,
        objects: found,
        more,
        remaining,
    })
}

fn undo(state: &State, resource: &str, revision: u64) -> Result<Undone, Compacted> {
    let compacted = Compacted {
        requested: revision,
        floor: state.history().floor(),
    };
    if revision < compacted.floor {
        return Err(compacted);
    }
    let newer = state.history().after(resource, revision, usize::MAX).ok_or(compacted)?;
    let mut undone = Undone::new();
    for event in newer {
        let key = &event.object.key;
        let spot = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        undone.entry(spot).or_insert_with(|| event.previous.clone());
    }
    Ok(undone)
}

fn start(namespace: Option<&str>, page: &Page) -> Bound<Spot> {
    match (&page.after, namespace) {
        (Some(after), _) => Bound::Excluded(spot(after)),
        (None, Some(namespace)) => Bound::Included((namespace.into(), "".into())),
        (None, None) => Bound::Unbounded,
    }
}

fn between<'a>(
    objects: &'a Objects,
    undone: &'a Undone,
    start: Bound<Spot>,
    namespace: Option<&'a str>,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let range = (start, Bound::Unbounded);
    let mut now = objects.range(range.clone()).peekable();
    let mut then = undone.range(range).peekable();
    let merged = std::iter::from_fn(move || {
        loop {
            let undone_first = match (now.peek(), then.peek()) {
                (Some((spot, _)), Some((old, _))) => old <= spot,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if !undone_first {
                return now.next().map(|(_, object)| object);
            }
            let (spot, object) = then.next()?;
            now.next_if(|(other, _)| *other == spot);
            if object.is_some() {
                return object.as_ref();
            }
        }
    });
    merged.take_while(move |object| namespace.is_none_or(|namespace| *object.key.namespace == *namespace))
}

fn place(object: &Object) -> Place {
    (object.key.namespace.to_string(), object.key.name.to_string())
}

fn spot((namespace, name): &Place) -> Spot {
    (namespace.as_str().into(), name.as_str().into())
}
