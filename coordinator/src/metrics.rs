//! The metrics for Prometheus.
//!
//! Owns: the name and help text of every metric, and counting, which never waits and never fails. Must not: decide anything, or carry texts
//! of people or of autopilots.

pub mod api_calls;
mod now;
pub mod serve;

pub use fleet::planning::flight_transition::{FlightTransition, transition};
pub use now::FleetNow;

use api_calls::ApiCalls;
use fleet::planning::site::Action;
use model::ids::Term;
use model::kill::KillOutcome;
use model::vehicle::ReasonClass;
use model::whereabouts::Astray;
use now::Now;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// One label with one of a few values.
type Label = [(&'static str, &'static str); 1];

type Labels = [(&'static str, &'static str); 2];

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// Clones count the same.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    now: Now,
    ready: Arc<AtomicBool>,
    pub api_calls: ApiCalls,
    leader: Gauge,
    term: Gauge,
    sessions: Family<Label, Counter>,
    reports: Counter,
    orders: Family<Label, Counter>,
    transitions: Family<Label, Counter>,
    takeovers: Counter,
    deviations: Family<Label, Counter>,
    conflicts: Family<Label, Counter>,
    refusals: Family<Label, Counter>,
    ground_orders: Family<Label, Counter>,
    kills: Family<Label, Counter>,
    guests: Family<Label, Gauge>,
    guest_calls: Family<Label, Counter>,
    guest_frames: Family<Labels, Counter>,
    events: Family<Label, Counter>,
    upgrades: Family<Label, Counter>,
    uncovered: Counter<f64, AtomicU64>,
    gaps: Histogram,
    reconciles: Family<Labels, Counter>,
    reconcile_time: Times<Label>,
    loop_faults: Family<Labels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let now = Now::default();
        let api_calls = ApiCalls::default();
        let reconcile_time = Times::new_with_constructor(new_histogram);
        let metrics = Self {
            registry: Arc::default(),
            now: now.clone(),
            ready: Arc::default(),
            api_calls: api_calls.clone(),
            leader: Gauge::default(),
            term: Gauge::default(),
            sessions: Family::default(),
            reports: Counter::default(),
            orders: Family::default(),
            transitions: Family::default(),
            takeovers: Counter::default(),
            deviations: Family::default(),
            conflicts: Family::default(),
            refusals: Family::default(),
            ground_orders: Family::default(),
            kills: Family::default(),
            guests: Family::default(),
            guest_calls: Family::default(),
            guest_frames: Family::default(),
            events: Family::default(),
            upgrades: Family::default(),
            uncovered: Counter::default(),
            gaps: Histogram::new([0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 300.0, 1800.0]),
            reconciles: Family::default(),
            reconcile_time,
            loop_faults: Family::default(),
        };
        let mut registry = Registry::default();
        metrics.begin();
        metrics.register(registry.sub_registry_with_prefix("skein"));
        api_calls.register(&mut registry);
        registry.register_collector(Box::new(now));
        Self {
            registry: Arc::new(registry),
            ..metrics
        }
    }
}

/// Buckets in seconds: from some microseconds, where nothing is to be written, to the deadline of a call.
fn new_histogram() -> Histogram {
    Histogram::new([
        0.0005, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ])
}

impl Metrics {
    /// Starts all series with a few known labels at 0: a first event of its kind is then an increase that an alert can see.
    fn begin(&self) {
        let all: [(_, &'static str, &[&'static str]); 11] = [
            (&self.deviations, "kind", &["fell", "height", "place"]),
            (&self.conflicts, "action", &["stops", "steps_aside", "stays"]),
            (&self.sessions, "result", &["opened", "taken", "too_many"]),
            (&self.orders, "kind", &["new", "repeated"]),
            (&self.transitions, "transition", &["takeoff", "landing", "lost"]),
            (&self.refusals, "class", &["will_heal", "needs_human", "unclear"]),
            (&self.ground_orders, "verb", &["ground", "release", "resume"]),
            (
                &self.kills,
                "outcome",
                &["not_sent", "accepted", "refused", "no_answer"],
            ),
            (
                &self.guest_calls,
                "result",
                &["command", "ask", "watch", "refused", "failed"],
            ),
            (&self.events, "result", &["published", "lost"]),
            (
                &self.upgrades,
                "result",
                &["ended", "done", "let_go", "stuck", "failed"],
            ),
        ];
        for (family, label, words) in all {
            for word in words {
                // Creates the series.
                drop(family.get_or_create(&[(label, *word)]));
            }
        }
        for access in ["command", "ask", "watch"] {
            drop(self.guests.get_or_create(&[("access", access)]));
        }
        for direction in ["to_guest", "to_vehicle"] {
            for result in ["passed", "lost", "refused"] {
                drop(
                    self.guest_frames
                        .get_or_create(&[("direction", direction), ("result", result)]),
                );
            }
        }
        for kind in ["Drone", "Swarm"] {
            for result in ["done", "refused", "failed"] {
                drop(self.reconciles.get_or_create(&[("kind", kind), ("result", result)]));
            }
            drop(self.reconcile_time.get_or_create(&[("kind", kind)]));
        }
    }

    fn register(&self, to: &mut Registry) {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let build = Family::<Label, Gauge>::default();
        build.get_or_create(&version).set(1);
        to.register("build_info", "Version of this coordinator; always 1", build);
        to.register(
            "leader",
            "1 while this process leads: only the leader commands vehicles",
            self.leader.clone(),
        );
        to.register(
            "term",
            "Leadership term of this process, 0 before it has led; agents refuse orders of lower terms",
            self.term.clone(),
        );
        to.register(
            "agent_sessions",
            "Sessions that agents requested, by result",
            self.sessions.clone(),
        );
        to.register("agent_reports", "Reports of agents taken in", self.reports.clone());
        to.register(
            "orders_sent",
            "Orders sent to agents; one is repeated while the agent's reports do not show it as taken",
            self.orders.clone(),
        );
        to.register(
            "flight_transitions",
            "Takeoffs, landings and losses of contact in flight, as the vehicles report them",
            self.transitions.clone(),
        );
        to.register(
            "takeovers",
            "Times that a pilot, a ground station or an autopilot's failsafe took a vehicle over in flight",
            self.takeovers.clone(),
        );
        to.register(
            "deviations",
            "Times that a vehicle in Skein's command was found to fall, or to have left the altitude or the place that it held",
            self.deviations.clone(),
        );
        to.register(
            "airspace_conflicts",
            "Times that something that does not keep to its airspace came near to a vehicle, by what that one was ordered to do",
            self.conflicts.clone(),
        );
        to.register(
            "arming_refusals",
            "Reasons not to arm that vehicles reported, each counted when it is first reported",
            self.refusals.clone(),
        );
        to.register(
            "ground_orders",
            "Ground orders, releases and resumptions given through the fleet service",
            self.ground_orders.clone(),
        );
        to.register("kills", "Orders to stop motors, by outcome", self.kills.clone());
        to.register(
            "guests",
            "Ground stations that are connected to vehicles through this process (skein connect), by what they may do",
            self.guests.clone(),
        );
        to.register(
            "guest_calls",
            "Ground stations that wanted to connect to a vehicle through this process, by what came of it",
            self.guest_calls.clone(),
        );
        to.register(
            "guest_frames",
            "MAVLink frames between ground stations and vehicles: passed, lost as a receiver was too slow, or refused to one who may only \
             watch",
            self.guest_frames.clone(),
        );
        to.register("events", "Kubernetes Events published or lost", self.events.clone());
        to.register(
            "agent_upgrades",
            "Agents replaced by a newer version, by result: ended, done (well again), let_go, stuck, failed",
            self.upgrades.clone(),
        );
        to.register(
            "station_uncovered_seconds",
            "Time in which no vehicle was on station at a slot of a formation, over all slots that are to be covered",
            self.uncovered.clone(),
        );
        to.register(
            "station_gap_seconds",
            "Time from when the last vehicle was observed on station at a slot to when the next one was",
            self.gaps.clone(),
        );
        to.register(
            "reconciles",
            "Reconciles of an object, by kind and result",
            self.reconciles.clone(),
        );
        to.register(
            "reconcile_duration_seconds",
            "Time that one reconcile of an object took",
            self.reconcile_time.clone(),
        );
        to.register(
            "loop_faults",
            "Runs of periodic work that failed, were late (still under way after a minute) or panicked, by work",
            self.loop_faults.clone(),
        );
    }

    /// This process leads with `term`; `read` reads the fleet, and must keep nothing alive that has ended.
    pub fn leads(&self, term: Term, read: impl Fn() -> Option<FleetNow> + Send + Sync + 'static) {
        self.leader.set(1);
        self.term.set(i64::try_from(term.0).unwrap_or(i64::MAX));
        self.now.read(read);
    }

    /// This process leads no more, and ends.
    pub fn leads_no_more(&self) {
        self.leader.set(0);
        self.ready.store(false, Ordering::Relaxed);
    }

    /// The caches are filled: this process leads, or could.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Whether this process leads, or could at any moment.
    pub fn ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// An agent asked for a session; `result` is one word.
    pub fn session(&self, result: &'static str) {
        self.sessions.get_or_create(&[("result", result)]).inc();
    }

    pub fn report(&self) {
        self.reports.inc();
    }

    /// An order was sent; `again` when the reports had not shown it as taken.
    pub fn order(&self, again: bool) {
        let kind = if again { "repeated" } else { "new" };
        self.orders.get_or_create(&[("kind", kind)]).inc();
    }

    pub fn transition(&self, transition: FlightTransition) {
        let word = match transition {
            FlightTransition::Takeoff => "takeoff",
            FlightTransition::Landing => "landing",
            FlightTransition::Lost => "lost",
        };
        self.transitions.get_or_create(&[("transition", word)]).inc();
    }

    /// New takeovers since the last report.
    pub fn taken_over(&self, times: u32) {
        self.takeovers.inc_by(times.into());
    }

    pub fn astray(&self, astray: Astray) {
        let kind = match astray {
            Astray::Fell { .. } => "fell",
            Astray::Height { .. } => "height",
            Astray::Place { .. } => "place",
        };
        self.deviations.get_or_create(&[("kind", kind)]).inc();
    }

    /// A foreign aircraft came near to a vehicle.
    pub fn conflict(&self, action: Action) {
        let action = match action {
            Action::Stops => "stops",
            Action::StepsAside => "steps_aside",
            Action::Stays => "stays",
        };
        self.conflicts.get_or_create(&[("action", action)]).inc();
    }

    /// A vehicle gave a new reason not to arm.
    pub fn arming_refused(&self, class: ReasonClass) {
        let class = match class {
            ReasonClass::WillHeal => "will_heal",
            ReasonClass::NeedsHuman => "needs_human",
            ReasonClass::Unclear => "unclear",
        };
        self.refusals.get_or_create(&[("class", class)]).inc();
    }

    /// `verb` is ground, release or resume.
    pub fn person(&self, verb: &'static str) {
        self.ground_orders.get_or_create(&[("verb", verb)]).inc();
    }

    /// Motors were to be stopped; `None`: the result is unknown.
    pub fn kill(&self, outcome: Option<&KillOutcome>) {
        let outcome = match outcome {
            Some(KillOutcome::NotSent(_)) => "not_sent",
            Some(KillOutcome::Accepted) => "accepted",
            Some(KillOutcome::Refused(_)) => "refused",
            Some(KillOutcome::NoAnswer) | None => "no_answer",
        };
        self.kills.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// A person's ground station wanted to reach a vehicle; `result` is its access, or refused, or failed.
    pub fn guest_call(&self, result: &'static str) {
        self.guest_calls.get_or_create(&[("result", result)]).inc();
    }

    /// A change in the number of connected ground stations of this access.
    pub fn guests(&self, access: &'static str, more: i64) {
        self.guests.get_or_create(&[("access", access)]).inc_by(more);
    }

    /// `direction` is to_guest or to_vehicle, `result` passed, lost or refused.
    pub fn guest_frames(&self, direction: &'static str, result: &'static str, frames: u64) {
        let labels = [("direction", direction), ("result", result)];
        self.guest_frames.get_or_create(&labels).inc_by(frames);
    }

    pub fn event(&self, published: bool) {
        let result = if published { "published" } else { "lost" };
        self.events.get_or_create(&[("result", result)]).inc();
    }

    /// Slots of a formation that were not covered since the last observation, `since` ago, and the gaps that have ended.
    pub fn covered(&self, uncovered: usize, since: Duration, gaps: &[Duration]) {
        let uncovered = u32::try_from(uncovered).unwrap_or(u32::MAX);
        self.uncovered.inc_by(f64::from(uncovered) * since.as_secs_f64());
        for gap in gaps {
            self.gaps.observe(gap.as_secs_f64());
        }
    }

    /// `result` is one word.
    pub fn upgrade(&self, result: &'static str) {
        self.upgrades.get_or_create(&[("result", result)]).inc();
    }

    /// Starts the series of the periodic work `name` at 0.
    pub fn begin_loop(&self, name: &'static str) {
        for fault in ["failed", "late", "panicked"] {
            drop(self.loop_faults.get_or_create(&[("loop", name), ("fault", fault)]));
        }
    }

    /// `fault` is failed, late or panicked.
    pub fn loop_fault(&self, name: &'static str, fault: &'static str) {
        self.loop_faults
            .get_or_create(&[("loop", name), ("fault", fault)])
            .inc();
    }

    pub fn reconciles_of(&self, kind: &'static str) -> Reconciles {
        Reconciles {
            kind,
            results: self.reconciles.clone(),
            time: self.reconcile_time.clone(),
        }
    }

    /// In the `OpenMetrics` text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciled {
    Done,
    /// The API server refuses until a person changes something.
    Refused,
    /// It is tried again.
    Failed,
}

/// Clones count the same.
#[derive(Clone, Debug)]
pub struct Reconciles {
    kind: &'static str,
    results: Family<Labels, Counter>,
    time: Times<Label>,
}

impl Reconciles {
    pub fn done(&self, result: Reconciled, time: Duration) {
        let word = match result {
            Reconciled::Done => "done",
            Reconciled::Refused => "refused",
            Reconciled::Failed => "failed",
        };
        self.results
            .get_or_create(&[("kind", self.kind), ("result", word)])
            .inc();
        self.time
            .get_or_create(&[("kind", self.kind)])
            .observe(time.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_help_text_and_a_name_that_prometheus_takes() {
        let metrics = Metrics::default();
        metrics.session("opened");
        metrics.transition(FlightTransition::Takeoff);
        let text = metrics.text();
        assert!(text.ends_with("# EOF\n"));
        let names: Vec<_> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
        assert!(names.len() > 12, "{names:?}");
        for name in names.iter().filter_map(|line| line.split(' ').next()) {
            let help = text.lines().find_map(|l| l.strip_prefix(&format!("# HELP {name} ")));
            assert!(help.is_some_and(|help| help.len() > 20), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
        }
        assert!(
            text.contains("skein_agent_sessions_total{result=\"opened\"} 1\n"),
            "{text}"
        );
        assert!(
            text.contains("skein_flight_transitions_total{transition=\"takeoff\"} 1\n"),
            "{text}"
        );
    }
}
