//! Geofences and ParameterProfiles as the domain has them, and which vehicles they select.
//!
//! Owns: reading the objects, and whose labels count: those of the Vehicle, and those of its Node where the Vehicle has none of that
//! key. Must not: compile or decide.

use crds::geofence::{Area, Breach as AskedBreach, Point};
use crds::parameter_profile::{Enforce as AskedEnforce, Reboot};
use crds::{Geofence, ParameterProfile};
use fleet::geofence::{Breach, Wanted, Window};
use fleet::parameters::Profile;
use fleet::rules::{Enforce, Outline};
use fleet::units::{AltitudeAboveHome, Meters, Wgs84};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which vehicles are meant.
#[derive(Clone, Debug)]
pub struct Selects(Result<Selector, String>);

impl Selects {
    /// Reads a selector.
    #[must_use]
    pub fn of(selector: &LabelSelector) -> Self {
        let parsed = Selector::try_from(selector.clone());
        Self(parsed.map_err(|why| format!("spec.vehicleSelector: {why}; use In, NotIn, Exists or DoesNotExist")))
    }

    /// Why it cannot be read, if it cannot.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    /// Whether it cannot be read, so that it may mean any.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        self.0.is_err()
    }

    /// Whether a vehicle with these labels is meant.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.as_ref().is_ok_and(|selector| selector.matches(labels))
    }
}

/// A Geofence.
#[derive(Clone, Debug)]
pub struct Fence {
    /// Its name.
    pub name: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Which vehicles it is for.
    pub selects: Selects,
    /// What it wants of them.
    pub wanted: Arc<Wanted>,
    /// What is wrong with it, whichever vehicle it selects.
    pub fault: Option<String>,
}

/// A ParameterProfile.
#[derive(Clone, Debug)]
pub struct Values {
    /// `metadata.generation`.
    pub generation: i64,
    /// Which vehicles it is for.
    pub selects: Selects,
    /// What it wants of them, and its name.
    pub profile: Profile,
    /// On how many at a time.
    pub most: u32,
    /// What is wrong with it, whichever vehicle it selects.
    pub fault: Option<String>,
}

impl Fence {
    /// Reads a Geofence.
    #[must_use]
    pub fn of(geofence: &Geofence) -> Self {
        let spec = &geofence.spec;
        let outlines = |areas: &[Area]| areas.iter().filter_map(outline).collect();
        let wanted = Wanted {
            name: geofence.name_any(),
            include: outlines(&spec.include),
            exclude: outlines(&spec.exclude),
            ceiling: spec.ceiling_meters.map(AltitudeAboveHome),
            floor: spec.floor_meters.map(AltitudeAboveHome),
            breach: match spec.breach {
                AskedBreach::Warn => Breach::Warn,
                AskedBreach::Hold => Breach::Hold,
                AskedBreach::Return => Breach::Return,
                AskedBreach::Land => Breach::Land,
            },
            windows: spec
                .windows
                .iter()
                .map(|window| Window {
                    from: window.from.as_ref().map(|time| time.0.as_second()),
                    until: window.until.as_ref().map(|time| time.0.as_second()),
                })
                .collect(),
        };
        let selects = Selects::of(&spec.vehicle_selector);
        // The API server lets none in that is neither; an older one might.
        let read = wanted.include.len() + wanted.exclude.len() == spec.include.len() + spec.exclude.len();
        let unread = (!read).then(|| "an area is neither a polygon nor a circle; give one of the two".to_owned());
        let fault = selects.0.as_ref().err().cloned().or(unread);
        let fault = fault.or_else(|| wanted.check().err().map(|why| why.to_string()));
        Self {
            name: wanted.name.clone(),
            generation: geofence.metadata.generation.unwrap_or_default(),
            selects,
            wanted: Arc::new(wanted),
            fault,
        }
    }
}

fn outline(area: &Area) -> Option<Outline> {
    let at = |point: &Point| Wgs84 {
        latitude_deg: point.latitude_degrees,
        longitude_deg: point.longitude_degrees,
    };
    match (&area.polygon, &area.circle) {
        (Some(polygon), None) => Some(Outline::Polygon(polygon.iter().map(at).collect())),
        (None, Some(circle)) => Some(Outline::Circle {
            center: at(&circle.center),
            radius: Meters(circle.radius_meters),
        }),
        _ => None,
    }
}

impl Values {
    /// Reads a ParameterProfile.
    #[must_use]
    pub fn of(object: &ParameterProfile) -> Self {
        let spec = &object.spec;
        let profile = Profile {
            name: object.name_any(),
            precedence: spec.precedence,
            enforce: match spec.enforce {
                AskedEnforce::Apply => Enforce::Apply,
                AskedEnforce::Report => Enforce::Report,
            },
            may_reboot: spec.reboot == Reboot::WhenIdle,
            ardupilot: spec.ardupilot.clone(),
            px4: spec.px4.clone(),
        };
        let selects = Selects::of(&spec.vehicle_selector);
        let fault = selects.0.as_ref().err().cloned();
        let fault = fault.or_else(|| profile.check().err().map(|why| why.to_string()));
        Self {
            generation: object.metadata.generation.unwrap_or_default(),
            selects,
            profile,
            most: u32::try_from(spec.max_unavailable).unwrap_or(1).max(1),
            fault,
        }
    }
}

/// The labels that count for a vehicle.
#[must_use]
pub fn labels(
    vehicle: Option<&BTreeMap<String, String>>,
    node: Option<&BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut labels = node.cloned().unwrap_or_default();
    labels.extend(
        vehicle
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    labels
}
