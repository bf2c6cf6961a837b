//! What becomes of frames, one rule at a time.

use super::*;
use crate::gcs::tests::{frame, from_line, heartbeat, ping};
use link::dialect::{
    COMMAND_ACK_DATA, COMMAND_LONG_DATA, MavAutopilot, MavCmd, MavMessage, MavType, PARAM_REQUEST_LIST_DATA,
    RADIO_STATUS_DATA, SETUP_SIGNING_DATA,
};
use std::time::Duration;

mod programs;

const A: GuestId = GuestId(1);
const B: GuestId = GuestId(2);
const QGC: Address = Address::new(255, 190);
const VEHICLE: Address = Address::new(7, 1);
const US: Address = Address::new(7, 191);
const OPEN: Policy = Policy {
    read_only: false,
    pass_heartbeats: true,
};

fn gcs_beat(who: Address) -> RawFrame {
    frame(
        who,
        &heartbeat(MavType::MAV_TYPE_GCS, MavAutopilot::MAV_AUTOPILOT_INVALID, false),
    )
}

fn vehicle_beat(armed: bool) -> RawFrame {
    let beat = heartbeat(MavType::MAV_TYPE_QUADROTOR, MavAutopilot::MAV_AUTOPILOT_PX4, armed);
    from_line(frame(VEHICLE, &beat), Direction::Autopilot)
}

fn our_beat(kind: MavType) -> RawFrame {
    let beat = heartbeat(kind, MavAutopilot::MAV_AUTOPILOT_INVALID, false);
    from_line(frame(US, &beat), Direction::Us)
}

fn command(who: Address, command: MavCmd) -> RawFrame {
    let data = COMMAND_LONG_DATA {
        command,
        target_system: VEHICLE.system.0,
        target_component: VEHICLE.component.0,
        ..COMMAND_LONG_DATA::default()
    };
    frame(who, &MavMessage::COMMAND_LONG(data))
}

/// In the air, with two guests that have said nothing.
fn switch(policy: Policy) -> (Switch, Instant) {
    let began = Instant::now();
    let mut switch = Switch::new(policy);
    switch.receive_from_line(&vehicle_beat(true), began);
    switch.receive_from_line(&our_beat(MavType::MAV_TYPE_ONBOARD_CONTROLLER), began);
    switch.join(A, Rights::Command, began);
    switch.join(B, Rights::Command, began);
    (switch, began)
}

#[test]
fn a_guest_that_may_only_watch_hears_the_vehicle_and_reaches_nobody() {
    let (mut switch, now) = switch(OPEN);
    let watcher = GuestId(3);
    switch.join(watcher, Rights::Watch, now);
    let asks = frame(QGC, &MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA::default()));
    for said in [asks, command(QGC, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM), gcs_beat(QGC)] {
        let verdict = switch.receive_from_guest(watcher, &said, now);
        assert_eq!(
            (verdict.to, verdict.refusal),
            (Destinations::default(), Some(Refusal::ReadOnly))
        );
    }
    assert!(switch.receive_from_line(&vehicle_beat(true), now).contains(&watcher));
    assert_eq!(switch.in_charge(), None, "its heartbeats count for nothing");
}

#[test]
fn of_two_stations_of_one_id_only_the_one_that_ordered_receives_the_answer() {
    let (mut switch, now) = switch(OPEN);
    let ack = |command| {
        let data = COMMAND_ACK_DATA {
            command,
            target_system: 255,
            target_component: 190,
            ..COMMAND_ACK_DATA::default()
        };
        from_line(frame(VEHICLE, &MavMessage::COMMAND_ACK(data)), Direction::Autopilot)
    };
    let (home, message) = (MavCmd::MAV_CMD_DO_SET_HOME, MavCmd::MAV_CMD_REQUEST_MESSAGE);
    switch.receive_from_guest(A, &command(QGC, home), now);
    switch.receive_from_guest(B, &command(QGC, message), now);
    assert_eq!(switch.receive_from_line(&ack(message), now), [B]);
    assert_eq!(switch.receive_from_line(&ack(home), now), [A]);
    let unknown = ack(MavCmd::MAV_CMD_DO_JUMP);
    assert_eq!(
        switch.receive_from_line(&unknown, now),
        [A, B],
        "who asked is not known"
    );
}

fn refusal(switch: &mut Switch, frame: &RawFrame, now: Instant) -> Option<Refusal> {
    let verdict = switch.receive_from_guest(A, frame, now);
    assert_eq!(verdict.to.autopilot, verdict.refusal.is_none(), "{verdict:?}");
    verdict.refusal
}

#[test]
fn an_answer_goes_to_the_guest_that_asked_and_to_nobody_else() {
    let (mut switch, now) = switch(OPEN);
    let asked = command(QGC, MavCmd::MAV_CMD_DO_SET_MODE);
    assert_eq!(
        switch.receive_from_guest(A, &asked, now).to,
        Destinations {
            autopilot: true,
            guests: vec![]
        }
    );
    let ack = |to: Address| {
        let data = COMMAND_ACK_DATA {
            target_system: to.system.0,
            target_component: to.component.0,
            ..COMMAND_ACK_DATA::default()
        };
        from_line(frame(VEHICLE, &MavMessage::COMMAND_ACK(data)), Direction::Autopilot)
    };
    assert_eq!(switch.receive_from_line(&ack(QGC), now), [A]);
    assert_eq!(
        switch.receive_from_line(&ack(US), now),
        [],
        "an answer to the agent is the agent's"
    );
    assert_eq!(
        switch.receive_from_line(&ack(Address::new(0, 0)), now),
        [A, B],
        "old firmware names nobody"
    );
}

#[test]
fn guests_see_the_vehicle_the_agent_and_one_another() {
    let (mut switch, now) = switch(OPEN);
    assert_eq!(switch.receive_from_line(&vehicle_beat(true), now), [A, B]);
    assert_eq!(
        switch.receive_from_line(&our_beat(MavType::MAV_TYPE_ONBOARD_CONTROLLER), now),
        [A, B]
    );
    assert_eq!(switch.receive_from_guest(A, &gcs_beat(QGC), now).to.guests, [B]);
    // A guest's frame that was written shows up on the line once more, and is not sent about twice.
    let echo = from_line(gcs_beat(QGC), Direction::Guest);
    assert_eq!(switch.receive_from_line(&echo, now), []);
}

#[test]
fn a_guest_that_spoke_as_the_vehicle_before_it_was_heard_gets_none_of_its_orders() {
    let now = Instant::now();
    let mut switch = Switch::new(OPEN);
    switch.join(A, Rights::Command, now);
    switch.join(B, Rights::Command, now);
    // Another aircraft with the same ids, while ours still starts.
    let mut other = vehicle_beat(false);
    other.from = Direction::Guest;
    switch.receive_from_guest(A, &other, now);
    switch.receive_from_line(&vehicle_beat(false), now);
    let arm = command(US, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    assert_eq!(
        switch.receive_from_line(&from_line(arm, Direction::Us), now),
        [],
        "the agent's"
    );
    let arm = command(QGC, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    let to = switch.receive_from_guest(B, &arm, now).to;
    assert_eq!((to.autopilot, to.guests), (true, vec![]), "a guest's");
}

#[test]
fn a_guest_cannot_speak_as_the_agent_or_as_the_vehicle() {
    let (mut switch, now) = switch(OPEN);
    for who in [VEHICLE, US] {
        let verdict = switch.receive_from_guest(A, &command(who, MavCmd::MAV_CMD_NAV_LAND), now);
        assert_eq!(
            verdict,
            Verdict {
                refusal: Some(Refusal::Impostor),
                ..Verdict::default()
            }
        );
    }
    let camera = command(Address::new(VEHICLE.system.0, 100), MavCmd::MAV_CMD_NAV_LAND);
    assert_eq!(
        refusal(&mut switch, &camera, now),
        None,
        "a camera of the vehicle is itself"
    );
}

#[test]
fn the_agents_name_is_taken_before_the_agent_has_spoken() {
    let now = Instant::now();
    let mut switch = Switch::new(OPEN);
    switch.join(A, Rights::Command, now);
    let as_us = |system| frame(Address::new(system, 191), &ping());
    assert_eq!(
        switch.receive_from_guest(A, &as_us(1), now).refusal,
        Some(Refusal::Impostor)
    );
    switch.receive_from_line(&vehicle_beat(false), now);
    assert_eq!(
        switch.receive_from_guest(A, &as_us(7), now).refusal,
        Some(Refusal::Impostor)
    );
    assert_eq!(switch.receive_from_guest(A, &as_us(1), now).refusal, None);
}

#[test]
fn a_ground_station_that_also_has_a_radio_of_its_own_is_no_impostor() {
    let (mut switch, now) = switch(OPEN);
    let ping = frame(QGC, &ping());
    switch.receive_from_line(&from_line(ping.clone(), Direction::Autopilot), now);
    assert_eq!(refusal(&mut switch, &ping, now), None);
}

#[test]
fn a_ground_station_with_the_name_under_which_the_agent_beats_is_no_impostor() {
    let (mut switch, now) = switch(OPEN);
    let beat = heartbeat(MavType::MAV_TYPE_GCS, MavAutopilot::MAV_AUTOPILOT_INVALID, false);
    switch.receive_from_line(&from_line(frame(QGC, &beat), Direction::Us), now);
    let lands = command(QGC, MavCmd::MAV_CMD_NAV_LAND);
    assert_eq!(refusal(&mut switch, &lands, now), None);
    assert_eq!(refusal(&mut switch, &gcs_beat(QGC), now), Some(Refusal::HeldHeartbeat));
    let as_us = command(US, MavCmd::MAV_CMD_NAV_LAND);
    assert_eq!(refusal(&mut switch, &as_us, now), Some(Refusal::Impostor));
}

#[test]
fn a_signing_key_is_never_forwarded_from_either_side() {
    let (mut switch, now) = switch(OPEN);
    let key = frame(QGC, &MavMessage::SETUP_SIGNING(SETUP_SIGNING_DATA::default()));
    assert_eq!(switch.receive_from_guest(A, &key, now).to, Destinations::default());
    for direction in [Direction::Autopilot, Direction::Us] {
        assert_eq!(switch.receive_from_line(&from_line(key.clone(), direction), now), []);
    }
}

#[test]
fn the_state_of_a_guests_radio_does_not_slow_our_line() {
    let (mut switch, now) = switch(OPEN);
    let radio = frame(
        Address::new(51, 68),
        &MavMessage::RADIO_STATUS(RADIO_STATUS_DATA::default()),
    );
    assert_eq!(refusal(&mut switch, &radio, now), Some(Refusal::Radio));
}

#[test]
fn only_heartbeats_of_the_ground_station_in_charge_reach_the_autopilot() {
    let (mut switch, now) = switch(OPEN);
    assert_eq!(refusal(&mut switch, &gcs_beat(QGC), now), None);
    assert_eq!(switch.in_charge(), Some(A));
    let second = switch.receive_from_guest(B, &gcs_beat(Address::new(254, 190)), now);
    assert_eq!(
        second,
        Verdict {
            to: Destinations {
                autopilot: false,
                guests: vec![A]
            },
            refusal: Some(Refusal::HeldHeartbeat),
            ..Verdict::default()
        }
    );
    // ArduPilot would take any heartbeat with its station's system id for that station.
    let companion = heartbeat(
        MavType::MAV_TYPE_ONBOARD_CONTROLLER,
        MavAutopilot::MAV_AUTOPILOT_INVALID,
        false,
    );
    let companion = frame(QGC, &companion);
    assert_eq!(refusal(&mut switch, &companion, now), Some(Refusal::HeldHeartbeat));
}

#[test]
fn what_a_guest_without_charge_commands_passes_all_the_same() {
    let (mut switch, now) = switch(OPEN);
    switch.receive_from_guest(A, &gcs_beat(QGC), now);
    let lands = command(Address::new(254, 190), MavCmd::MAV_CMD_NAV_LAND);
    assert!(switch.receive_from_guest(B, &lands, now).to.autopilot);
}

#[test]
fn while_the_agent_beats_as_a_ground_station_no_guest_does() {
    let (mut switch, now) = switch(OPEN);
    switch.receive_from_guest(A, &gcs_beat(QGC), now);
    switch.receive_from_line(&our_beat(MavType::MAV_TYPE_GCS), now);
    // The coordinator is lost, and the agent's heartbeats end: no guest may keep the autopilot content.
    let later = now + Duration::from_secs(60);
    assert_eq!(
        refusal(&mut switch, &gcs_beat(QGC), later),
        Some(Refusal::HeldHeartbeat)
    );
}

#[test]
fn if_configured_no_heartbeat_of_a_guest_reaches_the_autopilot() {
    let (mut switch, now) = switch(Policy {
        pass_heartbeats: false,
        ..OPEN
    });
    assert_eq!(refusal(&mut switch, &gcs_beat(QGC), now), Some(Refusal::HeldHeartbeat));
    assert_eq!(switch.in_charge(), None);
}

#[test]
fn in_read_only_mode_a_guest_asks_and_does_not_command() {
    let (mut switch, now) = switch(Policy {
        read_only: true,
        ..OPEN
    });
    let asks = PARAM_REQUEST_LIST_DATA {
        target_system: VEHICLE.system.0,
        target_component: VEHICLE.component.0,
    };
    let asks = frame(QGC, &MavMessage::PARAM_REQUEST_LIST(asks));
    assert_eq!(refusal(&mut switch, &asks, now), None);
    let arms = command(QGC, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    let verdict = switch.receive_from_guest(A, &arms, now);
    let denied = Answer {
        by: VEHICLE,
        command: 400,
        given: Given::Denied,
    };
    assert_eq!(
        (verdict.refusal, verdict.answer),
        (Some(Refusal::ReadOnly), Some(denied))
    );
    let camera = RawFrame {
        target: Some(Address::new(7, 100)),
        ..arms
    };
    let verdict = switch.receive_from_guest(A, &camera, now);
    assert_eq!(verdict.answer, None, "it is not for the autopilot");
    assert_eq!(
        refusal(&mut switch, &gcs_beat(QGC), now),
        None,
        "as its own policy says"
    );
}

#[test]
fn a_second_autopilot_that_is_disarmed_does_not_make_a_flying_one_disarmed() {
    let (mut switch, now) = switch(OPEN);
    switch.receive_from_guest(A, &gcs_beat(QGC), now);
    let other = heartbeat(MavType::MAV_TYPE_QUADROTOR, MavAutopilot::MAV_AUTOPILOT_PX4, false);
    switch.receive_from_line(&from_line(frame(Address::new(8, 1), &other), Direction::Autopilot), now);
    let later = now + Duration::from_secs(60);
    assert_eq!(
        switch
            .receive_from_guest(B, &gcs_beat(Address::new(254, 190)), later)
            .refusal,
        Some(Refusal::HeldHeartbeat)
    );
}

#[test]
fn a_frame_of_unknown_id_goes_to_all_others() {
    let (mut switch, now) = switch(OPEN);
    let mut unknown = frame(QGC, &ping());
    unknown.message_id = 0x00AB_CDEF;
    unknown.target = None;
    assert_eq!(
        switch.receive_from_guest(A, &unknown, now).to,
        Destinations {
            autopilot: true,
            guests: vec![B]
        }
    );
}
