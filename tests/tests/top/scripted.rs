//! A coordinator that shows a fleet as the test orders.

use proto::v1;
use proto::v1::fleet_server::{Fleet, FleetServer};
use proto::v1::ground_request::Target;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::IntervalStream;
use tonic::{Request, Response, Status};

const EVERY: Duration = Duration::from_millis(200);

#[derive(Default)]
pub struct Script {
    fleet: Mutex<Vec<v1::Vehicle>>,
    pub sent: AtomicU64,
    pub silent: AtomicBool,
    pub orders: Mutex<Vec<(&'static str, Target)>>,
    /// Locked while the answer to a release is kept back.
    pub answers: tokio::sync::Mutex<()>,
}

pub struct Coordinator {
    pub script: Arc<Script>,
    pub address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Coordinator {
    pub fn start(fleet: Vec<v1::Vehicle>) -> anyhow::Result<Self> {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0)), fleet)
    }

    pub fn at(address: SocketAddr, fleet: Vec<v1::Vehicle>) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Runtime::new()?;
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let script = Arc::new(Script {
            fleet: Mutex::new(fleet),
            ..Script::default()
        });
        let service = FleetServer::new(Service(Arc::clone(&script)));
        let incoming = tonic::transport::server::TcpIncoming::from(listener);
        runtime.spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        Ok(Self {
            script,
            address,
            _runtime: runtime,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

struct Service(Arc<Script>);

impl Script {
    fn now(&self) -> v1::ListResponse {
        let message = self.sent.fetch_add(1, Ordering::SeqCst);
        let mut vehicles = self.fleet.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for report in vehicles.iter_mut().filter_map(|vehicle| vehicle.report.as_mut()) {
            report.made_ms += message * 200;
        }
        v1::ListResponse { vehicles }
    }

    fn order(&self, verb: &'static str, request: v1::GroundRequest) -> Result<Response<v1::GroundResponse>, Status> {
        let target = request.target.ok_or_else(|| Status::invalid_argument("no target"))?;
        self.orders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((verb, target));
        Ok(Response::new(v1::GroundResponse {
            drones: 1,
            agents_told: 1,
            ..v1::GroundResponse::default()
        }))
    }
}

type Watched = std::pin::Pin<Box<dyn tokio_stream::Stream<Item = Result<v1::ListResponse, Status>> + Send>>;

#[tonic::async_trait]
impl Fleet for Service {
    async fn logs(&self, _: Request<v1::LogsRequest>) -> Result<Response<v1::LogAnswer>, Status> {
        Err(Status::unimplemented("no logs here"))
    }

    type WatchStream = Watched;

    async fn list(&self, _: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        Ok(Response::new(self.0.now()))
    }

    async fn get(&self, _: Request<v1::GetRequest>) -> Result<Response<v1::Vehicle>, Status> {
        Err(Status::unimplemented("not in the script"))
    }

    async fn watch(&self, _: Request<v1::WatchRequest>) -> Result<Response<Watched>, Status> {
        let script = Arc::clone(&self.0);
        let ticks = IntervalStream::new(tokio::time::interval(EVERY));
        let speaks = ticks.filter_map(move |_| (!script.silent.load(Ordering::SeqCst)).then(|| Ok(script.now())));
        Ok(Response::new(Box::pin(speaks)))
    }

    async fn ground(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        self.0.order("ground", request.into_inner())
    }

    async fn release(&self, request: Request<v1::GroundRequest>) -> Result<Response<v1::GroundResponse>, Status> {
        let answer = self.0.order("release", request.into_inner());
        let _turn = self.0.answers.lock().await;
        answer
    }

    async fn resume(&self, _: Request<v1::ResumeRequest>) -> Result<Response<v1::ResumeResponse>, Status> {
        Err(Status::failed_precondition("nobody has taken it over"))
    }

    async fn kill(&self, _: Request<v1::KillRequest>) -> Result<Response<v1::KillResponse>, Status> {
        Err(Status::unimplemented("not in the script"))
    }
}

pub fn fleet() -> Vec<v1::Vehicle> {
    use v1::FlightTruth as T;
    let flying = |n: u32| flies(n, "alpha", T::InAir, "Flying", "flies as asked");
    let mut silent = flies(4, "bravo", T::UnknownLinkLost, "Unknown", "the autopilot is not heard");
    if let Some(report) = silent.report.as_mut() {
        (report.battery, report.mode) = (None, None);
    }
    let mut idle = flies(6, "", T::Disarmed, "Idle", "no Drone wants it");
    (idle.drone_name, idle.drone_namespace) = (String::new(), String::new());
    let waits = v1::Vehicle {
        drone_namespace: "field".into(),
        drone_name: "bravo-9".into(),
        swarm: "bravo".into(),
        phase: "Pending".into(),
        message: "no vehicle is free: of 4 drone nodes 4 serve other Drones".into(),
        ..v1::Vehicle::default()
    };
    vec![
        flying(1),
        flying(2),
        flies(3, "alpha", T::Landing, "Landing", "grounded by order"),
        silent,
        waits,
        idle,
    ]
}

fn flies(n: u32, swarm: &str, truth: v1::FlightTruth, phase: &str, message: &str) -> v1::Vehicle {
    let around = f64::from(n) * 0.0004;
    let waypoint = |north: f64, east: f64, up: f64| v1::Waypoint {
        latitude_deg: 47.39 + north,
        longitude_deg: 8.54 + east,
        altitude_amsl_m: 488.0 + up,
    };
    let route = v1::Route {
        term: 1,
        count: n.into(),
        places: vec![waypoint(around, 0.0, 20.0), waypoint(around, 0.0015, 20.0)],
        ..v1::Route::default()
    };
    v1::Vehicle {
        drone_namespace: "field".into(),
        drone_name: format!("{swarm}-{n}"),
        swarm: swarm.into(),
        node: format!("pi-{n}"),
        phase: phase.into(),
        message: message.into(),
        agent_connected: true,
        report_age_ms: 100,
        report: Some(v1::Report {
            link_alive: true,
            identity: Some(v1::Identity {
                autopilot: v1::Autopilot::Px4.into(),
                system_id: n,
                component_id: 1,
                firmware: "1.17.0".into(),
                hardware_uid: format!("{n:016x}"),
            }),
            truth: truth.into(),
            mode: Some("AUTO.LOITER".into()),
            ready: Some(true),
            battery: Some(v1::Battery {
                remaining_percent: Some(100 - 15 * n),
                volts: Some(15.9),
            }),
            position: Some(v1::Position {
                latitude_deg: 47.39 + around,
                longitude_deg: 8.54 + around,
                altitude_amsl_m: 508.0,
                altitude_above_home_m: 20.0,
            }),
            activity: v1::Activity::Holding.into(),
            home: Some(waypoint(around, -0.0005, 0.0)),
            route: (n < 3).then(|| v1::RouteState {
                last_term: 1,
                last_count: n.into(),
                order: Some(route),
                ..v1::RouteState::default()
            }),
            ..v1::Report::default()
        }),
        ..v1::Vehicle::default()
    }
}
