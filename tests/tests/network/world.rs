//! One random run: a Swarm, two coordinators, some nodes, and all possible faults between them. Must not: judge.

use crate::api::{Cluster, Way};
use crate::coordinator;
use crate::node::{Node, lie};
use crate::oracle::lent::Lent;
use crate::oracle::rules::RulesOracle;
use crate::oracle::{Oracle, Tally};
use crate::program::Program;
use crate::station::{self, PersonOrder};
use crate::vehicle::Vehicle;
use agent_testkit::autopilot;
use formation::Formations;
pub use formation::Size;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gate::Gate;
use http::Method;
use model::ids::Term;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use stations::Stations;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use turmoil::Sim;
use wild::Wild;

mod formation;
mod gate;
mod lent;
mod missions;
mod patrol;
mod person;
mod rollout;
mod rules;
mod stations;
mod traffic;
mod weather;
pub mod wild;

const COORDINATORS: usize = 2;
const KNOWN_AFTER: Duration = Duration::from_secs(12);
const NOTED_WITHIN: Duration = Duration::from_secs(15);
/// As many as are believed where they agree.
const LIARS: u32 = 3;
const SURGE: u32 = 1;
const TICK: Duration = Duration::from_millis(10);
const LARGE_TICK: Duration = Duration::from_millis(20);
const LOOKED_AFTER: Duration = Duration::from_secs(5);
const DRAW: Duration = Duration::from_millis(100);
const DISORDER: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(120);
/// Meters over ground and in altitude, as home wanders a little.
const ON_STATION: (f64, f64) = (2.5, 2.0);
/// Hosts with agents at most: the network costs by the square of their number.
const AGENT_HOSTS: usize = 40;
const OBJECTS_JUDGED: Duration = Duration::from_millis(500);
/// A Drone without a station holds 10 m above its home.
const HOLDING: f64 = 9.0;
const SWARM: &str = "/apis/skein.dev/v1alpha1/namespaces/default/swarms/alpha";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Disorder,
    Formations(Size),
    Uploads(u32),
    Rollout(usize),
    Missions(usize),
    Patrol,
    Gate,
    Wild,
    Lent,
}

impl Theme {
    const fn formations(self) -> Option<Size> {
        match self {
            Self::Formations(size) => Some(size),
            Self::Disorder
            | Self::Uploads(_)
            | Self::Rollout(_)
            | Self::Missions(_)
            | Self::Patrol
            | Self::Gate
            | Self::Wild
            | Self::Lent => None,
        }
    }

    const fn has_rules(self) -> bool {
        matches!(self, Self::Uploads(_) | Self::Rollout(_))
    }
}

enum Ends {
    Cut(String, String),
    Held(String, String),
    Down(String),
    Way(usize),
    Unready(usize),
    Alone(usize),
    BackUp,
    Restore,
    Confirm,
}

struct Run<'a> {
    seed: u64,
    sim: Sim<'a>,
    rng: StdRng,
    cluster: Arc<Cluster>,
    nodes: Vec<Node>,
    oracle: Oracle,
    ends: Vec<(Duration, Ends)>,
    down: Vec<String>,
    /// Since when each coordinator runs without a fault of its own or of its path to the API.
    steady: [Duration; COORDINATORS],
    backed_up: Duration,
    must_note: Option<(usize, Duration)>,
    replicas: u32,
    grounded: bool,
    stations: Option<Stations>,
    formations: Option<Formations>,
    gate: Option<Gate>,
    wild: Option<Wild>,
    agents_per_host: usize,
    person: mpsc::UnboundedSender<PersonOrder>,
}

/// Runs `seed`, with its files in `folder`. The error: an event that is not allowed.
pub fn run(seed: u64, folder: &Path, theme: Theme) -> Result<Tally, String> {
    let mut run = Run::new(seed, folder, theme);
    match theme {
        Theme::Disorder => {}
        Theme::Formations(size) => run.through_formations(size)?,
        Theme::Uploads(uploads) => run.through_uploads(uploads)?,
        Theme::Rollout(_) => run.through_a_rollout()?,
        Theme::Missions(_) => run.through_missions()?,
        Theme::Patrol => run.through_a_patrol()?,
        Theme::Gate | Theme::Wild => run.through_the_gate()?,
        Theme::Lent => run.through_what_is_lent()?,
    }
    if theme != Theme::Disorder {
        return Ok(run.account());
    }
    while run.sim.elapsed() < run.disorder() {
        run.mishap();
        run.pass(DRAW)?;
    }
    run.calm();
    let end = run.sim.elapsed() + run.patience();
    while !run.is_as_desired() {
        if run.sim.elapsed() > end {
            return Err(run.why_not());
        }
        // The present leader may have taken over just now.
        run.say(PersonOrder::Release);
        run.confirm();
        run.see_to_what_failsafes_did();
        run.put_back_what_is_on_the_ground();
        run.pass(LOOKED_AFTER)?;
    }
    Ok(run.account())
}

impl Run<'_> {
    fn new(seed: u64, folder: &Path, theme: Theme) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let split = |rng: &mut StdRng| StdRng::seed_from_u64(rng.random());
        let (small, size) = (theme == Theme::Disorder, theme.formations());
        let flies = small && Stations::fly_in(seed);
        let count = match theme {
            Theme::Disorder => rng.random_range(3..=4) + usize::from(flies),
            Theme::Formations(size) => size.nodes(),
            Theme::Uploads(_) => rules::VEHICLES,
            Theme::Rollout(vehicles) | Theme::Missions(vehicles) => vehicles,
            Theme::Patrol => patrol::VEHICLES,
            Theme::Gate => gate::vehicles(&mut rng),
            Theme::Wild => rng.random_range(wild::OF_THE_GATE) + wild::BESIDES,
            Theme::Lent => lent::VEHICLES,
        };
        let cluster = Cluster::open(&folder.join("api"), COORDINATORS, split(&mut rng));
        let hours = if theme == Theme::Wild {
            wild::hours::HELD
        } else {
            Duration::ZERO
        };
        let mut builder = turmoil::Builder::new();
        builder
            .tick_duration(if small { TICK } else { LARGE_TICK })
            .simulation_duration(size.map_or(Duration::from_secs(3600) + hours, Size::longest))
            .min_message_latency(Duration::from_millis(1))
            .max_message_latency(Duration::from_millis(rng.random_range(5..150)))
            .tcp_capacity(4096)
            .rng_seed(rng.random());
        let mut sim = builder.build();

        let homes = match theme {
            Theme::Disorder if flies => stations::homes(count, &mut rng),
            Theme::Disorder => Vec::new(),
            Theme::Formations(_) | Theme::Uploads(_) | Theme::Rollout(_) => formation::homes(count),
            Theme::Missions(_) => missions::homes(count),
            Theme::Patrol => patrol::homes(),
            Theme::Gate => gate::homes(count, &mut rng),
            Theme::Wild => {
                let mut homes = gate::homes(count - wild::BESIDES, &mut rng);
                homes.extend(wild::homes());
                homes
            }
            Theme::Lent => lent::homes(),
        };
        let has_rules = theme.has_rules() || (small && rules::change_in(seed));
        let stations = flies.then(|| Stations::new(&homes, &mut rng));
        let mut wild = (theme == Theme::Wild).then(|| Wild::new(seed));
        if let Some((coordinator, raises)) = wild.as_ref().and_then(Wild::other_version) {
            cluster.reads_higher_steps(coordinator, raises);
        }
        let (mut nodes, mut lines) = (Vec::new(), Vec::new());
        for number in 0..count {
            let kind = match rng.random_bool(0.5) {
                true => autopilot::Kind::Px4,
                false => autopilot::Kind::ArduCopter,
            };
            let kind = if theme == Theme::Lent { lent::kind(number) } else { kind };
            let (to_autopilot, line) = mpsc::channel(4);
            let vehicle = match (homes.get(number), wild.as_mut()) {
                (None, _) => Vehicle::Scripted(autopilot::world(kind)),
                (Some(home), None) => Vehicle::simulated(kind, *home),
                (Some(home), Some(wild)) => wild.vehicle(kind, *home),
            };
            weather::of_run(seed, theme, number, &vehicle);
            let volume = match theme {
                Theme::Lent => lent::volume(number),
                Theme::Wild => wild::lent::volume(number, count),
                _ => None,
            };
            let program = volume.map(|volume| {
                let seed = seed.wrapping_mul(100).wrapping_add(number as u64);
                Program::new(volume, kind, vehicle.clone(), seed)
            });
            if has_rules {
                vehicle.set_failsafes();
            }
            if has_rules && small {
                vehicle.waits_for_its_ground_station(rules::ALONE);
            }
            lines.push((vehicle.clone(), line));
            nodes.push(Node {
                number,
                vehicle,
                to_autopilot,
                ledger: Arc::default(),
                dir: folder.join(format!("node-{number}")),
                cluster: Arc::clone(&cluster),
                coordinators: COORDINATORS,
                rng: Arc::new(Mutex::new(split(&mut rng))),
                is_ground_station: has_rules,
                program,
                reported: Arc::default(),
            });
        }
        let lines = Mutex::new(Some(lines));
        sim.host("sky", move || fly(lines.lock().unwrap().take().unwrap_or_default()));
        for number in 0..COORDINATORS {
            let cluster = Arc::clone(&cluster);
            sim.host(format!("coordinator-{number}"), move || {
                coordinator::run(Arc::clone(&cluster), number)
            });
        }
        let agents_per_host = nodes.len().div_ceil(AGENT_HOSTS);
        for nodes in nodes.chunks(agents_per_host) {
            let nodes = nodes.to_vec();
            sim.host(nodes[0].name(), move || live(nodes.clone()));
        }
        // A node whose vehicle is not known keeps all others where they are: it could be anywhere.
        let liars = if rng.random_bool(0.3) && homes.is_empty() {
            LIARS
        } else {
            0
        };
        for number in 0..liars {
            let term = Term([3, 900, 5000, 2_147_483_646, u64::MAX][rng.random_range(0..5)]);
            let (name, like) = (format!("captured-{number}"), nodes[0].clone());
            sim.host(name.clone(), move || lie(name.clone(), term, like.clone()));
        }
        let lie = wild.as_ref().and_then(Wild::lie);
        let liars = liars + u32::from(lie.is_some());
        if let Some(lie) = lie {
            let like = nodes[0].clone();
            sim.host(wild::liars::NAME, move || {
                wild::liars::live(like.clone(), Arc::clone(&lie))
            });
        }
        let (person, words) = mpsc::unbounded_channel();
        let words = Mutex::new(Some(words));
        let of = Arc::clone(&cluster);
        sim.host("station", move || {
            station::run(Arc::clone(&of), words.lock().unwrap().take())
        });
        let mut run = Self {
            seed,
            sim,
            person,
            rng,
            cluster,
            oracle: match size {
                None if !small => Oracle::new(nodes.len(), 0, OBJECTS_JUDGED),
                None => Oracle::new(nodes.len(), SURGE, Duration::ZERO),
                Some(size) => Oracle::new(nodes.len(), u32::try_from(size.surge()).unwrap(), OBJECTS_JUDGED),
            },
            nodes,
            ends: Vec::new(),
            down: Vec::new(),
            steady: [Duration::ZERO; COORDINATORS],
            backed_up: Duration::ZERO,
            must_note: None,
            replicas: 0,
            grounded: false,
            stations,
            formations: size.map(|size| Formations::new(size, homes)),
            gate: None,
            wild,
            agents_per_host,
        };
        run.oracle.tally.liars = liars;
        run.oracle.rules = has_rules.then(RulesOracle::default);
        run.oracle.lent = Lent::of(&run.nodes, theme == Theme::Wild);
        run.begin(theme);
        run
    }

    fn ask(&self, method: Method, path: &str, body: &Value) -> Value {
        let answer = self.cluster.ask(method, path, body);
        let refused = answer["kind"] == "Status" && answer["status"] == "Failure";
        assert!(!refused || answer["code"] == 404, "{path}: {answer}");
        answer
    }

    fn begin(&mut self, theme: Theme) {
        let system = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "skein-system"}});
        self.ask(Method::POST, "/api/v1/namespaces", &system);
        let captured = (0..self.oracle.tally.liars).map(|number| format!("captured-{number}"));
        for name in self.nodes.iter().map(Node::name).chain(captured) {
            let labels = json!({"node-role.kubernetes.io/drone": ""});
            let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}});
            self.ask(Method::POST, "/api/v1/nodes", &object);
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            self.ask(Method::PATCH, &format!("/api/v1/nodes/{name}/status"), &ready);
        }
        if theme != Theme::Disorder {
            return;
        }
        self.replicas = if self.stations.is_some() { 1 } else { 2 };
        let loss = self.rng.random_range(5..30);
        let action = if self.rng.random_bool(0.5) { "Land" } else { "Continue" };
        let mut failsafe = json!({"onCoordinatorLoss": action, "coordinatorLossSeconds": loss});
        self.refuse_without_rules(&mut failsafe);
        let swarm = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha"},
            "spec": {"replicas": self.replicas, "maxSurge": SURGE, "template": {"spec": {"failsafe": failsafe}}}});
        self.ask(Method::POST, SWARM.trim_end_matches("/alpha"), &swarm);
        self.note_desired();
        self.ask_for_stations();
        if self.oracle.rules.is_some() {
            self.label_all("north");
        }
        if self.chance(0.25) {
            let backup = self.rng.random_range(3.0..40.0);
            let restore = backup + self.rng.random_range(0.5..20.0);
            for (at, what) in [(backup, Ends::BackUp), (restore, Ends::Restore)] {
                self.ends.push((Duration::from_secs_f64(at), what));
            }
        }
        // Some get the order to fly before they can, and have no contact when they can.
        for node in 0..self.nodes.len() {
            let seconds =
                |rng: &mut StdRng, span: std::ops::Range<f64>| Duration::from_secs_f64(rng.random_range(span));
            if self.chance(0.5) {
                self.nodes[node].vehicle.set_ready(false);
                self.ends.push((seconds(&mut self.rng, 5.0..40.0), Ends::Unready(node)));
                self.ends.push((seconds(&mut self.rng, 4.0..15.0), Ends::Alone(node)));
            }
        }
    }

    fn account(self) -> Tally {
        let elapsed = self.sim.elapsed();
        let uploads = self.nodes.iter().map(|node| node.vehicle.rules_wire().uploads).sum();
        let mut tally = self.oracle.account(&self.nodes);
        tally.uploads = uploads;
        tally.simulated = elapsed;
        tally
    }

    fn pass(&mut self, span: Duration) -> Result<(), String> {
        let end = self.sim.elapsed() + span;
        while self.sim.elapsed() < end {
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        self.sim.step().map_err(|error| error.to_string())?;
        self.oracle.judge(&self.nodes, &self.cluster, self.sim.elapsed())?;
        self.is_noted()
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random_bool(probability)
    }

    fn for_a_while(&mut self, longest: f64, ends: Ends) {
        let span = self.rng.random_range(0.1..longest);
        let span = if self.chance(0.5) { span / 10.0 } else { span };
        self.ends
            .push((self.sim.elapsed() + Duration::from_secs_f64(span), ends));
    }

    fn any_node(&mut self) -> usize {
        self.rng.random_range(0..self.nodes.len())
    }

    fn any_coordinator(&mut self) -> usize {
        self.rng.random_range(0..COORDINATORS)
    }

    fn mishap(&mut self) {
        self.end_what_is_over(self.sim.elapsed());
        if self.chance(0.02) {
            let (node, coordinator) = (self.any_node(), self.any_coordinator());
            self.part(node, coordinator);
        }
        if self.chance(0.006) {
            let node = self.any_node();
            self.isolate(node);
        }
        if self.chance(0.006) {
            let host = match self.chance(0.5) {
                true => {
                    let node = self.any_node();
                    self.host(node)
                }
                false => format!("coordinator-{}", self.any_coordinator()),
            };
            self.crash(host);
        }
        if self.chance(0.01) {
            let coordinator = self.any_coordinator();
            let way = [Way::Silent, Way::Refused, Way::Strained][self.rng.random_range(0..3)];
            self.set_way(coordinator, way);
            self.oracle.tally.cuts += 1;
            self.for_a_while(30.0, Ends::Way(coordinator));
        }
        if self.chance(0.012) {
            let coordinator = self.any_coordinator();
            let span = self.rng.random_range(0.5..60.0);
            let until = self.sim.elapsed() + Duration::from_secs_f64(span);
            self.cluster.hold_back(coordinator, until);
            self.oracle.disturbed(until);
            self.oracle.tally.late += 1;
        }
        if self.chance(0.02) {
            let node = self.any_node();
            self.nodes[node].vehicle.set_ready(false);
            self.for_a_while(20.0, Ends::Unready(node));
        }
        if self.formations.is_none() && self.gate.is_none() {
            self.person();
            self.traffic();
            self.rules_in_disorder();
        }
    }

    fn host(&self, node: usize) -> String {
        format!("node-{}", node - node % self.agents_per_host)
    }

    /// Node and coordinator do not receive from each other for a while, or in one direction, or late.
    fn part(&mut self, node: usize, coordinator: usize) {
        let (a, b) = (self.host(node), format!("coordinator-{coordinator}"));
        self.oracle.tally.cuts += 1;
        match self.rng.random_range(0..4) {
            0 => self.sim.partition_oneway(a.as_str(), b.as_str()),
            1 => self.sim.partition_oneway(b.as_str(), a.as_str()),
            2 => {
                self.sim.hold(a.as_str(), b.as_str());
                return self.for_a_while(15.0, Ends::Held(a, b));
            }
            _ => self.sim.partition(a.as_str(), b.as_str()),
        }
        self.for_a_while(60.0, Ends::Cut(a, b));
    }

    fn isolate(&mut self, node: usize) {
        let span = self.rng.random_range(1.0..60.0);
        let now = self.sim.elapsed();
        let after = |part: f64| now + Duration::from_secs_f64(span * part);
        let end = after(1.0);
        if self.rng.random_bool(0.5) {
            // A vehicle with an order to take off cannot, until there is no coordinator that could still order it.
            self.nodes[node].vehicle.set_ready(false);
            self.ends.push((after(0.8), Ends::Unready(node)));
        }
        let node = self.host(node);
        for coordinator in 0..COORDINATORS {
            let coordinator = format!("coordinator-{coordinator}");
            self.sim.partition(node.as_str(), coordinator.as_str());
            self.ends.push((end, Ends::Cut(node.clone(), coordinator)));
        }
        self.oracle.tally.cuts += 1;
    }

    fn crash(&mut self, host: String) {
        if self.stops(&host) {
            self.for_a_while(30.0, Ends::Down(host));
        }
    }

    fn crash_for(&mut self, host: String, away: Duration) {
        if self.stops(&host) {
            self.ends.push((self.sim.elapsed() + away, Ends::Down(host)));
        }
    }

    fn stops(&mut self, host: &str) -> bool {
        if self.down.iter().any(|down| down == host) {
            return false;
        }
        self.sim.crash(host);
        if let Some(coordinator) = host.strip_prefix("coordinator-").and_then(|n| n.parse::<usize>().ok()) {
            // Until it is back it must note nothing; then it has read nothing.
            self.steady[coordinator] = Duration::MAX;
        }
        if let Some(first) = host.strip_prefix("node-").and_then(|n| n.parse::<usize>().ok()) {
            for node in self.nodes.iter().skip(first).take(self.agents_per_host) {
                *node.reported.lock().unwrap() = None;
            }
        }
        self.oracle.tally.crashes += 1;
        self.down.push(host.to_owned());
        true
    }

    fn end_what_is_over(&mut self, now: Duration) {
        let (over, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.ends)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.ends = rest;
        for (_, what) in over {
            match what {
                Ends::Cut(a, b) => self.sim.repair(a, b),
                Ends::Held(a, b) => self.sim.release(a, b),
                Ends::Way(coordinator) => self.set_way(coordinator, Way::Open),
                Ends::Alone(node) => self.isolate(node),
                Ends::BackUp => {
                    self.backed_up = self.sim.elapsed();
                    self.cluster.back_up();
                }
                Ends::Restore => self.restore(),
                Ends::Confirm => self.confirm(),
                Ends::Unready(node) => self.nodes[node].vehicle.set_ready(true),
                Ends::Down(host) => {
                    self.down.retain(|down| *down != host);
                    let back = host.strip_prefix("coordinator-").and_then(|n| n.parse::<usize>().ok());
                    if let Some(coordinator) = back {
                        self.steady[coordinator] = self.sim.elapsed();
                        self.oracle.disturbed(self.sim.elapsed());
                    }
                    self.sim.bounce(host);
                }
            }
        }
    }

    fn set_way(&mut self, coordinator: usize, way: Way) {
        self.cluster.set(coordinator, way);
        self.steady[coordinator] = self.sim.elapsed();
        self.oracle.disturbed(self.sim.elapsed());
    }

    /// Whether each leader that could see the restore has noted it, once it has had the time.
    fn is_noted(&mut self) -> Result<(), String> {
        let Some((leader, restored)) = self.must_note else {
            return Ok(());
        };
        if self.oracle.tally.noted > 0 || self.steady[leader] > restored {
            self.must_note = None;
        } else if self.sim.elapsed() > restored + NOTED_WITHIN {
            return Err(format!(
                "coordinator-{leader} has not noted that the store went back at {restored:?}"
            ));
        }
        Ok(())
    }

    fn restore(&mut self) {
        let (now, leader) = (self.sim.elapsed(), self.cluster.leader());
        let knew = |leader: &usize| self.steady[*leader].saturating_add(KNOWN_AFTER) < now;
        let lost_renewals = self.backed_up + KNOWN_AFTER < now;
        if lost_renewals && self.oracle.tally.liars == 0 {
            self.must_note = leader.filter(knew).map(|leader| (leader, now));
        }
        self.cluster.restore();
        self.oracle.restored(&self.cluster, now);
        // The person's desired number is the recorded one again.
        let swarm = self.ask(Method::GET, SWARM, &Value::Null);
        self.replicas = swarm["spec"]["replicas"]
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .unwrap();
        self.grounded = swarm["spec"]["grounded"] == true;
        self.note_desired();
        self.for_a_while(40.0, Ends::Confirm);
    }

    fn note_desired(&mut self) {
        let on_stations = self.stations.as_ref().map_or(0, Stations::count);
        self.oracle.desire(self.sim.elapsed(), self.replicas + on_stations);
    }

    fn confirm(&self) {
        if self.cluster.went_back() {
            self.cluster.confirm();
        }
    }

    fn quiet(&mut self) {
        self.end_what_is_over(Duration::MAX);
        (0..COORDINATORS).for_each(|coordinator| self.cluster.hold_back(coordinator, Duration::ZERO));
    }

    fn calm(&mut self) {
        self.quiet();
        (0..self.nodes.len()).for_each(|node| self.cordon(node, false));
        self.ground(false);
        let (least, most) = match self.stations {
            None => (1, u32::try_from(self.nodes.len()).unwrap()),
            Some(_) => (0, 2),
        };
        let replicas = self.rng.random_range(least..most);
        self.scale(replicas);
        self.choose_sound_stations();
    }

    fn up(&self) -> usize {
        self.nodes.iter().filter(|node| node.vehicle.armed()).count()
    }

    fn is_as_desired(&self) -> bool {
        // Stations may be lower; where they are is judged besides.
        let least = if self.stations.is_some() { 1.0 } else { HOLDING };
        let holds = |node: &&Node| node.vehicle.height() >= least && node.is_up();
        let holding = self.nodes.iter().filter(holds).count();
        let desired = self.replicas + self.stations.as_ref().map_or(0, Stations::count);
        holding + self.kept_waiting() == desired as usize
            && self.up() == holding
            && self.off_station().is_none()
            && self.without_rules().is_none()
    }

    fn why_not(&self) -> String {
        if let Some(off_station) = self.off_station() {
            let (up, patience) = (self.up(), self.patience());
            return format!(
                "{patience:?} after all was well {up} are up, and {off_station}; {}",
                self.situation()
            );
        }
        if let Some(without) = self.without_rules() {
            return format!("{PATIENCE:?} after all was well {without}; {}", self.situation());
        }
        let list = self
            .cluster
            .ask(Method::GET, "/apis/skein.dev/v1alpha1/drones", &Value::Null);
        let ledgers: Vec<_> = self.nodes.iter().map(|node| node.ledger.lock().unwrap()).collect();
        let up = self.up();
        format!(
            "{up} up, {} wanted, {PATIENCE:?} after all was well: {ledgers:#?} {list:#}",
            self.replicas
        )
    }
}

async fn live(nodes: Vec<Node>) -> turmoil::Result {
    let mut all: FuturesUnordered<_> = nodes.into_iter().map(Node::live).collect();
    all.next().await.unwrap_or(Ok(()))
}

/// All vehicles: they outlive the programs at their nodes.
async fn fly(vehicles: Vec<(Vehicle, mpsc::Receiver<DuplexStream>)>) -> turmoil::Result {
    let mut all = JoinSet::new();
    for (vehicle, lines) in vehicles {
        all.spawn(vehicle.run(lines));
    }
    // Ends only by a fault: a command that no vehicle must ever get.
    let ended = all.join_next().await;
    Err(format!("a vehicle ended: {ended:?}").into())
}
