//! Memory of a flight, over any sequence of a vehicle's states: takeovers, flights that are over, kills.

use crate::given::{FLYING, GROUNDED, NOW, assigned, at};
use fleet::flight::memory::{Memory, StepKind};
use fleet::flight_record::{FlightRecord, Stage};
use model::assignment::Assignment;
use model::takeover::{Descent, InCommand};
use model::time::Sighting;
use model::vehicle::{Airborne, FlightTruth, Heartbeat, LandedState, Mode, ModeReport, Vehicle, WhyUnknown};
use proptest::prelude::*;

const UP: FlightTruth = FlightTruth::Airborne(Airborne::InAir);
const DOWN: FlightTruth = FlightTruth::Disarmed;

fn truth() -> impl Strategy<Value = FlightTruth> {
    prop_oneof![
        3 => Just(UP),
        2 => Just(DOWN),
        1 => Just(FlightTruth::ArmedOnGround),
        1 => Just(FlightTruth::Airborne(Airborne::Landing)),
        1 => Just(FlightTruth::Unknown(WhyUnknown::LinkLost)),
    ]
}

fn mode() -> impl Strategy<Value = Option<Mode>> {
    prop_oneof![
        Just(None),
        Just(Some(Mode::Station)),
        Just(Some(Mode::Takeoff)),
        Just(Some(Mode::Mission)),
        Just(Some(Mode::Land)),
        Just(Some(Mode::Return)),
        Just(Some(Mode::Foreign)),
    ]
}

#[derive(Clone, Debug)]
struct Observation {
    truth: FlightTruth,
    mode: Option<Mode>,
    wants_flight: bool,
    landing_ours: bool,
    resume_after: u32,
}

fn observation() -> impl Strategy<Value = Observation> {
    (
        truth(),
        mode(),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.2),
        0_u32..3,
    )
        .prop_map(|(truth, mode, wants_flight, landing_ours, resume_after)| Observation {
            truth,
            mode,
            wants_flight,
            landing_ours,
            resume_after,
        })
}

impl Observation {
    fn held(&self) -> Assignment {
        Assignment {
            resume_after: self.resume_after,
            ..assigned("d", 1, if self.wants_flight { FLYING } else { GROUNDED })
        }
    }

    fn after(&self, record: &FlightRecord) -> FlightRecord {
        let held = self.held();
        let seen = record.observed(Some(&held), self.truth, self.landing_ours);
        seen.watched(Some(&held), self.truth, self.mode, None, !self.wants_flight)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_flight_that_is_over_stays_so_until_its_vehicle_was_desired_down_and_seen_down(
        observations in prop::collection::vec(observation(), 1..40)
    ) {
        let mut record = FlightRecord::default();
        for observation in &observations {
            let after = observation.after(&record);
            if record.stage == Stage::Over && after.stage != Stage::Over {
                prop_assert!(!observation.wants_flight && observation.truth == DOWN);
            }
            if record.stage == Stage::Flown && observation.wants_flight && observation.truth == DOWN {
                prop_assert_eq!(after.stage == Stage::Over, !observation.landing_ours);
            }
            if observation.wants_flight && matches!(observation.truth, FlightTruth::Airborne(_)) {
                prop_assert!(after.stage != Stage::Fresh, "it was seen to fly");
            }
            record = after;
        }
    }

    #[test]
    fn every_takeover_is_counted_once_and_a_late_resume_resumes_none_taken_since(
        observations in prop::collection::vec(observation(), 1..40)
    ) {
        let mut record = FlightRecord::default();
        for observation in &observations {
            let after = observation.after(&record);
            let agreed = record.takeovers.max(observation.resume_after);
            prop_assert!(after.takeovers == agreed || after.takeovers == agreed + 1);
            let flown_by_another = matches!(observation.truth, FlightTruth::Airborne(_)) && observation.mode == Some(Mode::Foreign);
            if flown_by_another {
                prop_assert_eq!(after.in_command, InCommand::SomebodyElse);
                prop_assert_eq!(after.takeovers == agreed + 1, record.in_command != InCommand::SomebodyElse);
            }
            if after.takeovers == agreed + 1 {
                // No number that was given before the takeover covers it.
                prop_assert!(after.let_go(&observation.held()));
            }
            let told = Assignment { resume_after: after.takeovers, ..observation.held() };
            prop_assert!(!after.let_go(&told), "the number that is reported resumes");
            record = after;
        }
    }

    #[test]
    fn a_drone_that_was_killed_never_forgets_it_and_another_drone_never_inherits_it(
        observations in prop::collection::vec(observation(), 0..30)
    ) {
        let begin = observations.first().map_or_else(FlightRecord::default, |observation| observation.after(&FlightRecord::default()));
        let mut record = begin.killed();
        for observation in observations.iter().skip(1) {
            record = observation.after(&record);
            prop_assert!(record.was_killed(&observation.held()));
        }
        let next = assigned("e", 1, FLYING);
        let fresh = record.observed(Some(&next), DOWN, false);
        prop_assert!(!fresh.was_killed(&next) && !fresh.let_go(&next) && fresh.stage == Stage::Fresh);
    }
}

/// What was heard of a vehicle: when, seconds, whether it was armed, and its landed_state.
type Heard = (u64, bool, Option<LandedState>);

/// `memory` after that.
fn having_heard(mut memory: Memory, heard: &[Heard]) -> Memory {
    for (seconds, armed, landed) in heard {
        let now = at(NOW + seconds * 1000);
        let mode = ModeReport {
            mode: Mode::Station,
            label: String::new(),
        };
        let beat = Heartbeat { armed: *armed, mode };
        let vehicle = Vehicle {
            heartbeat: Some(Sighting::new(beat, now)),
            landed: Some(Sighting::new(*landed, now)),
            ..Vehicle::default()
        };
        memory.observe(&vehicle, now);
    }
    memory
}

#[test]
fn a_vehicle_has_stayed_down_only_where_that_was_observed_without_a_break() {
    const GROUND: Option<LandedState> = Some(LandedState::OnGround);
    let since_armed = |heard: &[Heard]| {
        let mut memory = Memory::default();
        memory.began(StepKind::Arm, at(NOW));
        having_heard(memory, heard).stayed_down()
    };
    let watched: Vec<Heard> = (1..=10)
        .map(|s| (s, true, GROUND))
        .chain([(11, false, GROUND)])
        .collect();
    assert!(since_armed(&watched));
    assert!(
        since_armed(&[(1, true, GROUND), (6, false, GROUND)]),
        "no flight and its landing are so short"
    );
    assert!(
        !since_armed(&[(1, true, GROUND), (7, false, GROUND)]),
        "it was not heard for too long"
    );
    assert!(!since_armed(&[(1, true, GROUND), (2, true, None), (3, false, GROUND)]));
    let taking_off = Some(LandedState::TakingOff);
    assert!(!since_armed(&[(1, true, taking_off), (2, false, GROUND)]));
    let another_life = having_heard(Memory::default(), &watched);
    assert!(!another_life.stayed_down(), "another life of the agent has armed it");
}

#[test]
fn the_next_life_of_an_agent_lets_a_vehicle_rest_from_when_it_first_hears_it() {
    let heard = [(1, false, Some(LandedState::OnGround))];
    let rest = std::time::Duration::from_secs(5);
    let rested = having_heard(Memory::default().unrested_before(false), &heard);
    assert_eq!(rested.since_unrested(at(NOW + 1500)), None);
    let unheard = Memory::default().unrested_before(true);
    assert!(unheard.is_unrested(rest, at(NOW + 60_000)), "it may be in the air");
    let memory = having_heard(unheard, &heard);
    assert!(memory.is_unrested(rest, at(NOW + 5_999)));
    assert!(!memory.is_unrested(rest, at(NOW + 6_000)));
    assert_eq!(
        memory.since_armed(at(NOW + 6_000)),
        None,
        "where its home is it does not say"
    );
}

#[test]
fn a_descent_is_ours_only_where_it_was_sent_or_desired() {
    let modes = [Mode::Land, Mode::Return];
    for mode in modes {
        for sent in [None, Some(Descent::Land), Some(Descent::Return)] {
            for wants_ground in [false, true] {
                let after = InCommand::Us.after(UP, Some(mode), sent, wants_ground);
                let ours = match (mode, sent) {
                    (Mode::Land, None) => wants_ground,
                    (Mode::Land, Some(_)) | (Mode::Return, Some(Descent::Return)) => true,
                    _ => false,
                };
                assert_eq!(
                    after != InCommand::SomebodyElse,
                    ours,
                    "{mode:?} {sent:?} {wants_ground}"
                );
                let theirs = InCommand::SomebodyElse.after(UP, Some(mode), sent, wants_ground);
                assert_eq!(
                    theirs,
                    InCommand::SomebodyElse,
                    "the descent belongs to the one that has taken over"
                );
            }
        }
    }
}
