//! Which vehicle has which number on which port.

use super::port::{self, Group, ToGroup};
use crate::args::{ObjectKey, Port};
use crate::failure::Failure;
use link::renumber::{Number, Numbers, Renumbered};
use model::units::SystemId;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

/// All numbers and ports of one command.
pub struct Desk {
    ports: Vec<Port>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    numbers: Numbers,
    given: BTreeMap<ObjectKey, Number>,
    groups: Vec<Group>,
}

/// A vehicle's place at a port.
pub struct Seat {
    /// Its number there.
    pub vehicle: Renumbered,
    /// Where its frames go.
    pub group: mpsc::Sender<ToGroup>,
    /// The ports, for people.
    pub ports: String,
}

impl Desk {
    /// No vehicle has a number yet.
    pub fn new(ports: Vec<Port>) -> Self {
        Self {
            ports,
            state: Mutex::default(),
        }
    }

    /// Opens the first port.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn open_first(&self) -> Result<(), Failure> {
        let mut state = self.state.lock().await;
        self.open_up_to(&mut state, 0).await
    }

    /// The place of `drone`, whose vehicle calls itself `own`. It keeps its number for as long as the command runs, whatever its vehicle is.
    ///
    /// # Errors
    /// There is no further port.
    pub async fn seat(&self, drone: &ObjectKey, own: SystemId) -> Result<Seat, Failure> {
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
        Ok(Seat {
            vehicle: Renumbered { own, number },
            group: group.sender.clone(),
            ports: group.name.clone(),
        })
    }

    /// Something else than its vehicle speaks with the system id of `number` on a wire: no vehicle gets that one from now on. Whether a
    /// vehicle has it already, the first time.
    pub async fn observe_other(&self, number: Number) -> bool {
        let mut state = self.state.lock().await;
        state.numbers.observe_other(number.system) && state.numbers.is_taken(number)
    }

    /// The vehicle of `drone` is not reached any more; its number stays its own.
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
