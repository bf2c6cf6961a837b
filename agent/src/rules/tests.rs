//! Rules against a scripted autopilot on a line that may lose and repeat, with agents that are killed.
//!
//! Must not: test the parts alone; their own modules do.

mod fake;

use super::items::{Item, alike};
use super::*;
use fake::{AUTOPILOT, Fake, NORTH_OF_HOME_E7, US, text};
use link::dialect::{MavParamError, MavParamType, PARAM_ERROR_DATA};
use model::ids::Term;
use model::parameter_meaning;
use model::rules::{Deviation, DeviationWhy, Enforce, Fence, Outline, RulesDigest, Shape, Side, WantedParameter};
use proptest::prelude::*;
use std::collections::VecDeque;

const STEP: Duration = Duration::from_millis(50);
const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.3977,
    longitude_deg: 8.5456,
};

/// Where the line loses or repeats, and where the agent is killed: one number for each message.
#[derive(Clone, Debug, Default)]
struct Faults {
    lose: VecDeque<bool>,
    repeat: VecDeque<bool>,
    kill: VecDeque<bool>,
}

struct World {
    now: Moment,
    to: Identity,
    board: Board,
    disk: Remembered,
    fake: Fake,
    on_ground: bool,
    faults: Faults,
    killed: u32,
    /// Something was changed without a report: a claim may be wrong until that is found out.
    unheard: bool,
    missed: Vec<(Moment, MavMessage)>,
}

impl World {
    fn new(autopilot: Autopilot) -> Self {
        Self {
            now: Moment::at(Duration::from_secs(100)),
            to: Identity {
                autopilot,
                system: AUTOPILOT.system,
                component: AUTOPILOT.component,
                firmware: None,
                hardware: HardwareUid::of(7, [0; 18]),
            },
            board: Board::default(),
            disk: Remembered::default(),
            fake: Fake::new(autopilot),
            on_ground: true,
            faults: Faults::default(),
            killed: 0,
            unheard: false,
            missed: vec![],
        }
    }

    /// What is not on the disk is gone.
    fn restart(&mut self) {
        self.killed += 1;
        let json = serde_json::to_string(&self.disk).unwrap();
        self.board = Board::new(serde_json::from_str(&json).unwrap());
    }

    fn give(&mut self, rules: &Rules) {
        self.board.take(rules.clone());
        self.disk = self.board.memory().clone();
    }

    fn step(&mut self) {
        self.now = self.now.plus(STEP);
        let due: Vec<_> = self
            .missed
            .iter()
            .filter(|(at, _)| *at <= self.now)
            .map(|(_, m)| m.clone())
            .collect();
        self.missed.retain(|(at, _)| *at > self.now);
        for message in due.into_iter().chain(self.fake.tick(self.now)) {
            self.hear(message);
        }
        for _ in 0..4 {
            let situation = Situation {
                to: &self.to,
                home: Some(HOME),
                may_write: self.on_ground,
            };
            let Some(send) = self.board.next(situation, self.now, 0.5) else {
                break;
            };
            if !self.on_ground {
                assert!(!send.once_remembered, "{:?} is sent in the air", send.message);
            }
            // Killed before it was written down, and after.
            if self.faults.kill.pop_front().unwrap_or(false) {
                self.restart();
                return;
            }
            self.disk = self.board.memory().clone();
            if self.faults.kill.pop_front().unwrap_or(false) {
                self.restart();
                return;
            }
            if self.faults.lose.pop_front().unwrap_or(false) {
                continue;
            }
            let times = if self.faults.repeat.pop_front().unwrap_or(false) {
                2
            } else {
                1
            };
            for _ in 0..times {
                for answer in self.fake.receive(&send.message, self.now) {
                    self.hear(answer);
                }
            }
            if self.faults.kill.pop_front().unwrap_or(false) {
                self.restart();
                return;
            }
        }
        self.disk = self.board.memory().clone();
        self.check();
    }

    fn hear(&mut self, message: MavMessage) {
        if self.faults.lose.pop_front().unwrap_or(false) {
            if matches!(message, MavMessage::EVENT(_)) {
                self.missed.push((self.now.plus(Duration::from_secs(4)), message));
            }
            return;
        }
        let times = if self.faults.repeat.pop_front().unwrap_or(false) {
            2
        } else {
            1
        };
        for _ in 0..times {
            if let MavMessage::STATUSTEXT(m) = &message {
                self.board.text(m.text.to_str().unwrap());
            }
            self.board.receive(&message, &self.to, US, self.now, 0.5);
        }
    }

    fn check(&self) {
        if self.unheard {
            return;
        }
        let report = self.board.report();
        let Some(rules) = &self.board.memory().held else { return };
        if report.fence == FenceState::InForce {
            let wanted = rules.fence.as_ref().map(items).unwrap_or_default();
            assert!(
                alike(&self.fake.in_effect, &wanted),
                "the fence is reported in force, and it is not: {:?}",
                self.fake.in_effect
            );
        }
        if report.in_force {
            let fake = &self.fake;
            let given_back = rules.fence.is_some() || alike(&fake.in_effect, &fake.stored);
            assert!(given_back, "{:?} still counts, and is said to be gone", fake.in_effect);
            for parameter in &rules.parameters {
                let number = |name: &str| self.fake.parameters.get(name).map(|(value, _)| *value);
                let mut names = parameter_meaning::convertible(self.to.autopilot, &parameter.name).iter();
                let any = names.find_map(|known| number(known.name).map(|value| known.read(value)));
                let value = if parameter.any_name {
                    any
                } else {
                    number(&parameter.name)
                };
                assert_eq!(
                    value,
                    Some(parameter.value),
                    "{} is reported in force, and it is not",
                    parameter.name
                );
            }
        }
    }

    /// A step in which the claim may lag behind what nobody has heard.
    fn on_ground_step(&mut self) {
        self.unheard = true;
        self.step();
        self.unheard = false;
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 20 {
            self.step();
        }
    }

    fn until_in_force(&mut self) -> Duration {
        let began = self.now;
        while !self.board.report().in_force {
            self.step();
            assert!(
                self.now.since(began) < Duration::from_secs(900),
                "{:?}",
                self.board.report()
            );
        }
        self.now.since(began)
    }

    fn sent(&self) -> usize {
        self.fake.received.len()
    }
}

fn square(center_e7: i32) -> Shape {
    let at = |north: i32, east: i32| Wgs84 {
        latitude_deg: f64::from(center_e7 + north) / 1e7,
        longitude_deg: f64::from(85_456_000 + east) / 1e7,
    };
    Shape {
        side: Side::Inside,
        outline: Outline::Polygon(vec![at(5000, 8000), at(5000, -8000), at(-5000, -8000), at(-5000, 8000)]),
    }
}

/// Somebody else's fence, this far south of ours.
fn others_fence(south_e7: i32) -> Vec<Item> {
    items(&Fence {
        shapes: vec![square(AROUND_HOME_E7 - south_e7)],
    })
}

const AROUND_HOME_E7: i32 = 473_977_000;
const ELSEWHERE_E7: i32 = NORTH_OF_HOME_E7 + 100_000;

fn rules(digest: &str, fence: Option<i32>, parameters: &[(&str, f64, Enforce)]) -> Rules {
    Rules {
        term: Term(1),
        digest: RulesDigest(digest.to_owned()),
        fence: fence.map(|center| Fence {
            shapes: vec![square(center)],
        }),
        parameters: parameters
            .iter()
            .map(|(name, value, enforce)| WantedParameter {
                name: (*name).to_owned(),
                value: *value,
                enforce: *enforce,
                may_reboot: false,
                any_name: false,
            })
            .collect(),
    }
}

/// Whatever the autopilot calls it.
fn return_altitude(digest: &str, meters: f64) -> Rules {
    let mut rules = rules(digest, None, &[("RTL_ALT_M", meters, APPLY)]);
    rules.parameters[0].any_name = true;
    rules
}

const APPLY: Enforce = Enforce::Apply;
const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

fn why(world: &World, name: &str) -> Option<DeviationWhy> {
    let report = world.board.report();
    let deviation: Option<Deviation> = report.deviations.into_iter().find(|d| d.name == name);
    deviation.map(|d| d.why)
}

#[test]
fn rules_come_in_force_and_what_was_before_is_given_back_when_they_are_gone() {
    for autopilot in BOTH {
        let mut world = World::new(autopilot);
        let before = others_fence(500);
        world.fake.foreign_upload(before.clone(), world.now);
        world.run(10);
        assert_eq!(world.sent(), 0, "no rules and never any: nothing is sent");
        world.give(&rules(
            "a",
            Some(AROUND_HOME_E7),
            &[("ATC_WHOLE", 3.0, APPLY), ("ATC_ALT_MAX", 60.5, APPLY)],
        ));
        let took = world.until_in_force();
        assert!(took < Duration::from_secs(15), "{autopilot:?} took {took:?}");
        let report = world.board.report();
        assert_eq!((report.fence, report.parameters_in_force), (FenceState::InForce, 2));
        assert_eq!(world.disk.before.fence.as_ref(), Some(&before));
        let sent = world.sent();
        assert!(sent < 40, "{autopilot:?}: {sent} messages");
        world.run(250);
        // PX4's hash; on ArduPilot two checks of four items and two parameters.
        let checks = if autopilot == Autopilot::Px4 { 1 } else { 2 * 8 };
        assert!(
            world.sent() <= sent + checks,
            "{autopilot:?}: {:?} while nothing changes",
            &world.fake.received[sent..]
        );

        world.give(&rules("b", None, &[]));
        assert!(!world.board.report().in_force, "it has still to be given back");
        world.until_in_force();
        assert_eq!(world.fake.stored, before);
        assert_eq!(world.fake.parameters["ATC_WHOLE"].0, 2.0);
        assert_eq!(world.fake.parameters["ATC_ALT_MAX"].0, 100.0);
        world.run(3);
        let sent = world.sent();
        world.run(400);
        assert_eq!(world.sent(), sent, "nothing is left to do");
    }
}

#[test]
fn a_fence_that_px4_accepts_and_leaves_out_is_never_in_force_and_its_words_are_told() {
    let mut world = World::new(Autopilot::Px4);
    world.give(&rules("a", Some(ELSEWHERE_E7), &[]));
    world.run(60);
    let words = match world.board.report().fence {
        FenceState::Refused(words) => words,
        other => panic!("{other:?}"),
    };
    assert!(
        words.contains("Geofence invalid, doesn't contain Home position"),
        "{words}"
    );
    let attempts = |world: &World| {
        world
            .fake
            .received
            .iter()
            .filter(|m| matches!(m, MavMessage::MISSION_COUNT(_)))
            .count()
    };
    let before = attempts(&world);
    world.run(1200);
    let again = attempts(&world) - before;
    assert!((1..=10).contains(&again), "tried again with a back-off: {again}");
    // Killed now, it does not take what it reads back for a fence in force.
    world.restart();
    world.run(60);
    assert!(!world.board.report().in_force);
    world.give(&rules("b", Some(AROUND_HOME_E7), &[]));
    world.until_in_force();
}

#[test]
fn a_fence_that_was_heard_out_is_in_force_after_a_restart_once_it_was_read_back() {
    for autopilot in BOTH {
        let mut world = World::new(autopilot);
        world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
        world.until_in_force();
        let uploads = |world: &World| {
            world
                .fake
                .received
                .iter()
                .filter(|m| matches!(m, MavMessage::MISSION_COUNT(_)))
                .count()
        };
        let before = uploads(&world);
        world.restart();
        assert!(!world.board.report().in_force, "not before it was read back");
        world.on_ground = false;
        world.until_in_force();
        assert_eq!(uploads(&world), before, "it was only read");
    }
}

#[test]
fn what_the_autopilot_refuses_is_refused_in_its_words() {
    let many = |count: usize| Rules {
        fence: Some(Fence {
            shapes: vec![Shape {
                side: Side::Inside,
                outline: Outline::Polygon(vec![HOME; count]),
            }],
        }),
        ..rules("many", None, &[])
    };
    for (autopilot, count, expected) in [
        (Autopilot::Px4, 65, "no room for so many items"),
        (Autopilot::ArduPilot, 71, "no room for so many items"),
        (Autopilot::ArduPilot, 70, "Fence exceeds storage size"),
    ] {
        let mut world = World::new(autopilot);
        world.give(&many(count));
        world.run(30);
        match world.board.report().fence {
            FenceState::Refused(words) => assert!(words.contains(expected), "{words}"),
            other => panic!("{other:?}"),
        }
    }
    let mut world = World::new(Autopilot::Px4);
    world.give(&many(64));
    world.until_in_force();
}

#[test]
fn a_value_by_meaning_stays_under_the_name_that_answered_while_answers_are_lost() {
    let mut world = World::new(Autopilot::ArduPilot);
    let kind = MavParamType::MAV_PARAM_TYPE_REAL32;
    world.fake.parameters.insert("RTL_ALT", (1500.0, kind));
    world.give(&return_altitude("a", 30.0));
    let took = world.until_in_force();
    assert!(took < Duration::from_secs(10), "{took:?}");
    world.fake.mute = true;
    for _ in 0..600 * 20 {
        world.step();
        let report = world.board.report();
        let actual = report.deviations.iter().find_map(|deviation| deviation.actual);
        assert!(actual.is_none_or(|actual| actual == 30.0), "{report:?}");
    }
    world.fake.mute = false;
    world.until_in_force();
    let sets = world
        .fake
        .received
        .iter()
        .filter(|m| matches!(m, MavMessage::PARAM_SET(_)));
    assert_eq!(sets.count(), 1);
    assert_eq!(world.fake.parameters["RTL_ALT"].0, 3000.0);
}

#[test]
fn a_value_by_meaning_is_found_again_and_given_back_after_the_autopilot_was_flashed() {
    let mut world = World::new(Autopilot::ArduPilot);
    let kind = MavParamType::MAV_PARAM_TYPE_REAL32;
    world.fake.parameters.insert("RTL_ALT", (1500.0, kind));
    world.give(&return_altitude("a", 30.0));
    world.until_in_force();
    // It has converted what it had stored.
    world.fake.parameters.remove("RTL_ALT");
    world.fake.parameters.insert("RTL_ALT_M", (30.0, kind));
    world.board.rebooted();
    world.until_in_force();
    world.give(&return_altitude("b", 40.0));
    world.until_in_force();
    assert_eq!(world.fake.parameters["RTL_ALT_M"].0, 40.0);
    world.give(&rules("c", None, &[]));
    world.until_in_force();
    assert_eq!(world.fake.parameters["RTL_ALT_M"].0, 15.0, "in its unit of now");
}

#[test]
fn a_name_that_the_autopilot_lacks_is_not_taken_for_one_that_another_asked_for() {
    let mut world = World::new(Autopilot::ArduPilot);
    let kind = MavParamType::MAV_PARAM_TYPE_REAL32;
    world.fake.parameters.insert("RTL_ALT", (1500.0, kind));
    world.give(&return_altitude("a", 30.0));
    world.until_in_force();
    // The answer to a ground station.
    let none = MavMessage::PARAM_ERROR(PARAM_ERROR_DATA {
        target_system: 255,
        target_component: 190,
        param_index: -1,
        error: MavParamError::MAV_PARAM_ERROR_DOES_NOT_EXIST,
        param_id: "RTL_ALT_M".into(),
    });
    world.hear(none);
    assert!(world.board.report().in_force);
    // With neither, it says so at once, and both names.
    world.fake.parameters.remove("RTL_ALT");
    world.board.rebooted();
    world.run(120);
    assert!(
        matches!(why(&world, "RTL_ALT_M"), Some(DeviationWhy::Refused(words)) if words.contains("neither RTL_ALT_M nor RTL_ALT")),
        "{:?}",
        world.board.report()
    );
}

#[test]
fn a_parameter_that_is_gone_from_newer_autopilots_says_so_and_what_is_there_instead() {
    let mut world = World::new(Autopilot::Px4);
    world.give(&rules("a", None, &[("COM_RC_OVERRIDE", 1.0, APPLY)]));
    world.run(30);
    assert!(
        matches!(why(&world, "COM_RC_OVERRIDE"), Some(DeviationWhy::Missing(words))
            if words.contains("gone from PX4 1.18") && words.contains("MAN_OVERRIDE_SPD instead")),
        "{:?}",
        world.board.report()
    );
}

#[test]
fn a_parameter_that_does_not_take_its_value_says_why() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules(
        "a",
        None,
        &[
            ("ATC_WHOLE", 2.5, APPLY),
            ("ATC_ALT_MAX", 80.0, Enforce::Report),
            ("NO_SUCH", 1.0, APPLY),
            ("ATC_TOTAL", 5.0, APPLY),
            ("BATT_MONITOR", 3.0, APPLY),
        ],
    ));
    world.run(30);
    let refused = |name| match why(&world, name) {
        Some(DeviationWhy::Refused(words)) => words,
        other => panic!("{name}: {other:?}"),
    };
    assert!(refused("ATC_WHOLE").contains("give a whole number"));
    assert!(
        matches!(why(&world, "NO_SUCH"), Some(DeviationWhy::Missing(words)) if words.contains("no parameter NO_SUCH"))
    );
    assert!(refused("ATC_TOTAL").contains("does not let ATC_TOTAL be written"));
    assert_eq!(why(&world, "ATC_ALT_MAX"), Some(DeviationWhy::ReportOnly));
    assert_eq!(why(&world, "BATT_MONITOR"), Some(DeviationWhy::NeedsReboot));
    assert_eq!(world.fake.parameters["ATC_ALT_MAX"].0, 100.0, "it is only reported");
    assert!(!world.board.report().in_force);
    assert!(!world.board.wants_reboot(world.now), "nobody asked for a reboot");
    world.board.rebooted();
    world.run(30);
    assert_eq!(why(&world, "BATT_MONITOR"), None, "it counts now");
}

#[test]
fn a_reboot_is_wanted_only_where_it_was_asked_for_and_on_the_ground() {
    let mut world = World::new(Autopilot::Px4);
    let mut wanted = rules("a", None, &[("SDLOG_MODE", 2.0, APPLY)]);
    wanted.parameters[0].may_reboot = true;
    world.give(&wanted);
    world.run(10);
    assert!(world.board.wants_reboot(world.now));
    world.on_ground = false;
    world.run(1);
    assert!(!world.board.wants_reboot(world.now));
    world.on_ground = true;
    world.run(1);
    world.board.reboot_ordered(world.now);
    assert!(!world.board.wants_reboot(world.now), "once");
    world.board.rebooted();
    world.until_in_force();
}

#[test]
fn in_the_air_nothing_is_changed_and_drift_is_named_at_once() {
    for autopilot in BOTH {
        let mut world = World::new(autopilot);
        world.on_ground = false;
        world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
        world.run(20);
        assert_eq!(world.board.report().fence, FenceState::WaitsForGround);
        assert_eq!(why(&world, "ATC_WHOLE"), Some(DeviationWhy::WaitsForGround));
        world.on_ground = true;
        world.until_in_force();

        world.on_ground = false;
        world.step();
        for message in world.fake.foreign_upload(vec![], world.now) {
            world.board.receive(&message, &world.to, US, world.now, 0.5);
        }
        assert!(matches!(world.board.report().fence, FenceState::Drifted(_)));
        world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 1.0;
        let told = world.fake.value_of("ATC_WHOLE").unwrap();
        world.board.receive(&told, &world.to, US, world.now, 0.5);
        assert_eq!(why(&world, "ATC_WHOLE"), Some(DeviationWhy::WaitsForGround));
        world.run(20);
        assert!(
            matches!(world.board.report().fence, FenceState::Drifted(_)),
            "{:?}",
            world.board.report()
        );
        assert!(world.fake.stored.is_empty());
        world.on_ground = true;
        world.until_in_force();
    }
}

#[test]
fn a_reboot_that_loses_everything_is_mended() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.until_in_force();
    world.fake = Fake::new(Autopilot::ArduPilot);
    world.board.rebooted();
    assert!(!world.board.report().in_force);
    world.until_in_force();
}

#[test]
fn a_change_that_ardupilot_told_and_nobody_heard_is_found_out_on_the_ground() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.until_in_force();
    let fence = items(&Fence {
        shapes: vec![square(AROUND_HOME_E7 + 3000)],
    });
    let differs = |world: &World| !world.board.report().in_force;
    let until = |world: &mut World, seconds: u64| {
        let began = world.now;
        while !differs(world) {
            world.on_ground_step();
            assert!(
                world.now.since(began) < Duration::from_secs(seconds),
                "not within {seconds} s"
            );
        }
    };
    let _ = world.fake.foreign_upload(fence.clone(), world.now);
    until(&mut world, 61);
    assert!(
        matches!(world.board.report().fence, FenceState::Working),
        "it is being corrected"
    );
    world.until_in_force();
    assert_eq!(world.disk.before.fence, Some(fence), "this is what was there last");
    world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 1.0;
    until(&mut world, 61);
    world.until_in_force();

    // After a flight at once.
    world.run(2000);
    world.on_ground = false;
    world.run(20);
    world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 1.0;
    world.on_ground = true;
    until(&mut world, 2);
    world.until_in_force();

    // And ever more rarely while nothing changes.
    world.run(3600);
    let sent = world.sent();
    world.run(3600);
    let rarely = world.sent() - sent;
    assert!((7..=10 * 7).contains(&rarely), "{rarely} messages in an hour");
    world.give(&rules("b", None, &[]));
    world.until_in_force();
    assert_eq!(
        world.fake.parameters["ATC_WHOLE"].0, 1.0,
        "as somebody else has set it last"
    );
}

#[test]
fn a_fence_switched_off_is_not_in_force_and_is_switched_on_again_on_the_ground() {
    let acts = [("FENCE_ENABLE", 1.0, APPLY), ("FENCE_ACTION", 1.0, APPLY)];
    // Heights alone, too: they are parameters without items.
    for center in [Some(AROUND_HOME_E7), None] {
        let mut world = World::new(Autopilot::ArduPilot);
        world.give(&rules("a", center, &acts));
        world.until_in_force();
        world.run(60);
        assert!(world.board.report().in_force, "it stays on");
        world.on_ground = false;
        world.fake.switched_off = true;
        world.run(6);
        let report = world.board.report();
        assert!(!report.in_force);
        assert!(
            matches!(&report.fence, FenceState::Drifted(why) if why.contains("switched off")),
            "{report:?}"
        );
        world.run(30);
        assert!(world.fake.switched_off, "nothing is sent in the air");
        world.on_ground = true;
        assert!(world.until_in_force() < Duration::from_secs(10));
        assert!(!world.fake.switched_off);
    }
    // What is to warn only is never said to be on.
    let mut world = World::new(Autopilot::ArduPilot);
    let warns = [("FENCE_ENABLE", 1.0, APPLY), ("FENCE_ACTION", 0.0, APPLY)];
    world.give(&rules("a", Some(AROUND_HOME_E7), &warns));
    world.until_in_force();
    world.run(60);
    assert!(world.board.report().in_force);
}

#[test]
fn a_fence_is_switched_on_once_its_kinds_are_as_wanted() {
    let mut world = World::new(Autopilot::ArduPilot);
    let wanted = [
        ("FENCE_ACTION", 1.0, APPLY),
        ("FENCE_ENABLE", 1.0, APPLY),
        ("FENCE_TYPE", 5.0, APPLY),
    ];
    world.give(&rules("a", Some(AROUND_HOME_E7), &wanted));
    world.until_in_force();
    let set = world.fake.received.iter().filter_map(|message| match message {
        MavMessage::PARAM_SET(m) => Some(m.param_id.to_str().unwrap().to_owned()),
        _ => None,
    });
    assert_eq!(set.collect::<Vec<_>>(), ["FENCE_ACTION", "FENCE_TYPE", "FENCE_ENABLE"]);
}

#[test]
fn a_fence_without_a_number_is_looked_at_again_on_px4() {
    let mut world = World::new(Autopilot::Px4);
    world.fake.unnumbered = true;
    world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
    world.until_in_force();
    let other = items(&Fence {
        shapes: vec![square(AROUND_HOME_E7 + 3000)],
    });
    // By way of another link: nothing of it is heard on ours.
    let _ = world.fake.foreign_upload(other, world.now);
    let changed = world.now;
    while world.board.report().in_force {
        world.on_ground_step();
        assert!(world.now.since(changed) < Duration::from_secs(61));
    }
    world.until_in_force();
}

#[test]
fn a_look_that_nobody_answers_is_no_wrong_claim() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.until_in_force();
    world.fake.mute = true;
    world.run(200);
    assert!(!world.board.report().in_force, "it does not answer any more");
    world.fake.mute = false;
    world.until_in_force();
}

#[test]
fn what_is_denied_is_not_set_though_the_coordinator_wants_it() {
    let mut world = World::new(Autopilot::ArduPilot);
    let int = link::dialect::MavParamType::MAV_PARAM_TYPE_INT8;
    for name in [
        "FENCE_ENABLE",
        "FS_GCS_ENABLE",
        "COMPASS_DEC",
        "ARMING_CHECK",
        "MOT_PWM_MIN",
    ] {
        world.fake.parameters.insert(name, (1.0, int));
    }
    let off = [
        "FENCE_ENABLE",
        "FS_GCS_ENABLE",
        "COMPASS_DEC",
        "ARMING_CHECK",
        "MOT_PWM_MIN",
    ];
    let wanted: Vec<_> = off.iter().map(|name| (*name, 0.0, APPLY)).collect();
    world.give(&rules("a", None, &wanted));
    world.run(60);
    for name in off {
        assert_eq!(world.fake.parameters[name].0, 1.0, "{name}");
        match why(&world, name) {
            Some(DeviationWhy::Refused(words)) => assert!(words.contains("take it out of the profile"), "{words}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    let mut world = World::new(Autopilot::ArduPilot);
    world.fake.parameters.insert("FENCE_ENABLE", (0.0, int));
    world.give(&rules("b", Some(AROUND_HOME_E7), &[("FENCE_ENABLE", 1.0, APPLY)]));
    world.until_in_force();
    world.give(&rules("c", None, &[]));
    world.until_in_force();
    assert_eq!(world.fake.parameters["FENCE_ENABLE"].0, 0.0, "as it was before");
}

#[test]
fn each_airframe_gets_back_what_was_on_it() {
    let mut world = World::new(Autopilot::Px4);
    world.fake.foreign_upload(others_fence(500), world.now);
    world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 1.0;
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.until_in_force();

    let mut second = Fake::new(Autopilot::Px4);
    second.foreign_upload(others_fence(700), world.now);
    let first = std::mem::replace(&mut world.fake, second);
    world.to.hardware = HardwareUid::of(8, [0; 18]);
    world.run(1);
    world.until_in_force();
    let second = std::mem::replace(&mut world.fake, first);
    world.restart();
    world.to.hardware = HardwareUid::of(7, [0; 18]);
    world.run(1);
    world.until_in_force();
    world.give(&rules("b", None, &[]));
    world.until_in_force();
    assert_eq!(
        (&world.fake.stored, world.fake.parameters["ATC_WHOLE"].0),
        (&others_fence(500), 1.0)
    );
    assert!(!world.board.is_idle(), "the other has still ours");

    world.fake = second;
    world.to.hardware = HardwareUid::of(8, [0; 18]);
    world.run(1);
    world.until_in_force();
    assert_eq!(
        (&world.fake.stored, world.fake.parameters["ATC_WHOLE"].0),
        (&others_fence(700), 2.0)
    );
    assert!(world.board.is_idle());
}

#[test]
fn what_somebody_else_has_uploaded_since_then_is_what_was_before() {
    for autopilot in BOTH {
        let mut world = World::new(autopilot);
        world.fake.foreign_upload(others_fence(500), world.now);
        world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
        world.until_in_force();
        for message in world.fake.foreign_upload(others_fence(700), world.now) {
            world.hear(message);
        }
        world.until_in_force();
        world.give(&rules("b", Some(AROUND_HOME_E7 + 300), &[]));
        world.until_in_force();
        world.give(&rules("c", None, &[]));
        world.until_in_force();
        assert_eq!(world.fake.stored, others_fence(700), "{autopilot:?}");
    }
}

#[test]
fn a_fence_uploaded_by_somebody_in_flight_stays_when_ours_goes_before_landing() {
    for autopilot in BOTH {
        let mut world = World::new(autopilot);
        world.fake.foreign_upload(others_fence(500), world.now);
        world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
        world.until_in_force();
        world.on_ground = false;
        for message in world.fake.foreign_upload(others_fence(700), world.now) {
            world.hear(message);
        }
        world.run(5);
        world.give(&rules("none", None, &[]));
        world.run(5);
        world.on_ground = true;
        world.until_in_force();
        world.run(10);
        assert_eq!(world.fake.stored, others_fence(700), "{autopilot:?}");
        assert!(world.board.is_idle());
    }
}

#[test]
fn a_value_that_a_person_has_set_since_then_is_what_was_before() {
    let next = rules("b", None, &[("ATC_WHOLE", 4.0, APPLY)]);
    let none = rules("none", None, &[]);
    for autopilot in BOTH {
        // While its agent was away; before other rules in the air, or none; and in the air before its agent was away.
        for case in 0..4 {
            let mut world = World::new(autopilot);
            world.give(&rules("a", None, &[("ATC_WHOLE", 3.0, APPLY)]));
            world.until_in_force();
            world.run(1);
            if case == 0 {
                world.restart();
            }
            world.on_ground = case == 0;
            world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 1.0;
            let told = world.fake.value_of("ATC_WHOLE").unwrap();
            world.board.receive(&told, &world.to, US, world.now, 0.5);
            match case {
                0 => {}
                1 => world.give(&next),
                2 => world.give(&none),
                _ => world.restart(),
            }
            world.run(5);
            world.on_ground = true;
            if case != 2 {
                world.until_in_force();
                world.give(&none);
            }
            world.until_in_force();
            assert_eq!(world.fake.parameters["ATC_WHOLE"].0, 1.0, "{autopilot:?} {case}");
            assert!(world.board.is_idle() && world.disk.before.is_nothing());
        }
    }
}

#[test]
fn what_is_open_or_refused_is_reported_before_what_nobody_sets() {
    let mut world = World::new(Autopilot::ArduPilot);
    let int = MavParamType::MAV_PARAM_TYPE_INT8;
    let names: Vec<&'static str> = (0..40).map(|i| &*format!("A_{i:02}").leak()).collect();
    for name in names.iter().copied().chain(["ZZ_DENIED"]) {
        world.fake.parameters.insert(name, (1.0, int));
    }
    world.fake.read_only.push("ZZ_DENIED");
    let reported = names.iter().map(|name| (*name, 2.0, Enforce::Report));
    let all: Vec<_> = reported.chain([("ZZ_DENIED", 2.0, APPLY)]).collect();
    world.give(&rules("a", None, &all));
    world.run(60);
    let deviations = world.board.report().deviations;
    assert_eq!(deviations.len(), MOST_DEVIATIONS);
    assert_eq!(deviations[0].name, "ZZ_DENIED");
    assert!(matches!(deviations[0].why, DeviationWhy::Refused(_)), "{deviations:?}");
    assert_eq!(deviations[1].why, DeviationWhy::ReportOnly);
}

#[test]
fn a_fence_that_px4_has_to_judge_again_is_there_all_the_time() {
    let mut world = World::new(Autopilot::Px4);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
    world.until_in_force();
    // As after a kill in the middle: what it said is not known.
    world.disk.before.heard_out = None;
    world.restart();
    let uploads = |world: &World| {
        let uploads = world
            .fake
            .received
            .iter()
            .filter(|m| matches!(m, MavMessage::MISSION_COUNT(_)));
        uploads.count()
    };
    let before = uploads(&world);
    while !world.board.report().in_force {
        assert_eq!(world.fake.stored.len(), 4, "there is no moment without a fence");
        world.step();
    }
    assert_eq!(uploads(&world), before + 1);
    assert!(
        !world
            .fake
            .received
            .iter()
            .any(|m| matches!(m, MavMessage::MISSION_CLEAR_ALL(_)))
    );
}

#[test]
fn a_fence_that_was_cleared_and_still_counts_on_px4_is_not_gone() {
    let mut world = World::new(Autopilot::Px4);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
    world.until_in_force();
    world.give(&rules("none", None, &[]));
    while !world.fake.stored.is_empty() {
        world.step();
    }
    // The next life of the agent reads that there is none.
    world.restart();
    world.until_in_force();
    assert!(world.fake.in_effect.is_empty());
}

#[test]
fn another_airframe_gets_the_rules_and_nothing_of_the_one_before() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.until_in_force();
    world.fake = Fake::new(Autopilot::ArduPilot);
    world.fake.parameters.get_mut("ATC_WHOLE").unwrap().0 = 4.0;
    world.to.hardware = None;
    world.run(3);
    assert_eq!(world.sent(), 0, "not known to be the same: nothing is sent");
    world.to.hardware = HardwareUid::of(8, [0; 18]);
    world.run(1);
    world.until_in_force();
    assert_eq!(world.disk.before.parameters["ATC_WHOLE"], 4.0);
    world.give(&rules("b", None, &[]));
    world.until_in_force();
    assert_eq!(world.fake.parameters["ATC_WHOLE"].0, 4.0);
    assert!(world.fake.stored.is_empty());
}

#[test]
fn a_transfer_of_somebody_else_goes_first() {
    let mut world = World::new(Autopilot::Px4);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
    let request = MavMessage::MISSION_REQUEST_INT(link::dialect::MISSION_REQUEST_INT_DATA {
        target_system: 255,
        target_component: 190,
        ..Default::default()
    });
    for _ in 0..10 {
        world.board.receive(&request, &world.to, US, world.now, 0.5);
        world.run(1);
        assert_eq!(world.sent(), 0);
    }
    world.until_in_force();
}

#[test]
fn a_mute_autopilot_is_asked_with_a_back_off_and_reported() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.fake.mute = true;
    world.give(&rules("a", Some(AROUND_HOME_E7), &[("ATC_WHOLE", 3.0, APPLY)]));
    world.run(3600);
    assert!(matches!(world.board.report().fence, FenceState::Refused(_)));
    assert!(matches!(why(&world, "ATC_WHOLE"), Some(DeviationWhy::Missing(_))));
    let sent = world.sent();
    assert!(sent < 250, "{sent} in an hour");
}

fn faults() -> impl Strategy<Value = Faults> {
    let rare = |percent| proptest::collection::vec(proptest::bool::weighted(percent), 0..150).prop_map(VecDeque::from);
    (rare(0.15), rare(0.1), rare(0.04)).prop_map(|(lose, repeat, kill)| Faults { lose, repeat, kill })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_lost_or_killed_no_claim_is_wrong_and_the_rules_come_in_force(
        faults in faults(), px4 in any::<bool>(), elsewhere in any::<bool>(), before in any::<bool>(),
    ) {
        let mut world = World::new(if px4 { Autopilot::Px4 } else { Autopilot::ArduPilot });
        let old = others_fence(700);
        if before {
            world.fake.foreign_upload(old.clone(), world.now);
        }
        world.faults = faults;
        // PX4 leaves this one out.
        let left_out = px4 && elsewhere;
        let center = if elsewhere { ELSEWHERE_E7 } else { AROUND_HOME_E7 };
        world.give(&rules("a", Some(center), &[("ATC_WHOLE", 3.0, APPLY), ("ATC_ALT_MAX", 60.5, APPLY)]));
        if left_out {
            world.run(900);
            prop_assert!(matches!(world.board.report().fence, FenceState::Refused(_)), "{:?}", world.board.report());
        } else {
            world.until_in_force();
        }
        world.give(&rules("b", None, &[]));
        world.until_in_force();
        let was = if before { old } else { vec![] };
        // A PX4 that has judged a fence is sent the same in other words.
        prop_assert!(alike(&world.fake.stored, &was), "{:?} is not {was:?}", world.fake.stored);
        prop_assert_eq!(world.fake.parameters["ATC_WHOLE"].0, 2.0);
        prop_assert_eq!(world.fake.parameters["ATC_ALT_MAX"].0, 100.0);
    }
}

#[test]
fn a_text_about_something_else_refuses_nothing() {
    let mut world = World::new(Autopilot::ArduPilot);
    world.give(&rules("a", Some(AROUND_HOME_E7), &[]));
    world.until_in_force();
    world.hear(text("IGN MISSION_ITEM: Invalid item"));
    world.run(5);
    assert!(world.board.report().in_force);
}
