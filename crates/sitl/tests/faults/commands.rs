//! Faults of one command and its ack.

use crate::rig::{Ack, Rig};

const ARM: u16 = 400;
const TAKEOFF: u16 = 22;
const ASK: u16 = 512;
const ACCEPTED: u8 = 0;
const DENIED: u8 = 2;
const FAILED: u8 = 4;
const IN_PROGRESS: u8 = 5;

fn acks_of(text: &str) -> (Rig, Vec<Ack>) {
    let mut rig = Rig::ready(text);
    rig.request_message();
    rig.pass(6.0);
    let acks = rig.acks_since(10.0, ASK);
    (rig, acks)
}

#[test]
fn a_command_without_a_fault_gets_one_ack_that_names_its_sender() {
    let (_, acks) = acks_of("on takeoff lose-ack");
    let results: Vec<_> = acks.iter().map(|ack| (ack.result, ack.to)).collect();
    assert_eq!(results, [(ACCEPTED, (255, 190))]);
}

#[test]
fn lose_command_drops_it_and_the_next_one_arrives() {
    let mut rig = Rig::ready("on arm lose-command");
    rig.arm();
    rig.pass(1.0);
    assert!(!rig.truth().armed && rig.acks_since(0.0, ARM).is_empty());
    rig.arm();
    rig.pass(1.0);
    assert!(rig.truth().armed);
    assert_eq!(rig.results_since(0.0, ARM), [ACCEPTED]);
}

#[test]
fn lose_ack_lets_the_vehicle_climb_without_an_ack() {
    let mut rig = Rig::ready("on takeoff lose-ack");
    rig.arm();
    rig.pass(0.1);
    rig.take_off();
    rig.pass(8.0);
    assert!(rig.acks_since(0.0, TAKEOFF).is_empty());
    assert!(rig.truth().height_m > 2.0, "{:?}", rig.truth());
    rig.take_off();
    rig.pass(0.1);
    assert_eq!(rig.results_since(0.0, TAKEOFF).len(), 1, "the second one is answered");
}

#[test]
fn only_the_arrival_that_is_meant_suffers() {
    let mut rig = Rig::ready("on request-message 2 lose-ack");
    for _ in 0..3 {
        rig.request_message();
        rig.pass(1.0);
    }
    let times: Vec<f64> = rig.acks_since(10.0, ASK).iter().map(|ack| ack.at_s.floor()).collect();
    assert_eq!(times, [10.0, 12.0]);
}

#[test]
fn every_arrival_suffers_when_every_one_is_meant() {
    let mut rig = Rig::ready("on any every lose-ack");
    for _ in 0..3 {
        rig.request_message();
        rig.pass(1.0);
    }
    assert!(rig.acks_since(0.0, ASK).is_empty());
}

#[test]
fn duplicate_ack_sends_it_again() {
    let (_, acks) = acks_of("on request-message duplicate-ack 2");
    assert_eq!(acks.len(), 3);
    assert!(acks.iter().all(|ack| *ack == acks[0]));
}

#[test]
fn delay_ack_sends_it_late() {
    let (_, acks) = acks_of("on request-message delay-ack 3.5");
    assert_eq!(acks.len(), 1);
    assert!((acks[0].at_s - 13.5).abs() < 0.1, "{acks:?}");
}

#[test]
fn deny_refuses_and_does_nothing() {
    let mut rig = Rig::ready("on arm deny denied");
    rig.arm();
    rig.pass(1.0);
    assert_eq!(rig.results_since(0.0, ARM), [DENIED]);
    assert!(!rig.truth().armed);
}

#[test]
fn answer_reports_failed_for_what_is_done() {
    let mut rig = Rig::ready("on arm answer failed");
    rig.arm();
    rig.pass(1.0);
    assert_eq!(rig.results_since(0.0, ARM), [FAILED]);
    assert!(rig.truth().armed);
}

#[test]
fn in_progress_comes_twice_a_second_and_then_the_verdict() {
    let (_, acks) = acks_of("on request-message in-progress 2");
    let results: Vec<u8> = acks.iter().map(|ack| ack.result).collect();
    assert_eq!(results, [IN_PROGRESS, IN_PROGRESS, IN_PROGRESS, IN_PROGRESS, ACCEPTED]);
    assert!((acks[4].at_s - acks[0].at_s - 2.0).abs() < 0.1, "{acks:?}");
}

#[test]
fn ack_to_names_somebody_else() {
    let (_, acks) = acks_of("on request-message ack-to 250/67");
    assert_eq!(acks.iter().map(|ack| ack.to).collect::<Vec<_>>(), [(250, 67)]);
}

#[test]
fn ack_untargeted_names_nobody() {
    let (_, acks) = acks_of("on request-message ack-untargeted");
    assert_eq!(acks.iter().map(|ack| ack.to).collect::<Vec<_>>(), [(0, 0)]);
}

#[test]
fn a_fault_for_another_vehicle_does_not_happen_here() {
    let (_, acks) = acks_of("south: on request-message lose-ack");
    assert_eq!(acks.len(), 1);
}

#[test]
fn a_late_ack_of_a_vehicle_that_rebooted_never_comes() {
    let mut rig = Rig::ready("on request-message delay-ack 3\nat 11 reboot");
    rig.request_message();
    rig.pass(6.0);
    assert!(rig.acks_since(0.0, ASK).is_empty());
}
