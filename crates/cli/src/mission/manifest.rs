//! A Mission out of a YAML file, judged as by an API server.

use super::read as read_file;
use super::yaml;
use crate::args::mission::MissionFile;
use crate::failure::Failure;
use crate::labels;
use crds::Mission;
use embedded_api::checker::{Checker, Rejection, Subject};
use embedded_api::kinds::custom;
use embedded_api::schema::cause::ROOT;
use fleet::planning::mission::Survey;
use kube::{CustomResourceExt, ResourceExt as _};
use model::plan::Route;
use plan_files::Plan;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

#[derive(Debug)]
pub(crate) struct Manifest {
    pub mission: Mission,
    documents: Vec<Value>,
}

pub(crate) enum Content {
    Route(Route),
    Survey(Box<Survey>),
    Plan(Box<Plan>),
}

impl Manifest {
    pub fn of(args: &MissionFile) -> Result<Self, Failure> {
        let documents = yaml::documents(&read_file(&args.file)?, &args.file)?;
        let mission = read(&documents, args.mission.as_deref())?;
        Ok(Self { mission, documents })
    }

    pub fn of_document(document: &Value) -> Result<Self, Failure> {
        let mission = judged(document)?;
        let documents = Vec::new();
        Ok(Self { mission, documents })
    }

    /// Includes the objects that the Mission names.
    pub fn of_documents(documents: Vec<Value>) -> Result<Self, Failure> {
        let mission = read(&documents, None)?;
        Ok(Self { mission, documents })
    }

    pub fn name(&self) -> String {
        self.mission.name_any()
    }

    pub fn content(&self) -> Result<Content, Failure> {
        let spec = &self.mission.spec;
        if let Some(route) = &spec.route {
            return Ok(Content::Route(route.to_route().map_err(|error| failed(&error))?));
        }
        if let Some(survey) = &spec.survey {
            return Ok(Content::Survey(Box::new(
                survey.to_survey().map_err(|error| failed(&error))?,
            )));
        }
        let Some(from) = &spec.plan_from else {
            return Err(Failure::Failed(
                "the Mission says nothing to fly; give spec.route or spec.survey".to_owned(),
            ));
        };
        let (name, key) = (&from.config_map_key_ref.name, &from.config_map_key_ref.key);
        let is_it =
            |document: &&Value| document["kind"] == "ConfigMap" && document["metadata"]["name"] == name.as_str();
        let map = self.documents.iter().find(is_it);
        let text = map.and_then(|map| map["data"].get(key)).and_then(Value::as_str);
        let text = text.ok_or_else(|| {
            Failure::Failed(format!(
                "the file has no ConfigMap {name} with key {key}, which spec.planFrom names; put it into the same file"
            ))
        })?;
        let plan = plan_files::read_plan(text).map_err(|error| failed(&error))?;
        Ok(Content::Plan(Box::new(plan)))
    }
}

fn read(documents: &[Value], name: Option<&str>) -> Result<Mission, Failure> {
    let missions = documents.iter().filter(|document| document["kind"] == "Mission");
    let named = |mission: &&Value| name.is_none_or(|name| mission["metadata"]["name"] == name);
    let found: Vec<&Value> = missions.filter(named).collect();
    match (found.as_slice(), name) {
        ([mission], _) => judged(mission),
        ([], Some(name)) => Err(Failure::Failed(format!(
            "the file has no Mission {name}; correct --mission"
        ))),
        ([], None) => Err(Failure::Failed(
            "the file has no object of kind Mission; of a ground station's file, `skein import` makes one".to_owned(),
        )),
        ([..], _) => Err(Failure::Usage(format!(
            "the file has {} Missions; say which one with --mission NAME",
            found.len()
        ))),
    }
}

pub(crate) fn judged<K: CustomResourceExt + DeserializeOwned>(document: &Value) -> Result<K, Failure> {
    Judge::default().judged(document)
}

/// Judges objects as an API server does. Compiling a schema's rules takes time, so each kind is compiled once.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    kinds: BTreeMap<&'static str, OfKind>,
}

#[derive(Debug)]
struct OfKind {
    name: String,
    api_version: String,
    is_namespaced: bool,
    checker: Checker,
}

impl Judge {
    pub fn judged<K: CustomResourceExt + DeserializeOwned>(&mut self, document: &Value) -> Result<K, Failure> {
        let of_kind = match self.kinds.entry(K::crd_name()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(OfKind::of::<K>()?),
        };
        serde_json::from_value(of_kind.taken(document)?).map_err(|error| failed(&error))
    }
}

impl OfKind {
    fn of<K: CustomResourceExt>() -> Result<Self, Failure> {
        let definition = K::crd();
        let name = definition.spec.names.kind.clone();
        let is_namespaced = definition.spec.scope == "Namespaced";
        let crd = serde_json::to_value(definition).map_err(|error| failed(&error))?;
        let kinds = custom::resources(&crd).map_err(|error| failed(&error))?;
        let Some(kind) = kinds.first() else {
            return Err(Failure::Failed(format!(
                "the definition of {name} serves no version; this is a bug"
            )));
        };
        Ok(Self {
            api_version: kind.api_version(),
            checker: Checker::new(kind).map_err(|error| failed(&error))?,
            name,
            is_namespaced,
        })
    }

    fn taken(&self, document: &Value) -> Result<Value, Failure> {
        let kind = &self.name;
        let mut document = document.clone();
        if self.is_namespaced
            && let Some(meta) = document.get_mut("metadata").and_then(Value::as_object_mut)
        {
            meta.entry("namespace").or_insert_with(|| json!("default"));
        }
        if document["apiVersion"] != self.api_version.as_str() {
            return Err(Failure::Failed(format!(
                "the {kind}'s apiVersion must be {}; correct it",
                self.api_version
            )));
        }
        let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let refused = |rejection| Failure::Failed(format!("{kind} {name}: {}", words(rejection)));
        let read = self.checker.read(document).map_err(refused)?;
        if !read.unknown.is_empty() {
            return Err(Failure::Failed(format!(
                "{kind} {name}: {}; correct or remove it",
                read.unknown.join(", ")
            )));
        }
        self.checker.check(&read.value, None, Subject::Main).map_err(refused)?;
        labels::possible_in(&read.value).map_err(|why| Failure::Failed(format!("{kind} {name}: {why}; correct it")))?;
        Ok(read.value)
    }
}

fn words(rejection: Rejection) -> String {
    let causes = match rejection {
        Rejection::Malformed(why) => return why,
        Rejection::Invalid(causes) => causes,
    };
    let (whole, fields): (Vec<_>, Vec<_>) = causes.into_iter().partition(|cause| cause.field == ROOT);
    let of_fields = fields.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
    // Rules of the whole object are checked once its fields are right.
    let of_whole = whole.iter().filter(|_| fields.is_empty());
    let of_whole = of_whole.map(|cause| cause.message.trim_start_matches("Invalid value: ").to_owned());
    of_fields.chain(of_whole).collect::<Vec<_>>().join("; ")
}

pub(crate) fn failed(error: &dyn std::error::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    Failure::Failed(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::Geofence;

    #[test]
    fn what_judges_a_kind_is_made_once_and_judges_each_object() {
        let mut judge = Judge::default();
        let fence = |radius: f64| {
            let center = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5});
            let circle = json!({"circle": {"center": center, "radiusMeters": radius}});
            json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": "Geofence", "metadata": {"name": "field"},
                "spec": {"vehicleSelector": {}, "include": [circle]},
            })
        };
        assert!(judge.judged::<Geofence>(&fence(100.0)).is_ok());
        let refused = judge.judged::<Geofence>(&fence(-1.0)).unwrap_err();
        assert!(refused.to_string().contains("radiusMeters"), "{refused}");
        assert!(judge.judged::<Geofence>(&fence(200.0)).is_ok());
        assert_eq!(judge.kinds.len(), 1);
        assert!(judge.judged::<Mission>(&fence(100.0)).is_err(), "it is of another kind");
        assert_eq!(judge.kinds.len(), 2);
    }
}
