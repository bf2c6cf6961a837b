//! How a changed template reaches a Swarm's Drones: a few at a time, without landing a vehicle.

use super::Serving;
use model::ids::DroneUid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub uid: DroneUid,
    /// The tie-break.
    pub name: String,
    pub serving: Serving,
    /// Its spec is not what the template says.
    pub outdated: bool,
    /// Its spec has changed and its agent has not been observed to act on that.
    pub changing: bool,
}

/// Drones that get the template's spec now: all that do not fly, and by name so many others that at most `at_once` in the air change.
pub fn due(drones: &[Update], at_once: usize) -> Vec<DroneUid> {
    let flies = |d: &Update| matches!(d.serving, Serving::Flying { .. } | Serving::Unknown);
    let mut room = at_once.saturating_sub(drones.iter().filter(|d| d.changing && flies(d)).count());
    let mut outdated: Vec<&Update> = drones.iter().filter(|d| d.outdated && !d.changing).collect();
    outdated.sort_by(|a, b| a.name.cmp(&b.name));
    let mut chosen = vec![];
    for drone in outdated {
        if !flies(drone) {
            chosen.push(drone.uid.clone());
        } else if drone.serving != Serving::Unknown && room > 0 {
            room -= 1;
            chosen.push(drone.uid.clone());
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drone(name: &str, serving: Serving, outdated: bool, changing: bool) -> Update {
        Update {
            uid: DroneUid(name.into()),
            name: name.into(),
            serving,
            outdated,
            changing,
        }
    }

    const UP: Serving = Serving::Flying { battery: None };

    fn names(drones: &[Update], at_once: usize) -> Vec<String> {
        due(drones, at_once).into_iter().map(|uid| uid.0).collect()
    }

    #[test]
    fn those_in_the_air_change_one_after_the_other_and_those_on_the_ground_at_once() {
        let mut drones = vec![
            drone("c", UP, true, false),
            drone("b", UP, true, false),
            drone("e", Serving::OnGround, true, false),
            drone("d", Serving::NoVehicle, true, false),
            drone("a", UP, false, false),
        ];
        assert_eq!(names(&drones, 1), ["b", "d", "e"]);
        drones[1] = drone("b", UP, false, true);
        assert_eq!(names(&drones, 1), ["d", "e"], "b is still changing");
        assert_eq!(names(&drones, 2), ["c", "d", "e"]);
        drones[1] = drone("b", UP, false, false);
        assert_eq!(names(&drones, 1), ["c", "d", "e"]);
    }

    #[test]
    fn a_vehicle_of_unknown_state_is_not_changed_and_one_lost_in_a_change_holds_others() {
        let drones = [drone("a", Serving::Unknown, true, false), drone("b", UP, true, false)];
        assert_eq!(names(&drones, 1), ["b"]);
        let drones = [drone("a", Serving::Unknown, false, true), drone("b", UP, true, false)];
        assert_eq!(names(&drones, 1), [""; 0]);
    }
}
