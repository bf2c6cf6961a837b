//! The plan that the vehicle flies by itself: brought onto the autopilot, started, followed, and kept from being mistaken for another.
//!
//! Owns: [`Keeper`], a plain state machine: what to send next, how far the plan is ([`Keeper::stage`]), and whether the vehicle is on it
//! ([`Keeper::ours`]); and [`Remembered`], what of it is kept on the disk. Must not: send, choose a mode ([`fleet::flight::converge`] does), arm,
//! or write to an autopilot that flies in a mode of somebody else.
//!
//!   named --upload--> ACK --download--> equal --MISSION_CURRENT: it is a mission--> ready --MISSION_SET_CURRENT--> set
//!   set --mode AUTO / AUTO.MISSION--> flown --> the end of it, a hold of ours, or somebody else
//!
//! What is uploaded begins with the first item that was not reached, after what was set before it, so that one that was interrupted goes on
//! where it was and in the state in which it was. An ACK is no proof of anything: PX4 judges a mission after it, and says in
//! MISSION_CURRENT.mission_state that there is none when it will not fly it.

mod bring;
mod follow;
mod items;

use self::items::WireItem;
use crate::rules::transfer::Transfer;
use fleet::flight::converge::PlanStage;
use fleet::flight::following::Following;
use link::dialect::{MavMessage, MavMissionResult, MissionState};
use model::assignment::Assignment;
use model::ids::DroneUid;
use model::plan::flight::{FlightPlan, PassedBeside, PlanDigest, PlanReport, PlanState, Reached, is_flown_to, rest};
use model::plan::item;
use model::takeover::Descent;
use model::time::Moment;
use model::vehicle::{Airborne, Autopilot, FlightTruth, Identity, Mode, OurPlan};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::info;

/// Longest words that are reported, bytes.
const LONGEST_WORDS: usize = 300;

/// Shared by all copies of what is remembered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "FlightPlan", into = "FlightPlan")]
pub struct Plan(Arc<FlightPlan>);

impl From<FlightPlan> for Plan {
    fn from(plan: FlightPlan) -> Self {
        Self(Arc::new(plan))
    }
}

impl From<Plan> for FlightPlan {
    fn from(plan: Plan) -> Self {
        Arc::unwrap_or_clone(plan.0)
    }
}

/// Equal items have an equal digest.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        (self.0.term, &self.0.digest) == (other.0.term, &other.0.digest)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    pub held: Option<Plan>,
    /// The Drone whose flight all of the following is; another may be given the same plan. Agents of older versions did not keep it.
    #[serde(default)]
    pub drone: Option<DroneUid>,
    #[serde(default)]
    pub reached: Reached,
    /// Item from which it was last uploaded.
    #[serde(default)]
    pub uploaded_from: Option<u16>,
    /// Item of that upload with which the autopilot is busy.
    #[serde(default)]
    pub at: usize,
    /// Whether the autopilot was ordered to fly it, and is on it as far as is known.
    #[serde(default)]
    pub flown: bool,
    /// Whether it was observed to fly it since. Agents of older versions did not keep it, and took what they had begun for observed.
    #[serde(default = "yes")]
    pub was_on_it: bool,
    /// Whether we ordered it to hold since: the agent that serves the vehicle after us must recognize that hold as ours.
    #[serde(default)]
    pub told_to_hold: bool,
    #[serde(default)]
    pub ended: bool,
    /// Whether it was observed to land by its last item, where that was to land it.
    #[serde(default)]
    pub landed: bool,
    /// Places of `reached` that were passed beside. Agents of older versions did not keep it.
    #[serde(default)]
    pub passed_beside: PassedBeside,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub to: &'a Identity,
    /// `None`: it is to fly none.
    pub named: Option<&'a PlanDigest>,
    /// Whether a mission may be written: it is on the ground and disarmed, or holds in the air by our command.
    pub may_write: bool,
    /// Whether a writing that has begun may go on: so, or not known to be otherwise.
    pub may_go_on: bool,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    state: MissionState,
    at: Moment,
}

#[derive(Clone, Copy, Debug)]
struct ReadBack {
    equal: bool,
    id: u32,
    at: Moment,
}

#[derive(Clone, Debug, Default)]
pub struct Keeper {
    memory: Remembered,
    following: Following,
    /// The plan is invalid, whatever the autopilot would say.
    fault: Option<String>,
    transfer: Option<Transfer<WireItem>>,
    /// The ACK that ends our download.
    farewell: Option<MavMessage>,
    read_back: Option<ReadBack>,
    /// When our last upload ended, until it is judged.
    uploaded_at: Option<Moment>,
    /// Since when the autopilot takes it for no mission.
    none_since: Option<Moment>,
    ready: bool,
    current: Option<Current>,
    asked_at: Option<Moment>,
    set_at: Option<Moment>,
    is_set: bool,
    words: Option<String>,
    refused_at: Option<(Moment, MavMissionResult, Option<u16>)>,
    refusal: Option<String>,
    /// The autopilot would not fly it. PX4 does not judge the same mission again until it was cleared (recorded: 1.17).
    to_clear: bool,
    foreign: bool,
    /// It may be another one, until it was read again: what the autopilot says of it is not about ours.
    doubted: bool,
    failures: u32,
    not_before: Moment,
    others_at: Option<Moment>,
    /// Words for a person about a home that was moved in flight, while altitudes of the plan count from it.
    moved_home: Option<String>,
    started_at: Option<Moment>,
    /// The autopilot said that its mission is active since.
    ran: bool,
    on_it: bool,
    /// It was last observed landing, or landed, where its last item lands it.
    lands: bool,
    /// Since when it holds in the middle of it.
    stopped_since: Option<Moment>,
    /// The command to hold may be sent again.
    hold_under_way: bool,
    /// Since when it is not, as far as this life of the agent knows.
    hold_ended_at: Option<Moment>,
    paused_by_other: bool,
    autopilot: Option<Autopilot>,
}

impl Keeper {
    /// `held`: the assignment in that earlier life; nothing is ready until it was read back.
    pub fn new(mut memory: Remembered, held: Option<&Assignment>) -> Self {
        if memory.drone.is_none() {
            let its = held.filter(|held| memory.held.as_ref().map(|plan| &plan.0.digest) == held.plan.as_ref());
            memory.drone = its.map(|held| held.uid.clone());
        }
        let mut keeper = Self {
            memory,
            ..Self::default()
        };
        keeper.ran = keeper.memory.flown && keeper.memory.was_on_it;
        keeper.fault = keeper.memory.held.as_ref().and_then(|plan| fault(&plan.0));
        if let (Some(plan), Some(from)) = (&keeper.memory.held, keeper.memory.uploaded_from) {
            keeper.following = Following::new(rest(&plan.0.items, usize::from(from)));
            keeper.following.continues_at(keeper.memory.at);
        }
        keeper.serve(held.map(|held| &held.uid));
        keeper
    }

    pub const fn memory(&self) -> &Remembered {
        &self.memory
    }

    /// The vehicle serves this Drone, or none, from now on: what it reached of the plan for another counts for nothing (invariant 13).
    pub fn serve(&mut self, drone: Option<&DroneUid>) {
        if self.memory.drone.as_ref() != drone {
            self.begin_again(self.memory.held.clone(), drone.cloned());
        }
    }

    fn begin_again(&mut self, held: Option<Plan>, drone: Option<DroneUid>) {
        self.memory = Remembered {
            held,
            drone,
            // What flies the one before still does, until it is ordered to hold.
            flown: self.memory.flown,
            was_on_it: self.memory.was_on_it,
            told_to_hold: self.memory.told_to_hold,
            ..Remembered::default()
        };
        self.prepare_again();
    }

    /// The one that it has already changes nothing.
    pub fn take(&mut self, plan: FlightPlan) {
        if self
            .memory
            .held
            .as_ref()
            .is_some_and(|held| held.0.digest == plan.digest)
        {
            return;
        }
        self.fault = fault(&plan);
        info!(digest = %plan.digest, items = plan.items.len(), fault = self.fault, "plan taken");
        self.begin_again(Some(plan.into()), self.memory.drone.clone());
        (self.refusal, self.refused_at, self.words, self.failures) = (None, None, None, 0);
        self.not_before = Moment::default();
        (self.foreign, self.to_clear) = (false, false);
    }

    fn prepare_again(&mut self) {
        (self.transfer, self.read_back, self.uploaded_at, self.none_since) = (None, None, None, None);
        (self.ready, self.is_set, self.set_at, self.doubted) = (false, false, None, false);
    }

    /// After a reboot, or when another autopilot may be there.
    pub fn read_again(&mut self) {
        self.prepare_again();
        self.current = None;
    }

    fn items(&self) -> usize {
        self.memory.held.as_ref().map_or(0, |plan| plan.0.items.len())
    }

    fn is_finished(&self) -> bool {
        self.items() > 0 && self.memory.reached.count() >= self.items()
    }

    fn holds(&self, named: Option<&PlanDigest>) -> bool {
        named.is_some() && self.memory.held.as_ref().map(|plan| &plan.0.digest) == named
    }

    /// PX4 takes part in one transfer at a time.
    pub const fn is_transferring(&self) -> bool {
        self.transfer.is_some()
    }

    /// Whether it was observed to land by the last item of this plan.
    pub fn has_landed(&self, named: Option<&PlanDigest>) -> bool {
        self.holds(named) && self.memory.landed
    }

    pub fn stage(&self, named: Option<&PlanDigest>) -> PlanStage {
        match named {
            None => PlanStage::None,
            Some(_) if !self.holds(named) => PlanStage::Preparing,
            Some(_) if self.memory.ended || self.is_finished() => PlanStage::Ended,
            Some(_) if self.moved_home.is_some() => PlanStage::Preparing,
            Some(_) if self.memory.flown => PlanStage::Flying,
            Some(_) if self.ready && self.is_set => PlanStage::Set,
            Some(_) if self.ready => PlanStage::Ready,
            Some(_) => PlanStage::Preparing,
        }
    }

    pub const fn ours(&self) -> OurPlan {
        match (self.memory.flown, self.paused_by_other) {
            (true, true) => OurPlan::StoppedByOther,
            (true, false) => OurPlan::Flies,
            (false, _) => OurPlan::No,
        }
    }

    pub fn descent(&self) -> Option<Descent> {
        self.following.descent().filter(|_| self.memory.flown)
    }

    pub fn fly_sent(&mut self, now: Moment) {
        info!(digest = ?self.memory.held.as_ref().map(|plan| &plan.0.digest), from = self.memory.uploaded_from, "flying the plan");
        self.memory.flown = true;
        self.memory.landed = false;
        self.memory.at = 0;
        self.following.begins();
        self.started_at = Some(now);
        (self.memory.was_on_it, self.memory.told_to_hold) = (false, false);
        (self.ran, self.stopped_since) = (false, None);
    }

    /// The command to fly it was refused, or not sent.
    pub fn fly_refused(&mut self) {
        if !self.memory.was_on_it {
            self.stop();
        }
    }

    pub const fn hold_sent(&mut self) {
        self.memory.told_to_hold = true;
        self.hold_under_way = true;
    }

    pub const fn hold_ended(&mut self, now: Moment) {
        self.hold_under_way = false;
        self.hold_ended_at = Some(now);
    }

    fn stop(&mut self) {
        self.memory.flown = false;
        (self.memory.was_on_it, self.memory.told_to_hold) = (false, false);
        (self.started_at, self.ran) = (None, false);
        (self.stopped_since, self.paused_by_other) = (None, false);
        self.prepare_again();
    }

    fn first(&self) -> u16 {
        u16::from(self.autopilot == Some(Autopilot::ArduPilot))
    }

    /// Why the plan that is named keeps the vehicle on the ground: the words of a refusal, or `None` while it is being prepared.
    pub fn refusal(&self) -> Option<&str> {
        let ours = self.fault.as_deref().or(self.moved_home.as_deref());
        ours.or(self.refusal.as_deref())
    }

    pub fn report(&self, named: Option<&PlanDigest>) -> PlanReport {
        let held = self.memory.held.as_ref().map(|plan| plan.0.digest.clone());
        let flying = self.memory.flown && self.on_it && !self.memory.ended;
        let state = match self.refusal() {
            Some(words) => PlanState::Refused(cut(words)),
            None if !self.holds(named) || self.memory.ended || self.is_finished() => PlanState::Idle,
            None if self.foreign => PlanState::Foreign,
            None if self.ready => PlanState::Ready,
            None => PlanState::Uploading,
        };
        PlanReport {
            held,
            state,
            flying,
            current: self.following.current().filter(|_| flying),
            reached: self.memory.reached.clone(),
            ended: self.memory.ended,
            finished: self.is_finished(),
            passed_beside: self.memory.passed_beside,
        }
    }
}

fn counts_from_home(plan: &FlightPlan) -> bool {
    let relative = [item::FRAME_GLOBAL_RELATIVE_ALT, item::FRAME_GLOBAL_RELATIVE_ALT_INT];
    let mut places = plan.items.iter().filter(|item| is_flown_to(item.command));
    places.any(|item| relative.contains(&item.frame))
}

/// Why the agent would not fly it, whatever its autopilot says.
fn fault(plan: &FlightPlan) -> Option<String> {
    plan.check().err().map(|fault| fault.to_string())
}

/// `mode`: a mode of ours.
pub fn may_write(truth: FlightTruth, mode: Option<Mode>, arm_under_way: bool) -> bool {
    match truth {
        FlightTruth::Disarmed => !arm_under_way,
        FlightTruth::Airborne(Airborne::InAir) => mode == Some(Mode::Station),
        FlightTruth::Airborne(Airborne::TakingOff | Airborne::Landing)
        | FlightTruth::ArmedOnGround
        | FlightTruth::Unknown(_) => false,
    }
}

fn cut(words: &str) -> String {
    let mut end = words.len().min(LONGEST_WORDS);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    words.get(..end).unwrap_or_default().to_owned()
}
