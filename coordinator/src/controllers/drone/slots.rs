//! Which Drones have a takeoff slot of their Swarm, by what is observed of them.

use crate::controllers::facts::{DroneSnapshot, Observer};
use fleet::planning::swarm::takeoff_slots::TakeoffSlots as SlotsOfSwarm;
use model::vehicle::FlightTruth;

/// Before the first slot is given: all Drones that have a vehicle count as up, until their agents have reported them on the
/// ground, and the leader before may have given a slot just now.
pub fn begin(observer: &Observer) {
    let now = observer.leadership.state.now();
    for drone in observer.world().all_drones(None) {
        let snapshot = DroneSnapshot::of(observer, drone);
        if snapshot.was_served() {
            observer.takeoff_slots.take_over(observer.world(), &snapshot.drone, now);
        }
    }
}

/// Takes in the snapshot of a Drone.
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
