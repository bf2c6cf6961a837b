//! Faults of the vehicle itself, and of what it says of itself.

use crate::rig::Rig;
use sitl::faults::LinkChange;
use sitl::model::Autopilot;

const LAND: u32 = 0x0604_0000;

#[test]
fn reboot_on_the_ground_begins_boot_time_and_sequence_anew_and_ends_connections() {
    let mut rig = Rig::ready("at 12 reboot");
    rig.pass_to(12.5);
    assert_eq!(rig.truth().uptime.as_secs(), 0);
    assert_eq!(rig.changes.len(), 1);
    assert_eq!(rig.changes[0].1, LinkChange::PowerCycle);
    rig.pass_to(20.0);
    let first = rig.frames.iter().find(|(at_s, _)| *at_s > 12.1).unwrap();
    assert_eq!(first.1.raw[4], 0, "sequence");
}

#[test]
fn reboot_in_flight_stops_the_motors_and_the_vehicle_boots_where_it_fell() {
    for autopilot in [Autopilot::Px4, Autopilot::ArduPilot] {
        let mut rig = match autopilot {
            Autopilot::Px4 => Rig::hovering("at 41 reboot"),
            Autopilot::ArduPilot => arducopter_up("at 70 reboot"),
        };
        let place = rig.truth().place;
        let boots_s = if autopilot == Autopilot::Px4 { 41.0 } else { 70.0 };
        rig.pass_to(boots_s + 0.5);
        let falling = rig.truth();
        assert!(!falling.armed && falling.height_m > 5.0, "{falling:?}");
        assert_eq!(
            rig.count(boots_s + 0.05, boots_s + 1.0, |_| true),
            0,
            "the board is dark"
        );
        rig.pass_to(boots_s + 6.0);
        let down = rig.truth();
        assert_eq!((down.armed, down.landed_state, down.height_m), (false, 1, 0.0));
        assert!((down.place.lat_deg - place.lat_deg).abs() < 1e-5);
        assert!(
            rig.count(boots_s + 1.0, boots_s + 6.0, |frame| frame.id == 0) > 0,
            "it speaks again"
        );
    }
}

fn arducopter_up(text: &str) -> Rig {
    let mut rig = Rig::new(Autopilot::ArduPilot, text);
    rig.pass_to(43.0);
    rig.command(176, [1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    rig.arm();
    rig.command(22, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0]);
    rig.pass_to(65.0);
    assert!(rig.truth().height_m > 9.0, "{:?}", rig.truth());
    rig
}

#[test]
fn motor_failure_brings_either_autopilot_down() {
    let mut px4 = Rig::hovering("at 41 motor-failure");
    let mut arducopter = arducopter_up("at 66 motor-failure");
    for (rig, fails_s) in [(&mut px4, 41.0), (&mut arducopter, 66.0)] {
        rig.pass_to(fails_s + 8.0);
        assert_eq!(rig.truth().height_m, 0.0);
        let critical = |frame: &sitl::wire::Frame| frame.id == 253 && frame.payload[0] <= 2;
        assert!(rig.count(fails_s, fails_s + 8.0, critical) > 0, "it says so");
    }
}

#[test]
fn no_gps_takes_the_fix_away_and_gives_it_back() {
    let mut rig = Rig::ready("at 12 no-gps for 4");
    rig.command(511, [24.0, 200_000.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    rig.pass_to(20.0);
    let fixes = |from_s, to_s| {
        rig.count(from_s, to_s, |frame| {
            frame.id == 24 && frame.payload.get(28) >= Some(&3)
        })
    };
    assert!(fixes(10.5, 12.0) > 0);
    assert_eq!(fixes(12.3, 16.0), 0);
    assert!(fixes(16.5, 20.0) > 0);
}

#[test]
fn battery_jumps_and_the_autopilot_follows() {
    let mut rig = Rig::hovering("at 41 battery 4%");
    rig.pass_to(41.1);
    assert!((rig.truth().battery_percent - 4.0).abs() < 0.1);
    let mut ardupilot = Rig::new(Autopilot::ArduPilot, "at 5 battery 60");
    ardupilot.pass_to(5.1);
    assert!((ardupilot.truth().battery_percent - 60.0).abs() < 0.1);
}

#[test]
fn mode_changes_as_a_pilot_does_without_an_ack() {
    let mut rig = Rig::hovering("at 41 mode land");
    rig.pass_to(42.0);
    assert_eq!(rig.truth().custom_mode, LAND);
    assert_eq!(rig.count(41.0, 42.0, |frame| frame.id == 77), 0);
    let mut arducopter = arducopter_up("at 66 mode land");
    arducopter.pass_to(66.2);
    assert_eq!(arducopter.truth().custom_mode, 9);
}

#[test]
fn a_mode_that_the_autopilot_lacks_changes_nothing() {
    let mut rig = Rig::hovering("at 41 mode brake");
    let mode = rig.truth().custom_mode;
    rig.pass_to(42.0);
    assert_eq!(rig.truth().custom_mode, mode);
}

#[test]
fn landed_state_is_that_of_the_script_for_as_long_as_the_script_has_it() {
    let mut rig = Rig::hovering("at 41 landed-state undefined for 5\nat 50 landed-state on-ground for 5");
    rig.pass_to(60.0);
    assert_eq!(rig.landed_states(35.0, 41.0), [2]);
    assert_eq!(rig.landed_states(41.1, 46.0), [0]);
    assert_eq!(rig.landed_states(46.1, 50.0), [2]);
    assert_eq!(rig.landed_states(50.1, 55.0), [1]);
    assert_eq!(rig.truth().landed_state, 2, "the truth is another");
    assert_eq!(rig.landed_states(55.1, 60.0), [2]);
}
