//! Intended differences from a real API server.

use crate::compare::Difference;

pub const ALL: &[Difference] = &[
    Difference {
        cases: &["who_shows_no_credential_gets_nothing", "a_wrong_token_is_refused"],
        step: "",
        at: "/code",
        why: "nobody is anonymous: who is not the owner is sent nothing at all, not even the version",
    },
    Difference {
        cases: &[
            "a_node_is_made_read_replaced_and_deleted",
            "a_node_reports_its_status",
            "a_node_status_is_replaced_whole",
            "a_strategic_patch_merges_lists_by_key",
            "an_apply_may_omit_the_name",
            "built_in_kinds_are_watched_too",
            "conditions_of_a_node_are_merged_by_type",
            "kind_and_version_of_the_body_are_those_of_the_path",
            "kubectl_applies_and_deletes_a_node",
            "taints_of_a_node_have_a_form",
            "the_namespace_of_the_body_is_that_of_the_path",
            "unknown_fields_of_built_in_kinds_too",
        ],
        step: "",
        at: ".*/spec/taints(/[0-9]+)?",
        why: "a new node gets no taint that says that it is not ready: no controller would take it off again",
    },
    Difference {
        cases: &[
            "a_table_holds_as_much_of_each_object_as_requested",
            "a_watch_may_send_tables_or_metadata_only",
            "built_in_kinds_as_tables",
            "drones_and_swarms_as_tables",
            "metadata_alone",
        ],
        step: "as=Table|WATCH",
        at: ".*/columnDefinitions/[0-9]+/description",
        why: "columns that no CRD describes are described in words of our own",
    },
    Difference {
        cases: &[
            "applying_makes_what_is_not_there",
            "status_is_written_through_its_subresource_only",
            "the_record_of_writers_can_be_reset_and_replaced",
            "unknown_fields_are_dropped",
        ],
        step: "",
        at: "/body/metadata/resourceVersion",
        why: "a new object is kept with the status that the CRD gives it, and not without, so a first write of nothing is none here",
    },
    Difference {
        cases: &["forms_that_nobody_knows_are_not_acceptable"],
        step: "",
        at: "/body/message|/body|/headers/content-type/0",
        why: "no answer is written in protobuf; clients that prefer it take JSON as well",
    },
    Difference {
        cases: &["the_resources_of_the_core_are_discovered"],
        step: "/apis?/",
        at: "/body/resources/[0-9]+/verbs/[0-9]+",
        why: "Pods and CustomResourceDefinitions can be read only",
    },
    Difference {
        cases: &["the_resources_of_the_core_are_discovered"],
        step: "apiextensions",
        at: "/body/resources/1",
        why: "CustomResourceDefinitions can be read only, so they have no status to write",
    },
    Difference {
        cases: &["all_groups_are_discovered_in_one_document"],
        step: "GET /api ",
        at: "/body/version/resources/[12]/subresources/.*",
        why: "namespaces are finalized by the server alone, and nodes have no kubelet to be a proxy for",
    },
    Difference {
        cases: &["the_resources_of_the_core_are_discovered"],
        step: "GET /api$",
        at: "/body/serverAddressByClientCIDRs/0",
        why: "it listens on loopback, and advertises no other address",
    },
    Difference {
        cases: &[
            "the_resources_of_skein_are_discovered",
            "the_resources_of_the_core_are_discovered",
        ],
        step: "",
        at: "/body/resources/[0-9]+/storageVersionHash",
        why: "there is one version of each kind, so there is no other storage version to tell from",
    },
    Difference {
        cases: &["kubectl_prints_versions_and_raw_answers"],
        step: "version",
        at: "/stdout",
        why: "it says that it is the embedded API",
    },
    Difference {
        cases: &["kubectl_describe_prints_all"],
        step: "describe namespace",
        at: "/stdout",
        why: "there are no resource quotas and limit ranges, so kubectl does not say that a namespace has none",
    },
    Difference {
        cases: &["kubectl_explains_built_in_kinds"],
        step: "taints|status",
        at: "/stdout",
        why: "the schemas of built-in kinds do not list the values of enumerations",
    },
    Difference {
        cases: &["openapi_documents_are_listed_and_read"],
        step: "/openapi/v3$|nobody",
        at: "/headers/content-type(/0)?",
        why: "JSON is called JSON, and a missing page is text",
    },
    Difference {
        cases: &["a_version_that_is_too_old_is_gone"],
        step: "WATCH",
        at: "/events/0/.*",
        why: "the history outlives a restart: it goes back further than that of a real server, which begins with its life",
    },
    Difference {
        cases: &["pages_follow_each_other_and_show_one_moment"],
        step: "limit=2&labelSelector",
        at: "/body/metadata/continue",
        why: "a page that holds the last match says so; a real server does not look that far",
    },
    Difference {
        cases: &["a_watch_may_send_tables_or_metadata_only"],
        step: "timeoutSeconds=1&watch",
        at: "/events/[0-9]+",
        why: "a watch for a list of metadata tells each object's metadata, where a real server tells nothing",
    },
    Difference {
        cases: &["metadata_alone"],
        step: "PartialObjectMetadata",
        at: "/code|/body/message",
        why: "an object as a list of metadata is not acceptable, which is no fault of the server",
    },
    Difference {
        cases: &[
            "a_lease_is_made_held_and_deleted",
            "an_event_is_counted_up_as_recorders_do",
            "an_event_is_one_object_in_two_apis",
        ],
        step: "",
        at: "/body/items/[0-9]+/(kind|apiVersion)",
        why: "objects in a list are as they are alone: they go out as they are kept",
    },
    Difference {
        cases: &[
            "conditions_of_a_node_are_merged_by_type",
            "a_node_status_is_replaced_whole",
            "a_node_reports_its_status",
            "built_in_kinds_as_tables",
        ],
        step: "",
        at: ".*/(f:)?conditions/.*/(f:)?(lastHeartbeatTime|lastTransitionTime|message)",
        why: "fields of a built-in kind are kept as they were sent: empty text stays, and times that nobody gave are not null",
    },
    Difference {
        cases: &["taints_of_a_node_have_a_form"],
        step: "1024Mi",
        at: "/body/status/capacity/memory",
        why: "quantities are kept as they were sent",
    },
    Difference {
        cases: &["leases_have_sensible_spans"],
        step: "strategy",
        at: "/body/spec/strategy",
        why: "a field of coordinated leader election, which a real server has switched off, is kept",
    },
    Difference {
        cases: &[
            "an_object_needs_a_spec",
            "replicas_out_of_range_are_refused",
            "several_faults_are_reported_at_once",
        ],
        step: "swarms",
        at: "/body/details/causes/FieldValueInvalid spec.replicas",
        why: "a wrong number of replicas is reported once, and not again because the scale cannot show it",
    },
    Difference {
        cases: &["kind_and_version_of_the_body_are_those_of_the_path"],
        step: "skein.dev/v1\"|Pod",
        at: "/headers/warning|/body/message",
        why: "a body of another kind is refused before its fields are looked at",
    },
    Difference {
        cases: &[
            "a_lease_is_made_held_and_deleted",
            "a_lease_is_patched_in_each_way",
            "a_strategic_patch_merges_lists_by_key",
            "an_event_is_counted_up_as_recorders_do",
            "an_event_is_one_object_in_two_apis",
            "an_event_of_the_other_api_is_not_taken",
            "an_update_of_a_missing_object_is_refused_or_makes_it",
            "built_in_kinds_are_watched_too",
            "built_in_kinds_as_tables",
            "leases_have_sensible_spans",
            "unknown_fields_of_built_in_kinds_too",
        ],
        step: "",
        at: ".*/managedFields(/[0-9]+/fieldsV1/f:(spec|source)(/\\.)?)?|/did",
        why: "who sets a part of a built-in object is on record as having made that part; in a real server parts are always there",
    },
    Difference {
        cases: &[
            "a_swarm_is_scaled_through_its_scale",
            "generation_counts_changes_of_the_desired_state_only",
        ],
        step: "",
        at: "/body/metadata/managedFields/1/time",
        why: "the time of a scaling stays on record; a real server loses it at the next change",
    },
    Difference {
        cases: &["a_namespace_shows_whether_it_is_terminating"],
        step: "a.dev/x",
        at: "/body/metadata/managedFields/0/fieldsV1/f:spec",
        why: "nobody is on record for the finalizers of a namespace: only the server sets them",
    },
    Difference {
        cases: &["a_node_reports_its_status", "taints_of_a_node_have_a_form"],
        step: "",
        at: ".*/(f:)?allocatable",
        why: "what can be allocated on a node is what its agent says; nothing is scheduled by it",
    },
    Difference {
        cases: &["the_resources_of_the_core_are_discovered"],
        step: "GET /api/v1$",
        at: "/body/apiVersion",
        why: "every document says its apiVersion",
    },
    Difference {
        cases: &["methods_that_do_not_fit_are_not_allowed"],
        step: "DELETE /apis",
        at: "/code",
        why: "documents can be read only",
    },
];

#[test]
fn each_difference_names_cases_that_exist() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api");
    let files = std::fs::read_dir(folder).unwrap();
    let all: String = files
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let named = ALL.iter().flat_map(|difference| difference.cases);
    let lost: Vec<_> = named.filter(|case| !all.contains(&format!("fn {case}()"))).collect();
    assert!(lost.is_empty(), "no such case: {lost:?}");
}
