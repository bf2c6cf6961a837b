//! A kind of object for tests.

use crate::resource::{Resource, Verb};
use crate::schema::Schema;
use std::sync::Arc;

pub(in crate::verbs) fn thing(custom: bool) -> Resource {
    Resource {
        group: "a.dev".to_owned(),
        version: "v1".to_owned(),
        plural: "things".to_owned(),
        singular: "thing".to_owned(),
        kind: "Thing".to_owned(),
        list_kind: "ThingList".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: Verb::ALL.to_vec(),
        has_status: true,
        scale: None,
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: Arc::new(Schema::default()),
        custom,
        storage: "things".into(),
    }
}
