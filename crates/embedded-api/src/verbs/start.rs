//! Opening: the kinds from their definitions, the store, and the objects that always exist.

use super::admission::{ServerFields, normalize_new, set_server_fields};
use super::core::{Core, Kind, parsed, rfc3339};
use super::write::NotWritten;
use super::{Options, facts, meta};
use crate::checker::Checker;
use crate::kinds::custom::{CrdError, as_served, resources};
use crate::kinds::{self, KindError, Registry};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::SchemaError;
use crate::store::{self, Object, Page, Store};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Definition(#[from] CrdError),
    #[error(transparent)]
    Kinds(#[from] KindError),
    #[error("the schema of {kind} cannot be used; correct its CustomResourceDefinition and start again")]
    Schema { kind: String, source: SchemaError },
    #[error(transparent)]
    Store(#[from] store::OpenError),
    #[error("the folder can be read, but not written: {0}")]
    NotWritten(Refusal),
    /// The runtime ended while the store was opened.
    #[error("the program ended before its objects were read")]
    Ended,
}

pub(super) async fn core(options: Options) -> Result<Core, OpenError> {
    let custom = options.crds.iter().map(resources).collect::<Result<Vec<_>, _>>()?;
    let registry = Registry::new(custom.into_iter().flatten().collect())?;
    let kinds = registry.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
    let facts = facts::reader(registry.iter().map(|resource| &**resource));
    let opening = store::Options {
        history: options.history,
        ..store::Options::new(options.folder)
    };
    let store = tokio::task::spawn_blocking(move || Store::open(opening, facts)).await;
    let core = Core::new(store.map_err(|_| OpenError::Ended)??, registry, kinds);
    namespaces(&core).await?;
    definitions(&core, &options.crds).await?;
    Ok(core)
}

fn kind(resource: &Arc<Resource>) -> Result<Kind, OpenError> {
    let checker = Checker::new(resource).map_err(|source| OpenError::Schema {
        kind: resource.qualified(),
        source,
    })?;
    Ok(Kind {
        resource: Arc::clone(resource),
        checker,
    })
}

async fn namespaces(core: &Core) -> Result<(), OpenError> {
    let Some(kind) = core.at("", "v1", "namespaces") else {
        return Ok(());
    };
    for name in NAMESPACES {
        let key = kind.key(None, name);
        if core.store.get(&key).is_some() {
            continue;
        }
        let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let (uid, now) = (Uuid::new_v4().to_string(), rfc3339(Timestamp::now()));
        let server_fields = ServerFields {
            namespace: None,
            uid: &uid,
            now: &now,
            random: 0,
        };
        normalize_new(&kind.resource, &mut namespace);
        set_server_fields(&kind.resource, &mut namespace, &server_fields);
        let stored = kinds::to_stored(&kind.resource, namespace);
        core.create(key, stored, false).await.map_err(not_written)?;
    }
    Ok(())
}

async fn definitions(core: &Core, documents: &[Value]) -> Result<(), OpenError> {
    let Some(kind) = core.at("apiextensions.k8s.io", "v1", "customresourcedefinitions") else {
        return Ok(());
    };
    for document in documents {
        let key = kind.key(None, meta::name(document));
        let there = core.store.get(&key);
        let before = there
            .as_deref()
            .map(parsed)
            .transpose()
            .map_err(OpenError::NotWritten)?;
        let (uid, made) = match &before {
            Some(before) => (meta::uid(before).to_owned(), created(before)),
            None => (Uuid::new_v4().to_string(), Timestamp::now()),
        };
        let mut document = as_served(document, &uid, made)?;
        let version = before.as_ref().map(|before| meta::resource_version(before).into());
        meta::put(meta::metadata_mut(&mut document), "resourceVersion", version);
        match there {
            None => core.create(key, document, false).await.map(drop),
            Some(there) if before.as_ref() != Some(&document) => core.replace(&there, document, false).await.map(drop),
            Some(_) => Ok(()),
        }
        .map_err(not_written)?;
    }
    let given = |object: &Object| {
        documents
            .iter()
            .any(|document| *meta::name(document) == *object.key.name)
    };
    let gone = core
        .store
        .list(&kind.resource.storage, None, &Page::default(), |object| !given(object));
    for object in gone.map(|listed| listed.objects).unwrap_or_default() {
        let last = parsed(&object).map_err(OpenError::NotWritten)?;
        core.remove(&object, last, false).await.map_err(not_written)?;
    }
    Ok(())
}

fn created(document: &Value) -> Timestamp {
    let text = meta::text(document, "/metadata/creationTimestamp");
    text.parse().unwrap_or_else(|_| Timestamp::now())
}

fn not_written(why: NotWritten) -> OpenError {
    match why {
        NotWritten::Refused(refusal) => OpenError::NotWritten(refusal),
        // No other writer exists yet.
        NotWritten::Conflict => OpenError::Ended,
    }
}
