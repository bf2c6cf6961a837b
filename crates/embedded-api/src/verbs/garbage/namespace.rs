//! A namespace that is being deleted: everything in it is deleted first.

use super::writes::{delete, edit};
use crate::refusal::Refusal;
use crate::store::{Object, Page};
use crate::verbs::admission::NAMESPACE_FINALIZER;
use crate::verbs::core::{Core, Kind};
use crate::verbs::options::Propagation;
use futures::{StreamExt, stream};
use serde_json::Value;
use std::sync::Arc;

const TOGETHER: usize = 64;

pub(super) async fn reconcile(core: &Arc<Core>, kind: &Kind, namespace: &Object, value: &Value) -> Result<(), Refusal> {
    if !has_finalizer(value) {
        return Ok(());
    }
    let inside = inside(core, &namespace.key.name);
    let deletions = stream::iter(inside).map(|object| async move {
        match core.storing(&object.key.resource) {
            Some(kind) if !object.facts.deleting => delete(core, kind, &object, Propagation::Background).await,
            _ => Ok(()),
        }
    });
    let mut done = deletions.buffer_unordered(TOGETHER);
    while let Some(deleted) = done.next().await {
        deleted?;
    }
    if self::inside(core, &namespace.key.name).is_empty() {
        edit(core, kind, namespace, release).await?;
    }
    Ok(())
}

fn inside(core: &Core, namespace: &str) -> Vec<Arc<Object>> {
    let storages = core.storages();
    let found = storages.iter().filter_map(|storage| {
        let listed = core.store.list(storage, Some(namespace), &Page::default(), |_| true);
        listed.ok()
    });
    found.flat_map(|listed| listed.objects).collect()
}

fn has_finalizer(namespace: &Value) -> bool {
    let finalizers = namespace.pointer("/spec/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|name| name == NAMESPACE_FINALIZER))
}

fn release(namespace: &mut Value) {
    if let Some(finalizers) = namespace.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) {
        finalizers.retain(|name| name != NAMESPACE_FINALIZER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_namespace_waits_for_its_own_finalizer_only() {
        let mut namespace = json!({"spec": {"finalizers": ["kubernetes", "a.dev/x"]}});
        assert!(has_finalizer(&namespace));
        release(&mut namespace);
        assert_eq!(namespace, json!({"spec": {"finalizers": ["a.dev/x"]}}));
        assert!(!has_finalizer(&namespace));
    }
}
