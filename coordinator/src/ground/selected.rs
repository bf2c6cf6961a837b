//! The Swarms and Drones that an order by a label selector marks.

use super::object::Marked;
use crate::cluster::selection::Selection;
use crate::cluster::world::World;

pub fn objects(selection: &Selection, world: &World) -> Vec<Marked> {
    let mut chosen: Vec<Marked> = Vec::new();
    let swarms = world.all_swarms();
    chosen.extend(
        swarms
            .iter()
            .filter(|s| selection.has_swarm(s))
            .map(|s| Marked::swarm(s)),
    );
    for drone in world.all_drones(selection.namespace()) {
        let swarm = world.swarm_of(&drone);
        let swarm = swarm.as_deref();
        if !swarm.is_some_and(|swarm| selection.has_swarm(swarm)) && selection.has_drone(&drone, swarm) {
            chosen.push(Marked::drone(&drone));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::key::Key;
    use crate::cluster::world::{Change, Wakes};
    use fleet::planning::selector::NoSelector;
    use kube::ResourceExt;
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

    /// Two Swarms and a Drone without a Swarm in the north, one in the south.
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
        let all = objects(&selection, &world()).into_iter();
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
            let meant = objects(&selection, &world);
            for drone in world.all_drones(None) {
                let swarm = world.swarm_of(&drone);
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
