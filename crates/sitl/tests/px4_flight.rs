//! The PX4 profile flies as the recorded PX4 (a70a5583) flew: take-off and its traps, landing, return.

mod support;

use mavlink::dialects::ardupilotmega::MavLandedState as Landed;
use mavlink::dialects::ardupilotmega::MavMessage;
use sitl::wire::{Outgoing, Request};
use support::Verdict::{Accepted, Denied, TemporarilyRejected, Unsupported};
use support::px4::*;
use support::{HOME, US, near};

/// Real ones (1.17 alpha): 95 jumps of 1.07 to 2.3 m in 60 s, while the altitude above sea level stayed.
#[test]
fn its_home_jumps_up_and_down_in_flight_and_the_relative_altitude_with_it() {
    let mut bench = ready();
    bench.stream(33, 50.0);
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 498.0);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(6.0);
    let from = bench.now_s();
    bench.pass(60.0);
    let heights: Vec<(f64, f64)> = bench
        .messages()
        .filter_map(|(at, message)| match message {
            MavMessage::GLOBAL_POSITION_INT(reported) if at >= from => Some((
                f64::from(reported.alt) / 1000.0,
                f64::from(reported.relative_alt) / 1000.0,
            )),
            _ => None,
        })
        .collect();
    for (amsl, relative) in &heights {
        near("above the sea", *amsl, 498.0, 0.2);
        near("above home", *relative, 10.0, 2.2);
    }
    let steps = heights.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs());
    let jumps: Vec<f64> = steps.filter(|step| *step > 0.5).collect();
    assert!((40..130).contains(&jumps.len()), "{} jumps", jumps.len());
    assert!(jumps.iter().all(|jump| (1.0..3.6).contains(jump)), "{jumps:?}");
}

#[test]
fn a_flight_to_ten_meters_and_back_takes_about_as_long_as_recorded() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    bench.pass(0.96);
    let took_off_at = bench.now_s();
    take_off_to(&mut bench, 498.0);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(6.0);
    near("hover height", bench.truth().height_m, 10.0, 0.2);
    let landing_at = bench.now_s();
    assert_eq!(bench.command(21, [0.0, 0.0, 0.0, NAN, NAN, NAN, NAN]), Accepted);
    bench.until("disarmed", 60.0, |bench| !bench.truth().armed);
    let disarmed_at = bench.now_s();
    assert_eq!(bench.truth().custom_mode, HOLD, "the mode is Hold again");
    bench.pass(1.2);
    let states = bench.landed_states();
    let order: Vec<Landed> = states.iter().map(|(_, state)| *state).collect();
    let wanted = [
        Landed::MAV_LANDED_STATE_ON_GROUND,
        Landed::MAV_LANDED_STATE_TAKEOFF,
        Landed::MAV_LANDED_STATE_IN_AIR,
        Landed::MAV_LANDED_STATE_LANDING,
        Landed::MAV_LANDED_STATE_ON_GROUND,
    ];
    assert_eq!(order, wanted);
    near("TAKEOFF after the command", states[1].0 - took_off_at, 1.1, 0.3);
    near("IN_AIR after the command", states[2].0 - took_off_at, 11.3, 0.8);
    near("ON_GROUND after the land command", states[4].0 - landing_at, 19.6, 1.5);
    near("motors off after ON_GROUND", disarmed_at - states[4].0, 2.0, 0.15);
    let texts = bench.texts_since(0.0);
    for text in [
        "Armed by external command\t",
        "Takeoff detected\t",
        "Landing at current position\t",
        "Landing detected\t",
        "Disarmed by landing\t",
    ] {
        assert!(texts.iter().any(|sent| sent == text), "{text}: {texts:?}");
    }
    let own: Vec<u16> = bench
        .sent
        .iter()
        .filter_map(|(_, sent)| match sent {
            Outgoing::Command(command) => Some(command.command),
            _ => None,
        })
        .collect();
    assert_eq!(
        own,
        [1001, 1000, 1001, 1001, 1001, 1001],
        "commands of its own at the landing"
    );
}

#[test]
fn a_takeoff_while_disarmed_is_accepted_and_arming_climbs_at_once() {
    let mut bench = ready();
    take_off_to(&mut bench, NAN);
    bench.pass(1.0);
    assert_eq!(bench.truth().custom_mode, TAKEOFF);
    assert!(!bench.truth().armed);
    assert_eq!(bench.arm(), Accepted);
    bench.until("hold", 30.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(3.0);
    near("default height", bench.truth().height_m, 2.5, 0.2);
    assert!(bench.sent_text("Using default takeoff altitude: 2.5 m\t"));
}

#[test]
fn an_altitude_meant_as_height_above_home_never_lifts_off() {
    for frame in [0, 3, 99] {
        let mut bench = ready();
        assert_eq!(bench.arm(), Accepted);
        let verdict = bench.command_int(22, frame, [NAN; 4], i32::MAX, i32::MAX, 10.0);
        assert_eq!(verdict, Accepted, "frame {frame} is not looked at");
        let waited = bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
        near("auto-disarm", waited, 11.0, 0.1);
        assert_eq!(bench.truth().height_m, 0.0);
        assert_eq!(bench.truth().custom_mode, TAKEOFF, "the mode stays");
        bench.pass(0.5);
        assert!(bench.sent_text("Already higher than takeoff altitude\t"));
        assert!(bench.sent_text("Disarmed by auto preflight disarming\t"));
    }
}

#[test]
fn latitude_and_longitude_zero_are_accepted_and_never_lift_off() {
    let mut bench = ready();
    assert_eq!(bench.arm(), Accepted);
    assert_eq!(bench.command(22, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 494.0]), Accepted);
    bench.until("disarmed", 20.0, |bench| !bench.truth().armed);
    assert_eq!(bench.truth().height_m, 0.0);
}

#[test]
fn coordinates_that_mean_unused_are_denied_in_the_wrong_kind_of_command() {
    let mut bench = ready();
    let unused = i32::MAX as f32;
    assert_eq!(bench.command(22, [NAN, 0.0, 0.0, NAN, unused, unused, 494.0]), Denied);
    assert_eq!(
        bench.command_int(22, 0, [NAN; 4], 0x7FF8_0000, 0x7FF8_0000, 494.0),
        Denied
    );
    assert_eq!(
        bench.command_int(22, 0, [NAN; 4], 0x7FC0_0000, 0x7FC0_0000, 494.0),
        Accepted
    );
    assert_eq!(
        bench.command_int(22, 0, [-1.0, 5.0, 0.0, NAN], i32::MAX, i32::MAX, 494.0),
        Accepted,
        "junk in p1, p2"
    );
}

#[test]
fn a_takeoff_to_another_place_flies_there_while_it_climbs() {
    let mut bench = ready();
    let (lat, lon) = HOME.offset_meters(20.0, 0.0).e7();
    assert_eq!(bench.command_int(22, 0, [NAN; 4], lat, lon, 494.0), Accepted);
    assert_eq!(bench.arm(), Accepted);
    let took = bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    near("take-off", took, 12.5, 2.5);
    near(
        "north",
        (bench.truth().place.lat_deg - HOME.lat_deg) * 111_319.5,
        20.0,
        2.1,
    );
}

#[test]
fn a_takeoff_in_flight_climbs_when_it_is_higher_and_stays_when_it_is_lower() {
    let mut bench = hovering(5.0);
    take_off_to(&mut bench, 496.0);
    bench.pass(8.0);
    near("higher", bench.truth().height_m, 8.0, 0.2);
    take_off_to(&mut bench, 492.0);
    bench.pass(4.0);
    near("not lower", bench.truth().height_m, 8.0, 0.2);
    assert!(bench.sent_text("Already higher than takeoff altitude\t"));
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn in_flight_a_disarm_is_refused_and_a_kill_stops_the_motors() {
    let mut bench = hovering(5.0);
    assert_eq!(bench.disarm(), TemporarilyRejected);
    bench.pass(0.2);
    assert!(bench.sent_text("Disarming denied: not landed\t"));
    assert_eq!(bench.command(246, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Denied);
    assert_eq!(
        bench.command(241, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        TemporarilyRejected
    );
    assert_eq!(bench.kill(), Accepted);
    assert!(!bench.truth().armed);
    bench.pass(0.5);
    assert_eq!(bench.truth().landed_state, 1, "on the ground by its own account");
    assert!(bench.truth().height_m > 2.0, "still falling");
    bench.pass(5.0);
    assert_eq!(bench.arm(), Accepted);
}

#[test]
fn a_return_with_a_landing_delay_holds_that_long_and_for_good_if_it_is_negative() {
    for delay_s in [-1.0, 5.0] {
        let mut bench = hovering(10.0);
        bench.receive(Request::ParamSet {
            to: US,
            name: "RTL_LAND_DELAY".to_owned(),
            value: delay_s,
            kind: 9,
        });
        assert_eq!(bench.command(20, [0.0; 7]), Accepted);
        bench.pass(4.0);
        assert_eq!((bench.truth().custom_mode, bench.truth().landed_state), (RETURN, 2));
        bench.pass(60.0);
        let hovers = bench.truth().armed && bench.truth().landed_state == 2;
        assert_eq!(hovers, delay_s < 0.0);
        if hovers {
            near("it hovers at", bench.truth().height_m, 10.0, 0.5);
        }
    }
}

#[test]
fn return_from_twenty_meters_away_climbs_to_thirty_and_lands_in_return_mode() {
    let mut bench = hovering(10.0);
    let (lat, lon) = HOME.offset_meters(25.0, 0.0).e7();
    assert_eq!(
        bench.command_int(192, 5, [-1.0, 1.0, 0.0, NAN], lat, lon, 498.0),
        Accepted
    );
    bench.pass(15.0);
    assert_eq!(bench.command(20, [0.0; 7]), Accepted);
    let mut highest: f64 = 0.0;
    bench.until("landing", 60.0, |bench| {
        highest = highest.max(bench.truth().height_m);
        bench.truth().landed_state == 4
    });
    near("return height", highest, 30.0, 1.0);
    assert_eq!(bench.truth().custom_mode, RETURN);
    bench.until("disarmed", 90.0, |bench| !bench.truth().armed);
    bench.pass(1.0);
    assert!(bench.sent_text("RTL: land at destination\t"));
    assert_eq!(bench.truth().custom_mode, HOLD);
}

#[test]
fn it_looks_to_where_it_is_sent_unless_it_is_given_a_heading_in_radians() {
    let mut bench = hovering(10.0);
    let (east, here) = ((473_977_420, 85_459_940), (i32::MAX, i32::MAX));
    let mut sent = |(lat, lon), heading: f32| {
        assert_eq!(
            bench.command_int(192, 0, [-1.0, 1.0, 0.0, heading], lat, lon, 498.0),
            Accepted
        );
        bench.pass(20.0);
        bench.truth().heading_deg
    };
    near("along the way", sent(east, NAN), 90.0, 1.0);
    near("the heading given", sent(here, (-160.0_f32).to_radians()), 200.0, 1.0);
    near("of a place where it is", sent(here, NAN), 200.0, 1.0);
    assert_eq!(bench.command(115, [90.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), Unsupported);
}

#[test]
fn a_reposition_with_a_relative_altitude_sinks() {
    let mut bench = hovering(15.0);
    assert_eq!(
        bench.command_int(192, 6, [-1.0, 1.0, 0.0, NAN], i32::MAX, i32::MAX, 12.0),
        Accepted
    );
    bench.pass(5.0);
    assert!(bench.truth().height_m < 11.0, "{:?}", bench.truth());
}
