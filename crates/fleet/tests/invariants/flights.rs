//! What is remembered of a flight, over any sequence of what a vehicle does: takeovers, flights that are over, kills.

use crate::given::{FLYING, GROUNDED, assigned};
use fleet::assignment::Assignment;
use fleet::flight_record::{FlightRecord, Stage};
use fleet::takeover::{Descent, InCommand};
use fleet::vehicle::{Airborne, FlightTruth, Mode, WhyUnknown};
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
        Just(Some(Mode::Land)),
        Just(Some(Mode::Return)),
        Just(Some(Mode::Foreign)),
    ]
}

/// One look at the vehicle.
#[derive(Clone, Debug)]
struct Look {
    truth: FlightTruth,
    mode: Option<Mode>,
    wants_flight: bool,
    landing_ours: bool,
    resume_after: u32,
}

fn look() -> impl Strategy<Value = Look> {
    (
        truth(),
        mode(),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.2),
        0_u32..3,
    )
        .prop_map(|(truth, mode, wants_flight, landing_ours, resume_after)| Look {
            truth,
            mode,
            wants_flight,
            landing_ours,
            resume_after,
        })
}

impl Look {
    fn held(&self) -> Assignment {
        Assignment {
            resume_after: self.resume_after,
            ..assigned("d", 1, if self.wants_flight { FLYING } else { GROUNDED })
        }
    }

    fn after(&self, record: &FlightRecord) -> FlightRecord {
        let held = self.held();
        let seen = record.seen(Some(&held), self.truth, self.landing_ours);
        seen.watched(Some(&held), self.truth, self.mode, None, !self.wants_flight)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_flight_that_is_over_stays_so_until_its_vehicle_was_wished_down_and_seen_down(
        looks in prop::collection::vec(look(), 1..40)
    ) {
        let mut record = FlightRecord::default();
        for look in &looks {
            let after = look.after(&record);
            if record.stage == Stage::Over && after.stage != Stage::Over {
                prop_assert!(!look.wants_flight && look.truth == DOWN);
            }
            if record.stage == Stage::Flown && look.wants_flight && look.truth == DOWN {
                prop_assert_eq!(after.stage == Stage::Over, !look.landing_ours);
            }
            if look.wants_flight && matches!(look.truth, FlightTruth::Airborne(_)) {
                prop_assert!(after.stage != Stage::Fresh, "it was seen to fly");
            }
            record = after;
        }
    }

    #[test]
    fn every_takeover_is_counted_once_and_a_late_word_resumes_nothing_that_was_taken_over_since(
        looks in prop::collection::vec(look(), 1..40)
    ) {
        let mut record = FlightRecord::default();
        for look in &looks {
            let after = look.after(&record);
            let agreed = record.takeovers.max(look.resume_after);
            prop_assert!(after.takeovers == agreed || after.takeovers == agreed + 1);
            let flown_by_another = matches!(look.truth, FlightTruth::Airborne(_)) && look.mode == Some(Mode::Foreign);
            if flown_by_another {
                prop_assert_eq!(after.in_command, InCommand::SomebodyElse);
                prop_assert_eq!(after.takeovers == agreed + 1, record.in_command != InCommand::SomebodyElse);
            }
            if after.takeovers == agreed + 1 {
                // Whatever number was said before the takeover, it does not reach it.
                prop_assert!(after.let_go(&look.held()));
            }
            let told = Assignment { resume_after: after.takeovers, ..look.held() };
            prop_assert!(!after.let_go(&told), "the number that is reported resumes");
            record = after;
        }
    }

    #[test]
    fn a_drone_that_was_killed_never_forgets_it_and_another_drone_never_inherits_it(
        looks in prop::collection::vec(look(), 0..30)
    ) {
        let begin = looks.first().map_or_else(FlightRecord::default, |look| look.after(&FlightRecord::default()));
        let mut record = begin.killed();
        for look in looks.iter().skip(1) {
            record = look.after(&record);
            prop_assert!(record.was_killed(&look.held()));
        }
        let next = assigned("e", 1, FLYING);
        let fresh = record.seen(Some(&next), DOWN, false);
        prop_assert!(!fresh.was_killed(&next) && !fresh.let_go(&next) && fresh.stage == Stage::Fresh);
    }
}

#[test]
fn a_descent_is_ours_only_where_it_was_sent_or_wished() {
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
                    "the descent of whoever has taken over is theirs"
                );
            }
        }
    }
}
