//! When a vehicle in the air begins its plan, and when it stops it.

use super::{Situation, Step, Verdict, failsafe, paced, rest, route};
use model::assignment::{Assignment, OnCoordinatorLoss};
use model::report::Activity;
use model::vehicle::{Airborne, Mode};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlanStage {
    #[default]
    None,
    /// Not on the autopilot as it should be.
    Preparing,
    /// Read back equal, and the autopilot will fly it.
    Ready,
    /// As `Ready`, and set to begin with the first item.
    Set,
    Flying,
    Ended,
}

/// For a vehicle that holds in the air by our command; `None`: nothing to do.
pub(super) fn begin(s: &Situation<'_>, held: &Assignment) -> Option<Verdict> {
    match s.plan {
        // A plan that has ended may have led it off its route.
        PlanStage::None | PlanStage::Ended => None,
        PlanStage::Flying => Some(rest(Activity::Moving)),
        PlanStage::Preparing | PlanStage::Ready | PlanStage::Set if route::is_under_way(s, held) => None,
        PlanStage::Preparing | PlanStage::Ready | PlanStage::Set if route::waits_for_its_way(s, held) => None,
        PlanStage::Set if s.led() && s.vehicle.mode(s.now) == Some(Mode::Station) => {
            Some(paced(s, Step::FlyPlan, Activity::Moving))
        }
        PlanStage::Preparing | PlanStage::Ready | PlanStage::Set => None,
    }
}

pub(super) fn fly(s: &Situation<'_>, held: &Assignment, part: Airborne) -> Verdict {
    // Its last item; a landing is finished once begun.
    if part == Airborne::Landing {
        return rest(Activity::Landing);
    }
    if let Some(verdict) = failsafe(s, held) {
        return verdict;
    }
    if s.alone() && held.failsafe.on_coordinator_loss == OnCoordinatorLoss::Hold {
        return paced(s, Step::Hold, Activity::Failsafe);
    }
    match s.plan {
        PlanStage::Flying => rest(Activity::Moving),
        // The plan has ended, or is not to be flown any more.
        PlanStage::None | PlanStage::Preparing | PlanStage::Ready | PlanStage::Set | PlanStage::Ended => {
            paced(s, Step::Hold, Activity::Holding)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FLY, World, world};
    use super::*;
    use crate::flight::converge::called_off;
    use crate::flight::memory::StepKind;
    use model::assignment::{Desired, GroundedWhy};
    use model::battery_level::Level;
    use model::ids::Term;
    use model::plan::PlanDigest;
    use model::report::HandsOff;
    use model::vehicle::{LandedState, OurPlan};

    fn planned(stage: PlanStage) -> World {
        let mut w = world(FLY);
        w.fence.held.as_mut().unwrap().plan = Some(PlanDigest("p".to_owned()));
        w.plan = stage;
        w
    }

    fn on_plan(stage: PlanStage) -> World {
        let mut w = planned(stage).flying(Mode::Mission);
        w.vehicle.our_plan = OurPlan::Flies;
        w
    }

    #[test]
    fn it_goes_up_only_once_its_plan_is_on_the_autopilot() {
        let w = |stage| planned(stage).disarmed(Mode::Station);
        assert_eq!(
            (
                w(PlanStage::Preparing).kind(),
                w(PlanStage::Preparing).decide().activity
            ),
            (None, Activity::NotArmable)
        );
        for stage in [PlanStage::Ready, PlanStage::Set, PlanStage::None] {
            assert_eq!(w(stage).kind(), Some(StepKind::Arm), "{stage:?}");
        }
    }

    #[test]
    fn it_is_begun_only_in_the_air_by_a_leader_and_at_the_end_of_the_climb() {
        let w = planned(PlanStage::Set).flying(Mode::Station);
        assert_eq!(w.kind(), Some(StepKind::FlyPlan));
        for stage in [PlanStage::Preparing, PlanStage::Ready, PlanStage::Ended] {
            let w = planned(stage).flying(Mode::Station);
            assert_eq!((w.kind(), w.decide().activity), (None, Activity::Holding), "{stage:?}");
        }
        let climbs = planned(PlanStage::Set).vehicle(true, Some(LandedState::TakingOff), Mode::Station, true);
        assert_eq!((climbs.kind(), climbs.decide().activity), (None, Activity::TakingOff));
        let mut unled = planned(PlanStage::Set).flying(Mode::Station);
        unled.confirmed = false;
        assert_eq!(unled.kind(), None);
        assert!(called_off(StepKind::FlyPlan, &unled.situation()));
        let mut deposed = planned(PlanStage::Set).flying(Mode::Station);
        deposed.fence.highest_term = Term(9);
        assert_eq!(deposed.kind(), None);
        let mut routed = planned(PlanStage::Set).flying(Mode::Station);
        routed.fence.held.as_mut().unwrap().routed = true;
        assert_ne!(routed.kind(), Some(StepKind::FlyPlan), "it has no route yet");
        let ground = planned(PlanStage::Set).vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
        assert_ne!(ground.kind(), Some(StepKind::FlyPlan), "nothing is begun on the ground");
    }

    #[test]
    fn on_its_plan_it_is_left_alone_and_stopped_when_that_is_not_wanted_any_more() {
        let w = on_plan(PlanStage::Flying);
        assert_eq!((w.kind(), w.decide().activity), (None, Activity::Moving));
        let mut alone = on_plan(PlanStage::Flying);
        alone.confirmed = false;
        assert_eq!(alone.kind(), None, "it goes on without the coordinator");
        for stage in [PlanStage::None, PlanStage::Preparing, PlanStage::Ended] {
            let w = on_plan(stage);
            assert_eq!(w.kind(), Some(StepKind::Hold), "{stage:?}");
            assert!(!called_off(StepKind::Hold, &w.situation()));
        }
        let lands = on_plan(PlanStage::None).vehicle(true, Some(LandedState::Landing), Mode::Mission, true);
        assert_eq!((lands.kind(), lands.decide().activity), (None, Activity::Landing));
    }

    #[test]
    fn orders_failsafes_and_pilots_come_before_the_plan() {
        let mut grounded = on_plan(PlanStage::Flying);
        let why = GroundedWhy::Ordered;
        grounded.fence.held.as_mut().unwrap().desired = Desired::Grounded { why };
        assert_eq!(grounded.kind(), Some(StepKind::Land));
        let mut low = on_plan(PlanStage::Flying);
        low.battery.lasting = Level::Low;
        assert_eq!(
            low.kind(),
            None,
            "its plan was granted, the return of its autopilot was not"
        );
        let not_begun = World {
            plan: PlanStage::Set,
            ..low.clone()
        };
        assert_eq!(not_begun.flying(Mode::Station).kind(), None, "it waits for a way home");
        low.battery.low_for = route::WAITS_FOR_ITS_WAY;
        assert_eq!(low.kind(), Some(StepKind::FailsafeLand));
        low.uplink_silent = low.fence.held.as_ref().unwrap().failsafe.after;
        assert_eq!(
            low.kind(),
            Some(StepKind::FailsafeReturn),
            "nobody could grant it a way"
        );
        let mut lost = on_plan(PlanStage::Flying);
        let failsafe = &mut lost.fence.held.as_mut().unwrap().failsafe;
        failsafe.on_coordinator_loss = OnCoordinatorLoss::Hold;
        lost.uplink_silent = failsafe.after;
        assert_eq!(
            (lost.kind(), lost.decide().activity),
            (Some(StepKind::Hold), Activity::Failsafe)
        );
        let mut theirs = on_plan(PlanStage::Flying);
        theirs.vehicle.our_plan = OurPlan::No;
        let other = Activity::HandsOff(HandsOff::OtherMode);
        assert_eq!(
            (theirs.kind(), theirs.decide().activity),
            (None, other),
            "a mission of somebody else"
        );
        assert!(called_off(StepKind::Hold, &theirs.situation()));
        let mut stopped = on_plan(PlanStage::Flying).flying(Mode::Station);
        stopped.vehicle.our_plan = OurPlan::StoppedByOther;
        assert_eq!((stopped.kind(), stopped.decide().activity), (None, other));
    }
}
