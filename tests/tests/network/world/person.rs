//! The person of the simulation, who scales, deletes, cordons and grounds, and reads the status.

use super::{Run, SWARM};
use crate::station::PersonOrder;
use http::Method;
use rand::RngExt;
use serde_json::{Value, json};

impl Run<'_> {
    pub(super) fn scale(&mut self, replicas: u32) {
        self.replicas = replicas;
        self.note_desired();
        self.ask(Method::PATCH, SWARM, &json!({"spec": {"replicas": replicas}}));
    }

    pub(super) fn say(&self, word: PersonOrder) {
        // The station lives as long as the simulation.
        self.person.send(word).unwrap();
    }

    pub(super) fn ground(&mut self, grounded: bool) {
        self.grounded = grounded;
        self.ask(Method::PATCH, SWARM, &json!({"spec": {"grounded": grounded}}));
    }

    pub(super) fn cordon(&self, node: usize, cordoned: bool) {
        let path = format!("/api/v1/nodes/node-{node}");
        self.ask(Method::PATCH, &path, &json!({"spec": {"unschedulable": cordoned}}));
    }

    pub(super) fn person(&mut self) {
        if self.chance(0.01) {
            let most = match self.stations {
                None => u32::try_from(self.nodes.len()).unwrap(),
                Some(_) => 1,
            };
            let replicas = self.rng.random_range(0..=most);
            self.scale(replicas);
        }
        // A Drone that is no Swarm's heeds ground orders only.
        if self.chance(0.004) && self.stations.is_none() {
            self.ground(!self.grounded);
        }
        // It takes a while to fly to a station.
        let (speaks, grounds) = match self.stations {
            None => (0.008, 0.4),
            Some(_) => (0.004, 0.2),
        };
        if self.chance(speaks) {
            let word = if self.chance(grounds) {
                PersonOrder::Ground
            } else {
                PersonOrder::Release
            };
            self.oracle.tally.ground_orders += u32::from(word == PersonOrder::Ground);
            self.say(word);
        }
        if self.chance(0.01) {
            let (node, cordoned) = (self.any_node(), self.rng.random_bool(0.4));
            self.cordon(node, cordoned);
        }
        if self.chance(0.006) {
            let drones = self.drones();
            if !drones.is_empty() {
                let which = self.rng.random_range(0..drones.len());
                self.delete(&drones[which]);
            }
        }
        self.move_stations();
    }

    pub(super) fn drones(&self) -> Vec<Value> {
        let list = self.ask(Method::GET, "/apis/skein.dev/v1alpha1/drones", &Value::Null);
        list["items"].as_array().unwrap().clone()
    }

    pub(super) fn delete(&self, drone: &Value) {
        let name = drone["metadata"]["name"].as_str().unwrap();
        let path = format!("/apis/skein.dev/v1alpha1/namespaces/default/drones/{name}");
        self.ask(Method::DELETE, &path, &Value::Null);
    }

    /// Follows statuses: a Drone that a failsafe has landed, or that was grounded and released, has to be deleted to
    /// fly again; a vehicle that a failsafe has left in the air waits for `skein resume`.
    pub(super) fn see_to_what_failsafes_did(&self) {
        for drone in self.drones() {
            let conditions = drone["status"]["conditions"].as_array();
            let has = |reason: &str| conditions.is_some_and(|all| all.iter().any(|one| one["reason"] == reason));
            let vehicle = self.nodes.iter().find(|node| drone["spec"]["nodeName"] == node.name());
            let disarmed = vehicle.is_some_and(|node| !node.vehicle.armed());
            let is_over = has("FlightOver") || (has("TakenOver") && disarmed);
            if is_over && drone["metadata"]["deletionTimestamp"].is_null() {
                self.delete(&drone);
            }
            if let (true, Some(name)) = (has("TakenOver") && !disarmed, drone["metadata"]["name"].as_str()) {
                self.say(PersonOrder::Resume(name.to_owned()));
            }
        }
        // A Drone may be gone before the person could delete it.
        let vehicles = self.ask(Method::GET, "/apis/skein.dev/v1alpha1/vehicles", &Value::Null);
        for vehicle in vehicles["items"].as_array().into_iter().flatten() {
            let mut conditions = vehicle["status"]["conditions"].as_array().into_iter().flatten();
            if conditions.any(|one| one["reason"] == "StandsDown")
                && let Some(node) = vehicle["spec"]["nodeName"].as_str()
            {
                self.say(PersonOrder::ResumeVehicle(node.to_owned()));
            }
        }
    }
}
