//! A vehicle with its wire: bytes in, bytes out, and faults of both, with explicit time.

use std::time::Duration;

use crate::faults::{Delivery, LinkChange, Player, Script, What};
use crate::model::{Vehicle, VehicleConfig};
use crate::wire::{FrameReader, Incoming, Outgoing, Sender};

const SLICE: Duration = Duration::from_millis(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Received or sent, for the wire log.
    Frame(Vec<u8>),
    /// Undamaged, for the wire log and the link.
    Sent(Vec<u8>),
    Bytes(Vec<u8>),
    Link(LinkChange),
}

pub struct WiredVehicle {
    vehicle: Vehicle,
    sender: Sender,
    reader: FrameReader,
    player: Option<Player>,
    spare: Option<Box<Player>>,
    reboots: u32,
}

impl WiredVehicle {
    pub fn new(config: VehicleConfig) -> Self {
        Self {
            sender: Sender::new(config.system_id, 1),
            vehicle: Vehicle::new(config),
            reader: FrameReader::default(),
            player: None,
            spare: None,
            reboots: 0,
        }
    }

    /// `epoch_s`: seconds from 2015-01-01 UTC until now.
    pub fn with_faults(config: VehicleConfig, script: &Script, name: &str, epoch_s: f64) -> Self {
        let player = Player::new(script, name, &config, epoch_s);
        let (player, spare) = if player.is_idle() {
            (None, Some(Box::new(player)))
        } else {
            (Some(player), None)
        };
        Self {
            player,
            spare,
            ..Self::new(config)
        }
    }

    pub fn inject(&mut self, what: What) {
        if self.player.is_none() {
            self.player = self.spare.take().map(|spare| *spare);
        }
        if let Some(player) = &mut self.player {
            player.inject(what, &mut self.vehicle);
        }
    }

    pub fn vehicle(&self) -> &Vehicle {
        &self.vehicle
    }

    pub fn vehicle_mut(&mut self) -> &mut Vehicle {
        &mut self.vehicle
    }

    pub fn step(&mut self, dt: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        if self.player.is_none() {
            self.pass(dt, &mut events);
            return events;
        }
        let mut left = dt;
        while !left.is_zero() {
            let slice = left.min(SLICE);
            left -= slice;
            self.pass(slice, &mut events);
        }
        events
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        match &mut self.player {
            None => self.reader.push(bytes),
            Some(player) => self.reader.push(&player.arriving(bytes)),
        }
        while let Some(frame) = self.reader.next_frame() {
            let incoming = Incoming::decode(&frame);
            let delivery = match &mut self.player {
                None => Delivery::Delivered,
                Some(player) => player.deliver(&frame, &incoming),
            };
            events.push(Event::Frame(frame.raw));
            if delivery == Delivery::Delivered {
                let sent = self.vehicle.on_message(&incoming);
                self.send(sent, &mut events);
            }
        }
        events
    }

    fn pass(&mut self, dt: Duration, events: &mut Vec<Event>) {
        let sent = self.vehicle.step(dt);
        self.send(sent, events);
        let Some(player) = &mut self.player else {
            return self.notice_reboot(events);
        };
        let changes = player.pass(dt.as_secs_f64(), &mut self.vehicle);
        events.extend(changes.into_iter().map(Event::Link));
        events.extend(player.released().into_iter().map(Event::Bytes));
        let (frames, delivery) = player.others(&mut self.sender, self.vehicle.truth().uptime);
        for frame in frames {
            events.push(Event::Frame(frame.clone()));
            events.extend(player.carried(&frame).map(Event::Bytes));
        }
        for due in player.due_acks() {
            put(player, &mut self.sender, &due, events);
        }
        self.notice_reboot(events);
        for incoming in delivery {
            let sent = self.vehicle.on_message(&incoming);
            self.send(sent, events);
        }
    }

    fn notice_reboot(&mut self, events: &mut Vec<Event>) {
        if self.vehicle.reboots() != self.reboots {
            self.reboots = self.vehicle.reboots();
            self.sender = self.sender.restarted();
            events.push(Event::Link(LinkChange::PowerCycle));
        }
    }

    fn send(&mut self, sent: Vec<Outgoing>, events: &mut Vec<Event>) {
        let Some(player) = &mut self.player else {
            let sender = &mut self.sender;
            events.extend(sent.iter().map(|message| Event::Sent(sender.encode(message))));
            return;
        };
        for message in sent {
            for message in player.replace_sent(message) {
                put(player, &mut self.sender, &message, events);
            }
        }
    }
}

fn put(player: &mut Player, sender: &mut Sender, message: &Outgoing, events: &mut Vec<Event>) {
    let Some(frame) = player.framed(sender.encode(message)) else {
        return;
    };
    let carried = player.carried(&frame);
    events.push(Event::Frame(frame));
    events.extend(carried.map(Event::Bytes));
}
