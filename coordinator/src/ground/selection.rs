//! Which Swarms and Drones a label selector means.
//!
//! Owns: whose labels count. A Drone has its own labels and those of its Swarm, its own first. A Swarm has those of its
//! template, as its Drones get them, and its own, the template's first: so `team!=red` does not select a Swarm whose Drones are
//! all red. A Swarm that matches is meant as a whole, with the Drones that it makes later; of any other, each Drone that matches.
//! Must not: call the API or decide who may.

use crate::cluster::world::{World, owner};
use crate::controllers::swarm::status;
use crate::ground::Marked;
use crds::{Drone, Swarm, labels};
use fleet::selector::{NoSelector, Selector};
use kube::ResourceExt;

/// Objects with certain labels, in one namespace or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    selector: Option<Selector>,
    namespace: Option<String>,
    text: String,
}

impl Selection {
    /// For reading: empty texts leave the choice open.
    ///
    /// # Errors
    /// [`NoSelector`].
    pub fn to_read(namespace: &str, selector: &str) -> Result<Self, NoSelector> {
        let text = selector.to_owned();
        let selector = Some(selector).filter(|text| !text.is_empty());
        Ok(Self {
            text,
            selector: selector.map(str::parse).transpose()?,
            namespace: some(namespace),
        })
    }

    /// For an order: there has to be a selector.
    ///
    /// # Errors
    /// [`NoSelector`].
    pub fn to_order(namespace: &str, selector: &str) -> Result<Self, NoSelector> {
        Ok(Self {
            selector: Some(selector.parse()?),
            namespace: some(namespace),
            text: selector.to_owned(),
        })
    }

    /// The one namespace; `None`: all.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Whether the other selects the same, however it is written.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.selector, &self.namespace) == (&other.selector, &other.namespace)
    }

    /// Namespace and selector, as they were given.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        (self.namespace.clone().unwrap_or_default(), self.text.clone())
    }

    /// Whether vehicles without a Drone are meant, too.
    #[must_use]
    pub const fn is_everything(&self) -> bool {
        self.selector.is_none() && self.namespace.is_none()
    }

    /// Whether labels of a Swarm match.
    #[must_use]
    pub fn has_swarm(&self, swarm: &Swarm) -> bool {
        let here = self.namespace().is_none_or(|n| swarm.namespace().as_deref() == Some(n));
        let name = status::selector(swarm);
        here && self.matches(|key| of_swarm(swarm, name.as_ref(), key))
    }

    /// Whether labels of a Drone match, which is of `swarm`, if it is of one.
    #[must_use]
    pub fn has_drone(&self, drone: &Drone, swarm: Option<&Swarm>) -> bool {
        let here = self.namespace().is_none_or(|n| drone.namespace().as_deref() == Some(n));
        let name = swarm.and_then(status::selector);
        let inherited = |key: &str| of_swarm(swarm?, name.as_ref(), key);
        here && self.matches(|key| drone.labels().get(key).map(String::as_str).or_else(|| inherited(key)))
    }

    fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.selector.as_ref().is_none_or(|selector| selector.matches(label))
    }

    /// What an order to these objects is about.
    #[must_use]
    pub fn objects(&self, world: &World) -> Vec<Marked> {
        let mut chosen: Vec<Marked> = Vec::new();
        let swarms = world.all_swarms();
        chosen.extend(swarms.iter().filter(|s| self.has_swarm(s)).map(|s| Marked::swarm(s)));
        for drone in world.all_drones(self.namespace()) {
            let swarm = owner(&drone).and_then(|(uid, _)| world.swarm_of_uid(uid));
            let swarm = swarm.as_deref();
            if !swarm.is_some_and(|swarm| self.has_swarm(swarm)) && self.has_drone(&drone, swarm) {
                chosen.push(Marked::drone(&drone));
            }
        }
        chosen
    }
}

fn some(text: &str) -> Option<String> {
    Some(text).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The value of a label that Drones have from `swarm`, whose own one is `name`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::key::Key;
    use crate::cluster::world::{Change, Wakes};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn swarm(world: &World, namespace: &str, name: &str, own: Value, template: Value) {
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
            "metadata": {"namespace": namespace, "name": name, "uid": format!("u-{name}"), "labels": own},
            "spec": {"replicas": 1, "template": {"metadata": {"labels": template}, "spec": {}}},
        });
        world.swarm(Change::Is(Arc::new(serde_json::from_value(swarm).unwrap())));
    }

    fn drone(world: &World, namespace: &str, name: &str, of: Option<&str>, own: Value) {
        let owners = of.map(|swarm| {
            json!([{"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "name": swarm, "uid": format!("u-{swarm}"),
                    "controller": true}])
        });
        let drone = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Drone",
            "metadata": {"namespace": namespace, "name": name, "uid": format!("u-{name}"), "labels": own,
                         "ownerReferences": owners},
            "spec": {},
        });
        world.drone(Change::Is(Arc::new(serde_json::from_value(drone).unwrap())));
    }

    /// Two Swarms and a Drone of nobody's in the north, one in the south.
    fn world() -> World {
        let world = World::new(Wakes::default());
        swarm(
            &world,
            "north",
            "alpha",
            json!({"site": "hill"}),
            json!({"team": "red"}),
        );
        swarm(&world, "north", "bravo", json!({"team": "blue"}), json!({}));
        swarm(&world, "south", "coast", json!({}), json!({"team": "red"}));
        let red = json!({"team": "red", "skein.dev/swarm": "alpha"});
        drone(&world, "north", "alpha-1", Some("alpha"), red);
        let lent = json!({"team": "green", "skein.dev/swarm": "alpha"});
        drone(&world, "north", "alpha-2", Some("alpha"), lent);
        drone(
            &world,
            "north",
            "bravo-1",
            Some("bravo"),
            json!({"skein.dev/swarm": "bravo"}),
        );
        drone(&world, "north", "lone", None, json!({"team": "red"}));
        world
    }

    fn chosen(namespace: &str, selector: &str) -> Vec<String> {
        let selection = Selection::to_order(namespace, selector).unwrap();
        let all = selection.objects(&world()).into_iter();
        all.map(|marked| marked.key.to_string()).collect()
    }

    #[test]
    fn a_swarm_is_meant_as_a_whole_by_its_own_labels_and_those_of_its_template() {
        assert_eq!(chosen("", "site=hill"), ["north/alpha"]);
        assert_eq!(chosen("", "skein.dev/swarm=alpha"), ["north/alpha"]);
        assert_eq!(chosen("", "team=blue"), ["north/bravo"]);
        assert_eq!(chosen("", "team=red"), ["north/alpha", "south/coast", "north/lone"]);
        assert_eq!(chosen("north", "team in (red)"), ["north/alpha", "north/lone"]);
    }

    #[test]
    fn a_drone_is_meant_alone_when_its_swarm_is_not() {
        assert_eq!(chosen("", "team=green"), ["north/alpha-2"]);
        assert_eq!(
            chosen("", "team=green,site=hill"),
            ["north/alpha-2"],
            "its Swarm's labels are its own, too"
        );
        assert_eq!(
            chosen("", "!skein.dev/swarm"),
            ["north/lone"],
            "each of a Swarm has this label"
        );
    }

    #[test]
    fn what_a_label_excludes_is_not_meant_by_way_of_its_swarm() {
        assert_eq!(chosen("", "team!=red"), ["north/bravo", "north/alpha-2"]);
        assert_eq!(chosen("", "team notin (red,blue)"), ["north/alpha-2"]);
    }

    #[test]
    fn nothing_is_meant_where_nothing_matches_and_an_order_needs_a_selector() {
        assert_eq!(chosen("", "team=violet"), [""; 0]);
        assert_eq!(chosen("east", "team=red"), [""; 0]);
        assert_eq!(Selection::to_order("north", " "), Err(NoSelector::Empty));
        assert!(Selection::to_read("", "").unwrap().is_everything());
        assert!(!Selection::to_read("", "team").unwrap().is_everything());
    }

    #[test]
    fn what_is_shown_for_a_selector_is_what_an_order_by_it_covers() {
        let world = world();
        for text in [
            "team=red",
            "team!=red",
            "team=green",
            "site",
            "!site",
            "skein.dev/swarm in (bravo)",
        ] {
            let selection = Selection::to_order("", text).unwrap();
            let meant = selection.objects(&world);
            for drone in world.all_drones(None) {
                let swarm = owner(&drone).and_then(|(uid, _)| world.swarm_of_uid(uid));
                let shown = selection.has_drone(&drone, swarm.as_deref());
                let covered = |key: &Key| meant.iter().any(|m| m.key == *key);
                let by_swarm = swarm.is_some_and(|swarm| covered(&Key::of(swarm.as_ref())));
                let covered = by_swarm || covered(&Key::of(drone.as_ref()));
                assert!(
                    covered || !shown,
                    "{text} shows {} and does not cover it",
                    drone.name_any()
                );
            }
        }
    }
}
