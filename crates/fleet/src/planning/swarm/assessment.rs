//! The assessment of one Drone, on which its Swarm's plan depends.

use super::Serving;
use super::replacement::{Policy, Replace, Service, replace};
use model::ids::DroneUid;
use model::report::{Activity, Report};

#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub uid: &'a DroneUid,
    /// `metadata.generation`.
    pub generation: i64,
    pub report: Option<&'a Report>,
    pub service: &'a Service,
    pub deleting: bool,
    pub grounded: bool,
    /// Its vehicle takes off as soon as it may, or stays up.
    pub wants_flight: bool,
    pub none_free: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    pub replace: Option<Replace>,
    pub ready: bool,
    /// It will not fly without a change.
    pub stuck: bool,
    /// Its agent has not been observed to act on its present spec.
    pub changing: bool,
}

/// A Drone that a ground order keeps down stays with its vehicle, or that vehicle could take off for another; and nothing waits for it.
pub fn assess(known: &Known<'_>, policy: &Policy) -> Assessment {
    let serving = known.service.serving;
    let flies = matches!(serving, Serving::Flying { .. });
    let holding = known.report.is_some_and(|report| report.activity == Activity::Holding);
    let on_ground = serving == Serving::OnGround;
    let refuses = on_ground && known.report.is_some_and(|report| report.ready == Some(false));
    let stays = on_ground && (known.service.over || !known.wants_flight);
    let elsewhere = known
        .report
        .is_some_and(|report| matches!(report.activity, Activity::HandsOff(_)));
    let astray = known.report.is_some_and(|report| report.astray.is_some());
    let unheard = serving == Serving::Unknown;
    Assessment {
        replace: replace(known.service, policy).filter(|_| !known.grounded),
        ready: flies && holding && !astray && is_held(known.report, known.uid) && !known.deleting,
        stuck: refuses || known.none_free || stays || elsewhere || unheard || known.grounded,
        changing: !acts_on(known.report, known.uid, known.generation),
    }
}

fn is_held(report: Option<&Report>, uid: &DroneUid) -> bool {
    report
        .and_then(|report| report.held.as_ref())
        .is_some_and(|held| held.uid == *uid)
}

/// On this generation, or a later one.
pub fn acts_on(report: Option<&Report>, uid: &DroneUid, generation: i64) -> bool {
    let held = report.and_then(|report| report.held.as_ref());
    held.is_some_and(|held| held.uid == *uid && held.generation >= generation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::node_use::{NodeUse, OnCordon};
    use model::assignment::Held;
    use model::ids::{NodeName, Term};
    use model::report::HandsOff;
    use model::units::Percent;
    use model::vehicle::{Airborne, FlightTruth};

    const POLICY: Policy = Policy {
        on_cordon: OnCordon::Continue,
        rotate_at: Percent::new(30).expect("30 is a percentage"),
        replace_lost_after: None,
    };

    fn report(activity: Activity) -> Report {
        Report {
            truth: FlightTruth::Airborne(Airborne::InAir),
            activity,
            held: Some(Held {
                uid: DroneUid("u".into()),
                term: Term(1),
                generation: 3,
                grounded: false,
                settled: false,
                details: None,
            }),
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        }
    }

    fn service(serving: Serving) -> Service {
        Service {
            serving,
            over: false,
            was_tired: false,
            armed: false,
            battery: None,
            node: Some(NodeUse::Open),
            unknown_for: None,
            misplaced: false,
        }
    }

    const UP: Serving = Serving::Flying { battery: None };

    /// For a Drone of generation 3, with this change to what is known of it.
    fn of(serving: Serving, report: Option<&Report>, change: impl FnOnce(&mut Known<'_>)) -> Assessment {
        let (uid, service) = (DroneUid("u".into()), service(serving));
        let mut known = Known {
            uid: &uid,
            generation: 3,
            report,
            service: &service,
            deleting: false,
            grounded: false,
            wants_flight: true,
            none_free: false,
        };
        change(&mut known);
        assess(&known, &POLICY)
    }

    #[test]
    fn a_drone_is_ready_when_its_vehicle_holds_for_it_and_for_no_other() {
        let holding = report(Activity::Holding);
        assert!(of(UP, Some(&holding), |_| {}).ready);
        assert!(!of(UP, Some(&report(Activity::TakingOff)), |_| {}).ready);
        assert!(!of(UP, Some(&holding), |known| known.deleting = true).ready);
        assert!(!of(Serving::OnGround, Some(&holding), |_| {}).ready);
        assert!(!of(UP, None, |_| {}).ready);
        let mut other = holding;
        other.held.as_mut().unwrap().uid = DroneUid("other".into());
        assert!(!of(UP, Some(&other), |_| {}).ready);
    }

    #[test]
    fn a_drone_changes_until_its_agent_holds_its_generation() {
        let holding = report(Activity::Holding);
        assert!(!of(UP, Some(&holding), |_| {}).changing);
        assert!(of(UP, Some(&holding), |known| known.generation = 4).changing);
        assert!(of(UP, None, |_| {}).changing);
    }

    #[test]
    fn nobody_waits_for_one_that_is_not_armable_has_no_vehicle_or_is_grounded() {
        let mut refusing = report(Activity::NotArmable);
        assert!(!of(Serving::OnGround, Some(&refusing), |_| {}).stuck);
        refusing.ready = Some(false);
        assert!(of(Serving::OnGround, Some(&refusing), |_| {}).stuck);
        assert!(!of(UP, Some(&refusing), |_| {}).stuck, "it flies");
        assert!(of(Serving::NoVehicle, None, |known| known.none_free = true).stuck);
        assert!(of(Serving::OnGround, None, |known| known.grounded = true).stuck);
        assert!(of(UP, None, |known| known.grounded = true).stuck, "it lands");
        assert!(of(Serving::OnGround, None, |known| known.wants_flight = false).stuck);
        assert!(of(Serving::Unknown, None, |_| {}).stuck);
        assert!(of(UP, Some(&report(Activity::HandsOff(HandsOff::TakenOver))), |_| {}).stuck);
    }

    #[test]
    fn a_ground_order_keeps_a_drone_with_its_vehicle_whatever_speaks_against_it() {
        let drained = Service {
            node: Some(NodeUse::Drained),
            ..service(Serving::OnGround)
        };
        let uid = DroneUid("u".into());
        let known = |grounded| Known {
            uid: &uid,
            generation: 3,
            report: None,
            service: &drained,
            deleting: false,
            grounded,
            wants_flight: !grounded,
            none_free: false,
        };
        assert_eq!(assess(&known(false), &POLICY).replace, Some(Replace::Drained));
        assert_eq!(assess(&known(true), &POLICY).replace, None);
    }
}
