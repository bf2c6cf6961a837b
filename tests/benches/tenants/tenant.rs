//! An ordinary namespace: a Swarm and a Mission with a vehicle each, and what its people ask for.

use anyhow::Context;
use crds::{Drone, Mission, Swarm};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{self, await_condition};
use kube::{Client, ResourceExt};
use proto::v1;
use proto::v1::ground_request::Target;
use serde_json::{Value, json};
use skein_tests::large_fleet::place::Place;
use skein_tests::scripted_agent::{Agent, Vehicle};
use std::f64::consts::TAU;
use std::time::{Duration, Instant};
use tonic::transport::Channel;

pub const PATIENCE: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(50);

/// From sending each to its effect, which a watch or the agent receives.
pub const ACTIONS: [&str; 5] = [
    "edit → observed",
    "suspend → its Drone comes home",
    "delete → its Drone comes home",
    "ground order → on its agent",
    "a survey of its own, 40 corners → planned",
];

const LABEL: &str = "bench.skein.dev/vehicle";

pub struct Tenant {
    namespace: String,
    client: Client,
    fleet: v1::fleet_client::FleetClient<Channel>,
    /// Where its vehicles are, far from those of others.
    latitude: f64,
    worker: Vehicle,
    guard: Vehicle,
    surveys: u32,
    _agents: [Agent; 2],
}

/// The reason of the condition that each Mission has.
pub fn reason(mission: &Mission) -> &str {
    let mut conditions = mission.status.iter().flat_map(|status| &status.conditions);
    let found = conditions.find(|condition| condition.type_ == "Progressing");
    found.map_or("", |condition| condition.reason.as_str())
}

fn goes(drone: Option<&Drone>) -> bool {
    drone.is_none_or(|drone| drone.metadata.deletion_timestamp.is_some())
}

fn is_gone<K>(object: Option<&K>) -> bool {
    object.is_none()
}

fn observes(mission: &Mission) -> bool {
    let observed = mission.status.as_ref().and_then(|status| status.observed_generation);
    observed == mission.metadata.generation
}

impl Tenant {
    pub async fn start(place: &Place, server: &str, number: u32) -> anyhow::Result<Self> {
        let namespace = format!("tenant-{number}");
        let latitude = 46.0 + f64::from(number) * 0.05;
        // The guard 1.1 km to the south of the worker, whose route leads north.
        let [worker, guard] = [("worker", 0.0), ("guard", -0.01)].map(|(role, north)| {
            let vehicle = Vehicle::new(&format!("{namespace}-{role}"));
            let mut state = vehicle.state();
            state.home = (latitude + north, 8.0);
            state.at = Some((latitude + north, 8.0, 0.0));
            state.waits_at = 3;
            drop(state);
            vehicle
        });
        for vehicle in [&worker, &guard] {
            let node = vehicle.state().node.clone();
            place.add_node(&node, (LABEL.to_owned(), node.clone())).await?;
        }
        Ok(Self {
            client: place.client.clone(),
            fleet: v1::fleet_client::FleetClient::connect(format!("http://{server}")).await?,
            latitude,
            surveys: 0,
            _agents: [&worker, &guard].map(|vehicle| Agent::start(vehicle, server)),
            worker,
            guard,
            namespace,
        })
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    fn missions(&self) -> Api<Mission> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn drones(&self) -> Api<Drone> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn only(&self, role: &str) -> Value {
        json!({LABEL: format!("{}-{role}", self.namespace)})
    }

    pub async fn fly_guard(&self) -> anyhow::Result<()> {
        let spec = json!({"replicas": 1, "nodeSelector": self.only("guard")});
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "guard"}, "spec": spec});
        let object: Swarm = serde_json::from_value(object)?;
        let swarms: Api<Swarm> = Api::namespaced(self.client.clone(), &self.namespace);
        swarms.create(&PostParams::default(), &object).await?;
        self.until("the guard to fly", || self.guard.flies()).await
    }

    pub async fn rounds(&mut self, count: u32) -> anyhow::Result<Vec<[Duration; ACTIONS.len()]>> {
        let mut all = Vec::new();
        for _ in 0..count {
            let round = Box::pin(self.round()).await;
            all.push(round.with_context(|| self.namespace.clone())?);
        }
        Ok(all)
    }

    async fn round(&mut self) -> anyhow::Result<[Duration; ACTIONS.len()]> {
        self.create("work", self.route()).await?;
        let drone = self.flying_drone().await?;
        let edited = |mission: Option<&Mission>| {
            mission.is_some_and(|mission| mission.spec.backoff_limit == 50 && observes(mission))
        };
        let observed = Box::pin(await_condition(self.missions(), "work", edited));
        let edit = Box::pin(after("edit", observed, self.patch(json!({"backoffLimit": 50})))).await?;

        let comes_home = Box::pin(await_condition(self.drones(), &drone, goes));
        let suspend = Box::pin(after("suspend", comes_home, self.patch(json!({"suspend": true})))).await?;
        gone(Box::pin(await_condition(self.drones(), &drone, is_gone::<Drone>))).await?;
        self.patch(json!({"suspend": false})).await?;

        let drone = self.flying_drone().await?;
        let comes_home = Box::pin(await_condition(self.drones(), &drone, goes));
        let delete = Box::pin(after("delete", comes_home, self.delete("work"))).await?;
        gone(Box::pin(await_condition(self.drones(), &drone, is_gone::<Drone>))).await?;
        gone(Box::pin(await_condition(self.missions(), "work", is_gone::<Mission>))).await?;

        let ground = self.ground_and_release().await?;
        let survey = self.plan_survey().await?;
        Ok([edit, suspend, delete, ground, survey])
    }

    async fn ground_and_release(&self) -> anyhow::Result<Duration> {
        let target = Target::Swarm(v1::SwarmTarget {
            namespace: self.namespace.clone(),
            name: "guard".into(),
        });
        let request = v1::GroundRequest { target: Some(target) };
        let mut fleet = self.fleet.clone();
        let (guard, began) = (&self.guard, Instant::now());
        let ordered = async {
            while !guard.is_grounded_by_order() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            began.elapsed()
        };
        let ordered = tokio::time::timeout(PATIENCE, ordered);
        let (took, asked) = tokio::join!(ordered, fleet.ground(request.clone()));
        asked.context("cannot give the ground order")?;
        let took = took.context("the ground order never came")?;
        self.until("the guard to be down", || !self.guard.flies()).await?;
        fleet.release(request).await.context("cannot release")?;
        self.until("the guard to fly again", || {
            self.guard.flies() && !self.guard.is_grounded_by_order()
        })
        .await?;
        Ok(took)
    }

    async fn plan_survey(&mut self) -> anyhow::Result<Duration> {
        self.surveys += 1;
        let suspended = |mission: Option<&Mission>| mission.is_some_and(|mission| reason(mission) == "Suspended");
        let planned = Box::pin(await_condition(self.missions(), "survey", suspended));
        let took = Box::pin(after("plan", planned, self.create("survey", self.survey()))).await?;
        self.delete("survey").await?;
        gone(Box::pin(await_condition(self.missions(), "survey", is_gone::<Mission>))).await?;
        Ok(took)
    }

    fn route(&self) -> Value {
        let place = |number: u32| {
            json!({"latitudeDegrees": self.latitude + f64::from(number) * 0.000_27, "longitudeDegrees": 8.001,
                   "altitudeMeters": 20, "speedMetersPerSecond": 5})
        };
        let waypoints: Vec<Value> = (0..24).map(place).collect();
        json!({"route": {"waypoints": waypoints}, "nodeSelector": self.only("worker")})
    }

    /// Another each time, as the last ones are not planned again. Suspended, so that no vehicle flies it.
    fn survey(&self) -> Value {
        let corner = |number: u32| {
            let (east, north) = (f64::from(number) / 40.0 * TAU).sin_cos();
            json!({"latitudeDegrees": self.latitude + 0.002 * north, "longitudeDegrees": 8.0 + 0.002 * east})
        };
        let polygon: Vec<Value> = (0..40).map(corner).collect();
        let spacing = 20.0 + f64::from(self.surveys) * 0.01;
        let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": spacing, "altitudeMeters": 30});
        json!({"survey": survey, "suspend": true, "nodeSelector": self.only("worker")})
    }

    async fn create(&self, name: &str, spec: Value) -> anyhow::Result<()> {
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": name}, "spec": spec});
        let object: Mission = serde_json::from_value(object)?;
        self.missions().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    async fn patch(&self, spec: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.missions().patch("work", &PatchParams::default(), &patch).await?;
        Ok(())
    }

    async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.missions().delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The name of the Mission's Drone, once its vehicle flies.
    async fn flying_drone(&self) -> anyhow::Result<String> {
        self.until("the worker to fly", || self.worker.flies()).await?;
        let of_mission = ListParams::default().labels("skein.dev/mission=work");
        let drones = self.drones().list(&of_mission).await?;
        let drone = drones.iter().find(|drone| drone.spec.node_name.is_some());
        Ok(drone.context("a vehicle flies without a Drone")?.name_any())
    }

    async fn until(&self, what: &str, is: impl Fn() -> bool) -> anyhow::Result<()> {
        let waits = async {
            while !is() {
                tokio::time::sleep(POLL).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, waits).await;
        in_time.with_context(|| format!("{}: never came: {what}", self.namespace))
    }
}

type Seen<K> = Result<Option<K>, wait::Error>;

/// From the moment before `write` is sent until a watch has `seen` the effect.
async fn after<K>(
    what: &str,
    seen: impl Future<Output = Seen<K>>,
    write: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let seen = async {
        seen.await?;
        anyhow::Ok(began.elapsed())
    };
    let (seen, wrote) = tokio::join!(tokio::time::timeout(PATIENCE, seen), write);
    wrote.with_context(|| format!("cannot {what}"))?;
    seen.with_context(|| format!("{what}: never served"))?
}

async fn gone<K>(seen: impl Future<Output = Seen<K>>) -> anyhow::Result<()> {
    let in_time = tokio::time::timeout(PATIENCE, seen).await;
    in_time.context("an object is never gone")??;
    Ok(())
}
