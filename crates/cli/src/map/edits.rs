//! Objects that are made or moved from the page: a Mission, a Geofence, the anchor of a Swarm's formation.

use super::document::slot_places;
use super::shapes;
use super::vehicles::fine;
use crate::live::objects::Objects;
use crate::mission::manifest::{Manifest, failed, judged};
use crate::mission::preview::{self, Preview};
use crds::{Geofence, Mission, Swarm};
use fleet::planning::mission::{Flier, Work};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use model::geo;
use model::units::Wgs84;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const MANAGER: &str = "skein-map";

const API_VERSION: &str = "skein.dev/v1alpha1";

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Asked {
    Mission(AskedMission),
    Geofence(AskedGeofence),
    Anchor(AskedAnchor),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedMission {
    namespace: String,
    name: String,
    spec: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedGeofence {
    name: String,
    spec: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskedAnchor {
    namespace: String,
    swarm: String,
    latitude_degrees: f64,
    longitude_degrees: f64,
    /// Unchanged if absent.
    heading_degrees: Option<f64>,
}

#[derive(Debug, Clone)]
pub enum Edit {
    Mission(Box<Mission>),
    Geofence(Box<Geofence>),
    Anchor {
        namespace: String,
        name: String,
        patch: Value,
    },
}

#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    what: String,
    yaml: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
    geojson: Value,
    warnings: Vec<String>,
}

/// Positions of vehicles that could take part in a Mission.
pub type Starts = Vec<Wgs84>;

pub struct Planned {
    mission: Box<Mission>,
    yaml: String,
    preview: Preview,
}

/// Takes time for a large area. Errors, as of all previews: in words, with advice.
pub fn planned(asked: AskedMission, starts: &[Wgs84]) -> Result<Planned, String> {
    let AskedMission { namespace, name, spec } = asked;
    let metadata = json!({"namespace": namespace, "name": name});
    let document = json!({"apiVersion": API_VERSION, "kind": "Mission", "metadata": metadata, "spec": spec});
    let manifest = Manifest::of_document(&document).map_err(|why| why.to_string())?;
    let parallelism = usize::try_from(manifest.mission.spec.parallelism).unwrap_or(1);
    let preview = preview::of(&manifest, |work| fliers(work, starts, parallelism)).map_err(|why| why.to_string())?;
    Ok(Planned {
        mission: Box::new(manifest.mission),
        yaml: yaml(&document)?,
        preview,
    })
}

/// Judged by the API server without a change, as the other previews.
pub async fn mission(planned: Planned, objects: &Objects) -> Result<(Edit, Shown), String> {
    let Planned { mission, yaml, preview } = planned;
    let (namespace, name) = (mission.namespace().unwrap_or_default(), mission.name_any());
    let api = Api::<Mission>::namespaced(objects.client.clone(), &namespace);
    objects
        .answered("create the Mission", api.create(&posting(true), &mission))
        .await?;
    let shown = Shown {
        what: format!("creates Mission {namespace}/{name}"),
        yaml,
        text: preview.numbers,
        geojson: preview.geojson,
        warnings: Vec::new(),
    };
    Ok((Edit::Mission(mission), shown))
}

/// The nearest of those vehicles, or `count` at the first place where none is known.
pub(super) fn fliers(work: &Work, starts: &[Wgs84], count: usize) -> Vec<Flier> {
    let Some(first) = work.track().points().first().map(|point| work.position(point.at)) else {
        return Vec::new();
    };
    let away = |start: &Wgs84| {
        let (east, north) = geo::offset(first, *start);
        east.hypot(north)
    };
    let mut near: Vec<Wgs84> = starts.to_vec();
    near.sort_by(|one, other| away(one).total_cmp(&away(other)));
    near.truncate(count);
    let missing = if near.is_empty() { count } else { 0 };
    let flier = |start| Flier {
        start,
        speed: None,
        endurance: None,
    };
    near.into_iter()
        .chain(std::iter::repeat_n(first, missing))
        .map(flier)
        .collect()
}

pub async fn geofence(asked: AskedGeofence, objects: &Objects) -> Result<(Edit, Shown), String> {
    let AskedGeofence { name, spec } = asked;
    let document = json!({"apiVersion": API_VERSION, "kind": "Geofence", "metadata": {"name": name}, "spec": spec});
    let fence: Geofence = judged(&document).map_err(|why| why.to_string())?;
    let api = Api::<Geofence>::all(objects.client.clone());
    objects
        .answered("create the Geofence", api.create(&posting(true), &fence))
        .await?;
    let feature = |kind: &str, area: &crds::geofence::Area| json!({"type": "Feature", "properties": {"kind": kind}, "geometry": shapes::fence(area)});
    let include = fence.spec.include.iter().map(|area| feature("include", area));
    let features: Vec<Value> = include
        .chain(fence.spec.exclude.iter().map(|area| feature("exclude", area)))
        .collect();
    let shown = Shown {
        what: format!("creates Geofence {name}"),
        yaml: yaml(&document)?,
        text: String::new(),
        geojson: collection(features),
        warnings: Vec::new(),
    };
    Ok((Edit::Geofence(Box::new(fence)), shown))
}

pub async fn anchor(asked: AskedAnchor, objects: &Objects) -> Result<(Edit, Shown), String> {
    let mut formation = json!({"anchor": {"latitudeDegrees": fine(asked.latitude_degrees), "longitudeDegrees": fine(asked.longitude_degrees)}});
    if let Some(heading) = asked.heading_degrees {
        formation["headingDegrees"] = json!(heading);
    }
    let patch = json!({"spec": {"formation": formation}});
    let (namespace, name) = (asked.namespace, asked.swarm);
    let api = Api::<Swarm>::namespaced(objects.client.clone(), &namespace);
    let now = objects.answered("read the Swarm", api.get(&name)).await?;
    if now
        .spec
        .formation
        .as_ref()
        .is_none_or(|formation| formation.anchor.is_none())
    {
        return Err(format!(
            "Swarm {namespace}/{name} has no formation with an anchor; change its points with kubectl"
        ));
    }
    let moved = objects
        .answered(
            "move the formation",
            api.patch(&name, &patching(true), &Patch::Merge(&patch)),
        )
        .await?;
    let (places, warnings) = match slot_places(&moved) {
        Ok(places) => (places, Vec::new()),
        Err(why) => (
            Vec::new(),
            vec![format!(
                "by the usual rules of a site the coordinator would refuse it: {why}"
            )],
        ),
    };
    let features = places.iter().enumerate().map(|(slot, place)| {
        let at = json!([place["longitudeDegrees"], place["latitudeDegrees"], place["altitudeMeters"]]);
        json!({"type": "Feature", "properties": {"kind": "slot", "slot": slot}, "geometry": {"type": "Point", "coordinates": at}})
    });
    let shown = Shown {
        what: format!("moves the formation of Swarm {namespace}/{name}: its vehicles FLY there"),
        yaml: yaml(&patch)?,
        text: String::new(),
        geojson: collection(features.collect()),
        warnings,
    };
    Ok((Edit::Anchor { namespace, name, patch }, shown))
}

pub async fn apply(edit: Edit, objects: &Objects) -> Result<String, String> {
    let client = objects.client.clone();
    match edit {
        Edit::Mission(mission) => {
            let (namespace, name) = (mission.namespace().unwrap_or_default(), mission.name_any());
            let api = Api::<Mission>::namespaced(client, &namespace);
            objects
                .answered("create the Mission", api.create(&posting(false), &mission))
                .await?;
            Ok(format!("Mission {namespace}/{name} created"))
        }
        Edit::Geofence(fence) => {
            let api = Api::<Geofence>::all(client);
            objects
                .answered("create the Geofence", api.create(&posting(false), &fence))
                .await?;
            Ok(format!("Geofence {} created", fence.name_any()))
        }
        Edit::Anchor { namespace, name, patch } => {
            let api = Api::<Swarm>::namespaced(client, &namespace);
            objects
                .answered(
                    "move the formation",
                    api.patch(&name, &patching(false), &Patch::Merge(&patch)),
                )
                .await?;
            Ok(format!("formation of Swarm {namespace}/{name} moved"))
        }
    }
}

fn posting(dry_run: bool) -> PostParams {
    PostParams {
        dry_run,
        field_manager: Some(MANAGER.to_owned()),
    }
}

fn patching(dry_run: bool) -> PatchParams {
    PatchParams {
        dry_run,
        ..PatchParams::apply(MANAGER)
    }
}

fn yaml(object: &Value) -> Result<String, String> {
    serde_saphyr::to_string(object).map_err(|why| failed(&why).to_string())
}

fn collection(features: Vec<Value>) -> Value {
    json!({"type": "FeatureCollection", "features": features})
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{Route, Waypoint};
    use model::station::Altitude;
    use model::units::AltitudeAboveHome;

    #[test]
    fn only_what_the_page_may_make_is_read() {
        let read = |asked: Value| serde_json::from_value::<Asked>(asked);
        assert!(
            read(json!({"anchor": {"namespace": "a", "swarm": "b", "latitudeDegrees": 1, "longitudeDegrees": 2}}))
                .is_ok()
        );
        assert!(read(json!({"geofence": {"name": "b", "spec": {}}})).is_ok());
        assert!(read(json!({"secret": {"name": "b", "spec": {}}})).is_err());
        assert!(read(json!({"geofence": {"name": "b", "spec": {}, "namespace": "x"}})).is_err());
    }

    #[test]
    fn a_mission_is_previewed_for_the_vehicles_that_are_nearest() {
        let at = |north| Wgs84 {
            latitude_deg: 47.0 + north,
            longitude_deg: 8.0,
        };
        let place = |north| Waypoint::passed(at(north), Altitude::AboveHome(AltitudeAboveHome(20.0)));
        let work = Work::of_route(&Route::new(vec![place(0.0), place(0.001)]).unwrap()).unwrap();
        let starts = [at(0.01), at(0.0005), at(0.002)];
        let chosen: Vec<f64> = fliers(&work, &starts, 2)
            .iter()
            .map(|flier| flier.start.latitude_deg)
            .collect();
        assert_eq!(chosen, [47.0005, 47.002]);
        assert_eq!(fliers(&work, &[], 3).len(), 3);
    }
}
