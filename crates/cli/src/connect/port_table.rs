//! Assigns numbers on ports to vehicles.

use super::port::{self, Group, ToGroup};
use crate::args::{ObjectKey, Port};
use crate::failure::Failure;
use link::renumber::{Number, Numbers, Renumbered};
use model::units::SystemId;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

pub struct PortTable {
    ports: Vec<Port>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    numbers: Numbers,
    given: BTreeMap<ObjectKey, Number>,
    groups: Vec<Group>,
}

pub struct AssignedPort {
    pub vehicle: Renumbered,
    pub group: mpsc::Sender<ToGroup>,
    pub ports: String,
}

impl PortTable {
    pub fn new(ports: Vec<Port>) -> Self {
        Self {
            ports,
            state: Mutex::default(),
        }
    }

    pub async fn open_first(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().await;
        self.open_up_to(&mut state, 0).await
    }

    /// A Drone keeps its number on another vehicle, too. `own`: the vehicle's system id. Errors: no further port.
    pub async fn assign(&self, drone: &ObjectKey, own: SystemId) -> Result<AssignedPort, Failure> {
        let mut state = self.state.lock().await;
        let number = match state.given.get(drone) {
            Some(number) => *number,
            None => {
                let number = state.numbers.give(own);
                state.given.insert(drone.clone(), number);
                number
            }
        };
        self.open_up_to(&mut state, number.port).await?;
        let group = state.groups.get(number.port);
        let group = group.ok_or_else(|| Failure::Failed("the port is not open".to_owned()))?;
        group.know(&Arc::new(state.numbers.clone())).await;
        Ok(AssignedPort {
            vehicle: Renumbered { own, number },
            group: group.sender.clone(),
            ports: group.name.clone(),
        })
    }

    /// Reserves a system id that something else uses on a wire. Returns `true` once if a vehicle has it, too.
    pub async fn observe_other(&self, number: Number) -> bool {
        let mut state = self.state.lock().await;
        state.numbers.observe_other(number.system) && state.numbers.is_taken(number)
    }

    /// The Drone's number stays reserved.
    pub async fn leave(&self, drone: &ObjectKey) {
        let state = self.state.lock().await;
        if let Some(number) = state.given.get(drone)
            && let Some(group) = state.groups.get(number.port)
        {
            group.leave(number.system).await;
        }
    }

    async fn open_up_to(&self, state: &mut State, index: usize) -> Result<(), Failure> {
        while state.groups.len() <= index {
            let ports: Result<Vec<Port>, Failure> = self
                .ports
                .iter()
                .map(|port| port.of_group(state.groups.len()))
                .collect();
            state.groups.push(port::open(ports?).await?);
        }
        Ok(())
    }
}
