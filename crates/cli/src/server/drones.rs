//! Calls about one Drone.

use super::{ANSWER_TIMEOUT, Server, within};
use crate::args::ObjectKey;
use crate::failure::Failure;
use proto::v1;
use proto::v1::kill_response::Step;

impl Server {
    pub async fn get(&mut self, drone: &ObjectKey) -> Result<v1::Vehicle, Failure> {
        let ObjectKey { namespace, name } = drone.clone();
        let request = v1::GetRequest { namespace, name };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.get(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        answer.map_err(|s| self.failure(&s))
    }

    /// Takes back a vehicle after a takeover. After an error nothing goes on.
    pub async fn resume(&mut self, drone: &ObjectKey) -> Result<v1::ResumeResponse, Failure> {
        let ObjectKey { namespace, name } = drone.clone();
        let node = String::new();
        self.ask_resume(v1::ResumeRequest { namespace, name, node }).await
    }

    /// Ends a stand-down of the node's vehicle. After an error nothing may have changed.
    pub async fn stand_up(&mut self, node: &str) -> Result<v1::ResumeResponse, Failure> {
        let request = v1::ResumeRequest {
            node: node.to_owned(),
            ..v1::ResumeRequest::default()
        };
        self.ask_resume(request).await
    }

    async fn ask_resume(&mut self, request: v1::ResumeRequest) -> Result<v1::ResumeResponse, Failure> {
        let answer = self
            .ask(request, |mut client, request| async move {
                client.resume(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        answer.map_err(|s| self.failure(&s))
    }

    /// The vehicle, and the code for [`Self::kill`]; stops no motors.
    pub async fn offer_kill(&mut self, drone: &ObjectKey) -> Result<(v1::Vehicle, v1::KillOffer), Failure> {
        let answer = self.call_kill(drone, String::new()).await?;
        match (answer.vehicle, answer.step) {
            (Some(vehicle), Some(Step::Offer(offer))) => Ok((vehicle, offer)),
            _ => Err(no_sense()),
        }
    }

    pub async fn kill(&mut self, drone: &ObjectKey, code: String) -> Result<v1::KillAnswer, Failure> {
        match self.call_kill(drone, code).await?.step {
            Some(Step::Answer(answer)) => Ok(answer),
            Some(Step::Offer(_)) | None => Err(no_sense()),
        }
    }

    async fn call_kill(&mut self, drone: &ObjectKey, code: String) -> Result<v1::KillResponse, Failure> {
        let ObjectKey { namespace, name } = drone.clone();
        let request = v1::KillRequest { namespace, name, code };
        let answer = self
            .ask(request, |mut client, request| async move {
                client.kill(within(ANSWER_TIMEOUT, request)).await
            })
            .await;
        answer.map_err(|s| self.failure(&s))
    }
}

fn no_sense() -> Failure {
    Failure::Failed("the coordinator's answer makes no sense; is it of another version?".into())
}
