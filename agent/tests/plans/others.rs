//! Pilots and ground stations in the middle of our plan.

#![allow(deprecated, reason = "ground stations set items so")]

use super::*;
use link::dialect::{COMMAND_LONG_DATA, MISSION_COUNT_DATA, MISSION_ITEM_INT_DATA, MISSION_SET_CURRENT_DATA, MavFrame};
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::report::HandsOff;
use sitl::wire::{FrameReader, Incoming};

fn says(line: &mut Line, message: &MavMessage) {
    let header = MavHeader {
        system_id: 254,
        component_id: 190,
        sequence: 0,
    };
    let mut raw = MAVLinkV2MessageRaw::new();
    raw.serialize_message(header, message);
    let mut reader = FrameReader::default();
    reader.push(raw.raw_bytes());
    let frame = reader.next_frame().unwrap();
    line.vehicle.receive_pilot(&Incoming::decode(&frame));
}

fn sets_mode(line: &mut Line, main: f32, sub: f32) {
    says(
        line,
        &MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            param1: 1.0,
            param2: main,
            param3: sub,
            command: MavCmd::MAV_CMD_DO_SET_MODE,
            target_system: 7,
            target_component: 1,
            ..COMMAND_LONG_DATA::default()
        }),
    );
}

/// BRAKE, or a return, as PX4 takes no mode of sticks without them.
fn takes_over(line: &mut Line, autopilot: Autopilot) {
    match autopilot {
        Autopilot::ArduPilot => sets_mode(line, 17.0, 0.0),
        Autopilot::Px4 => sets_mode(line, 4.0, 5.0),
    }
}

/// GUIDED, or AUTO.LOITER.
pub fn gives_back(line: &mut Line, autopilot: Autopilot) {
    match autopilot {
        Autopilot::ArduPilot => sets_mode(line, 4.0, 0.0),
        Autopilot::Px4 => sets_mode(line, 4.0, 3.0),
    }
}

fn uploads(line: &mut Line, autopilot: Autopilot, items: &[(f64, f64)]) {
    let home: &[(f64, f64)] = match autopilot {
        Autopilot::ArduPilot => &[(0.0, 0.0)],
        Autopilot::Px4 => &[],
    };
    let waypoint = |at| (MavCmd::MAV_CMD_NAV_WAYPOINT, 0.0, at);
    let all: Vec<_> = home.iter().chain(items).copied().map(waypoint).collect();
    hands_over(line, MavMissionType::MAV_MISSION_TYPE_MISSION, &all);
}

/// `half_m`: half of the side of a square around home.
fn draws_fence(line: &mut Line, half_m: f64) {
    let corners = [
        (half_m, half_m),
        (half_m, -half_m),
        (-half_m, -half_m),
        (-half_m, half_m),
    ];
    let vertex = |at| (MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION, 4.0, at);
    hands_over(line, MavMissionType::MAV_MISSION_TYPE_FENCE, &corners.map(vertex));
}

/// Each item with its first parameter, and its place east and north of home, meters.
fn hands_over(line: &mut Line, mission_type: MavMissionType, items: &[(MavCmd, f32, (f64, f64))]) {
    let count = u16::try_from(items.len()).unwrap();
    says(
        line,
        &MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
            count,
            target_system: 7,
            target_component: 1,
            mission_type,
            ..MISSION_COUNT_DATA::default()
        }),
    );
    let frame = match mission_type {
        MavMissionType::MAV_MISSION_TYPE_FENCE => MavFrame::MAV_FRAME_GLOBAL,
        _ => MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT,
    };
    for (seq, (command, param1, (east, north))) in (0..count).zip(items) {
        (0..5).for_each(|_| line.step());
        let at = place(16, *east, *north, [0.0; 3]);
        says(
            line,
            &MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                param1: *param1,
                seq,
                x: (at.params[4].unwrap() * 1e7) as i32,
                y: (at.params[5].unwrap() * 1e7) as i32,
                z: 20.0,
                command: *command,
                frame,
                autocontinue: 1,
                target_system: 7,
                target_component: 1,
                mission_type,
                ..MISSION_ITEM_INT_DATA::default()
            }),
        );
    }
    (0..5).for_each(|_| line.step());
}

/// PX4 does not judge the same mission again when its fence has changed.
#[test]
fn a_fence_across_the_plan_is_told_as_px4s_reason_and_it_goes_on_once_clear() {
    use model::alarm::Cause;
    use model::failsafe::Diverted;
    let plan = plan_of(items());
    let mut line = flying(Autopilot::Px4, &plan);
    line.until("past the first place", 90, |line| progress(line).reached.has(1));
    let drawn = line.ms;
    draws_fence(&mut line, 45.0);
    line.until("let go", 10, |line| {
        let report = report(line);
        let why = report.diversion.map(|diversion| diversion.why);
        matches!(report.activity, Activity::HandsOff(_)) && why == Some(Diverted::Autopilot(Cause::Fence))
    });
    line.pass(20);
    assert_eq!(commands(&line, drawn), [] as [MavCmd; 0]);
    line.order(&order(2, FLY, Some(&plan), 1));
    line.until(
        "refused",
        60,
        |line| matches!(progress(line).state, PlanState::Refused(words) if words.contains("Geofence violation")),
    );
    draws_fence(&mut line, 80.0);
    line.until("on its plan again", 120, |line| progress(line).flying);
    line.until("finished", 240, |line| progress(line).finished);
}

#[test]
fn a_pilot_who_takes_over_is_left_alone_and_a_resume_goes_on_at_the_unreached_item() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("on the second leg", 90, |line| progress(line).reached.has(2));
        takes_over(&mut line, autopilot);
        let hands_off = |why: HandsOff| move |line: &Line| report(line).activity == Activity::HandsOff(why);
        line.until("let go", 10, hands_off(HandsOff::OtherMode));
        let taken = line.ms;
        line.pass(8);
        assert_eq!(report(&line).takeovers, 1);
        assert!(!progress(&line).flying);
        gives_back(&mut line, autopilot);
        line.until("left to us", 10, hands_off(HandsOff::TakenOver));
        line.pass(20);
        assert_eq!(
            commands(&line, taken),
            [] as [MavCmd; 0],
            "{autopilot:?}: nobody has said resume"
        );
        assert_eq!(uploaded(&line, taken), [] as [u16; 0]);
        let resumed = line.ms;
        line.order(&order(2, FLY, Some(&plan), 1));
        line.until("on its plan again", 60, |line| progress(line).flying);
        let sent = uploaded(&line, resumed);
        let ours = &sent[sent.len() - 5..];
        assert_eq!(ours, [item::DO_CHANGE_SPEED, item::DO_SET_CAM_TRIGG_DIST, 16, 16, 16]);
        line.until("finished", 240, |line| progress(line).finished);
        assert_eq!(report(&line).takeovers, 1);
    }
}

#[test]
fn somebody_who_stops_the_plan_in_a_mode_of_ours_has_taken_over_too() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("on the second leg", 90, |line| progress(line).reached.has(2));
        gives_back(&mut line, autopilot);
        let let_go = Activity::HandsOff(HandsOff::TakenOver);
        line.until("let go", 15, |line| report(line).activity == let_go);
        let taken = line.ms;
        line.pass(30);
        assert_eq!(commands(&line, taken), [] as [MavCmd; 0], "{autopilot:?}");
        assert_eq!(report(&line).takeovers, 1);
        line.order(&order(2, FLY, Some(&plan), 1));
        line.until("finished", 300, |line| progress(line).finished);
    }
}

#[test]
fn a_mission_of_somebody_else_is_noticed_and_never_flown_as_ours() {
    for autopilot in BOTH {
        for other in [vec![(0.0, 60.0); 6], vec![(0.0, 60.0), (60.0, 60.0)]] {
            let plan = plan_of(items());
            let mut line = flying(autopilot, &plan);
            line.until("past the first place", 90, |line| progress(line).reached.has(1));
            line.pass(3);
            let began = line.ms;
            uploads(&mut line, autopilot, &other);
            line.until("let go", 60, |line| report(line).takeovers == 1);
            let reached = progress(&line).reached;
            line.pass(60);
            let after = progress(&line);
            assert!(!after.flying && !after.finished, "{autopilot:?}: {after:?}");
            assert_eq!(after.reached, reached, "{autopilot:?}: theirs counts for nothing");
            assert_eq!(commands(&line, began), [] as [MavCmd; 0]);
        }
    }
}

#[test]
fn on_the_ground_ours_replaces_a_mission_of_somebody_else_before_anything_is_armed() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = line(autopilot);
        line.pilot.take_plan(plan.clone());
        line.order(&order(
            1,
            Desired::Grounded {
                why: GroundedWhy::Waiting,
            },
            Some(&plan),
            0,
        ));
        line.until("ready", 30, |line| progress(line).state == PlanState::Ready);
        uploads(&mut line, autopilot, &[(0.0, 60.0), (60.0, 60.0)]);
        line.until("noticed", 20, |line| progress(line).state != PlanState::Ready);
        line.order(&order(2, FLY, Some(&plan), 0));
        line.until("finished", 300, |line| progress(line).finished);
    }
}

#[test]
fn an_item_that_somebody_jumps_over_is_not_reached_and_the_plan_is_not_finished() {
    for autopilot in BOTH {
        let plan = plan_of(items());
        let mut line = flying(autopilot, &plan);
        line.until("past the first place", 90, |line| progress(line).reached.has(2));
        line.pass(1);
        let seq = 5 + u16::from(autopilot == Autopilot::ArduPilot);
        says(
            &mut line,
            &MavMessage::MISSION_SET_CURRENT(MISSION_SET_CURRENT_DATA {
                seq,
                target_system: 7,
                target_component: 1,
            }),
        );
        line.until("at its end", 120, |line| progress(line).ended);
        line.pass(10);
        let after = progress(&line);
        assert_eq!(after.reached.ranges(), [(0, 2), (5, 5)], "{autopilot:?}");
        assert!(!after.finished && is_up(&line));
        assert_eq!(report(&line).activity, Activity::Holding);
    }
}
