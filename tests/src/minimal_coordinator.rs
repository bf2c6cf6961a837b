//! A minimal coordinator, which orders one vehicle to fly and keeps the agent's reports.

use futures::channel::mpsc;
use futures::stream::StreamExt;
use proto::v1;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

const TERM: u64 = 3;

type ToAgent = Result<v1::ToAgent, Status>;
type Reported = Arc<Mutex<Option<v1::Report>>>;

pub struct Coordinator {
    reported: Reported,
    _runtime: Runtime,
}

struct Uplink {
    reported: Reported,
}

#[tonic::async_trait]
impl v1::uplink_server::Uplink for Uplink {
    type SessionStream = mpsc::Receiver<ToAgent>;

    async fn session(
        &self,
        request: Request<Streaming<v1::FromAgent>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut from_agent = request.into_inner();
        let reported = Arc::clone(&self.reported);
        let (mut to_agent, orders) = mpsc::channel(4);
        to_agent
            .try_send(Ok(flying()))
            .map_err(|e| Status::internal(e.to_string()))?;
        tokio::spawn(async move {
            while let Some(Ok(message)) = from_agent.next().await {
                if let Some(v1::from_agent::Message::Report(report)) = message.message {
                    *reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
                }
            }
            // The stream to the agent is open for as long as the one from it.
            drop(to_agent);
        });
        Ok(Response::new(orders))
    }
}

fn flying() -> v1::ToAgent {
    let assignment = v1::Assignment {
        term: TERM,
        drone_uid: "u-1".into(),
        drone_namespace: "field".into(),
        drone_name: "alpha-brave-finch".into(),
        generation: 1,
        desired: Some(v1::assignment::Desired::Flying(v1::Flying {
            altitude_above_home_m: 10.0,
        })),
        ..v1::Assignment::default()
    };
    v1::ToAgent {
        order: Some(v1::to_agent::Order::Assigned(assignment)),
        ..v1::ToAgent::default()
    }
}

impl Coordinator {
    pub fn serve(port: u16) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let reported = Reported::default();
        let uplink = Uplink {
            reported: Arc::clone(&reported),
        };
        let service = v1::uplink_server::UplinkServer::new(uplink);
        let address: SocketAddr = ([127, 0, 0, 1], port).into();
        runtime.spawn(Server::builder().add_service(service).serve(address));
        Ok(Self {
            reported,
            _runtime: runtime,
        })
    }

    pub fn report(&self) -> Option<v1::Report> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
