//! The rules of each node, for the other controllers.

use crds::vehicle::VehicleRules;
use fleet::planning::geofence::{Origin, Outside, Wanted, WayOutside, outside, way_outside};
use model::ids::{DroneName, NodeName};
use model::rules::RulesDigest;
use model::units::{AltitudeAboveHome, Wgs84};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The digest for an agent whose rules cannot be made: it holds none of that name, so it does not arm where rules have to be in force.
pub const UNMADE: &str = "00000000000000000000000000000000";

/// One for a leadership.
#[derive(Debug, Default)]
pub struct NodeRules(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    complete: bool,
    any: bool,
    nodes: HashMap<NodeName, OfNode>,
    counts: BTreeMap<&'static str, Counts>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfNode {
    /// Has to be in force before its vehicle is armed.
    pub named: Option<RulesDigest>,
    /// The Drone that was on the node then: values may depend on it.
    pub drone: Option<DroneName>,
    /// Its Geofences, and those that its autopilot keeps besides.
    pub fences: Vec<Arc<Wanted>>,
    /// For its Vehicle; `None` while it is not heard here: the Vehicle then keeps what it shows.
    pub shown: Option<ShownRules>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShownRules(pub Option<VehicleRules>);

/// Vehicles by whether the rules are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub in_force: usize,
    /// Time helps.
    pub not_yet: usize,
    pub stuck: usize,
}

impl Counts {
    pub const fn add(&mut self, others: Self) {
        self.in_force += others.in_force;
        self.not_yet += others.not_yet;
        self.stuck += others.stuck;
    }
}

impl OfNode {
    /// Equal in all that Drones and routes depend on.
    fn is_as(&self, other: &Self) -> bool {
        (&self.named, &self.drone, &self.fences) == (&other.named, &other.drone, &other.fences)
    }
}

impl NodeRules {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all objects and all Vehicles are known.
    pub fn is_complete(&self) -> bool {
        self.lock().complete
    }

    /// Whether it is known which Geofences hold for `node` (invariant 18).
    pub fn knows(&self, node: &NodeName) -> bool {
        let known = self.lock();
        known.complete && (!known.any || known.nodes.contains_key(node))
    }

    /// The digest that `node` needs before arming. While unknown, one that is never in force if it may not arm without (`strict`).
    pub fn named(&self, node: &NodeName, drone: &DroneName, strict: bool) -> Option<RulesDigest> {
        let known = self.lock();
        match known.nodes.get(node) {
            // Also where no object selects it: one that was made with the Drone may not have been reconciled yet.
            Some(of) if strict && of.drone.as_ref() != Some(drone) => Some(RulesDigest(UNMADE.to_owned())),
            Some(of) => of.named.clone(),
            None if known.complete && !known.any => None,
            None => strict.then(|| RulesDigest(UNMADE.to_owned())),
        }
    }

    /// Whether the Geofences of `node` allow its vehicle to hold there; the error names the one that does not, and what to do.
    pub fn allow(&self, node: &NodeName, at: Option<Wgs84>, height: Option<AltitudeAboveHome>) -> Result<(), Outside> {
        let known = self.lock();
        let Some(of) = known.nodes.get(node) else { return Ok(()) };
        let wanted: Vec<&Wanted> = of.fences.iter().map(AsRef::as_ref).collect();
        outside(&wanted, at, height)
    }

    pub fn allow_change(&self, node: &NodeName, altitude: AltitudeAboveHome) -> Result<(), Outside> {
        if !self.knows(node) {
            return Err(Outside::Unknown);
        }
        self.allow(node, None, Some(altitude))?;
        let fences = self.fences_of(node);
        let is_unknown = fences.iter().any(|wanted| wanted.origin == Origin::Unknown);
        if is_unknown { Err(Outside::Unknown) } else { Ok(()) }
    }

    pub fn allow_way(&self, node: &NodeName, places: &[(Wgs84, AltitudeAboveHome)]) -> Result<(), WayOutside> {
        let known = self.lock();
        let Some(of) = known.nodes.get(node) else { return Ok(()) };
        let wanted: Vec<&Wanted> = of.fences.iter().map(AsRef::as_ref).collect();
        way_outside(&wanted, places)
    }

    pub fn fences_of(&self, node: &NodeName) -> Vec<Arc<Wanted>> {
        let known = self.lock();
        known.nodes.get(node).map(|of| of.fences.clone()).unwrap_or_default()
    }

    /// The Geofences that hold for each node, where there are any: no route leads out of them.
    pub fn fences(&self) -> BTreeMap<NodeName, Vec<Arc<Wanted>>> {
        let known = self.lock();
        let fenced = known.nodes.iter().filter(|(_, of)| !of.fences.is_empty());
        fenced.map(|(node, of)| (node.clone(), of.fences.clone())).collect()
    }

    /// Vehicles by kind of object and state.
    pub fn states(&self) -> Vec<(&'static str, &'static str, usize)> {
        let known = self.lock();
        let kinds = ["Geofence", "ParameterProfile"].into_iter();
        let states = kinds.flat_map(|kind| {
            let of = known.counts.get(kind).copied().unwrap_or_default();
            [
                (kind, "in_force", of.in_force),
                (kind, "not_yet", of.not_yet),
                (kind, "needs_somebody", of.stuck),
            ]
        });
        states.collect()
    }

    pub fn count(&self, counts: BTreeMap<&'static str, Counts>) {
        self.lock().counts = counts;
    }

    /// Replaces all nodes; returns those whose change concerns Drones and routes. `any`: whether there are objects.
    pub fn update(&self, nodes: HashMap<NodeName, OfNode>, any: bool) -> Vec<NodeName> {
        let mut known = self.lock();
        known.complete = true;
        known.any = any;
        let old = std::mem::replace(&mut known.nodes, nodes);
        // A new one also where it has none: its Drone waits to know that.
        let nodes = known.nodes.iter();
        let changed = nodes.filter(|(node, of)| old.get(*node).is_none_or(|before| !of.is_as(before)));
        changed.map(|(node, _)| node.clone()).collect()
    }

    /// `None`: its Vehicle keeps what it shows.
    pub fn shown(&self, node: &NodeName) -> Option<ShownRules> {
        self.lock().nodes.get(node)?.shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::planning::geofence::Breach;

    #[test]
    fn a_drone_that_requires_rules_is_held_back_until_those_of_its_node_are_known() {
        let (rules, node) = (NodeRules::default(), NodeName::parse("n1").unwrap());
        let unmade = Some(RulesDigest(UNMADE.to_owned()));
        let drone = |name: &str| DroneName {
            namespace: "field".to_owned(),
            name: name.to_owned(),
        };
        let one = drone("one");
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &one, false)),
            (unmade.clone(), None)
        );
        rules.lock().complete = true;
        assert_eq!(rules.named(&node, &one, true), None, "there are none");
        rules.lock().any = true;
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &one, false)),
            (unmade.clone(), None)
        );
        let low = Wanted {
            name: "low".to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            ceiling: Some(AltitudeAboveHome(30.0)),
            floor: None,
            breach: Breach::Return,
            windows: Vec::new(),
            origin: Origin::Geofence,
        };
        let of = OfNode {
            named: unmade.clone(),
            drone: Some(one.clone()),
            fences: vec![Arc::new(low)],
            shown: None,
        };
        assert_eq!(rules.allow(&node, None, Some(AltitudeAboveHome(28.0))), Ok(()));
        rules.lock().nodes.insert(node.clone(), of);
        assert_eq!(
            rules.named(&node, &one, false),
            unmade,
            "what cannot be made is named to all"
        );
        let made = Some(RulesDigest("made".to_owned()));
        if let Some(of) = rules.lock().nodes.get_mut(&node) {
            of.named.clone_from(&made);
        }
        assert_eq!(rules.named(&node, &one, true), made);
        assert_eq!(
            rules.named(&node, &drone("next"), true),
            unmade,
            "they were made for the one before"
        );
        if let Some(of) = rules.lock().nodes.get_mut(&node) {
            of.named = None;
        }
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &drone("next"), true)),
            (None, unmade),
            "some may have been made with the next, and are reconciled first"
        );
        assert_eq!(rules.allow(&node, None, Some(AltitudeAboveHome(26.0))), Ok(()));
        let refused = rules.allow(&node, None, Some(AltitudeAboveHome(28.0))).unwrap_err();
        assert!(
            refused.to_string().contains("the ceiling of Geofence low is 30 m"),
            "{refused}"
        );
    }
}
