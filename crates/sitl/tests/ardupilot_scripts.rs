//! Corrected differences in random scripts from the real ArduCopter (90700977), whose verdicts and times stand here.

mod support;

use mavlink::dialects::ardupilotmega::MavLandedState as Landed;
use sitl::wire::{Address, LocalTarget, Request};
use support::Verdict::{self, Accepted, Denied, Failed, Unsupported};
use support::ardupilot::*;
use support::{Bench, US};

const AVOID_ADSB: u32 = 19;
const NO_GPS: u32 = 20;
const VELOCITY_ONLY: u16 = 0b1101_1100_0111;

fn plain(bench: &mut Bench, id: u16) -> Verdict {
    bench.command(id, [0.0; 7])
}

fn flying(height_m: f32) -> Bench {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(1.0);
    assert_eq!(take_off(&mut bench, height_m), Accepted);
    bench.pass(20.0);
    bench
}

fn velocity(bench: &mut Bench, north: f32, down: f32) {
    bench.receive(Request::Steer(LocalTarget {
        to: US,
        frame: 1,
        type_mask: VELOCITY_ONLY,
        place_m: [0.0; 3],
        velocity_m_s: [north, 0.0, down],
    }));
}

fn set(bench: &mut Bench, name: &str, value: f32) {
    bench.receive(Request::ParamSet {
        to: US,
        name: name.to_owned(),
        value,
        kind: 9,
    });
}

fn keep(bench: &mut Bench, seconds: f64, north: f32, down: f32) {
    let end = bench.now_s() + seconds;
    while bench.now_s() < end {
        velocity(bench, north, down);
        bench.pass(0.2);
    }
}

#[test]
fn commands_without_an_effect_that_is_modelled_get_the_verdicts_of_the_real_one() {
    let mut bench = ready();
    for accepted in [181, 182, 195, 197, 201, 206, 208, 216, 500, 2001, 42428] {
        assert_eq!(plain(&mut bench, accepted), Accepted, "{accepted}");
    }
    for failed in [84, 183, 185, 189, 204, 211, 601, 1000, 2000, 2500, 42600] {
        assert_eq!(plain(&mut bench, failed), Failed, "{failed}");
    }
    for denied in [32, 532, 534, 42007, 42700] {
        assert_eq!(plain(&mut bench, denied), Denied, "{denied}");
    }
    for unsupported in [16, 34, 112, 186, 196, 519, 521, 3000, 43000, 43003, 65535] {
        assert_eq!(plain(&mut bench, unsupported), Unsupported, "{unsupported}");
    }
    assert_eq!(bench.command_int(43003, 3, [0.0; 4], 0, 0, 0.0), Denied);
}

#[test]
fn a_speed_can_be_ordered_only_in_modes_that_follow_a_path() {
    let mut bench = ready();
    let speed = |bench: &mut Bench, kind: f32, value: f32| bench.command(178, [kind, value, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (mode, verdict) in [
        (0, Failed),
        (5, Failed),
        (17, Failed),
        (4, Accepted),
        (6, Accepted),
        (21, Accepted),
    ] {
        assert_eq!(set_mode(&mut bench, mode), Accepted);
        assert_eq!(speed(&mut bench, 1.0, 3.0), verdict, "mode {mode}");
    }
    assert_eq!(speed(&mut bench, 4.0, 3.0), Denied, "no such kind");
    assert_eq!(speed(&mut bench, 1.0, 0.0), Denied);
    assert_eq!(speed(&mut bench, 1.0, -1.0), Denied);
}

#[test]
fn an_ordered_speed_is_flown_until_the_mode_changes() {
    let mut slow = flying(10.0);
    assert_eq!(slow.command(178, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    let north = |bench: &Bench| (bench.truth().place.lat_deg - support::HOME.lat_deg) * 111_319.5;
    let away = (47.399_742 * 1e7) as i32;
    assert_eq!(
        slow.command_int(192, 6, [-1.0, 0.0, 0.0, 0.0], away, 85_455_940, 10.0),
        Accepted
    );
    slow.pass(15.0);
    support::near("meters at 2 m/s", north(&slow), 28.0, 3.0);
}

#[test]
fn a_yaw_is_taken_within_a_turn_absolute_or_relative() {
    let mut bench = ready();
    let yaw = |bench: &mut Bench, degrees: f32, relative: f32| {
        bench.command(115, [degrees, 20.0, 1.0, relative, 0.0, 0.0, 0.0])
    };
    for (degrees, relative, verdict) in [
        (-10.0, 0.0, Failed),
        (0.0, 0.0, Accepted),
        (90.0, 1.0, Accepted),
        (359.0, 2.0, Failed),
        (400.0, 1.0, Failed),
    ] {
        assert_eq!(yaw(&mut bench, degrees, relative), verdict, "{degrees} {relative}");
    }
}

#[test]
fn a_reposition_on_the_ground_is_accepted_and_may_change_the_mode() {
    let mut bench = ready();
    let to = |bench: &mut Bench, change: f32, frame: u8, x: i32| {
        bench.command_int(192, frame, [-1.0, change, 0.0, 0.0], x, 85_455_940, 20.0)
    };
    assert_eq!(to(&mut bench, 0.0, 6, 473_978_420), Accepted);
    for unknown in [1, 2, 4, 8, 12, 99] {
        assert_eq!(to(&mut bench, 1.0, unknown, 473_978_420), Denied, "frame {unknown}");
    }
    assert_eq!(to(&mut bench, 1.0, 6, i32::MAX), Denied);
    assert_eq!(set_mode(&mut bench, LOITER), Accepted);
    assert_eq!(to(&mut bench, 0.0, 6, 473_978_420), Denied);
    assert_eq!(to(&mut bench, 1.0, 6, 473_978_420), Accepted);
    assert_eq!(bench.truth().custom_mode, GUIDED);
    assert_eq!(set_mode(&mut bench, NO_GPS), Accepted);
    assert_eq!(to(&mut bench, 1.0, 6, 473_978_420), Accepted);
    assert_eq!(bench.truth().custom_mode, NO_GPS, "it is a guided mode already");
    assert_eq!(set_mode(&mut bench, AVOID_ADSB), Accepted);
    assert_eq!(to(&mut bench, 1.0, 6, 473_978_420), Accepted);
    assert_eq!(bench.truth().custom_mode, AVOID_ADSB, "so is this");
    let at_home = bench.command_int(192, 6, [-1.0, 1.0, 0.0, 0.0], 473_978_420, 85_455_940, 0.0);
    assert_eq!(at_home, Denied, "a relative height of 0 is none");
}

#[test]
fn a_take_off_in_a_pilots_mode_ends_at_once_and_in_guided_without_gps_moves_nothing() {
    for (mode, verdict, hops) in [
        (2, Failed, false),
        (5, Accepted, true),
        (16, Accepted, true),
        (20, Accepted, false),
    ] {
        let mut bench = ready();
        assert_eq!(set_mode(&mut bench, mode), Accepted);
        assert_eq!(bench.arm(), Accepted);
        bench.pass(3.0);
        assert_eq!(take_off(&mut bench, 10.0), verdict, "mode {mode}");
        bench.pass(5.0);
        let states: Vec<Landed> = bench.landed_states().into_iter().map(|(_, state)| state).collect();
        let in_air = states.contains(&Landed::MAV_LANDED_STATE_IN_AIR);
        assert_eq!((in_air, bench.truth().landed_state), (hops, 1), "mode {mode}");
    }
}

#[test]
fn a_mode_that_this_vehicle_cannot_begin_is_refused_on_the_ground_too() {
    let mut bench = ready();
    for refused in [8, 10, 13, 14, 15, 22, 23, 25, 27, 28, 99] {
        assert_eq!(set_mode(&mut bench, refused), Failed, "{refused}");
    }
    assert_eq!(set_mode(&mut bench, 19), Accepted);
}

#[test]
fn in_stabilize_it_falls_in_poshold_it_sinks_in_circle_it_sinks_and_is_never_landed() {
    for (mode, height_m, landed) in [(0, 0.0, 1), (7, 0.0, 2), (16, 0.0, 1)] {
        let mut bench = flying(10.0);
        assert_eq!(set_mode(&mut bench, mode), Accepted);
        bench.pass(9.0);
        let truth = bench.truth();
        support::near("height", truth.height_m, height_m, 0.5);
        assert_eq!(truth.landed_state, landed, "mode {mode}");
    }
}

#[test]
fn a_velocity_is_held_for_three_seconds_after_the_last_set_point() {
    let mut bench = flying(10.0);
    let north = |bench: &Bench| (bench.truth().place.lat_deg - support::HOME.lat_deg) * 111_319.5;
    keep(&mut bench, 8.0, 3.0, 0.0);
    support::near("meters after 8 s at 3 m/s", north(&bench), 21.0, 2.5);
    bench.pass(8.0);
    support::near("meters where it stopped", north(&bench), 32.5, 3.0);
}

#[test]
fn a_velocity_that_is_no_number_or_beyond_all_sense_stops_the_vehicle() {
    for wrong in [f32::NAN, f32::INFINITY, 1001.0] {
        let mut bench = flying(10.0);
        keep(&mut bench, 4.0, 3.0, 0.0);
        velocity(&mut bench, wrong, 0.0);
        bench.pass(6.0);
        let stopped = bench.truth().place;
        bench.pass(5.0);
        let north_m = (bench.truth().place.lat_deg - stopped.lat_deg) * 111_319.5;
        support::near("meters flown since", north_m, 0.0, 0.5);
        support::near("height", bench.truth().height_m, 10.0, 0.5);
    }
}

#[test]
fn a_velocity_towards_the_fence_creeps_over_the_circle_but_stops_below_the_ceiling() {
    let mut bench = flying(10.0);
    for (name, value) in [
        ("FENCE_TYPE", 3.0),
        ("FENCE_RADIUS", 60.0),
        ("FENCE_ALT_MAX", 30.0),
        ("FENCE_ENABLE", 1.0),
    ] {
        set(&mut bench, name, value);
    }
    keep(&mut bench, 14.0, 0.0, -2.5);
    bench.pass(5.0);
    support::near("height", bench.truth().height_m, 28.0, 1.0);
    assert_eq!(bench.truth().custom_mode, GUIDED);
    keep(&mut bench, 20.0, 5.0, 0.0);
    assert_eq!(bench.truth().custom_mode, RTL, "breached at 17 s");
}

#[test]
fn a_velocity_up_breaches_the_ceiling_where_avoidance_is_off() {
    let mut bench = flying(10.0);
    for (name, value) in [
        ("AVOID_ENABLE", 0.0),
        ("FENCE_TYPE", 1.0),
        ("FENCE_ALT_MAX", 30.0),
        ("FENCE_ENABLE", 1.0),
    ] {
        set(&mut bench, name, value);
    }
    keep(&mut bench, 12.0, 0.0, -2.5);
    assert_eq!(bench.truth().custom_mode, RTL);
}

#[test]
fn messages_can_be_requested_at_intervals_of_more_than_a_millisecond() {
    let mut bench = ready();
    let interval = |bench: &mut Bench, id: f32, us: f32| bench.command(511, [id, us, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for (id, verdict) in [
        (85.0, Accepted),
        (191.0, Accepted),
        (141.0, Denied),
        (253.0, Denied),
        (300.0, Denied),
    ] {
        assert_eq!(interval(&mut bench, id, 1e6), verdict, "{id}");
    }
    for (us, verdict) in [
        (-2.0, Denied),
        (-1.0, Accepted),
        (0.0, Accepted),
        (1000.0, Denied),
        (4000.0, Accepted),
    ] {
        assert_eq!(interval(&mut bench, 74.0, us), verdict, "{us}");
    }
}

#[test]
fn a_command_to_an_unknown_component_is_its_own() {
    let mut bench = ready();
    let request_home = [148.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(bench.verdicts_from((1, 100), 512, request_home), [Accepted]);
    let camera = Address {
        system: 1,
        component: 100,
    };
    bench.receive_from(camera, Request::Heartbeat { kind: 30 });
    assert_eq!(bench.verdicts_from((1, 100), 512, request_home), []);
}

#[test]
fn a_pause_in_guided_is_accepted_on_the_ground_and_in_a_pilots_mode_fails() {
    let mut bench = ready();
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    assert_eq!(bench.command(193, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    assert_eq!(set_mode(&mut bench, LOITER), Accepted);
    assert_eq!(bench.command(193, [0.0; 7]), Failed);
}

#[test]
fn without_a_mission_item_0_cannot_be_chosen_and_others_are_denied() {
    let mut bench = ready();
    let choose = |bench: &mut Bench, seq: f32, reset: f32| bench.command(224, [seq, reset, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(choose(&mut bench, 0.0, 0.0), Failed);
    assert_eq!(choose(&mut bench, 1.0, 1.0), Denied);
    assert_eq!(choose(&mut bench, -1.0, 1.0), Denied);
}

#[test]
fn a_return_from_above_home_does_not_climb() {
    let mut bench = flying(5.0);
    assert_eq!(bench.command(20, [0.0; 7]), Accepted);
    bench.pass(4.0);
    support::near("height", bench.truth().height_m, 5.0, 0.3);
}

const CONTINUE: [f32; 7] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

#[test]
fn a_paused_takeoff_is_accepted_but_lifts_off_only_once_it_continues() {
    let mut bench = ready();
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    assert_eq!(bench.arm(), Accepted);
    bench.pass(3.0);
    assert_eq!(take_off(&mut bench, 8.0), Accepted);
    bench.pass(8.0);
    assert!(
        !bench.truth().armed,
        "it disarms as any vehicle that stays on the ground"
    );
    assert_eq!(bench.arm(), Accepted);
    bench.pass(2.0);
    assert_eq!(take_off(&mut bench, 8.0), Accepted);
    bench.pass(4.0);
    assert_eq!(bench.truth().landed_state, 1, "the pause outlasts the disarming");
    assert_eq!(bench.command(193, CONTINUE), Accepted);
    let lifts_off_s = bench.until("lift-off", 10.0, |bench| bench.truth().landed_state == 3);
    support::near("lift-off after", lifts_off_s, 1.0, 0.3);
    bench.pass(10.0);
    support::near("height", bench.truth().height_m, 8.0, 0.3);
}

#[test]
fn a_climb_that_is_paused_remains_a_takeoff_and_goes_on_to_its_height() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(2.0);
    assert_eq!(take_off(&mut bench, 15.0), Accepted);
    bench.pass(5.0);
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    bench.pass(6.0);
    support::near("height while paused", bench.truth().height_m, 9.8, 1.0);
    assert_eq!(bench.truth().landed_state, 3);
    assert_eq!(take_off(&mut bench, 15.0), Failed);
    assert_eq!(bench.command(193, CONTINUE), Accepted);
    bench.pass(9.0);
    support::near("height", bench.truth().height_m, 15.0, 0.3);
    assert_eq!(bench.truth().landed_state, 2);
}

#[test]
fn a_target_that_is_given_while_paused_waits_and_another_mode_ends_the_pause() {
    let mut bench = flying(8.0);
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    velocity(&mut bench, 3.0, -1.0);
    bench.pass(2.0);
    support::near("height while paused", bench.truth().height_m, 8.0, 0.2);
    let lat_e7 = ((support::HOME.lat_deg + 16.0 / 111_319.5) * 1e7) as i32;
    let reposition = |bench: &mut Bench| {
        let lon_e7 = (support::HOME.lon_deg * 1e7) as i32;
        bench.command_int(192, 6, [-1.0, 1.0, 0.0, 0.0], lat_e7, lon_e7, 10.0)
    };
    assert_eq!(reposition(&mut bench), Accepted);
    bench.pass(5.0);
    support::near("height with a target", bench.truth().height_m, 8.0, 0.2);
    assert_eq!(bench.command(193, CONTINUE), Accepted);
    bench.pass(9.0);
    support::near("height at the target", bench.truth().height_m, 10.0, 0.3);
    assert_eq!(bench.command(193, [0.0; 7]), Accepted);
    assert_eq!(set_mode(&mut bench, 17), Accepted);
    assert_eq!(set_mode(&mut bench, GUIDED), Accepted);
    velocity(&mut bench, 0.0, -1.0);
    bench.pass(3.0);
    assert!(bench.truth().height_m > 11.0, "it climbs");
}

#[test]
fn a_look_needs_a_place_over_the_earth_and_a_calibration_something_to_calibrate() {
    let mut bench = ready();
    for command in [195, 201] {
        for frame in 0..12 {
            let wanted = if matches!(frame, 0 | 3 | 5 | 6 | 10 | 11) {
                Accepted
            } else {
                Denied
            };
            let given = bench.command_int(command, frame, [0.0; 4], 0, 0, 0.0);
            assert_eq!(given, wanted, "{command} in frame {frame}");
        }
    }
    let gyro = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(bench.command(241, gyro), Accepted);
    assert_eq!(bench.command(241, [0.0; 7]), Unsupported);
    assert_eq!(bench.command_int(241, 0, [0.0; 4], 0, 0, 0.0), Unsupported);
}

#[test]
fn a_pause_and_a_speed_are_taken_where_it_avoids_traffic_too() {
    let mut bench = ready();
    assert_eq!(set_mode(&mut bench, AVOID_ADSB), Accepted);
    assert_eq!(
        bench.command(178, [1.0, 3.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
        Accepted,
        "and a speed"
    );
    for param in [0.0, 1.0] {
        assert_eq!(
            bench.command(193, [param, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            Accepted,
            "{param}"
        );
    }
}

#[test]
fn armed_by_force_in_land_its_motors_stop_when_they_would_have_started() {
    let mut bench = ready();
    assert_eq!(set_mode(&mut bench, LAND), Accepted);
    bench.pass(6.0);
    assert_eq!(bench.command(400, [1.0, 2989.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Accepted);
    bench.pass(1.5);
    assert!(bench.truth().armed);
    assert_eq!(
        set_mode(&mut bench, 3),
        Failed,
        "an armed vehicle needs a mission for AUTO"
    );
    bench.pass(1.0);
    assert!(!bench.truth().armed);
}
