//! A charge that the voltage contradicts, and a battery that falls silent in flight: findings for people.
//!
//! An autopilot that counts what was taken (ArduPilot's does) calls any pack full at its start. The voltage of a resting pack gives its
//! highest possible charge. Where the voltages of cells are not reported, the smallest cell count that the voltage allows counts, and of lithium
//! polymer and lithium ion the one with more charge: a healthy pack is never doubted. Under load the voltage proves nothing, so only a vehicle with its
//! motors off is judged.
//!
//!   believed --more than DOUBTED_FROM_PERCENT above the voltage, for RESTS_FOR--> doubted --not more than BELIEVED_FROM_PERCENT above it, or gone-->
//!   believed

use model::monitored_battery::Drives;
use model::time::Moment;
use model::units::{Percent, Volts};
use model::vehicle::{FlightTruth, MonitoredBattery};
use std::collections::BTreeMap;
use std::time::Duration;

/// Highest voltage of a lithium cell, volts: 4.35 V and the sensor's error.
const CELL_AT_MOST_V: f64 = 4.4;

/// Most charge of a resting cell by voltage, of lithium polymer (above 3.87 V) and lithium ion (below): volts, and percent.
const MOST_LEFT: [(f64, f64); 10] = [
    (3.3, 10.0),
    (3.4, 15.0),
    (3.5, 25.0),
    (3.6, 35.0),
    (3.7, 52.0),
    (3.8, 63.0),
    (3.87, 70.0),
    (3.95, 80.0),
    (4.05, 90.0),
    (4.15, 100.0),
];

/// Excess of a charge over its voltage at which it is doubted: sensors are off by some hundredths of a volt a cell.
const DOUBTED_FROM_PERCENT: f64 = 20.0;

/// Excess at which it is believed again.
const BELIEVED_FROM_PERCENT: f64 = 10.0;

/// Recovery time of a pack's voltage after a load.
const RESTS_FOR: Duration = Duration::from_secs(30);

/// BATTERY_STATUS (147) comes every two seconds, on a slow line less often.
const SILENT_AFTER: Duration = Duration::from_secs(30);

/// `known`: as reported.
fn cells(pack: Volts, known: Option<u8>) -> f64 {
    let fewest = (pack.0 / CELL_AT_MOST_V).ceil().max(1.0);
    known.map_or(fewest, |known| f64::from(known).max(fewest))
}

/// Percent, at rest; `None` outside of the voltages of a charged pack.
fn most_left(pack: Volts, known_cells: Option<u8>) -> Option<f64> {
    if !(pack.0.is_finite() && pack.0 > 0.0) {
        return None;
    }
    let cell = pack.0 / cells(pack, known_cells);
    let [(lowest, least), ..] = MOST_LEFT;
    if cell <= lowest {
        return Some(least);
    }
    let between = MOST_LEFT.windows(2).find_map(|two| {
        let [(from, less), (to, more)] = two else { return None };
        (cell <= *to).then(|| less + (more - less) * (cell - from) / (to - from))
    });
    Some(between.unwrap_or(100.0))
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Doubt {
    too_much_since: Option<Moment>,
    /// The text when it was found: changing figures would be news each time.
    too_much: Option<String>,
    silent: Option<String>,
}

/// Findings by battery that drives the motors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubts(BTreeMap<u8, Doubt>);

impl Doubts {
    pub fn observe(&mut self, batteries: &[MonitoredBattery], truth: FlightTruth, now: Moment) {
        let motors = || batteries.iter().filter(|battery| battery.drives == Drives::Motors);
        self.0.retain(|id, _| motors().any(|battery| battery.id == *id));
        for battery in motors() {
            let doubt = self.0.entry(battery.id).or_default();
            match truth {
                FlightTruth::Disarmed => {
                    doubt.silent = None;
                    doubt.judge_at_rest(battery, now);
                }
                FlightTruth::Airborne(_) => {
                    doubt.too_much_since = None;
                    doubt.judge_silence(battery, now);
                }
                FlightTruth::ArmedOnGround | FlightTruth::Unknown(_) => doubt.too_much_since = None,
            }
        }
    }

    pub fn findings(&self) -> impl Iterator<Item = &String> {
        self.0
            .values()
            .flat_map(|doubt| doubt.too_much.iter().chain(&doubt.silent))
    }

    pub fn any(&self) -> bool {
        self.findings().next().is_some()
    }
}

impl Doubt {
    fn judge_at_rest(&mut self, battery: &MonitoredBattery, now: Moment) {
        let reading = battery.reading.fresh(now, SILENT_AFTER);
        let figures = reading.and_then(|reading| Some((reading.remaining?, reading.voltage?)));
        let judged = figures.and_then(|(left, volts)| Some((left, volts, most_left(volts, battery.cells)?)));
        let Some((left, volts, most)) = judged else {
            *self = Self::default();
            return;
        };
        let above = f64::from(left.get()) - most;
        if above <= BELIEVED_FROM_PERCENT {
            (self.too_much_since, self.too_much) = (None, None);
        }
        if above <= DOUBTED_FROM_PERCENT {
            self.too_much_since = None;
            return;
        }
        let since = *self.too_much_since.get_or_insert(now);
        if now.since(since) >= RESTS_FOR && self.too_much.is_none() {
            self.too_much = Some(contradicted(battery, left, volts, most));
        }
    }

    fn judge_silence(&mut self, battery: &MonitoredBattery, now: Moment) {
        let heard = battery.reading.fresh(now, SILENT_AFTER);
        if heard.is_some() {
            self.silent = None;
        } else if self.silent.is_none() {
            let left = battery.reading.value.remaining;
            let left = left.map_or_else(String::new, |left| {
                format!(", at {} % when it was heard last", left.get())
            });
            self.silent = Some(format!(
                "{} has fallen silent in flight{left}; where others are heard it goes on counting, and loses what they lose; land and check it",
                name(battery.id)
            ));
        }
    }
}

fn contradicted(battery: &MonitoredBattery, left: Percent, Volts(volts): Volts, most: f64) -> String {
    let count = cells(Volts(volts), battery.cells);
    let known = if battery.cells.is_some() {
        format!("of its {count:.0}")
    } else {
        format!("where it has {count:.0}")
    };
    format!(
        "{} is at {} % by its autopilot, but its {volts:.1} V at rest ({:.2} V a cell {known}) are those of a pack with {most:.0} % at \
         most: an autopilot that counts what was taken calls any pack full when it starts; charge it, or set up the monitor, and set the \
         autopilot's own failsafe by voltage",
        name(battery.id),
        left.get(),
        volts / count,
    )
}

/// Numbered as in autopilots' texts.
fn name(id: u8) -> String {
    format!("battery {} (id {id})", u16::from(id) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::Sighting;
    use model::vehicle::{Airborne, Battery, Charge};

    const GROUND: FlightTruth = FlightTruth::Disarmed;
    const AIR: FlightTruth = FlightTruth::Airborne(Airborne::InAir);

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn battery(id: u8, left: u8, volts: f64, s: u64) -> MonitoredBattery {
        let battery = Battery {
            remaining: Percent::new(left),
            voltage: Some(Volts(volts)),
            charge: Charge::Fine,
        };
        MonitoredBattery {
            id,
            drives: Drives::Motors,
            cells: None,
            reading: Sighting::new(battery, at(s)),
        }
    }

    fn at_rest(left: u8, volts: f64) -> Vec<String> {
        at_rest_with(None, left, volts)
    }

    fn at_rest_with(cells: Option<u8>, left: u8, volts: f64) -> Vec<String> {
        let mut doubts = Doubts::default();
        for s in (0..=60).step_by(2) {
            let battery = MonitoredBattery {
                cells,
                ..battery(0, left, volts, s)
            };
            doubts.observe(&[battery], GROUND, at(s));
        }
        doubts.findings().cloned().collect()
    }

    #[test]
    fn a_half_empty_pack_that_is_called_full_is_named_with_its_figures() {
        let found = at_rest(100, 15.2);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with(
                "battery 1 (id 0) is at 100 % by its autopilot, but its 15.2 V at rest (3.80 V a cell where it has 4) are those of a pack \
                 with 63 % at most: "
            ),
            "{found:?}"
        );
        for cells in 2..=7 {
            assert_eq!(at_rest(100, 3.8 * f64::from(cells)).len(), 1, "{cells} cells");
        }
    }

    #[test]
    fn an_almost_empty_pack_is_doubted_where_its_cells_are_known() {
        // As many volts as five full cells have.
        assert_eq!(at_rest(100, 21.6), Vec::<String>::new());
        let found = at_rest_with(Some(6), 100, 21.6);
        assert!(
            found.len() == 1
                && found[0]
                    .contains("its 21.6 V at rest (3.60 V a cell of its 6) are those of a pack with 35 % at most"),
            "{found:?}"
        );
        for cells in 2..=14_u8 {
            for cell in [3.5, 3.6, 3.7] {
                let volts = cell * f64::from(cells);
                assert_eq!(
                    at_rest_with(Some(cells), 100, volts).len(),
                    1,
                    "{cells} cells of {cell} V"
                );
            }
        }
        // Fewer than its voltage allows: they are not all.
        assert_eq!(at_rest_with(Some(2), 100, 16.8), Vec::<String>::new());
    }

    #[test]
    fn a_healthy_pack_of_any_usual_kind_is_not_doubted() {
        // Volts of a cell at rest at 100, 80, 60, 40 and 20 percent: lithium polymer, its high-voltage kind, lithium ion.
        let kinds = [
            [4.20, 4.02, 3.87, 3.80, 3.73],
            [4.35, 4.15, 3.97, 3.85, 3.75],
            [4.18, 3.97, 3.80, 3.63, 3.50],
        ];
        for kind in kinds {
            for (left, volts) in [100, 80, 60, 40, 20].into_iter().zip(kind) {
                for cells in 1..=14_u8 {
                    // A sensor that is off by half a percent.
                    let pack = volts * f64::from(cells) * 0.995;
                    for known in [None, Some(cells)] {
                        let found = at_rest_with(known, left, pack);
                        assert_eq!(
                            found,
                            Vec::<String>::new(),
                            "{left} %, {cells} cells of {volts} V, {known:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_sag_under_load_and_a_pack_that_has_just_landed_are_no_contradiction() {
        let mut doubts = Doubts::default();
        let seen = |doubts: &mut Doubts, truth, volts, s| {
            doubts.observe(&[battery(0, 90, volts, s)], truth, at(s));
            doubts.any()
        };
        for s in 0..100 {
            assert!(!seen(&mut doubts, AIR, 13.2, s));
        }
        for s in 100..129 {
            assert!(!seen(&mut doubts, GROUND, 14.6, s), "it recovers");
        }
        assert!(!seen(&mut doubts, GROUND, 16.0, 129));
        assert!(!seen(&mut doubts, GROUND, 14.6, 131), "one reading is none");
    }

    #[test]
    fn a_finding_stays_in_flight_and_until_the_figures_agree_in_the_same_words() {
        let mut doubts = Doubts::default();
        for s in 0..=30 {
            doubts.observe(&[battery(0, 100, 15.2, s)], GROUND, at(s));
        }
        let words = doubts.findings().next().cloned().unwrap();
        doubts.observe(&[battery(0, 98, 14.4, 31)], AIR, at(31));
        doubts.observe(&[battery(0, 80, 15.2, 32)], GROUND, at(32));
        assert_eq!(doubts.findings().next(), Some(&words), "17 percent above");
        doubts.observe(&[battery(0, 70, 15.2, 33)], GROUND, at(33));
        assert!(!doubts.any());
    }

    #[test]
    fn a_battery_of_a_camera_is_not_judged_nor_one_of_which_a_figure_is_missing() {
        let camera = |s| MonitoredBattery {
            drives: Drives::Payload,
            ..battery(1, 100, 11.0, s)
        };
        let without = |s, battery: MonitoredBattery| MonitoredBattery {
            reading: Sighting::new(
                Battery {
                    voltage: None,
                    ..battery.reading.value
                },
                at(s),
            ),
            ..battery
        };
        let mut doubts = Doubts::default();
        for s in 0..60 {
            let all = [
                without(s, battery(0, 100, 0.0, s)),
                camera(s),
                battery(2, 100, f64::NAN, s),
            ];
            doubts.observe(&all, GROUND, at(s));
            assert!(!doubts.any());
        }
    }

    #[test]
    fn a_battery_that_falls_silent_in_flight_is_named_until_it_is_heard_again_or_landed() {
        let mut doubts = Doubts::default();
        let (first, second) = (|s| battery(0, 80, 16.0, s), battery(1, 40, 15.0, 0));
        for s in 0..=30 {
            doubts.observe(&[first(s), second], AIR, at(s));
            assert!(!doubts.any());
        }
        doubts.observe(&[first(31), second], AIR, at(31));
        let found: Vec<_> = doubts.findings().cloned().collect();
        assert!(
            found.len() == 1
                && found[0]
                    .starts_with("battery 2 (id 1) has fallen silent in flight, at 40 % when it was heard last;"),
            "{found:?}"
        );
        let mut again = doubts.clone();
        again.observe(&[first(32), battery(1, 39, 15.0, 32)], AIR, at(32));
        assert!(!again.any());
        doubts.observe(&[first(32), second], GROUND, at(32));
        assert!(!doubts.any());
    }
}
