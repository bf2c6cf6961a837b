//! Commands that take a vehicle from whoever flies it: they wait until its mode is known to be of now.
//!
//! A pilot's change of mode shows in the next HEARTBEAT. That may be lost, as may the answer to a command: one outage of a second takes both.
//! A command that is written, or written again, on the HEARTBEAT before takes the vehicle back from its pilot, and no takeover is counted, since
//! the next HEARTBEAT names a mode of ours. So each of these is written only within [`MODE_IS_OF_NOW`] of a HEARTBEAT:
//!
//! | step | on the wire | ArduCopter | PX4 |
//! |---|---|---|---|
//! | `SetStation`, `FlyPlan`, `Hold` | DO_SET_MODE | leaves any mode | leaves any mode |
//! | `TakeOff` | NAV_TAKEOFF | lifts off in a pilot's LOITER, too | leaves any mode |
//! | `FlyTo`, `ChangeHeight`, `Stop` | DO_REPOSITION | only in GUIDED: does not wait | leaves any mode |
//! | `TurnTo` | CONDITION_YAW; of PX4, DO_REPOSITION | not in a pilot's mode: does not wait | leaves any mode |
//!
//! It is not given up for that, but waits for the next HEARTBEAT. After [`model::vehicle::TRUTH_STALE_AFTER`] without one it is not known any
//! more what the vehicle does, and nothing of the kind is sent at all.
//!
//! `AskReasons`, `SetSpeed` and `Arm` change no mode; an arm command has a life of its own ([`crate::safety::may_arm`]).
//!
//! The ways down do not wait, though `Land`, `FailsafeLand` and `FailsafeReturn` leave any mode, too: a line that loses HEARTBEATs keeps no
//! vehicle in the air that is to land for a person, for its battery or for a coordinator that is lost. The first of them still takes a mode of
//! ours that is no older than [`model::vehicle::TRUTH_STALE_AFTER`], and none is sent again once another mode was observed. What remains is a
//! pilot's change of mode in the last seconds: he makes it once more, and lands.

use super::Situation;
use crate::flight::memory::StepKind;
use model::vehicle::Autopilot;
use std::time::Duration;

/// An autopilot tells its mode once a second.
const MODE_IS_OF_NOW: Duration = Duration::from_millis(1200);

/// Whether a command of this kind is not written, or not written again, before the next HEARTBEAT.
pub fn waits_for_heartbeat(kind: StepKind, s: &Situation<'_>) -> bool {
    let identity = s.vehicle.identity.as_ref();
    let is_px4 = identity.is_some_and(|identity| identity.autopilot == Autopilot::Px4);
    let takes_it = match kind {
        StepKind::SetStation | StepKind::TakeOff | StepKind::FlyPlan | StepKind::Hold => true,
        StepKind::ChangeHeight | StepKind::FlyTo | StepKind::TurnTo | StepKind::Stop => is_px4,
        StepKind::AskReasons
        | StepKind::Arm
        | StepKind::SetSpeed
        | StepKind::Land
        | StepKind::FailsafeLand
        | StepKind::FailsafeReturn => false,
    };
    let beat = s.vehicle.heartbeat.as_ref();
    takes_it && beat.is_none_or(|beat| s.now.since(beat.at) > MODE_IS_OF_NOW)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FLY, GROUND, World, world};
    use super::*;
    use crate::flight::converge::{PlanStage, called_off};
    use model::assignment::OnCoordinatorLoss;
    use model::plan::PlanDigest;
    use model::units::{ComponentId, SystemId};
    use model::vehicle::{Identity, LandedState, Mode, OurPlan};

    const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

    fn of(autopilot: Autopilot, mut w: World) -> World {
        w.vehicle.identity = Some(Identity {
            autopilot,
            system: SystemId(1),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        });
        w
    }

    /// So long after its last HEARTBEAT.
    fn after(ms: u64, w: World) -> World {
        let now = w.now.plus(Duration::from_millis(ms));
        World { now, ..w }
    }

    fn waits(kind: StepKind, w: &World) -> bool {
        waits_for_heartbeat(kind, &w.situation())
    }

    fn planned(stage: PlanStage, mode: Mode) -> World {
        let mut w = world(FLY).flying(mode);
        w.fence.held.as_mut().unwrap().plan = Some(PlanDigest("p".to_owned()));
        w.vehicle.our_plan = OurPlan::Flies;
        World { plan: stage, ..w }
    }

    /// A pilot flips his switch, and the HEARTBEAT that says so is lost.
    #[test]
    fn a_plan_is_neither_begun_nor_stopped_by_a_mode_that_may_be_a_pilots_by_now() {
        for autopilot in BOTH {
            let set = of(autopilot, planned(PlanStage::Set, Mode::Station));
            let withdrawn = of(autopilot, planned(PlanStage::None, Mode::Mission));
            let mut alone = of(autopilot, planned(PlanStage::Flying, Mode::Mission));
            let failsafe = &mut alone.fence.held.as_mut().unwrap().failsafe;
            failsafe.on_coordinator_loss = OnCoordinatorLoss::Hold;
            alone.uplink_silent = failsafe.after;
            for (w, kind) in [
                (set, StepKind::FlyPlan),
                (withdrawn, StepKind::Hold),
                (alone, StepKind::Hold),
            ] {
                assert_eq!(after(1100, w.clone()).kind(), Some(kind), "{autopilot:?}");
                let unheard = after(1300, w);
                assert_eq!(unheard.kind(), None, "{autopilot:?} {kind:?}");
                assert!(waits(kind, &unheard), "nor again");
                assert!(!called_off(kind, &unheard.situation()), "it waits, and is not given up");
                let mode = if kind == StepKind::Hold {
                    Mode::Mission
                } else {
                    Mode::Station
                };
                let heard = unheard.clone().flying(mode);
                assert!(heard.kind() == Some(kind) && !waits(kind, &heard));
                let theirs = unheard.clone().flying(Mode::Foreign);
                assert!(theirs.kind().is_none() && called_off(kind, &theirs.situation()));
                let silent = after(2000, unheard);
                assert!(called_off(kind, &silent.situation()), "nothing is known of it any more");
            }
        }
    }

    #[test]
    fn a_px4_is_not_moved_again_by_a_mode_that_may_be_a_pilots_by_now() {
        use StepKind::{ChangeHeight, FlyTo, SetSpeed, Stop, TurnTo};
        for (autopilot, moved_by_mode) in [(Autopilot::Px4, true), (Autopilot::ArduPilot, false)] {
            let holds = of(autopilot, world(FLY).flying(Mode::Station));
            for kind in [ChangeHeight, FlyTo, TurnTo, Stop] {
                assert!(!waits(kind, &after(1100, holds.clone())), "{kind:?}");
                let unheard = after(1500, holds.clone());
                assert_eq!(waits(kind, &unheard), moved_by_mode, "{autopilot:?} {kind:?}");
                assert!(!called_off(kind, &unheard.situation()), "it waits");
            }
            assert!(!waits(SetSpeed, &after(1500, holds)), "it changes no mode");
        }
    }

    #[test]
    fn nothing_lifts_off_or_sets_a_mode_on_the_ground_where_a_pilot_may_have_taken_it() {
        for autopilot in BOTH {
            let down = of(autopilot, world(FLY).disarmed(Mode::Foreign));
            assert_eq!(after(1100, down.clone()).kind(), Some(StepKind::SetStation));
            assert_eq!(after(1300, down.clone()).kind(), None, "he may have armed it");
            assert!(waits(StepKind::SetStation, &after(1300, down)), "nor again");
            let mut armed = of(autopilot, world(FLY).disarmed(Mode::Station));
            armed.memory.began(StepKind::Arm, armed.now);
            let armed = armed.vehicle(true, Some(LandedState::OnGround), Mode::Station, true);
            assert_eq!(after(1100, armed.clone()).kind(), Some(StepKind::TakeOff));
            assert_eq!(after(1300, armed.clone()).kind(), None);
            assert!(waits(StepKind::TakeOff, &after(1300, armed)), "nor again");
        }
    }

    #[test]
    fn no_lost_heartbeat_keeps_a_vehicle_up_that_is_to_land() {
        for autopilot in BOTH {
            let ordered = of(autopilot, world(GROUND).flying(Mode::Station));
            assert_eq!(after(2900, ordered).kind(), Some(StepKind::Land));
            for (action, kind) in [
                (OnCoordinatorLoss::Land, StepKind::FailsafeLand),
                (OnCoordinatorLoss::Return, StepKind::FailsafeReturn),
            ] {
                let alone = world(FLY).failsafe(action, 60).flying(Mode::Station);
                let unheard = after(2900, of(autopilot, alone));
                assert_eq!(unheard.kind(), Some(kind), "{autopilot:?}");
                assert!(!waits(kind, &unheard));
            }
        }
    }
}
