//! A scripted agent: speaks the uplink protocol and moves a fake vehicle as ordered.

use futures::StreamExt;
use futures::channel::mpsc;
use model::assignment::{Desired, Fence, GroundedWhy, Order};
use model::plan::{FlightPlan, PassedBeside, PlanReport, PlanState, Reached};
use model::remote_id::{RemoteIdOrder, RemoteIdReport, Sending, Transmitter};
use model::report::RouteState;
use model::rules::{FenceState, Rules, RulesReport};
use proto::v1;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use v1::FlightTruth as Truth;

/// Vehicle with its agent's disk; outlives connections.
#[derive(Clone)]
pub struct Vehicle(Arc<Mutex<State>>);

pub struct State {
    pub node: String,
    pub hardware: String,
    pub truth: Truth,
    pub ready: bool,
    pub reasons: Vec<String>,
    pub class: v1::ReasonClass,
    /// Keeps this altitude above home, whatever is ordered.
    pub stuck_at: Option<f64>,
    pub battery: u32,
    pub obeys: bool,
    pub tick: Duration,
    /// Ticks between stages of its flight.
    pub pace: u64,
    pub lands: bool,
    pub fence: Fence,
    pub takeovers: u32,
    pub stand_down: Option<u32>,
    pub kills: Vec<v1::Kill>,
    pub orders: Vec<Order>,
    pub rules: Vec<Rules>,
    /// `None`: the last ones are in force at once.
    pub reported: Option<RulesReport>,
    pub remote_ids: Vec<RemoteIdOrder>,
    /// `None`: it sends the last order, and its transmitter is good to arm.
    pub remote_id: Option<RemoteIdReport>,
    pub home: (f64, f64),
    /// Latitude, longitude, meters above home; needed to fly plans and routes.
    pub at: Option<(f64, f64, f64)>,
    pub plans: Vec<FlightPlan>,
    pub reached: Reached,
    pub refuses: Option<String>,
    /// Ticks from item to item.
    pub leg: u64,
    pub waits_at: usize,
    route: RouteState,
    ticks: u64,
    /// The epoch of its clock: on a busy machine it misses ticks, and its reports are not late for that.
    began: Instant,
}

impl Vehicle {
    pub fn new(node: &str) -> Self {
        Self(Arc::new(Mutex::new(State::new(node))))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub fn flies(&self) -> bool {
        matches!(self.state().truth, Truth::TakingOff | Truth::InAir | Truth::Landing)
    }

    pub fn is_grounded_by_order(&self) -> bool {
        let ordered = Desired::Grounded {
            why: GroundedWhy::Ordered,
        };
        matches!(self.state().orders.last(), Some(Order::Assigned(last)) if last.desired == ordered)
    }

    pub fn ordered_to_fly_for(&self) -> Vec<String> {
        let flying = |order: &Order| match order {
            Order::Assigned(a) if matches!(a.desired, Desired::Flying { .. }) => Some(a.name.name.clone()),
            _ => None,
        };
        self.state().orders.iter().filter_map(flying).collect()
    }

    /// True after an order to the ground, or one without a Drone, since order number `from`.
    pub fn ordered_to_land_since(&self, from: usize) -> bool {
        self.state().orders[from..].iter().any(|order| match order {
            Order::Unassigned { .. } => true,
            Order::Assigned(a) => matches!(a.desired, Desired::Grounded { .. }),
        })
    }
}

impl State {
    pub fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            hardware: String::new(),
            truth: Truth::Disarmed,
            ready: true,
            reasons: vec![],
            class: v1::ReasonClass::Unspecified,
            stuck_at: None,
            battery: 80,
            obeys: true,
            tick: Duration::from_millis(100),
            pace: 2,
            lands: true,
            fence: Fence::default(),
            takeovers: 0,
            stand_down: None,
            kills: vec![],
            orders: vec![],
            rules: vec![],
            reported: None,
            remote_ids: vec![],
            remote_id: None,
            home: (47.0, 8.0),
            at: None,
            plans: vec![],
            reached: Reached::none(),
            refuses: None,
            leg: 2,
            waits_at: usize::MAX,
            route: RouteState::default(),
            ticks: 0,
            began: Instant::now(),
        }
    }

    pub fn hello(&self, life: u64) -> v1::FromAgent {
        from(v1::from_agent::Message::Hello(v1::Hello {
            node: self.node.clone(),
            agent_version: "test".into(),
            highest_term: self.fence.highest_term.0,
            life,
        }))
    }

    /// Meters above home.
    fn height(&self) -> f64 {
        match self.fence.held.as_ref().map(|held| held.desired) {
            Some(Desired::Flying { altitude }) if self.truth == Truth::InAir => self.stuck_at.unwrap_or(altitude.0),
            _ => 0.0,
        }
    }

    fn grounded(&self) -> Option<bool> {
        self.fence
            .held
            .as_ref()
            .map(|held| matches!(held.desired, Desired::Grounded { .. }))
    }

    pub fn step(&mut self) {
        self.ticks += 1;
        if !self.ticks.is_multiple_of(self.pace) {
            return;
        }
        self.truth = match (self.grounded(), self.truth) {
            (Some(false), Truth::Disarmed) if self.ready => Truth::ArmedOnGround,
            (Some(false), Truth::ArmedOnGround) => Truth::TakingOff,
            (Some(false), Truth::TakingOff | Truth::Landing) => Truth::InAir,
            (Some(true), Truth::InAir | Truth::TakingOff) if self.lands => Truth::Landing,
            (Some(true), Truth::Landing | Truth::ArmedOnGround) => Truth::Disarmed,
            (_, truth) => truth,
        };
        self.fly();
    }

    fn fly(&mut self) {
        let Some((latitude, longitude, _)) = self.at else {
            return;
        };
        let up = |item: &model::plan::item::Item| item.params[6].unwrap();
        if self.truth == Truth::Disarmed {
            self.at = Some((latitude, longitude, 0.0));
            return;
        }
        let Some(held) = self.fence.held.clone() else { return };
        if let Some(route) = held.route.filter(|route| route.number > self.route.last) {
            let end = route.places.last().unwrap();
            self.at = Some((end.at.latitude_deg, end.at.longitude_deg, end.amsl.0 - 490.0));
            let next = Some(route.places.len());
            (self.route.last, self.route.next, self.route.order) = (route.number, next, Some(route));
        } else if self.is_on_plan() && self.reached.count() < self.waits_at && self.ticks.is_multiple_of(self.leg) {
            let plan = self.plans.last().unwrap();
            let next = usize::from(self.reached.first_left());
            let Some(item) = plan.items.get(next) else { return };
            if item.place().is_some() {
                self.at = Some((item.params[4].unwrap(), item.params[5].unwrap(), up(item)));
            }
            self.reached = self.reached.with(u16::try_from(next).unwrap());
        } else if self.at.is_some_and(|(.., up)| up < 1.0)
            && let Desired::Flying { altitude } = held.desired
        {
            self.at = Some((latitude, longitude, altitude.0));
        }
    }

    fn is_on_plan(&self) -> bool {
        let named = self.fence.held.as_ref().and_then(|held| held.plan.as_ref());
        let held = self.plans.last().map(|plan| &plan.digest);
        self.truth == Truth::InAir && named.is_some() && named == held && !self.has_finished()
    }

    fn has_finished(&self) -> bool {
        let items = self.plans.last().map_or(0, |plan| plan.items.len());
        items > 0 && usize::from(self.reached.first_left()) >= items
    }

    pub fn take_plan(&mut self, plan: FlightPlan) {
        if self.plans.last().map(|last| &last.digest) != Some(&plan.digest) {
            self.reached = Reached::none();
            self.plans.push(plan);
        }
    }

    fn plan_state(&self) -> PlanReport {
        let Some(plan) = self.plans.last() else {
            return PlanReport::default();
        };
        PlanReport {
            held: Some(plan.digest.clone()),
            state: self.refuses.clone().map_or(PlanState::Ready, PlanState::Refused),
            flying: self.is_on_plan(),
            current: None,
            reached: self.reached.clone(),
            ended: self.has_finished(),
            finished: self.has_finished(),
            passed_beside: PassedBeside::default(),
        }
    }

    pub fn take(&mut self, order: Order) {
        if self.obeys
            && let Ok(fence) = self.fence.take(&order, self.truth == Truth::Disarmed)
        {
            self.fence = fence;
        }
        self.orders.push(order);
    }

    fn stop_motors(&mut self, kill: v1::Kill) -> v1::from_agent::Message {
        let nonce = kill.nonce;
        self.truth = Truth::Disarmed;
        self.kills.push(kill);
        v1::from_agent::Message::KillAnswer(v1::KillAnswer {
            nonce,
            outcome: v1::KillOutcome::Accepted.into(),
            words: String::new(),
        })
    }

    fn rules_state(&self) -> RulesReport {
        let Some(rules) = self.rules.last() else {
            return RulesReport::default();
        };
        let held = Some(rules.digest.clone());
        match &self.reported {
            Some(reported) => RulesReport {
                held,
                ..reported.clone()
            },
            None => RulesReport {
                held,
                fence: if rules.fence.is_some() {
                    FenceState::InForce
                } else {
                    FenceState::None
                },
                parameters_in_force: u32::try_from(rules.parameters.len()).unwrap(),
                deviations: vec![],
                in_force: true,
            },
        }
    }

    fn remote_id_state(&self) -> Option<RemoteIdReport> {
        let operator = self.remote_ids.last()?.operator.as_ref()?;
        Some(self.remote_id.clone().unwrap_or_else(|| RemoteIdReport {
            held: Some(operator.name.clone()),
            sending: Sending::Yes,
            transmitter: Transmitter::Good,
        }))
    }

    pub fn report(&self) -> v1::Report {
        let activity = match (self.grounded(), self.truth) {
            (None, _) => v1::Activity::Idle,
            (Some(true), Truth::Disarmed) => v1::Activity::Idle,
            (Some(true), _) => v1::Activity::Landing,
            (Some(false), Truth::Disarmed) if !self.ready => v1::Activity::NotArmable,
            (Some(false), Truth::Disarmed) => v1::Activity::Arming,
            (Some(false), Truth::InAir) => v1::Activity::Holding,
            (Some(false), _) => v1::Activity::TakingOff,
        };
        let jitter = (self.ticks % 7) as f64;
        v1::Report {
            link_alive: true,
            identity: Some(v1::Identity {
                autopilot: v1::Autopilot::Ardupilot.into(),
                system_id: 1,
                component_id: 1,
                firmware: "4.7.0".into(),
                hardware_uid: self.hardware.clone(),
            }),
            truth: self.truth.into(),
            mode: Some(if self.truth == Truth::Landing { "LAND" } else { "GUIDED" }.into()),
            ready: Some(self.ready),
            reasons: self
                .reasons
                .iter()
                .map(|text| v1::ArmingReason {
                    text: text.clone(),
                    class: self.class.into(),
                    ..v1::ArmingReason::default()
                })
                .collect(),
            battery: Some(v1::Battery {
                remaining_percent: Some(self.battery - u32::try_from(self.ticks % 3).unwrap()),
                volts: Some(12.0 + jitter / 10.0),
            }),
            position: Some(self.at.map_or_else(
                || v1::Position {
                    latitude_deg: 47.0 + jitter * 1e-6,
                    longitude_deg: 8.0,
                    altitude_amsl_m: 500.0 + jitter,
                    altitude_above_home_m: self.height() + jitter / 10.0,
                },
                |(latitude_deg, longitude_deg, up)| v1::Position {
                    latitude_deg,
                    longitude_deg,
                    altitude_amsl_m: 490.0 + up,
                    altitude_above_home_m: up,
                },
            )),
            held: self.fence.held.as_ref().map(|held| v1::Held {
                drone_uid: held.uid.0.clone(),
                term: held.term.0,
                generation: held.generation,
                grounded: self.grounded() == Some(true),
                settled: self.truth == Truth::Disarmed,
                details: None,
            }),
            activity: activity.into(),
            made_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap(),
            takeovers: self.takeovers,
            stand_down: self.stand_down.map(|number| v1::StandDown {
                number,
                why: v1::StandDownWhy::TakenOver.into(),
                drone_uid: "uid-of-one-that-is-gone".into(),
                drone_namespace: "south".into(),
                drone_name: "gone".into(),
            }),
            ground_latch: self.fence.ground_latch.map_or(0, |id| id.0),
            home: Some(v1::Waypoint {
                latitude_deg: self.home.0,
                longitude_deg: self.home.1,
                altitude_amsl_m: 490.0,
            }),
            rules: Some((&self.rules_state()).into()),
            plan: Some((&self.plan_state()).into()),
            route: Some((&self.route).into()),
            waypoint_radius_m: Some(2.0),
            detours: Some(false),
            remote_id: self.remote_id_state().as_ref().map(Into::into),
            ..v1::Report::default()
        }
    }
}

pub struct Agent(tokio::task::JoinHandle<()>);

impl Agent {
    pub fn start(vehicle: &Vehicle, server: &str) -> Self {
        let (vehicle, server) = (vehicle.clone(), format!("http://{server}"));
        Self(tokio::spawn(async move {
            loop {
                let _ = session(&vehicle, server.clone()).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn session(vehicle: &Vehicle, server: String) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut client = v1::uplink_client::UplinkClient::connect(server).await?;
    let (mut sender, receiver) = mpsc::channel(4);
    sender.try_send(vehicle.state().hello(0))?;
    let mut orders = client.session(receiver).await?.into_inner();
    let mut ticks = tokio::time::interval(vehicle.state().tick);
    // After a pause there is no burst that its queue has no room for.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let report = {
                    let mut state = vehicle.state();
                    state.step();
                    state.report()
                };
                sender.try_send(from(v1::from_agent::Message::Report(report)))?;
            }
            order = orders.next() => {
                let order = order.ok_or("the stream has ended")??;
                if let Some(sent) = order.stand_up {
                    let mut state = vehicle.state();
                    state.stand_down = state.stand_down.filter(|number| *number != sent.number);
                    continue;
                }
                if let Some(sent) = order.remote_id {
                    vehicle.state().remote_ids.push(RemoteIdOrder::try_from(sent)?);
                    continue;
                }
                match (order.kill, order.rules, order.plan) {
                    (Some(kill), ..) => sender.try_send(from(vehicle.state().stop_motors(kill)))?,
                    (None, Some(rules), _) => vehicle.state().rules.push(Rules::try_from(rules)?),
                    (None, None, Some(plan)) => vehicle.state().take_plan(FlightPlan::try_from(plan)?),
                    (None, None, None) => {
                        let order = v1::ToAgent { kill: None, rules: None, plan: None, ..order };
                        vehicle.state().take(Order::try_from(order)?);
                    }
                }
            }
        }
    }
}

pub fn from(message: v1::from_agent::Message) -> v1::FromAgent {
    v1::FromAgent { message: Some(message) }
}
