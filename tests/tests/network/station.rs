//! The ground station of the simulation: a person who grounds everything, releases it again, and resumes after a
//! takeover.

use crate::api::Cluster;
use crate::coordinator::PORT;
use proto::channel::{self, Connection};
use proto::v1::fleet_client::FleetClient;
use proto::v1::ground_request::Target;
use proto::v1::{All, GroundRequest, GroundResponse, ResumeRequest};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::transport::Endpoint;
use turmoil::net::TcpStream;

const ANSWER: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonOrder {
    Ground,
    Release,
    Resume(String),
    /// The vehicle of this node, which landed without an order, may fly again.
    ResumeVehicle(String),
}

pub async fn run(cluster: Arc<Cluster>, words: Option<mpsc::UnboundedReceiver<PersonOrder>>) -> turmoil::Result {
    let mut words = words.ok_or("the station is started once")?;
    while let Some(word) = words.recv().await {
        let said = timeout(ANSWER, say(&cluster, &word)).await;
        tracing::info!(?word, ?said, "the person has spoken");
    }
    std::future::pending().await
}

async fn say(cluster: &Cluster, word: &PersonOrder) -> Result<u32, Box<dyn Error>> {
    let leader = cluster.leader().ok_or("no coordinator leads")?;
    let stream = TcpStream::connect((format!("coordinator-{leader}"), PORT)).await?;
    let endpoint = Endpoint::from_static("http://skein-coordinator");
    let channel = channel::over(&endpoint, Box::new(stream) as Box<dyn Connection>).await?;
    let mut fleet = FleetClient::new(channel);
    let all = GroundRequest {
        target: Some(Target::All(All {})),
    };
    let agents = |answer: GroundResponse| answer.agents_told;
    Ok(match word {
        PersonOrder::Ground => agents(fleet.ground(all).await?.into_inner()),
        PersonOrder::Release => agents(fleet.release(all).await?.into_inner()),
        PersonOrder::Resume(name) => {
            let drone = ResumeRequest {
                namespace: "default".to_owned(),
                name: name.clone(),
                node: String::new(),
            };
            fleet.resume(drone).await?.into_inner().takeovers
        }
        PersonOrder::ResumeVehicle(node) => {
            let vehicle = ResumeRequest {
                node: node.clone(),
                ..ResumeRequest::default()
            };
            fleet.resume(vehicle).await?.into_inner().takeovers
        }
    })
}
