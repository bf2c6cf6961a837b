//! What a ground order covers: it is an object of its own, and whatever is made or edited later falls under it (invariant 9).
//!
//! Owns: [`Order`], whether it covers a Drone ([`Order::covers`]), which vehicles no other Drone gets meanwhile ([`Order::keeps`]), and the
//! effect of a release ([`Order::released_for`]). Must not: know how orders are written or labels read.
//!
//! It covers what it was given for, what its scope names or selects now, and the vehicles that served it then. So no edit, new object, or
//! object deleted and made again under its name ends it; only a release does.

use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub namespace: String,
    pub name: String,
}

impl Name {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    Selector,
    Swarm(Name),
    Drone(Name),
    Node(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub scope: Scope,
    /// Selected when the order was given.
    pub swarms: BTreeSet<Name>,
    /// Selected when the order was given.
    pub drones: BTreeSet<Name>,
    /// Their vehicles served what it was given for.
    pub nodes: BTreeSet<String>,
    /// Released from it: uids of Swarms and Drones, and names of nodes.
    pub exceptions: BTreeSet<String>,
    pub fleet_wide: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub uid: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub swarm: Option<&'a str>,
    /// If that Swarm is in the Drone's namespace: needed only after a release of it.
    pub swarm_uid: Option<&'a str>,
    pub node: Option<&'a str>,
}

impl Order {
    /// `selected`: whether its selector selects the Drone now.
    pub fn covers(&self, drone: &Subject<'_>, selected: impl FnOnce() -> bool) -> bool {
        // Only the release of the node lets go of the vehicle itself.
        if drone.node.is_some_and(|node| self.keeps(node)) && !self.excepts_object(drone) {
            return true;
        }
        if let (Scope::Node(wanted), Some(node)) = (&self.scope, drone.node) {
            return wanted == node && !self.exceptions.contains(node);
        }
        if self.excepts_object(drone) {
            return false;
        }
        let is = |name: &str, wanted: &Name| wanted.namespace == drone.namespace && wanted.name == name;
        let by_name = |names: &BTreeSet<Name>, name: &str| names.contains(&Name::new(drone.namespace, name));
        match &self.scope {
            Scope::All => true,
            Scope::Swarm(wanted) => drone.swarm.is_some_and(|name| is(name, wanted)),
            Scope::Drone(wanted) => is(drone.name, wanted),
            Scope::Node(_) => false,
            Scope::Selector => {
                by_name(&self.drones, drone.name)
                    || drone.swarm.is_some_and(|name| by_name(&self.swarms, name))
                    || selected()
            }
        }
    }

    fn excepts_object(&self, drone: &Subject<'_>) -> bool {
        [Some(drone.uid), drone.swarm_uid]
            .into_iter()
            .flatten()
            .any(|uid| self.exceptions.contains(uid))
    }

    /// Whether no other Drone gets the vehicle of `node` meanwhile: it served what was grounded, and people may be near it.
    pub fn keeps(&self, node: &str) -> bool {
        let named = matches!(&self.scope, Scope::Node(wanted) if wanted == node);
        (named || self.nodes.contains(node)) && !self.exceptions.contains(node)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released<'a> {
    All,
    /// Its uid where it exists, its name, and the nodes of its Drones.
    Swarm(Option<&'a str>, Name, Vec<String>),
    /// The same, and the Swarm that it is of.
    Drone(Option<&'a str>, Name, Option<Name>, Vec<String>),
    Node(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Becomes {
    Ends,
    /// It stays in force, with these further exceptions.
    Excepts(BTreeSet<String>),
    Stays,
}

impl Order {
    /// `covers`: whether the order covers `released` now. `may_all`: whether the person may release the whole fleet; others take nothing
    /// out of an order for all namespaces.
    pub fn released_for(&self, released: &Released<'_>, covers: bool, may_all: bool) -> Becomes {
        if self.fleet_wide && !may_all {
            return Becomes::Stays;
        }
        let except = |uid: Option<&str>, nodes: &[String]| {
            let more: BTreeSet<String> = uid
                .map(str::to_owned)
                .into_iter()
                .chain(nodes.iter().cloned())
                .collect();
            if covers && !more.is_subset(&self.exceptions) {
                Becomes::Excepts(more)
            } else {
                Becomes::Stays
            }
        };
        match (released, &self.scope) {
            (Released::All, _) => Becomes::Ends,
            (Released::Node(node), Scope::Node(wanted)) if wanted == node => Becomes::Ends,
            (Released::Swarm(_, name, _), Scope::Swarm(wanted)) if wanted == name => Becomes::Ends,
            (Released::Drone(_, name, ..), Scope::Drone(wanted)) if wanted == name => Becomes::Ends,
            (Released::Swarm(uid, _, nodes), Scope::All | Scope::Selector) => except(*uid, nodes),
            (Released::Drone(uid, _, None, nodes), Scope::All | Scope::Selector) => except(*uid, nodes),
            // No Drone of a Swarm that is grounded as a whole flies alone.
            (Released::Drone(uid, _, Some(swarm), nodes), Scope::Selector) if !self.swarms.contains(swarm) => {
                except(*uid, nodes)
            }
            (Released::Node(node), _) if self.nodes.contains(*node) => {
                Becomes::Excepts(BTreeSet::from([(*node).to_owned()]))
            }
            _ => Becomes::Stays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(scope: Scope) -> Order {
        Order {
            scope,
            swarms: BTreeSet::new(),
            drones: BTreeSet::new(),
            nodes: BTreeSet::new(),
            exceptions: BTreeSet::new(),
            fleet_wide: false,
        }
    }

    const ALPHA: Subject<'_> = Subject {
        uid: "u-1",
        namespace: "north",
        name: "alpha-1",
        swarm: Some("alpha"),
        swarm_uid: Some("s-1"),
        node: Some("n1"),
    };

    const NEW: Subject<'_> = Subject {
        uid: "u-9",
        namespace: "north",
        name: "bravo-1",
        swarm: Some("bravo"),
        swarm_uid: Some("s-9"),
        node: None,
    };

    fn covers(order: &Order, drone: &Subject<'_>) -> bool {
        order.covers(drone, || false)
    }

    fn swarm_alpha() -> Order {
        order(Scope::Swarm(Name::new("north", "alpha")))
    }

    #[test]
    fn what_is_made_later_falls_under_it() {
        assert!(covers(&order(Scope::All), &NEW));
        let again = Subject {
            uid: "u-2",
            swarm_uid: Some("s-2"),
            ..ALPHA
        };
        assert!(
            covers(&swarm_alpha(), &again),
            "deleted, and applied again under its name"
        );
        let elsewhere = Subject {
            namespace: "south",
            ..ALPHA
        };
        assert!(!covers(&swarm_alpha(), &elsewhere) && !covers(&swarm_alpha(), &NEW));
        assert!(covers(&order(Scope::Drone(Name::new("north", "alpha-1"))), &ALPHA));
        assert!(!covers(&order(Scope::Drone(Name::new("north", "alpha-2"))), &ALPHA));
        assert!(covers(&order(Scope::Node("n1".into())), &ALPHA));
        assert!(!covers(&order(Scope::Node("n2".into())), &ALPHA) && !covers(&order(Scope::Node("n2".into())), &NEW));
    }

    #[test]
    fn what_a_selector_selected_once_stays_under_it_and_so_does_what_it_selects_now() {
        let mut by_label = order(Scope::Selector);
        assert!(by_label.covers(&NEW, || true));
        assert!(!by_label.covers(&ALPHA, || false));
        by_label.swarms.insert(Name::new("north", "alpha"));
        assert!(by_label.covers(&ALPHA, || false), "its label was taken off");
        by_label.drones.insert(Name::new("north", "bravo-1"));
        assert!(by_label.covers(&NEW, || false));
    }

    #[test]
    fn the_vehicle_of_a_grounded_swarm_serves_nobody_else() {
        let mut alpha = swarm_alpha();
        alpha.nodes.insert("n1".into());
        let other = Subject {
            node: Some("n1"),
            ..NEW
        };
        assert!(alpha.keeps("n1") && !alpha.keeps("n2"));
        assert!(covers(&alpha, &other), "somebody named the node");
        assert!(order(Scope::Node("n1".into())).keeps("n1"));
    }

    #[test]
    fn a_release_ends_what_it_is_for_and_takes_its_part_out_of_the_rest() {
        let swarm = || Released::Swarm(Some("s-1"), Name::new("north", "alpha"), vec!["n1".into()]);
        assert_eq!(swarm_alpha().released_for(&swarm(), true, true), Becomes::Ends);
        assert_eq!(
            order(Scope::Node("n1".into())).released_for(&swarm(), true, true),
            Becomes::Stays
        );
        let mut all = order(Scope::All);
        let Becomes::Excepts(more) = all.released_for(&swarm(), true, true) else {
            panic!("it goes on for the others")
        };
        all.exceptions = more;
        assert!(!covers(&all, &ALPHA) && covers(&all, &NEW));
        assert_eq!(all.released_for(&swarm(), true, true), Becomes::Stays, "said twice");
        let again = Subject {
            swarm_uid: Some("s-2"),
            uid: "u-2",
            ..ALPHA
        };
        assert!(covers(&all, &again), "a new one of that name was not released");
        for scope in [
            Scope::All,
            Scope::Selector,
            swarm_alpha().scope,
            Scope::Node("n1".into()),
        ] {
            assert_eq!(order(scope).released_for(&Released::All, true, true), Becomes::Ends);
        }
    }

    #[test]
    fn what_was_ordered_for_all_ends_in_no_part_by_who_may_not_release_the_fleet() {
        let swarm = Released::Swarm(Some("s-1"), Name::new("north", "alpha"), vec!["n1".into()]);
        for scope in [Scope::All, Scope::Selector] {
            let fleet_wide = Order {
                fleet_wide: true,
                ..order(scope)
            };
            assert_eq!(fleet_wide.released_for(&swarm, true, false), Becomes::Stays);
            assert!(matches!(
                fleet_wide.released_for(&swarm, true, true),
                Becomes::Excepts(_)
            ));
        }
        assert_eq!(swarm_alpha().released_for(&swarm, true, false), Becomes::Ends);
    }

    #[test]
    fn the_release_of_one_is_none_of_another() {
        let bravo = Released::Swarm(Some("s-9"), Name::new("north", "bravo"), vec![]);
        assert_eq!(swarm_alpha().released_for(&bravo, false, true), Becomes::Stays);
        assert_eq!(order(Scope::Selector).released_for(&bravo, false, true), Becomes::Stays);
        let drone = Released::Drone(
            Some("u-1"),
            Name::new("north", "alpha-1"),
            Some(Name::new("north", "alpha")),
            vec![],
        );
        assert_eq!(
            swarm_alpha().released_for(&drone, true, true),
            Becomes::Stays,
            "its Swarm is grounded as a whole"
        );
        assert_eq!(order(Scope::All).released_for(&drone, true, true), Becomes::Stays);
    }

    #[test]
    fn the_vehicle_of_a_node_is_let_go_by_the_release_of_the_node() {
        let mut alpha = swarm_alpha();
        alpha.nodes.insert("n1".into());
        let Becomes::Excepts(more) = alpha.released_for(&Released::Node("n1"), true, true) else {
            panic!("it goes on for the Swarm")
        };
        alpha.exceptions = more;
        assert!(!alpha.keeps("n1") && covers(&alpha, &ALPHA));
        assert_eq!(
            order(Scope::Node("n1".into())).released_for(&Released::Node("n1"), true, true),
            Becomes::Ends
        );
        assert_eq!(
            order(Scope::Node("n1".into())).released_for(&Released::Node("n2"), true, true),
            Becomes::Stays
        );
    }
}
