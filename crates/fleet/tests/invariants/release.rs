//! Invariant 4: in which circumstances a Drone that is being deleted may go.

use crate::given::uid;
use fleet::safety::{LastDesired, Release, may_release};
use model::assignment::Held;
use model::ids::{NodeName, Term};
use model::report::Report;
use model::vehicle::{Airborne, FlightTruth, WhyUnknown};

const TRUTHS: [FlightTruth; 7] = [
    FlightTruth::Disarmed,
    FlightTruth::ArmedOnGround,
    FlightTruth::Airborne(Airborne::InAir),
    FlightTruth::Unknown(WhyUnknown::NeverHeard),
    FlightTruth::Unknown(WhyUnknown::LinkLost),
    FlightTruth::Unknown(WhyUnknown::LandedStateUnknown),
    FlightTruth::Unknown(WhyUnknown::Contradiction),
];

fn reports() -> Vec<(Option<Report>, bool)> {
    let nothing = Report::of_nothing(NodeName::parse("pine").unwrap());
    let mut all = vec![(None, false), (Some(nothing.clone()), false)];
    for name in ["d", "other"] {
        for (term, generation) in [(3, 7), (3, 8), (3, 6), (2, 7), (4, 7)] {
            for grounded in [true, false] {
                for settled in [true, false] {
                    for truth in TRUTHS {
                        let held = Held {
                            uid: uid(name),
                            term: Term(term),
                            generation,
                            grounded,
                            settled,
                            details: None,
                        };
                        let down = settled && truth == FlightTruth::Disarmed;
                        let acts = name == "d" && term == 3 && generation >= 7 && grounded;
                        let report = Report {
                            truth,
                            held: Some(held),
                            ..nothing.clone()
                        };
                        all.push((Some(report), acts && down));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn a_bound_drone_goes_when_its_vehicle_is_down_by_its_deletion_or_by_force() {
    let uid = uid("d");
    let desired = LastDesired {
        uid: &uid,
        term: Term(3),
        generation: 7,
    };
    let reports = reports();
    assert_eq!(
        reports.iter().filter(|(_, landed)| *landed).count(),
        2,
        "generation 7 and 8"
    );
    for (report, landed) in &reports {
        let released = may_release(desired, true, report.as_ref(), false);
        assert_eq!(released == Ok(Release::Landed), *landed, "{report:?}");
        assert_eq!(released.is_ok(), *landed, "{report:?}");
        assert_eq!(may_release(desired, true, report.as_ref(), true), Ok(Release::Forced));
        assert_eq!(
            may_release(desired, false, report.as_ref(), false),
            Ok(Release::NeverBound)
        );
    }
}
