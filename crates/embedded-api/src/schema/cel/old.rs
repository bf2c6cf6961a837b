//! The previous value at a place, as rules get it on an update.
//!
//! Owns: walking both objects along the schema. Must not: evaluate.
//!
//! Two things are followed. `oldSelf` is found through fields, and through items of lists with keys. Whether a value is
//! unchanged is decided at the nearest place that can be found in both objects: an item of a plain list is unchanged when
//! the whole list is.

use super::same;
use crate::schema::node::Node;
use serde_json::Value;

/// Where a walk is in the old object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old<'a> {
    value: Option<&'a Value>,
    here: Option<Pair<'a>>,
    above: Option<Pair<'a>>,
}

/// A place that is in both objects.
#[derive(Clone, Copy, Debug)]
struct Pair<'a> {
    new: &'a Value,
    old: &'a Value,
    node: &'a Node,
}

impl<'a> Old<'a> {
    /// The objects themselves; on a creation there is no old one.
    pub(super) fn root(new: &'a Value, old: Option<&'a Value>, node: &'a Node) -> Self {
        Self {
            value: old,
            here: old.map(|old| Pair { new, old, node }),
            above: None,
        }
    }

    /// `oldSelf`.
    pub(super) fn value(self) -> Option<&'a Value> {
        self.value.filter(|value| !value.is_null())
    }

    /// The same place, without the information whether it is unchanged.
    pub(super) fn uncorrelated(self) -> Self {
        Self { here: None, ..self }
    }

    /// A field or an entry of a map.
    pub(super) fn field(self, name: &str, new: &'a Value, node: &'a Node) -> Self {
        let value = self.value.and_then(|value| value.get(name));
        self.below(value, |pair| pair.old.get(name), new, node)
    }

    /// The items of the old list.
    pub(super) fn items(self, list: &'a Node) -> Items<'a> {
        let of = |old: Option<&'a Value>| old.map(|old| same::Items::of(old, &list.list));
        Items {
            list: self,
            of_value: of(self.value),
            of_here: of(self.here.map(|pair| pair.old)),
        }
    }

    fn below(
        self,
        value: Option<&'a Value>,
        old: impl Fn(Pair<'a>) -> Option<&'a Value>,
        new: &'a Value,
        node: &'a Node,
    ) -> Self {
        let Some(pair) = self.here else {
            return Self { value, ..self };
        };
        Self {
            value,
            here: old(pair).map(|old| Pair { new, old, node }),
            above: Some(pair),
        }
    }

    /// Whether the value is unchanged.
    pub(super) fn unchanged(self) -> bool {
        let pair = self.here.or(self.above);
        pair.is_some_and(|pair| same::same(pair.new, pair.old, pair.node))
    }
}

/// A list in the old object, to follow each item of the new one.
pub(super) struct Items<'a> {
    list: Old<'a>,
    of_value: Option<same::Items<'a>>,
    of_here: Option<same::Items<'a>>,
}

impl<'a> Items<'a> {
    /// The previous value of an item.
    pub(super) fn item(&self, new: &'a Value, node: &'a Node) -> Old<'a> {
        let of = |items: &Option<same::Items<'a>>| items.as_ref().and_then(|items| items.counterpart(new));
        self.list.below(of(&self.of_value), |_| of(&self.of_here), new, node)
    }
}
