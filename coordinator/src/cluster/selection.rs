//! Label selectors over Swarms and Drones.
//!
//! A Drone has its own labels and those of its Swarm, its own first. A Swarm has those of its template, as its Drones get them, and its
//! own, the template's first: so `team!=red` does not select a Swarm whose Drones are all red. A matching Swarm is selected as a whole,
//! with the Drones that it makes later; of any other, each matching Drone.

use crds::{Drone, Swarm, labels};
use fleet::planning::selector::{NoSelector, Selector};
use kube::ResourceExt;

const MAX_LABEL_LENGTH: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    selector: Option<Selector>,
    namespace: Option<String>,
    text: String,
}

impl Selection {
    /// For reading: empty texts leave the choice open.
    pub fn to_read(namespace: &str, selector: &str) -> Result<Self, NoSelector> {
        let text = selector.to_owned();
        let selector = Some(selector).filter(|text| !text.is_empty());
        Ok(Self {
            text,
            selector: selector.map(str::parse).transpose()?,
            namespace: some(namespace),
        })
    }

    /// For an order: an empty selector is refused.
    pub fn to_order(namespace: &str, selector: &str) -> Result<Self, NoSelector> {
        Ok(Self {
            selector: Some(selector.parse()?),
            namespace: some(namespace),
            text: selector.to_owned(),
        })
    }

    /// `None`: all namespaces.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether the other selects the same, however it is written.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.selector, &self.namespace) == (&other.selector, &other.namespace)
    }

    pub fn texts(&self) -> (String, String) {
        (self.namespace.clone().unwrap_or_default(), self.text.clone())
    }

    /// Whether vehicles without a Drone are selected, too.
    pub const fn is_everything(&self) -> bool {
        self.selector.is_none() && self.namespace.is_none()
    }

    pub fn has_swarm(&self, swarm: &Swarm) -> bool {
        let here = self.namespace().is_none_or(|n| swarm.namespace().as_deref() == Some(n));
        let name = swarm_label(swarm);
        here && self.matches(|key| of_swarm(swarm, name.as_ref(), key))
    }

    /// `swarm` is the one that `drone` belongs to, if any.
    pub fn has_drone(&self, drone: &Drone, swarm: Option<&Swarm>) -> bool {
        let here = self.namespace().is_none_or(|n| drone.namespace().as_deref() == Some(n));
        let name = swarm.and_then(swarm_label);
        let inherited = |key: &str| of_swarm(swarm?, name.as_ref(), key);
        here && self.matches(|key| drone.labels().get(key).map(String::as_str).or_else(|| inherited(key)))
    }

    fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(label))
    }
}

pub fn swarm_label(swarm: &Swarm) -> Option<(String, String)> {
    let name = swarm.name_any();
    // A longer name is no label value; the owner reference counts.
    (name.len() <= MAX_LABEL_LENGTH).then(|| (labels::SWARM.to_owned(), name))
}

fn some(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The label value that Drones have from `swarm`; `name` is the Swarm's own label.
fn of_swarm<'a>(swarm: &'a Swarm, name: Option<&'a (String, String)>, key: &str) -> Option<&'a str> {
    if key == labels::MANAGED_BY {
        return Some(labels::COORDINATOR);
    }
    if let Some((_, value)) = name.filter(|(own, _)| own == key) {
        return Some(value);
    }
    let template = swarm.spec.template.metadata.as_ref();
    let of_template = template.and_then(|metadata| metadata.labels.get(key));
    of_template.or_else(|| swarm.labels().get(key)).map(String::as_str)
}
