//! The fleet at the moment of a scrape: gauges that nobody has to keep up to date.

use crds::{Drone, Swarm};
use fleet::planning::freshness::Knowledge;
use fleet::planning::upgrade::Plan;
use fleet::planning::upgrade::node_snapshot::Busy;
use model::ids::NodeName;
use model::logs::upload::Uploads;
use model::report::{LinkQuality, Report};
use model::vehicle::FlightTruth;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use std::collections::BTreeMap;
use std::fmt::{self, Error};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The fleet of a leader, from its caches at one moment.
#[derive(Clone, Debug)]
pub struct FleetNow {
    pub knowledge: Knowledge,
    /// Objects waiting to be reconciled, by kind.
    pub waiting: [(&'static str, usize); 3],
    pub drones: Vec<Arc<Drone>>,
    pub swarms: Vec<Arc<Swarm>>,
    pub upgrades: Plan,
    /// Vehicles by kind of object and state: a vehicle counts once for each object that selects it.
    pub rules: Vec<(&'static str, &'static str, usize)>,
    pub connected: Vec<Connected>,
}

/// A node whose agent is connected, its last report and the report's age.
pub type Connected = (NodeName, Option<(Arc<Report>, Duration)>);

/// `None` once the leadership has ended.
type Read = Arc<dyn Fn() -> Option<FleetNow> + Send + Sync>;

#[derive(Clone, Default)]
pub(super) struct Now(Arc<Mutex<Option<Read>>>);

impl fmt::Debug for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Now")
    }
}

impl Now {
    pub(super) fn read(&self, read: impl Fn() -> Option<FleetNow> + Send + Sync + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(read));
    }

    fn fleet(&self) -> Option<FleetNow> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        read()
    }
}

impl Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let Some(fleet) = self.fleet() else { return Ok(()) };
        knowledge(&mut encoder, fleet.knowledge)?;
        waiting(&mut encoder, fleet.waiting)?;
        objects(&mut encoder, &fleet)?;
        upgrades(&mut encoder, &fleet.upgrades)?;
        rules(&mut encoder, &fleet.rules)?;
        agents(&mut encoder, &fleet.connected)?;
        vehicles(&mut encoder, &fleet.connected)?;
        uploads(&mut encoder, &fleet.connected)
    }
}

/// Writes one metric with a value for each set of labels.
fn family<L: EncodeLabelSet, M: EncodeMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    values: impl Iterator<Item = (L, M)>,
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in values {
        value.encode(metric.encode_family(&labels)?)?;
    }
    Ok(())
}

fn gauges<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (L, f64)>,
) -> Result<(), Error> {
    let values = values.map(|(labels, value)| (labels, ConstGauge::new(value)));
    family(encoder, name, help, MetricType::Gauge, values)
}

fn counters<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = (L, u64)>,
) -> Result<(), Error> {
    let values = values.map(|(labels, value)| (labels, ConstCounter::new(value)));
    family(encoder, name, help, MetricType::Counter, values)
}

#[allow(clippy::cast_precision_loss, reason = "counts of objects are far below 2^52")]
fn number(count: usize) -> f64 {
    count as f64
}

fn knowledge(encoder: &mut DescriptorEncoder<'_>, now: Knowledge) -> Result<(), Error> {
    let states = [
        ("before_leading", Knowledge::BeforeLeading),
        ("current", Knowledge::Current),
        ("went_back", Knowledge::WentBack),
    ];
    gauges(
        encoder,
        "skein_leader_knowledge",
        "1 for what the leader knows of the fleet: only with current knowledge flights are begun",
        states
            .into_iter()
            .map(|(state, knowledge)| ([("state", state)], number(usize::from(knowledge == now)))),
    )
}

fn waiting(encoder: &mut DescriptorEncoder<'_>, waiting: [(&'static str, usize); 3]) -> Result<(), Error> {
    gauges(
        encoder,
        "skein_waiting_objects",
        "Objects that wait to be reconciled, by kind",
        waiting
            .into_iter()
            .map(|(kind, count)| ([("kind", kind)], number(count))),
    )
}

fn objects(encoder: &mut DescriptorEncoder<'_>, fleet: &FleetNow) -> Result<(), Error> {
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    for drone in &fleet.drones {
        let phase = drone.status.as_ref().and_then(|status| status.phase.clone());
        *phases.entry(phase.unwrap_or_else(|| "New".to_owned())).or_default() += 1;
    }
    gauges(
        encoder,
        "skein_drones",
        "Drones by the phase in their status",
        phases
            .into_iter()
            .map(|(phase, count)| ([("phase", phase)], number(count))),
    )?;
    let value = |of: fn(&Swarm) -> i32| {
        fleet.swarms.iter().map(move |swarm| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let meta = &swarm.metadata;
            let labels = [("namespace", text(&meta.namespace)), ("swarm", text(&meta.name))];
            (labels, f64::from(of(swarm)))
        })
    };
    gauges(
        encoder,
        "skein_swarm_replicas",
        "Vehicles that a Swarm wants in the air: spec.replicas, and 0 while it is grounded",
        value(|swarm| if swarm.spec.grounded { 0 } else { swarm.spec.replicas }),
    )?;
    gauges(
        encoder,
        "skein_swarm_assigned",
        "Drones of a Swarm that have a vehicle: status.assignedDrones",
        value(|swarm| swarm.status.as_ref().map_or(0, |status| status.assigned_drones)),
    )?;
    gauges(
        encoder,
        "skein_swarm_flying",
        "Drones of a Swarm whose autopilot reports that it flies: status.flyingDrones",
        value(|swarm| swarm.status.as_ref().map_or(0, |status| status.flying_drones)),
    )?;
    gauges(
        encoder,
        "skein_swarm_covered",
        "Slots of a Swarm's formation at which a vehicle is on station: status.coveredSlots; 0 without a formation",
        value(|swarm| {
            swarm
                .status
                .as_ref()
                .and_then(|status| status.covered_slots)
                .unwrap_or(0)
        }),
    )
}

fn rules(encoder: &mut DescriptorEncoder<'_>, rules: &[(&'static str, &'static str, usize)]) -> Result<(), Error> {
    gauges(
        encoder,
        "skein_rules_vehicles",
        "Vehicles on which Geofences and ParameterProfiles are in force, are not yet, or need somebody, once for each object",
        rules
            .iter()
            .map(|&(kind, state, count)| ([("kind", kind), ("state", state)], number(count))),
    )
}

fn upgrades(encoder: &mut DescriptorEncoder<'_>, plan: &Plan) -> Result<(), Error> {
    let mut gauge = |name, help, count| {
        let value = ConstGauge::new(number(count));
        value.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
    };
    gauge(
        "skein_agents_outdated",
        "Agents of an older version than that of the DaemonSet skein-agent",
        plan.outdated,
    )?;
    gauge(
        "skein_agent_upgrades_under_way",
        "Nodes whose agent is being replaced by a newer version, or has not come back",
        plan.under_way,
    )?;
    gauge(
        "skein_agent_upgrades_stuck",
        "Nodes whose replaced agent has not come back in time; while there is one, no other is replaced",
        plan.stuck.len(),
    )?;
    gauges(
        encoder,
        "skein_agent_upgrades_waiting",
        "Agents of an older version that are not replaced at present, by reason",
        Busy::ALL.into_iter().map(|why| {
            let count = plan.waiting.get(&why).copied().unwrap_or_default();
            ([("why", why.label())], number(count))
        }),
    )
}

fn agents(encoder: &mut DescriptorEncoder<'_>, connected: &[Connected]) -> Result<(), Error> {
    let agents = ConstGauge::new(number(connected.len()));
    agents.encode(encoder.encode_descriptor(
        "skein_agents_connected",
        "Agents with an open session",
        None,
        MetricType::Gauge,
    )?)?;
    let mut states = BTreeMap::from(["armed_on_ground", "disarmed", "flying", "unknown"].map(|state| (state, 0_usize)));
    for (_, report) in connected {
        let truth = report.as_ref().map(|(report, _)| report.truth);
        let state = match truth {
            Some(FlightTruth::Disarmed) => "disarmed",
            Some(FlightTruth::ArmedOnGround) => "armed_on_ground",
            Some(FlightTruth::Airborne(_)) => "flying",
            Some(FlightTruth::Unknown(_)) | None => "unknown",
        };
        *states.entry(state).or_default() += 1;
    }
    gauges(
        encoder,
        "skein_vehicles",
        "Vehicles of connected agents, by what their autopilots report",
        states
            .into_iter()
            .map(|(state, count)| ([("state", state)], number(count))),
    )
}

fn vehicles(encoder: &mut DescriptorEncoder<'_>, connected: &[Connected]) -> Result<(), Error> {
    let reports = || {
        connected
            .iter()
            .filter_map(|(node, report)| Some((node, report.as_ref()?)))
    };
    let label = |node: &NodeName| [("node", node.as_str().to_owned())];
    gauges(
        encoder,
        "skein_vehicle_report_age_seconds",
        "Age of the last report of a connected agent, which reports each second",
        reports().map(|(node, (_, age))| (label(node), age.as_secs_f64())),
    )?;
    gauges(
        encoder,
        "skein_vehicle_link_alive",
        "1 while the agent receives from its autopilot, else 0",
        reports().map(|(node, (report, _))| (label(node), f64::from(u8::from(report.link_alive)))),
    )?;
    gauges(
        encoder,
        "skein_vehicle_battery_percent",
        "Remaining energy as the autopilot reports it; absent when it does not know",
        reports().filter_map(|(node, (report, _))| {
            let percent = report.battery?.remaining?;
            Some((label(node), f64::from(percent.get())))
        }),
    )?;
    let link = |of: fn(&LinkQuality) -> u64| {
        reports().filter_map(move |(node, (report, _))| Some((label(node), of(report.link.as_ref()?))))
    };
    counters(
        encoder,
        "skein_vehicle_link_frames",
        "MAVLink frames that the agent has received on its autopilot's link since it started",
        link(|link| link.frames),
    )?;
    counters(
        encoder,
        "skein_vehicle_link_lost_frames",
        "MAVLink frames that were lost before they reached the agent, by the gaps in their sequence numbers",
        link(|link| link.lost),
    )?;
    counters(
        encoder,
        "skein_vehicle_link_damaged_frames",
        "MAVLink frames with a wrong checksum",
        link(|link| link.damaged),
    )
}

fn uploads(encoder: &mut DescriptorEncoder<'_>, connected: &[Connected]) -> Result<(), Error> {
    let of = |figure: fn(&Uploads) -> u64| {
        connected.iter().filter_map(move |(node, report)| {
            let (report, _) = report.as_ref()?;
            Some(([("node", node.as_str().to_owned())], figure(report.uploads.as_ref()?)))
        })
    };
    #[allow(
        clippy::cast_precision_loss,
        reason = "logs of one computer are far below 2^52 bytes"
    )]
    let gauge = |figure| of(figure).map(|(label, value)| (label, value as f64));
    gauges(
        encoder,
        "skein_vehicle_logs_waiting",
        "Logs of a vehicle that wait to be uploaded; absent where none are uploaded",
        gauge(|uploads| uploads.waiting),
    )?;
    gauges(
        encoder,
        "skein_vehicle_logs_waiting_bytes",
        "How long the logs that wait to be uploaded are together",
        gauge(|uploads| uploads.waiting_bytes),
    )?;
    counters(
        encoder,
        "skein_vehicle_logs_uploaded",
        "Logs of a vehicle that were uploaded and checked since its agent started",
        of(|uploads| uploads.uploaded),
    )?;
    counters(
        encoder,
        "skein_vehicle_log_upload_failures",
        "Attempts to upload a log that have failed since the agent started",
        of(|uploads| uploads.failures),
    )?;
    counters(
        encoder,
        "skein_vehicle_logs_removed_before_upload",
        "Logs that were removed to make room although they had not been uploaded, since the agent started",
        of(|uploads| uploads.removed_before),
    )
}
