//! The pilot and simulated vehicles on poor links (a companion's port has 57,600 baud), without a coordinator, with a
//! stopped agent, with home set in flight, stopped in a climb, and with several batteries. Must not: test flights on good links.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod batteries;
mod climb;
mod home;
mod stopped;
mod world;

use agent_testkit::line::Line;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::Preflight;
use model::report::Activity;
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, Port};
use world::{RTL_ARDUPILOT, RTL_PX4, World};

const GLOBAL_POSITION_INT: f32 = 33.0;

#[test]
fn over_57600_baud_a_flight_is_known_throughout_and_requests_come_to_an_end() {
    let mut world = World::new(Autopilot::Px4, |config| config.port = Port::Companion);
    world.fly();
    let (flown_at, asked) = (world.ms, world.asked().count());
    let mut unknown = 0;
    while world.ms < flown_at + 300_000 {
        world.step();
        unknown += u32::from(matches!(world.truth(), FlightTruth::Unknown(_)));
    }
    assert_eq!(unknown, 0, "steps of 20 ms in which nobody knew whether it flies");
    let asked = world.asked().count() - asked;
    assert!(asked < 360, "{asked} requests in five minutes");
    let set = world
        .asked()
        .filter(|(command, _)| *command == MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL);
    assert_eq!(
        set.filter(|(_, message)| (message - GLOBAL_POSITION_INT).abs() < 0.5)
            .count(),
        0,
        "its 50 Hz are other people's"
    );
    let positions = world.received_since(33, flown_at);
    assert!(positions > 900, "{positions} positions in five minutes");
}

#[test]
fn on_a_network_a_px4_is_asked_once_and_then_left_alone() {
    let mut world = World::new(Autopilot::Px4, |config| config.port = Port::Network);
    world.fly();
    let asked = world.asked().count();
    world.pass(120);
    assert!(
        world.asked().count() <= asked + 4,
        "{:?}",
        world.asked().skip(asked).collect::<Vec<_>>()
    );
}

fn watched(autopilot: Autopilot) -> World {
    let mut world = World::new(autopilot, |config| {
        config.parameters = match autopilot {
            Autopilot::ArduPilot => vec![("FS_GCS_ENABLE".into(), 1.0), ("FS_GCS_TIMEOUT".into(), 5.0)],
            Autopilot::Px4 => vec![("NAV_DLL_ACT".into(), 2.0), ("COM_DL_LOSS_T".into(), 10.0)],
        };
    });
    world.fly();
    world
}

const fn rtl(autopilot: Autopilot) -> u32 {
    match autopilot {
        Autopilot::ArduPilot => RTL_ARDUPILOT,
        Autopilot::Px4 => RTL_PX4,
    }
}

#[test]
fn a_fail_over_and_a_restart_of_coordinators_bring_nobody_home() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let mut world = watched(autopilot);
        let mode = world.vehicle.truth().custom_mode;
        for away_s in [10, 15, 18] {
            world.close_uplink();
            world.pass(away_s);
            world.order_again();
            world.pass(40);
            assert_eq!(
                world.vehicle.truth().custom_mode,
                mode,
                "{autopilot:?} after {away_s} s"
            );
        }
    }
}

#[test]
fn without_coordinator_or_agent_the_autopilot_acts_in_the_stated_time() {
    // The grace of 20 s and the autopilot's own time; PX4 holds for 5 s before it returns, and notices up to 3 s late.
    for (autopilot, own_s) in [(Autopilot::ArduPilot, 7), (Autopilot::Px4, 10 + 3 + 5 + 1)] {
        let mut world = watched(autopilot);
        world.close_uplink();
        let ms = world.until("it returns", 60, |w| w.vehicle.truth().custom_mode == rtl(autopilot));
        assert!((20_000..=20_000 + own_s * 1000).contains(&ms), "{autopilot:?}: {ms} ms");

        let mut world = watched(autopilot);
        world.dead = true;
        let ms = world.until("it returns", 60, |w| w.vehicle.truth().custom_mode == rtl(autopilot));
        assert!(ms <= own_s * 1000, "{autopilot:?}: {ms} ms");
    }
}

#[test]
fn what_preflight_found_is_found_again_by_an_agent_that_was_restarted_in_flight() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let mut world = World::new(autopilot, |_| {});
        world.preflight = Preflight::Warn;
        world.fly();
        let warnings = world.pilot.report(world.now()).warnings;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        world.agent_restarts();
        world.order_again();
        world.until("the warnings are there", 10, |w| {
            w.pilot.report(w.now()).warnings == warnings
        });
        assert!(matches!(world.truth(), FlightTruth::Airborne(_)));
    }
}

fn names_the_key(line: &Line) -> bool {
    let report = line.pilot.report(line.now());
    let named = report
        .reasons
        .iter()
        .any(|reason| reason.text.contains("--signing-key"));
    named && report.ready == Some(false)
}

#[test]
fn an_autopilot_that_takes_only_signed_commands_is_not_armed_and_says_what_it_needs_until_it_answers() {
    let mut world = World::new(Autopilot::Px4, |_| {});
    world.signs = true;
    world.takes_only_signed = true;
    world.pass(5);
    world.order_again();
    world.until("it names the key", 30, names_the_key);
    let arms = |message: &MavMessage| match message {
        MavMessage::COMMAND_LONG(m) => m.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
        _ => false,
    };
    // One may be among those by whose silence it is known.
    let sent = |world: &World| world.wrote.iter().filter(|(_, message)| arms(message)).count();
    let before = sent(&world);
    for second in 0..60 {
        world.pass(1);
        assert!(names_the_key(&world), "after {second} s");
    }
    assert_eq!(sent(&world), before);
    world.takes_only_signed = false;
    world.until("it holds", 300, |w| {
        w.pilot.report(w.now()).activity == Activity::Holding
    });
    assert!(!names_the_key(&world));
}

#[test]
fn an_autopilot_that_signs_and_takes_unsigned_commands_flies_without_a_key() {
    for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
        let mut world = World::new(autopilot, |_| {});
        world.signs = true;
        world.fly();
        assert!(!names_the_key(&world), "{autopilot:?}");
    }
}
