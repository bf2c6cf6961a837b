//! Geofences and ParameterProfiles as domain types, and which vehicles they select.

use super::readable::{Readable, Unread};
use crds::geofence::{Area, Breach as AskedBreach, Point};
use crds::parameter_profile::{Enforce as AskedEnforce, Reboot, Settings};
use crds::{Geofence, ParameterProfile};
use fleet::planning::geofence::{Breach, Origin, Wanted, Window};
use fleet::planning::parameters::Profile;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{ObjectMeta, Selector, SelectorExt};
use kube::{Resource, ResourceExt};
use model::rules::{Enforce, Outline};
use model::units::{AltitudeAboveHome, Meters, Wgs84};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// By name.
    pub fences: Vec<Arc<Fence>>,
    /// By name.
    pub profiles: Vec<Arc<Values>>,
}

impl Objects {
    pub fn is_empty(&self) -> bool {
        self.fences.is_empty() && self.profiles.is_empty()
    }

    pub fn versions(&self) -> impl Iterator<Item = (String, i64)> {
        let fences = self.fences.iter().map(|fence| &fence.author);
        let profiles = self.profiles.iter().map(|values| &values.author);
        let version = |author: &Author| Some((author.uid.clone()?, author.generation));
        fences.chain(profiles).filter_map(version)
    }

    pub fn has_unreadable_selector(&self) -> bool {
        let fences = self.fences.iter().map(|fence| &fence.selects);
        let profiles = self.profiles.iter().map(|values| &values.selects);
        fences.chain(profiles).any(Selects::is_unreadable)
    }
}

/// Read and checked objects, once for each of their generations.
#[derive(Debug)]
pub struct Cache<T>(HashMap<String, (Version, Arc<T>)>);

/// uid and generation.
type Version = (Option<String>, i64);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Cache<T> {
    /// `objects` as `read` reads them, by name.
    pub fn all<K: Resource>(&mut self, objects: &[Arc<K>], read: impl Fn(&K) -> T) -> Vec<Arc<T>> {
        let mut before = std::mem::take(&mut self.0);
        for object in objects {
            let name = object.name_any();
            let version = (object.uid(), object.meta().generation.unwrap_or_default());
            let known = before.remove(&name).filter(|(of, _)| *of == version);
            let value = known.map_or_else(|| Arc::new(read(object)), |(_, value)| value);
            self.0.insert(name, (version, value));
        }
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, _)| name.as_str());
        all.into_iter().map(|(_, (_, value))| Arc::clone(value)).collect()
    }
}

/// The author of an object's present spec. An API server writes no names of users on objects, only of programs: the field manager that a
/// client gives itself. The user is in the audit log of the API server, under the same uid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    pub uid: Option<String>,
    /// `metadata.generation`: how often its spec was written.
    pub generation: i64,
    /// The manager of the last write of its spec, by `metadata.managedFields`.
    pub manager: Option<String>,
}

impl Author {
    pub fn of(object: &ObjectMeta) -> Self {
        let writes = object.managed_fields.iter().flatten().filter(|write| {
            let fields = write.fields_v1.as_ref();
            write.subresource.as_deref().unwrap_or_default().is_empty()
                && fields.is_some_and(|fields| fields.0.get("f:spec").is_some())
        });
        let last = writes.max_by_key(|write| write.time.as_ref().map(|time| time.0));
        Self {
            uid: object.uid.clone(),
            generation: object.generation.unwrap_or_default(),
            manager: last.and_then(|write| write.manager.clone()),
        }
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let (manager, uid) = (known(&self.manager), known(&self.uid));
        write!(f, "generation {} by manager {manager}, uid {uid}", self.generation)
    }
}

#[derive(Clone, Debug)]
pub struct Selects(Result<Selector, String>);

impl Selects {
    pub fn of(selector: &LabelSelector) -> Self {
        let parsed = Selector::try_from(selector.clone());
        Self(parsed.map_err(|why| format!("spec.vehicleSelector: {why}; use In, NotIn, Exists or DoesNotExist")))
    }

    /// Why it cannot be read.
    pub fn fault(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    fn of_unread(unread: &Unread) -> Self {
        let none = || Self(Err("spec.vehicleSelector cannot be read; correct it".to_owned()));
        unread.selector.as_ref().map_or_else(none, Self::of)
    }

    /// Whether it is unreadable, so that it may select any vehicle.
    pub const fn is_unreadable(&self) -> bool {
        self.0.is_err()
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.as_ref().is_ok_and(|selector| selector.matches(labels))
    }
}

#[derive(Clone, Debug)]
pub struct Fence {
    pub name: String,
    pub author: Author,
    pub selects: Selects,
    pub wanted: Arc<Wanted>,
    /// Its fault, whichever vehicle it selects.
    pub fault: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Values {
    pub author: Author,
    pub selects: Selects,
    pub profile: Profile,
    /// Vehicles changed at a time.
    pub most: u32,
    /// Unreadable: its values are unknown.
    pub is_unread: bool,
    /// Its fault, whichever vehicle it selects.
    pub fault: Option<String>,
}

fn unreadable(unread: &Unread) -> String {
    format!(
        "the object cannot be read, so no vehicle that it may select is armed under preflight Refuse: {}; correct it, or delete it",
        unread.why
    )
}

impl Fence {
    pub fn read(object: &Readable<Geofence>) -> Self {
        match object {
            Readable::Read(geofence) => Self::of(geofence),
            Readable::Unread(unread) => Self {
                name: object.name_any(),
                author: Author::of(&unread.metadata),
                selects: Selects::of_unread(unread),
                wanted: Arc::new(Wanted {
                    name: object.name_any(),
                    include: Vec::new(),
                    exclude: Vec::new(),
                    ceiling: None,
                    floor: None,
                    breach: Breach::default(),
                    windows: Vec::new(),
                    origin: Origin::Geofence,
                }),
                fault: Some(unreadable(unread)),
            },
        }
    }

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
            origin: Origin::Geofence,
        };
        let selects = Selects::of(&spec.vehicle_selector);
        // The API server admits no other; an older one might.
        let read = wanted.include.len() + wanted.exclude.len() == spec.include.len() + spec.exclude.len();
        let unread = (!read).then(|| "an area is neither a polygon nor a circle; give one of the two".to_owned());
        let fault = selects.0.as_ref().err().cloned().or(unread);
        let fault = fault.or_else(|| wanted.check().err().map(|why| why.to_string()));
        Self {
            name: wanted.name.clone(),
            author: Author::of(&geofence.metadata),
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
    pub fn read(object: &Readable<ParameterProfile>) -> Self {
        match object {
            Readable::Read(profile) => Self::of(profile),
            Readable::Unread(unread) => Self {
                author: Author::of(&unread.metadata),
                selects: Selects::of_unread(unread),
                profile: Profile {
                    name: object.name_any(),
                    ..Profile::default()
                },
                most: 1,
                is_unread: true,
                fault: Some(unreadable(unread)),
            },
        }
    }

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
            settings: spec.settings.as_ref().map(Settings::wanted).unwrap_or_default(),
        };
        let selects = Selects::of(&spec.vehicle_selector);
        let fault = selects.0.as_ref().err().cloned();
        let fault = fault.or_else(|| profile.check().err().map(|why| why.to_string()));
        Self {
            author: Author::of(&object.metadata),
            selects,
            profile,
            most: u32::try_from(spec.max_unavailable).unwrap_or(1).max(1),
            is_unread: false,
            fault,
        }
    }
}

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
