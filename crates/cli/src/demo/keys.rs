//! Keys that act on the simulated vehicles of the demo, where standard input is a terminal.

use crate::output::Output;
use crate::vehicle::Vehicle;
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};
use sitl::faults::{Around, ModeNumber, Sudden, What};
use sitl::shell::Simulation;
use std::collections::BTreeSet;
use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// Modes of a pilot without sticks: Brake on ArduCopter, Return on PX4, whose other modes for pilots need sticks.
const PILOT_MODE: ModeNumber = ModeNumber {
    px4: Some((4 << 16) | (5 << 24)),
    ardupilot: Some(17),
};

/// Skein's holding modes: AUTO.LOITER on PX4, Guided on ArduCopter.
const HOLDING_MODE: ModeNumber = ModeNumber {
    px4: Some((4 << 16) | (3 << 24)),
    ardupilot: Some(4),
};

const LAND_MODE: ModeNumber = ModeNumber {
    px4: Some((4 << 16) | (6 << 24)),
    ardupilot: Some(9),
};

/// Below Skein's usual reserve, above the autopilots' own limits.
const LOW_PERCENT: f64 = 19.0;

const LINK_LOSS_S: f64 = 20.0;

/// Gain of a battery on the ground, each second.
const CHARGE_PERCENT_PER_S: u32 = 2;

const MAX_QUEUED_KEYS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    TakeOver,
    GiveBack,
    LowBattery,
    LostLink,
    Help,
}

impl Key {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte.to_ascii_lowercase() {
            b't' => Self::TakeOver,
            b'g' => Self::GiveBack,
            b'b' => Self::LowBattery,
            b'l' => Self::LostLink,
            b'h' | b'?' => Self::Help,
            _ => return None,
        })
    }
}

pub const HELP: &str = "Keys, for a vehicle that holds: t a pilot takes it over, g gives it back; b its battery is low; l its \
     autopilot is not heard for 20 s; ? this list. Batteries are charged on the ground.";

/// Dropping it restores the terminal.
pub struct Keys {
    before: Termios,
    pressed: mpsc::Receiver<Key>,
    /// Nodes with a pilot because of a key.
    taken: BTreeSet<String>,
}

impl Keys {
    /// `None` without a person to press keys, or without a picture on a terminal.
    pub fn listen(out: Output) -> Option<Self> {
        let input = std::io::stdin();
        // A background process that reads is stopped.
        let ours = input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group == getpgrp());
        if !ours || !out.terminal {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut single = before.clone();
        // ISIG stays set: Ctrl-C works as usual.
        single.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        single.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        single.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(&input, SetArg::TCSANOW, &single).ok()?;
        let (sender, pressed) = mpsc::channel(MAX_QUEUED_KEYS);
        // Ends with the first key that nobody receives, or with the process.
        let reading = std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || read(&sender));
        reading.ok()?;
        Some(Self {
            before,
            pressed,
            taken: BTreeSet::new(),
        })
    }

    /// Safe to cancel.
    pub async fn next(&mut self) -> Key {
        match self.pressed.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }

    pub fn press(&mut self, key: Key, fleet: &[Vehicle], simulation: &Simulation) -> String {
        let Some((vehicle, what)) = happening(key, fleet, &self.taken) else {
            return nothing(key).to_owned();
        };
        let node = vehicle.node.clone();
        if !simulation.inject(&node, what) {
            return format!("{node}: its link has failed; try another");
        }
        match key {
            Key::TakeOver => self.taken.insert(node),
            Key::GiveBack => self.taken.remove(&node),
            Key::LowBattery | Key::LostLink | Key::Help => false,
        };
        text_of(key, vehicle)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSANOW, &self.before);
    }
}

fn read(sender: &mpsc::Sender<Key>) {
    let mut input = std::io::stdin().lock();
    let mut byte = [0; 1];
    while let Ok(1) = input.read(&mut byte) {
        if sender.is_closed() {
            return;
        }
        if let Some(key) = Key::of(byte[0]) {
            // A full queue drops keys.
            let _ = sender.try_send(key);
        }
    }
}

fn happening<'a>(key: Key, fleet: &'a [Vehicle], taken: &BTreeSet<String>) -> Option<(&'a Vehicle, What)> {
    let holds = |vehicle: &&Vehicle| vehicle.truth == "InAir" && vehicle.activity.as_deref() == Some("Holding");
    let mut all: Vec<&Vehicle> = fleet.iter().filter(|vehicle| !vehicle.node.is_empty()).collect();
    all.sort_by(|a, b| a.node.cmp(&b.node));
    let mut all = all.into_iter();
    let what = match key {
        Key::TakeOver => What::Sudden(Sudden::Mode(PILOT_MODE)),
        Key::GiveBack => What::Sudden(Sudden::Mode(HOLDING_MODE)),
        Key::LowBattery => What::Sudden(Sudden::Battery(LOW_PERCENT)),
        Key::LostLink => What::Around(Around::Silence, Some(LINK_LOSS_S)),
        Key::Help => return None,
    };
    let vehicle = match key {
        Key::GiveBack => all.find(|vehicle| taken.contains(&vehicle.node)),
        _ => all.filter(holds).find(|vehicle| !taken.contains(&vehicle.node)),
    };
    vehicle.map(|vehicle| (vehicle, what))
}

const fn nothing(key: Key) -> &'static str {
    match key {
        Key::Help => HELP,
        Key::GiveBack => "No pilot has a vehicle; t lets one take over.",
        Key::TakeOver | Key::LowBattery | Key::LostLink => "No vehicle holds just now; wait until one does.",
    }
}

fn text_of(key: Key, vehicle: &Vehicle) -> String {
    let node = &vehicle.node;
    match key {
        Key::TakeOver => {
            format!(
                "{node}: its pilot takes over by radio control (ArduPilot: Brake, PX4: Return). Skein sends nothing from now on; g \
                 gives it back."
            )
        }
        Key::GiveBack => format!(
            "{node}: its pilot gives it back. Skein goes on once a person says so: skein resume {} -n {}",
            vehicle.drone, vehicle.namespace
        ),
        Key::LowBattery => {
            format!(
                "{node}: its battery has {LOW_PERCENT} % left, below the reserve of 20 %. Skein brings it home. It stays down until a \
                 person acts, also with a charged battery; skein status says what to do."
            )
        }
        Key::LostLink => format!(
            "{node}: its autopilot is not heard for {LINK_LOSS_S} s. What it does is not known then, and nothing is assumed."
        ),
        Key::Help => HELP.to_owned(),
    }
}

pub async fn charge(fleet: watch::Receiver<Vec<Vehicle>>, simulation: Arc<Simulation>) {
    loop {
        sleep(Duration::from_secs(1)).await;
        let to_charge: Vec<(String, u32)> = fleet.borrow().iter().filter_map(charged).collect();
        for (node, percent) in to_charge {
            simulation.inject(&node, What::Sudden(Sudden::Battery(percent.into())));
        }
    }
}

/// Nodes in the air with a pilot who was not resumed: Skein does not land these.
pub fn with_pilots(fleet: &[Vehicle]) -> Vec<String> {
    let flies = |vehicle: &&Vehicle| vehicle.flying == Some(true) || vehicle.truth == "InAir";
    let is_left = |vehicle: &&Vehicle| {
        let activity = vehicle.activity.as_deref().unwrap_or_default();
        activity.starts_with("HandsOff") && activity != "HandsOffAutopilotFailsafe"
    };
    let with_pilots = fleet.iter().filter(flies).filter(is_left);
    with_pilots.map(|vehicle| vehicle.node.clone()).collect()
}

/// Has each of them landed by its pilot, once.
pub async fn land_by_pilots(fleet: watch::Receiver<Vec<Vehicle>>, simulation: Arc<Simulation>) {
    let mut landing = BTreeSet::new();
    loop {
        for node in with_pilots(&fleet.borrow()) {
            if !landing.contains(&node) && simulation.inject(&node, What::Sudden(Sudden::Mode(LAND_MODE))) {
                landing.insert(node);
            }
        }
        sleep(Duration::from_secs(1)).await;
    }
}

fn charged(vehicle: &Vehicle) -> Option<(String, u32)> {
    let percent = vehicle.battery_percent.filter(|percent| *percent < 100)?;
    (vehicle.truth == "Disarmed").then(|| {
        (
            vehicle.node.clone(),
            percent.saturating_add(CHARGE_PERCENT_PER_S).min(100),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vehicle(node: &str, truth: &str, activity: &str) -> Vehicle {
        Vehicle {
            node: node.into(),
            drone: format!("demo-{node}"),
            namespace: "default".into(),
            truth: truth.into(),
            activity: Some(activity.into()),
            battery_percent: Some(60),
            ..Vehicle::default()
        }
    }

    #[test]
    fn something_happens_to_a_vehicle_that_holds_and_a_pilot_gives_back_what_he_has() {
        let fleet = [
            vehicle("c", "InAir", "Holding"),
            vehicle("a", "Disarmed", "Idle"),
            vehicle("b", "InAir", "Holding"),
        ];
        let mut taken = BTreeSet::new();
        let whom =
            |key, taken: &BTreeSet<String>| happening(key, &fleet, taken).map(|(vehicle, _)| vehicle.node.clone());
        assert_eq!(whom(Key::TakeOver, &taken).as_deref(), Some("b"));
        assert_eq!(whom(Key::GiveBack, &taken), None);
        taken.insert("b".to_owned());
        assert_eq!(whom(Key::TakeOver, &taken).as_deref(), Some("c"));
        assert_eq!(whom(Key::LowBattery, &taken).as_deref(), Some("c"));
        assert_eq!(whom(Key::GiveBack, &taken).as_deref(), Some("b"));
        assert_eq!(whom(Key::LostLink, &["b".to_owned(), "c".to_owned()].into()), None);
    }

    #[test]
    fn a_battery_is_charged_on_the_ground_and_only_there() {
        assert_eq!(charged(&vehicle("a", "Disarmed", "Idle")), Some(("a".to_owned(), 62)));
        assert_eq!(charged(&vehicle("a", "InAir", "Holding")), None);
        let mut full = vehicle("a", "Disarmed", "Idle");
        full.battery_percent = Some(99);
        assert_eq!(charged(&full).unwrap().1, 100);
        full.battery_percent = Some(100);
        assert_eq!(charged(&full), None);
    }

    #[test]
    fn at_the_end_pilots_land_what_skein_does_not() {
        let fleet = [
            vehicle("a", "InAir", "HandsOffOtherMode"),
            vehicle("b", "InAir", "HandsOffTakenOver"),
            vehicle("c", "InAir", "HandsOffAutopilotFailsafe"),
            vehicle("d", "InAir", "Holding"),
            vehicle("e", "Disarmed", "HandsOffFlightOver"),
        ];
        assert_eq!(with_pilots(&fleet), ["a", "b"]);
    }

    #[test]
    fn a_person_who_gives_back_is_shown_how_skein_goes_on() {
        let text = text_of(Key::GiveBack, &vehicle("a", "InAir", "HandsOffOtherMode"));
        assert!(text.ends_with("skein resume demo-a -n default"), "{text}");
        for (byte, key) in [(b't', Some(Key::TakeOver)), (b'?', Some(Key::Help)), (b'x', None)] {
            assert_eq!(Key::of(byte), key);
        }
    }
}
