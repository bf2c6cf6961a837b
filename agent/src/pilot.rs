//! The agent's mind: everything it knows of its vehicle and its orders, and what is to be written to the wire next.
//!
//! Owns: [`Pilot`], a plain state machine: events and moments in, messages out. Must not: wait, write, read a clock or
//! roll dice (moments and jitter come in). What to do is decided by [`fleet::flight::converge`] alone; here it is only put on
//! the wire. Stream and message requests move nothing and give way to every step.

use crate::command::{OUR_COMPONENT, Outstanding, Patience, Progress, SYSTEM_AT_FIRST};
use crate::contact::{self, Contact};
use crate::discovery::{Discovery, Sighted};
use crate::kill::Kills;
use crate::logs::fetch::LogFetch;
use crate::metadata::Fetch;
use crate::normalize::aircraft::aircraft;
use crate::normalize::{self, Normalizer};
use crate::outgoing::{GROUND_STATION_COMPONENT, Outgoing, Purpose, Written, ground_station_heartbeat, our_heartbeat};
use crate::plan::Keeper;
use crate::preflight::{Ours, Reader};
use crate::recipe;
use crate::remote_id::RemoteId;
use crate::rules::Board;
use crate::shared_id::SharedId;
use crate::state_file::State;
use crate::streams::{Needed, Request, Streams};
use fleet::flight::battery::{Gauge, NearReserve};
use fleet::flight::battery_doubt::Doubts;
use fleet::flight::converge::{Situation, Step, called_off, converge, still_arms, waits_for_heartbeat};
use fleet::flight::lending::{Lending, Program};
use fleet::flight::memory::{Following, Memory, Outcome, StepKind};
use fleet::flight::preflight::clearance;
use fleet::flight::trace::TakeoffTrace;
use fleet::flight_record::{FlightRecord, Stage};
use fleet::safety::{self, ArmPermit, Rest};
use link::dialect::{MavMessage, MavResult};
use link::{Frame, LinkEvent};
use model::assignment::{Desired, Failsafe, Fence, Order, Preflight, Refused};
use model::failsafe::Diverted;
use model::followed::Followed;
use model::ids::{NodeName, Term};
use model::inventory::Inventory;
use model::lent::WhyBack;
use model::monitored_battery::MotorBatteries;
use model::preflight_policy::Clearance;
use model::report::Activity;
use model::route_order::RouteOrder;
use model::takeover::InCommand;
use model::time::Moment;
use model::trace::Span;
use model::traffic::Traffic;
use model::units::{Address, AltitudeAboveHome, SystemId};
use model::vehicle::{
    Airframe, ArmingReason, Autopilot, FlightTruth, Identity, Mode, ReasonClass, TRUTH_STALE_AFTER, Vehicle, WhyUnknown,
};
use model::whereabouts::{Asked, Watch};
use std::time::Duration;
use tracing::{debug, info, warn};

/// Whether a vehicle in the air in this mode may be on a route of ours.
const fn flies_routes(mode: Mode) -> bool {
    matches!(mode, Mode::Station | Mode::Takeoff)
}

mod alone;
mod descriptions;
mod flights;
mod home;
mod killing;
mod lending;
mod logs;
mod planned;
mod refusal;
mod remote_id;
mod reporting;
mod rules;
mod shared_id;
mod stand_down;
mod unsigned;

/// 1 Hz by convention.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(1);
/// Before an autopilot is known, we speak up only after this long: ArduPilot begins by itself, PX4 on UDP waits for us.
const SPEAK_FIRST_AFTER: Duration = Duration::from_millis(1500);
/// From the decision to the wire; the shorter one for an arm command.
const WRITE_WITHIN: Duration = Duration::from_millis(500);
const WRITE_ARM_WITHIN: Duration = Duration::from_millis(200);

/// Longest reason of a link that is down: it goes into conditions, and names every port that was tried.
const LINK_FAULT_CHARS: usize = 600;

#[derive(Debug)]
pub struct Pilot {
    node: NodeName,
    state: State,
    discovery: Discovery,
    shared_id: SharedId,
    unsigned: unsigned::Unsigned,
    normalizer: Normalizer,
    streams: Streams,
    home_asked: Option<Moment>,
    vehicle: Vehicle,
    memory: Memory,
    contact: Contact,
    gauge: Gauge,
    near_reserve: NearReserve,
    /// The route that it has lost.
    lost: Option<RouteOrder>,
    doubts: Doubts,
    preflight: Reader,
    board: Board,
    keeper: Keeper,
    /// When it was last asked what to send, and until when what comes may be stale.
    asked_at: Option<(Moment, Option<Duration>)>,
    line_behind_until: Moment,
    orders_behind_until: Moment,
    /// Flight by a program, what that program has sent, and whether it is passed on.
    lending: Lending,
    program: Program,
    passes_program: bool,
    /// Why it was taken back from a program last, in this flight.
    taken_back: Option<WhyBack>,
    remote_id: RemoteId,
    /// Of this computer, since 1970.
    date: Option<Duration>,
    descriptions: Fetch,
    logs: LogFetch,
    terminating: bool,
    link_up: Option<Moment>,
    link_fault: Option<String>,
    outstanding: Option<Outstanding<Purpose>>,
    /// Not waited for any more, for the next one.
    given_up: Option<Outstanding<Purpose>>,
    kills: Kills,
    to_send: Option<MavMessage>,
    /// The last message handed out was the command on its way, and not our heartbeat.
    handed_out_command: bool,
    last_heartbeat: Option<Moment>,
    /// See [`Self::as_ground_station`].
    ground_station: Option<SystemId>,
    last_ground_station: Option<Moment>,
    armed_in_this_life: bool,
    rest: Rest,
    watch: Watch,
    traffic: Traffic,
    refusal: Option<refusal::Refusal>,
    activity: Activity,
    logged: Option<(FlightTruth, Activity)>,
    followed: Followed<()>,
    flight_lines: Vec<String>,
    /// Since when it is not known whether the airframe is the one that serves the Drone, if it is not.
    unread_since: Option<Moment>,
    /// Nothing is armed while it is set.
    unsaved: Option<ArmingReason>,
    trace: TakeoffTrace,
}

impl Pilot {
    pub fn new(node: NodeName, state: State, now: Moment) -> Self {
        let only = state.fence.held.as_ref().and(state.vehicle);
        // While no agent was there, somebody may have flown it.
        let unrested = state.unrested || state.vehicle.is_some();
        let memory = Memory::default().having_come(state.progress).unrested_before(unrested);
        let mut memory = memory.others_flew_before(state.others_flew, now);
        // The agent ended before it was known to have stopped.
        if state.stops_in.is_some() {
            memory.take_back(now);
        }
        let board = Board::new(state.rules.clone());
        let keeper = Keeper::new(state.plan.clone(), state.fence.held.as_ref());
        let remote_id = RemoteId::new(state.remote_id.clone());
        let traffic = Traffic::of(&node);
        let State {
            home_before,
            near_reserve,
            alone_for,
            low_for,
            ..
        } = state;
        Self {
            node,
            state,
            discovery: Discovery::staying_with(only),
            shared_id: SharedId::default(),
            unsigned: unsigned::Unsigned::default(),
            normalizer: Normalizer::default().flying_from(home_before),
            streams: Streams::default(),
            home_asked: None,
            // Somebody may have moved home in flight.
            vehicle: Vehicle {
                home: home_before.map(|home| home.amsl),
                ..Vehicle::default()
            },
            memory,
            contact: Contact::none_since(now).after_lives_without(alone_for),
            gauge: Gauge::default().after_lives_low(low_for),
            near_reserve: NearReserve::remembered(near_reserve),
            lost: None,
            doubts: Doubts::default(),
            preflight: Reader::default(),
            board,
            keeper,
            asked_at: None,
            line_behind_until: Moment::default(),
            orders_behind_until: Moment::default(),
            lending: Lending::default(),
            program: Program::default(),
            passes_program: false,
            taken_back: None,
            remote_id,
            date: None,
            descriptions: Fetch::new(None),
            logs: LogFetch::default(),
            terminating: false,
            link_up: None,
            link_fault: None,
            outstanding: None,
            given_up: None,
            kills: Kills::default(),
            to_send: None,
            handed_out_command: false,
            last_heartbeat: None,
            ground_station: None,
            last_ground_station: None,
            armed_in_this_life: false,
            rest: Rest::default(),
            watch: Watch::default(),
            traffic,
            refusal: None,
            activity: Activity::Waiting,
            logged: None,
            followed: Followed::default(),
            flight_lines: Vec::new(),
            unread_since: None,
            unsaved: None,
            trace: TakeoffTrace::default(),
        }
    }

    /// A pilot that also sends the heartbeat of a ground station with this system id, but only while the coordinator is in
    /// contact or was within [`contact::grace`]: the autopilot's own failsafe for the loss of its ground station then acts when the
    /// coordinator or the agent is gone (a deadman), and not for a fail-over. It is made in the pilot's own step, so that it
    /// stops when the pilot does.
    pub const fn as_ground_station(mut self, system: Option<SystemId>) -> Self {
        self.ground_station = system;
        self
    }

    pub const fn resting(mut self, rest: Rest) -> Self {
        self.rest = rest;
        self
    }

    pub fn driven_by(mut self, batteries: MotorBatteries) -> Self {
        self.normalizer = Normalizer::of(batteries).flying_from(self.state.home_before);
        self
    }

    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Parts of a takeoff that have ended since this was asked last.
    pub fn take_spans(&mut self) -> Vec<Span> {
        self.trace.take()
    }

    pub fn receive(&mut self, event: &LinkEvent, now: Moment, jitter: f64) {
        match event {
            LinkEvent::Up => {
                (self.link_up, self.link_fault) = (Some(now), None);
                self.discovery.link_opened();
            }
            LinkEvent::Down(why) => {
                self.link_up = None;
                self.link_fault = Some(why.chars().take(LINK_FAULT_CHARS).collect());
            }
            LinkEvent::Frame(frame) => self.receive_frame(frame, now, jitter),
        }
        self.observe(now);
    }

    fn receive_frame(&mut self, frame: &Frame, now: Moment, jitter: f64) {
        self.hear_shared_id(frame, now);
        if let MavMessage::HEARTBEAT(beat) = &frame.message {
            let sighted = self.discovery.receive(frame.header, beat, now);
            if let Sighted::Ours | Sighted::Found(_) = sighted {
                self.link_fault = None;
            }
            match sighted {
                // It may be another airframe by now.
                Sighted::Ours if self.was_silent(now) => {
                    if let Some(identity) = &mut self.vehicle.identity {
                        (identity.firmware, identity.hardware) = (None, None);
                    }
                    self.vehicle.inventory = Inventory::default();
                    self.preflight.read_again(now);
                    self.streams.again(Needed::Version);
                }
                Sighted::Ours => {}
                Sighted::Found(identity) => {
                    info!(
                        autopilot = normalize::name(identity.autopilot),
                        system = identity.system.0,
                        component = identity.component.0,
                        "autopilot found"
                    );
                    self.vehicle.identity = Some(identity);
                    self.descriptions.rebooted(now);
                }
                Sighted::Stranger(who) => {
                    warn!("{who}");
                    self.link_fault = Some(who.chars().take(LINK_FAULT_CHARS).collect());
                    return;
                }
                Sighted::Ignored => return,
            }
        }
        self.hear_traffic(frame, now);
        self.hear_transmitter(frame, now);
        if !self.discovery.is_ours(frame.header) {
            return;
        }
        self.recognize(&frame.message);
        let heard = self.normalizer.receive(&mut self.vehicle, &frame.message, now);
        self.vehicle.id_shared_at = self.shared_id.noticed().map(|(_, at)| at);
        if let (MavMessage::HEARTBEAT(_), Some(beat)) = (&frame.message, &self.vehicle.heartbeat) {
            self.kills.beat(beat.value.armed);
            self.beat_signed(frame.unchecked_signature, now);
        }
        for text in heard.texts {
            self.memory.received(&text, now);
            self.board.text(&text);
            self.keeper.text(&text);
            debug!(text, "autopilot says");
        }
        if heard.rebooted {
            warn!("the autopilot has rebooted; asking for its messages again");
            self.streams = Streams::default();
            self.preflight = Reader::default();
            // In flight its altitudes count from where it took off.
            let home = self.state.home_before;
            self.normalizer = std::mem::take(&mut self.normalizer).flying_from(home);
            self.vehicle.home = home.map(|home| home.amsl);
            self.descriptions.rebooted(now);
            self.board.rebooted();
            self.keeper.read_again();
            self.unsigned = unsigned::Unsigned::default();
            self.end(&Outcome::NoAnswer, now, jitter);
        }
        self.streams.received(&frame.message, now);
        self.ask_for_home(&frame.message, now);
        // PX4 passes on what it receives at once, and an interval that is set counts against what a slow link carries.
        if self
            .vehicle
            .identity
            .as_ref()
            .is_some_and(|identity| identity.autopilot == Autopilot::Px4)
        {
            self.streams.known(Needed::Traffic, now);
        }
        let us = self.from();
        self.descriptions.receive(&frame.message, us, now, jitter);
        self.logs.receive(&frame.message, us, now);
        self.receive_for_rules(&frame.message, us, now, jitter);
        self.receive_for_plan(&frame.message, us, now);
        if let (MavMessage::PARAM_VALUE(value), Some(identity)) = (&frame.message, &self.vehicle.identity) {
            self.preflight.receive(identity.autopilot, value, now);
        }
        if let (MavMessage::PARAM_ERROR(error), Some(identity)) = (&frame.message, &self.vehicle.identity) {
            self.preflight.failed(identity.autopilot, error, now);
        }
        if let (MavMessage::MISSION_CURRENT(current), Some(identity)) = (&frame.message, &self.vehicle.identity) {
            self.preflight.hear_current(identity.autopilot, current, now);
        }
        if let MavMessage::COMMAND_ACK(ack) = &frame.message {
            if ack.result == MavResult::MAV_RESULT_IN_PROGRESS
                && let Some(o) = self.outstanding.as_ref().filter(|o| o.is_about(ack))
                && let Purpose::Step(kind) = o.purpose
            {
                self.memory.in_progress(kind, now);
            }
            self.answer_to_unsigned(ack, us);
            self.kills.acknowledged(ack, now);
            let progress = self.outstanding.as_mut().map(|o| o.acknowledged(ack, now));
            self.progress(progress, now, jitter);
        }
    }

    /// A receiver of the same vehicle may report other aircraft by itself, as a component of its own.
    fn hear_traffic(&mut self, frame: &Frame, now: Moment) {
        let system = self.discovery.latched().map(|identity| identity.system.0);
        let MavMessage::ADSB_VEHICLE(message) = &frame.message else {
            return;
        };
        let seen = aircraft(message, now).filter(|_| system.map(u32::from) == Some(frame.header.system_id));
        if let Some((seen, from)) = seen.zip(self.vehicle.position) {
            self.traffic.observe(seen, (from.value.at, from.value.amsl), now);
        }
    }

    /// The coordinator's stream is open: what is held is not confirmed on it yet.
    pub const fn uplink_opened(&mut self, now: Moment) {
        self.contact.opened(now);
    }

    pub const fn uplink_closed(&mut self, now: Moment) {
        self.contact.closed(now);
    }

    /// Nothing has changed yet, so that the fence can be put on the disk first.
    pub fn consider(&self, order: &Order, now: Moment) -> Result<Fence, Refused> {
        let settled = safety::settled(self.vehicle.truth(now), self.may_still_fly(now));
        self.state.fence.take(order, settled)
    }

    /// Whether the vehicle may fly though it is heard on the ground: an arm command may still take effect, or a second vehicle with its system id
    /// is heard.
    fn may_still_fly(&self, now: Moment) -> bool {
        self.memory.arm_under_way(now) || self.vehicle.shares_id(now)
    }

    /// `term` counts all the same.
    pub fn refused(&mut self, term: Term, why: &Refused) {
        self.not_taken(term);
        if matches!(why, Refused::Busy { .. }) && term >= self.state.fence.highest_term {
            self.contact.disowned();
        }
    }

    /// An order of `term` cannot be taken now; the leader is there all the same.
    pub fn not_taken(&mut self, term: Term) {
        self.state.fence = self.state.fence.raised_to(term);
        if term >= self.state.fence.highest_term {
            self.contact.order_received();
            self.state.alone_for = Duration::ZERO;
        }
    }

    /// Takes in what was reported of the flight before, from an order that cannot be taken now: the disk that cannot be written is the one on
    /// which a takeover is missing, and to send nothing needs no disk.
    pub fn remind(&mut self, order: &Order) {
        if let Order::Assigned(ordered) = order {
            self.state.record = self.state.record.reminded(ordered);
        }
    }

    /// `None`: it is written.
    pub fn unsaved(&mut self, why: Option<&str>, now: Moment) {
        let reason = |why: &str| ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(
                format!(
                    "the agent cannot write its state directory ({why}), and does not arm before it can; repair the volume or make room"
                ),
                now,
            )
        };
        let known = self.unsaved.take();
        self.unsaved = why.map(reason).map(|new| match known {
            Some(known) if known.text == new.text => known,
            _ => new,
        });
    }

    /// Acts on `fence` from now on; it came on the stream that is open.
    pub fn adopt(&mut self, fence: Fence, now: Moment) {
        if fence.held != self.state.fence.held {
            match &fence.held {
                Some(a) => {
                    info!(term = %a.term, desired = %a.desired, "assignment taken")
                }
                None => info!("no Drone is bound to this node"),
            }
        }
        let drone = |fence: &Fence| fence.held.as_ref().map(|held| held.uid.clone());
        if drone(&fence) != drone(&self.state.fence) {
            self.preflight.read_again(now);
        }
        self.state.fence = fence;
        self.serve_by_plan();
        self.contact.confirm(now);
        self.observe(now);
    }

    /// The agent is ending: the vehicle lands first.
    pub const fn terminate(&mut self) {
        self.terminating = true;
    }

    /// Whether an ending agent may go: its vehicle is certainly on the ground, or was never its to land.
    pub fn may_exit(&self, now: Moment) -> bool {
        let truth = self.vehicle.truth(now);
        let under_way = self.may_still_fly(now);
        let record = &self.state.record;
        let flew = record.stage == Stage::Flown || record.lifts;
        let not_ours = !flew && record.descent.is_none() && !self.armed_in_this_life;
        self.state.fence.held.is_none()
            || safety::settled(truth, under_way)
            || (not_ours
                && matches!(
                    truth,
                    FlightTruth::Unknown(WhyUnknown::NeverHeard | WhyUnknown::LinkLost)
                ))
    }

    /// Call it until there is nothing, and [`Self::written`] after each.
    pub fn next(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        self.notice_stop(now);
        self.observe(now);
        self.kills.at(now);
        self.call_off(now, jitter);
        let waits = self.waits(now);
        if self.to_send.is_none() {
            let outstanding = self.outstanding.as_mut();
            let progress = outstanding
                .filter(|o| !(waits && o.is_due_again(now)))
                .map(|o| o.at(now));
            self.progress(progress, now, jitter);
        }
        if !waits && let Some(message) = self.to_send.take() {
            return Some(self.outgoing(message, None));
        }
        if !matches!(&self.outstanding, Some(o) if matches!(o.purpose, Purpose::Step(_)))
            && let Some(out) = self.next_step(now, jitter)
        {
            return Some(out);
        }
        self.next_request(now, jitter)
            .or_else(|| self.heartbeat(now))
            .or_else(|| self.deadman(now))
            .or_else(|| self.next_remote_id(now))
            .or_else(|| self.next_parameter(now, jitter))
            .or_else(|| self.next_of_plan(now, jitter))
            .or_else(|| self.next_rule(now, jitter))
            .or_else(|| self.next_description(now, jitter))
            .or_else(|| self.next_log(now, jitter))
    }

    pub fn written(&mut self, how: Written, now: Moment, jitter: f64) {
        // What may have left is answered, repeated, or found out by what the vehicle does.
        if how == Written::No && self.handed_out_command {
            let outcome = match &self.outstanding {
                Some(outstanding) if outstanding.is_repeated() => Outcome::NoAnswer,
                Some(_) | None => Outcome::NotSent,
            };
            self.end(&outcome, now, jitter);
        }
    }

    fn call_off(&mut self, now: Moment, jitter: f64) {
        let Some(Purpose::Step(kind)) = self.outstanding.as_ref().map(|o| o.purpose) else {
            return;
        };
        if called_off(kind, &self.situation(now)) {
            self.given_up.clone_from(&self.outstanding);
            self.end(&Outcome::NoAnswer, now, jitter);
        }
    }

    /// Whether the command on its way is not written again, in whichever form, before the next HEARTBEAT.
    fn waits(&self, now: Moment) -> bool {
        let purpose = self.outstanding.as_ref().map(|o| o.purpose);
        matches!(purpose, Some(Purpose::Step(kind)) if waits_for_heartbeat(kind, &self.situation(now)))
    }

    /// Whether the message that was handed out last may still be written: a command may be overtaken while it waits for the disk, by what was
    /// received since or by the age of the mode that it goes by; or it has ended, as when its autopilot reboots.
    pub fn is_still_wanted(&self, now: Moment) -> bool {
        if self.handed_out_command && self.outstanding.is_none() {
            return false;
        }
        let outstanding = self.outstanding.as_ref().filter(|_| self.handed_out_command);
        let Some(Purpose::Step(kind)) = outstanding.map(|o| o.purpose) else {
            return true;
        };
        let still = kind != StepKind::Arm || still_arms(&self.situation(now));
        still && !called_off(kind, &self.situation(now)) && !self.waits(now)
    }

    fn situation(&self, now: Moment) -> Situation<'_> {
        Situation {
            vehicle: &self.vehicle,
            fence: &self.state.fence,
            confirmed: self.contact.confirmed(),
            behind: self.is_behind(now),
            uplink_silent: self.contact.silent(now),
            record: &self.state.record,
            stands_down: self.state.stand_downs.now.is_some(),
            memory: &self.memory,
            battery: self.gauge.levels(now),
            near_reserve: self.near_reserve.was(),
            preflight: self.clearance(now),
            rules: self.rules_clearance(now),
            plan: self.keeper.stage(self.named_plan()),
            terminating: self.terminating,
            lent: self.lending.flies(),
            rest: self.rest,
            now,
        }
    }

    fn next_step(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        let verdict = converge(&self.situation(now));
        self.activity = verdict.activity;
        self.log_changes(now);
        let step = verdict.step;
        let kind = step.kind()?;
        let identity = self.vehicle.identity.clone()?;
        if self.link_up.is_none() {
            self.memory.ended(kind, &Outcome::NotSent, now, jitter);
            return None;
        }
        // Where it would return to may be anywhere; and PX4 takes the altitude of a takeoff above mean sea level.
        if matches!(step, Step::Arm(_)) && !self.knows_home() {
            debug!("not arming yet: home is not known");
            return None;
        }
        let command = match recipe::command(&step, identity.autopilot, self.vehicle.home) {
            Ok(command) => command,
            Err(why) => {
                warn!(step = ?kind, %why, "command not sent");
                self.memory.ended(kind, &Outcome::NotSent, now, jitter);
                return None;
            }
        };
        self.end(&Outcome::NoAnswer, now, jitter);
        info!(step = ?kind, "commanding the vehicle");
        self.memory.began(kind, now);
        self.trace.sent(kind, now);
        if matches!(kind, StepKind::FailsafeLand | StepKind::FailsafeReturn) {
            let low = self.activity == Activity::LowBattery;
            let why = if low {
                Diverted::LowBattery
            } else {
                Diverted::CoordinatorLoss
            };
            self.state.record = self.state.record.diverted(why);
        }
        match &step {
            Step::TakeOff { altitude } | Step::ChangeHeight { altitude, .. } => self.memory.asks_for(*altitude),
            Step::FlyTo { place } => self.memory.asks_for_place(*place),
            Step::SetSpeed { speed } => self.memory.asks_for_speed(*speed),
            _ => {}
        }
        if kind == StepKind::TakeOff {
            self.state.record = self.state.record.lifting();
        }
        if kind == StepKind::Arm {
            self.armed_in_this_life = true;
            self.state.record = self.state.record.arming();
        }
        self.commands_plan(&step, now);
        // The agent that serves the vehicle after us must know that its descent is ours.
        self.observe(now);
        let permit = match step {
            Step::Arm(permit) => Some(permit),
            Step::AskReasons => {
                self.normalizer.asked_for_checks();
                None
            }
            _ => None,
        };
        let patience = Patience::for_step(kind);
        let (outstanding, message) = Outstanding::begin(Purpose::Step(kind), identity, command, patience, now);
        self.outstanding = Some(match self.given_up.take() {
            Some(before) => outstanding.in_place_of(&before),
            None => outstanding,
        });
        // The next life of the agent must know the mission for its own, and that the vehicle may have flown.
        let once_remembered = matches!(kind, StepKind::FlyPlan | StepKind::TakeOff);
        Some(Outgoing {
            once_remembered,
            ..self.outgoing(message, permit)
        })
    }

    fn next_request(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        if self.outstanding.is_some() || self.link_up.is_none() || !self.vehicle.link_alive(now) {
            return None;
        }
        let identity = self.vehicle.identity.clone()?;
        let ask = self.streams.next(now)?;
        self.streams.requested(ask, now, jitter);
        let (outstanding, message) = Outstanding::begin(
            Purpose::Stream(ask),
            identity,
            ask.command(),
            Patience::for_request(),
            now,
        );
        self.outstanding = Some(outstanding);
        Some(self.outgoing(message, None))
    }

    /// Parameters are read for a Drone that asks for it, on the ground, where there is time. In the air only those are read that an
    /// agent which was restarted knows nothing of. Without such a Drone it is those alone that say where the vehicle may be, also by its
    /// failsafes.
    fn next_parameter(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        let wanted = self.preflight_policy() != Preflight::Ignore;
        self.link_up?;
        let again = match self.vehicle.truth(now) {
            FlightTruth::Disarmed => true,
            FlightTruth::ArmedOnGround | FlightTruth::Airborne(_) => false,
            FlightTruth::Unknown(_) => return None,
        };
        let identity = self.vehicle.identity.as_ref()?;
        if !wanted {
            let message = self.preflight.next_of_place(identity, again, now, jitter)?;
            return Some(self.aside(message));
        }
        let ours = Ours {
            heartbeat: self.ground_station.is_some(),
            loss: self.failsafe().after,
        };
        self.preflight.compare_with(ours, identity.autopilot, now);
        let message = self.preflight.next(identity, again, now, jitter)?;
        Some(self.aside(message))
    }

    fn preflight_policy(&self) -> Preflight {
        let held = self.state.fence.held.as_ref();
        held.map_or(Preflight::Ignore, |a| a.failsafe.preflight)
    }

    fn clearance(&self, now: Moment) -> Clearance {
        // The levels are those of the last reading, which `observe` has taken in.
        clearance(
            self.preflight_policy(),
            self.preflight.findings(),
            self.gauge.levels(now).latest,
            self.doubts.any(),
        )
    }

    fn failsafe(&self) -> Failsafe {
        let held = self.state.fence.held.as_ref();
        held.map_or_else(Failsafe::default, |held| held.failsafe)
    }

    fn heartbeat(&mut self, now: Moment) -> Option<Outgoing> {
        let up = self.link_up?;
        let known = self.discovery.latched().is_some();
        let due = self.last_heartbeat.is_none_or(|at| now.since(at) >= HEARTBEAT_EVERY);
        // While an autopilot is heard and not known to be ours, its system id is not ours to use.
        let early = now.since(up) < SPEAK_FIRST_AFTER || self.discovery.has_candidates();
        if !due || (!known && early) {
            return None;
        }
        self.last_heartbeat = Some(now);
        Some(self.aside(our_heartbeat()))
    }

    fn deadman(&mut self, now: Moment) -> Option<Outgoing> {
        let grace = contact::grace(self.failsafe().after);
        let system = self
            .ground_station
            .filter(|_| self.contact.confirmed_within(grace, now))?;
        let due = self
            .last_ground_station
            .is_none_or(|at| now.since(at) >= HEARTBEAT_EVERY);
        if !due || self.link_up.is_none() || self.discovery.latched().is_none() {
            return None;
        }
        self.last_ground_station = Some(now);
        Some(Outgoing {
            from: Address {
                system,
                component: GROUND_STATION_COMPONENT,
            },
            ..self.aside(ground_station_heartbeat())
        })
    }

    /// A message that is no command: its end is not waited for.
    fn aside(&mut self, message: MavMessage) -> Outgoing {
        self.handed_out_command = false;
        Outgoing {
            from: self.from(),
            message,
            within: WRITE_WITHIN,
            permit: None,
            once_remembered: false,
            on_ground_until: None,
        }
    }

    pub fn from(&self) -> Address {
        let system = self.discovery.latched().map_or(SYSTEM_AT_FIRST, |id| id.system);
        Address {
            system,
            component: OUR_COMPONENT,
        }
    }

    fn outgoing(&mut self, message: MavMessage, permit: Option<ArmPermit>) -> Outgoing {
        let within = if permit.is_some() {
            WRITE_ARM_WITHIN
        } else {
            WRITE_WITHIN
        };
        self.handed_out_command = true;
        Outgoing {
            from: self.from(),
            message,
            within,
            permit,
            once_remembered: false,
            on_ground_until: None,
        }
    }

    fn progress(&mut self, progress: Option<Progress>, now: Moment, jitter: f64) {
        match progress {
            None | Some(Progress::Waiting) => {}
            Some(Progress::Send(message)) => self.to_send = Some(*message),
            Some(Progress::Ended(outcome)) => {
                self.unsigned_ended(&outcome);
                self.end(&outcome, now, jitter);
            }
        }
    }

    fn end(&mut self, outcome: &Outcome, now: Moment, jitter: f64) {
        self.to_send = None;
        let Some(ended) = self.outstanding.take() else { return };
        match ended.purpose {
            Purpose::Step(kind) => {
                match outcome {
                    Outcome::Accepted => info!(step = ?kind, "command accepted"),
                    Outcome::Refused { result } => warn!(step = ?kind, result, "command refused"),
                    Outcome::NoAnswer => warn!(step = ?kind, "command not answered; going by what the vehicle does"),
                    Outcome::NotSent => warn!(step = ?kind, "command not sent: the link is down or too slow"),
                }
                self.memory.ended(kind, outcome, now, jitter);
                self.trace.answered(kind, outcome, now);
                self.plan_answered(kind, outcome, now);
                if kind == StepKind::Arm {
                    self.refusal = refusal::after(self.refusal.take(), outcome, now);
                }
                // What the next step waits for is asked for, rather than awaited.
                match (kind, outcome) {
                    (StepKind::SetStation | StepKind::FlyPlan | StepKind::Hold | StepKind::Stop, Outcome::Accepted) => {
                        self.streams.hurry(Needed::BeatNow)
                    }
                    (StepKind::AskReasons, Outcome::Accepted) => {
                        self.normalizer.checks_ran();
                        if self.vehicle.ready.is_none() {
                            self.streams.hurry(Needed::ReadyNow);
                        }
                    }
                    _ => {}
                }
            }
            Purpose::Stream(request) => {
                let Request { needed, how } = request;
                debug!(want = ?needed, ?how, ?outcome, "asked for a message");
                self.streams.ended(request, *outcome == Outcome::Accepted, now);
            }
            Purpose::Descriptions => self.descriptions.answered(outcome, now, jitter),
            Purpose::Reboot => info!(?outcome, "asked the autopilot to reboot, so that parameters count"),
        }
    }

    /// Whether no HEARTBEAT came for so long that another airframe may have been connected since.
    fn was_silent(&self, now: Moment) -> bool {
        let beat = self.vehicle.heartbeat.as_ref();
        beat.is_none_or(|beat| beat.fresh(now, TRUTH_STALE_AFTER).is_none())
    }

    /// Whether the airframe on the wire is the one that serves the Drone held.
    fn airframe(&self) -> Airframe {
        let held = self.state.fence.held.as_ref();
        held.map_or(Airframe::Same, |held| self.state.record.airframe(held, &self.vehicle))
    }

    fn observe(&mut self, now: Moment) {
        self.know_lent();
        self.know_unsigned();
        self.memory.observe(&self.vehicle, now);
        // What another airframe does says nothing of the Drone's flight.
        let airframe = self.airframe();
        let unread = airframe == Airframe::Unread;
        self.unread_since = unread.then(|| self.unread_since.unwrap_or(now));
        if airframe == Airframe::Another {
            self.passes_program = false;
            return;
        }
        self.observe_plan(now);
        let reserve = self.failsafe().reserve;
        self.gauge.observe(self.vehicle.battery.as_ref(), reserve);
        let truth = self.vehicle.truth(now);
        self.count_alone(truth, now);
        self.count_low(truth, now);
        self.state.home_before = match truth {
            FlightTruth::Airborne(_) => self.state.home_before.or_else(|| self.normalizer.home_before_flight()),
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => None,
            FlightTruth::Unknown(_) => self.state.home_before,
        };
        self.near_reserve
            .observe(self.vehicle.battery.as_ref(), reserve, truth, now);
        self.state.near_reserve = self.near_reserve.was();
        self.doubts.observe(&self.vehicle.batteries, truth, now);
        if truth == FlightTruth::Disarmed {
            self.preflight.forget_old(now);
            self.gauge.forget_old(now);
        }
        let held = self.state.fence.held.as_ref();
        self.trace.observe(held, truth, now);
        let record = self.state.record.identified(held, &self.vehicle);
        let landing_ours = self.memory.landing_ours();
        let late = self.memory.may_be_late(now) && !landing_ours;
        // What waits for a slow disk stays as it is written, until it is known to be there.
        let is_open = self.memory.arm_under_way(now) || (self.memory.is_arm_unsent(now) && !self.terminating);
        let record = record.after_arming(truth, self.armed_in_this_life, is_open);
        let record = record.after_takeoff(truth, self.memory.stayed_down(), late);
        let record: FlightRecord = record.observed(held, truth, landing_ours);
        let down = self.situation(now).wants_ground();
        let mode = self.vehicle.mode(now);
        let record = record.watched(held, truth, mode, self.descent_sent(), down);
        // In whichever mode: who has armed it flies it, and who takes it on the ground wants it down.
        let on_ground = self.memory.others_take_it_on_ground() && !record.killed;
        let others = held.is_some() && (self.memory.others_take_off(&self.vehicle, now) || on_ground);
        let record = match others {
            true => record.commanded_by(held, InCommand::SomebodyElse),
            false => record,
        };
        if held.is_some_and(|held| record.let_go(held) && !self.state.record.let_go(held)) {
            warn!(
                ?mode,
                takeovers = record.takeovers,
                "somebody else has taken over; nothing is sent until ordered to go on"
            );
        }
        let leaves = matches!(truth, FlightTruth::Airborne(_)) && mode.is_some_and(|mode| !flies_routes(mode));
        if leaves && held.is_some_and(|held| held.route.is_some()) {
            warn!(?mode, "the vehicle has left its route; it is not taken up again");
            self.state.fence = self.state.fence.without_route();
        }
        self.observe_lending(now);
        self.observe_stop(now);
        let held = self.state.fence.held.as_ref();
        let route = held.and_then(|held| held.route.as_ref());
        if self.memory.follow(route, &self.vehicle, now) == Following::Lost {
            warn!("the vehicle is not on its route; it stays where it is until it is granted another");
            self.lost = route.cloned();
            self.state.fence = self.state.fence.without_route();
        }
        let held = self.state.fence.held.as_ref();
        self.state.progress = self.memory.progress();
        let record = record.explained(&self.vehicle, now);
        if let Some(diversion) = record
            .diversion
            .as_ref()
            .filter(|_| record.diversion != self.state.record.diversion)
        {
            warn!(why = ?diversion.why, words = diversion.words, "the flight is not what was ordered");
        }
        // An arm command that shows as a flight is not open any more.
        let may_be_ours =
            held.is_some_and(|held| self.state.record.may_have_armed(held) || record.may_have_armed(held));
        self.memory
            .watch_others(held.is_some(), may_be_ours, &self.vehicle, now);
        self.state.others_flew = self.others_flew(now).is_some();
        self.state.unrested = self.memory.is_unrested(self.rest.settle, now);
        let asked = self.asked(&record);
        let before = self.watch.astray();
        self.watch.observe(&self.vehicle, asked, now);
        if let Some(astray) = self.watch.astray().filter(|_| before.is_none()) {
            warn!(?astray, "the vehicle is not where it should be");
        }
        self.stand_down(&record, now);
        self.state.record = record;
        let identity = self.vehicle.identity.as_ref();
        self.state.vehicle = identity.map(Identity::address).or(self.state.vehicle);
    }

    /// What is asked of the vehicle, as far as altitudes go.
    fn asked(&self, record: &FlightRecord) -> Option<Asked> {
        let held = self.state.fence.held.as_ref()?;
        // Its heights are those of the plan, or of the program.
        if held.plan.is_some() || held.route.as_ref().is_some_and(|route| route.room.is_some()) {
            return None;
        }
        let ours = record.in_command != InCommand::SomebodyElse && !record.let_go(held);
        let end = held.route.as_ref().and_then(RouteOrder::end);
        let (height, place) = match (held.desired, end, self.vehicle.home) {
            (Desired::Flying { .. }, Some(end), Some(home)) => (AltitudeAboveHome(end.amsl.0 - home.0), Some(end.at)),
            // It stays wherever it is.
            (Desired::Flying { .. }, ..) if held.routed => return None,
            (Desired::Flying { altitude }, ..) => (altitude, None),
            (Desired::Grounded { .. }, ..) => (self.memory.height()?, None),
        };
        Some(Asked {
            height,
            place,
            moves: place.is_some() && self.next_place().is_none_or(|left| left > 0),
            ours,
        })
    }

    /// `None`: it has no route, or is not on it.
    fn next_place(&self) -> Option<usize> {
        let route = self.state.fence.held.as_ref()?.route.as_ref()?;
        let progress = self.memory.progress().filter(|p| p.number == route.number)?;
        route.places.len().checked_sub(progress.next)
    }

    fn log_changes(&mut self, now: Moment) {
        let (truth, activity) = (self.vehicle.truth(now), self.activity);
        self.follow_flight(truth);
        if self.logged == Some((truth, activity)) {
            return;
        }
        self.logged = Some((truth, activity));
        let mode = self.vehicle.heartbeat.as_ref().map(|h| h.value.mode.label.as_str());
        info!(vehicle = ?truth, ?activity, mode, "phase changed");
    }
}
