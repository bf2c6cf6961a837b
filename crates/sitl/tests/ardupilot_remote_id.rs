//! ArduPilot's check of Remote ID, as recorded on the real one (4.7-dev). The test plays the transmitter, component
//! 236.

mod support;

use sitl::wire::{Address, RemoteIdMessage, Request};
use support::Bench;
use support::Verdict::{Accepted, Failed};
use support::ardupilot::*;

const TRANSMITTER: Address = Address {
    system: 1,
    component: 236,
};

fn enforced() -> Bench {
    let mut bench = ready();
    set_parameter(&mut bench, "DID_ENABLE", 1.0);
    set_parameter(&mut bench, "DID_OPTIONS", 1.0);
    bench
}

fn send(bench: &mut Bench, message: RemoteIdMessage) {
    bench.receive(Request::RemoteId(message));
}

fn id() -> RemoteIdMessage {
    RemoteIdMessage::BasicId {
        id_type: 1,
        ua_type: 2,
        id: "1596F12345678".to_owned(),
    }
}

fn place(lat_e7: i32, lon_e7: i32) -> RemoteIdMessage {
    RemoteIdMessage::System {
        lat_e7,
        lon_e7,
        timestamp: 1,
        location_type: 0,
    }
}

fn here() -> RemoteIdMessage {
    place(473_977_420, 85_455_940)
}

fn transmits(bench: &mut Bench, good: bool, error: &str) {
    let message = RemoteIdMessage::ArmStatus {
        good,
        error: error.to_owned(),
    };
    bench.receive_from(TRANSMITTER, Request::RemoteId(message));
}

fn refusal(bench: &mut Bench) -> Vec<String> {
    let start = bench.now_s();
    assert_eq!(bench.arm(), Failed);
    let texts = bench.texts_since(start);
    bench.pass(0.02);
    texts
}

#[test]
fn it_wants_an_id_a_place_a_transmitter_and_says_what_is_missing_first() {
    let mut bench = enforced();
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: UA_TYPE required in BasicID"]);
    send(&mut bench, id());
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: operator location must be set"]);
    send(&mut bench, place(0, 0));
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: operator location must be set"]);
    send(&mut bench, here());
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: ARM_STATUS not available"]);
    transmits(&mut bench, false, "LOC SYS");
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: LOC SYS"]);
    transmits(&mut bench, true, "");
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn the_place_and_the_transmitter_count_for_three_seconds() {
    let mut bench = enforced();
    send(&mut bench, id());
    send(&mut bench, here());
    bench.pass(3.1);
    transmits(&mut bench, true, "");
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: SYSTEM not available"]);
    let update = RemoteIdMessage::SystemUpdate {
        lat_e7: 473_977_420,
        lon_e7: 85_455_940,
        timestamp: 2,
    };
    send(&mut bench, update);
    bench.pass(2.0);
    send(&mut bench, here());
    bench.pass(1.5);
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: ARM_STATUS not available"]);
    transmits(&mut bench, true, "");
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn an_update_before_the_first_whole_message_does_not_count() {
    let mut bench = enforced();
    send(&mut bench, id());
    let update = RemoteIdMessage::SystemUpdate {
        lat_e7: 473_977_420,
        lon_e7: 85_455_940,
        timestamp: 2,
    };
    send(&mut bench, update);
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: operator location must be set"]);
}

#[test]
fn nobody_elses_transmitter_counts() {
    let mut bench = enforced();
    send(&mut bench, id());
    send(&mut bench, here());
    let message = RemoteIdMessage::ArmStatus {
        good: true,
        error: String::new(),
    };
    let other = Address {
        system: 2,
        component: 236,
    };
    bench.receive_from(other, Request::RemoteId(message));
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: ARM_STATUS not available"]);
}

#[test]
fn what_is_not_enforced_prevents_nothing_and_what_is_enforced_and_off_prevents_all() {
    let mut bench = ready();
    set_parameter(&mut bench, "DID_ENABLE", 1.0);
    assert_eq!(bench.arm(), Accepted);
    let mut bench = ready();
    set_parameter(&mut bench, "DID_OPTIONS", 1.0);
    assert_eq!(refusal(&mut bench), ["Arm: OpenDroneID: DID_ENABLE must be 1"]);
}

#[test]
fn the_checks_that_run_by_themselves_name_it_too() {
    let mut bench = enforced();
    bench.pass(3.0);
    let start = bench.now_s();
    assert_eq!(bench.command(401, [0.0; 7]), Accepted);
    assert_eq!(
        bench.texts_since(start),
        ["PreArm: OpenDroneID: UA_TYPE required in BasicID"]
    );
}
