//! A scripted agent: speaks the uplink protocol and moves a fake vehicle as ordered.
//!
//! Owns: the other end of the uplink, and the record of every received order. Must not: use the real agent's code; only
//! `fleet`'s rule for accepting orders is shared.

use fleet::assignment::{Desired, Fence, Order};
use fleet::rules::{FenceState, Rules, RulesReport};
use futures::StreamExt;
use futures::channel::mpsc;
use proto::v1;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use v1::FlightTruth as Truth;

/// A vehicle, with what its agent keeps on disk. Outlives connections.
#[derive(Clone)]
pub struct Vehicle(Arc<Mutex<State>>);

pub struct State {
    pub node: String,
    pub truth: Truth,
    pub ready: bool,
    pub reasons: Vec<String>,
    /// What these reasons are.
    pub class: v1::ReasonClass,
    /// The height that it does not leave, whatever is ordered.
    pub stuck_at: Option<f64>,
    pub battery: u32,
    /// Whether it accepts orders.
    pub obeys: bool,
    /// Between two reports.
    pub tick: Duration,
    /// Ticks from one stage of its flight to the next.
    pub pace: u64,
    /// Whether it lands when ordered to.
    pub lands: bool,
    pub fence: Fence,
    /// How often another station has taken over.
    pub takeovers: u32,
    /// Every received kill.
    pub kills: Vec<v1::Kill>,
    /// Every received order, in this order.
    pub orders: Vec<Order>,
    /// Every received set of rules, in this order.
    pub rules: Vec<Rules>,
    /// What it reports of the last one; `None`: that it is in force as soon as it has come.
    pub reported: Option<RulesReport>,
    /// Latitude and longitude of its home.
    pub home: (f64, f64),
    ticks: u64,
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

    /// The names of the Drones for which it was ever ordered to fly.
    pub fn ordered_to_fly_for(&self) -> Vec<String> {
        let flying = |order: &Order| match order {
            Order::Assigned(a) if matches!(a.desired, Desired::Flying { .. }) => Some(a.name.name.clone()),
            _ => None,
        };
        self.state().orders.iter().filter_map(flying).collect()
    }

    /// Whether it was ever ordered to be on the ground, or that it has no Drone, since order number `from`.
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
            kills: vec![],
            orders: vec![],
            rules: vec![],
            reported: None,
            home: (47.0, 8.0),
            ticks: 0,
        }
    }

    /// What its agent says first on each stream; `life` is a number of this life of the agent, 0 for none.
    pub fn hello(&self, life: u64) -> v1::FromAgent {
        from(v1::from_agent::Message::Hello(v1::Hello {
            node: self.node.clone(),
            agent_version: "test".into(),
            highest_term: self.fence.highest_term.0,
            life,
        }))
    }

    /// Its height, metres above home: the ordered one, as far as it flies.
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

    /// One step towards the ordered state.
    pub fn step(&mut self) {
        self.ticks += 1;
        if !self.ticks.is_multiple_of(self.pace) {
            return;
        }
        self.truth = match (self.grounded(), self.truth) {
            (Some(false), Truth::Disarmed) if self.ready => Truth::ArmedOnGround,
            (Some(false), Truth::ArmedOnGround) => Truth::TakingOff,
            (Some(false), Truth::TakingOff) => Truth::InAir,
            (Some(true), Truth::InAir | Truth::TakingOff) if self.lands => Truth::Landing,
            (Some(true), Truth::Landing | Truth::ArmedOnGround) => Truth::Disarmed,
            (_, truth) => truth,
        };
    }

    /// Takes an order, if it obeys and `fleet` allows it.
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

    /// What is in force of the rules that came last.
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
                hardware_uid: String::new(),
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
            position: Some(v1::Position {
                latitude_deg: 47.0 + jitter * 1e-6,
                longitude_deg: 8.0,
                altitude_amsl_m: 500.0 + jitter,
                altitude_above_home_m: self.height() + jitter / 10.0,
            }),
            held: self.fence.held.as_ref().map(|held| v1::Held {
                drone_uid: held.uid.0.clone(),
                term: held.term.0,
                generation: held.generation,
                grounded: self.grounded() == Some(true),
                settled: self.truth == Truth::Disarmed,
            }),
            activity: activity.into(),
            made_ms: self.ticks * u64::try_from(self.tick.as_millis()).unwrap(),
            takeovers: self.takeovers,
            ground_latch: self.fence.ground_latch.map_or(0, |id| id.0),
            home: Some(v1::Waypoint {
                latitude_deg: self.home.0,
                longitude_deg: self.home.1,
                altitude_amsl_m: 490.0,
            }),
            rules: Some((&self.rules_state()).into()),
            ..v1::Report::default()
        }
    }
}

/// One agent process: reconnects for ever until it is dropped.
pub struct Agent(tokio::task::JoinHandle<()>);

impl Agent {
    pub fn start(vehicle: &Vehicle, server: &str) -> Self {
        let (vehicle, server) = (vehicle.clone(), format!("http://{server}"));
        Self(tokio::spawn(async move {
            loop {
                // The error is the coordinator's absence or refusal; the tests check its effect.
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
                match (order.kill, order.rules) {
                    (Some(kill), _) => sender.try_send(from(vehicle.state().stop_motors(kill)))?,
                    (None, Some(rules)) => vehicle.state().rules.push(Rules::try_from(rules)?),
                    (None, None) => vehicle.state().take(Order::try_from(v1::ToAgent { kill: None, rules: None, ..order })?),
                }
            }
        }
    }
}

pub fn from(message: v1::from_agent::Message) -> v1::FromAgent {
    v1::FromAgent { message: Some(message) }
}
