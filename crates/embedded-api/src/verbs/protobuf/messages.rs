//! Messages that are read: number, JSON name and kind of every field.

pub(super) struct Message(pub(super) &'static [(u32, &'static str, Kind)]);

pub(super) enum Kind {
    /// Left out of JSON when it is empty, as `Whole` and `Flag` are.
    Text,
    /// May be present and empty, as `WholeOrZero` and `FlagOrFalse` may.
    TextOrEmpty,
    Whole,
    WholeOrZero,
    Flag,
    FlagOrFalse,
    /// Time to the second, or with `micro` to the microsecond. Null in JSON when it is empty; `TimeIfAny` is left out.
    Time {
        micro: bool,
    },
    TimeIfAny,
    Texts,
    TextMap,
    One(&'static Message),
    Many(&'static Message),
    Json,
}

use Kind::{
    Flag, FlagOrFalse, Json, Many, One, Text, TextMap, TextOrEmpty, Texts, Time, TimeIfAny, Whole, WholeOrZero,
};

const SECONDS: Kind = Time { micro: false };
const MICROS: Kind = Time { micro: true };

pub(super) fn of(api_version: &str, kind: &str) -> Option<&'static Message> {
    Some(match (api_version, kind) {
        ("v1", "Namespace") => &NAMESPACE,
        ("v1", "Event") => &CORE_EVENT,
        ("events.k8s.io/v1", "Event") => &EVENT,
        ("coordination.k8s.io/v1", "Lease") => &LEASE,
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => &ACCESS_REVIEW,
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => &RULES_REVIEW,
        ("authentication.k8s.io/v1", "SelfSubjectReview") => &SELF_REVIEW,
        // Each group has this kind in its own version.
        (_, "DeleteOptions") => &DELETE_OPTIONS,
        _ => return None,
    })
}

static OBJECT_META: Message = Message(&[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (4, "selfLink", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (7, "generation", Whole),
    (8, "creationTimestamp", TimeIfAny),
    (9, "deletionTimestamp", SECONDS),
    (10, "deletionGracePeriodSeconds", WholeOrZero),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (13, "ownerReferences", Many(&OWNER)),
    (14, "finalizers", Texts),
    (17, "managedFields", Many(&MANAGED)),
]);

static OWNER: Message = Message(&[
    (1, "kind", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "controller", FlagOrFalse),
    (7, "blockOwnerDeletion", FlagOrFalse),
]);

static MANAGED: Message = Message(&[
    (1, "manager", Text),
    (2, "operation", Text),
    (3, "apiVersion", Text),
    (4, "time", SECONDS),
    (6, "fieldsType", Text),
    (7, "fieldsV1", Json),
    (8, "subresource", Text),
]);

static NAMESPACE: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (2, "spec", One(&Message(&[(1, "finalizers", Texts)]))),
    (
        3,
        "status",
        One(&Message(&[
            (1, "phase", Text),
            (2, "conditions", Many(&NAMESPACE_CONDITION)),
        ])),
    ),
]);

static NAMESPACE_CONDITION: Message = Message(&[
    (1, "type", Text),
    (2, "status", Text),
    (4, "lastTransitionTime", SECONDS),
    (5, "reason", Text),
    (6, "message", Text),
]);

static LEASE: Message = Message(&[(1, "metadata", One(&OBJECT_META)), (2, "spec", One(&LEASE_SPEC))]);

static LEASE_SPEC: Message = Message(&[
    (1, "holderIdentity", TextOrEmpty),
    (2, "leaseDurationSeconds", WholeOrZero),
    (3, "acquireTime", MICROS),
    (4, "renewTime", MICROS),
    (5, "leaseTransitions", WholeOrZero),
    (6, "strategy", TextOrEmpty),
    (7, "preferredHolder", TextOrEmpty),
]);

static REFERENCE: Message = Message(&[
    (1, "kind", Text),
    (2, "namespace", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "resourceVersion", Text),
    (7, "fieldPath", Text),
]);

static SOURCE: Message = Message(&[(1, "component", Text), (2, "host", Text)]);

static SERIES: Message = Message(&[(1, "count", Whole), (2, "lastObservedTime", MICROS)]);

static CORE_EVENT: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (2, "involvedObject", One(&REFERENCE)),
    (3, "reason", Text),
    (4, "message", Text),
    (5, "source", One(&SOURCE)),
    (6, "firstTimestamp", SECONDS),
    (7, "lastTimestamp", SECONDS),
    (8, "count", Whole),
    (9, "type", Text),
    (10, "eventTime", MICROS),
    (11, "series", One(&SERIES)),
    (12, "action", Text),
    (13, "related", One(&REFERENCE)),
    (14, "reportingComponent", TextOrEmpty),
    (15, "reportingInstance", TextOrEmpty),
]);

static EVENT: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (2, "eventTime", MICROS),
    (3, "series", One(&SERIES)),
    (4, "reportingController", Text),
    (5, "reportingInstance", Text),
    (6, "action", Text),
    (7, "reason", Text),
    (8, "regarding", One(&REFERENCE)),
    (9, "related", One(&REFERENCE)),
    (10, "note", Text),
    (11, "type", Text),
    (12, "deprecatedSource", One(&SOURCE)),
    (13, "deprecatedFirstTimestamp", SECONDS),
    (14, "deprecatedLastTimestamp", SECONDS),
    (15, "deprecatedCount", Whole),
]);

static ACCESS_REVIEW: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (
        2,
        "spec",
        One(&Message(&[
            (1, "resourceAttributes", One(&RESOURCE_ATTRIBUTES)),
            (
                2,
                "nonResourceAttributes",
                One(&Message(&[(1, "path", Text), (2, "verb", Text)])),
            ),
        ])),
    ),
    (
        3,
        "status",
        One(&Message(&[
            (1, "allowed", FlagOrFalse),
            (2, "reason", Text),
            (3, "evaluationError", Text),
            (4, "denied", Flag),
        ])),
    ),
]);

static RESOURCE_ATTRIBUTES: Message = Message(&[
    (1, "namespace", Text),
    (2, "verb", Text),
    (3, "group", Text),
    (4, "version", Text),
    (5, "resource", Text),
    (6, "subresource", Text),
    (7, "name", Text),
]);

static RULES_REVIEW: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (2, "spec", One(&Message(&[(1, "namespace", Text)]))),
    (
        3,
        "status",
        One(&Message(&[
            (3, "incomplete", FlagOrFalse),
            (4, "evaluationError", Text),
        ])),
    ),
]);

static SELF_REVIEW: Message = Message(&[
    (1, "metadata", One(&OBJECT_META)),
    (
        2,
        "status",
        One(&Message(&[(
            1,
            "userInfo",
            One(&Message(&[(1, "username", Text), (2, "uid", Text)])),
        )])),
    ),
]);

static DELETE_OPTIONS: Message = Message(&[
    (1, "gracePeriodSeconds", WholeOrZero),
    (
        2,
        "preconditions",
        One(&Message(&[
            (1, "uid", TextOrEmpty),
            (2, "resourceVersion", TextOrEmpty),
        ])),
    ),
    (3, "orphanDependents", FlagOrFalse),
    (4, "propagationPolicy", TextOrEmpty),
    (5, "dryRun", Texts),
    (6, "ignoreStoreReadErrorWithClusterBreakingPotential", FlagOrFalse),
]);
