//! Effect of a deletion on an object: it is removed at once, or it waits for its finalizers.

use super::admission::is_namespace;
use super::meta::{self, FOREGROUND, ORPHAN, map_mut, metadata_mut};
use super::options::{DeleteOptions, Propagation};
use crate::refusal::Refusal;
use crate::resource::Resource;
use serde_json::{Value, json};

pub const UNDELETABLE: [&str; 3] = ["default", "kube-system", "kube-public"];

#[derive(Clone, Debug, PartialEq)]
pub enum DeletionEffect {
    Gone,
    Waits(Value),
    Waiting,
}

#[must_use]
pub fn effect(resource: &Resource, object: &Value, propagation: Option<Propagation>, now: &str) -> DeletionEffect {
    let before = meta::finalizers(object);
    let wanted = match propagation {
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Background) => None,
        // An object that was marked earlier keeps its mark.
        None => [ORPHAN, FOREGROUND].into_iter().find(|mark| before.contains(mark)),
    };
    let others = before
        .iter()
        .copied()
        .filter(|name| ![ORPHAN, FOREGROUND].contains(name));
    let mut after: Vec<String> = others.map(str::to_owned).collect();
    if let Some(mark) = wanted {
        // It keeps its place among the others, so that a repeated deletion changes nothing.
        let place = before.iter().position(|name| *name == mark).unwrap_or(after.len());
        after.insert(place.min(after.len()), mark.to_owned());
    }
    if after.is_empty() && has_no_spec_finalizers(resource, object) {
        return DeletionEffect::Gone;
    }
    let deleting = meta::is_deleting(object);
    if deleting && before == after {
        return DeletionEffect::Waiting;
    }
    let mut waits = object.clone();
    meta::set_finalizers(&mut waits, &after);
    if !deleting {
        let namespace = is_namespace(resource);
        let metadata = metadata_mut(&mut waits);
        metadata.insert("deletionTimestamp".to_owned(), now.into());
        if !namespace {
            metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        }
        if let Some(counted) = metadata.get("generation").and_then(Value::as_u64) {
            metadata.insert("generation".to_owned(), (counted + 1).into());
        }
        if namespace {
            let status = map_mut(map_mut(&mut waits).entry("status").or_insert_with(|| json!({})));
            status.insert("phase".to_owned(), "Terminating".into());
        }
    }
    DeletionEffect::Waits(waits)
}

#[must_use]
pub fn is_finished(resource: &Resource, object: &Value) -> bool {
    meta::is_deleting(object) && meta::finalizers(object).is_empty() && has_no_spec_finalizers(resource, object)
}

fn has_no_spec_finalizers(resource: &Resource, object: &Value) -> bool {
    let finalizers = object.pointer("/spec/finalizers").and_then(Value::as_array);
    !is_namespace(resource) || finalizers.is_none_or(Vec::is_empty)
}

/// Errors: 409 for another uid or version, 403 for a Namespace that cannot be deleted.
pub fn admit(resource: &Resource, object: &Value, options: &DeleteOptions) -> Result<(), Refusal> {
    let name = meta::name(object);
    if is_namespace(resource) && UNDELETABLE.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Refusal::forbidden(&resource.group, &resource.plural, name, why));
    }
    let conflict = |why: String| Err(Refusal::conflict(&resource.group, &resource.kind, name, &why));
    if let Some(uid) = &options.uid
        && uid != meta::uid(object)
    {
        let found = meta::uid(object);
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object might have been \
             deleted and then recreated"
        ));
    }
    if let Some(version) = &options.resource_version
        && version != meta::resource_version(object)
    {
        let found = meta::resource_version(object);
        return conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({found}). \
             The object might have been modified"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::testing;

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn with(finalizers: &[&str]) -> Value {
        let mut object = json!({"metadata": {"name": "a", "uid": "u-1", "resourceVersion": "7", "generation": 3}});
        meta::set_finalizers(
            &mut object,
            &finalizers.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(),
        );
        object
    }

    fn waits(object: &Value, propagation: Option<Propagation>) -> Value {
        match effect(&testing::thing(true), object, propagation, NOW) {
            DeletionEffect::Waits(object) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_object_that_nothing_holds_goes_at_once() {
        for propagation in [None, Some(Propagation::Background)] {
            assert_eq!(
                effect(&testing::thing(true), &with(&[]), propagation, NOW),
                DeletionEffect::Gone
            );
        }
    }

    #[test]
    fn an_object_with_a_finalizer_stays_with_a_deletion_timestamp() {
        let going = waits(&with(&["a.dev/x"]), None);
        assert_eq!(going["metadata"]["deletionTimestamp"], NOW);
        assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 0);
        assert_eq!(going["metadata"]["generation"], 4);
        assert_eq!(
            effect(&testing::thing(true), &going, None, "2027-01-01T00:00:00Z"),
            DeletionEffect::Waiting
        );
    }

    #[test]
    fn foreground_and_orphan_hold_an_object_and_the_last_word_counts() {
        let going = waits(&with(&[]), Some(Propagation::Foreground));
        assert_eq!(meta::finalizers(&going), [FOREGROUND]);
        assert_eq!(
            effect(&testing::thing(true), &going, None, NOW),
            DeletionEffect::Waiting
        );
        let orphaning = waits(&going, Some(Propagation::Orphan));
        assert_eq!(meta::finalizers(&orphaning), [ORPHAN]);
        assert_eq!(orphaning["metadata"]["generation"], 4, "the deletion began only once");
        assert_eq!(
            effect(&testing::thing(true), &orphaning, Some(Propagation::Background), NOW),
            DeletionEffect::Gone
        );
    }

    #[test]
    fn it_is_over_when_the_last_finalizer_is_gone() {
        let mut object = waits(&with(&["a.dev/x"]), None);
        assert!(!is_finished(&testing::thing(true), &object));
        meta::set_finalizers(&mut object, &[]);
        assert!(is_finished(&testing::thing(true), &object));
        assert!(!is_finished(&testing::thing(true), &with(&[])));
    }

    #[test]
    fn a_namespace_waits_until_it_is_empty() {
        let namespaces = Resource {
            group: String::new(),
            plural: "namespaces".to_owned(),
            ..testing::thing(false)
        };
        let object = json!({"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes"]}});
        let DeletionEffect::Waits(mut going) = effect(&namespaces, &object, None, NOW) else {
            panic!("it did not wait");
        };
        assert_eq!(going["status"]["phase"], "Terminating");
        assert_eq!(going["metadata"].get("deletionGracePeriodSeconds"), None);
        assert!(!is_finished(&namespaces, &going));
        going["spec"]["finalizers"] = json!([]);
        assert!(is_finished(&namespaces, &going));
    }

    #[test]
    fn another_object_than_the_one_that_was_meant_is_not_deleted() {
        let admitted = |uid: &str, version: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let options = DeleteOptions {
                uid: given(uid),
                resource_version: given(version),
                ..DeleteOptions::default()
            };
            admit(&testing::thing(true), &with(&[]), &options).map_err(|refusal| (refusal.code, refusal.message))
        };
        assert_eq!(admitted("u-1", "7"), Ok(()));
        let start = r#"Operation cannot be fulfilled on Thing.a.dev "a": the "#;
        assert_eq!(
            admitted("u-2", ""),
            Err((
                409,
                format!(
                    "{start}UID in the precondition (u-2) does not match the UID in record (u-1). The object might have \
                     been deleted and then recreated"
                )
            ))
        );
        assert_eq!(
            admitted("", "8"),
            Err((
                409,
                format!(
                    "{start}ResourceVersion in the precondition (8) does not match the ResourceVersion in record (7). The \
                     object might have been modified"
                )
            ))
        );
    }

    #[test]
    fn the_first_namespaces_last() {
        let namespaces = Resource {
            group: String::new(),
            plural: "namespaces".to_owned(),
            ..testing::thing(false)
        };
        let admitted = admit(
            &namespaces,
            &json!({"metadata": {"name": "default"}}),
            &DeleteOptions::default(),
        );
        let refusal = admitted.expect_err("it lasts");
        assert_eq!(refusal.code, 403);
        assert_eq!(
            refusal.message,
            r#"namespaces "default" is forbidden: this namespace may not be deleted"#
        );
    }
}
