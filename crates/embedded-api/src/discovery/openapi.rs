//! OpenAPI v3 of objects and requests, for `kubectl explain` and for validation by clients: made when the index is
//! first requested, and kept, as kinds do not change while the program runs.

mod components;
mod paths;

use super::GIT_VERSION;
use crate::documents::fingerprint;
use crate::kinds::Registry;
use crate::resource::Resource;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub struct OpenApi {
    kinds: BTreeMap<String, Vec<Arc<Resource>>>,
    made: OnceLock<Made>,
}

#[derive(Debug)]
struct Made {
    index: Bytes,
    documents: BTreeMap<String, Bytes>,
}

impl OpenApi {
    #[must_use]
    pub fn new(registry: &Registry) -> Self {
        let mut kinds: BTreeMap<String, Vec<Arc<Resource>>> = BTreeMap::new();
        for kind in registry.iter() {
            kinds.entry(root(kind)).or_default().push(Arc::clone(kind));
        }
        Self {
            kinds,
            made: OnceLock::new(),
        }
    }

    #[must_use]
    pub fn index(&self) -> Bytes {
        self.made().index.clone()
    }

    /// `path` as in `api/v1` or `apis/coordination.k8s.io/v1`.
    #[must_use]
    pub fn document(&self, path: &str) -> Option<Bytes> {
        self.made().documents.get(path).cloned()
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(|| {
            let make = |(path, kinds): (&String, &Vec<Arc<Resource>>)| {
                (path.clone(), document(path, kinds).to_string().into())
            };
            let documents: BTreeMap<String, Bytes> = self.kinds.iter().map(make).collect();
            let link = |(path, document): (&String, &Bytes)| {
                let link = format!("/openapi/v3/{path}?hash={}", fingerprint::of(document));
                (path.clone(), json!({"serverRelativeURL": link}))
            };
            let links: Map<String, Value> = documents.iter().map(link).collect();
            Made {
                index: json!({"paths": links}).to_string().into(),
                documents,
            }
        })
    }
}

fn root(kind: &Resource) -> String {
    let prefix = if kind.group.is_empty() { "api" } else { "apis" };
    format!("{prefix}/{}", kind.api_version())
}

fn document(root: &str, kinds: &[Arc<Resource>]) -> Value {
    let mut all_paths = Map::new();
    for kind in kinds {
        paths::add(&mut all_paths, root, kind);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": all_paths,
        "components": {
            "schemas": components::schemas(kinds),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    })
}

#[cfg(test)]
mod tests;
