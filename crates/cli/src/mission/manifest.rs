//! A Mission out of a YAML file, judged as an API server would judge it.

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
use plan_files::PlanFile;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A Mission, and the documents beside it.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub mission: Mission,
    documents: Vec<Value>,
}

/// What a Mission has to be flown.
pub(crate) enum Content {
    Route(Route),
    Survey(Box<Survey>),
    Plan(PlanFile),
}

impl Manifest {
    /// The Mission that is meant.
    pub fn of(args: &MissionFile) -> Result<Self, Failure> {
        let documents = yaml::documents(&read_file(&args.file)?, &args.file)?;
        let mission = read(&documents, args.mission.as_deref())?;
        Ok(Self { mission, documents })
    }

    /// A Mission that is no file.
    pub fn of_document(document: &Value) -> Result<Self, Failure> {
        let mission = judged(document)?;
        let documents = Vec::new();
        Ok(Self { mission, documents })
    }

    /// A Mission that is no file, and what it names, among `documents`.
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
        Ok(Content::Plan(plan_files::read(text).map_err(|error| failed(&error))?))
    }
}

/// The Mission with this name among the documents, or the only one.
pub(super) fn read(documents: &[Value], name: Option<&str>) -> Result<Mission, Failure> {
    let missions = documents.iter().filter(|document| document["kind"] == "Mission");
    let named = |mission: &&Value| name.is_none_or(|name| mission["metadata"]["name"] == name);
    let found: Vec<&Value> = missions.filter(named).collect();
    match (found.as_slice(), name) {
        ([mission], _) => judged(mission),
        ([], Some(name)) => Err(Failure::Failed(format!(
            "the file has no Mission {name}; correct --mission"
        ))),
        ([], None) => Err(Failure::Failed(
            "the file has no object of kind Mission; give one that has".to_owned(),
        )),
        ([..], _) => Err(Failure::Usage(format!(
            "the file has {} Missions; say which one with --mission NAME",
            found.len()
        ))),
    }
}

/// The object, if an API server would take it.
pub(crate) fn judged<K: CustomResourceExt + DeserializeOwned>(document: &Value) -> Result<K, Failure> {
    let definition = K::crd();
    let named = definition.spec.names.kind.clone();
    let mut document = document.clone();
    if definition.spec.scope == "Namespaced"
        && let Some(meta) = document.get_mut("metadata").and_then(Value::as_object_mut)
    {
        meta.entry("namespace").or_insert_with(|| json!("default"));
    }
    let crd = serde_json::to_value(definition).map_err(|error| failed(&error))?;
    let kinds = custom::resources(&crd).map_err(|error| failed(&error))?;
    let Some(kind) = kinds.first() else {
        return Err(Failure::Failed(format!(
            "the definition of {named} serves no version; this is a bug"
        )));
    };
    if document["apiVersion"] != kind.api_version().as_str() {
        return Err(Failure::Failed(format!(
            "the {named}'s apiVersion must be {}; correct it",
            kind.api_version()
        )));
    }
    let checker = Checker::new(kind).map_err(|error| failed(&error))?;
    let name = document["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let refused = |rejection| Failure::Failed(format!("{named} {name}: {}", words(rejection)));
    let read = checker.read(document).map_err(refused)?;
    if !read.unknown.is_empty() {
        return Err(Failure::Failed(format!(
            "{named} {name}: {}; correct or remove it",
            read.unknown.join(", ")
        )));
    }
    checker.check(&read.value, None, Subject::Main).map_err(refused)?;
    labels::possible_in(&read.value).map_err(|why| Failure::Failed(format!("{named} {name}: {why}; correct it")))?;
    serde_json::from_value(read.value).map_err(|error| failed(&error))
}

/// Why an object is refused, each fault with its field.
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

/// An error with what caused it.
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
