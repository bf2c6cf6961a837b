//! The kinds of Skein's resources, for everything that lists them.

use crate::{Drone, Geofence, GroundOrder, Mission, Operator, ParameterProfile, Swarm, Vehicle};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name on the API server (`spec.names.plural`).
    pub plural: &'static str,
    pub crd: fn() -> CustomResourceDefinition,
}

pub const ALL: [Kind; 8] = [
    Kind {
        plural: "swarms",
        crd: Swarm::crd,
    },
    Kind {
        plural: "drones",
        crd: Drone::crd,
    },
    Kind {
        plural: "groundorders",
        crd: GroundOrder::crd,
    },
    Kind {
        plural: "vehicles",
        crd: Vehicle::crd,
    },
    Kind {
        plural: "geofences",
        crd: Geofence::crd,
    },
    Kind {
        plural: "parameterprofiles",
        crd: ParameterProfile::crd,
    },
    Kind {
        plural: "missions",
        crd: Mission::crd,
    },
    Kind {
        plural: "operators",
        crd: Operator::crd,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_listed_under_the_name_by_which_it_is_served() {
        for kind in ALL {
            assert_eq!((kind.crd)().spec.names.plural, kind.plural);
        }
    }
}
