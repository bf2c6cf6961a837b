//! What becomes of the frames of programs, and what they are answered.

use super::*;
use crate::gcs::lease::tests::{MIDDLE, volume};
use link::dialect::{
    GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA, LOCAL_POSITION_NED_DATA, MavFrame, PositionTargetTypemask,
    SET_POSITION_TARGET_LOCAL_NED_DATA,
};

/// A program, and set-points of it by velocity alone and to a place alone.
const CODE: Address = Address::new(245, 190);
const VELOCITIES: u16 = 0x0DC7;
const PLACES: u16 = 0x0DF8;

fn set_point(ignored: u16, north: f32) -> RawFrame {
    let data = SET_POSITION_TARGET_LOCAL_NED_DATA {
        x: north,
        z: -20.0,
        type_mask: PositionTargetTypemask::from_bits_truncate(ignored),
        coordinate_frame: MavFrame::MAV_FRAME_LOCAL_NED,
        target_system: VEHICLE.system.0,
        target_component: VEHICLE.component.0,
        ..SET_POSITION_TARGET_LOCAL_NED_DATA::default()
    };
    frame(CODE, &MavMessage::SET_POSITION_TARGET_LOCAL_NED(data))
}

fn in_mode(autopilot: MavAutopilot, custom_mode: u32, at: Instant) -> RawFrame {
    let data = HEARTBEAT_DATA {
        custom_mode,
        mavtype: MavType::MAV_TYPE_QUADROTOR,
        autopilot,
        ..HEARTBEAT_DATA::default()
    };
    let beat = from_line(frame(VEHICLE, &MavMessage::HEARTBEAT(data)), Direction::Autopilot);
    RawFrame { at, ..beat }
}

/// A program asks for a mode: GUIDED, OFFBOARD or AUTO.LOITER.
fn asks_mode(main: f32, sub: f32) -> RawFrame {
    let data = COMMAND_LONG_DATA {
        command: MavCmd::MAV_CMD_DO_SET_MODE,
        param1: 1.0,
        param2: main,
        param3: sub,
        target_system: VEHICLE.system.0,
        target_component: VEHICLE.component.0,
        ..COMMAND_LONG_DATA::default()
    };
    frame(CODE, &MavMessage::COMMAND_LONG(data))
}

fn lent(autopilot: MavAutopilot, custom_mode: u32) -> (Switch, Lease, Instant) {
    let began = Instant::now();
    let lease = Lease::default();
    let mut switch = Switch::new(OPEN).leasing(lease.clone());
    switch.receive_from_line(&in_mode(autopilot, custom_mode, began), began);
    switch.join(A, Rights::Control, began);
    lease.pass(Some(volume()), began);
    (switch, lease, began)
}

#[test]
fn a_program_moves_the_vehicle_only_while_it_may_and_arms_and_reaches_nobody() {
    let began = Instant::now();
    let lease = Lease::default();
    let mut switch = Switch::new(OPEN).leasing(lease.clone());
    switch.receive_from_line(&vehicle_beat(true), began);
    switch.join(A, Rights::Command, began);
    let program = GuestId(3);
    switch.join(program, Rights::Control, began);
    let who = CODE;
    switch.receive_from_guest(A, &gcs_beat(QGC), began);
    let set_point = set_point(VELOCITIES, 0.0);
    let arms = command(who, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
    let (alone, nobody) = (
        Destinations {
            autopilot: true,
            guests: Vec::new(),
        },
        Destinations::default(),
    );
    for passes in [false, true, false] {
        lease.pass(passes.then(volume), began);
        let mut sent = |said: &RawFrame| switch.receive_from_guest(program, said, began);
        let expected = if passes {
            (alone.clone(), None)
        } else {
            (nobody.clone(), Some(Refusal::NotNow))
        };
        let verdict = sent(&set_point);
        assert_eq!((verdict.to, verdict.refusal), expected);
        assert_eq!(
            lease.heard(),
            if passes {
                (Some(began), Some(began))
            } else {
                (None, None)
            }
        );
        let armed = sent(&arms);
        let denied = Answer {
            by: VEHICLE,
            command: 400,
            given: Given::Denied,
        };
        assert_eq!(
            (armed.to, armed.refusal, armed.answer),
            (nobody.clone(), Some(Refusal::NotOfPrograms), Some(denied))
        );
        let beats = sent(&gcs_beat(who));
        assert_eq!(
            (beats.to, beats.refusal),
            (nobody.clone(), Some(Refusal::HeldHeartbeat))
        );
    }
    assert_eq!(switch.in_charge(), Some(A), "its heartbeats feed no failsafe");
}

#[test]
fn a_program_that_repeats_its_mode_undoes_no_takeover_and_no_failsafe() {
    const PX4: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_PX4;
    const ARDUPILOT: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA;
    for (autopilot, custom_mode, asked) in [(PX4, 0x0006_0000, 6.0), (ARDUPILOT, 4, 4.0)] {
        let (mut switch, lease, began) = lent(autopilot, custom_mode);
        // A pilot changes the mode, or a failsafe does: the next HEARTBEAT is still to come.
        for after in [50, 150, 900] {
            let now = began + Duration::from_millis(after);
            lease.pass(Some(volume()), now);
            let verdict = switch.receive_from_guest(A, &asks_mode(asked, 0.0), now);
            assert!(!verdict.to.autopilot, "{autopilot:?} after {after} ms");
            let accepted = Some(Answer {
                by: VEHICLE,
                command: 176,
                given: Given::Accepted,
            });
            assert_eq!(verdict.answer, accepted, "it has that mode, as far as is known");
        }
        // POSCTL, or LOITER, which is shown before the lease has ended.
        let now = began + Duration::from_secs(1);
        switch.receive_from_line(&in_mode(autopilot, 0x0003_0000, now), now);
        for passes in [Some(volume()), None] {
            lease.pass(passes, now);
            let verdict = switch.receive_from_guest(A, &asks_mode(asked, 0.0), now);
            let rejected = Some(Answer {
                by: VEHICLE,
                command: 176,
                given: Given::TemporarilyRejected,
            });
            assert_eq!(
                (verdict.to.autopilot, verdict.answer),
                (false, rejected),
                "{autopilot:?}"
            );
        }
    }
}

#[test]
fn a_program_begins_and_ends_offboard_and_asks_again_when_no_answer_comes() {
    let px4 = MavAutopilot::MAV_AUTOPILOT_PX4;
    let (mut switch, lease, began) = lent(px4, 0x0304_0000);
    let asked = |switch: &mut Switch, main, sub, now| {
        lease.pass(Some(volume()), now);
        let verdict = switch.receive_from_guest(A, &asks_mode(main, sub), now);
        (verdict.to.autopilot, verdict.leased, verdict.answer)
    };
    let until = began + Duration::from_millis(1200);
    assert_eq!(asked(&mut switch, 6.0, 0.0, began), (true, Some(until), None));
    assert_eq!(
        asked(&mut switch, 6.0, 0.0, began),
        (false, None, None),
        "once after each HEARTBEAT"
    );
    let second = began + Duration::from_secs(1);
    switch.receive_from_line(&in_mode(px4, 0x0304_0000, second), second);
    lease.pass(Some(volume()), second);
    assert!(switch.receive_from_guest(A, &asks_mode(6.0, 0.0), second).to.autopilot);
    let third = began + Duration::from_secs(2);
    switch.receive_from_line(&in_mode(px4, 0x0006_0000, third), third);
    lease.pass(Some(volume()), third);
    assert!(switch.receive_from_guest(A, &asks_mode(4.0, 3.0), third).to.autopilot);
}

#[test]
fn a_set_point_that_leads_out_of_the_volume_does_not_pass_and_renews_no_lease() {
    let (mut switch, lease, now) = lent(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, 4);
    let unknown = switch.receive_from_guest(A, &set_point(PLACES, 10.0), now);
    assert_eq!(
        unknown.refusal,
        Some(Refusal::OutsideVolume),
        "where its origin lies is not known"
    );
    #[allow(clippy::cast_possible_truncation, reason = "a place on the Earth")]
    let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
    let global = GLOBAL_POSITION_INT_DATA {
        time_boot_ms: 60_000,
        lat: e7(MIDDLE.latitude_deg),
        lon: e7(MIDDLE.longitude_deg),
        alt: 508_000,
        ..GLOBAL_POSITION_INT_DATA::default()
    };
    let local = LOCAL_POSITION_NED_DATA {
        time_boot_ms: 60_000,
        z: -20.0,
        ..LOCAL_POSITION_NED_DATA::default()
    };
    for message in [
        MavMessage::GLOBAL_POSITION_INT(global),
        MavMessage::LOCAL_POSITION_NED(local),
    ] {
        let heard = from_line(frame(VEHICLE, &message), Direction::Autopilot);
        switch.receive_from_line(&heard, now);
    }
    let mut sent = |north| {
        let verdict = switch.receive_from_guest(A, &set_point(PLACES, north), now);
        (verdict.to.autopilot, verdict.refusal)
    };
    assert_eq!(sent(500.0), (false, Some(Refusal::OutsideVolume)));
    assert_eq!(lease.heard(), (None, None));
    assert_eq!(sent(25.0), (true, None));
    assert_eq!(lease.heard(), (Some(now), Some(now)));
}

#[test]
fn a_program_moves_no_other_vehicle_on_the_line_of_its_own() {
    let px4 = MavAutopilot::MAV_AUTOPILOT_PX4;
    let other = Address::new(8, 1);
    let (mut switch, lease, began) = lent(px4, 0x0304_0000);
    switch.receive_from_line(&our_beat(MavType::MAV_TYPE_ONBOARD_CONTROLLER), began);
    let beats = RawFrame {
        system: other.system,
        ..in_mode(px4, 0x0006_0000, began)
    };
    switch.receive_from_line(&beats, began);
    for target in [Some(other), Some(Address::new(0, 0)), None] {
        for said in [set_point(VELOCITIES, 0.0), asks_mode(4.0, 3.0)] {
            let said = RawFrame { target, ..said };
            let verdict = switch.receive_from_guest(A, &said, began);
            assert_eq!(
                (verdict.to.autopilot, verdict.refusal),
                (false, Some(Refusal::AnotherVehicle)),
                "{target:?}"
            );
        }
    }
    assert_eq!(lease.heard(), (None, None), "and that renews no lease");
    // It is judged by the mode of its own vehicle, whichever has beaten last.
    for said in [set_point(VELOCITIES, 0.0), asks_mode(6.0, 0.0)] {
        assert!(switch.receive_from_guest(A, &said, began).to.autopilot);
    }
}
