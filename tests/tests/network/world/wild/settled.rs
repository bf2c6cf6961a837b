//! Whether all is as declared once nothing is edited any more, or an object says why it is not. Must not: wait.

use super::edits;
use super::fences::{FIELD, selects};
use super::hours::Hours;
use super::profiles::{APPLIED, REPORTED};
use crate::oracle::rules::{GEOFENCES, has_fence_of, is_on_all};
use crate::station::PersonOrder;
use crate::world::Run;
use crate::world::gate::condition;
use crate::world::rules::PROFILES;
use http::Method;
use serde_json::{Value, json};

const VEHICLES: &str = "/apis/skein.dev/v1alpha1/vehicles";
/// Part of the message for a vehicle outside a former fence.
const ADVICE: &str = "land the vehicle";

impl Run<'_> {
    pub(in crate::world) fn settle_the_wild(&mut self) {
        if self.wild.is_none() {
            return;
        }
        self.fill_the_hole();
        let field = json!({"vehicleSelector": edits::of_all_here(), "include": edits::field(), "exclude": null,
            "ceilingMeters": null, "floorMeters": null, "windows": null, "breach": "Return"});
        self.edit(&format!("{GEOFENCES}/{FIELD}"), &json!({"spec": field}));
        let applied = json!({"vehicleSelector": edits::of_all_here(), "enforce": "Apply"});
        self.edit(&format!("{PROFILES}/{APPLIED}"), &json!({"spec": applied}));
        self.settle_the_swarm();
        self.settle_the_lent_one();
    }

    pub(in crate::world) fn look_after_the_wild(&mut self) {
        if let Some(mut wild) = self.wild.take() {
            self.say(PersonOrder::Release);
            self.ask_for_the_far_one();
            self.ask_for_the_lent_one();
            self.tend_batteries(&mut wild);
            self.follow_the_advice();
            self.wild = Some(wild);
        }
    }

    /// Where the fence that an autopilot keeps in the air is in the way, its vehicle is landed.
    fn follow_the_advice(&mut self) {
        for drone in self.drones() {
            let ready = condition(&drone, "Ready").and_then(|ready| ready["message"].as_str());
            if ready.is_some_and(|message| message.contains(ADVICE)) && drone["metadata"]["deletionTimestamp"].is_null()
            {
                self.tell(&format!("Drone {} is landed, as it says", drone["metadata"]["name"]));
                self.delete(&drone);
            }
        }
    }

    pub(in crate::world) fn is_not_settled(&self) -> Option<String> {
        self.wild.as_ref()?;
        self.far_one_is_missing()
            .or_else(|| self.swarm_is_not_covered())
            .or_else(|| self.lent_one_is_missing())
            .or_else(|| self.rules_are_not_said(GEOFENCES, FIELD))
            .or_else(|| self.rules_are_not_said(PROFILES, APPLIED))
            .or_else(|| self.rules_are_not_said(PROFILES, REPORTED))
            .or_else(|| self.fence_is_not_as_said())
    }

    /// An object of rules that says neither that it is in force on all, nor on which it is not and why.
    fn rules_are_not_said(&self, path: &str, name: &str) -> Option<String> {
        let object = self.ask(Method::GET, &format!("{path}/{name}"), &Value::Null);
        let status = &object["status"];
        let current = status["observedGeneration"] == object["metadata"]["generation"];
        let unsettled = status["unsettled"].as_array();
        let says = |one: &Value, field: &str| one[field].as_str().is_some_and(|text| !text.is_empty());
        let says_why = unsettled
            .is_some_and(|all| !all.is_empty() && all.iter().all(|one| says(one, "reason") && says(one, "message")));
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let is_refused = conditions.any(|one| one["status"] == "False" && says(one, "reason") && says(one, "message"));
        let is_said = current && (is_on_all(&object) || says_why || is_refused);
        (!is_said).then(|| format!("{path}/{name} does not say on which vehicle it is not in force, and why: {status}"))
    }

    /// A vehicle on the ground that does not have the fence which its object reports in force.
    fn fence_is_not_as_said(&self) -> Option<String> {
        let fence = self.ask(Method::GET, &format!("{GEOFENCES}/{FIELD}"), &Value::Null);
        let unsettled = fence["status"]["unsettled"].as_array();
        let vehicles = self.list(VEHICLES);
        self.nodes.iter().find_map(|node| {
            if node.vehicle.armed() || !selects(&fence["spec"]["vehicleSelector"], self.kind_of(node.number)) {
                return None;
            }
            let mut own = vehicles
                .iter()
                .filter(|vehicle| vehicle["spec"]["nodeName"] == node.name());
            let name = &own.next()?["metadata"]["name"];
            if unsettled.is_some_and(|all| all.iter().any(|one| one["name"] == *name)) {
                return None;
            }
            let why = has_fence_of(&node.vehicle, &fence).err()?;
            Some(format!(
                "Geofence {FIELD} is said to be in force on {}, and {why}",
                node.name()
            ))
        })
    }

    pub(in crate::world) fn wild_account(&self) -> String {
        let Some(wild) = &self.wild else {
            return String::new();
        };
        let liar = wild
            .liar
            .as_ref()
            .map_or_else(|| "no lies".to_owned(), |liar| liar.account());
        let hours = wild.hours.as_ref().map_or_else(String::new, Hours::account);
        format!(
            "; {} holes, {:.3} vehicle-hours judged by Geofences, {liar}; {}{hours}",
            wild.fences.came,
            wild.fences.judged.as_secs_f64() / 3600.0,
            self.oracle.lent.account()
        )
    }
}
