//! The built-in kinds: names, scope, verbs and selectable fields, as in Kubernetes for those that are served.

use super::builtin_schema::{self, Trust};
use crate::resource::{Column, Resource, Verb};

const READ: &[Verb] = &[Verb::Get, Verb::List, Verb::Watch];
const CREATE: &[Verb] = &[Verb::Create];
const ALL: &[Verb] = &Verb::ALL;
/// Lacks `deletecollection`: namespaces are deleted one by one.
const ONE_BY_ONE: &[Verb] = &[
    Verb::Get,
    Verb::List,
    Verb::Watch,
    Verb::Create,
    Verb::Update,
    Verb::Patch,
    Verb::Delete,
];

const CORE_EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const EVENT_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];

struct Row {
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    verbs: &'static [Verb],
    has_status: bool,
    fields: &'static [&'static str],
    definition: &'static str,
    trust: Trust,
}

const PLAIN: Row = Row {
    group: "",
    plural: "",
    singular: "",
    kind: "",
    short: &[],
    categories: &[],
    namespaced: false,
    verbs: ALL,
    has_status: false,
    fields: &[],
    definition: "",
    trust: Trust::Check,
};

const ROWS: [Row; 11] = [
    Row {
        plural: "configmaps",
        singular: "configmap",
        kind: "ConfigMap",
        short: &["cm"],
        namespaced: true,
        definition: "io.k8s.api.core.v1.ConfigMap",
        ..PLAIN
    },
    Row {
        plural: "events",
        singular: "event",
        kind: "Event",
        short: &["ev"],
        namespaced: true,
        fields: CORE_EVENT_FIELDS,
        definition: "io.k8s.api.core.v1.Event",
        ..PLAIN
    },
    Row {
        plural: "namespaces",
        singular: "namespace",
        kind: "Namespace",
        short: &["ns"],
        verbs: ONE_BY_ONE,
        has_status: true,
        fields: &["status.phase"],
        definition: "io.k8s.api.core.v1.Namespace",
        ..PLAIN
    },
    Row {
        plural: "nodes",
        singular: "node",
        kind: "Node",
        short: &["no"],
        has_status: true,
        fields: &["spec.unschedulable"],
        definition: "io.k8s.api.core.v1.Node",
        ..PLAIN
    },
    Row {
        plural: "pods",
        singular: "pod",
        kind: "Pod",
        short: &["po"],
        categories: &["all"],
        namespaced: true,
        verbs: READ,
        fields: POD_FIELDS,
        definition: "io.k8s.api.core.v1.Pod",
        trust: Trust::NeverMade,
        ..PLAIN
    },
    Row {
        group: "apiextensions.k8s.io",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        kind: "CustomResourceDefinition",
        short: &["crd", "crds"],
        categories: &["api-extensions"],
        verbs: READ,
        definition: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        trust: Trust::NeverMade,
        ..PLAIN
    },
    Row {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        kind: "SelfSubjectReview",
        verbs: CREATE,
        definition: "io.k8s.api.authentication.v1.SelfSubjectReview",
        ..PLAIN
    },
    Row {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        kind: "SelfSubjectAccessReview",
        verbs: CREATE,
        definition: "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
        ..PLAIN
    },
    Row {
        group: "authorization.k8s.io",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        kind: "SelfSubjectRulesReview",
        verbs: CREATE,
        definition: "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
        ..PLAIN
    },
    Row {
        group: "coordination.k8s.io",
        plural: "leases",
        singular: "lease",
        kind: "Lease",
        namespaced: true,
        definition: "io.k8s.api.coordination.v1.Lease",
        ..PLAIN
    },
    Row {
        group: super::event::GROUP,
        plural: "events",
        singular: "event",
        kind: "Event",
        short: &["ev"],
        namespaced: true,
        fields: EVENT_FIELDS,
        definition: "io.k8s.api.events.v1.Event",
        ..PLAIN
    },
];

pub(super) fn all() -> Vec<Resource> {
    ROWS.iter().map(resource).collect()
}

/// Key in [`super::definitions`]; `None` for other kinds.
#[must_use]
pub(crate) fn definition(group: &str, kind: &str) -> Option<&'static str> {
    let found = ROWS.iter().find(|row| row.group == group && row.kind == kind);
    found.map(|row| row.definition)
}

fn resource(row: &Row) -> Resource {
    let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    Resource {
        group: row.group.to_owned(),
        version: "v1".to_owned(),
        plural: row.plural.to_owned(),
        singular: row.singular.to_owned(),
        kind: row.kind.to_owned(),
        list_kind: format!("{}List", row.kind),
        short_names: texts(row.short),
        categories: texts(row.categories),
        namespaced: row.namespaced,
        verbs: row.verbs.to_vec(),
        has_status: row.has_status,
        scale: None,
        columns: Vec::<Column>::new(),
        selectable_fields: texts(row.fields),
        schema: builtin_schema::schema(row.definition, row.trust),
        custom: false,
        storage: row.plural.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_events_are_stored_in_one_place_and_all_else_apart() {
        let all = all();
        let events: Vec<_> = all.iter().filter(|each| &*each.storage == "events").collect();
        assert_eq!(events.len(), 2);
        let mut storages: Vec<_> = all.iter().map(|each| &*each.storage).collect();
        storages.sort_unstable();
        storages.dedup();
        assert_eq!(storages.len(), all.len() - 1);
    }

    #[test]
    fn every_built_in_kind_has_a_schema_under_its_name() {
        for row in &ROWS {
            let found = builtin_schema::definitions().get(row.definition);
            assert!(found.is_some(), "{}", row.definition);
            assert_eq!(definition(row.group, row.kind), Some(row.definition));
        }
        assert_eq!(definition("skein.dev", "Drone"), None);
    }

    #[test]
    fn pods_can_only_be_read() {
        let all = all();
        let pods = all.iter().find(|each| each.plural == "pods").expect("served");
        assert!(pods.serves(Verb::List) && !pods.serves(Verb::Create) && !pods.serves(Verb::Delete));
    }
}
