//! What is broken, and which tests must notice.
//!
//! Owns: the table, by the numbers of the safety invariants of the design. Must not: hold a text that is not in its file
//! exactly once; the run fails then, so that the table keeps in step with the code.

/// A rule to break.
pub struct Mutation {
    /// The safety invariant.
    pub invariant: u8,
    /// What the broken program does.
    pub name: &'static str,
    /// The file.
    pub file: &'static str,
    /// The present text, which is there once.
    pub find: &'static str,
    /// The text in its place.
    pub replace: &'static str,
    /// Arguments of `cargo test`.
    pub tests: &'static [&'static str],
}

impl Mutation {
    /// Whether the quick tests must notice it.
    pub fn quick(&self) -> bool {
        self.tests == FLEET || self.tests == AGENT
    }
}

const FLEET: &[&str] = &["--package", "skein-model", "--package", "skein-fleet"];
const AGENT: &[&str] = &[
    "--package",
    "skein-agent",
    "--lib",
    "--test",
    "flight",
    "--test",
    "pilot",
    "--test",
    "interleavings",
    "--test",
    "plans",
];

/// The simulated network under its first 20 seeds. Of each it is said by which seed it was first found.
const NETWORK: &[&str] = &["--package", "skein-tests", "--test", "network"];

const SAFETY: &str = "crates/fleet/src/safety.rs";
const CONVERGE: &str = "crates/fleet/src/flight/converge.rs";
const ASSIGNMENT: &str = "crates/model/src/assignment.rs";
const FRESHNESS: &str = "crates/fleet/src/planning/freshness.rs";
const GROUND_ORDER: &str = "crates/fleet/src/planning/ground_order.rs";
const FOLLOWING: &str = "crates/fleet/src/flight/following.rs";
const CLAIM: &str = "crates/fleet/src/airspace/claim.rs";

/// Those that need the least time: tests of `model` and `fleet` alone notice them.
pub const SHORT: &[&str] = &[
    "arms a vehicle that is not known to be on the ground",
    "stops the motors of another Drone's vehicle",
    "forgets a ground order that is recorded nowhere yet",
];

/// All of them.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        invariant: 1,
        name: "arms for a leadership that was superseded",
        file: SAFETY,
        find: "if held.term < q.highest_term {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms on an assignment that is only on the disk",
        file: SAFETY,
        find: "if !q.confirmed {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms on what may be of before its process was stopped",
        file: SAFETY,
        find: "if q.behind {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms a vehicle that is not known to be on the ground",
        file: SAFETY,
        find: "if q.vehicle.truth(q.now) != FlightTruth::Disarmed {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms over a link that is not fresh",
        file: SAFETY,
        find: "if beat.is_none_or(|h| h.fresh(q.now, FRESH_FOR_ARMING).is_none()) {",
        replace: "if beat.is_none() {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms a vehicle whose checks do not pass",
        file: SAFETY,
        find: "if q.vehicle.ready(q.now) != Some(true) {",
        replace: "if q.vehicle.ready(q.now).is_none() {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "believes arming checks reported in another mode",
        file: "agent/src/normalize.rs",
        find: "        vehicle.ready = None;\n",
        replace: "",
        tests: AGENT,
    },
    Mutation {
        invariant: 2,
        name: "an arm command lives ten seconds",
        file: SAFETY,
        find: "pub const ARM_LIFE: Duration = Duration::from_secs(2);",
        replace: "pub const ARM_LIFE: Duration = Duration::from_secs(10);",
        tests: FLEET,
    },
    Mutation {
        invariant: 2,
        name: "an arm permit never expires",
        file: SAFETY,
        find: "if now.since(self.issued) <= ARM_LIFE {",
        replace: "if now.since(self.issued) < Duration::MAX {",
        tests: FLEET,
    },
    Mutation {
        invariant: 2,
        name: "an arm command is sent again when it is not answered",
        file: "agent/src/command.rs",
        find: "StepKind::Arm => (1, 2000),",
        replace: "StepKind::Arm => (3, 700),",
        tests: AGENT,
    },
    Mutation {
        invariant: 3,
        name: "takes another Drone while the vehicle serves one",
        file: ASSIGNMENT,
        find: "(Order::Assigned(new), Some(held)) if new.uid != held.uid && !settled => {",
        replace: "(Order::Assigned(new), Some(held)) if new.uid != held.uid && !settled && false => {",
        tests: FLEET,
    },
    Mutation {
        invariant: 3,
        name: "binds a node that serves another Drone",
        file: "crates/fleet/src/planning/binding.rs",
        find: "if c.taken {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 3,
        name: "arms another airframe on the same wire",
        file: "crates/fleet/src/safety.rs",
        find: "if q.record.airframe(held, q.vehicle) != Airframe::Same {",
        replace: "if false && q.record.airframe(held, q.vehicle) != Airframe::Same {",
        tests: FLEET,
    },
    Mutation {
        invariant: 3,
        name: "commands another airframe on the same wire",
        file: "crates/fleet/src/flight/converge.rs",
        find: "if s.record.airframe(held, s.vehicle) == Airframe::Another {",
        replace: "if false && s.record.airframe(held, s.vehicle) == Airframe::Another {",
        tests: AGENT,
    },
    Mutation {
        invariant: 3,
        name: "takes another vehicle for the one that serves the Drone",
        file: "agent/src/discovery.rs",
        find: "Some(ours) if ours != Address::new(system, header.component_id) => {",
        replace: "Some(ours) if ours == Address::new(0, 0) => {",
        tests: AGENT,
    },
    Mutation {
        invariant: 4,
        name: "lets a Drone go before its vehicle is down",
        file: SAFETY,
        find: "if held.settled && report.truth == FlightTruth::Disarmed {",
        replace: "if held.settled || report.truth != FlightTruth::Disarmed {",
        tests: FLEET,
    },
    Mutation {
        invariant: 4,
        name: "lets a Drone go on an earlier order to be on the ground",
        file: SAFETY,
        find: "h.term == desired.term && h.generation >= desired.generation;",
        replace: "h.term <= desired.term;",
        tests: FLEET,
    },
    Mutation {
        invariant: 4,
        name: "takes a vehicle for settled while an arm command is under way",
        file: SAFETY,
        find: "truth == FlightTruth::Disarmed && !arm_under_way",
        replace: "truth == FlightTruth::Disarmed",
        tests: AGENT,
    },
    Mutation {
        invariant: 5,
        name: "disarms instead of arming",
        file: "agent/src/recipe.rs",
        find: "Command::long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, [1.0, 0.0, 0.0, 0.0])",
        replace: "Command::long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, [0.0, 0.0, 0.0, 0.0])",
        tests: AGENT,
    },
    Mutation {
        invariant: 5,
        name: "stops the motors of another Drone's vehicle",
        file: "crates/model/src/kill.rs",
        find: "q.held.filter(|held| held.uid == q.order.uid)",
        replace: "q.held.filter(|held| !held.uid.0.is_empty())",
        tests: FLEET,
    },
    Mutation {
        invariant: 5,
        name: "carries out a kill that came before",
        file: "crates/model/src/kill.rs",
        find: "if q.used.has(q.order.nonce) {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 5,
        name: "takes the vehicle back from a pilot",
        file: "crates/model/src/takeover.rs",
        find: "takeovers > resume_after",
        replace: "takeovers > resume_after.saturating_add(1)",
        tests: FLEET,
    },
    Mutation {
        invariant: 6,
        name: "does nothing when the coordinator is lost",
        file: CONVERGE,
        find: "held.is_some_and(|a| self.uplink_silent >= a.failsafe.after)",
        replace: "held.is_some_and(|_| self.uplink_silent == Duration::MAX)",
        tests: FLEET,
    },
    Mutation {
        invariant: 6,
        name: "takes an open stream for contact",
        file: "agent/src/contact.rs",
        find: "        self.order_received = false;\n        self.confirmed = false;\n",
        replace: "        self.confirmed = false;\n",
        tests: AGENT,
    },
    Mutation {
        invariant: 6,
        name: "plays the ground station for ever once it was confirmed",
        file: "agent/src/contact.rs",
        find: "|until| now.since(until) <= grace)",
        replace: "|_| true)",
        tests: AGENT,
    },
    Mutation {
        invariant: 7,
        name: "arms with a battery that nothing is known of",
        file: "crates/fleet/src/flight/preflight.rs",
        find: "Preflight::Refuse if battery == Level::Unknown => Clearance::Problems,",
        replace: "Preflight::Refuse if battery == Level::Unknown => Clearance::Clear,",
        tests: FLEET,
    },
    Mutation {
        invariant: 7,
        name: "arms although the autopilot's own failsafes are off",
        file: "crates/fleet/src/flight/preflight.rs",
        find: "Preflight::Refuse if !findings.problems.is_empty() => Clearance::Problems,",
        replace: "Preflight::Refuse if !findings.problems.is_empty() => Clearance::Clear,",
        tests: FLEET,
    },
    Mutation {
        invariant: 7,
        name: "plays the ground station although the coordinator is gone",
        file: "agent/src/pilot.rs",
        find: ".filter(|_| self.contact.confirmed_within(grace, now))?",
        replace: "?",
        tests: AGENT,
    },
    Mutation {
        invariant: 8,
        name: "an ending agent leaves its vehicle up",
        file: CONVERGE,
        find: "Desired::Flying { altitude } if !s.terminating => match truth {",
        replace: "Desired::Flying { altitude } => match truth {",
        tests: AGENT,
    },
    Mutation {
        invariant: 8,
        name: "an ending agent does not wait for the touchdown",
        file: "agent/src/pilot.rs",
        find: "self.state.fence.held.is_none()\n            || safety::settled(truth, under_way)",
        replace: "self.state.fence.held.is_none()\n            || true\n            || safety::settled(truth, under_way)",
        tests: AGENT,
    },
    Mutation {
        invariant: 9,
        name: "forgets a ground order that is recorded nowhere yet",
        file: "crates/model/src/ground.rs",
        find: "Some(GroundMark::Given(id)) if ordered => Some(id),",
        replace: "Some(GroundMark::Given(_)) if ordered => None,",
        tests: FLEET,
    },
    Mutation {
        invariant: 9,
        name: "flies an assignment while a ground order is kept",
        file: ASSIGNMENT,
        find: "(Some(_), Desired::Flying { .. }) => Desired::Grounded {",
        replace: "(Some(_), Desired::Flying { altitude }) if altitude.0 < 0.0 => Desired::Grounded {",
        tests: FLEET,
    },
    Mutation {
        invariant: 9,
        name: "arms under a ground order",
        file: SAFETY,
        find: "if q.ground_latch.is_some() {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 9,
        name: "orders agents to fly under a ground order",
        file: "crates/fleet/src/planning/drone.rs",
        find: "(true, _) | (_, Some(true)) => Self::Ordered,",
        replace: "(true, _) | (_, Some(true)) => Self::No,",
        tests: FLEET,
    },
    Mutation {
        invariant: 10,
        name: "takes off with an empty battery",
        file: SAFETY,
        find: "if q.battery >= Level::Low {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 10,
        name: "flies on with an empty battery",
        file: CONVERGE,
        find: "(Level::Low, OnLowBattery::Return) if !exhausted => Some(Step::FailsafeReturn),",
        replace: "(Level::Low, OnLowBattery::Return) if !exhausted => None,",
        tests: FLEET,
    },
    Mutation {
        invariant: 10,
        name: "takes off again after it landed by itself",
        file: SAFETY,
        find: "if q.record.stage == Stage::Over && q.record.uid.as_ref() == Some(&held.uid) {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 10,
        name: "binds a node that is cordoned",
        file: "crates/fleet/src/planning/binding.rs",
        find: "if c.cordoned {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 9,
        name: "lets a Swarm fly that was made after everything was grounded",
        file: GROUND_ORDER,
        find: "            Scope::All => true,",
        replace: "            Scope::All => false,",
        tests: FLEET,
    },
    Mutation {
        invariant: 9,
        name: "gives the vehicle of a grounded Swarm that was deleted to another",
        file: GROUND_ORDER,
        find: "(named || self.nodes.contains(node)) && !self.exceptions.contains(node)",
        replace: "named && !self.exceptions.contains(node)",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "orders a leg through the airspace of others",
        file: SAFETY,
        find: "if !in_the_way.is_empty() && !claims.leads_away(vehicle, &route) {",
        replace: "if in_the_way.len() > 1 && !claims.leads_away(vehicle, &route) {",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "lets go of a route although the order to fly it may still arrive",
        file: CLAIM,
        find: "let under_way = observed.order < self.granted;",
        replace: "let under_way = false;",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "lets go of the rest of the leg that a vehicle flies",
        file: "crates/fleet/src/airspace/route.rs",
        find: "self.places.iter().skip(now + 1).copied()",
        replace: "self.places.iter().skip(now + 2).copied()",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "sends a place of a route as a height above home",
        file: "agent/src/recipe.rs",
        find: "form: Form::Int(MavFrame::MAV_FRAME_GLOBAL),",
        replace: "form: int,",
        tests: AGENT,
    },
    Mutation {
        invariant: 11,
        name: "moves vehicles before each that is known was heard",
        file: CLAIM,
        find: "return self.known.last.clone().unwrap_or(Volume::Everywhere);",
        replace: "return self.known.last.clone().unwrap_or(Volume::Tubes(Vec::new()));",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "forgets that a silent vehicle may come home",
        file: CLAIM,
        find: "let claimed = claimed.and(falls_back);",
        replace: "let _ = falls_back;",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "grants a route and does not claim its airspace",
        file: "crates/fleet/src/airspace/claims.rs",
        find: "        self.refresh(vehicle, now);\n        number\n",
        replace: "        let _ = now;\n        number\n",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "lands a vehicle for its Drone's end wherever it may be",
        file: "crates/fleet/src/planning/drone/order.rs",
        find: "if way_home == Some(WayHome::Unknown)\n",
        replace: "if way_home == Some(WayHome::Unknown) && false\n",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "takes off without a station below one that holds",
        file: "crates/fleet/src/planning/site/takeoff.rs",
        find: "Some(way) if known.is_some() || self.is_clear(node, &way, vehicles) => {",
        replace: "Some(way) if known.is_some() || self.is_clear(node, &way, vehicles) || true => {",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "sends a route past one that a leader may have ordered to fly unseen",
        file: "crates/fleet/src/planning/drone/desire.rs",
        find: "SoFar::Fresh | SoFar::Flown => true,\n        SoFar::Over | SoFar::Killed => false,",
        replace: "SoFar::Flown => true,\n        SoFar::Fresh | SoFar::Over | SoFar::Killed => false,",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "lets go of the rest of a route when it orders a stop",
        file: "crates/fleet/src/airspace/claims.rs",
        find: "            entry.granted = number;\n",
        replace: "            entry.granted = number;\n            if let State::Air { way, .. } = &mut entry.state {\n                *way = way.first(0.0);\n            }\n",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "flies a formation through the airspace of others",
        file: SAFETY,
        find: "if !in_the_way.is_empty() && !claims.leads_away(vehicle, &route) {",
        replace: "if in_the_way.len() > 1 && !claims.leads_away(vehicle, &route) {",
        tests: NETWORK,
    },
    Mutation {
        invariant: 11,
        name: "lets go of the rest of the leg that a vehicle of a formation flies",
        file: "crates/fleet/src/airspace/route.rs",
        find: "self.places.iter().skip(now + 1).copied()",
        replace: "self.places.iter().skip(now + 2).copied()",
        tests: NETWORK,
    },
    Mutation {
        invariant: 11,
        name: "grants routes of a formation and does not claim their airspace",
        file: "crates/fleet/src/airspace/claims.rs",
        find: "        self.refresh(vehicle, now);\n        number\n",
        replace: "        let _ = now;\n        number\n",
        tests: NETWORK,
    },
    Mutation {
        invariant: 16,
        name: "acts on caches that were filled before it led",
        file: FRESHNESS,
        find: "        matches!(self, Self::Current)\n",
        replace: "        matches!(self, Self::Current | Self::BeforeLeading)\n",
        tests: FLEET,
    },
    Mutation {
        invariant: 16,
        name: "moves vehicles by caches that were filled before it led",
        file: FRESHNESS,
        find: "if held.settled { grounded } else { same }",
        replace: "grounded == held.grounded",
        tests: FLEET,
    },
    Mutation {
        invariant: 16,
        name: "begins a flight without asking the API server",
        file: FRESHNESS,
        find: "    matches!(a.desired, Desired::Flying { .. }) && !flies && !goes_on\n",
        replace: "    matches!(a.desired, Desired::Flying { .. }) && held.is_none() && !goes_on\n",
        tests: FLEET,
    },
    Mutation {
        invariant: 16,
        name: "flies by a store that was restored from a backup",
        file: FRESHNESS,
        find: "if older || twice || now.term < before.term {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 16,
        name: "leads by a term that was taken twice",
        file: FRESHNESS,
        find: "if older || twice || now.term < before.term {",
        replace: "if older || now.term < before.term {",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "lets three captured agents use up the terms",
        file: "crates/fleet/src/planning/deposition.rs",
        find: "agreed.0.saturating_sub(ours.0) <= LEAP && !raised",
        replace: "ours < agreed",
        tests: FLEET,
    },
    Mutation {
        invariant: 1,
        name: "arms a vehicle that has just landed",
        file: SAFETY,
        find: "if q.since_armed.is_some_and(|ago| ago < q.rest.settle) {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 12,
        name: "arms while a rule that selects the vehicle is not in force",
        file: SAFETY,
        find: "if q.rules != RulesClearance::Clear {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 12,
        name: "takes other rules in force for the ones that were selected",
        file: "crates/model/src/rules.rs",
        find: "if report.in_force && report.held.as_ref() == Some(named) => {",
        replace: "if report.in_force && report.held.is_some() => {",
        tests: FLEET,
    },
    Mutation {
        invariant: 13,
        name: "takes what was flown for another Drone for flown",
        file: "agent/src/plan.rs",
        find: "if self.memory.drone.as_ref() != drone {",
        replace: "if self.memory.drone.is_none() && drone.is_some() {",
        tests: AGENT,
    },
    Mutation {
        invariant: 13,
        name: "takes a place for reached where the autopilot has only gone on",
        file: FOLLOWING,
        find: "self.linked = self.was_at(index, now);",
        replace: "self.linked = true;",
        tests: FLEET,
    },
    Mutation {
        invariant: 13,
        name: "takes a place for reached that only the autopilot says it has reached",
        file: FOLLOWING,
        find: "let arrived = !is_flown_to(item.command) || self.was_at(index, now);",
        replace: "let arrived = true;",
        tests: FLEET,
    },
    Mutation {
        invariant: 13,
        name: "takes a leg for flown of which only the end was reached",
        file: "crates/fleet/src/planning/mission/cut.rs",
        find: "if reached(*before) && reached(*item) => Some(done),",
        replace: "if reached(*before) || reached(*item) => Some(done),",
        tests: FLEET,
    },
    Mutation {
        invariant: 13,
        name: "takes all of a part for flown when its vehicle leaves",
        file: "crates/fleet/src/planning/mission/progress.rs",
        find: "progress.flown = progress.flown.and(&part.flown);",
        replace: "progress.flown = progress.flown.and(&part.stretches);",
        tests: FLEET,
    },
    Mutation {
        invariant: 13,
        name: "flies another mission that is on the autopilot as its own",
        file: "agent/src/plan/bring.rs",
        find: "let equal = alike(&self.wire(), items, autopilot);",
        replace: "let equal = alike(&self.wire(), items, autopilot) || !items.is_empty();",
        tests: AGENT,
    },
    Mutation {
        invariant: 14,
        name: "writes what could arm without a permit",
        file: "agent/src/outgoing.rs",
        find: "None if could_arm(&self.message) => Err(NotAllowed::ArmsWithoutPermit),",
        replace: "None if could_arm(&self.message) => Ok(()),",
        tests: AGENT,
    },
    Mutation {
        invariant: 14,
        name: "sets a mode with the flag that arms",
        file: "agent/src/recipe.rs",
        find: "Command::long(MavCmd::MAV_CMD_DO_SET_MODE, [1.0, 4.0, sub_mode, 0.0])",
        replace: "Command::long(MavCmd::MAV_CMD_DO_SET_MODE, [129.0, 4.0, sub_mode, 0.0])",
        tests: AGENT,
    },
    Mutation {
        invariant: 15,
        name: "overrides a failsafe that the autopilot executes",
        file: CONVERGE,
        find: "if !s.gives_way() {",
        replace: "if s.now >= Moment::default() {",
        tests: FLEET,
    },
    Mutation {
        invariant: 15,
        name: "repeats a command into a failsafe",
        file: CONVERGE,
        find: "|| (kind != StepKind::Arm && s.gives_way())",
        replace: "",
        tests: FLEET,
    },
    Mutation {
        invariant: 15,
        name: "takes the wait of PX4's failsafe for a hold of ours",
        file: "crates/model/src/failsafe.rs",
        find: "(Some(SystemState::Critical), Some(Autopilot::Px4)) => true,",
        replace: "(Some(SystemState::Critical), Some(Autopilot::Px4)) => announced,",
        tests: FLEET,
    },
    Mutation {
        invariant: 15,
        name: "lands for a deletion before the failsafe has had time to act",
        file: SAFETY,
        find: "}) => q.since.is_none_or(|since| q.now.since(since) < DELETION_WAITS),",
        replace: "}) => q.since.is_none(),",
        tests: FLEET,
    },
    Mutation {
        invariant: 15,
        name: "does not believe that PX4 is in a critical state",
        file: "agent/src/normalize.rs",
        find: "MavState::MAV_STATE_CRITICAL => SystemState::Critical,",
        replace: "MavState::MAV_STATE_CRITICAL => SystemState::Normal,",
        tests: AGENT,
    },
    Mutation {
        invariant: 11,
        name: "flies a route that is older than the last",
        file: ASSIGNMENT,
        find: "let newer = |route: &RouteOrder| route.number > self.last_route;",
        replace: "let newer = |_: &RouteOrder| true;",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "takes off without a route",
        file: CONVERGE,
        find: "if held.routed && s.takeoff_height(held).is_none() {",
        replace: "if false {",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "sends vehicles to where an aircraft of others may be",
        file: "crates/fleet/src/planning/site.rs",
        find: "        self.hear_traffic(vehicles, now);\n",
        replace: "",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "takes off along a route that an aircraft has crossed",
        file: "crates/fleet/src/planning/site.rs",
        find: "        self.take_back(vehicles, now);\n",
        replace: "",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "flies on towards an aircraft that it is near already",
        file: "crates/fleet/src/airspace/danger.rs",
        find: " || self.leads_nearer(&vehicle, &there, now);",
        replace: ";",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "climbs past one that is near",
        file: "crates/fleet/src/airspace/danger.rs",
        find: "level && at.over_ground(start) - comes >= self.rules().pitch().horizontal.0",
        replace: "level && comes >= 0.0",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "lets one take off under a vehicle that was grounded in the air",
        file: "crates/fleet/src/planning/site/takeoff.rs",
        find: "|| (expected.roams && !is_down())",
        replace: "",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "takes off along a plan into whose way another has come",
        file: "crates/fleet/src/planning/site/takeoff.rs",
        find: "known && !self.takeoffs.crossed.contains(node)",
        replace: "known",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "changes a height in the air into the way of others",
        file: "crates/fleet/src/planning/site/takeoff.rs",
        find: "|| way.as_ref().is_none_or(is_clear) {",
        replace: "|| way.as_ref().is_none_or(|_| true) {",
        tests: FLEET,
    },
    Mutation {
        invariant: 11,
        name: "cuts the corners of a written mission",
        file: "crates/fleet/src/planning/mission/written.rs",
        find: "item::NAV_WAYPOINT if second > WIDEST.0 =>",
        replace: "item::NAV_WAYPOINT if false =>",
        tests: FLEET,
    },
    Mutation {
        invariant: 12,
        name: "loses an exclusion that is drawn in the other direction",
        file: "crates/fleet/src/planning/geofence/region.rs",
        find: "polygon(&Ring::new(Side::Outside, points.clone()).points);",
        replace: "polygon(points);",
        tests: FLEET,
    },
    Mutation {
        invariant: 12,
        name: "takes a fence that is switched off for one in force",
        file: "agent/src/rules/switch.rs",
        find: "self.is_off && wanted(",
        replace: "false && wanted(",
        tests: AGENT,
    },
    Mutation {
        invariant: 12,
        name: "arms on failsafes that were read for the Drone before",
        file: "agent/src/pilot.rs",
        find: "if drone(&fence) != drone(&self.state.fence) {",
        replace: "if false {",
        tests: AGENT,
    },
    // Found by seed 1.
    Mutation {
        invariant: 1,
        name: "takes the orders of a deposed coordinator, over a network",
        file: ASSIGNMENT,
        find: "if order.term() < highest {",
        replace: "if order.term() < highest && false {",
        tests: NETWORK,
    },
    // Found by seed 1. Both gates of arming go by it.
    Mutation {
        invariant: 2,
        name: "arms late, on an order of a stream that is gone",
        file: "agent/src/contact.rs",
        find: "        self.order_received = false;\n        self.confirmed = false;\n",
        replace: "        self.order_received = false;\n",
        tests: NETWORK,
    },
    // Found by seed 1.
    Mutation {
        invariant: 4,
        name: "lets a Drone go when its agent is silent, and another flies in its place",
        file: SAFETY,
        find: "let report = report.ok_or(NoRelease::AgentSilent)?;",
        replace: "let Some(report) = report else { return Ok(Release::Landed) };",
        tests: NETWORK,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_run_breaks_what_is_in_the_table_and_needs_the_tests_of_one_package() {
        for name in SHORT {
            let mutation = MUTATIONS.iter().find(|m| m.name == *name);
            assert!(mutation.is_some_and(|m| m.tests == FLEET), "{name}");
        }
    }

    #[test]
    fn every_invariant_is_broken_in_some_way_and_each_way_finds_its_place() {
        for invariant in 1..=16 {
            assert!(
                MUTATIONS.iter().any(|m| m.invariant == invariant),
                "invariant {invariant}"
            );
        }
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for mutation in MUTATIONS {
            let text = std::fs::read_to_string(root.join(mutation.file)).unwrap();
            assert_eq!(text.matches(mutation.find).count(), 1, "{}", mutation.name);
            assert_ne!(mutation.find, mutation.replace);
        }
    }
}
