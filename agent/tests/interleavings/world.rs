//! One random run: the vehicle, the coordinators, the wire between, and the agent's lives.

use crate::commander::{Commander, FLYING, GROUNDED};
use crate::oracle::Oracle;
use crate::vehicle::{Kind, Mode, SYSTEM, Vehicle};
use agent::outgoing::Written;
use agent::pilot::Pilot;
use agent::state_file::State;
use link::dialect::{COMMAND_ACK_DATA, MavCmd, MavMessage};
use link::{Frame, LinkEvent};
use mavlink::MavHeader;
use model::assignment::Order;
use model::ids::{NodeName, Term};
use model::stand_down::StandUp;
use model::time::Moment;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Tally {
    pub arms: u32,
    pub flights: u32,
    pub landings: u32,
    pub takeovers: u32,
    pub restarts: u32,
    pub stale_orders: u32,
}

impl Tally {
    pub fn add(&mut self, world: &World) {
        self.arms += world.tally.arms;
        self.flights += world.tally.flights;
        self.landings += world.tally.landings;
        self.takeovers += world.tally.takeovers;
        self.restarts += world.tally.restarts;
        self.stale_orders += world.tally.stale_orders;
    }
}

pub struct World {
    seed: u64,
    rng: StdRng,
    now: u64,
    vehicle: Vehicle,
    commander: Commander,
    pilot: Pilot,
    oracle: Oracle,
    saved: State,
    link_up: bool,
    terminating: bool,
    disorder: bool,
    /// By time of arrival.
    in_flight: Vec<(u64, MavMessage)>,
    tally: Tally,
}

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn pilot(state: State, now: u64) -> Pilot {
    Pilot::new(NodeName::parse("pine").unwrap(), state, at(now))
}

impl World {
    /// `salt` distinguishes one test's runs from another's.
    pub fn new(seed: u64, salt: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ salt);
        let kind = if rng.random_bool(0.5) {
            Kind::Px4
        } else {
            Kind::ArduCopter
        };
        let commander = Commander::new(&mut rng);
        let mut world = Self {
            seed,
            rng,
            now: 1000,
            vehicle: Vehicle::new(kind),
            commander,
            pilot: pilot(State::default(), 1000),
            oracle: Oracle::default(),
            saved: State::default(),
            link_up: true,
            terminating: false,
            disorder: true,
            in_flight: Vec::new(),
            tally: Tally::default(),
        };
        world.oracle.restarted(1000);
        world.pilot.receive(&LinkEvent::Up, at(1000), 0.5);
        world
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.disorder && self.rng.random_bool(probability)
    }

    pub fn step(&mut self) {
        let ms = if self.chance(0.02) {
            self.rng.random_range(2000..15_000)
        } else {
            self.rng.random_range(20..400)
        };
        self.now += ms;
        let flew = self.vehicle.in_air;
        self.vehicle.fly(self.now, ms);
        self.oracle.flies(self.vehicle.in_air, self.now);
        self.tally.landings += u32::from(flew && !self.vehicle.in_air);
        self.tally.flights += u32::from(!flew && self.vehicle.in_air);
        if self.disorder {
            self.mishap();
        }
        self.telemetry();
        self.deliver();
        self.coordinator();
        self.pump();
    }

    fn mishap(&mut self) {
        if self.chance(0.01) {
            self.vehicle.ready = !self.vehicle.ready;
        }
        if self.chance(0.006) {
            self.vehicle.mode = Mode::Pilot;
            self.tally.takeovers += u32::from(self.vehicle.in_air);
        }
        if self.chance(0.02) && self.vehicle.mode == Mode::Pilot {
            self.vehicle.mode = if self.rng.random_bool(0.5) {
                Mode::Station
            } else {
                Mode::Land
            };
        }
        if self.chance(0.01) {
            self.vehicle.remaining = if self.rng.random_bool(0.3) { 12 } else { 90 };
        }
        if self.chance(0.002) && !self.vehicle.in_air {
            self.vehicle.reboot(self.now);
        }
        if self.chance(0.01) {
            self.link_up = !self.link_up;
            self.in_flight.clear();
            let event = if self.link_up {
                LinkEvent::Up
            } else {
                LinkEvent::Down("unplugged".into())
            };
            self.oracle.link(self.link_up);
            self.pilot.receive(&event, at(self.now), 0.5);
        }
        if self.chance(0.005) {
            self.restart();
        }
        if self.chance(0.002) {
            self.terminating = true;
            self.oracle.terminating();
            self.pilot.terminate();
        }
    }

    fn restart(&mut self) {
        self.tally.restarts += 1;
        self.terminating = false;
        self.link_up = true;
        self.in_flight.clear();
        self.commander.open = false;
        self.pilot = pilot(self.saved.clone(), self.now);
        self.oracle.restarted(self.now);
        self.pilot.receive(&LinkEvent::Up, at(self.now), 0.5);
    }

    fn telemetry(&mut self) {
        if !self.link_up {
            return;
        }
        for message in self.vehicle.reports(self.now) {
            if !self.chance(0.3) {
                self.send_later(message);
            }
        }
        if self.chance(0.05) {
            let target_component = if self.rng.random_bool(0.5) { 190 } else { 191 };
            let command = if self.rng.random_bool(0.5) {
                MavCmd::MAV_CMD_COMPONENT_ARM_DISARM
            } else {
                MavCmd::MAV_CMD_NAV_LAND
            };
            self.send_later(MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
                command,
                target_system: SYSTEM,
                target_component,
                ..COMMAND_ACK_DATA::default()
            }));
        }
    }

    fn send_later(&mut self, message: MavMessage) {
        let delay = if self.chance(0.05) {
            self.rng.random_range(0..900)
        } else {
            0
        };
        if self.chance(0.05) {
            self.in_flight.push((self.now + delay + 50, message.clone()));
        }
        self.in_flight.push((self.now + delay, message));
    }

    fn deliver(&mut self) {
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.in_flight)
            .into_iter()
            .partition(|(at, _)| *at <= self.now);
        self.in_flight = later;
        let ours_speaks = due
            .iter()
            .any(|(_, message)| matches!(message, MavMessage::HEARTBEAT(_)));
        for (_, message) in due {
            self.oracle.shown(&message, self.now);
            self.receive(message, SYSTEM);
        }
        if ours_speaks && self.chance(0.05) {
            // Another vehicle on the same wire; alone for seconds, it would rightly be taken for ours.
            let stranger = Vehicle::new(self.vehicle.kind);
            for message in stranger.reports(self.now) {
                self.receive(message, SYSTEM + 1);
            }
        }
    }

    fn receive(&mut self, message: MavMessage, system: u8) {
        let frame = Frame {
            header: MavHeader {
                system_id: u32::from(system),
                component_id: 1,
                sequence: 0,
            },
            message,
            at: tokio::time::Instant::now(),
            unchecked_signature: false,
        };
        let jitter = self.rng.random();
        self.pilot
            .receive(&LinkEvent::Frame(Box::new(frame)), at(self.now), jitter);
    }

    fn coordinator(&mut self) {
        let want_open = if self.disorder {
            self.rng.random_bool(0.03)
        } else {
            !self.commander.open
        };
        if !self.commander.open && want_open {
            self.commander.open = true;
            self.oracle.stream(true, self.now);
            self.pilot.uplink_opened(at(self.now));
            if !self.chance(0.1) {
                let order = self.commander.order();
                self.tell(&order);
            }
        } else if self.commander.open && self.chance(0.01) {
            self.commander.open = false;
            self.oracle.stream(false, self.now);
            self.pilot.uplink_closed(at(self.now));
        }
        if !self.commander.open {
            return;
        }
        if self.chance(0.04) {
            let takeovers = self.pilot.report(at(self.now)).takeovers;
            self.commander.change(&mut self.rng, takeovers);
        }
        let report = self.pilot.report(at(self.now));
        if let Some(down) = report.stand_down
            && (!self.disorder || self.chance(0.03))
        {
            let term = Term(self.commander.term);
            let number = down.number;
            self.pilot.stand_up(StandUp { term, number }, at(self.now));
        }
        if self.chance(0.01) {
            let order = self.commander.deposed();
            self.tally.stale_orders += 1;
            self.tell(&order);
        }
        if !self.disorder || self.chance(0.3) {
            let order = self.commander.order();
            self.tell(&order);
        }
    }

    fn tell(&mut self, order: &Order) {
        match self.pilot.consider(order, at(self.now)) {
            Ok(fence) => {
                self.oracle.told(order, true);
                self.pilot.adopt(fence, at(self.now));
            }
            Err(why) => {
                self.oracle.told(order, false);
                self.pilot.refused(order.term(), &why);
            }
        }
        self.saved = self.pilot.state().clone();
    }

    fn pump(&mut self) {
        // On the disk before it is acted on.
        self.saved = self.pilot.state().clone();
        for _ in 0..8 {
            let jitter = self.rng.random();
            let Some(out) = self.pilot.next(at(self.now), jitter) else {
                return;
            };
            // A slow disk may lack the last event's changes, but no order.
            self.saved = self.pilot.state().clone();
            if !self.link_up || self.chance(0.02) {
                self.pilot.written(Written::No, at(self.now), jitter);
                continue;
            }
            let seed = self.seed;
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.oracle.judge(&out, self.now)));
            assert!(judged.is_ok(), "SKEIN_SEED={seed} shows it again");
            let unsure = self.chance(0.02);
            let how = if unsure { Written::Unsure } else { Written::Yes };
            self.pilot.written(how, at(self.now), jitter);
            if !(unsure || self.chance(0.05)) {
                self.arrives(&out.message);
            }
        }
    }

    fn arrives(&mut self, message: &MavMessage) {
        let (command, p) = match message {
            MavMessage::COMMAND_LONG(m) => (m.command, [m.param1, m.param2, m.param3]),
            MavMessage::COMMAND_INT(m) => (m.command, [m.param1, m.param2, m.param3]),
            _ => return,
        };
        self.tally.arms += u32::from(command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
        let answer = self.vehicle.obey(command, p, self.now);
        if let Some(answer) = answer
            && !self.chance(0.1)
        {
            self.send_later(answer);
        }
    }

    pub fn calm(&mut self) {
        self.disorder = false;
        // What is late would come after what was sent since, as on no line.
        self.in_flight.clear();
        self.vehicle.ready = true;
        self.vehicle.remaining = 90;
        if !self.link_up {
            self.link_up = true;
            self.oracle.link(true);
            self.pilot.receive(&LinkEvent::Up, at(self.now), 0.5);
        }
        if self.terminating {
            self.restart();
        }
        if self.vehicle.mode == Mode::Pilot || self.vehicle.in_air {
            self.vehicle.mode = Mode::Land;
        }
        self.commander.term += 1;
    }

    fn until(&mut self, what: &str, seconds: u64, holds: impl Fn(&Self) -> bool) {
        let end = self.now + seconds * 1000;
        while !holds(self) {
            assert!(
                self.now < end,
                "SKEIN_SEED={} not within {seconds} s: {what}; {:?} {:?} {:#?}",
                self.seed,
                self.vehicle,
                self.commander,
                self.pilot.report(at(self.now))
            );
            self.step();
        }
    }

    pub fn must_land(&mut self) {
        self.commander.desired = GROUNDED;
        self.commander.generation += 1;
        self.until("down", 120, |w| {
            let held = w.pilot.report(at(w.now)).held;
            !w.vehicle.armed && held.is_none_or(|held| held.settled)
        });
        self.commander.bound = false;
        self.until("nothing held", 20, |w| w.pilot.report(at(w.now)).held.is_none());
    }

    pub fn must_fly(&mut self) {
        self.commander.drone += 1;
        self.commander.generation = 1;
        self.commander.bound = true;
        self.commander.desired = FLYING;
        self.commander.mark = None;
        self.commander.resume_after = 0;
        self.until("flying", 120, |w| w.vehicle.in_air && w.vehicle.height > 9.0);
    }
}
