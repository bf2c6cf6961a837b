//! The kinds of Skein's resources: whatever lists them takes them from here.

use crate::{Drone, Geofence, GroundOrder, Mission, Operator, ParameterProfile, Swarm, Vehicle};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// One kind of resource.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The name under which the API server serves it (`spec.names.plural`).
    pub plural: &'static str,
    /// Its definition, from the Rust type.
    pub crd: fn() -> CustomResourceDefinition,
}

/// All kinds.
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
