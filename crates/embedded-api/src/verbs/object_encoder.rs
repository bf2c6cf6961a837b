//! Objects in the representation that a client wants: whole, as a table, metadata only.

use super::answer;
use super::core::{Core, Kind, parsed};
use super::write::Written;
use crate::documents::accept::{Representation, Requested, Shape, choose};
use crate::documents::list::{ListMeta, assemble};
use crate::documents::partial;
use crate::documents::table::{Include, TableOptions};
use crate::kinds;
use crate::refusal::Refusal;
use crate::request::{Answer, ApiRequest};
use crate::store::Object;
use bytes::Bytes;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

pub(super) struct ObjectEncoder {
    core: Arc<Core>,
    kind: Arc<Kind>,
    pub(super) as_: Representation,
    include: Include,
}

impl ObjectEncoder {
    /// Errors: 406 when the client accepts nothing that is served.
    pub(super) fn of(
        core: &Arc<Core>,
        kind: &Arc<Kind>,
        request: &ApiRequest,
        requested: Requested,
    ) -> Result<Self, Refusal> {
        let as_ = choose(&request.accept, requested)?;
        let include = match as_.shape {
            Shape::Table(_) => Include::parse(request.query("includeObject"))?,
            _ => Include::None,
        };
        Ok(Self {
            core: Arc::clone(core),
            kind: Arc::clone(kind),
            as_,
            include,
        })
    }

    fn is_stored_form(&self) -> bool {
        self.as_.shape == Shape::Whole && self.core.registry.stored_as_shown(&self.kind.resource)
    }

    fn table_options(&self, version: &'static str, described: bool) -> TableOptions<'static> {
        TableOptions {
            version,
            include: self.include,
            described,
            now: Timestamp::now(),
        }
    }

    pub(super) fn stored(&self, object: &Object, described: bool) -> Result<Bytes, Refusal> {
        if self.is_stored_form() {
            return Ok(object.json.clone());
        }
        Ok(self.shown(&self.core.shown(&self.kind.resource, object)?, described))
    }

    pub(super) fn converted(&self, value: Value, described: bool) -> Bytes {
        self.shown(&kinds::to_shown(&self.kind.resource, value), described)
    }

    fn shown(&self, value: &Value, described: bool) -> Bytes {
        match self.as_.shape {
            Shape::Table(version) => match self.core.registry.printer(&self.kind.resource) {
                Some(printer) => printer.object(value, &self.table_options(version, described)),
                None => value.to_string().into(),
            },
            Shape::Partial(version) | Shape::PartialList(version) => partial::object(value, version).to_string().into(),
            Shape::Whole | Shape::AggregatedDiscovery => value.to_string().into(),
        }
    }

    pub(super) fn object(&self, code: StatusCode, object: &Object) -> Result<Answer, Refusal> {
        Ok(answer::document(code, self.as_, self.stored(object, true)?))
    }

    pub(super) fn written(&self, code: StatusCode, written: Written) -> Result<Answer, Refusal> {
        match written {
            Written::Stored(object) => self.object(code, &object),
            Written::Unstored(value) => Ok(answer::document(code, self.as_, self.converted(value, true))),
        }
    }

    pub(super) fn list(&self, objects: &[Arc<Object>], meta: &ListMeta) -> Result<Answer, Refusal> {
        let resource = &self.kind.resource;
        let json = if self.is_stored_form() {
            let items: Vec<&[u8]> = objects.iter().map(|object| &*object.json).collect();
            assemble(resource, meta, &items)
        } else {
            let shown = objects.iter().map(|object| self.core.shown(resource, object));
            let shown = shown.collect::<Result<Vec<Value>, Refusal>>()?;
            match (self.as_.shape, self.core.registry.printer(resource)) {
                (Shape::Table(version), Some(printer)) => {
                    printer.list(&shown, meta, &self.table_options(version, true))
                }
                (Shape::PartialList(version), _) => partial::list(&shown, meta, version),
                _ => {
                    let items: Vec<String> = shown.iter().map(Value::to_string).collect();
                    assemble(resource, meta, &items)
                }
            }
        };
        Ok(answer::document(StatusCode::OK, self.as_, json))
    }

    /// A past state with a later revision: a watcher gets it for an object that it no longer selects.
    pub(super) fn deselected(&self, object: &Object, revision: u64, described: bool) -> Result<Bytes, Refusal> {
        let mut value = parsed(object)?;
        super::meta::metadata_mut(&mut value).insert("resourceVersion".to_owned(), revision.to_string().into());
        Ok(self.converted(value, described))
    }
}
