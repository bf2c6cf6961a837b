//! The coordinator on a real API server, with the rights of deploy/rbac.yaml and scripted agents, and on the embedded
//! API.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what the tests measure is shown with --nocapture")]

mod kstatus;
mod latched;
mod leaders;
mod logs;
mod metrics;
mod missions;
mod operators;
mod pace;
mod persons;
mod relief;
mod rules;
mod selectors;
mod tenants;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crds::Drone;
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kstatus::a_swarm_is_current_for_tools_that_wait_only_when_what_was_asked_for_is_so;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy};
use latched::{
    a_drone_a_vehicle_and_a_part_of_all_are_grounded_and_released,
    the_vehicles_of_a_grounded_swarm_that_is_deleted_serve_nobody_else,
    what_is_made_or_edited_after_a_ground_order_falls_under_it,
};
use leaders::{
    a_leader_that_cannot_renew_keeps_what_flies_begins_no_flight_and_still_grounds,
    a_leader_that_was_stopped_and_succeeded_moves_nobody_and_ends,
    a_new_epoch_is_followed_by_agents_that_refuse_all_terms_of_this_one,
    a_store_that_went_back_lifts_nobody_until_a_person_has_confirmed_it,
    of_two_coordinators_one_leads_and_the_other_takes_over_and_nobody_comes_down, service_leads_to,
};
use logs::each_line_about_a_drone_is_in_its_span_and_none_mixes_two;
use metrics::what_is_counted_is_what_happened_and_all_that_dashboard_and_alerts_ask_for;
use missions::{
    a_mission_is_flown_by_several_relieved_and_complete_whoever_leads,
    a_mission_that_autopilots_refuse_fails_in_their_words_and_names_what_was_unflown,
    a_tiring_vehicle_flies_on_until_its_relief_came_and_a_patrol_has_no_break,
    a_vehicle_that_refuses_a_plan_is_tried_after_all_others_and_after_a_rest,
    the_items_of_a_file_in_a_config_map_are_flown_as_they_stand_and_cannot_change,
};
use operators::an_operator_reaches_the_vehicles_it_selects_and_two_for_one_are_both_refused;
use pace::{
    a_changed_node_selector_replaces_in_order_and_within_what_may_be_missing,
    a_changed_template_goes_through_the_air_one_after_the_other_and_lands_nobody,
    a_drone_that_goes_by_the_hand_of_a_person_keeps_nobody_on_the_ground,
    a_drone_that_waits_for_a_vehicle_takes_up_what_its_swarm_asks_for_now,
    an_agent_that_falls_silent_on_the_ground_gets_no_turn_by_that,
    takeoffs_of_a_swarm_are_spread_in_time_and_never_more_are_up_than_may_be, takeoffs_stay_spread_when_another_leads,
};
use persons::{
    a_ground_order_outlives_the_coordinator_that_could_not_write_it,
    a_ground_order_that_only_agents_remember_is_given_anew, a_takeover_is_resumed_by_a_word_and_never_before_it,
    a_vehicle_that_stands_down_is_offered_to_nobody_until_a_person_says_so,
    motors_are_stopped_on_a_code_that_was_offered_and_on_nothing_else,
};
use proto::v1;
use proto::v1::FlightTruth as Truth;
use relief::{
    a_cordon_begins_no_flight_and_lands_nobody, a_drained_vehicle_lands_after_another_flies_in_its_place,
    a_drained_vehicle_without_a_swarm_lands_and_keeps_its_drone,
    a_lost_vehicle_is_replaced_only_by_policy_and_is_taken_up_when_it_comes_back,
    a_node_that_is_deleted_or_loses_its_label_in_flight_lands_nobody,
    a_tired_vehicle_comes_home_once_another_flies_in_its_place,
    one_that_is_to_stay_down_keeps_no_drained_one_in_the_air,
    where_no_other_vehicle_can_be_had_no_more_land_than_may_be_missing,
};
use rules::{
    a_geofence_reaches_the_vehicles_it_selects_and_its_status_says_where_it_holds,
    a_station_outside_of_a_geofence_gets_no_route_and_the_drone_says_why,
    a_vehicle_on_a_mission_comes_home_where_a_new_geofence_forbids_the_rest,
};
use selectors::{
    a_selector_grounds_what_it_selects_and_nothing_else,
    one_drone_of_a_swarm_is_grounded_by_its_label_and_is_not_replaced,
};
use serde_json::json;
use skein_tests::SYSTEM;
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE, condition, described, phase};
use skein_tests::scripted_agent::{Agent, Vehicle, from};
use skein_tests::way::Way;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tenants::{
    a_namespace_at_its_quota_says_so_delays_no_other_and_goes_on_once_it_is_raised,
    while_one_namespace_is_planned_another_is_suspended_deleted_and_grounded,
};
use testkit::process::Signal;
use testkit::{Launch, ServedBy};

macro_rules! tests_on {
    ($module:ident, $served_by:ident: $($name:ident),+ $(,)?) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Field::clean(testkit::ServedBy::$served_by).await).await;
            })+
        }
    };
}

macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        tests_on! {on_kubernetes, Kubernetes: $($name),+}
        tests_on! {on_embedded, Embedded: $($name),+}
    };
}

// Decided by the coordinator alone.
tests_on! {on_embedded_alone, Embedded:
    a_vehicle_on_a_mission_comes_home_where_a_new_geofence_forbids_the_rest,
}

// The embedded API has no quotas.
tests_on! {on_kubernetes_alone, Kubernetes:
    a_namespace_at_its_quota_says_so_delays_no_other_and_goes_on_once_it_is_raised,
}

on_both! {
    a_swarm_is_current_for_tools_that_wait_only_when_what_was_asked_for_is_so,
    what_is_counted_is_what_happened_and_all_that_dashboard_and_alerts_ask_for,
    a_drone_flies_when_its_autopilot_says_so_and_goes_only_after_the_landing,
    a_flight_costs_at_most_eight_writes_and_nothing_is_written_while_nothing_changes,
    a_swarm_is_in_the_air_soon_after_it_is_applied_and_costs_few_writes_itself,
    a_busy_node_or_an_unrelated_pod_does_not_keep_a_drone_from_a_free_vehicle,
    two_coordinators_and_many_pending_drones_never_bind_a_vehicle_twice,
    swarms_touch_only_their_own_drones_in_one_namespace_and_in_two,
    a_swarm_deleted_with_orphans_leaves_its_drones_flying,
    scale_down_takes_the_idle_drone_first_and_then_the_lowest_battery,
    a_pending_drone_says_why_and_flies_as_soon_as_a_vehicle_may_be_had,
    a_drone_whose_agent_is_silent_stays_until_an_operator_forces_it,
    an_airframe_whose_computer_has_another_name_is_armed_for_nobody_while_it_may_fly,
    a_vehicle_whose_drone_was_released_by_force_lands_before_it_serves_the_next,
    a_swarm_larger_than_one_batch_gets_exactly_its_drones_and_loses_them_all,
    a_grounded_swarm_deleted_with_orphans_leaves_its_vehicles_on_the_ground,
    a_ground_order_lands_all_at_once_latches_and_ends_with_the_release,
    what_is_made_or_edited_after_a_ground_order_falls_under_it,
    the_vehicles_of_a_grounded_swarm_that_is_deleted_serve_nobody_else,
    a_drone_a_vehicle_and_a_part_of_all_are_grounded_and_released,
    neither_a_new_coordinator_nor_an_api_server_that_is_away_brings_anybody_down,
    a_user_may_name_a_node_but_not_one_that_serves_another_drone,
    a_coordinator_that_hears_of_a_higher_term_ends,
    a_stream_keeps_to_the_protocol_or_ends,
    a_ground_order_that_only_agents_remember_is_given_anew,
    a_ground_order_outlives_the_coordinator_that_could_not_write_it,
    a_takeover_is_resumed_by_a_word_and_never_before_it,
    a_vehicle_that_stands_down_is_offered_to_nobody_until_a_person_says_so,
    motors_are_stopped_on_a_code_that_was_offered_and_on_nothing_else,
    of_two_coordinators_one_leads_and_the_other_takes_over_and_nobody_comes_down,
    a_leader_that_cannot_renew_keeps_what_flies_begins_no_flight_and_still_grounds,
    a_leader_that_was_stopped_and_succeeded_moves_nobody_and_ends,
    a_store_that_went_back_lifts_nobody_until_a_person_has_confirmed_it,
    a_new_epoch_is_followed_by_agents_that_refuse_all_terms_of_this_one,
    a_changed_template_goes_through_the_air_one_after_the_other_and_lands_nobody,
    a_changed_node_selector_replaces_in_order_and_within_what_may_be_missing,
    a_drone_that_waits_for_a_vehicle_takes_up_what_its_swarm_asks_for_now,
    a_selector_grounds_what_it_selects_and_nothing_else,
    one_drone_of_a_swarm_is_grounded_by_its_label_and_is_not_replaced,
    each_line_about_a_drone_is_in_its_span_and_none_mixes_two,
    a_cordon_begins_no_flight_and_lands_nobody,
    a_drained_vehicle_lands_after_another_flies_in_its_place,
    a_drained_vehicle_without_a_swarm_lands_and_keeps_its_drone,
    a_geofence_reaches_the_vehicles_it_selects_and_its_status_says_where_it_holds,
    an_operator_reaches_the_vehicles_it_selects_and_two_for_one_are_both_refused,
    a_station_outside_of_a_geofence_gets_no_route_and_the_drone_says_why,
    a_mission_is_flown_by_several_relieved_and_complete_whoever_leads,
    a_mission_that_autopilots_refuse_fails_in_their_words_and_names_what_was_unflown,
    a_vehicle_that_refuses_a_plan_is_tried_after_all_others_and_after_a_rest,
    the_items_of_a_file_in_a_config_map_are_flown_as_they_stand_and_cannot_change,
    a_tiring_vehicle_flies_on_until_its_relief_came_and_a_patrol_has_no_break,
    while_one_namespace_is_planned_another_is_suspended_deleted_and_grounded,
    a_lost_vehicle_is_replaced_only_by_policy_and_is_taken_up_when_it_comes_back,
    a_node_that_is_deleted_or_loses_its_label_in_flight_lands_nobody,
    a_tired_vehicle_comes_home_once_another_flies_in_its_place,
    takeoffs_of_a_swarm_are_spread_in_time_and_never_more_are_up_than_may_be,
    takeoffs_stay_spread_when_another_leads,
    an_agent_that_falls_silent_on_the_ground_gets_no_turn_by_that,
    a_drone_that_goes_by_the_hand_of_a_person_keeps_nobody_on_the_ground,
    one_that_is_to_stay_down_keeps_no_drained_one_in_the_air,
    where_no_other_vehicle_can_be_had_no_more_land_than_may_be_missing,
}

fn crew(field: &Field, coordinator: &Coordinator, names: &[&str]) -> (Vec<Vehicle>, Vec<Agent>) {
    field.nodes(names);
    let vehicles: Vec<_> = names.iter().map(|name| Vehicle::new(name)).collect();
    let agents = vehicles
        .iter()
        .map(|vehicle| Agent::start(vehicle, &coordinator.address))
        .collect();
    (vehicles, agents)
}

fn flying(drones: &[Drone]) -> usize {
    drones.iter().filter(|d| phase(d) == "Flying").count()
}

fn on(drone: &Drone) -> &str {
    drone.spec.node_name.as_deref().unwrap_or_default()
}

async fn a_drone_flies_when_its_autopilot_says_so_and_goes_only_after_the_landing(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    vehicles[0].state().ready = false;
    vehicles[0].state().reasons = vec!["GPS 1: Bad fix".into()];
    field.swarm("north", "alpha", json!({"replicas": 1})).await;

    let drones = field.until_drones("the autopilot's own words", |drones| {
        drones
            .iter()
            .any(|d| condition(d, "Armable") == ("False".into(), "ArmingChecksFail".into(), "GPS 1: Bad fix".into()))
    });
    let drones = drones.await;
    assert_eq!(
        drones[0].status.as_ref().unwrap().flying,
        Some(false),
        "{}",
        described(&drones[0])
    );
    assert_eq!(condition(&drones[0], "Flying").0, "False");
    assert!(drones[0].finalizers().contains(&"skein.dev/landed".to_owned()));
    assert_eq!(drones[0].labels()["skein.dev/swarm"], "alpha");

    vehicles[0].state().ready = true;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let swarm = field.until("the Swarm to be ready", async || {
        let swarm = field.swarms("north").get("alpha").await.unwrap();
        let status = swarm.status.clone().unwrap_or_default();
        let ready = status
            .conditions
            .iter()
            .any(|c| c.type_ == "Ready" && c.status == "True");
        if ready { Ok(status) } else { Err(format!("{status:?}")) }
    });
    let status = swarm.await;
    assert_eq!(
        (status.replicas, status.assigned_drones, status.flying_drones),
        (1, 1, 1)
    );
    assert_eq!(status.selector.as_deref(), Some("skein.dev/swarm=alpha"));

    vehicles[0].state().lands = false;
    field
        .swarms("north")
        .delete("alpha", &DeleteParams::background())
        .await
        .unwrap();
    field
        .until_drones("the Drone to be landing", |d| d.iter().any(|d| phase(d) == "Landing"))
        .await;
    let kept = field
        .until_drones("the reason why it stays", |d| {
            condition(&d[0], "Ready").2.contains("being deleted")
        })
        .await;
    let why = condition(&kept[0], "Ready").2;
    assert!(
        why.contains("gone once its vehicle is landed and disarmed") && !why.contains("force-release"),
        "{}",
        described(&kept[0])
    );
    assert!(
        field.swarms("north").get_opt("alpha").await.unwrap().is_some(),
        "the Swarm waits for its Drones"
    );

    vehicles[0].state().lands = true;
    field.until_drones("the Drone to be gone", <[Drone]>::is_empty).await;
    assert_eq!(vehicles[0].state().truth, Truth::Disarmed, "gone before it was down");
    field
        .until("the Swarm to be gone", async || {
            let swarm = field.swarms("north").get_opt("alpha").await.unwrap();
            swarm.map_or(Ok(()), |swarm| Err(format!("{:?}", swarm.metadata)))
        })
        .await;
}

async fn a_flight_costs_at_most_eight_writes_and_nothing_is_written_while_nothing_changes(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    vehicles[0].state().pace = 30;
    field.drone("north", json!({"name": "lone"}), json!({})).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    field
        .until("nothing to have been written for 3 s", async || {
            let count = || field.written().map_or(0, |all| all.len());
            let before = count();
            tokio::time::sleep(Duration::from_secs(3)).await;
            if count() == before {
                Ok(())
            } else {
                Err(format!("{before} writes before"))
            }
        })
        .await;

    let versions = async || {
        let drones = field.all_drones().await.into_iter().map(|d| d.resource_version());
        let leases: Api<Lease> = Api::namespaced(field.client.clone(), SYSTEM);
        let leases = leases.list(&ListParams::default()).await.unwrap();
        let claims = leases.iter().filter(|lease| lease.name_any() != "skein-coordinator");
        drones
            .chain(claims.map(ResourceExt::resource_version))
            .collect::<Vec<_>>()
    };
    let (before, written) = (versions().await, field.written().map_or(0, |all| all.len()));
    let orders = vehicles[0].state().orders.len();
    // Its position and battery change all the time.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(versions().await, before);
    assert_eq!(field.written().unwrap_or_default()[written..], []);
    assert_eq!(
        vehicles[0].state().orders.len(),
        orders,
        "an order that was taken is not repeated"
    );

    field
        .drones("north")
        .delete("lone", &DeleteParams::default())
        .await
        .unwrap();
    field.until_drones("it to be gone", <[Drone]>::is_empty).await;
    if let Some(all) = field.written() {
        let writes: Vec<_> = all
            .into_iter()
            .map(|r| format!("{} {} {} {}", r.verb, r.resource, r.name, r.code))
            .collect();
        println!("writes of one flight: {writes:#?}");
        // The inventory has a budget of its own.
        let (inventory, flight): (Vec<_>, Vec<_>) = writes.into_iter().partition(|write| write.contains(" vehicles"));
        assert!(flight.len() <= 8, "{flight:#?}");
        let statuses = inventory.iter().filter(|write| write.contains("/status")).count();
        assert!(statuses <= 1 + 3 && inventory.len() - statuses <= 1, "{inventory:#?}");
    }
}

async fn a_swarm_is_in_the_air_soon_after_it_is_applied_and_costs_few_writes_itself(mut field: Field) {
    let coordinator = field.coordinator();
    let names: Vec<String> = (0..10).map(|i| format!("n{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (vehicles, _agents) = crew(&field, &coordinator, &names);
    let mut fleet = v1::fleet_client::FleetClient::connect(format!("http://{}", coordinator.address))
        .await
        .unwrap();
    while fleet
        .list(v1::ListRequest::default())
        .await
        .map_or(0, |list| list.into_inner().vehicles.len())
        < 10
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let start = Instant::now();
    field.swarm("north", "alpha", json!({"replicas": 10})).await;
    let mut delays = vec![];
    while delays.len() < 10 {
        let now = vehicles.iter().filter(|v| !v.ordered_to_fly_for().is_empty()).count();
        delays.resize(now, start.elapsed().as_millis());
        assert!(start.elapsed() < PATIENCE, "{delays:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    println!("from applying the Swarm to each agent having its order, in ms: {delays:?}");
    field.until_drones("ten to fly", |drones| flying(drones) == 10).await;
    field
        .until("the Swarm to say so", async || {
            let status = field
                .swarms("north")
                .get("alpha")
                .await
                .unwrap()
                .status
                .unwrap_or_default();
            if status.flying_drones == 10 {
                Ok(())
            } else {
                Err(format!("{status:?}"))
            }
        })
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    if let Some(all) = field.written() {
        let about_swarm = all.into_iter().filter(|r| r.name == "alpha").count();
        println!("writes to the Swarm: {about_swarm}");
        assert!(about_swarm <= 8, "{about_swarm}");
    }
}

async fn somebody_looks(field: &Field, coordinator: &Coordinator) {
    let kubectl = field.cluster().kubectl();
    let token = kubectl
        .run(["create", "token", "skein-coordinator", "-n", SYSTEM])
        .unwrap();
    let looked = field.until("a coordinator that answers over TLS", async || {
        let map = kubectl
            .read(&format!("/api/v1/namespaces/{SYSTEM}/configmaps/skein-ca"))
            .map_err(|error| error.to_string())?;
        let bundle = trust::Bundle::from_pem(map["data"]["ca.crt"].as_str().unwrap_or_default());
        let way = Way::new(&coordinator.address, bundle.map_err(|error| error.to_string())?);
        let mut fleet = way.fleet(token.trim()).await.map_err(|error| error.to_string())?;
        let listed = fleet.list(v1::ListRequest::default()).await;
        listed.map_err(|status| status.to_string())?;
        Ok(way)
    });
    let way = looked.await;
    let key = trust::PersonKey::make().unwrap();
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "skein-person-"},
        "spec": {
            "request": STANDARD.encode(key.request_pem().unwrap()), "signerName": trust::proof::SIGNER,
            "usages": ["client auth"], "expirationSeconds": 3600,
        },
    });
    let made = kubectl.run_with(["create", "-f", "-", "-o", "name"], &request.to_string());
    let name = made.unwrap().trim().rsplit('/').next().map(trust::RequestName::parse);
    let identity = key
        .identity(&name.unwrap().unwrap(), std::time::SystemTime::now())
        .unwrap();
    let channel = way.channel(Some(&identity)).await.unwrap();
    let listed = v1::fleet_client::FleetClient::new(channel)
        .list(v1::ListRequest::default())
        .await;
    listed.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_right_that_it_is_given_is_used_and_none_is_missing() {
    let mut field = Field::clean(ServedBy::Kubernetes).await;
    let first = field.secured_coordinator(|launch| launch.env("POD_IP", "10.11.12.1"));
    service_leads_to(&field, "10.11.12.1").await;
    somebody_looks(&field, &first).await;
    assert_eq!(first.process.stop(PATIENCE).unwrap().code(), Some(0));
    for object in ["secret", "configmap"] {
        let emptied = [
            "patch",
            object,
            "skein-ca",
            "-n",
            SYSTEM,
            "--type=json",
            "-p",
            r#"[{"op":"remove","path":"/data"}]"#,
        ];
        field.cluster().kubectl().run(emptied).unwrap();
    }
    let second = field.secured_coordinator(|launch| launch.env("POD_IP", "10.11.12.2"));
    service_leads_to(&field, "10.11.12.2").await;
    somebody_looks(&field, &second).await;
    assert_eq!(second.process.stop(PATIENCE).unwrap().code(), Some(0));
    // Pods have got addresses of the other family: the EndpointSlice is made anew.
    let third = field.secured_coordinator(|launch| launch.env("POD_IP", "fd00::3"));
    service_leads_to(&field, "fd00::3").await;
    assert_eq!(third.process.stop(PATIENCE).unwrap().code(), Some(0));
    // It was not heard for longer than the inventory keeps a vehicle.
    let kubectl = field.cluster().kubectl();
    let forgotten = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Vehicle", "metadata": {"name": "long-gone"}, "spec": {"nodeName": "long-gone"},
    });
    kubectl.apply(&forgotten.to_string()).unwrap();
    let silent = json!({"status": {"conditions": [{
        "type": "Ready", "status": "False", "reason": "AgentSilent", "message": "its agent is not connected",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }]}});
    let patch = [
        "patch",
        "vehicle",
        "long-gone",
        "--subresource=status",
        "--type=merge",
        "-p",
        &silent.to_string(),
    ];
    kubectl.run(patch).unwrap();
    let none = json!({"matchLabels": {"site": "nowhere"}});
    let geofence = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Geofence", "metadata": {"name": "nowhere"},
        "spec": {"vehicleSelector": none, "ceilingMeters": 60},
    });
    let profile = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "ParameterProfile", "metadata": {"name": "nowhere"},
        "spec": {"vehicleSelector": none, "px4": {"RTL_RETURN_ALT": "40"}},
    });
    kubectl.apply(&geofence.to_string()).unwrap();
    kubectl.apply(&profile.to_string()).unwrap();
    let file = json!({"planFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}});
    for (name, ttl) in [("file", None), ("ended", Some(0))] {
        let mut spec = file.clone();
        if let Some(ttl) = ttl {
            spec["ttlSecondsAfterFinished"] = json!(ttl);
        }
        let mission = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": name, "namespace": "north"}, "spec": spec,
        });
        kubectl.apply(&mission.to_string()).unwrap();
    }
    // Its file moves a servo, which its namespace may not order.
    let drops = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n1\t0\t3\t16\t0\t0\t0\t0\t47.401\t8.5\t30\t1\n\
                 2\t0\t3\t183\t9\t1900\t0\t0\t0\t0\t0\t1\n";
    let name = json!({"name": "drops", "namespace": "north"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"plan": drops}});
    kubectl.apply(&map.to_string()).unwrap();
    let from = json!({"planFrom": {"configMapKeyRef": {"name": "drops", "key": "plan"}}});
    let mission = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": name, "spec": from});
    kubectl.apply(&mission.to_string()).unwrap();
    let ended = r#"{"status": {"completionTime": "2020-01-01T00:00:00Z"}}"#;
    let patch = [
        "patch",
        "mission",
        "-n",
        "north",
        "ended",
        "--subresource=status",
        "--type=merge",
        "-p",
        ended,
    ];
    kubectl.run(patch).unwrap();
    let operator = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Operator", "metadata": {"name": "nowhere"},
        "spec": {"vehicleSelector": {"matchLabels": {"site": "nowhere"}}, "id": "CHE87astrdge12k8"},
    });
    kubectl.apply(&operator.to_string()).unwrap();
    let coordinator = field.coordinator();
    let (_vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    let first = field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let mut fleet = v1::fleet_client::FleetClient::connect(format!("http://{}", coordinator.address))
        .await
        .unwrap();
    let all = || v1::GroundRequest {
        target: Some(v1::ground_request::Target::All(v1::All {})),
    };
    fleet.ground(all()).await.unwrap();
    field
        .until_drones("it to be down", |drones| phase(&drones[0]) == "Grounded")
        .await;
    fleet.release(latched::swarm("alpha")).await.unwrap();
    fleet.release(all()).await.unwrap();
    field
        .until_drones("it to fly again", |drones| flying(drones) == 1)
        .await;
    field
        .drones("north")
        .delete(&first[0].name_any(), &DeleteParams::default())
        .await
        .unwrap();
    let second = |d: &[Drone]| d.len() == 1 && d[0].uid() != first[0].uid() && flying(d) == 1;
    field.until_drones("its replacement to fly", second).await;
    field.scale("north", "alpha", 0).await;
    field.until_drones("it to be gone", <[Drone]>::is_empty).await;
    let inventory = field.until(
        "the inventory to hold the vehicle that is heard, and no other",
        async || {
            let vehicles = field.read("vehicles");
            let known = |vehicle: &serde_json::Value| {
                let node = vehicle["spec"]["nodeName"] == "n1";
                node && vehicle["status"]["conditions"]
                    .as_array()
                    .is_some_and(|all| !all.is_empty())
            };
            match vehicles["items"].as_array() {
                Some(all) if all.len() == 1 && all.iter().all(known) => Ok(()),
                _ => Err(vehicles.to_string()),
            }
        },
    );
    inventory.await;
    assert_eq!(coordinator.process.stop(PATIENCE).unwrap().code(), Some(0));

    let rules = |kind: &str| {
        field
            .cluster()
            .kubectl()
            .json(["get", kind, "skein-coordinator", "-n", SYSTEM])
            .unwrap()["rules"]
            .clone()
    };
    let words = |value: &serde_json::Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    let mut given = BTreeSet::new();
    for rule in [rules("clusterrole"), rules("role")]
        .iter()
        .flat_map(|rules| rules.as_array().unwrap())
    {
        for (resource, verb) in words(&rule["resources"])
            .iter()
            .flat_map(|r| words(&rule["verbs"]).into_iter().map(move |v| (r, v)))
        {
            given.insert(format!("{verb} {resource}"));
        }
    }
    // Rights to replace agents need a DaemonSet: `tests/upgrades.rs` shows that each is used.
    given.retain(|right| {
        !["pods", "daemonsets", "controllerrevisions"]
            .iter()
            .any(|of| right.ends_with(of))
    });
    // A watch is in the audit log once it has ended.
    let unused = field.until("every right to be used", async || {
        let used: BTreeSet<_> = field
            .asked()
            .iter()
            .flatten()
            .map(|r| format!("{} {}", r.verb, r.resource))
            .collect();
        let unused: Vec<_> = given.difference(&used).cloned().collect();
        if unused.is_empty() {
            Ok(())
        } else {
            Err(format!("never used: {unused:?}"))
        }
    });
    unused.await;
}

async fn a_busy_node_or_an_unrelated_pod_does_not_keep_a_drone_from_a_free_vehicle(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    let pod = |node: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("unrelated-{node}"), "namespace": "north"},
            "spec": {"nodeName": node, "containers": [{"name": "x", "image": "x"}]},
        })
    };
    let pods = json!({"apiVersion": "v1", "kind": "List", "items": [pod("n1"), pod("n2")]});
    let kubernetes = field.cluster().kubernetes().map(|plane| plane.kubectl().clone());
    if let Some(kubectl) = &kubernetes {
        kubectl.apply(&pods.to_string()).unwrap();
    }
    field
        .drone("north", json!({"name": "first"}), json!({"nodeName": "n1"}))
        .await;
    field
        .until_drones("the first to fly", |drones| flying(drones) == 1)
        .await;
    field.drone("north", json!({"name": "second"}), json!({})).await;
    let drones = field.until_drones("both to fly", |drones| flying(drones) == 2).await;
    let nodes: BTreeSet<_> = drones.iter().map(on).collect();
    assert_eq!(nodes, BTreeSet::from(["n1", "n2"]));
    assert_eq!(vehicles[1].ordered_to_fly_for(), ["second"]);
    if let Some(kubectl) = kubernetes {
        kubectl
            .run(["delete", "pods", "-n", "north", "--all", "--force", "--grace-period=0"])
            .unwrap();
    }
}

async fn two_coordinators_and_many_pending_drones_never_bind_a_vehicle_twice(mut field: Field) {
    // Neither checks whether another one leads: even then nothing is done twice.
    let alone = |launch: Launch| launch.arg("--alone");
    let (one, two) = (field.coordinator_with(alone), field.coordinator_with(alone));
    let names: Vec<String> = (0..12).map(|i| format!("n{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Every node reports to both, and accepts orders from neither: both find every vehicle free, until it is claimed.
    let (vehicles, _agents) = crew(&field, &one, &names);
    for vehicle in &vehicles {
        vehicle.state().obeys = false;
    }
    let _more: Vec<_> = vehicles
        .iter()
        .map(|vehicle| Agent::start(vehicle, &two.address))
        .collect();
    for namespace in ["north", "south"] {
        field.swarm(namespace, "alpha", json!({"replicas": 15})).await;
    }
    let drones = field.until_drones("all vehicles to be bound", |drones| {
        drones.len() == 30 && drones.iter().filter(|d| d.spec.node_name.is_some()).count() == 12
    });
    drones.await;
    field
        .until("all vehicles to be ordered to fly", async || {
            let asked = vehicles.iter().filter(|v| !v.ordered_to_fly_for().is_empty()).count();
            if asked == 12 {
                Ok(())
            } else {
                Err(format!("{asked} are"))
            }
        })
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let drones = field.all_drones().await;
    assert_eq!(drones.len(), 30, "each coordinator made its own");
    let mut served: BTreeMap<&str, Vec<&Drone>> = BTreeMap::new();
    for drone in drones.iter().filter(|d| d.spec.node_name.is_some()) {
        served.entry(on(drone)).or_default().push(drone);
    }
    assert_eq!(served.len(), 12);
    let leases: Api<Lease> = Api::namespaced(field.client.clone(), SYSTEM);
    for (node, drones) in served {
        assert_eq!(drones.len(), 1, "{node} was bound twice");
        let claim = leases.get(&format!("node-{node}")).await.unwrap();
        assert_eq!(claim.spec.unwrap().holder_identity, drones[0].uid());
    }
    for vehicle in &vehicles {
        let drones: BTreeSet<_> = vehicle.ordered_to_fly_for().into_iter().collect();
        assert_eq!(
            drones.len(),
            1,
            "{} was ordered to fly for {drones:?}",
            vehicle.state().node
        );
    }
    let bound = |c: &Coordinator| {
        c.process
            .stderr()
            .lines()
            .filter(|line| line.contains(" bound to="))
            .count()
    };
    let mut answers: BTreeMap<_, usize> = BTreeMap::new();
    for request in field.written().into_iter().flatten() {
        let what = format!("{} {} {}", request.verb, request.resource, request.code);
        *answers.entry(what).or_default() += 1;
    }
    println!("bound by one: {}, by two: {}; {answers:#?}", bound(&one), bound(&two));
    assert_eq!(bound(&one) + bound(&two), 12);
    one.process.ensure_running().unwrap();
    two.process.ensure_running().unwrap();
}

async fn swarms_touch_only_their_own_drones_in_one_namespace_and_in_two(mut field: Field) {
    let _coordinator = field.coordinator();
    field.swarm("north", "alpha", json!({"replicas": 3})).await;
    field.swarm("north", "beta", json!({"replicas": 2})).await;
    field.swarm("south", "alpha", json!({"replicas": 4})).await;
    // A person's own Drone with the label but without owner reference.
    field
        .drone(
            "north",
            json!({"name": "mine", "labels": {"skein.dev/swarm": "alpha"}}),
            json!({}),
        )
        .await;
    let of = |drones: &[Drone], namespace: &str, swarm: &str| {
        let owned = |d: &&Drone| {
            d.owner_references().iter().any(|o| o.name == swarm) && d.namespace().as_deref() == Some(namespace)
        };
        drones
            .iter()
            .filter(owned)
            .map(Drone::name_any)
            .collect::<BTreeSet<_>>()
    };
    let before = field.until_drones("ten Drones", |drones| drones.len() == 10).await;
    for (swarm, expected) in [(("north", "alpha"), 3), (("north", "beta"), 2), (("south", "alpha"), 4)] {
        assert_eq!(of(&before, swarm.0, swarm.1).len(), expected, "{swarm:?}");
    }
    field.scale("north", "alpha", 0).await;
    let after = field
        .until_drones("the three to be gone", |drones| drones.len() == 7)
        .await;
    assert_eq!(of(&after, "north", "beta"), of(&before, "north", "beta"));
    assert_eq!(of(&after, "south", "alpha"), of(&before, "south", "alpha"));
    field
        .swarms("south")
        .delete("alpha", &DeleteParams::foreground())
        .await
        .unwrap();
    let after = field
        .until_drones("the four to be gone", |drones| drones.len() == 3)
        .await;
    assert!(after.iter().any(|d| d.name_any() == "mine"));
    let gone = of(&after, "north", "beta").pop_first().unwrap();
    field
        .drones("north")
        .delete(&gone, &DeleteParams::default())
        .await
        .unwrap();
    field
        .until_drones("a replacement", |drones| {
            of(drones, "north", "beta").len() == 2 && drones.len() == 3
        })
        .await;
}

async fn a_swarm_deleted_with_orphans_leaves_its_drones_flying(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let orders = vehicles[0].state().orders.len();
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    field.swarms("north").delete("alpha", &orphan).await.unwrap();
    field
        .until("the Swarm to be gone", async || {
            let swarm = field.swarms("north").get_opt("alpha").await.unwrap();
            swarm.map_or(Ok(()), |swarm| Err(format!("{:?}", swarm.metadata)))
        })
        .await;
    field
        .until_drones("the Drone to have no Swarm", |d| {
            d.len() == 1 && d[0].owner_references().is_empty()
        })
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(vehicles[0].flies() && !vehicles[0].ordered_to_land_since(orders));
}

async fn scale_down_takes_the_idle_drone_first_and_then_the_lowest_battery(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    vehicles[0].state().battery = 90;
    vehicles[1].state().battery = 50;
    vehicles[2].state().battery = 99;
    vehicles[2].state().ready = false;
    field.swarm("north", "alpha", json!({"replicas": 3})).await;
    let three = field
        .until_drones("two to fly and one to be on the ground", |d| {
            flying(d) == 2 && d.iter().any(|d| phase(d) == "Preparing")
        })
        .await;
    field.scale("north", "alpha", 2).await;
    let two = field.until_drones("one to go", |drones| drones.len() == 2).await;
    let node_of = |drones: &[Drone]| drones.iter().map(|d| on(d).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(node_of(&three).len(), 3);
    assert_eq!(
        node_of(&two),
        BTreeSet::from(["n1".to_owned(), "n2".to_owned()]),
        "the one that flies was taken"
    );
    field.scale("north", "alpha", 1).await;
    let one = field.until_drones("one more to go", |drones| drones.len() == 1).await;
    assert_eq!(
        node_of(&one),
        BTreeSet::from(["n1".to_owned()]),
        "the fuller battery was taken"
    );
    assert!(vehicles[0].flies() && !vehicles[1].flies());
}

async fn a_pending_drone_says_why_and_flies_as_soon_as_a_vehicle_may_be_had(mut field: Field) {
    let coordinator = field.coordinator();
    let (_vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field.cluster().kubectl().run(["cordon", "n1"]).unwrap();
    field
        .cluster()
        .kubectl()
        .run(["label", "node", "n2", "camera=thermal"])
        .unwrap();
    field
        .drone(
            "north",
            json!({"name": "seer"}),
            json!({"nodeSelector": {"camera": "thermal"}}),
        )
        .await;
    field
        .until_drones("the seer to fly", |drones| flying(drones) == 1)
        .await;
    field.drone("north", json!({"name": "second"}), json!({})).await;
    let drones = field
        .until_drones("the second to say why it waits", |d| {
            d.iter().any(|d| condition(d, "Assigned").1 == "NoFreeVehicle")
        })
        .await;
    let second = drones.iter().find(|d| d.name_any() == "second").unwrap();
    let (_, _, message) = condition(second, "Assigned");
    assert_eq!(
        message,
        "no vehicle is free: of 2 drone nodes 1 serve other Drones, 1 are cordoned"
    );
    assert_eq!(phase(second), "Pending");
    field.cluster().kubectl().run(["uncordon", "n1"]).unwrap();
    let drones = field.until_drones("both to fly", |drones| flying(drones) == 2).await;
    assert_eq!(drones.iter().map(on).collect::<BTreeSet<_>>().len(), 2);
}

async fn a_drone_whose_agent_is_silent_stays_until_an_operator_forces_it(mut field: Field) {
    let coordinator = field.coordinator();
    let (_vehicles, agents) = crew(&field, &coordinator, &["n1"]);
    field.drone("north", json!({"name": "lone"}), json!({})).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    drop(agents);
    let lost = field
        .until_drones("nothing to be known", |drones| phase(&drones[0]) == "Unknown")
        .await;
    assert_eq!(lost[0].status.as_ref().unwrap().flying, None);
    assert_eq!(condition(&lost[0], "Connected").1, "AgentSilent");
    field
        .drones("north")
        .delete("lone", &DeleteParams::default())
        .await
        .unwrap();
    let kept = field
        .until_drones("it to say why it stays", |d| {
            condition(&d[0], "Ready").2.contains("force-release")
        })
        .await;
    let message = condition(&kept[0], "Ready").2;
    assert!(message.contains("agent on its node is not connected"), "{message}");
    let annotate = async |value: &str| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"skein.dev/force-release": value}}}));
        field
            .drones("north")
            .patch("lone", &PatchParams::default(), &patch)
            .await
            .unwrap();
    };
    annotate("yes").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(field.all_drones().await.len(), 1);
    annotate(&kept[0].uid().unwrap()).await;
    field.until_drones("it to be gone", <[Drone]>::is_empty).await;
}

async fn an_airframe_whose_computer_has_another_name_is_armed_for_nobody_while_it_may_fly(mut field: Field) {
    const NUMBER: &str = "0000000000000007";
    let coordinator = field.coordinator();
    field.nodes(&["n1", "n2"]);
    let with_number = |node: &str| {
        let vehicle = Vehicle::new(node);
        vehicle.state().hardware = NUMBER.to_owned();
        vehicle
    };
    let before = with_number("n1");
    let agent = Agent::start(&before, &coordinator.address);
    field.drone("north", json!({"name": "lone"}), json!({})).await;
    field
        .until_drones("it to fly and its airframe to be known", |drones| {
            let vehicle = drones[0].status.as_ref().and_then(|status| status.vehicle.as_ref());
            flying(drones) == 1 && vehicle.is_some_and(|vehicle| vehicle.hardware_uid.as_deref() == Some(NUMBER))
        })
        .await;
    drop(agent);
    field
        .until_drones("nothing to be known", |drones| phase(&drones[0]) == "Unknown")
        .await;
    // Its computer was set up anew: another node, an agent that remembers nothing, and the same autopilot.
    let after = with_number("n2");
    let _agent = Agent::start(&after, &coordinator.address);
    field.drone("north", json!({"name": "next"}), json!({})).await;
    let says = |drones: &[Drone]| {
        let next = drones.iter().find(|drone| drone.name_any() == "next");
        next.map_or_else(String::new, |next| condition(next, "Assigned").2)
    };
    let drones = field
        .until_drones("the next to say why it waits", |drones| {
            says(drones).contains("may be flying for a Drone of another node")
        })
        .await;
    let next = drones.iter().find(|drone| drone.name_any() == "next").unwrap();
    assert_eq!((phase(next), on(next)), ("Pending", ""));
    let free = field
        .until("the Vehicle to say it", async || {
            let vehicles = field
                .cluster()
                .kubectl()
                .json(["get", "vehicles"])
                .map_err(|error| error.to_string())?;
            let all = vehicles["items"].as_array().ok_or("no list")?;
            // Other tests had other airframes there.
            let of_node = all.iter().filter(|vehicle| vehicle["spec"]["nodeName"] == "n2");
            let conditions = of_node.filter_map(|vehicle| vehicle["status"]["conditions"].as_array());
            let mut free = conditions.flatten().filter(|condition| condition["type"] == "Free");
            let says_it = free.find(|free| free["reason"] == "FliesElsewhere");
            says_it.cloned().ok_or_else(|| vehicles.to_string())
        })
        .await;
    assert!(
        free["message"].as_str().unwrap().contains("give it the old name again"),
        "{free}"
    );
    assert_eq!(after.ordered_to_fly_for(), Vec::<String>::new());
}

async fn a_vehicle_whose_drone_was_released_by_force_lands_before_it_serves_the_next(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    field.drone("north", json!({"name": "first"}), json!({})).await;
    let first = field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let orders = vehicles[0].state().orders.len();
    vehicles[0].state().lands = false;
    field.drone("north", json!({"name": "next"}), json!({})).await;
    let force = json!({"metadata": {"annotations": {"skein.dev/force-release": first[0].uid()}}});
    let drones = field.drones("north");
    drones
        .patch("first", &PatchParams::default(), &Patch::Merge(force))
        .await
        .unwrap();
    drones.delete("first", &DeleteParams::default()).await.unwrap();
    let left = field
        .until_drones("the next to wait", |d| d.len() == 1 && phase(&d[0]) == "Pending")
        .await;
    assert_eq!(left[0].name_any(), "next");
    field
        .until("the vehicle to be ordered", async || {
            if vehicles[0].ordered_to_land_since(orders) {
                Ok(())
            } else {
                Err(format!("{orders} orders"))
            }
        })
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        vehicles[0].ordered_to_fly_for().last().map(String::as_str),
        Some("first")
    );
    vehicles[0].state().lands = true;
    let next = field
        .until_drones("the next to fly", |drones| flying(drones) == 1)
        .await;
    assert_eq!((next[0].name_any().as_str(), on(&next[0])), ("next", "n1"));
}

async fn a_swarm_larger_than_one_batch_gets_exactly_its_drones_and_loses_them_all(mut field: Field) {
    let _coordinator = field.coordinator();
    let start = Instant::now();
    field.swarm("north", "alpha", json!({"replicas": 120})).await;
    field.until_drones("all to exist", |drones| drones.len() >= 120).await;
    println!("120 Drones made in {:?}", start.elapsed());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(field.all_drones().await.len(), 120);
    if let Some(all) = field.written() {
        let created = all.iter().filter(|r| r.verb == "create" && r.resource == "drones");
        assert_eq!(created.count(), 120, "none is asked for twice");
    }
    field.scale("north", "alpha", 1).await;
    field.until_drones("one to be left", |drones| drones.len() == 1).await;
    if field.written().is_some() {
        // The log has a request after its answer.
        let deleted = || field.written().unwrap().iter().filter(|r| r.verb == "delete").count();
        let all = async || {
            if deleted() < 119 {
                Err(deleted().to_string())
            } else {
                Ok(())
            }
        };
        field.until("119 to be logged as deleted", all).await;
        assert_eq!(deleted(), 119, "none is deleted twice");
    }
}

async fn a_grounded_swarm_deleted_with_orphans_leaves_its_vehicles_on_the_ground(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;
    let grounded = Patch::Merge(json!({"spec": {"grounded": true}}));
    let params = PatchParams::default();
    field.swarms("north").patch("alpha", &params, &grounded).await.unwrap();
    field
        .until_drones("it to be down", |d| phase(&d[0]) == "Grounded")
        .await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    field.swarms("north").delete("alpha", &orphan).await.unwrap();
    let drones = field
        .until_drones("its status to say why it stays down", |d| {
            d.len() == 1 && d[0].owner_references().is_empty() && condition(&d[0], "Ready").1 == "SwarmUnknown"
        })
        .await;
    assert!(!vehicles[0].flies());

    let unlabeled = Patch::Merge(json!({"metadata": {"labels": {"skein.dev/swarm": null}}}));
    let drone = field.drones("north");
    drone.patch(&drones[0].name_any(), &params, &unlabeled).await.unwrap();
    field
        .until_drones("it to fly by itself", |drones| flying(drones) == 1)
        .await;
}

async fn a_ground_order_lands_all_at_once_latches_and_ends_with_the_release(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.drone("south", json!({"name": "lone"}), json!({})).await;
    field.until_drones("three to fly", |drones| flying(drones) == 3).await;
    let mut fleet = v1::fleet_client::FleetClient::connect(format!("http://{}", coordinator.address))
        .await
        .unwrap();
    let swarm = |name: &str| v1::GroundRequest {
        target: Some(v1::ground_request::Target::Swarm(v1::SwarmTarget {
            namespace: "north".into(),
            name: name.into(),
        })),
    };
    let all = v1::GroundRequest {
        target: Some(v1::ground_request::Target::All(v1::All {})),
    };

    let unknown = fleet.ground(swarm("nobody")).await.unwrap_err();
    assert_eq!(unknown.code(), tonic::Code::NotFound);
    let answer = fleet.ground(swarm("alpha")).await.unwrap().into_inner();
    assert_eq!((answer.drones, answer.agents_told), (2, 2));
    field
        .until_drones("two to be down", |d| {
            d.iter().filter(|d| phase(d) == "Grounded").count() == 2 && flying(d) == 1
        })
        .await;
    assert!(field.swarms("north").get("alpha").await.unwrap().spec.grounded);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 1);
    fleet.release(swarm("alpha")).await.unwrap();
    field
        .until_drones("three to fly again", |drones| flying(drones) == 3)
        .await;

    // The API server hangs: the order still reaches the agents, and is written once it is back.
    field.cluster().api_server().pause().unwrap();
    let start = Instant::now();
    let order = tokio::spawn(async move { (fleet.ground(all).await, fleet) });
    while vehicles.iter().any(Vehicle::flies) {
        assert!(
            start.elapsed() < Duration::from_secs(8),
            "agents did not have the order at once"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (answer, mut fleet) = order.await.unwrap();
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();
    assert_eq!(answer.unwrap_err().code(), tonic::Code::Unavailable);
    field
        .until("the order to be written", async || {
            let swarm = field.swarms("north").get("alpha").await.unwrap().spec.grounded;
            let lone = field.drones("south").get("lone").await.unwrap().spec.grounded;
            if swarm && lone {
                Ok(())
            } else {
                Err(format!("{swarm} {lone}"))
            }
        })
        .await;
    assert!(!vehicles.iter().any(Vehicle::flies));

    let list = fleet
        .list(v1::ListRequest::default())
        .await
        .unwrap()
        .into_inner()
        .vehicles;
    assert_eq!(list.iter().filter(|v| v.phase == "Grounded").count(), 3, "{list:#?}");
    fleet
        .release(v1::GroundRequest {
            target: Some(v1::ground_request::Target::All(v1::All {})),
        })
        .await
        .unwrap();
    field
        .until_drones("three to fly at last", |drones| flying(drones) == 3)
        .await;
}

async fn neither_a_new_coordinator_nor_an_api_server_that_is_away_brings_anybody_down(mut field: Field) {
    let first = field.coordinator();
    let (vehicles, agents) = crew(&field, &first, &["n1", "n2"]);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    let before = field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    field
        .until("the Swarm to be ready", async || {
            let status = field
                .swarms("north")
                .get("alpha")
                .await
                .unwrap()
                .status
                .unwrap_or_default();
            let ready = status
                .conditions
                .iter()
                .any(|c| c.type_ == "Ready" && c.status == "True");
            if ready && status.flying_drones == 2 {
                Ok(())
            } else {
                Err(format!("{status:?}"))
            }
        })
        .await;
    field
        .until("the inventory to show both Drones", async || {
            let all = field.read("vehicles");
            let shown = |node: &str| {
                let items = all["items"].as_array().into_iter().flatten();
                items
                    .clone()
                    .any(|v| v["spec"]["nodeName"] == node && !v["status"]["drone"].is_null())
            };
            if shown("n1") && shown("n2") {
                Ok(())
            } else {
                Err(all.to_string())
            }
        })
        .await;
    let orders: Vec<_> = vehicles.iter().map(|v| v.state().orders.len()).collect();
    assert_eq!(
        first.process.stop(PATIENCE).unwrap().code(),
        Some(0),
        "a coordinator that is asked to end ends well"
    );
    drop(agents);

    let quiet = field.written().map_or(0, |all| all.len());
    let second = field.coordinator();
    let _agents: Vec<_> = vehicles
        .iter()
        .map(|vehicle| Agent::start(vehicle, &second.address))
        .collect();
    let term = |v: &Vehicle| v.state().fence.held.as_ref().map(|held| held.term.0);
    field
        .until("both agents to hold the new term", async || {
            let terms: Vec<_> = vehicles.iter().map(term).collect();
            let highest = vehicles[0].state().fence.highest_term.0;
            if terms.iter().all(|t| *t == Some(highest))
                && vehicles.iter().zip(&orders).all(|(v, n)| v.state().orders.len() > *n)
            {
                Ok(())
            } else {
                Err(format!("{terms:?}"))
            }
        })
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let new = field.written().unwrap_or_default().split_off(quiet);
    assert_eq!(new, [], "a new coordinator finds all as it should be");
    // A claim that a person removed is created again, and no vehicle lands because of it.
    let leases: Api<Lease> = Api::namespaced(field.client.clone(), SYSTEM);
    leases.delete("node-n1", &DeleteParams::default()).await.unwrap();
    field
        .until("the claim to be back", async || {
            let claim = leases.get_opt("node-n1").await.unwrap();
            claim.map(drop).ok_or_else(|| "no claim".to_owned())
        })
        .await;
    field.cluster().api_server().pause().unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();
    second.process.ensure_running().unwrap();
    let after = field
        .until_drones("two to fly still", |drones| flying(drones) == 2)
        .await;
    for (vehicle, from) in vehicles.iter().zip(orders) {
        assert!(vehicle.flies());
        assert!(!vehicle.ordered_to_land_since(from), "{:#?}", vehicle.state().orders);
    }
    let bound = |drones: &[Drone]| {
        drones
            .iter()
            .map(|d| (d.name_any(), on(d).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(bound(&after), bound(&before));
}

async fn a_user_may_name_a_node_but_not_one_that_serves_another_drone(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field
        .drone("north", json!({"name": "first"}), json!({"nodeName": "n2"}))
        .await;
    let drones = field
        .until_drones("the first to fly on its node", |drones| flying(drones) == 1)
        .await;
    assert_eq!(on(&drones[0]), "n2");
    assert!(drones[0].finalizers().contains(&"skein.dev/landed".to_owned()));
    field
        .drone("south", json!({"name": "thief"}), json!({"nodeName": "n2"}))
        .await;
    field
        .drone("south", json!({"name": "typo"}), json!({"nodeName": "n-2"}))
        .await;
    let drones = field.until_drones("both to be ordered", |drones| {
        let reason = |name: &str, reason: &str| {
            drones
                .iter()
                .any(|d| d.name_any() == name && condition(d, "Assigned").1 == reason)
        };
        reason("thief", "NodeTaken") && reason("typo", "NoFreeVehicle")
    });
    let drones = drones.await;
    let thief = drones.iter().find(|d| d.name_any() == "thief").unwrap();
    assert!(
        condition(thief, "Assigned").2.contains("serves Drone north/first"),
        "{}",
        described(thief)
    );
    assert_eq!(
        vehicles[1].ordered_to_fly_for().into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["first".to_owned()])
    );
    for name in ["thief", "typo"] {
        field
            .drones("south")
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }
    field.until_drones("both to be gone", |drones| drones.len() == 1).await;
    assert!(vehicles[1].flies());
}

async fn a_coordinator_that_hears_of_a_higher_term_ends(mut field: Field) {
    let coordinator = field.coordinator();
    let vehicle = Vehicle::new("n1");
    vehicle.state().fence.highest_term = model::ids::Term(1_000_000);
    let _agent = Agent::start(&vehicle, &coordinator.address);
    let status = coordinator.process.wait_for_exit(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(
        coordinator.process.stderr().contains("deposed"),
        "{}",
        coordinator.process.tail()
    );
    assert!(vehicle.state().orders.is_empty());

    // A lost or restored Lease costs one start, not one for each term.
    let second = field.coordinator();
    let _agent = Agent::start(&vehicle, &second.address);
    let ordered = async || {
        let ordered = !vehicle.state().orders.is_empty();
        ordered.then_some(()).ok_or_else(|| "it is sent nothing".to_owned())
    };
    field.until("the agent to be ordered by the second", ordered).await;
}

async fn a_stream_keeps_to_the_protocol_or_ends(mut field: Field) {
    let coordinator = field.coordinator();
    let connect = || v1::uplink_client::UplinkClient::connect(format!("http://{}", coordinator.address));
    let hello = |node: &str| {
        from(v1::from_agent::Message::Hello(v1::Hello {
            node: node.into(),
            agent_version: "test".into(),
            highest_term: 0,
            life: 0,
        }))
    };
    let report = || from(v1::from_agent::Message::Report(v1::Report::default()));
    let open = async |first: v1::FromAgent| {
        field
            .until("a coordinator that knows the fleet", async || {
                let first = first.clone();
                let stream = futures::stream::once(async { first }).chain(futures::stream::pending());
                let opened = connect().await.unwrap().session(stream).await;
                opened
                    .map(tonic::Response::into_inner)
                    .map_err(|status| status.to_string())
            })
            .await
    };
    let ending = async |mut stream: tonic::Streaming<v1::ToAgent>| loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return tonic::Code::Ok,
            Err(status) => return status.code(),
        }
    };
    assert_eq!(ending(open(report()).await).await, tonic::Code::InvalidArgument);
    assert_eq!(
        ending(open(hello("Not A Node")).await).await,
        tonic::Code::InvalidArgument
    );
    let older = open(hello("n1")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let start = Instant::now();
    let newer = open(hello("n1")).await;
    assert_eq!(ending(older).await, tonic::Code::Aborted);
    assert_eq!(ending(newer).await, tonic::Code::DeadlineExceeded);
    assert!(
        (4..9).contains(&start.elapsed().as_secs()),
        "silence ends a session after 5 s: {:?}",
        start.elapsed()
    );
}
