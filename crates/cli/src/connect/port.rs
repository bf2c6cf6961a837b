//! The ports at which ground stations meet up to 250 vehicles, and the frames between them.

use crate::args::Port;
use crate::failure::Failure;
use agent::gcs::any_like;
use agent::gcs::askers::Askers;
use agent::gcs::guest::{FromGuest, GuestAdmission};
use agent::gcs::guest_queue::GuestQueue;
use agent::gcs::routes::GuestId;
use agent::gcs::{tcp, udp};
use link::raw::RawFrame;
use link::renumber::{Numbers, Renumbered};
use model::units::SystemId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UdpSocket, lookup_host};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

const MAX_QUEUED_TO_GROUP: usize = 256;
const MAX_QUEUED_FROM_GUESTS: usize = 64;
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

pub enum ToGroup {
    /// Replaces a vehicle with the same number; frames for the vehicle go to the channel.
    Joined(Renumbered, mpsc::Sender<RawFrame>),
    Left(SystemId),
    Frame(SystemId, RawFrame),
    Numbers(Arc<Numbers>),
}

/// Dropping it closes the ports.
pub struct Group {
    pub sender: mpsc::Sender<ToGroup>,
    pub name: String,
    _tasks: JoinSet<()>,
}

impl Group {
    pub async fn know(&self, numbers: &Arc<Numbers>) {
        let _ = self.sender.send(ToGroup::Numbers(Arc::clone(numbers))).await;
    }

    pub async fn leave(&self, system: SystemId) {
        let _ = self.sender.send(ToGroup::Left(system)).await;
    }
}

pub async fn open(ports: Vec<Port>) -> Result<Group, Failure> {
    let mut tasks = JoinSet::new();
    let (to_hub, from_guests) = mpsc::channel(MAX_QUEUED_FROM_GUESTS);
    let admission = GuestAdmission::new(to_hub, Arc::default());
    for port in &ports {
        let option = port.option();
        let cannot = |why: String| Failure::Failed(format!("cannot use {port}: {why}; choose another with {option}"));
        let admission = admission.clone();
        match port {
            Port::Tcp(address) => {
                let listener = TcpListener::bind(address)
                    .await
                    .map_err(|why| cannot(why.to_string()))?;
                tasks.spawn(async move {
                    tcp::serve(listener, admission).await;
                });
            }
            Port::Udp { host, port } => {
                let found = timeout(LOOKUP_TIMEOUT, lookup_host((host.as_str(), *port))).await;
                let mut found = found
                    .map_err(|_| cannot("the name server does not answer".to_owned()))?
                    .map_err(|why| cannot(why.to_string()))?;
                let there = found
                    .next()
                    .ok_or_else(|| cannot("the name has no address".to_owned()))?;
                let socket = UdpSocket::bind(any_like(there.ip()))
                    .await
                    .map_err(|why| cannot(why.to_string()))?;
                tasks.spawn(async move {
                    udp::serve(socket, Some(there), admission).await;
                });
            }
        }
    }
    let (sender, news) = mpsc::channel(MAX_QUEUED_TO_GROUP);
    tasks.spawn(Hub::default().run(news, from_guests));
    Ok(Group {
        sender,
        name: ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
        _tasks: tasks,
    })
}

#[derive(Default)]
struct Hub {
    numbers: Arc<Numbers>,
    vehicles: BTreeMap<SystemId, (Renumbered, mpsc::Sender<RawFrame>)>,
    guests: BTreeMap<GuestId, GuestQueue>,
    askers: Askers,
}

impl Hub {
    async fn run(mut self, mut news: mpsc::Receiver<ToGroup>, mut guests: mpsc::Receiver<FromGuest>) {
        loop {
            tokio::select! {
                one = news.recv() => match one {
                    Some(ToGroup::Joined(vehicle, frames)) => {
                        self.vehicles.insert(vehicle.number.system, (vehicle, frames));
                    }
                    Some(ToGroup::Left(system)) => {
                        self.vehicles.remove(&system);
                    }
                    Some(ToGroup::Numbers(numbers)) => self.numbers = numbers,
                    Some(ToGroup::Frame(system, frame)) => self.hand_out(system, &frame),
                    None => return,
                },
                from = guests.recv() => match from {
                    Some(FromGuest::Joined(guest, _, queue)) => {
                        self.guests.insert(guest, queue);
                    }
                    Some(FromGuest::Received(guest, frame)) => self.receive(guest, &frame),
                    Some(FromGuest::Left(guest)) => {
                        self.guests.remove(&guest);
                        self.askers.leave(guest);
                    }
                    None => return,
                },
            }
        }
    }

    /// Answers go to the askers only; each slow ground station loses its oldest frames.
    fn hand_out(&mut self, system: SystemId, frame: &RawFrame) {
        let vehicle = self.vehicles.get(&system);
        if let Some(frame) = vehicle.and_then(|(vehicle, _)| vehicle.to_guests(frame, &self.numbers)) {
            let asked = self.askers.answer(&frame, Instant::now());
            let frame = Arc::new(frame);
            for (guest, queue) in &self.guests {
                if asked.is_empty() || asked.contains(guest) {
                    queue.push(Arc::clone(&frame));
                }
            }
        }
    }

    /// A full queue drops the frame: newer ones follow.
    fn receive(&mut self, guest: GuestId, frame: &RawFrame) {
        self.askers.ask(guest, frame, Instant::now());
        for (vehicle, frames) in self.vehicles.values() {
            if let Some(frame) = vehicle.to_vehicle(frame, &self.numbers) {
                let _ = frames.try_send(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// A signed HEARTBEAT of system 1, and PARAM_REQUEST_LIST to (1, 0), both by pymavlink.
    const BEAT: &str = "fd0901000001010000000400000002035104039c560300000080841ed9bcc17be7be";
    const ASKS_1: &str = "fe0205ffbe15010002de";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    #[tokio::test]
    async fn a_station_receives_from_all_vehicles_of_a_port_and_each_gets_what_is_for_it() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let group = open(vec![Port::Tcp(free)]).await.unwrap();
        let mut numbers = Numbers::default();
        let mut ways = Vec::new();
        for _ in 0..2 {
            let vehicle = Renumbered {
                own: SystemId(1),
                number: numbers.give(SystemId(1)),
            };
            let (frames, arrives) = mpsc::channel(8);
            group.sender.send(ToGroup::Joined(vehicle, frames)).await.unwrap();
            ways.push(arrives);
        }
        group.know(&Arc::new(numbers)).await;
        let mut station = TcpStream::connect(free).await.unwrap();
        let asks = RawFrame::parse(&bytes(ASKS_1)).unwrap();
        station.write_all(&asks.bytes).await.unwrap();
        let within = Duration::from_secs(10);
        let arrived = timeout(within, ways[0].recv()).await.unwrap().unwrap();
        assert_eq!(arrived.bytes, asks.bytes);
        let to_2 = asks.renumbered(SystemId(255), Some(SystemId(2))).unwrap();
        station.write_all(&to_2.bytes).await.unwrap();
        let arrived = timeout(within, ways[1].recv()).await.unwrap().unwrap();
        assert_eq!(arrived.bytes, asks.bytes, "it is called 1 on its own wire");
        assert!(ways[0].try_recv().is_err());

        let beat = RawFrame::parse(&bytes(BEAT)).unwrap();
        group
            .sender
            .send(ToGroup::Frame(SystemId(2), beat.clone()))
            .await
            .unwrap();
        let shown = beat.renumbered(SystemId(2), None).unwrap();
        let mut heard = vec![0; shown.bytes.len()];
        timeout(within, station.read_exact(&mut heard)).await.unwrap().unwrap();
        assert_eq!(heard, shown.bytes);
    }

    /// MAV_CMD_DO_SET_HOME of 255/190 for (1, 1), and its COMMAND_ACK.
    const ORDERS_1: &str = "fd20000007ffbe4c000000000000000000000000000000000000000000000000000000000000b3000101f48b";
    const TAKEN_BY_1: &str = "fd0a00000701014d0000b300000000000000ffbe5913";

    #[tokio::test]
    async fn of_two_ground_stations_of_one_id_the_answer_reaches_only_the_one_that_asked() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let group = open(vec![Port::Tcp(free)]).await.unwrap();
        let mut numbers = Numbers::default();
        let vehicle = Renumbered {
            own: SystemId(1),
            number: numbers.give(SystemId(1)),
        };
        let (frames, mut arrives) = mpsc::channel(8);
        group.sender.send(ToGroup::Joined(vehicle, frames)).await.unwrap();
        group.know(&Arc::new(numbers)).await;
        let within = Duration::from_secs(10);
        let (order, beat) = (bytes(ORDERS_1), bytes(BEAT));
        let mut stations = Vec::new();
        for _ in 0..2 {
            let mut station = TcpStream::connect(free).await.unwrap();
            station.write_all(&bytes(ASKS_1)).await.unwrap();
            timeout(within, arrives.recv()).await.unwrap().unwrap();
            stations.push(station);
        }
        stations[1].write_all(&order).await.unwrap();
        timeout(within, arrives.recv()).await.unwrap().unwrap();
        for frame in [bytes(TAKEN_BY_1), beat.clone()] {
            let frame = RawFrame::parse(&frame).unwrap();
            group.sender.send(ToGroup::Frame(SystemId(1), frame)).await.unwrap();
        }
        for (station, expected) in stations
            .iter_mut()
            .zip([beat.clone(), [bytes(TAKEN_BY_1), beat].concat()])
        {
            let mut heard = vec![0; expected.len()];
            timeout(within, station.read_exact(&mut heard)).await.unwrap().unwrap();
            assert_eq!(heard, expected);
        }
    }

    #[tokio::test]
    async fn a_port_that_is_in_use_is_said_with_what_to_do() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = Port::Tcp(taken.local_addr().unwrap());
        let why = open(vec![port]).await.err().unwrap().to_string();
        assert!(why.contains("cannot use tcp:") && why.contains("--listen"), "{why}");
    }
}
