//! What the agent has observed of the flight under its present assignment; on disk beside the assignment.
//!
//! Owns: [`FlightRecord`]. It keeps a vehicle down that was killed or landed without our order, and counts takeovers by somebody else
//! ([`model::takeover`]). It outlives a restart of the agent, and as [`ReportedFlight`](model::reported_flight::ReportedFlight) the loss of
//! its disk. Must not: decide; [`crate::safety`] and [`crate::flight::converge`] do.
//!
//!   Fresh --observed airborne--> Flown --observed landed, landing not ours--> Over --a ground order is held--> Fresh
//!
//! A takeoff that was commanded counts like an observed flight once the vehicle is disarmed, unless it was observed all the time that the
//! vehicle stayed on the ground: the line, the agent or its computer may fail at the moment at which the motors draw most.
//!
//! An arm command that an earlier life of the agent has sent counts like a flight that is over, whatever is desired by then: the vehicle may have
//! stood with its motors on, and a person may have stopped them.
//!
//! To wait on the ground (a drain, a cordon, a takeoff slot) is no ground order: what is over stays over.

use model::assignment::{Assignment, Desired, GroundedWhy};
use model::failsafe::{self, Diversion, Diverted};
use model::ids::DroneUid;
use model::reported_flight::SoFar;
use model::takeover::{Descent, InCommand, let_go};
use model::time::Moment;
use model::vehicle::{Airframe, FlightTruth, HardwareUid, Mode, Vehicle};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Not observed in the air since the Drone was assigned, or since it was last desired on the ground.
    #[default]
    Fresh,
    Flown,
    /// Landed while the assignment still wanted flight: by a failsafe, a pilot, or a crash.
    Over,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlightRecord {
    pub uid: Option<DroneUid>,
    pub stage: Stage,
    /// A takeoff was commanded, and the vehicle was not observed disarmed since. It is on the disk before the command is sent, so that a
    /// flight that nobody observes is not forgotten.
    pub lifts: bool,
    /// An arm command was handed out, and what came of it was not observed. It is on the disk before the command is sent, so that the next life
    /// of the agent does not repeat what this one may not have survived.
    pub arms: bool,
    /// How often somebody else has taken over in flight. Never below what the Drone was ordered to go on after, so that
    /// nobody can agree to takeovers that are still to come.
    pub takeovers: u32,
    pub in_command: InCommand,
    /// Commanded by us, while the vehicle may be on it: the next life of the agent must know it as ours.
    pub descent: Option<Descent>,
    /// A command to stop its motors was sent: it never flies for this Drone again.
    pub killed: bool,
    /// Why the flight is not what was ordered.
    pub diversion: Option<Diversion>,
    /// Of the vehicle that serves the Drone, once read.
    pub hardware: Option<HardwareUid>,
}

impl FlightRecord {
    /// The record after an observation. `landing_ours`: this agent lands it as it shuts down; such a landing does not end the Drone's
    /// flight for good.
    pub fn observed(&self, held: Option<&Assignment>, truth: FlightTruth, landing_ours: bool) -> Self {
        let Some(held) = held else { return Self::default() };
        let before = self.of(held);
        const WAITS: Desired = Desired::Grounded {
            why: GroundedWhy::Waiting,
        };
        let stage = match (held.desired, before.stage, truth) {
            (WAITS, Stage::Over, _) => Stage::Over,
            // Desired on the ground: once it is there, the next flight starts afresh. Until then nothing is forgotten.
            (Desired::Grounded { .. }, _, FlightTruth::Disarmed) => Stage::Fresh,
            (Desired::Grounded { .. }, before, _) => before,
            (Desired::Flying { .. }, Stage::Fresh, FlightTruth::Airborne(_)) => Stage::Flown,
            (Desired::Flying { .. }, Stage::Flown, FlightTruth::Disarmed) if landing_ours => Stage::Fresh,
            (Desired::Flying { .. }, Stage::Flown, FlightTruth::Disarmed) => Stage::Over,
            (Desired::Flying { .. }, before, _) => before,
        };
        // The next flight begins without a diversion, but not before a person orders it to go on, and that person is shown why.
        let ended = stage == Stage::Fresh && truth == FlightTruth::Disarmed && !before.let_go(held);
        let diversion = before.diversion.clone().filter(|_| !ended);
        Self {
            stage,
            diversion,
            ..before
        }
    }

    /// The record before an arm command is sent.
    pub fn arming(&self) -> Self {
        Self {
            arms: true,
            ..self.clone()
        }
    }

    /// The record after the vehicle was observed in `truth`, as far as an arm command that was handed out before is concerned. `ours` is whether
    /// this life of the agent has handed out one, and `is_open` whether it may still take effect, or was not sent yet. Call it before
    /// [`Self::observed`].
    pub fn after_arming(&self, truth: FlightTruth, ours: bool, is_open: bool) -> Self {
        let ends = match truth {
            FlightTruth::Airborne(_) => true,
            FlightTruth::Disarmed => !is_open,
            FlightTruth::ArmedOnGround | FlightTruth::Unknown(_) => false,
        };
        if !self.arms || !ends {
            return self.clone();
        }
        let armed_unseen = truth == FlightTruth::Disarmed && !ours && self.stage == Stage::Fresh;
        Self {
            stage: if armed_unseen { Stage::Over } else { self.stage },
            arms: false,
            ..self.clone()
        }
    }

    /// Whether a life of the agent may have armed the vehicle for `held`.
    pub fn may_have_armed(&self, held: &Assignment) -> bool {
        let record = self.of(held);
        record.arms || record.lifts || record.stage != Stage::Fresh
    }

    /// The record after a takeoff was commanded.
    pub fn lifting(&self) -> Self {
        Self {
            lifts: true,
            ..self.clone()
        }
    }

    /// The record after the vehicle was observed in `truth`, as far as a takeoff that was commanded before is concerned. `stayed_down` is
    /// whether this life of the agent has observed it on the ground since it armed it, without a break in which it may have flown, and
    /// `may_be_late` whether that may be of before the arming, or before a reboot. Call it before [`Self::observed`].
    pub fn after_takeoff(&self, truth: FlightTruth, stayed_down: bool, may_be_late: bool) -> Self {
        if !self.lifts || truth != FlightTruth::Disarmed || (stayed_down && may_be_late) {
            return self.clone();
        }
        let flew_unseen = self.stage == Stage::Fresh && !stayed_down;
        Self {
            stage: if flew_unseen { Stage::Flown } else { self.stage },
            lifts: false,
            ..self.clone()
        }
    }

    /// The record after the vehicle was observed in `truth` and `mode`. `sent` is the descent that this life of the agent
    /// commanded lately, and `wants_ground` whether the vehicle should be on the ground.
    pub fn watched(
        &self,
        held: Option<&Assignment>,
        truth: FlightTruth,
        mode: Option<Mode>,
        sent: Option<Descent>,
        wants_ground: bool,
    ) -> Self {
        let Some(assignment) = held else { return Self::default() };
        let before = self.of(assignment);
        let elsewhere = matches!(
            (truth, mode),
            (FlightTruth::Disarmed, _)
                | (
                    FlightTruth::Airborne(_),
                    Some(Mode::Station | Mode::Takeoff | Mode::Mission | Mode::Foreign)
                )
        );
        let descent = sent.or(before.descent.filter(|_| !elsewhere));
        let now = before.in_command.after(truth, mode, descent, wants_ground);
        Self {
            descent,
            ..before.commanded_by(held, now)
        }
    }

    /// Whether the airframe on the wire is the one that serves `held`. A Drone never moves to another vehicle (invariant 3), not even to
    /// one with the same system id.
    pub fn airframe(&self, held: &Assignment, vehicle: &Vehicle) -> Airframe {
        let read = vehicle.identity.as_ref().and_then(|identity| identity.hardware);
        match (self.of(held).hardware, read) {
            (None, _) => Airframe::Same,
            (Some(known), Some(read)) if known == read => Airframe::Same,
            (Some(HardwareUid::Short(_)), Some(HardwareUid::Short(_)))
            | (Some(HardwareUid::Long(_)), Some(HardwareUid::Long(_))) => Airframe::Another,
            // A MAVLink 1 link carries no uid2: the same airframe may show the other number, or none. It proves nothing.
            (Some(_), Some(_) | None) => Airframe::Unread,
        }
    }

    pub fn identified(&self, held: Option<&Assignment>, vehicle: &Vehicle) -> Self {
        let Some(held) = held else { return Self::default() };
        let before = self.of(held);
        let read = vehicle.identity.as_ref().and_then(|identity| identity.hardware);
        Self {
            hardware: before.hardware.or(read),
            ..before
        }
    }

    pub fn diverted(&self, why: Diverted) -> Self {
        let diversion = Some(Diversion {
            why,
            words: String::new(),
        });
        Self {
            diversion,
            ..self.clone()
        }
    }

    /// With the observed reason of a diversion. Call it after [`Self::watched`].
    pub fn explained(&self, vehicle: &Vehicle, now: Moment) -> Self {
        let ours = self.descent.is_some() || matches!(self.in_command, InCommand::OurLanding | InCommand::OurReturn);
        let before = self.diversion.clone();
        Self {
            diversion: failsafe::diversion(before, vehicle, self.in_command, ours, now),
            ..self.clone()
        }
    }

    /// A takeover counts when command goes to somebody else.
    pub fn commanded_by(&self, held: Option<&Assignment>, now: InCommand) -> Self {
        let Some(held) = held else { return Self::default() };
        let before = self.of(held);
        let taken_over = now == InCommand::SomebodyElse && before.in_command != InCommand::SomebodyElse;
        Self {
            takeovers: before.takeovers.saturating_add(u32::from(taken_over)),
            in_command: now,
            ..before
        }
    }

    pub fn killed(&self) -> Self {
        Self {
            killed: true,
            ..self.clone()
        }
    }

    /// For the coordinator to keep.
    pub const fn so_far(&self) -> SoFar {
        match (self.killed, self.stage) {
            (true, _) => SoFar::Killed,
            (false, Stage::Fresh) => SoFar::Fresh,
            (false, Stage::Flown) => SoFar::Flown,
            (false, Stage::Over) => SoFar::Over,
        }
    }

    /// Whether somebody else has taken over the vehicle that serves `held`.
    pub fn let_go(&self, held: &Assignment) -> bool {
        self.uid.as_ref() == Some(&held.uid) && let_go(self.takeovers, held.resume_after)
    }

    pub fn was_killed(&self, held: &Assignment) -> bool {
        self.killed && self.uid.as_ref() == Some(&held.uid)
    }

    /// With the coordinator's report of the flight under `ordered`, if that is about the same Drone.
    pub fn reminded(&self, ordered: &Assignment) -> Self {
        let reported = ordered.reported_flight;
        if self.uid.as_ref() != Some(&ordered.uid) {
            return self.clone();
        }
        Self {
            takeovers: self.takeovers.max(reported.takeovers),
            killed: self.killed || reported.so_far == SoFar::Killed,
            ..self.clone()
        }
    }

    /// This record, or a new one from the reports if it is about another Drone. Reported takeovers and a kill always count: the disk may be
    /// older.
    fn of(&self, held: &Assignment) -> Self {
        let reported = held.reported_flight;
        let record = if self.uid.as_ref() == Some(&held.uid) {
            self.clone()
        } else {
            Self {
                uid: Some(held.uid.clone()),
                stage: match reported.so_far {
                    SoFar::Fresh => Stage::Fresh,
                    SoFar::Flown => Stage::Flown,
                    SoFar::Over | SoFar::Killed => Stage::Over,
                },
                hardware: reported.hardware,
                ..Self::default()
            }
        };
        let record = record.reminded(held);
        Self {
            takeovers: record.takeovers.max(held.resume_after),
            ..record
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::drone::order::{ToSend, for_node};
    use crate::planning::drone::status::tests::drone;
    use model::ids::Term;
    use model::vehicle::Airborne;

    fn assigned(desired: Desired) -> Assignment {
        let ToSend::Order(model::assignment::Order::Assigned(assignment)) =
            for_node(Term(1), &[drone()], Some(None), false)
        else {
            panic!("it is sent no assignment")
        };
        Assignment { desired, ..assignment }
    }

    #[test]
    fn a_flight_that_is_over_is_forgotten_during_the_wait_only_by_a_ground_order() {
        let flying = |truth, record: &FlightRecord| {
            let altitude = model::units::AltitudeAboveHome(10.0);
            record.observed(Some(&assigned(Desired::Flying { altitude })), truth, false)
        };
        let grounded = |why, record: &FlightRecord| {
            let held = assigned(Desired::Grounded { why });
            record.observed(Some(&held), FlightTruth::Disarmed, false).stage
        };
        let flown = flying(FlightTruth::Airborne(Airborne::InAir), &FlightRecord::default());
        let over = flying(FlightTruth::Disarmed, &flown);
        assert_eq!(over.stage, Stage::Over);
        assert_eq!(
            grounded(GroundedWhy::Waiting, &over),
            Stage::Over,
            "its node is drained"
        );
        assert_eq!(grounded(GroundedWhy::Ordered, &over), Stage::Fresh);
        assert_eq!(
            grounded(GroundedWhy::Waiting, &flown),
            Stage::Fresh,
            "this landing was ordered"
        );
    }

    /// The stage after a takeoff was commanded for a Drone that is desired in `desired`, and then these truths were observed, each with
    /// whether it has stayed down; and whether a takeoff is still to be accounted for.
    fn lifted(desired: Desired, landing_ours: bool, observed: &[(FlightTruth, bool)]) -> (Stage, bool) {
        let altitude = model::units::AltitudeAboveHome(10.0);
        let flying = assigned(Desired::Flying { altitude });
        let on_ground = FlightRecord::default().observed(Some(&flying), FlightTruth::ArmedOnGround, false);
        let held = assigned(desired);
        let end = observed
            .iter()
            .fold(on_ground.lifting(), |record, (truth, stayed_down)| {
                let record = record.after_takeoff(*truth, *stayed_down, false);
                record.observed(Some(&held), *truth, landing_ours)
            });
        (end.stage, end.lifts)
    }

    #[test]
    fn a_flight_that_nobody_has_seen_is_over_once_the_vehicle_is_disarmed() {
        let altitude = model::units::AltitudeAboveHome(10.0);
        let fly = Desired::Flying { altitude };
        let ordered = |why| Desired::Grounded { why };
        let gone = FlightTruth::Unknown(model::vehicle::WhyUnknown::LinkLost);
        let (down, armed) = (FlightTruth::Disarmed, FlightTruth::ArmedOnGround);
        let up = FlightTruth::Airborne(Airborne::TakingOff);
        let over = (Stage::Over, false);
        // By another life of the agent, which knows of nothing in between, or after a break.
        assert_eq!(lifted(fly, false, &[(gone, false), (down, false)]), over);
        assert_eq!(
            lifted(fly, false, &[(gone, false), (armed, false), (down, false)]),
            over
        );
        assert_eq!(
            lifted(fly, false, &[(gone, false)]),
            (Stage::Fresh, true),
            "not known yet"
        );
        assert_eq!(lifted(fly, false, &[(armed, true), (up, false), (down, false)]), over);
        // It was watched all the time, and never left the ground: it is tried again.
        let tried_again = (Stage::Fresh, false);
        assert_eq!(lifted(fly, false, &[(armed, true), (down, true)]), tried_again);
        // This landing was ours, or a ground order is held.
        assert_eq!(lifted(fly, true, &[(gone, false), (down, false)]), tried_again);
        for why in [GroundedWhy::Ordered, GroundedWhy::Waiting] {
            assert_eq!(
                lifted(ordered(why), false, &[(gone, false), (down, false)]),
                tried_again
            );
        }
        // A vehicle that was sent no takeoff is none that has flown.
        let fresh = FlightRecord::default().after_takeoff(down, false, false);
        assert_eq!((fresh.stage, fresh.lifts), tried_again);
        // A message that was held up on its way is not the end of a takeoff.
        let lifting = FlightRecord::default().lifting();
        assert!(lifting.after_takeoff(down, true, true).lifts);
        assert!(!lifting.after_takeoff(down, true, false).lifts);
    }

    #[test]
    fn an_arming_that_the_agent_did_not_survive_is_not_repeated() {
        let altitude = model::units::AltitudeAboveHome(10.0);
        let fly = Desired::Flying { altitude };
        let after = |desired, truths: &[FlightTruth], ours, is_open| {
            let held = assigned(desired);
            let armed = FlightRecord::default()
                .observed(Some(&held), FlightTruth::Disarmed, false)
                .arming();
            let end = truths.iter().fold(armed, |record, truth| {
                let record = record.after_arming(*truth, ours, is_open);
                record.observed(Some(&held), *truth, false)
            });
            (end.stage, end.arms)
        };
        let (down, armed) = (FlightTruth::Disarmed, FlightTruth::ArmedOnGround);
        let gone = FlightTruth::Unknown(model::vehicle::WhyUnknown::LinkLost);
        let up = FlightTruth::Airborne(Airborne::TakingOff);
        let over = (Stage::Over, false);
        assert_eq!(after(fly, &[gone, down], false, false), over);
        assert_eq!(after(fly, &[armed, down], false, false), over);
        assert_eq!(
            after(fly, &[armed], false, false),
            (Stage::Fresh, true),
            "not known yet"
        );
        // The life that has sent it knows what came of it.
        assert_eq!(
            after(fly, &[down], true, false),
            (Stage::Fresh, false),
            "it was refused"
        );
        assert_eq!(
            after(fly, &[down], true, true),
            (Stage::Fresh, true),
            "it may still arm"
        );
        assert_eq!(after(fly, &[armed, up], true, false), (Stage::Flown, false));
        let waits = Desired::Grounded {
            why: GroundedWhy::Waiting,
        };
        assert_eq!(after(waits, &[gone, down], false, false), over, "its node is drained");
        let ordered = Desired::Grounded {
            why: GroundedWhy::Ordered,
        };
        assert_eq!(after(ordered, &[down], false, false), (Stage::Fresh, false));
    }

    #[test]
    fn a_takeoff_counts_for_the_drone_that_it_was_commanded_for() {
        let altitude = model::units::AltitudeAboveHome(10.0);
        let held = assigned(Desired::Flying { altitude });
        let lifting = FlightRecord::default()
            .observed(Some(&held), FlightTruth::ArmedOnGround, false)
            .lifting();
        let another = Assignment {
            uid: DroneUid("another".into()),
            ..held
        };
        let after = lifting.after_takeoff(FlightTruth::Disarmed, false, false);
        let after = after.observed(Some(&another), FlightTruth::Disarmed, false);
        assert_eq!((after.stage, after.lifts), (Stage::Fresh, false));
    }
}
