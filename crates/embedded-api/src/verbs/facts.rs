//! Facts that the store keeps of an object beside its bytes: labels, owners, the fields for selectors.

use super::meta;
use crate::resource::Resource;
use crate::resource::at;
use crate::store::{Facts, FactsFn, Key};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

type Paths = HashMap<Arc<str>, Vec<Arc<str>>>;

#[must_use]
pub fn reader<'a>(kinds: impl Iterator<Item = &'a Resource>) -> FactsFn {
    let mut paths = Paths::new();
    for resource in kinds {
        let of_kind = paths.entry(Arc::clone(&resource.storage)).or_default();
        // Another form of the same objects has other field names; fields that it cannot name are in no object.
        for path in &resource.selectable_fields {
            if !of_kind.iter().any(|known| **known == **path) {
                of_kind.push(path.as_str().into());
            }
        }
    }
    Arc::new(move |key, object| read(&paths, key, object))
}

fn read(paths: &Paths, key: &Key, object: &Value) -> Facts {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let of_kind = paths.get(&key.resource).into_iter().flatten();
    let (owners, finalizers, deleting) = (
        meta::owners(object),
        meta::finalizers(object),
        meta::is_deleting(object),
    );
    let blocks = owners.iter().filter(|owner| owner.blocks);
    Facts {
        uid: meta::uid(object).into(),
        labels: labels
            .filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
            .collect(),
        fields: of_kind
            .filter_map(|path| Some((Arc::clone(path), field(object, path)?.into())))
            .collect(),
        blocks: blocks.map(|owner| owner.uid.as_str().into()).collect(),
        owners: owners.iter().map(|owner| owner.uid.as_str().into()).collect(),
        deleting,
        finalizers: !finalizers.is_empty(),
        waits: deleting && finalizers.contains(&meta::FOREGROUND),
    }
}

/// Value as selectors compare it; `None` when it cannot be compared.
fn field(object: &Value, path: &str) -> Option<String> {
    // An Event's source is the component, under either of its two names.
    let value = match path {
        "source" => at(object, "source.component").or_else(|| at(object, "reportingComponent")),
        _ => at(object, path),
    };
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::testing;
    use serde_json::json;

    fn facts(object: &Value) -> Facts {
        let resource = Resource {
            selectable_fields: ["spec.nodeName", "spec.grounded", "spec.count", "source"]
                .map(str::to_owned)
                .to_vec(),
            ..testing::thing(true)
        };
        reader([&resource].into_iter())(&Key::new("things", "x", "a"), object)
    }

    #[test]
    fn facts_of_an_object_are_read_from_it() {
        let object = json!({
            "metadata": {
                "uid": "u-1", "labels": {"camera": "thermal"}, "finalizers": ["a.dev/x"],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{"uid": "o-1"}, {"uid": "o-2", "blockOwnerDeletion": true}],
            },
            "spec": {"nodeName": "n-1", "grounded": true, "count": 3, "other": "x"},
            "source": {"component": "me"},
        });
        let facts = facts(&object);
        assert_eq!(&*facts.uid, "u-1");
        assert_eq!(facts.label("camera"), Some("thermal"));
        assert_eq!(facts.field("spec.nodeName"), Some("n-1"));
        assert_eq!(facts.field("spec.grounded"), Some("true"));
        assert_eq!(facts.field("spec.count"), Some("3"));
        assert_eq!(facts.field("source"), Some("me"));
        assert_eq!(facts.field("spec.other"), None);
        assert_eq!((facts.owners.len(), &*facts.blocks), (2, &["o-2".into()][..]));
        assert!(facts.deleting && facts.finalizers && !facts.waits);
    }

    #[test]
    fn what_is_going_waits_for_what_it_owns_if_it_says_so() {
        let waits = |metadata: Value| facts(&json!({"metadata": metadata})).waits;
        let marked = json!({"finalizers": ["foregroundDeletion"]});
        assert!(!waits(marked.clone()));
        let mut going = marked;
        going["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert!(waits(going));
    }

    #[test]
    fn an_object_without_anything_has_no_facts() {
        assert_eq!(facts(&json!({"metadata": {}})), Facts::default());
        assert_eq!(facts(&Value::Null), Facts::default());
    }

    #[test]
    fn the_reporter_of_a_new_event_is_its_source() {
        assert_eq!(facts(&json!({"reportingComponent": "me"})).field("source"), Some("me"));
    }
}
