//! Sets of field paths, and their form in `managedFields`: FieldsV1. A set is a tree: each node is a step, and says
//! whether the path up to it is in the set. In FieldsV1 a step is a key (`f:name`, `k:{"type":"Ready"}`, `v:"x"`,
//! `i:0`), a leaf is `{}`, and `.` marks a node with others below it that is in the set itself.

mod json;
#[cfg(test)]
mod tests;

use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

pub use json::FieldsError;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scalar {
    /// `1.0` is the same as `1`.
    Int(i64),
    Real(String),
    Text(String),
    Bool(bool),
    /// JSON text of any other value, which no client writes.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Field(String),
    Key(Vec<(String, Scalar)>),
    Value(Scalar),
    Index(i64),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Sorted by step; empty without any path.
    nodes: Vec<(Step, Node)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    pub member: bool,
    pub below: FieldSet,
}

impl Node {
    #[must_use]
    pub fn leaf() -> Self {
        Self {
            member: true,
            below: FieldSet::default(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a [Step]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(path);
        }
        set
    }

    #[must_use]
    pub fn fields(path: &[&str]) -> Self {
        let path: Vec<Step> = path.iter().map(|&name| Step::Field(name.to_owned())).collect();
        Self::of([path.as_slice()])
    }

    /// Accepts nodes in any order: unites those at the same step and drops empty ones.
    #[must_use]
    pub fn from_nodes(mut nodes: Vec<(Step, Node)>) -> Self {
        nodes.retain(|(_, node)| !node.is_empty());
        if nodes.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Self { nodes };
        }
        nodes.sort_by(|(one, _), (next, _)| one.cmp(next));
        let mut merged: Vec<(Step, Node)> = Vec::with_capacity(nodes.len());
        for (step, node) in nodes {
            match merged.last_mut() {
                Some((last, previous)) if *last == step => {
                    previous.member |= node.member;
                    previous.below = std::mem::take(&mut previous.below).union(node.below);
                }
                _ => merged.push((step, node)),
            }
        }
        Self { nodes: merged }
    }

    /// Ignores the empty path: no manager owns a whole object.
    pub fn insert(&mut self, path: &[Step]) {
        let Some((step, rest)) = path.split_first() else { return };
        let at = self.nodes.partition_point(|(other, _)| other < step);
        if self.nodes.get(at).is_none_or(|(other, _)| other != step) {
            self.nodes.insert(at, (step.clone(), Node::default()));
        }
        if let Some((_, node)) = self.nodes.get_mut(at) {
            if rest.is_empty() {
                node.member = true;
            } else {
                node.below.insert(rest);
            }
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        let count = |(_, node): &(Step, Node)| usize::from(node.member) + node.below.len();
        self.nodes.iter().map(count).sum()
    }

    #[must_use]
    pub fn contains(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [step] => self.get(step).is_some_and(|node| node.member),
            [step, rest @ ..] => self.get(step).is_some_and(|node| node.below.contains(rest)),
        }
    }

    #[must_use]
    pub fn get(&self, step: &Step) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|(other, _)| other.cmp(step)).ok()?;
        self.nodes.get(at).map(|(_, node)| node)
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Node> {
        let at = self.nodes.binary_search_by(|(other, _)| match other {
            Step::Field(other) => other.as_str().cmp(name),
            _ => Ordering::Greater,
        });
        self.nodes.get(at.ok()?).map(|(_, node)| node)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Step, &Node)> {
        self.nodes.iter().map(|(step, node)| (step, node))
    }

    #[must_use]
    pub fn union(self, other: Self) -> Self {
        if other.nodes.is_empty() {
            return self;
        }
        if self.nodes.is_empty() {
            return other;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut others = other.nodes.into_iter().peekable();
        for (step, mut node) in self.nodes {
            while let Some(before) = others.next_if(|(other, _)| *other < step) {
                nodes.push(before);
            }
            if let Some((_, same)) = others.next_if(|(other, _)| *other == step) {
                node.member |= same.member;
                node.below = node.below.union(same.below);
            }
            nodes.push((step, node));
        }
        nodes.extend(others);
        Self { nodes }
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = |step: &Step, node: &Node| {
            let same = other.get(step)?;
            let changed = Node {
                member: node.member && same.member,
                below: node.below.intersection(&same.below),
            };
            (!changed.is_empty()).then(|| (step.clone(), changed))
        };
        let nodes = self.iter().filter_map(|(step, node)| both(step, node)).collect();
        Self { nodes }
    }

    /// A path stays when only a path above or below it is in the other.
    #[must_use]
    pub fn difference(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        let left = |(step, mut node): (Step, Node)| {
            if let Some(gone) = other.get(&step) {
                node.member &= !gone.member;
                node.below = node.below.difference(&gone.below);
            }
            (!node.is_empty()).then_some((step, node))
        };
        let nodes = self.nodes.into_iter().filter_map(left).collect();
        Self { nodes }
    }

    /// Paths that are neither in the other nor below one that is.
    #[must_use]
    pub fn outside(self, other: &Self) -> Self {
        if other.is_empty() {
            return self;
        }
        let left = |(step, mut node): (Step, Node)| {
            if let Some(gone) = other.get(&step) {
                if gone.member {
                    return None;
                }
                node.below = node.below.outside(&gone.below);
            }
            (!node.is_empty()).then_some((step, node))
        };
        let nodes = self.nodes.into_iter().filter_map(left).collect();
        Self { nodes }
    }

    #[must_use]
    pub fn leaves(self) -> Self {
        let leaf = |(step, node): (Step, Node)| {
            let member = node.member && node.below.is_empty();
            let below = node.below.leaves();
            (step, Node { member, below })
        };
        let nodes = self.nodes.into_iter().map(leaf).collect();
        Self { nodes }
    }

    #[must_use]
    pub fn map(self, mut change: impl FnMut(&Step, Node) -> Node) -> Self {
        let changed = |(step, node): (Step, Node)| {
            let node = change(&step, node);
            (!node.is_empty()).then_some((step, node))
        };
        let nodes = self.nodes.into_iter().filter_map(changed).collect();
        Self { nodes }
    }

    /// Paths that end at a level precede those that go on below it.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<Step>> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, prefix: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
        for (step, _) in self.iter().filter(|(_, node)| node.member) {
            let mut path = prefix.clone();
            path.push(step.clone());
            found.push(path);
        }
        for (step, node) in self.iter().filter(|(_, node)| !node.below.is_empty()) {
            prefix.push(step.clone());
            node.below.collect(prefix, found);
            prefix.pop();
        }
    }
}

impl Scalar {
    /// `None` for objects, lists and null, which cannot identify an item.
    #[must_use]
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Number(number) => Some(Self::number(number)),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn number(number: &serde_json::Number) -> Self {
        /// Limit up to which each whole number has its own double.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if let Some(whole) = number.as_i64() {
            return Self::Int(whole);
        }
        match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough to be exact")]
            Some(real) if real.fract() == 0.0 && real.abs() <= EXACT => Self::Int(real as i64),
            _ => Self::Real(number.to_string()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Real(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

/// Form in messages: `.name`, `[type="Ready"]`, `[="x"]`, `[0]`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
        }
    }
}

#[must_use]
pub fn shown(path: &[Step]) -> String {
    path.iter().map(Step::to_string).collect()
}
