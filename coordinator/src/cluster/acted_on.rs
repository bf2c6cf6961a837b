//! Which Geofences, ParameterProfiles and Missions the controllers act on, and in which generation.

use kube::ResourceExt;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// `metadata.generation` of each object by its uid, for each controller.
#[derive(Debug, Default)]
pub struct ActedOn(Mutex<HashMap<&'static str, HashMap<String, i64>>>);

impl ActedOn {
    /// The controller `by` acts on these objects (uid, generation), and on no others.
    pub fn put(&self, by: &'static str, objects: impl Iterator<Item = (String, i64)>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(by).or_default();
        known.clear();
        known.extend(objects);
    }

    /// Whether a controller acts on this generation of the object, or a newer one.
    pub fn has(&self, object: &impl ResourceExt) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        let known = all.values().find_map(|objects| objects.get(uid));
        known.is_some_and(|known| *known >= object.meta().generation.unwrap_or_default())
    }
}
