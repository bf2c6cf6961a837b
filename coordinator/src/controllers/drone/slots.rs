//! Takeoff slots of Drones, by what is observed of them.

use crate::controllers::facts::{DroneSnapshot, Observer};
use fleet::planning::swarm::takeoff_slots::TakeoffSlots as SlotsOfSwarm;
use model::vehicle::FlightTruth;

/// At first all Drones that have a vehicle count as up until their agents report otherwise: the previous leader may just have given a slot.
pub fn begin(observer: &Observer) {
    let now = observer.leadership.state.now();
    for drone in observer.world().all_drones(None) {
        let snapshot = DroneSnapshot::of(observer, drone);
        if snapshot.was_served() {
            observer.takeoff_slots.take_over(observer.world(), &snapshot.drone, now);
        }
    }
}

pub fn observe(observer: &Observer, snapshot: &DroneSnapshot) {
    let (slots, world) = (&observer.takeoff_slots, observer.world());
    if !snapshot.was_served() {
        if snapshot.facts.deleting {
            slots.forget(world, &snapshot.drone);
        }
        return;
    }
    match snapshot.facts.truth {
        Some(FlightTruth::Disarmed) if snapshot.wants_flight() => {
            slots.change(world, &snapshot.drone, SlotsOfSwarm::on_ground)
        }
        Some(FlightTruth::Disarmed) => slots.forget(world, &snapshot.drone),
        Some(FlightTruth::ArmedOnGround) => slots.change(world, &snapshot.drone, SlotsOfSwarm::armed),
        Some(FlightTruth::Airborne(_) | FlightTruth::Unknown(_)) | None => {
            slots.change(world, &snapshot.drone, SlotsOfSwarm::up)
        }
    }
}
